# A kernel or a call that fails leads the report, with its name and line. What only follows from it is not listed: objects
# that could not be freed are no leaks, and what the failed calls were to use is not unused. Near misses: a query whose
# work is not finished is no failure, and an object that nobody tried to free is a leak. What is found in what ran before
# depends on what was read back.
. ./busy
nvcc=$("$root/scripts/have" nvcc 2>/dev/null) || { echo "SKIP: no nvcc (CUDA toolkit)"; exit 77; }
cat >program.cu <<'END'
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
__global__ void good(int *out) { out[threadIdx.x] = threadIdx.x; }
__global__ void reads(int *out, const int *in)
{
    out[threadIdx.x] = in[threadIdx.x + (1 << 28)];
}
__global__ void writes(int *out)
{
    out[threadIdx.x + (1 << 28)] = 1;
}
__global__ void traps(int *out)
{
    if (out[0] >= 0)
        asm volatile("trap;");
}
__global__ void misreads(int *out, const char *in)
{
    out[threadIdx.x] = *(const int *)(in + 1);
}
__global__ void asserts(const int *in)
{
    assert(in[threadIdx.x] > 0);
}
int main(int, char **argv)
{
    const size_t bytes = 1 << 20;
    int *a, *b, *c = NULL, host = 0;
    cudaMalloc(&a, bytes);
    cudaMalloc(&b, bytes);
    cudaMemset(a, 0, bytes);
    good<<<1, 32>>>(b);
    cudaDeviceSynchronize();
    if (!strcmp(argv[1], "reads"))
        reads<<<1, 32>>>(a, b);
    if (!strcmp(argv[1], "writes"))
        writes<<<1, 32>>>(a);
    if (!strcmp(argv[1], "traps"))
        traps<<<1, 32>>>(a);
    if (!strcmp(argv[1], "misreads"))
        misreads<<<1, 32>>>(b, (const char *)a);
    if (!strcmp(argv[1], "asserts"))
        asserts<<<1, 32>>>(a);
    if (!strcmp(argv[1], "shape")) {
        good<<<1, 4096>>>(a);
        exit(3);
    }
    if (!strcmp(argv[1], "memory")) {
        cudaMalloc(&c, (size_t)1 << 50);
        exit(3);
    }
    if (!strcmp(argv[1], "pointer")) {
        cudaFree((char *)b + 256);
        return 0;
    }
    if (!strcmp(argv[1], "query")) {
        cudaEvent_t event;
        cudaEventCreate(&event);
        for (int i = 0; i < 100; i++)
            good<<<1000, 32>>>(b);
        cudaEventRecord(event);
        while (cudaEventQuery(event) == cudaErrorNotReady)
            ;
        cudaFree(b);
        return 0;
    }
    cudaMalloc(&c, bytes);
    cudaMemcpy(&host, a, sizeof(host), cudaMemcpyDeviceToHost);
    good<<<1, 32>>>(c);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
}
END
"$nvcc" -g -o program -O3 -lineinfo -Wno-deprecated-gpu-targets -arch=compute_75 program.cu || exit 1
"$nvcc" -g -o plain -O3 -Wno-deprecated-gpu-targets -arch=compute_75 program.cu || exit 1
for how in reads writes traps misreads asserts shape memory pointer query; do
    echo "== $how"
    "$GLINT" record -f -q -o p.glint --device sim --no-cache -- ./program $how 2>/dev/null
    COLUMNS=80 "$GLINT" report p.glint | sed -n '2p'
    "$GLINT" report --verbose p.glint | sed -n 's/^ *gain: .*\[\(.*\)\]/found: \1/p' | grep -E 'leak|unused|redundant'
done
# Without -lineinfo, the line of the launch is named, except where an assertion says its own; with probes and without.
for how in reads traps asserts; do
    for analyses in objects sync; do
        echo "== $how without lines, $analyses"
        "$GLINT" record -f -q -o p.glint --device sim --no-cache --analyses $analyses -- ./plain $how 2>error.txt
        COLUMNS=80 "$GLINT" report p.glint | sed -n '2p'
        grep -c 'no live object is near' error.txt || :
    done
done
