# Bulk copies store, and load, each word that they move, and count as fills and drains; barriers in shared memory count
# as loads and stores. Each block copies a tile twice, of which threads sum up all but the last quarter.
. ./busy
nvcc=$("$root/scripts/have" nvcc 2>/dev/null) || { echo "SKIP: no nvcc (CUDA toolkit)"; exit 77; }
cat >program.cu <<'END_OF_PROGRAM'
#include <cstdint>
#include <cstdio>
enum { WORDS = 1024, USED = 768, THREADS = 128, BLOCKS = 3, ROUNDS = 2 };
__device__ uint32_t place(const void *at) { return (uint32_t)__cvta_generic_to_shared(at); }
__device__ void copy(float *to, const float *from, uint32_t bytes, uint64_t *barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place(barrier)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(place(to)), "l"(from), "r"(bytes), "r"(place(barrier)) : "memory");
}
__device__ void wait(uint64_t *barrier, uint32_t phase)
{
    uint32_t done = 0;
    while (!done)
        asm volatile("{ .reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(place(barrier)), "r"(phase) : "memory");
}
__global__ void sum(const float *in, float *out, uint32_t bytes)
{
    __shared__ __align__(128) float tile[WORDS], sums[THREADS];
    __shared__ uint64_t barrier;
    float sum = 0;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(place(&barrier)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    for (int round = 0; round < ROUNDS; round++) {
        if (threadIdx.x == 0) {
            copy(tile, in + (blockIdx.x * ROUNDS + round) * WORDS, bytes, &barrier);
            wait(&barrier, round);
        }
        __syncthreads();
        for (int i = threadIdx.x; i < USED; i += THREADS)
            sum += tile[i];
        __syncthreads();
    }
    sums[threadIdx.x] = sum;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                     ::"l"(out + blockIdx.x * THREADS), "r"(place(sums)), "n"(THREADS * sizeof(float)) : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}
int main()
{
    float *in, *out;
    int wrong = 0;
    cudaMallocManaged(&in, BLOCKS * ROUNDS * WORDS * sizeof(float));
    cudaMallocManaged(&out, BLOCKS * THREADS * sizeof(float));
    for (int i = 0; i < BLOCKS * ROUNDS * WORDS; i++)
        in[i] = i % 13 - 6;
    sum<<<BLOCKS, THREADS>>>(in, out, WORDS * sizeof(float));
    cudaError_t error = cudaDeviceSynchronize();
    for (int i = 0; i < BLOCKS * THREADS; i++) {
        float sum = 0;
        for (int round = 0; round < ROUNDS; round++)
            for (int k = i % THREADS; k < USED; k += THREADS)
                sum += in[(i / THREADS * ROUNDS + round) * WORDS + k];
        wrong += sum != out[i];
    }
    printf("%s, %d wrong\n", cudaGetErrorName(error), wrong);
}
END_OF_PROGRAM
"$nvcc" -o program -O3 -gencode arch=compute_90,code=compute_90 program.cu || exit 1
for counting in usual basic sm,th; do
    [ $counting = usual ] || export GLINT_SHARED_COUNTING=$counting
    "$GLINT" record -q -f -o p.glint --device sim -a shared --no-cache -- ./program
    echo "$counting: status $?"
    "$GLINT" query p.glint "select name, bytes, blocks, untouched_bytes, loads, loads_min, loads_max, stores, fills,
        loads_per_fill_min, loads_per_fill_max, drain_loads, own_share, complete from v_shared_arrays"
    "$GLINT" query p.glint "select text from v_notes"
done
