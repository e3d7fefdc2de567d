#!/bin/sh
# Usage: test_nvcc_names.sh plain|unoptimized|lines|shared|per-thread|stripped
# In a program that nvcc built, calls have the names of the runtime's functions, call paths begin in
# the caller of the runtime, and kernels have short names. On the simulated GPU, the static runtime
# is redirected to the simulated one; on a GPU (GLINT_TEST_DEVICE=gpu), its own frames are on the
# paths.
set -eu
cd "$(dirname "$0")"
nvcc=$(../../scripts/have nvcc) || exit 77
device=${GLINT_TEST_DEVICE:-sim}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME="$folder/cache"
status=0
fail() {
    echo "$*"
    status=1
}

case $1 in
plain) set -- -O3 ;;
unoptimized) set -- -O0 ;;
lines) set -- -O3 -g -lineinfo ;;
shared) set -- -O3 -cudart shared -Xlinker "-rpath,$(dirname "$(readlink -f "$nvcc")")/../lib64" ;;
per-thread) set -- -O3 --default-stream per-thread ;;
stripped) # which the simulated GPU refuses
    [ "$device" != sim ] || exit 77
    set -- -O3 -Xlinker -s
    ;;
*) exit 2 ;;
esac
"$nvcc" -Wno-deprecated-gpu-targets -arch=compute_75 "$@" -o "$folder/names" "$PWD/names.cu"
"$GLINT" record -o "$folder/p.glint" --device "$device" -- "$folder/names" >"$folder/said" 2>&1 ||
    { cat "$folder/said"; exit 1; }
query() { "$GLINT" query "$folder/p.glint" "$1" | tail -n +2; }

for format in text json sarif github html perfetto; do
    "$GLINT" report -f --format $format -o "$folder/out" "$folder/p.glint"
    ! grep -aqE 'libcudart_static|__cudart[0-9]' "$folder/out" || fail "a function of the runtime's own, as $format"
done
COLUMNS=200 "$GLINT" report --verbose "$folder/p.glint" >"$folder/report"

case " $* " in
*" -s "*)
    query "SELECT DISTINCT called FROM v_calls WHERE kind = 'alloc'" | grep -qx 'cuMemAlloc' ||
        fail "an allocation by another name than the driver's, though nobody can know it"
    grep -q 'names+0x[0-9a-f]' "$folder/report" || fail "no place as an offset in the executable"
    ;;
*)
    # The runtime function that the program called, and where: the first frame that is no launch
    # stub.
    query "SELECT DISTINCT c.kind || ' ' || c.called || ' ' || (SELECT substr(f, 1, instr(f || '(', '(') - 1) FROM (
            SELECT p.function AS f FROM v_call_paths p WHERE p.id = c.call_path AND p.function LIKE 'in_%'
            ORDER BY p.depth LIMIT 1))
        FROM v_calls c WHERE c.kind IN ('alloc', 'free', 'copy', 'set', 'launch', 'sync')
            AND EXISTS (SELECT 1 FROM v_call_paths p WHERE p.id = c.call_path AND p.function LIKE 'in_%')" |
        sort >"$folder/calls"
    sort >"$folder/expected" <<'EXPECTED'
alloc cudaMalloc in_malloc
copy cudaMemcpyToSymbol in_symbol
set cudaMemset in_memset
copy cudaMemcpy in_copy
launch cudaLaunchKernel in_launch
sync cudaDeviceSynchronize in_wait
free cudaFree in_free
EXPECTED
    # NVIDIA's runtime may make additional calls; all expected ones must be there.
    missing=$(comm -23 "$folder/expected" "$folder/calls")
    [ -z "$missing" ] || { fail "missing: $missing"; cat "$folder/calls"; }
    ! grep -E ' cu[A-Z]' "$folder/calls" || fail "a call by the driver's name"
    query "SELECT DISTINCT function FROM v_call_paths WHERE depth = 0 AND id IN (
            SELECT call_path FROM v_calls WHERE kind IN ('alloc', 'free', 'copy', 'set', 'sync'))" |
        grep -vE '^(in_|__run_exit|__cxa_)' && fail "a path that does not begin in the program"
    grep -qE '^  explicit  cudaDeviceSynchronize ' "$folder/report" || fail "no wait by the runtime's name"
    ;;
esac
case " $* " in
*" -g "*)
    # in_wait is a wrapper: a single line of it waits, and several lines call it.
    line=$(grep -n 'line of cudaDeviceSynchronize' names.cu | cut -d : -f 1)
    query "SELECT line FROM v_call_paths WHERE function LIKE 'in_wait%' AND depth = 0" | grep -qx "$line" ||
        fail "no call path begins at names.cu:$line"
    for line in $(grep -n '^    in_wait();' names.cu | cut -d : -f 1); do
        grep -qE "^  explicit  cudaDeviceSynchronize .*names.cu:$line\$" "$folder/report" ||
            fail "the wait is not at names.cu:$line"
    done
    query "SELECT name FROM v_objects WHERE kind = 'device'" | grep -qx data || fail "the object is not named data"
    ;;
esac

# The two kernels differ in an argument that is nested too deeply to fit into 60 characters.
name='outer::a_namespace_with_a_long_name::transform<...>'
[ "$(grep -cE "^  $name #[12] " "$folder/report")" = 2 ] || fail "the kernels are not told apart"
query "SELECT count(*) FROM v_kernels WHERE name LIKE '%policy<float, 8>%add_one>(float*, int, add_one)'" | grep -qx 1 ||
    fail "no whole name in the profile"
[ $status = 0 ] || cat "$folder/report"
[ $status != 0 ] || echo "names of functions and kernels as the program has them"
exit $status
