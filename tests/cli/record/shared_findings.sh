# Shared memory that is not used, and shared memory that only passes data from a thread to itself. Near misses: launches
# that use what others do not, kernels of which a launch was not counted, exchange between threads, data that is loaded
# twice, and padding. What the paper found in Jacobi is found, and not in its second version.
. ./busy
nvcc=$("$root/scripts/have" nvcc 2>/dev/null) || { echo "SKIP: no nvcc (CUDA toolkit)"; exit 77; }
cat >program.cu <<'END'
#include <cstdio>
extern __shared__ int dynamic[];

__global__ void quarter(int *out) // uses 2 of 8 KiB
{
    dynamic[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = dynamic[threadIdx.x ^ 1];
}
__global__ void rarely(int *out, int n) // uses all in one launch
{
    __shared__ int tile[1024];
    if (n > 0) {
        for (int i = threadIdx.x; i < 1024; i += blockDim.x)
            tile[i] = out[i % 512];
        __syncthreads();
        out[threadIdx.x] = tile[1023 - threadIdx.x];
    }
}
__global__ void never(int *out, int n) // uses its array in no launch
{
    __shared__ int tile[10240];
    if (n > 0) {
        for (int i = threadIdx.x; i < 10240; i += blockDim.x)
            tile[i] = out[i % 512];
        __syncthreads();
        out[threadIdx.x] = tile[1023 - threadIdx.x];
    }
}
__global__ void padded(int *out) // does not use a column
{
    __shared__ int tile[32][33];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x)
        tile[i / 32][i % 32] = out[i % 512];
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x % 32][threadIdx.x / 32];
}
__global__ void own(int *out)
{
    __shared__ int mine[512];
    for (int i = 0; i < 3; i++) {
        mine[threadIdx.x] = out[threadIdx.x] + i;
        __syncthreads();
        out[threadIdx.x] = mine[threadIdx.x];
    }
}
__global__ void twice(int *out) // loads one value twice
{
    __shared__ volatile int mine[512];
    mine[threadIdx.x] = out[threadIdx.x];
    out[threadIdx.x] = mine[threadIdx.x] + (threadIdx.x == 7 ? mine[threadIdx.x] : 0);
}
__global__ void only_stores(int *out)
{
    __shared__ volatile int mine[512];
    mine[threadIdx.x] = out[threadIdx.x];
}
int main(int argc, char **)
{
    int *out;
    cudaMalloc(&out, 4096);
    for (int i = 0; i < 2; i++) {
        quarter<<<4000, 512, 8192>>>(out);
        rarely<<<2, 512>>>(out, i);
        never<<<4000, 256>>>(out, argc - 1);
        padded<<<2, 512>>>(out);
        own<<<2, 512>>>(out);
        twice<<<2, 512>>>(out);
        only_stores<<<2, 512>>>(out);
    }
    puts(cudaDeviceSynchronize() == cudaSuccess ? "done" : "failed");
}
END
"$nvcc" -o program -O3 -lineinfo -Wno-deprecated-gpu-targets -arch=compute_75 program.cu || exit 1
found="import json, sys
for finding in json.load(sys.stdin)['findings']:
    evidence = finding['evidence']
    if finding['pattern'].startswith('shared-'):
        line = evidence.get('line')
        print(finding['pattern'], finding['kernel'].split('(')[0], 'worthwhile' if finding['worthwhile'] else '-',
              *('%s=%s' % (name, evidence[name]) for name in evidence if name != 'line' and 'peak' not in name),
              *('line=%s' % line['line'] for line in [line] if line))"
python3 -c 'import json' || { echo "SKIP: no Python"; exit 77; }
"$GLINT" record -q -o p.glint --device sim -a shared --no-cache -- ./program
"$GLINT" report --format json p.glint | python3 -c "$found" | sort
"$GLINT" report p.glint | sed -n '/What to fix/,/worth less/p' | sed 's/+0x[0-9a-f]* (program+0x[0-9a-f]*)//'
echo "one launch of each kernel is not watched:"
"$GLINT" record -q -o some.glint --device sim -a shared --sample 2 --no-cache -- ./program
"$GLINT" report --format json some.glint | python3 -c "$found"
for name in jacobi jacobi_fixed; do
    # shellcheck disable=SC2086
    (cd "$root" && NVCC=$nvcc tests/compile "$SCRATCH/$name.run" examples/jacobi/$name.cu -O3 -lineinfo \
        -Wno-deprecated-gpu-targets -arch=compute_75) || exit 1
    "$GLINT" record -q -o $name.glint --device sim -a shared --no-cache -- ./$name.run >/dev/null
    "$GLINT" report --format json $name.glint | python3 -c "$found"
    # GMProf, table 5, counts the accesses in a live range: 2 for a1, 4 for a2.
    "$GLINT" query $name.glint "select name, sum(ranges) ranges, sum(loads) * 1.0 / sum(ranges) loads_each,
        (sum(loads) + sum(ranges)) * 1.0 / sum(ranges) accesses_each, max(loads_per_fill_max) most_loads,
        min(own_share) own, sum(drain_loads) drains from v_shared_arrays
        where ranges is not null group by array"
done
