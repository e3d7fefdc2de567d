# Synchronizations by which the program learns of errors are told from those that nothing needs: what a program does with
# the result is read from its machine code, as compilers make it without and with optimization.
. ./busy
nvcc=$("$root/scripts/have" nvcc 2>/dev/null) || { echo "SKIP: no nvcc (CUDA toolkit)"; exit 77; }
cat >program.cu <<'END_OF_PROGRAM'
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { puts(cudaGetErrorString(e)); exit(1); } } while (0)
#define CHECK_LAST() { cudaError_t e = cudaGetLastError(); if (e != cudaSuccess) exit(1); }
__global__ void work(float *a) { a[threadIdx.x] += 1; }
static void __attribute__((noinline)) check(cudaError_t e, int line) { if (e != cudaSuccess) { printf("%d\n", line); exit(1); } }
static void __attribute__((noinline)) check_last(const char *s) { cudaError_t e = cudaGetLastError(); if (e) { puts(s); exit(1); } }
static cudaError_t __attribute__((noinline)) returns() { return cudaDeviceSynchronize(); }
static void __attribute__((noinline)) drops() { cudaDeviceSynchronize(); }
static int sum;
int main(int argc, char **)
{
    float *a;
    cudaMalloc(&a, 4096);
    work<<<1, 32>>>(a); CHECK(cudaDeviceSynchronize());               // errors
    work<<<1, 32>>>(a); check(cudaDeviceSynchronize(), __LINE__);     // errors
    work<<<1, 32>>>(a); cudaDeviceSynchronize();                      // nothing
    work<<<1, 32>>>(a); cudaDeviceSynchronize(); CHECK_LAST();        // errors
    work<<<1, 32>>>(a); cudaDeviceSynchronize(); check_last("x");     // errors
    work<<<1, 32>>>(a); CHECK(returns());                             // errors
    work<<<1, 32>>>(a); returns();                                    // nothing
    work<<<1, 32>>>(a); drops();                                      // nothing
    work<<<1, 32>>>(a); drops(); if (argc > 1) sum++;                 // nothing
    work<<<1, 32>>>(a); if (cuCtxSynchronize() != CUDA_SUCCESS) return 1; // errors
    CHECK(cudaDeviceSynchronize());                                   // nothing: there is no launch before
    work<<<1, 32>>>(a); cudaStreamSynchronize(0); sum += argc;        // nothing
    work<<<1, 32>>>(a); cudaDeviceSynchronize();                      // nothing
    return sum == 0;
}
END_OF_PROGRAM
sed -n 's|^.*// \(errors\)$|\1|p; s|^.*// \(nothing\).*|\1|p' program.cu >wanted
for how in '-O0 -cudart shared' '-O2 -cudart shared' '-O2 -cudart static'; do
    # shellcheck disable=SC2086 # several options
    "$root/tests/compile" program program.cu $how -g -Wno-deprecated-gpu-targets -arch=compute_75 -lcuda ||
        { echo "SKIP: it does not compile here"; exit 77; }
    "$GLINT" record -q -f -o p.glint --device sim -a sync,objects -- ./program || exit 1

    "$GLINT" report --format json -t wait-us=0 -t wait-percent=0 p.glint |
        jq -r '.findings[] | select(.pattern | endswith("-sync")) |
            "\(.call) \(if .pattern == "checking-sync" then "errors" elif .evidence.may_check_errors then "unknown" else "nothing" end)"' |
        sort -n | cut -d ' ' -f 2 >found
    echo "== $how"
    diff wanted found && echo "as wanted"
done
"$GLINT" report --verbose --pattern checking-sync p.glint | sed -n 's/^ *[0-9]*\. \(.*:17 \)/\1/p; /->.*:17/p'
