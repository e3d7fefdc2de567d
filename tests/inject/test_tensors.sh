#!/bin/sh
# test_tensors.sh PROGRAM LIBRARY...: blocks that PyTorch's allocator reports become parts of its
# memory, exactly as the program says, and the program notices nothing. The libraries are the same
# allocator, linked in several ways. With a C++ compiler, also an allocator in C++.
set -eu
program=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ask() { "$GLINT" query --csv "$work/profile" "$1" | tail -n +2; }

check() { # LIBRARY MODE
    "$GLINT" run --device sim -- "$program" "$1" "$2" | grep -v '^[0-9]' >"$work/plain"
    "$GLINT" record -q --device sim -f -o "$work/profile" -- "$program" "$1" "$2" >"$work/out" 2>"$work/said"
    grep -v '^[0-9]' "$work/out" | diff -u "$work/plain" -
    grep '^[0-9]' "$work/out" >"$work/told"
    ask "SELECT o.address, o.bytes, w.address, CASE f.name WHEN 'torch_free' THEN 1 WHEN 'torch_alloc' THEN 1
             WHEN 'cuMemFree_v2' THEN 2 WHEN 'cuMemUnmap' THEN 2 ELSE 0 END AS ended
         FROM v_objects o JOIN v_objects w ON w.number = o.parent JOIN v_calls a ON a.number = o.allocated_by
         LEFT JOIN v_calls f ON f.number = o.freed_by
         WHERE o.kind = 'tensor' AND a.name = 'torch_alloc' AND o.device = w.device ORDER BY o.number" >"$work/seen"
    diff -u "$work/told" "$work/seen"
    [ -s "$work/told" ]
    # No call is recorded for a report that changed nothing.
    [ "$(ask "SELECT count(*) FROM v_calls c WHERE c.name LIKE 'torch%' AND c.number NOT IN
            (SELECT allocated_by FROM v_objects UNION SELECT freed_by FROM v_objects WHERE freed_by NOT NULL)")" = 0 ]
}

for library in "$@"; do
    for mode in segments expandable threads; do
        check "$library" "$mode"
    done
done
check "$1" segments
[ "$(ask "SELECT count(*) FROM v_notes WHERE text LIKE 'some memory that PyTorch reported is left out%'")" = 1 ]
# At the peak there are both segments, and what the program got before it loaded the library. Tensors
# count, their segments do not.
[ "$(ask "SELECT max(bytes) FROM (SELECT sum(bytes) OVER (ORDER BY call) AS bytes FROM
        (SELECT allocated_by AS call, bytes FROM v_objects WHERE kind = 'tensor'
         UNION ALL SELECT freed_by, -bytes FROM v_objects WHERE kind = 'tensor' AND freed_by NOT NULL))")" = 66048 ]
"$GLINT" report -v "$work/profile" >"$work/report"
grep -qxF 'Tensors at the peak: 2 blocks, 64.5 KiB, in 2 segments, 128.0 KiB; outside of them: 1 object, 512 B' \
    "$work/report"
grep -qxF "  tensors are 64.5 KiB of the peak; PyTorch's allocator held 128.0 KiB for them" "$work/report"
"$GLINT" report --format json "$work/profile" | grep -qF '"tensors":{"blocks":{"count":2,"bytes":66048},'\
'"segments":{"count":2,"bytes":131072},"outside":{"count":1,"bytes":512},"outside_objects":[1]}'
# The call path leads through the allocator.
[ "$(ask "SELECT DISTINCT p.function FROM v_objects o JOIN v_calls c ON c.number = o.allocated_by
     JOIN v_call_paths p ON p.id = c.call_path WHERE o.kind = 'tensor' AND p.depth = 0")" = tensors_report_block ]
# Loaded with the program, and bound at once.
LD_PRELOAD=$1 check "$1" threads
LD_BIND_NOW=1 check "$1" segments
if c=$(command -v "${CXX:-c++}"); then
    "$c" -shared -fPIC -O2 -o "$work/libc10_cuda.so" "$GLINT_SOURCE_DIR/tests/inject/tensors_device.cpp" \
        "$GLINT_BUILD_DIR/tests/inject/tensors/c10/libc10.so" -Wl,-rpath,"$GLINT_BUILD_DIR/tests/inject/tensors/c10"
    check "$work/libc10_cuda.so" expandable
fi
echo "parts equal what the program says: $# libraries, 3 modes"
