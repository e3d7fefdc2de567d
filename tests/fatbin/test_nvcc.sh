#!/bin/sh
# test_nvcc.sh LIST_ENTRIES: files that nvcc makes, in every form and compression. The PTX found in
# them must be what `nvcc -ptx` writes, except for comments and the number of blanks. LIST_ENTRIES
# is the program of list_entries.c. Exits with 77 if there is no nvcc.
set -eu
list=$1

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
cat >main.cu <<'END'
__device__ int counter; // a comment
__constant__ float factors[4];
__global__ void scale(float *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] *= factors[i % 4];
    atomicAdd(&counter, 1);
}
int main(void)
{
    scale<<<1, 32>>>(nullptr, 0);
    return 0;
}
END
"$nvcc" -ptx main.cu -o default.ptx >log 2>&1 || {
    echo "SKIP: nvcc does not compile here: $(head -n 1 log)"
    exit 77
}

passed=0
failed=0

# Prints a PTX file without comments and extra blanks. Lines keep their numbers; empty lines at the
# end are removed.
plain() {
    awk '{
        sub(/\/\/.*/, ""); gsub(/[ \t\r]+/, " "); sub(/^ /, ""); sub(/ $/, "")
        if ($0 == "") { empty++; next }
        for (; empty > 0; empty--) print ""
        print
    }' "$1"
}

# fail NAME TEXT
fail() {
    echo "FAILED $1: $2"
    [ ! -f listed ] || cat listed
    failed=$((failed + 1))
}

# check FILE WANTED_PTX PATTERN...: the list of FILE has a line that matches each PATTERN, whose
# words must occur in that order, and the first PTX entry is WANTED_PTX, which may be "none".
check() {
    file=$1 wanted=$2
    shift 2
    rm -f listed
    if ! "$list" "$file" >listed 2>errors; then
        fail "$file" "$(cat errors)"
        return
    fi
    for pattern; do
        if ! grep -Eq "$(echo "$pattern" | sed 's/ /.* /g')" listed; then
            fail "$file" "no line like '$pattern'"
            return
        fi
    done
    index=$(awk '$2 == "PTX" { print $1; exit }' listed)
    if [ "$wanted" = none ]; then
        if [ -n "$index" ]; then
            fail "$file" "has PTX"
            return
        fi
    elif [ -z "$index" ]; then
        fail "$file" "has no PTX"
        return
    else
        "$list" "$file" "$index" >found.ptx
        plain found.ptx >found.plain
        plain "$wanted" >wanted.plain
        if ! [ -s wanted.plain ] || ! cmp -s found.plain wanted.plain; then
            fail "$file" "its PTX is not that of nvcc -ptx: $(diff wanted.plain found.plain | head -n 5)"
            return
        fi
    fi
    passed=$((passed + 1))
}

build() { "$nvcc" main.cu "$@" >log 2>&1 || { cat log; exit 1; }; }

build -ptx -rdc=true -o rdc.ptx
build -ptx -arch=compute_90 -o 90.ptx
build -ptx -lineinfo -o lineinfo.ptx

check default.ptx default.ptx '^PTX fatbins=0' '^0 PTX sm_[0-9]+ none'
build -c -o default.o
check default.o default.ptx '^object fatbins=1' 'PTX zstd|PTX LZ4' 'section=.nv_fatbin rdc=0'
build -o program
check program default.ptx '^executable' 'PTX section=.nv_fatbin rdc=0'
if "$nvcc" --help | grep -q -- --compress-mode; then
    for mode in default:zstd balance:zstd size:zstd speed:LZ4 none:none; do
        build -c --compress-mode="${mode%:*}" -o "${mode%:*}.o"
        check "${mode%:*}.o" default.ptx "PTX ${mode#*:} section="
    done
else
    echo "no --compress-mode in this nvcc: its compressions are not compared"
fi
build -c -rdc=true -o rdc.o
check rdc.o rdc.ptx '^object' 'PTX section=__nv_relfatbin rdc=1'
build -rdc=true -o rdc-program
check rdc-program rdc.ptx '^executable' 'PTX section=__nv_relfatbin rdc=1'
build -c -gencode "arch=compute_90,code=[sm_90,compute_90]" -o 90.o
check 90.o 90.ptx 'cubin sm_90 section=.nv_fatbin' 'PTX sm_90 section=.nv_fatbin'
build -c -gencode arch=compute_90,code=sm_90 -o cubins.o
check cubins.o none 'cubin sm_90 section=.nv_fatbin'
build -c -lineinfo -o lineinfo.o
check lineinfo.o lineinfo.ptx 'PTX source=main.cu options= --generate-line-info'
build -fatbin -o default.fatbin
check default.fatbin default.ptx '^fatbin fatbins=1' 'PTX section= rdc=0'
build -fatbin -rdc=true -o rdc.fatbin
check rdc.fatbin rdc.ptx 'PTX section= rdc=1'
cat default.fatbin rdc.fatbin >two.fatbin
check two.fatbin default.ptx '^fatbin fatbins=2' 'PTX fatbin=1 rdc=1'
build -cubin -arch=sm_90 -o 90.cubin
check 90.cubin none '^cubin' 'cubin sm_90'
# A cubin with line information has its PTX in a debug section, without the lines that are debug
# information themselves.
build -cubin -arch=sm_90 -lineinfo -o debug.cubin
build -ptx -arch=sm_90 -lineinfo -o debug.ptx
sed -E 's/^[[:space:]]*\.(loc|file|b8)[[:space:]].*//' debug.ptx >stripped.ptx
check debug.cubin stripped.ptx '^cubin' 'PTX sm_90 section=.nv_debug_ptx_txt debug_copy=1'
copy_of() { # CUBIN PTX yes|no: whether the cubin has the copy of the text
    if "$list" "$1" copy-of "$2"; then is=yes; else is=no; fi
    if [ "$is" = "$3" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}
copy_of debug.cubin debug.ptx yes
copy_of debug.cubin lineinfo.ptx no # for another architecture
copy_of 90.cubin debug.ptx no
build -fatbin -lineinfo -gencode arch=compute_90,code=sm_90 -o debug.fatbin
copy_of debug.fatbin debug.ptx yes
build -shared -Xcompiler -fPIC -o libmain.so
check libmain.so default.ptx '^shared library' 'PTX section=.nv_fatbin'
build -lib -o libmain.a
check libmain.a default.ptx '^archive' 'PTX section=.nv_fatbin member=.+\.o '

# Kernels of cubins and their parameters.
cat >parameters.cu <<'END'
struct big { char c[5000]; int x; };
struct odd { char c[3]; };
static __device__ __noinline__ int twice(int i) { return 2 * i; }
extern "C" __global__ void none() {}
extern "C" __global__ void many(char a, float *b, short c, odd d, double e, int f) { b[0] = a + c + d.c[1] + e + twice(f); }
END
echo 'extern "C" __global__ void large(big b, int *p) { p[0] = b.x; }' >large.cu
for arch in 75 90; do
    "$nvcc" -cubin -arch=sm_$arch -o parameters.cubin parameters.cu >log 2>&1 || continue
    printf 'many 0:1 8:8 16:2 18:3 24:8 32:4\nnone\n' >wanted
    if "$list" parameters.cubin kernels | sort | diff -u wanted -; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
cat parameters.cu large.cu >both.cu
if "$nvcc" -cubin -arch=sm_90 -o large.cubin both.cu >log 2>&1; then # since CUDA 12.1
    if "$list" large.cubin kernels | grep -qx 'large 0:5004 5008:8'; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
