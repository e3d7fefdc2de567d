// SPDX-License-Identifier: Apache-2.0
// The kernel of the scan: which block does what, and how the last one writes the results. See
// values.h.
#ifndef GLINT_DEVICE_VALUES_KERNEL_CUH
#define GLINT_DEVICE_VALUES_KERNEL_CUH

#include "small.cuh"
#include "values_scan.cuh"

// --- Results -------------------------------------------------------------------------------------

// Returns the value of the element that has the key.
__device__ static u64 value_of_key(unsigned type, u64 key)
{
    if (!is_float(kind_of(type)))
        return is_signed(type) ? key ^ sign_of(INT8) : key;
    const u64 sign = is_wide(type) ? sign_of(F64) : sign_of(F32);
    return value_of_extended(type, key & sign ? key ^ sign : ~key & (2 * sign - 1));
}

// Zeros of both signs are in the bounds if they are anywhere.
__device__ static u64 with_sign(u64 value, bool minus)
{
    return value << 1 ? value : (u64)minus << 63;
}

__device__ static bool is_at_most_2_53(u64 value)
{
    return fabs(__longlong_as_double((long long)value)) <= 0x1p53;
}

__device__ static void write_sums(unsigned type, const struct sums &sums, unsigned distinct)
{
    struct device_field_result *to = &scanning.result;
    const enum kind kind = kind_of(type);
    const u64 mask = ~0ull >> (64 - 8 * size_of(kind));
    const bool some = sums.elements > sums.counters[NANS];
    const u64 minus = is_float(kind) ? sums.counters[MINUS] : 0;
    u64 least = some ? value_of_key(type, ~sums.least) : 0;
    u64 greatest = some ? value_of_key(type, sums.greatest) : 0;
    if (is_float(kind)) {
        least = with_sign(least, minus);
        greatest = with_sign(greatest, minus && !sums.counters[ZEROS]);
    }
    to->elements = sums.elements;
    to->zeros = sums.counters[ZEROS] + minus;
    to->nans = sums.counters[NANS];
    to->least = least;
    to->greatest = greatest;
    to->any_bits = sums.any & mask;
    to->all_bits = sums.elements ? ~sums.none & mask : 0;
    if (is_float(kind) && !(sums.lacking & NOT_INTEGRAL) && !sums.counters[NANS] && !minus &&
        is_at_most_2_53(least) && is_at_most_2_53(greatest))
        to->integral = sums.elements;
    if ((kind == F32 && !(sums.any & 0x1fff) && !(sums.lacking & NOT_NARROW)) ||
        (kind == F64 && !(sums.any & 0x1fffffff) && !(sums.lacking & NOT_NARROW)))
        to->narrow = sums.elements;
    if (kind == F32 && !(sums.any & 0xffff))
        to->brief = sums.elements;
    to->linear = sums.counters[LINEAR];
    to->distinct = min(distinct, DEVICE_DISTINCT + 1u);
}

// How many elements are a candidate.
__device__ static u64 count_of(const struct wanted &wanted, const struct sums &sums, unsigned i)
{
    return sums.counters[wanted.candidates[i] ? CANDIDATES + i : ZEROS];
}

// Puts a candidate in its place: the most frequent first, and of equal ones the least value.
__device__ static void write_candidate(unsigned type, const struct wanted &wanted,
                                       const struct sums &sums)
{
    const u64 count = count_of(wanted, sums, threadIdx.x);
    const u64 value = value_of_extended(type, wanted.candidates[threadIdx.x]);
    unsigned place = 0;
#pragma unroll 1
    for (unsigned i = 0; i < wanted.candidate_count; i++) {
        const u64 other = count_of(wanted, sums, i);
        place += other > count ||
                 (other == count && value_of_extended(type, wanted.candidates[i]) < value);
    }
    if (count && place < DEVICE_CANDIDATES) {
        scanning.result.candidates[place].value = value;
        scanning.result.candidates[place].count = count;
    }
}

enum { JOB_FROM = 256 }; // the first thread that writes what is not about fields

// Writes what was found about a field, and zeroes it. Different warps load its parts, so that all
// loads are underway at the same time. Called by the whole block.
__device__ static void write_field(unsigned type, struct field_work *from,
                                   struct device_field_result *to)
{
    struct wanted &wanted = scanning.wanted[0];
    struct sums &sums = scanning.all;
    enum {
        WANTED = sizeof(struct wanted) / 8,
        SUMS = sizeof(struct sums) / 8,
        RESULT = sizeof(struct device_field_result) / 8,
        SUMS_FROM = 64,
        RESULT_FROM = 128,
        COUNT_FROM = 192,
    };
    static_assert(WANTED <= SUMS_FROM && SUMS_FROM + SUMS <= RESULT_FROM &&
                      RESULT_FROM + RESULT <= COUNT_FROM && COUNT_FROM < JOB_FROM,
                  "other threads have other parts");
    const unsigned self = threadIdx.x;
    if (self < WANTED)
        ((u64 *)&wanted)[self] = __ldcg((const u64 *)&from->wanted + self);
    if (self - SUMS_FROM < SUMS)
        ((u64 *)&sums)[self - SUMS_FROM] = __ldcg((const u64 *)&from->sums + self - SUMS_FROM);
    if (self - RESULT_FROM < RESULT)
        ((u64 *)&scanning.result)[self - RESULT_FROM] = 0;
    if (self == COUNT_FROM)
        scanning.distinct = __ldcg(&from->set.count);
    __syncthreads();
    if (self == THREADS - 1)
        write_sums(type, sums, scanning.distinct);
    if (self == THREADS - 32 && wanted.line) {
        scanning.result.slope = wanted.slope;
        scanning.result.intercept = wanted.intercept;
    }
    if (threadIdx.x < wanted.candidate_count)
        write_candidate(type, wanted, sums);
    if (threadIdx.x < DEVICE_ROUNDINGS) {
        if (wanted.roundings >> threadIdx.x & 1) {
            scanning.result.roundings[threadIdx.x].value =
                value_of_extended(type, wanted.rounded[threadIdx.x]);
            scanning.result.roundings[threadIdx.x].count = sums.counters[ROUNDED + threadIdx.x];
        }
        scanning.result.roundings[threadIdx.x].linear = sums.counters[ROUNDED_LINEAR + threadIdx.x];
    }
    __syncthreads();
    if (self < RESULT)
        ((u64 *)to)[self] = ((const u64 *)&scanning.result)[self];
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < sizeof(*from) / 8; i += THREADS)
        ((u64 *)from)[i] = 0;
    __syncthreads();
}

// Clears the marks of a job, all of which were examined. Marks of neighbouring pieces are far from
// each other, so that it would take longer if every warp cleared those of its own pieces. Called by
// the whole block.
__device__ static void clear_marks(const struct device_values_job &job)
{
    const u64 count = (u64)job.mask + 1; // a power of two
    if (job.which != DEVICE_MARKED)
        return;
    if (count < 16 && threadIdx.x < count)
        at<unsigned char>(job.marks)[threadIdx.x] = 0;
#pragma unroll 1
    for (u64 i = threadIdx.x; i < count / 16; i += THREADS)
        at<uint4>(job.marks)[i] = make_uint4(0, 0, 0, 0);
}

// Writes what was found about a job, and makes its memory ready for the next scan. Called by the
// whole block.
__device__ static void write_job(const struct device_values_job &job)
{
    struct work *work = at<struct work>(job.work);
    struct device_kept *kept = at<struct device_kept>(job.kept);
    struct device_values_result *to = at<struct device_values_result>(job.result);
    const unsigned self = threadIdx.x - JOB_FROM;
    clear_marks(job);
    if (self < JOB_SUMS) {
        static_assert(offsetof(struct device_values_result, same) == 8 * SAME, "the same order");
        ((u64 *)to)[self] = __ldcg(&work->sums[self]);
        work->sums[self] = 0;
    }
    if (self == 32) {
        if (job.describes && job.pieces > DEVICE_SMALL_PIECES)
            kept->wants = __ldcg(&work->ready) >= WANTS;
        work->ready = work->claimed = 0;
        to->known = __ldcg((const u64 *)&kept->known);
        to->hash[0] = __ldcg((const u64 *)&kept->hash[0]);
        to->hash[1] = __ldcg((const u64 *)&kept->hash[1]);
    }
#pragma unroll 1
    for (unsigned i = 0; job.describes && i < job.field_count; i++)
        write_field(job.fields[i].type, &work->fields[i], &to->fields[i]);
}

// --- Kernels -------------------------------------------------------------------------------------

// Makes the first job the block's. Returns the block's number in the order in which blocks began.
// Called by the whole block.
__device__ static unsigned begin_grid(const struct device_values &about)
{
    // The last thread, which does nothing else.
    if (about.describing && threadIdx.x == THREADS - 1)
        scanning.ticket = atomicAdd(at<unsigned>(about.done) + 1, 1u);
    take_job(about, 0);
    return about.describing ? scanning.ticket : blockIdx.x;
}

// Divides the pieces of jobs among the warps of some blocks, one after the other, so that all get
// equal shares of many small jobs.
struct division {
    unsigned blocks, block; // a block that takes no part has a number that does not exist
    unsigned before;        // pieces of earlier jobs, modulo the warps
};

__device__ static struct share next_share(struct division *among, u64 from, u64 count)
{
    const unsigned warps = among->blocks * WARPS;
    if (!count || !warps)
        return {from, from, 1};
    // Neighbouring pieces belong to different blocks.
    const unsigned self = warp_index() * among->blocks + among->block;
    const unsigned unit = self + (self >= among->before ? 0 : warps) - among->before;
    among->before = (among->before + (unsigned)count % warps) % warps;
    return {from + (among->block < among->blocks ? unit : count), from + count, warps};
}

// How the grid is divided: blocks that sample begin to scan later than others.
struct grid {
    unsigned ticket, samplers;
    struct division early, late, all;
    unsigned before; // as of a division, of jobs that have few pieces
};

// The shares of a warp or, if there are few pieces, of its block.
struct shares {
    struct share first, rest;
    enum few few;
};

// If there are few pieces, blocks that do not sample have the first ones. Otherwise, the last
// pieces, which may still be in the cache, are looked at early, as many as possible. Those who
// sample have the others, fewer by as many as they miss meanwhile.
__device__ static struct shares next_shares(struct grid *grid, struct span range, bool can_part)
{
    enum { FEW = 2, MISSED = 160 }; // for a block
    const unsigned blocks = gridDim.x;
    const u64 count = range.to - range.from, most = (u64)EARLY_PIECES * grid->early.blocks * WARPS;
    if (count <= FEW * blocks) {
        const bool apart = can_part && 2 * count <= blocks;
        const unsigned unit = (grid->ticket + grid->before) % blocks, all = (unsigned)count;
        const unsigned units = apart ? 2 * all : all;
        grid->before = (grid->before + blocks - units % blocks) % blocks;
        if (apart && unit >= all)
            return {{range.from + unit - all, range.to, blocks}, {0, 0, 1}, ONLY_HASHES};
        return {{range.from + unit, range.to, blocks}, {0, 0, 1}, apart ? ONLY_VALUES : BOTH};
    }
    const u64 each = count / blocks;
    const u64 some = min(count - (each > MISSED ? each - MISSED : 0) * grid->samplers, most);
    struct division *others = some < most ? &grid->late : &grid->all;
    return {next_share(&grid->early, range.to - some, some),
            next_share(others, range.from, count - some), MANY};
}

// Whether the block looks at the first or the last piece of a job that has many, because it is not
// whole.
__device__ static bool has_part(const struct device_values_job &job, struct span range,
                                unsigned ticket, bool last)
{
    return ticket == (last && gridDim.x > 1) && !is_whole(job, last ? range.to - 1 : range.from);
}

// Called by the whole block.
__device__ static void scan_next(struct grid *grid, const struct device_values &about,
                                 unsigned index, unsigned *taken)
{
    const struct device_values_job &job = about.jobs[index];
    const struct span range = pieces_of(job);
    const struct shares own = next_shares(grid, range, can_part(job));
    const bool first = !own.few && has_part(job, range, grid->ticket, false),
               last = !own.few && has_part(job, range, grid->ticket, true);
    if (!__syncthreads_or(own.first.from < own.first.to || own.rest.from < own.rest.to || first ||
                          last))
        return;
    if (index != *taken)
        take_job(about, index);
    *taken = index;
    if (own.few)
        scan_few(own.first, own.few);
    else
        scan_job(own.first, own.rest);
    if (first)
        scan_part(range.from);
    if (last)
        scan_part(range.to - 1);
    flush_job();
}

extern "C" __global__ void __launch_bounds__(THREADS, DEVICE_VALUES_BLOCKS)
    glint_values_scan(const __grid_constant__ struct device_values about)
{
    const unsigned samplers = about.samplers;
    const unsigned ticket = begin_grid(about), blocks = gridDim.x;
    if (about.small.result && ticket == blocks - 1) {
        write_small<WARPS>(about.small);
        if (threadIdx.x == 0)
            at<struct device_result>(about.small.result)->entry_count = 0;
        tell(about.small, 1);
    }
    unsigned taken = 0;
#pragma unroll 1
    for (unsigned i = ticket; i < samplers; i += blocks) {
        const unsigned job = i % about.describing;
        if (job != taken)
            take_job(about, job);
        taken = job;
        if (about.jobs[job].describes)
            sample_job();
    }
    const unsigned late = samplers < blocks ? samplers : 0;
    struct grid grid = {ticket,
                        late,
                        {blocks - late, ticket - late, 0},
                        {late, ticket, 0},
                        {blocks, ticket, 0},
                        blocks - late};
#pragma unroll 1
    for (unsigned i = 0; i < about.job_count; i++)
        scan_next(&grid, about, i, &taken);
    if (!ends_last(about.done, &scanning.last))
        return;
#pragma unroll 1
    for (unsigned i = 0; i < about.job_count; i++)
        write_job(about.jobs[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        at<unsigned>(about.done)[1] = 0;
        fence_system();
        *at<volatile unsigned>(about.sequence) = 1;
    }
}

#endif
