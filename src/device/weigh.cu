// SPDX-License-Identifier: Apache-2.0
// Weighs values by accesses: see weigh.h.
#include "values.cuh"
#include "weigh.h"

enum { WEIGHERS = DEVICE_WEIGH_THREADS };

// Accesses to one value, after those to others were dropped in pairs.
struct rest {
    u64 bits, weight;
};

struct weigh_work {
    u64 bits; // of the chosen value
    u64 accesses, count;
    u64 reserved[5];
    struct rest rests[DEVICE_WEIGH_BLOCKS];
};
static_assert(sizeof(struct weigh_work) == DEVICE_WEIGH_WORK, "it fits");

static __shared__ struct {
    struct rest rests[WEIGHERS / 32];
    u64 sums[2];
    unsigned last;
} weighing;

__device__ static void drop_pairs(struct rest *rest, u64 bits, u64 weight)
{
    if (bits == rest->bits) {
        rest->weight += weight;
    } else if (weight > rest->weight) {
        rest->bits = bits;
        rest->weight = weight - rest->weight;
    } else {
        rest->weight -= weight;
    }
}

// Drops pairs among the lanes of the warp; lane 0 has what is left.
__device__ static struct rest join_lanes(struct rest rest)
{
#pragma unroll 1
    for (int step = 16; step; step /= 2) {
        const u64 bits = __shfl_down_sync(ALL, rest.bits, step);
        const u64 weight = __shfl_down_sync(ALL, rest.weight, step);
        drop_pairs(&rest, bits, weight);
    }
    return rest;
}

// The same among the threads of the block; thread 0 has what is left.
__device__ static struct rest join_threads(struct rest rest)
{
    rest = join_lanes(rest);
    __syncthreads();
    if (lane_index() == 0)
        weighing.rests[warp_index()] = rest;
    __syncthreads();
#pragma unroll 1
    for (unsigned i = 1; threadIdx.x == 0 && i < WEIGHERS / 32; i++)
        drop_pairs(&rest, weighing.rests[i].bits, weighing.rests[i].weight);
    return rest;
}

// Returns how often an element was accessed.
__device__ static u64 accesses_of(const struct device_weigh_job &job, u64 address)
{
    const u64 element = (address - job.base) >> job.shift;
    const unsigned word = __ldcg(at<const unsigned>(job.bits) + element / 32);
    u64 count = word & 0x7fffffff;
    if (word >> 31)
        count += __ldcg(at<const unsigned>(job.counts) + element);
    return count;
}

// Returns the stored bits; of -0.0, those of +0.0.
__device__ static u64 load_bits(const struct device_weigh_job &job, u64 address)
{
    u64 bits = 0;
    if (job.shift == 2) {
        bits = __ldcg(at<const unsigned>(address));
    } else if (job.shift == 3) {
        bits = __ldcg(at<const u64>(address));
    }
    if ((job.type == DEVICE_F32 && bits == sign_of(F32)) ||
        (job.type == DEVICE_F64 && bits == sign_of(F64)))
        bits = 0;
    return bits;
}

// The number of elements of the field.
__device__ static u64 elements_of(const struct device_weigh_job &job)
{
    const u64 start = job.first + job.offset, size = 1ull << job.shift;
    return start + size <= job.end ? (job.end - size - start) / job.stride + 1 : 0;
}

extern "C" __global__ void __launch_bounds__(WEIGHERS)
    glint_weigh_choose(const __grid_constant__ struct device_weigh about)
{
    const u64 own = (u64)blockIdx.x * WEIGHERS + threadIdx.x, step = (u64)gridDim.x * WEIGHERS;
#pragma unroll 1
    for (unsigned i = 0; i < about.job_count; i++) {
        const struct device_weigh_job &job = about.jobs[i];
        const u64 elements = elements_of(job);
        struct rest rest = {0, 0};
#pragma unroll 1
        for (u64 k = own; k < elements; k += step) {
            const u64 address = job.first + job.offset + k * job.stride;
            const u64 accesses = accesses_of(job, address);
            if (accesses)
                drop_pairs(&rest, load_bits(job, address), accesses);
        }
        rest = join_threads(rest);
        if (threadIdx.x == 0)
            at<struct weigh_work>(job.work)->rests[blockIdx.x] = rest;
    }
    if (!ends_last(about.done, &weighing.last))
        return;
#pragma unroll 1
    for (unsigned i = 0; i < about.job_count; i++) {
        struct weigh_work *work = at<struct weigh_work>(about.jobs[i].work);
        struct rest rest = {0, 0};
#pragma unroll 1
        for (unsigned k = threadIdx.x; k < gridDim.x; k += WEIGHERS) {
            drop_pairs(&rest, __ldcg(&work->rests[k].bits), __ldcg(&work->rests[k].weight));
            work->rests[k] = {0, 0};
        }
        rest = join_threads(rest);
        if (threadIdx.x == 0)
            work->bits = rest.bits;
    }
}

// Adds what the threads have to the job's sums. Called by the whole block.
__device__ static void add_sums(struct weigh_work *work, u64 accesses, u64 count)
{
    __syncthreads();
    if (threadIdx.x < 2)
        weighing.sums[threadIdx.x] = 0;
    __syncthreads();
    if (accesses)
        atomicAdd(&weighing.sums[0], accesses);
    if (count)
        atomicAdd(&weighing.sums[1], count);
    __syncthreads();
    if (threadIdx.x == 0 && weighing.sums[0]) {
        atomicAdd(&work->accesses, weighing.sums[0]);
        atomicAdd(&work->count, weighing.sums[1]);
    }
}

extern "C" __global__ void __launch_bounds__(WEIGHERS)
    glint_weigh_count(const __grid_constant__ struct device_weigh about)
{
    const u64 own = (u64)blockIdx.x * WEIGHERS + threadIdx.x, step = (u64)gridDim.x * WEIGHERS;
#pragma unroll 1
    for (unsigned i = 0; i < about.job_count; i++) {
        const struct device_weigh_job &job = about.jobs[i];
        struct weigh_work *work = at<struct weigh_work>(job.work);
        const u64 elements = elements_of(job), chosen = __ldcg(&work->bits);
        u64 all = 0, count = 0;
#pragma unroll 1
        for (u64 k = own; k < elements; k += step) {
            const u64 address = job.first + job.offset + k * job.stride;
            const u64 accesses = accesses_of(job, address);
            all += accesses;
            if (accesses && load_bits(job, address) == chosen)
                count += accesses;
        }
        add_sums(work, all, count);
    }
    if (!ends_last(about.done, &weighing.last))
        return;
    if (threadIdx.x < about.job_count) {
        const struct device_weigh_job &job = about.jobs[threadIdx.x];
        struct weigh_work *work = at<struct weigh_work>(job.work);
        struct device_weighed *result = at<struct device_weighed>(job.result);
        const u64 all = __ldcg(&work->accesses), count = __ldcg(&work->count);
        const bool most = 2 * count > all;
        result->accesses = all;
        result->value = most ? value_of(job.type, __ldcg(&work->bits)) : 0;
        result->count = most ? count : 0;
        work->bits = work->accesses = work->count = 0;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        fence_system();
        *at<volatile unsigned>(about.sequence) = 1;
    }
}
