// SPDX-License-Identifier: Apache-2.0
// Reads an object's words, merges them into the bitmaps of the object, and clears them.
//
// A chunk consists of four neighbouring words per lane of a warp, which a lane reads at once. The
// bitmaps are only read where the launch touched the object, and not where they are known to be
// full. They are only changed, by atomic operations, where a bit is new: launches on other streams
// may be reduced at the same time, and bits are only ever set.
#ifndef GLINT_DEVICE_SCAN_CUH
#define GLINT_DEVICE_SCAN_CUH

#include "common.cuh"
#include "device.h"

// reduce_few.cu defines FEW.
#ifdef FEW
enum { THREADS = DEVICE_FEW_THREADS, SPAN = DEVICE_FEW_SPAN };
#else
enum { THREADS = DEVICE_THREADS, SPAN = DEVICE_SPAN };
#endif
enum {
    WARPS = THREADS / 32,
    SLOTS = DEVICE_JOBS,
};
static_assert(DEVICE_CHUNK_WORDS == 4 * 32, "a lane has 16 bytes of a chunk");

// Shared by the block; counts.cuh has what counts need.
static __shared__ struct {
    struct device_job jobs[SLOTS]; // current ones
    u64 sums[SLOTS][3];            // of this block, as struct device_sums
    unsigned masks[WARPS];
    unsigned last;
} shared;

__device__ static u64 warp_sum(u64 value)
{
    for (int step = 16; step; step /= 2)
        value += __shfl_xor_sync(ALL, value, step);
    return value;
}

// Accessed by name: the compiler does not know the space of an address that was read from shared
// memory.
__device__ static void add_global(uint64_t *to, u64 value)
{
    asm volatile("red.global.add.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "l"(value)
                 : "memory");
}

// --- Merging into the bitmaps of the object ------------------------------------------------------

// Per lane: no object has 2^32 times as many elements as its grid has lanes.
struct sums {
    unsigned elements, fresh, shared;
};

__device__ static bool is_set(uint4 vector)
{
    return vector.x | vector.y | vector.z | vector.w;
}

__device__ static unsigned set_in(uint4 vector)
{
    return __popc(vector.x) + __popc(vector.y) + __popc(vector.z) + __popc(vector.w);
}

__device__ static u64 low_of(uint4 vector)
{
    return (u64)vector.y << 32 | vector.x;
}

__device__ static u64 high_of(uint4 vector)
{
    return (u64)vector.w << 32 | vector.z;
}

// Sets the bits that are not known to be set. Returns which were set before.
__device__ static u64 set_bits(u64 *at, u64 bits, u64 known)
{
    return bits & ~known ? atomicOr(at, bits) : known;
}

// Merges the lane's bits of up to N chunks of the job, from one on. `full` has a bit for each chunk
// where nothing can be new. The reads of neighbouring chunks are issued together.
template <int N>
__device__ static void join(const uint4 (&bits)[N], const struct device_job &job, unsigned chunk,
                            unsigned full, struct sums *sums)
{
    enum { EACH = N < 2 ? N : 2 };
    const u64 from = 32 * (u64)chunk + lane_index();
    unsigned more = 0; // that have become full
#pragma unroll
    for (int i = 0; i < N; i++)
        sums->elements += set_in(bits[i]);
#pragma unroll
    for (int at_once = 0; at_once < N; at_once += EACH) {
        uint4 any[EACH], multi[EACH];
        u64 seen[2 * EACH], was[2 * EACH];
        bool some = false;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const u64 vector = from + 32 * (at_once + i);
            any[i] = multi[i] = make_uint4(ALL, ALL, ALL, ALL);
            if (!(full >> (at_once + i) & 1) && is_set(bits[at_once + i])) {
                any[i] = __ldcg(at<const uint4>(job.any) + vector);
                multi[i] = __ldcg(at<const uint4>(job.multi) + vector);
                some = true;
            }
        }
        if (!__any_sync(ALL, some))
            continue;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            u64 *to = at<u64>(job.any) + 2 * (from + 32 * (at_once + i));
            was[2 * i] = set_bits(to, low_of(bits[at_once + i]), low_of(any[i]));
            was[2 * i + 1] = set_bits(to + 1, high_of(bits[at_once + i]), high_of(any[i]));
        }
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            u64 *to = at<u64>(job.multi) + 2 * (from + 32 * (at_once + i));
            const uint4 own = bits[at_once + i];
            seen[2 * i] = low_of(own) & was[2 * i];
            seen[2 * i + 1] = high_of(own) & was[2 * i + 1];
            sums->fresh += set_in(own) - __popcll(seen[2 * i]) - __popcll(seen[2 * i + 1]);
            was[2 * i] = set_bits(to, seen[2 * i], low_of(multi[i]));
            was[2 * i + 1] = set_bits(to + 1, seen[2 * i + 1], high_of(multi[i]));
        }
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const u64 low = seen[2 * i] | was[2 * i], high = seen[2 * i + 1] | was[2 * i + 1];
            sums->shared += __popcll(seen[2 * i] & ~was[2 * i]);
            sums->shared += __popcll(seen[2 * i + 1] & ~was[2 * i + 1]);
            const bool all = is_set(bits[at_once + i]) && (low & high) == ~0ull;
            if (__all_sync(ALL, all || from + 32 * (at_once + i) >= job.words / 4))
                more |= 1u << (at_once + i);
        }
    }
    more &= ~full;
    if (more >> lane_index() & 1 && job.full && 32 * (u64)(chunk + lane_index()) < job.words / 4)
        at<unsigned char>(job.full)[chunk + lane_index()] = 1;
}

// Returns whether the chunk is full; chunks beyond the job's are not.
__device__ static unsigned char is_full(const struct device_job &job, unsigned chunk)
{
    const bool there = job.full && 32 * (u64)chunk < job.words / 4;
    return there ? __ldcg(at<const unsigned char>(job.full) + chunk) : 0;
}

// --- Reading and clearing ------------------------------------------------------------------------

__device__ static uint4 load_words(const struct device_job &job, unsigned chunk)
{
    const u64 vector = 32 * (u64)chunk + lane_index();
    return vector < job.words / 4 ? __ldcg(at<const uint4>(job.bits) + vector)
                                  : make_uint4(0, 0, 0, 0);
}

__device__ static void clear_words(uint4 words, const struct device_job &job, unsigned chunk)
{
    if (is_set(words))
        at<uint4>(job.bits)[32 * (u64)chunk + lane_index()] = make_uint4(0, 0, 0, 0);
}

// Processes a warp's share of the job: every step-th of its units, from one on.
__device__ static void scan_bits(const struct device_job &job, unsigned unit, unsigned units,
                                 unsigned step, struct sums *sums)
{
    for (; unit < units; unit += step) {
        uint4 words[SPAN];
#pragma unroll
        for (int i = 0; i < SPAN; i++)
            words[i] = load_words(job, SPAN * unit + i);
        const unsigned full =
            __ballot_sync(ALL, lane_index() < SPAN && is_full(job, SPAN * unit + lane_index()));
#pragma unroll
        for (int i = 0; i < SPAN; i++)
            clear_words(words[i], job, SPAN * unit + i);
        join(words, job, SPAN * unit, full, sums);
    }
}

// Returns whether the unit has words that are set.
__device__ static bool is_unit_set(const struct device_job &job, unsigned unit)
{
    const u64 vectors = job.words / 4, from = 32 * SPAN * (u64)unit + lane_index();
    const ulonglong2 *words = at<const ulonglong2>(job.bits) + from;
    u64 set = 0;
    if (32 * SPAN * ((u64)unit + 1) <= vectors) {
#pragma unroll
        for (int i = 0; i < SPAN; i++) {
            const ulonglong2 own = __ldcg(words + 32 * i);
            set |= own.x | own.y;
        }
    } else {
#pragma unroll 1
        for (int i = 0; i < SPAN && from + 32 * i < vectors; i++) {
            const ulonglong2 own = __ldcg(words + 32 * i);
            set |= own.x | own.y;
        }
    }
    return __any_sync(ALL, set != 0);
}

// Does the same with as few instructions as possible, where time is spent on them rather than on
// waiting. Most launches leave most of a large object alone.
__device__ static void scan_few(const struct device_job &shared_job, unsigned unit, unsigned units,
                                unsigned step, struct sums *sums)
{
    const struct device_job job = shared_job; // stays in registers
    for (; unit < units; unit += step) {
        if (!is_unit_set(job, unit))
            continue;
#pragma unroll 1
        for (unsigned chunk = SPAN * unit; chunk < SPAN * unit + SPAN; chunk++) {
            const uint4 words[1] = {load_words(job, chunk)};
            if (!__any_sync(ALL, is_set(words[0])))
                continue;
            clear_words(words[0], job, chunk);
            join(words, job, chunk, is_full(job, chunk) != 0, sums);
        }
    }
}

#endif
