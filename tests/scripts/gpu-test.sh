#!/bin/sh
# Tests scripts/gpu-test without a GPU: its arguments and its message without a GPU. With the
# simulated GPU in place of a real one, steps pass, fail, are skipped, and are ended at their time
# limit.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${GLINT_BUILD_DIR:-$root/build}
real_glint=${GLINT:-$build/bin/glint}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# expect STATUS PATTERN [ARGUMENT...]: checks the exit status, and that a line of the output
# matches.
expect() {
    wanted=$1 pattern=$2
    shift 2
    "$root/scripts/gpu-test" "$@" >log 2>&1 && status=0 || status=$?
    if [ "$status" != "$wanted" ] || ! grep -E -q -e "$pattern" log; then
        echo "gpu-test $*: exit status $status, expected $wanted and a line like '$pattern':"
        cat log
        exit 1
    fi
}

expect 0 '^conformance +kernels' --list
expect 0 '^sampled +kernels without PTX' --list
expect 0 '^examples/saxpy +natively' --list
# Each folder with a program of the same name is a step.
programs=0
for folder in "$root"/examples/*/; do
    name=$(basename "$folder")
    if [ -f "$folder$name.c" ] || [ -f "$folder$name.cu" ]; then programs=$((programs + 1)); fi
done
[ "$(grep -c '^examples/' log)" = $programs ] || { echo "--list does not have $programs examples"; exit 1; }
expect 2 '^usage: ' --unknown
expect 2 '^usage: ' --only
expect 2 '^usage: ' --limit 0
expect 2 '^usage: ' --limit 1m
expect 2 "no step matches 'nothing'" --only nothing

# No driver: a file of its name that is not a library ends the loader's search.
mkdir bad none
echo "no library" >bad/libcuda.so.1
export LD_LIBRARY_PATH="$work/bad"
expect 77 '^SKIP: no GPU: no driver: .*libcuda'

# A driver without a GPU.
cat >none.c <<'END'
int cuInit(unsigned flags) { return flags ? 1 : 100; }
int cuGetErrorName(int error, const char **name) { *name = "CUDA_ERROR_NO_DEVICE"; return error != 100; }
int cuDriverGetVersion, cuDeviceGet, cuDeviceGetName, cuDeviceGetAttribute, cuDeviceTotalMem_v2;
END
${CC:-cc} -shared -fPIC -o none/libcuda.so.1 none.c
LD_LIBRARY_PATH=$work/none
expect 77 '^SKIP: no GPU: the driver answers CUDA_ERROR_NO_DEVICE \(100\)$'

LD_LIBRARY_PATH=$build/lib/glint/sim
[ -e "$LD_LIBRARY_PATH/libcuda.so.1" ] || { echo "SKIP: the simulated GPU is not built"; exit 77; }
export GLINT="$real_glint" NVCC=
expect 0 '^examples/driver_api +pass +native, gpu and sim agree' --only '^examples/driver_api$' -o table
expect 0 '^1 passed, 0 failed, 0 skipped$' --only '^examples/driver_api$'
grep -q '^1 passed, 0 failed, 0 skipped$' table && grep -q '^GPU: NVIDIA H200' table
expect 0 '^examples/saxpy +skip +no nvcc' --only '^examples/saxpy$'
expect 0 '^matrix/driver +pass +gpu sim, recorded and not: the same from plain graphs' --only '^matrix/driver$'
expect 0 '^matrix/static +skip +no nvcc' --only '^matrix/static$'
expect 0 '^probes/kernels +skip +no nvcc' --only '^probes/kernels$'

GLINT=$work/nothing
expect 1 'none of these can be run here: .*/nothing' --only driver_api

# A glint that prints more than the program, changes its exit status, loses profiles, or never ends.
# fake COMMAND: makes one whose verbs run COMMAND.
# shellcheck disable=SC2016 # the inner sh expands
fake() {
    printf '#!/bin/sh\n[ "$1" != --version ] || exec "%s" --version\n%s\n' "$real_glint" "$1" >fake
    chmod +x fake
}
GLINT=fake
# shellcheck disable=SC2016
fake 'shift 4; echo more; exec "$@"'
expect 1 '^examples/driver_api +FAIL +--device gpu: another stdout than natively' --only driver_api
# shellcheck disable=SC2016
fake 'case $3 in sim) exec "'"$real_glint"'" "$@" ;; esac; shift 4; "$@"; exit 5'
expect 1 '^examples/driver_api +FAIL +--device gpu: another status than natively' --only driver_api
# shellcheck disable=SC2016
fake 'case $3 in sim) echo other ;; *) exec "'"$real_glint"'" "$@" ;; esac'
expect 1 '^examples/driver_api +FAIL +--device sim: another output than natively' --only driver_api
# shellcheck disable=SC2016
fake 'case $1 in record) echo more >&2 ;; esac; exec "'"$real_glint"'" "$@"'
expect 1 '^examples/driver_api +FAIL +--device recorded_gpu_on: another stderr than with gpu' --only driver_api
# shellcheck disable=SC2016
fake 'case $1$6 in recordoff) while [ "$1" != -- ]; do shift; done; shift; exec "$@" ;; esac; exec "'"$real_glint"'" "$@"'
expect 1 "^matrix/driver +FAIL +recorded_gpu_off: 0 profiles, not 1, '.*plain" --only matrix/driver
fake 'exec sleep 100'
expect 1 '^examples/driver_api +FAIL +did not end within 2 s' --only driver_api --limit 2
