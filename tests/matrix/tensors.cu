// SPDX-License-Identifier: Apache-2.0
// Products of matrices as libraries for Hopper compute them: tiles come by tensor copies,
// warpgroups multiply them, and tensor copies bring the sums back. Needs compute capability 9.0.
// Modes:
//   multiply   C = A * B, checked against the host; the kernel gets its maps as parameters
//   constant   the same with maps in constant memory
//   add        adds the product to C, by a reducing copy
//   wide       like multiply, and there is a map of more memory than C has, which no kernel uses
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda/ptx>
#include <cuda_fp16.h>

#define CHECK(call)                                                     \
    do {                                                                \
        cudaError_t error = (call);                                     \
        if (error != cudaSuccess) {                                     \
            printf("line %d: %s\n", __LINE__, cudaGetErrorName(error)); \
            exit(1);                                                    \
        }                                                               \
    } while (0)

namespace ptx = cuda::ptx;

enum { M = 128, N = 192, K = 256, TILE = 64, STAGES = 2, THREADS = 128 };

__constant__ CUtensorMap maps[3];

// A tile whose rows of 128 bytes are swizzled: eight rows are 1024 bytes apart.
__device__ static uint64_t describe(const __half *tile)
{
    const uint64_t start = __cvta_generic_to_shared(tile);
    return (start & 0x3FFFF) >> 4 | uint64_t(1) << 16 | uint64_t(64) << 32 | uint64_t(1) << 62;
}

__device__ static void multiply_add(float (&sums)[32], uint64_t a, uint64_t b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, "
        "%9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, "
        "%27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]), "+f"(sums[5]),
          "+f"(sums[6]), "+f"(sums[7]), "+f"(sums[8]), "+f"(sums[9]), "+f"(sums[10]),
          "+f"(sums[11]), "+f"(sums[12]), "+f"(sums[13]), "+f"(sums[14]), "+f"(sums[15]),
          "+f"(sums[16]), "+f"(sums[17]), "+f"(sums[18]), "+f"(sums[19]), "+f"(sums[20]),
          "+f"(sums[21]), "+f"(sums[22]), "+f"(sums[23]), "+f"(sums[24]), "+f"(sums[25]),
          "+f"(sums[26]), "+f"(sums[27]), "+f"(sums[28]), "+f"(sums[29]), "+f"(sums[30]),
          "+f"(sums[31])
        : "l"(a), "l"(b));
}

struct Shared {
    __half a[STAGES][TILE * TILE], b[STAGES][TILE * TILE];
    float c[TILE * TILE];
    uint64_t full[STAGES];
};

// Brings the tiles of step `step` into their stage.
__device__ static void fetch(Shared &shared, const CUtensorMap *a, const CUtensorMap *b, int step)
{
    const int stage = step % STAGES;
    const int32_t of_a[] = {step * TILE, int32_t(blockIdx.y) * TILE},
                  of_b[] = {step * TILE, int32_t(blockIdx.x) * TILE};
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
                                   &shared.full[stage], 2 * sizeof(shared.a[0]));
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, shared.a[stage], a, of_a,
                              &shared.full[stage]);
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, shared.b[stage], b, of_b,
                              &shared.full[stage]);
}

__device__ static void product(const CUtensorMap *a, const CUtensorMap *b, const CUtensorMap *c,
                               bool adds)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Shared &shared = *reinterpret_cast<Shared *>(memory);
    float sums[32] = {};
    if (threadIdx.x == 0) {
        for (uint64_t &full : shared.full)
            ptx::mbarrier_init(&full, 1);
        ptx::fence_proxy_async();
        for (int step = 0; step < STAGES; step++)
            fetch(shared, a, b, step);
    }
    __syncthreads();
    for (int step = 0; step < K / TILE; step++) {
        const int stage = step % STAGES;
        while (!ptx::mbarrier_try_wait_parity(&shared.full[stage], step / STAGES % 2))
            ;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int part = 0; part < TILE / 16; part++)
            multiply_add(sums, describe(shared.a[stage]) + 2 * part,
                         describe(shared.b[stage]) + 2 * part);
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::
                         : "memory");
        __syncthreads();
        if (threadIdx.x == 0 && step + STAGES < K / TILE)
            fetch(shared, a, b, step + STAGES);
    }
    const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    for (int i = 0; i < 32; i++)
        shared.c[(row + i / 2 % 2 * 8) * TILE + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2] = sums[i];
    ptx::fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        const int32_t at[] = {int32_t(blockIdx.x) * TILE, int32_t(blockIdx.y) * TILE};
        if (adds)
            ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_add, c,
                                             at, shared.c);
        else
            ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, c, at, shared.c);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

__global__ void __launch_bounds__(THREADS)
    multiply(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
             const __grid_constant__ CUtensorMap c, bool adds)
{
    product(&a, &b, &c, adds);
}

__global__ void __launch_bounds__(THREADS) multiply_by_constants()
{
    product(&maps[0], &maps[1], &maps[2], false);
}

// A matrix of `rows` rows, of which tiles of TILE rows and `columns` columns are copied.
static CUtensorMap map_of(void *address, CUtensorMapDataType type, unsigned bytes, unsigned rows,
                          unsigned width, CUtensorMapSwizzle swizzle)
{
    static PFN_cuTensorMapEncodeTiled_v12000 encode;
    if (!encode) {
        cudaDriverEntryPointQueryResult found;
        CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000,
                                               cudaEnableDefault, &found));
    }
    alignas(64) CUtensorMap map;
    const cuuint64_t size[] = {width, rows}, stride[] = {width * bytes};
    const cuuint32_t box[] = {TILE, TILE}, step[] = {1, 1};
    const CUresult result =
        encode(&map, type, 2, address, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
               swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS) {
        printf("a map is refused: %d\n", (int)result);
        exit(1);
    }
    return map;
}

int main(int count, char **arguments)
{
    std::vector<__half> a(M * K), b(N * K);
    std::vector<float> c(M * N, 1.0f);
    __half *on_device_a, *on_device_b;
    float *on_device_c;
    for (int i = 0; i < M * K; i++)
        a[i] = __float2half(float(i * 7 % 13 - 6));
    for (int i = 0; i < N * K; i++)
        b[i] = __float2half(float(i * 5 % 11 - 5));
    CHECK(cudaMalloc(&on_device_a, a.size() * sizeof(a[0])));
    CHECK(cudaMalloc(&on_device_b, b.size() * sizeof(b[0])));
    CHECK(cudaMalloc(&on_device_c, c.size() * sizeof(c[0])));
    CHECK(cudaMemcpy(on_device_a, a.data(), a.size() * sizeof(a[0]), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(on_device_b, b.data(), b.size() * sizeof(b[0]), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(on_device_c, c.data(), c.size() * sizeof(c[0]), cudaMemcpyHostToDevice));
    const CUtensorMap host[] = {
        map_of(on_device_a, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, M, K, CU_TENSOR_MAP_SWIZZLE_128B),
        map_of(on_device_b, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, N, K, CU_TENSOR_MAP_SWIZZLE_128B),
        map_of(on_device_c, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, M, N, CU_TENSOR_MAP_SWIZZLE_NONE)};
    CHECK(cudaMemcpyToSymbol(maps, host, sizeof(host)));
    CHECK(cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               sizeof(Shared)));
    CHECK(cudaFuncSetAttribute(multiply_by_constants, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               sizeof(Shared)));
    for (int mode = 1; mode < count; mode++) {
        const bool adds = strcmp(arguments[mode], "add") == 0;
        if (strcmp(arguments[mode], "wide") == 0)
            map_of(on_device_c, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 2 * M, N,
                   CU_TENSOR_MAP_SWIZZLE_NONE);
        const dim3 blocks(N / TILE, M / TILE);
        std::vector<float> before = c;
        if (strcmp(arguments[mode], "constant") == 0)
            multiply_by_constants<<<blocks, THREADS, sizeof(Shared)>>>();
        else
            multiply<<<blocks, THREADS, sizeof(Shared)>>>(host[0], host[1], host[2], adds);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(c.data(), on_device_c, c.size() * sizeof(c[0]), cudaMemcpyDeviceToHost));
        int wrong = 0;
        for (int row = 0; row < M; row++) {
            for (int column = 0; column < N; column++) {
                float sum = adds ? before[row * N + column] : 0;
                for (int k = 0; k < K; k++)
                    sum += float((row * K + k) * 7 % 13 - 6) * float((column * K + k) * 5 % 11 - 5);
                wrong += c[row * N + column] != sum;
            }
        }
        printf("%s: %d of %d sums are wrong, the first one is %g\n", arguments[mode], wrong, M * N,
               c[0]);
    }
    CHECK(cudaFree(on_device_a));
    CHECK(cudaFree(on_device_b));
    CHECK(cudaFree(on_device_c));
    return 0;
}
