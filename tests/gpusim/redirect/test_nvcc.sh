#!/bin/sh
# test_nvcc.sh SOURCES REDIRECT CC: executables that nvcc makes call libcudart's functions, however
# the runtime is linked, and no code of NVIDIA's runtime runs. SOURCES is the folder src, REDIRECT
# the library libglint-redirect.so, CC the compiler. libcudart is a fake (fake_cudart.c). Exits with
# 77 if there is no nvcc.
set -eu
sources=$1 redirect=$2 cc=$3
here=$(cd "$(dirname "$0")" && pwd)

nvcc=$(command -v nvcc || true)
for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    if [ -z "$nvcc" ] && [ -n "$folder" ] && [ -x "$folder/bin/nvcc" ]; then
        nvcc=$folder/bin/nvcc
    fi
done
if [ -z "$nvcc" ]; then
    echo "SKIP: no nvcc in PATH nor in /usr/local/cuda/bin"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0 passed=0

cat >main.cu <<'END'
#include <cstdio>
extern void second(int *data);
__device__ int counter;
__global__ void first_kernel(int *data)
{
    *data = counter;
}
// Of the program's own, for all its name.
extern "C" __attribute__((noinline)) int cudaCheck(int status)
{
    if (status != cudaSuccess)
        std::printf("error %d\n", status);
    return status;
}
int main()
{
    std::setvbuf(stdout, nullptr, _IONBF, 0);
    int *data;
    int value = 0;
    cudaCheck(cudaMalloc(&data, 64));
    first_kernel<<<1, 1>>>(data);
    second(data);
    cudaCheck(cudaDeviceSynchronize());
    cudaCheck(cudaMemcpy(&value, data, sizeof value, cudaMemcpyDeviceToHost));
    std::printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    cudaCheck(cudaFree(data));
    return 5;
}
END
cat >second.cu <<'END'
__global__ void second_kernel(int *data)
{
    *data += 1;
}
void second(int *data)
{
    second_kernel<<<1, 1>>>(data);
}
END
cat >wanted.calls <<'END'
malloc 64
launch
launch
synchronize
memcpy 4 kind 2
no error of the fake
free
END

mkdir sim
cp "$redirect" sim/libglint-redirect.so
echo 'libcudart.so.13 { global: *; };' >versions
"$cc" -std=gnu11 -shared -fPIC -I"$here" -Wl,-soname,libcudart.so.13 -Wl,--version-script=versions \
    -o sim/libcudart.so.13 "$here/fake_cudart.c"
"$cc" -std=gnu11 -D_GNU_SOURCE -O1 -shared -fPIC -I"$sources" -o libfill.so "$here/fill.c" \
    "$sources/gpusim/redirect/elf.c"
"$nvcc" -o program main.cu second.cu >log 2>&1 || {
    echo "SKIP: nvcc does not link programs here: $(head -n 1 log)"
    exit 77
}

fail() {
    echo "FAILED $1: $2"
    cat stdout stderr
    failed=$((failed + 1))
}

# build OPTION...: makes the program. Options before "--" are for compiling and linking, those after it only for
# linking. Objects are made once for each list of the former.
build() {
    objects=objects
    options=
    while [ $# -gt 0 ]; do
        [ "$1" != -- ] || { shift; break; }
        options="$options $1" objects="$objects$1"
        shift
    done
    objects=$(echo "$objects" | tr -c '[:alnum:]\n' _)
    # shellcheck disable=SC2086 # options are words
    if [ ! -d "$objects" ]; then
        mkdir "$objects"
        "$nvcc" $options -odir "$objects" -c main.cu second.cu >log 2>&1 || { cat log; exit 1; }
    fi
    # shellcheck disable=SC2086
    "$nvcc" $options "$@" -o program "$objects/main.o" "$objects/second.o" >log 2>&1 || { cat log; exit 1; }
}

# check WHAT PRELOAD WRAPPERS OPTION...: builds with the options and runs. All kernels and variables
# must be registered, from exactly WRAPPERS fatbin wrappers, and the calls must be the expected
# ones.
check() {
    what=$1 preload=$2 wrappers=$3
    shift 3
    build "$@"
    status=0
    LD_LIBRARY_PATH=$work/sim LD_PRELOAD=$preload ./program >stdout 2>stderr || status=$?
    if [ $status != 5 ] || [ -s stderr ]; then
        fail "$what" "exit status $status, wanted 5"
    elif [ "$(grep -c '^register fatbin' stdout)" != "$wrappers" ] ||
        [ "$(grep -c '^unregister' stdout)" != "$wrappers" ] ||
        ! grep -q '^function .*first_kernel' stdout || ! grep -q '^function .*second_kernel' stdout ||
        ! grep -q '^variable counter' stdout; then
        fail "$what" "not all was registered"
    elif ! grep -Ev '^(register|unregister|function|variable|filled)' stdout | sed '/^malloc 0$/d' |
        diff -u wanted.calls -; then
        fail "$what" "the calls are not those of the program"
    elif [ "${preload##*/}" = libfill.so ] && ! grep -q '^filled over 1000 functions' stdout; then
        fail "$what" "NVIDIA's runtime was not filled with traps"
    else
        passed=$((passed + 1))
    fi
}

only=$work/sim/libglint-redirect.so
traps=$only:$work/libfill.so
check "static" "$only" 2
check "static, NVIDIA's code filled with traps" "$traps" 2
check "static, fixed address" "$traps" 2 -- -Xcompiler -no-pie
check "static, position-independent" "$traps" 2 -Xcompiler -fPIE -Xcompiler -pie
check "static, for debugging" "$traps" 2 -O0 -g -G
check "static, optimised" "$traps" 2 -O3
check "static, separate compilation" "$traps" 1 -rdc=true
check "static, all bound at start" "$traps" 2 -- -Xlinker -z,now
check "static, its own names exported" "$traps" 2 -- -Xcompiler -rdynamic
for linker in gold lld; do
    ! command -v ld.$linker >/dev/null || check "static, by $linker" "$traps" 2 -- -Xcompiler -fuse-ld=$linker
done
check "shared" "$only" 2 -- -cudart shared
check "shared, separate compilation" "$only" 1 -rdc=true -- -cudart shared

# A library that contains a static runtime.
"$nvcc" -shared -Xcompiler -fPIC -o libsecond.so second.cu >log 2>&1 || { cat log; exit 1; }
sed 's/^    second(data);/    second(data); \/\/ in the library/' main.cu >with_library.cu
"$nvcc" -o program with_library.cu -L. -lsecond -Xlinker -rpath="$work" >log 2>&1 || { cat log; exit 1; }
status=0
LD_LIBRARY_PATH=$work/sim LD_PRELOAD=$only ./program >stdout 2>stderr || status=$?
if [ $status = 5 ] && [ ! -s stderr ] && [ "$(grep -c '^register fatbin' stdout)" = 2 ] &&
    [ "$(grep -c '^launch' stdout)" = 2 ]; then
    passed=$((passed + 1))
else
    fail "a library with a static runtime" "exit status $status"
fi

# told WHAT PATTERN OPTION...: glint's message must say why it cannot run the program.
told() {
    what=$1 pattern=$2
    shift 2
    build "$@"
    case $what in *stripped*) strip program ;; esac
    status=0
    "$GLINT" run --device sim -- ./program >stdout 2>stderr || status=$?
    if [ $status = 125 ] && [ ! -s stdout ] && grep -q "$pattern" stderr; then
        passed=$((passed + 1))
    else
        fail "$what" "exit status $status, wanted 125 and '$pattern'"
    fi
}

if [ -n "${GLINT-}" ]; then
    told "stripped" "nvcc -cudart shared"
    told "stripped by the linker" "nvcc -cudart shared" -- -Xlinker -s
    told "cuSOLVER" "NVIDIA's libraries.*libcusolver" -- -Xlinker --no-as-needed -lcusolver
    told "no PTX" "arch=compute_90,code=compute_90" -gencode arch=compute_90,code=sm_90
    told "no PTX, shared" "arch=compute_90,code=compute_90" -gencode arch=compute_90,code=sm_90 -- -cudart shared
    told "no PTX, separate compilation" "only cubin sm_90" -gencode arch=compute_90,code=sm_90 -rdc=true
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
