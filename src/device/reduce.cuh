// SPDX-License-Identifier: Apache-2.0
// The reduction, with counts or without: see device.h.
//
// Sums are added up in shared memory and then, once per block, in device memory; the last block to
// end writes the record. If there is only one block, it writes its sums directly. The reduction
// waits for host memory once, before it writes the sequence.
#ifndef GLINT_DEVICE_REDUCE_CUH
#define GLINT_DEVICE_REDUCE_CUH

#include "counts.cuh"
#include "small.cuh"

// --- Scanning ------------------------------------------------------------------------------------

// Returns whether the entry is an object that was touched and is not one of the jobs.
__device__ static __noinline__ bool is_wanted(const struct device_reduction *about, unsigned index)
{
    const struct device_entry *entry = at<const struct device_entry>(about->entries) + index;
    const unsigned short *touched = at<const unsigned short>(about->touched);
    if (!about->entries || entry->owner != index)
        return false;
    bool any = false;
    for (unsigned i = index; i < index + entry->span; i++)
        any |= touched[i] && entry[i - index].owner == index;
    for (unsigned i = 0; any && i < about->job_count; i++)
        any = about->jobs[i].bits != entry->job.bits;
    return any;
}

// Makes the reduction's jobs those of the block and returns their number. Called by the whole
// block.
__device__ static unsigned take_jobs(const struct device_reduction &about)
{
    enum { PARTS = sizeof(struct device_job) / sizeof(u64) };
    for (unsigned i = threadIdx.x; i < PARTS * about.job_count; i += THREADS) {
        ((u64 *)shared.jobs)[i] = ((const u64 *)about.jobs)[i];
        if (PARTS * DEVICE_JOBS <= THREADS) // one for each thread
            break;
    }
    __syncthreads();
    return about.job_count;
}

// Does the same with the wanted entries of the group.
__device__ static __noinline__ unsigned take_entries(const struct device_reduction *about,
                                                     unsigned group)
{
    const unsigned index = 32 * group + threadIdx.x;
    if (group % WARPS == 0) {
        const unsigned mask =
            __ballot_sync(ALL, index < about->table_count && is_wanted(about, index));
        if (lane_index() == 0)
            shared.masks[warp_index()] = mask;
    }
    __syncthreads();
    const unsigned mask = shared.masks[group % WARPS];
    if (threadIdx.x < 32 && mask >> threadIdx.x & 1)
        shared.jobs[__popc(mask & ((1u << threadIdx.x) - 1))] =
            at<const struct device_entry>(about->entries)[index].job;
    __syncthreads();
    return __popc(mask);
}

// Determines the warp's units of the job. `before` is the number of units of earlier jobs modulo
// the warps of the grid, so that all warps get equal shares. Returns it for the next job. Called by
// the whole block.
template <bool COUNTS> __device__ static unsigned scan(unsigned slot, unsigned before)
{
    const struct device_job &job = shared.jobs[slot];
    const unsigned warps = gridDim.x * WARPS;
    const unsigned each = DEVICE_CHUNK_WORDS * (COUNTS ? 1 : SPAN);
    const unsigned units = (unsigned)((job.words + each - 1) / each);
    const unsigned self = blockIdx.x * WARPS + warp_index();
    const unsigned unit = self >= before ? self - before : self + warps - before;
    struct sums sums = {0, 0, 0};
    if (COUNTS)
        scan_counts(job, slot, unit, units, warps, &sums);
    else if (WARPS == 1)
        scan_few(job, unit, units, warps, &sums);
    else
        scan_bits(job, unit, units, warps, &sums);
    if (__any_sync(ALL, sums.elements)) {
        const u64 elements = warp_sum(sums.elements);
        if (lane_index() == 0)
            atomicAdd(&shared.sums[slot][0], elements);
    }
    if (__any_sync(ALL, sums.fresh | sums.shared)) {
        const u64 fresh = warp_sum(sums.fresh), others = warp_sum(sums.shared);
        if (lane_index() == 0) {
            atomicAdd(&shared.sums[slot][1], fresh);
            atomicAdd(&shared.sums[slot][2], others);
        }
    }
    before += units % warps;
    return before < warps ? before : before - warps;
}

// Adds the block's sums of so many jobs to those of the jobs and zeroes them. Called by the whole
// block.
__device__ static void flush_sums(unsigned slots)
{
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 3 * slots; i += THREADS) {
        u64 *own = &shared.sums[0][0] + i;
        if (*own)
            add_global(at<uint64_t>(shared.jobs[i / 3].sums) + i % 3, *own);
        *own = 0;
        if (3 * SLOTS <= THREADS) // one for each thread
            break;
    }
    __syncthreads();
}

// --- The record ----------------------------------------------------------------------------------

__device__ static void write_sums(const struct device_job *job, struct device_sums *to)
{
    struct device_sums *from = at<struct device_sums>(job->sums);
    *to = *from;
    *from = {0, 0, 0};
}

// Finds the hottest pieces: those with the highest sums and, of equal ones, the first. Each warp
// sorts the hottest of its share; then each of these finds its place among those of all warps.
// Called by the whole block.
enum { PIECES_EACH = DEVICE_PIECES / THREADS };
__device__ static void write_hottest(u64 (&sums)[PIECES_EACH], struct device_counted *to)
{
    const unsigned first = PIECES_EACH * threadIdx.x;
#pragma unroll 1
    for (int place = 0; place < TOP; place++) {
        u64 own = 0;
        unsigned own_at = 0;
#pragma unroll
        for (int i = 0; i < PIECES_EACH; i++) {
            own_at = sums[i] > own ? i : own_at;
            own = max(own, sums[i]);
        }
        u64 best = own;
        for (int step = 16; step; step /= 2)
            best = max(best, __shfl_xor_sync(ALL, best, step));
        const unsigned winner = __ffs((int)__ballot_sync(ALL, own == best)) - 1;
        if (lane_index() == winner) {
            counting.hot[warp_index() * TOP + place].sum = best;
            counting.hot[warp_index() * TOP + place].piece = first + own_at;
#pragma unroll
            for (int i = 0; i < PIECES_EACH; i++)
                sums[i] = i == own_at ? 0 : sums[i];
        }
    }
    __syncthreads();
    if (threadIdx.x < WARPS * TOP) {
        const u64 sum = counting.hot[threadIdx.x].sum;
        unsigned place = 0;
#pragma unroll 16
        for (unsigned i = 0; i < WARPS * TOP; i++) {
            const u64 other = counting.hot[i].sum;
            place += other > sum || (other == sum && i < threadIdx.x);
        }
        if (place < TOP) {
            to->hottest[place].piece = counting.hot[threadIdx.x].piece;
            to->hottest[place].sum = sum;
        }
    }
    __syncthreads();
}

// Everything is read before anything is written, so that the block waits once.
__device__ static __noinline__ void write_counts(uint64_t sums, struct device_counted *to)
{
    enum { HEAD = offsetof(struct device_counts, bins) / sizeof(u64) };
    struct device_counts *from = counts_of(sums);
    u64 *head = (u64 *)from, *pieces = (u64 *)from->pieces + PIECES_EACH * threadIdx.x;
    u64 own = 0, hot[PIECES_EACH];
    if (threadIdx.x < HEAD + DEVICE_BINS)
        own = __ldcg(head + threadIdx.x);
#pragma unroll
    for (int i = 0; i < PIECES_EACH; i++)
        hot[i] = __ldcg(pieces + i);
    if (own)
        head[threadIdx.x] = 0;
#pragma unroll
    for (int i = 0; i < PIECES_EACH; i++) {
        if (hot[i])
            pieces[i] = 0;
    }
    switch (threadIdx.x) {
    case offsetof(struct device_counts, sum) / sizeof(u64): to->sum = own; break;
    case offsetof(struct device_counts, squares_low) / sizeof(u64): to->squares_low = own; break;
    case offsetof(struct device_counts, squares_high) / sizeof(u64): to->squares_high = own; break;
    case offsetof(struct device_counts, most) / sizeof(u64):
        to->most = own >> 32;
        to->most_at = own ? ALL - (unsigned)own : 0;
        break;
    default:
        if (threadIdx.x < HEAD + DEVICE_BINS)
            to->bins[threadIdx.x - HEAD] = own;
    }
    write_hottest(hot, to);
}

// If there is only one block, the sums of jobs are its own.
template <bool COUNTS>
__device__ static void write_jobs(const struct device_reduction &about, bool alone)
{
    u64 *jobs = at<u64>(about.small.result + about.jobs_at);
    struct device_counted *counts =
        at<struct device_counted>(about.small.result + about.job_counts_at);
    for (unsigned i = threadIdx.x; i < 3 * about.job_count; i += THREADS) {
        u64 sum = (&shared.sums[0][0])[i];
        if (!alone) {
            u64 *from = at<u64>(about.jobs[i / 3].sums) + i % 3;
            sum = __ldcg(from);
            *from = 0;
        }
        jobs[i] = sum;
        if (3 * SLOTS <= THREADS) // one for each thread
            break;
    }
    for (unsigned i = 0; COUNTS && i < about.job_count; i++)
        write_counts(about.jobs[i].sums, &counts[i]);
}

// Lists the entries that were touched, and those whose object was touched through another entry.
template <bool COUNTS>
__device__ static __noinline__ void write_entries(const struct device_reduction *about)
{
    const struct device_entry *entries = at<const struct device_entry>(about->entries);
    struct device_touched *list =
        at<struct device_touched>(about->small.result + about->entries_at);
    struct device_counted *counts =
        at<struct device_counted>(about->small.result + about->entry_counts_at);
    unsigned count = 0; // the same in every thread
    for (unsigned from = 0; from < about->table_count; from += THREADS) {
        const unsigned index = from + threadIdx.x;
        const bool there = index < about->table_count;
        const bool wanted = there && is_wanted(about, index);
        unsigned char *touched = at<unsigned char>(about->touched) + 2 * (u64)index;
        u64 *moved = at<u64>(about->moved) + 2 * (u64)index;
        u64 *stored = at<u64>(about->stored) + 2 * (u64)index;
        const bool listed = there && (wanted || touched[0] || touched[1]);
        const unsigned mask = __ballot_sync(ALL, listed);
        if (lane_index() == 0)
            shared.masks[warp_index()] = mask;
        __syncthreads(); // also: all threads have called is_wanted
        unsigned place = count + __popc(mask & ((1u << lane_index()) - 1));
        for (unsigned warp = 0; warp < WARPS; warp++) {
            place += warp < warp_index() ? __popc(shared.masks[warp]) : 0;
            count += __popc(shared.masks[warp]);
        }
        if (listed) {
            struct device_touched *to = &list[place];
            to->index = index;
            to->read = touched[0];
            to->written = touched[1];
            to->counted = COUNTS && wanted;
            to->moved[0] = about->moved ? moved[0] : 0;
            to->moved[1] = about->moved ? moved[1] : 0;
            to->stored[0] = about->stored ? stored[0] : 0;
            to->stored[1] = about->stored ? stored[1] : 0;
            to->sums = {0, 0, 0};
            if (wanted)
                write_sums(&entries[index].job, &to->sums);
            if (about->moved)
                moved[0] = moved[1] = 0;
            if (about->stored)
                stored[0] = stored[1] = 0;
        }
        __syncthreads();
        // Each entry's counts take the whole block; they have the same order as the list.
        if (COUNTS) {
            const unsigned counted = __ballot_sync(ALL, wanted);
            counting.places[threadIdx.x] = place;
            if (lane_index() == 0)
                shared.masks[warp_index()] = counted;
            __syncthreads();
            for (unsigned warp = 0; warp < WARPS; warp++) {
                for (unsigned left = shared.masks[warp]; left; left &= left - 1) {
                    const unsigned thread = 32 * warp + __ffs((int)left) - 1;
                    write_counts(entries[from + thread].job.sums, &counts[counting.places[thread]]);
                }
            }
            __syncthreads();
        }
    }
    // Marks are cleared when they are no longer needed: spans extend over groups.
    for (unsigned i = threadIdx.x; i < about->table_count; i += THREADS)
        at<unsigned short>(about->touched)[i] = 0;
    if (threadIdx.x == 0)
        at<struct device_result>(about->small.result)->entry_count = count;
}

// --- All of it -----------------------------------------------------------------------------------

// Returns whether the block is the last to end; it then sees what all others wrote. `told` says
// that it wrote to the host.
__device__ static bool is_last(const struct device_reduction &about, bool told)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned *done = at<unsigned>(about.done);
        if (told)
            fence_system();
        else
            fence_gpu();
        const bool last = atomicAdd(done, 1u) == gridDim.x - 1;
        fence_gpu();
        if (last)
            *done = 0;
        shared.last = last;
    }
    __syncthreads();
    return shared.last;
}

template <bool COUNTS> __device__ static void reduce(const struct device_reduction &about)
{
    // Mostly no entry of the table was touched, and none is examined.
    u64 *looked = about.small.strays && about.sequence ? at<u64>(about.small.strays) + 2 : NULL;
    // Without elements, entries have no jobs, and their marks alone say what was touched.
    const bool plain = !about.entries;
    const bool table = looked && (plain || __ldcg(looked));
    const unsigned groups = table && !plain ? (about.table_count + 31) / 32 : 0;
    const bool alone = gridDim.x == 1 && !groups;
    const bool small = about.sequence && blockIdx.x == gridDim.x - 1;
    unsigned before = 0;
    if (small)
        write_small<WARPS>(about.small);
    if (COUNTS)
        begin_counts();
    for (unsigned i = threadIdx.x; i < 3 * SLOTS; i += THREADS) {
        (&shared.sums[0][0])[i] = 0;
        if (3 * SLOTS <= THREADS) // one for each thread
            break;
    }
    for (unsigned group = 0; group <= groups; group++) {
        const unsigned count = group ? take_entries(&about, group - 1) : take_jobs(about);
        for (unsigned i = 0; i < count; i++)
            before = scan<COUNTS>(i, before);
        if (COUNTS)
            flush_counts(count);
        if (!alone && count)
            flush_sums(count);
    }
    __syncthreads();
    if (!alone && !is_last(about, small))
        return;
    write_jobs<COUNTS>(about, alone);
    if (!about.sequence)
        return;
    if (table)
        write_entries<COUNTS>(&about);
    else if (threadIdx.x == 0)
        at<struct device_result>(about.small.result)->entry_count = 0;
    if (table && threadIdx.x == 0)
        *looked = 0;
    tell(about.small, about.sequence);
}

#endif
