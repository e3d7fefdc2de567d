// SPDX-License-Identifier: Apache-2.0
// The scan of contents: its two kernels, and how the last block writes the results. See values.h.
#include "values_line.cuh"
#include "values_scan.cuh"

// Fences: whoever sees a later write also sees earlier ones, on this GPU and everywhere.
__device__ static void fence_gpu()
{
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

__device__ static void fence_system()
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}

// --- Results -------------------------------------------------------------------------------------

template <int KIND> __device__ static u64 bound_of(u64 key, unsigned type)
{
    typedef typename bits_of<KIND>::type B;
    const B flip = is_signed(type) ? (B)sign_of(KIND) : 0;
    return of_key<KIND>((B)key, flip);
}

// Returns the value of the element that has the key.
__device__ static __noinline__ u64 value_of_key(unsigned type, u64 key)
{
    switch (kind_of(type)) {
    case INT1: return value_of(type, bound_of<INT1>(key, type));
    case INT2: return value_of(type, bound_of<INT2>(key, type));
    case INT8: return value_of(type, bound_of<INT8>(key, type));
    case F16: return value_of(type, bound_of<F16>(key, type));
    case BF16: return value_of(type, bound_of<BF16>(key, type));
    case F32: return value_of(type, bound_of<F32>(key, type));
    case F64: return value_of(type, bound_of<F64>(key, type));
    default: return value_of(type, bound_of<INT4>(key, type));
    }
}

__device__ static void write_sums(unsigned type, const struct sums &sums, const struct set *set)
{
    struct device_field_result *to = &scanning.result;
    const u64 mask = ~0ull >> (64 - 8 * size_of(kind_of(type)));
    const bool some = sums.elements > sums.counters[NANS];
    const unsigned distinct = __ldcg(&set->count);
    to->elements = sums.elements;
    to->zeros = sums.counters[ZEROS];
    to->nans = sums.counters[NANS];
    to->least = some ? value_of_key(type, sums.least ^ mask) : 0;
    to->greatest = some ? value_of_key(type, sums.greatest) : 0;
    to->any_bits = sums.any;
    to->all_bits = sums.elements ? sums.none ^ mask : 0;
    to->integral = sums.counters[INTEGRAL];
    to->narrow = sums.counters[NARROW];
    to->brief = sums.counters[BRIEF];
    to->linear = sums.counters[LINEAR];
    to->distinct = min(distinct, DEVICE_DISTINCT + 1u);
}

// Puts a candidate in its place: the most frequent first, and of equal ones the least value.
__device__ static void write_candidate(unsigned type, const struct wanted &wanted,
                                       const struct sums &sums)
{
    const u64 count = sums.counters[CANDIDATES + threadIdx.x];
    const u64 value = value_of(type, wanted.candidates[threadIdx.x]);
    unsigned place = 0;
#pragma unroll 1
    for (unsigned i = 0; i < wanted.candidate_count; i++) {
        const u64 other = sums.counters[CANDIDATES + i];
        place += other > count || (other == count && value_of(type, wanted.candidates[i]) < value);
    }
    if (count && place < DEVICE_CANDIDATES) {
        scanning.result.candidates[place].value = value;
        scanning.result.candidates[place].count = count;
    }
}

// Writes what was found about a field, and zeroes it. Called by the whole block.
__device__ static void write_field(unsigned type, struct field_work *from,
                                   struct device_field_result *to)
{
    struct wanted &wanted = scanning.wanted[0];
    struct sums &sums = scanning.sums[0];
    enum {
        WANTED = sizeof(struct wanted) / 8,
        SUMS = sizeof(struct sums) / 8,
        RESULT = sizeof(struct device_field_result) / 8,
    };
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < WANTED; i += THREADS)
        ((u64 *)&wanted)[i] = __ldcg((const u64 *)&from->wanted + i);
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < SUMS; i += THREADS)
        ((u64 *)&sums)[i] = __ldcg((const u64 *)&from->sums + i);
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < RESULT; i += THREADS)
        ((u64 *)&scanning.result)[i] = 0;
    __syncthreads();
    if (threadIdx.x == THREADS - 1)
        write_sums(type, sums, &from->set);
    if (threadIdx.x == THREADS - 32 && wanted.line) {
        scanning.result.slope = wanted.slope;
        scanning.result.intercept = wanted.intercept;
    }
    if (threadIdx.x < wanted.candidate_count)
        write_candidate(type, wanted, sums);
    if (threadIdx.x < DEVICE_ROUNDINGS) {
        if (wanted.roundings >> threadIdx.x & 1) {
            scanning.result.roundings[threadIdx.x].value =
                value_of(type, wanted.rounded[threadIdx.x]);
            scanning.result.roundings[threadIdx.x].count = sums.counters[ROUNDED + threadIdx.x];
        }
        scanning.result.roundings[threadIdx.x].linear = sums.counters[ROUNDED_LINEAR + threadIdx.x];
    }
    __syncthreads();
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < RESULT; i += THREADS)
        ((u64 *)to)[i] = ((const u64 *)&scanning.result)[i];
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < sizeof(*from) / 8; i += THREADS)
        ((u64 *)from)[i] = 0;
    __syncthreads();
}

__device__ static void write_job(const struct device_values_job &job)
{
    struct work *work = at<struct work>(job.work);
    struct device_kept *kept = at<struct device_kept>(job.kept);
    struct device_values_result *to = at<struct device_values_result>(job.result);
    if (threadIdx.x < JOB_SUMS) {
        static_assert(offsetof(struct device_values_result, same) == 8 * SAME, "the same order");
        ((u64 *)to)[threadIdx.x] = __ldcg(&work->sums[threadIdx.x]);
        work->sums[threadIdx.x] = 0;
    }
    if (threadIdx.x == 32) {
        to->known = __ldcg((const u64 *)&kept->known);
        to->hash[0] = __ldcg((const u64 *)&kept->hash[0]);
        to->hash[1] = __ldcg((const u64 *)&kept->hash[1]);
    }
#pragma unroll 1
    for (unsigned i = 0; job.describes && i < job.field_count; i++)
        write_field(job.fields[i].type, &work->fields[i], &to->fields[i]);
}

// --- Kernels -------------------------------------------------------------------------------------

// Returns whether the block is the last to end; it then sees what all others wrote.
__device__ static bool is_last(const struct device_values &about)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned *done = at<unsigned>(about.done);
        fence_gpu();
        scanning.last = atomicAdd(done, 1u) == gridDim.x - 1;
        fence_gpu();
        if (scanning.last)
            *done = 0;
    }
    __syncthreads();
    return scanning.last;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    glint_values_sample(const __grid_constant__ struct device_values about)
{
#pragma unroll 1
    for (unsigned i = blockIdx.x; i < about.job_count; i += gridDim.x) {
        if (about.jobs[i].describes)
            sample_job(about, i);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, DEVICE_VALUES_BLOCKS)
    glint_values_scan(const __grid_constant__ struct device_values about)
{
    const unsigned warps = gridDim.x * WARPS, self = blockIdx.x * WARPS + warp_index();
    unsigned before = 0; // pieces of earlier jobs modulo the warps of the grid
#pragma unroll 1
    for (unsigned i = 0; i < about.job_count; i++) {
        take_job(about, i);
        scan_job(self >= before ? self - before : self + warps - before, warps);
        const struct span range = pieces_of(scanning.job);
        before = (unsigned)((before + range.to - range.from) % warps);
        flush_job();
    }
    if (!is_last(about))
        return;
#pragma unroll 1
    for (unsigned i = 0; i < about.job_count; i++)
        write_job(about.jobs[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        fence_system();
        *at<volatile unsigned>(about.sequence) = 1;
    }
}
