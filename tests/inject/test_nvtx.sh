#!/bin/sh
# test_nvtx.sh PROGRAM: memory that a program announces through NVTX reaches the profile. If the
# vendor's headers are installed, the same program built with them gives the same records. A tool
# that the user selected for NVTX stays active, and glint says so. GLINT_TEST_DEVICE: where it runs;
# GLINT_TEST_VENDOR=no: nothing is built with the vendor's headers.
set -eu
device=${GLINT_TEST_DEVICE:-sim}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset NVTX_INJECTION64_PATH
ask() { "$GLINT" query --csv "$work/profile" "$1" | tail -n +2; }

check() { # PROGRAM
    "$GLINT" record --device "$device" -f -o "$work/profile" -- "$1" 2> "$work/said"
    ! grep NVTX "$work/said" || exit 1
    [ "$(ask 'SELECT name FROM v_objects WHERE number = 1')" = 'the arena' ]
    # Objects that the program does not name get names from its source, which differ between the two
    # builds.
    ask 'SELECT CASE o.name_source WHEN "program" THEN o.name END, o.bytes, o.parent, a.kind, a.name, f.kind, f.name
         FROM v_objects o LEFT JOIN v_calls a ON a.number = o.allocated_by LEFT JOIN v_calls f ON f.number = o.freed_by
         WHERE o.kind = "part" ORDER BY o.number' > "$work/parts"
    diff -u - "$work/parts" <<END
weights,100,1,alloc,nvtxMemRegionsRegister,alloc,nvtxMemRegionsResize
größe 𝕊,200,1,alloc,nvtxMemRegionsRegister,alloc,nvtxMemRegionsResize
weights,50,1,alloc,nvtxMemRegionsResize,free,nvtxMemRegionsUnregister
,50,1,alloc,nvtxMemRegionsRegister,free,nvtxMemHeapReset
größe 𝕊,900,1,alloc,nvtxMemRegionsResize,free,nvtxMemHeapReset
,50,1,alloc,nvtxMemRegionsRegister,alloc,nvtxMemRegionsResize
,40,1,alloc,nvtxMemRegionsResize,free,nvtxMemHeapReset
,100,2,alloc,nvtxMemRegionsRegister,free,cuMemFree_v2
,10,1,alloc,nvtxMemRegionsRegister,free,nvtxMemHeapUnregister
END
}

check "$1"
NVTX_INJECTION64_PATH=/nowhere/other.so "$GLINT" record --device "$device" -f -o "$work/profile" -- "$1" 2> "$work/said"
grep -q 'NVTX_INJECTION64_PATH' "$work/said"
[ "$(ask 'SELECT count(*) FROM v_objects WHERE kind = "part"')" = 0 ]

[ "${GLINT_TEST_VENDOR:-yes}" = yes ] || exit 0
nvcc=$(command -v nvcc) || { echo "by our declarations; there is no nvcc"; exit 0; }
toolkit=$(dirname "$(readlink -f "$nvcc")")/..
[ -f "$toolkit/include/nvtx3/nvToolsExtMem.h" ] || { echo "by our declarations; there are no headers of NVTX"; exit 0; }
"${CC:-cc}" -std=gnu11 -DWITH_VENDOR_HEADERS -isystem "$toolkit/include" -o "$work/vendor" \
    "$GLINT_SOURCE_DIR/tests/inject/nvtx.c" -L "$toolkit/lib64/stubs" -lcuda -ldl
check "$work/vendor"
echo "by our declarations and by the vendor's headers"
