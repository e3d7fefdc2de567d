#!/bin/sh
# Memory that a program announces by NVTX reaches the profile: test_nvtx.sh PROGRAM. A tool that the
# user has chosen for NVTX stays, and glint says so. Built with the vendor's headers, where there are
# any, the program is recorded alike.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset NVTX_INJECTION64_PATH
parts='SELECT o.name, o.bytes, p.number FROM v_objects o JOIN v_objects p ON p.number = o.parent ORDER BY o.number'
name="SELECT name FROM v_objects WHERE number = 1"

"$GLINT" record --device sim -f -o "$work/profile" -- "$1" 2> "$work/said"
! grep NVTX "$work/said" || exit 1
"$GLINT" query --csv "$work/profile" "$parts" > "$work/parts"
diff -u - "$work/parts" <<END
name,bytes,number
weights,100,1
größe 𝕊,200,1
weights,50,1
,50,1
größe 𝕊,900,1
,50,1
,40,1
,100,2
,10,1
END
[ "$("$GLINT" query --csv "$work/profile" "$name" | tail -1)" = 'the arena' ]

NVTX_INJECTION64_PATH=/nowhere/other.so "$GLINT" record --device sim -f -o "$work/profile" -- "$1" 2> "$work/said"
grep -q 'NVTX_INJECTION64_PATH' "$work/said"
[ "$("$GLINT" query --csv "$work/profile" "SELECT count(*) FROM v_objects WHERE kind = 'part'" | tail -1)" = 0 ]

PATH=$GLINT_SOURCE_DIR/scripts:$PATH
nvcc=$(command -v nvcc) || { echo "no nvcc: not compared with the vendor's headers"; exit 0; }
include=$(dirname "$(readlink -f "$nvcc")")/../include
[ -f "$include/nvtx3/nvToolsExtMem.h" ] || { echo "no headers of NVTX beside nvcc"; exit 0; }
"${CC:-cc}" -std=gnu11 -DWITH_VENDOR_HEADERS -isystem "$include" -o "$work/vendor" \
    "$GLINT_SOURCE_DIR/tests/inject/nvtx.c" -L "$GLINT_BUILD_DIR/lib/glint/sim" -l:libcuda.so.1 -ldl
LD_LIBRARY_PATH=$GLINT_BUILD_DIR/lib/glint/sim
export LD_LIBRARY_PATH
"$GLINT_BUILD_DIR/tests/inject/inject_watch" "$work/records" "$GLINT_BUILD_DIR/lib/glint/libglint.so" "$work/vendor"
sed -i 's/ waited\( ns\)\{0,1\}$//' "$work/records" # depends on how fast the GPU is
diff -u "$GLINT_SOURCE_DIR/tests/inject/expected/nvtx" "$work/records"
