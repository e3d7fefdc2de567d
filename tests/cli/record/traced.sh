# Which launches are traced: those whose number, among all with the same kernel, grid, block and dynamic shared memory,
# is a power of two. Only these have live ranges, and tags in spare shared memory; what blocks load is
# counted in the same ones. Words are counted in all. Findings judge the launches that were traced, and none is made
# where a launch that was not traced contradicts it.
. ./busy
nvcc=$("$root/scripts/have" nvcc 2>/dev/null) || { echo "SKIP: no nvcc (CUDA toolkit)"; exit 77; }
python3 -c 'import json' || { echo "SKIP: no Python"; exit 77; }
cat >program.cu <<'CODE'
#include <cstdio>
extern __shared__ int dynamic[];

__global__ void own(int *out)
{
    dynamic[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = dynamic[threadIdx.x] + 1;
}
template <int KIND> __global__ void maybe(int *out, bool again) // then loads one value twice
{
    __shared__ volatile int mine[64];
    mine[threadIdx.x] = out[threadIdx.x];
    out[threadIdx.x] = mine[threadIdx.x] + (again && threadIdx.x == 7 ? mine[threadIdx.x] : 0);
}
__global__ void large(int *out) // counters need more than 48 KiB, in launches that are not traced, too
{
    dynamic[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&dynamic[out[threadIdx.x] & 63], 1);
}
int main()
{
    int *out;
    cudaMalloc(&out, 4096);
    cudaMemset(out, 0, 4096);
    for (int i = 1; i <= 4; i++)
        large<<<2, 64, 40000>>>(out);
    for (int i = 1; i <= 17; i++) {
        own<<<2, 64, 256>>>(out);
        if (i <= 8) {
            own<<<3, 64, 256>>>(out);
            own<<<2, 32, 256>>>(out);
            own<<<2, 64, 512>>>(out);
            maybe<0><<<2, 64>>>(out, false);
            maybe<1><<<2, 64>>>(out, i == 6);
        }
    }
    puts(cudaDeviceSynchronize() == cudaSuccess ? "done" : "failed");
}
CODE
"$nvcc" -o program -O3 -lineinfo -Wno-deprecated-gpu-targets -arch=compute_75 program.cu || exit 1
"$GLINT" record -q -o p.glint --device sim -a shared --no-cache --sim-log log -- ./program
"$GLINT" query p.glint "select name, blocks, threads, bytes, group_concat(number) launches,
    group_concat(case when traced then number end) traced, group_concat(case when looked then number end) looked_at,
    min(loads) loads, max(loads) at_most, min(stores) stores, max(stores) at_most, min(complete) complete
    from (select k.name, a.blocks, l.block_x threads, a.bytes, a.loads, a.stores, a.complete,
          a.ranges is not null traced, a.call in (select call from v_block_reuse) looked,
          row_number() over (partition by k.name, a.blocks, l.block_x, a.bytes order by a.call) number
          from v_shared_arrays a join v_launches l on l.call = a.call join v_kernels k on k.number = a.kernel
          order by a.call)
    group by name, blocks, threads, bytes order by name, blocks, threads, bytes"
echo "shared memory of 3 blocks, by launch:"
"$GLINT" sim-log --launches log | sed -n '/own.*$glint[$a-z]* .*grid=3,/s/.* dynamic_shared=\([0-9]*\) .*/\1/p' | tr '\n' ' '
echo
"$GLINT" query p.glint "select count(*) from v_notes where text like '%because there was no spare%'"
"$GLINT" report --format json p.glint | python3 -c "import json, sys
for finding in json.load(sys.stdin)['findings']:
    if finding['pattern'] == 'shared-no-reuse':
        evidence = finding['evidence']
        print(finding['kernel'], *(evidence[name] for name in ('launches', 'launches_traced', 'ranges', 'loads')),
              finding['worth']['traffic_bytes'])"
"$GLINT" report --verbose p.glint | sed -n 's/^ *[0-9]*\. \(`mine.*is not shared.*\)/\1/p'
