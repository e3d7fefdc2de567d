#!/bin/sh
# Usage: test_static_runtime.sh symbols|lines|stripped PROGRAM
# Call paths of a program with a static CUDA runtime begin in the program's own code, and calls have
# the names of the runtime functions that it called. Without symbols, a frame is printed in a form
# that addr2line accepts.
set -eu
how=$1 program=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME="$folder/cache"
"$GLINT" record -o "$folder/p.glint" --device sim -- "$program" 2>"$folder/said" || { cat "$folder/said"; exit 1; }

# Prints name, called function, and the path up to main: "cuMemAlloc_v2 cudaMalloc: cudaMallocHelper
# main".
"$GLINT" query "$folder/p.glint" "
    SELECT c.name || ' ' || c.called || ':' || coalesce((SELECT group_concat(' ' || coalesce(f, '?'), '') FROM (
        SELECT p.function AS f FROM v_call_paths p WHERE p.id = c.call_path AND p.depth <= (
            SELECT min(m.depth) FROM v_call_paths m WHERE m.id = c.call_path AND m.function = 'main')
        ORDER BY p.depth)), '') AS call
    FROM v_calls c ORDER BY c.number" | tail -n +2 >"$folder/calls"

status=0
if [ "$how" = stripped ]; then
    # Without symbols, the runtime's functions are unknown: driver names, and offsets in the file.
    grep -q '^cuMemAlloc_v2 cuMemAlloc:' "$folder/calls" || { echo "no call by the driver's name"; status=1; }
    "$GLINT" report --verbose "$folder/p.glint" >"$folder/report"
    name=$(basename "$program")
    grep -q "$name+0x[0-9a-f]" "$folder/report" || { echo "no place as an offset in $name"; status=1; }
    grep -q 'libcudart_static' "$folder/report" && { echo "a name that is not there"; status=1; }
else
    cat >"$folder/expected" <<'EXPECTED'
cuDevicePrimaryCtxRetain cudaMalloc: cudaMallocHelper main
cuMemAlloc_v2 cudaMalloc: cudaMallocHelper main
cuMemAlloc_v2 cudaMalloc: main
cuMemAlloc_v2 cudaMallocOfTomorrow: main
cuMemAlloc_v2 cuMemAlloc: cudaToolsAlloc main
cuMemcpy cudaMemcpy: main
cuCtxSynchronize cudaDeviceSynchronize: libcudart_static_00000000000000000000000000000000000000 main
cuMemFree_v2 cudaFree: libcudart_staticx main
cuMemFree_v2 cudaFree: main
cuMemFree_v2 cudaFree: main
cuMemFree_v2 cudaFree: main
EXPECTED
    diff -u "$folder/expected" "$folder/calls" || status=1
    for format in text json sarif github html perfetto; do
        "$GLINT" report -f --format $format -o "$folder/out" "$folder/p.glint"
        if grep -aqE 'libcudart_static_[0-9a-f]{40}|__cudart42' "$folder/out"; then
            echo "a function of the runtime's own stands in the report as $format"
            status=1
        fi
    done
    # Reports show the runtime's names, and driver names as programs write them.
    "$GLINT" report --verbose "$folder/p.glint" >"$folder/report"
    grep -qE '^  explicit  cudaDeviceSynchronize ' "$folder/report" || { echo "no cudaDeviceSynchronize"; status=1; }
    grep -qE '\bcu(Ctx|Mem)[A-Za-z]*_v2|cuCtxSynchronize|the (copy|set|free|synchroni[sz]ation)\b' "$folder/report" &&
        { echo "a call by the driver's name, or by none"; cat "$folder/report"; status=1; }
    # All frame addresses are kept, so that the same path can be found in another run.
    "$GLINT" query "$folder/p.glint" "SELECT count(*) FROM v_stacks WHERE addresses LIKE '% % %'" | grep -qx '[1-9][0-9]*' ||
        { echo "no return addresses"; status=1; }
fi
[ $status = 0 ] || cat "$folder/calls"
exit $status
