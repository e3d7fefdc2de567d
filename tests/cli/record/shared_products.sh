# Operands of a warpgroup's products count as loads of shared memory: of a tile with swizzled rows, each product reads
# 32 bytes of each row, so that four read everything once. Nothing reads the columns behind.
. ./busy
nvcc=$("$root/scripts/have" nvcc 2>/dev/null) || { echo "SKIP: no nvcc (CUDA toolkit)"; exit 77; }
cat >program.cu <<'END_OF_PROGRAM'
#include <cstdint>
#include <cstdio>
#include <cuda_fp16.h>
enum { M = 64, N = 8, K = 64, MORE = 4 };
__device__ uint64_t describe(const half *start)
{
    uint64_t address = (uint32_t)__cvta_generic_to_shared(start);
    return address >> 4 | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}
__device__ void fill(half *to, const half *from, int rows)
{
    for (int i = threadIdx.x; i < rows * K / 2; i += 128) {
        int row = i / 32, pair = i % 32;
        ((half2 *)to)[row * 32 + (pair / 4 ^ row % 8) * 4 + pair % 4] = ((const half2 *)from)[i];
    }
}
__global__ void multiply(const half *a, const half *b, float *c)
{
    __shared__ __align__(1024) half rows[M * K], columns[(N + MORE) * K];
    float d[4] = {};
    fill(rows, a, M);
    fill(columns, b, N);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int k = 0; k < K; k += 16)
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "l"(describe(rows + k)), "l"(describe(columns + k)) : "memory");
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 4; i++)
        c[(threadIdx.x / 4 % 8 + threadIdx.x / 32 * 16 + i / 2 * 8) * N + threadIdx.x % 4 * 2 + i % 2] = d[i];
}
int main()
{
    half *a, *b;
    float *c;
    int wrong = 0;
    cudaMallocManaged(&a, M * K * sizeof(half));
    cudaMallocManaged(&b, N * K * sizeof(half));
    cudaMallocManaged(&c, M * N * sizeof(float));
    for (int i = 0; i < M * K; i++)
        a[i] = __float2half(i * 7 % 13 - 6);
    for (int i = 0; i < N * K; i++)
        b[i] = __float2half(i * 5 % 11 - 5);
    multiply<<<3, 128>>>(a, b, c);
    cudaError_t error = cudaDeviceSynchronize();
    for (int i = 0; i < M * N; i++) {
        float sum = 0;
        for (int k = 0; k < K; k++)
            sum += __half2float(a[i / N * K + k]) * __half2float(b[i % N * K + k]);
        wrong += sum != c[i];
    }
    printf("%s, %d wrong\n", cudaGetErrorName(error), wrong);
}
END_OF_PROGRAM
"$nvcc" -o program -O3 -gencode arch=compute_90a,code=compute_90a program.cu || exit 1
for counting in usual basic sm,th; do
    [ $counting = usual ] || export GLINT_SHARED_COUNTING=$counting
    "$GLINT" record -q -f -o p.glint --device sim -a shared --no-cache -- ./program
    echo "$counting: status $?"
    "$GLINT" query p.glint "select name, bytes, blocks, untouched_bytes, loads, loads_min, loads_max, stores, fills,
        loads_per_fill_min, loads_per_fill_max, own_share, complete from v_shared_arrays"
    "$GLINT" query p.glint "select text from v_notes"
done
