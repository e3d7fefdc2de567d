// SPDX-License-Identifier: Apache-2.0
// How the scan sums up arrays of one-byte integers: four of them at a time, in the
// words that hold them. There are only 256 values. So a block notes which of these it has found,
// and bounds and different values follow from that at the end. Whether a group has others is mostly
// found out without looking at each octet. See values.h.
#ifndef GLINT_DEVICE_VALUES_OCTETS_CUH
#define GLINT_DEVICE_VALUES_OCTETS_CUH

#include "values_columns.cuh"

enum { OCTETS_EACH = 4 * GROUP_WORDS }; // of a group

__device__ static unsigned repeated(unsigned octet)
{
    return (octet & 0xff) * 0x01010101u;
}

// Returns how many of the group's octets are the one that is repeated.
__device__ static unsigned count_octets(const unsigned (&words)[GROUP_WORDS], unsigned repeated)
{
    unsigned sums = 0; // of each of the four places
#pragma unroll
    for (int i = 0; i < GROUP_WORDS; i++) {
        const unsigned other = words[i] ^ repeated;
        // The upper bit of an octet is clear only if the octet is 0.
        const unsigned low = (other & 0x7f7f7f7f) + 0x7f7f7f7f;
        sums += ~(low | other | 0x7f7f7f7f) >> 7;
    }
    return sums * 0x01010101u >> 24;
}

// --- Values that were found ----------------------------------------------------------------------

__device__ static bool is_in_run(unsigned octet, unsigned run)
{
    return run && octet >= (run & 0xff) && octet <= (run >> 8 & 0xff);
}

// Returns how many of the group's octets are in the run: values without a gap, all of which were
// found.
__device__ static unsigned count_in_run(const unsigned (&words)[GROUP_WORDS], unsigned run)
{
    const unsigned low = run & 0xff, high = run >> 8 & 0xff;
    // Added to the lower seven bits of an octet, they set the upper bit if these are more than
    // those of `high`, and at least those of `low`. The majority is one of both, or both bits.
    const unsigned above = repeated(0x7f - (high & 0x7f)), from = repeated(0x80 - (low & 0x7f));
    const unsigned high_half = high & 0x80 ? 0 : ~0u, low_half = low & 0x80 ? 0 : ~0u;
    unsigned sums = 0;
#pragma unroll
    for (int i = 0; i < GROUP_WORDS; i++) {
        const unsigned word = words[i], rest = word & 0x7f7f7f7f;
        const unsigned more = rest + above, enough = rest + from;
        const unsigned beyond = (more & word) | (high_half & (more | word));
        const unsigned within = (enough & word) | (low_half & (enough | word));
        sums += (within & ~beyond & 0x80808080u) >> 7;
    }
    return run ? sums * 0x01010101u >> 24 : 0;
}

// The longest of the runs of a range of values, those at its ends, and its length.
struct runs {
    unsigned before, behind, best, start, length;
};

__device__ static struct runs joined(struct runs one, struct runs other, unsigned border)
{
    const unsigned both = one.behind + other.before;
    struct runs runs = one.best >= other.best ? one : other;
    if (both > runs.best) {
        runs.best = both;
        runs.start = border - one.behind;
    }
    runs.before = one.before + (one.before == one.length ? other.before : 0);
    runs.behind = other.behind + (other.behind == other.length ? one.behind : 0);
    runs.length = one.length + other.length;
    return runs;
}

__device__ static unsigned joined_any(unsigned word)
{
    word |= word >> 16;
    return (word | word >> 8) & 0xff;
}

__device__ static unsigned joined_all(unsigned word)
{
    word &= word >> 16;
    return word & word >> 8 & 0xff;
}

// Whether an octet with all bits of `all`, and only bits of `any`, must be one of the cube: the
// values with all bits of one mask and only bits of another, all of which were found.
__device__ static bool is_in_cube(unsigned any, unsigned all, unsigned cube)
{
    return cube && !(any & ~cube & 0xff) && !(~all & cube >> 8 & 0xff);
}

// Which of the lane's eight values were found.
__device__ static unsigned found_octets()
{
    const u64 octets = *(const volatile u64 *)&scanning.seen.values[8 * lane_index()];
    return (unsigned)(octets * 0x0102040810204080ull >> 56); // each is 0 or 1
}

// Of eight values, those that have the bit.
__device__ static unsigned with_bit(unsigned bit)
{
    return bit == 0 ? 0xaa : bit == 1 ? 0xcc : 0xf0;
}

// Finds the least cube with all values that were found, if all of its values were. Called by the
// whole warp.
__device__ static void find_cube(unsigned found)
{
    const unsigned upper = 8 * lane_index();
    unsigned any = found ? upper : 0, all = found ? upper : 0xff, within = 0xff;
#pragma unroll
    for (unsigned bit = 0; bit < 3; bit++) {
        any |= found & with_bit(bit) ? 1u << bit : 0;
        all |= found && !(found & ~with_bit(bit)) ? 1u << bit : 0;
    }
#pragma unroll 1
    for (int step = 16; step; step /= 2) {
        any |= other_lane(any, step);
        all &= other_lane(all, step);
    }
#pragma unroll
    for (unsigned bit = 0; bit < 3; bit++)
        within &= (any >> bit & 1 ? with_bit(bit) : 0) | (all >> bit & 1 ? 0 : ~with_bit(bit));
    const bool is_outside = upper & ~any || ~upper & all & 0xf8;
    if (__all_sync(ALL, is_outside || !(within & ~found)) && lane_index() == 0)
        *(volatile unsigned *)&scanning.seen.cube = 1u << 16 | all << 8 | any;
}

// Finds a long run of values that were found. Called by the whole warp.
__device__ static void find_run(unsigned found)
{
    enum { EACH = 256 / 32 };
    const unsigned from = EACH * lane_index(), gaps = ~found & 0xff;
    struct runs runs = {EACH, EACH, EACH, from, EACH};
    if (gaps) {
        runs.before = __ffs((int)gaps) - 1;
        runs.behind = __clz((int)gaps) - 24;
        // Those in the middle are short.
        runs.best = max(runs.before, runs.behind);
        runs.start = runs.before == runs.best ? from : from + EACH - runs.behind;
    }
#pragma unroll 1
    for (unsigned step = 1; step < 32; step *= 2) {
        const struct runs other = {__shfl_down_sync(ALL, runs.before, step),
                                   __shfl_down_sync(ALL, runs.behind, step),
                                   __shfl_down_sync(ALL, runs.best, step),
                                   __shfl_down_sync(ALL, runs.start, step), runs.length};
        runs = joined(runs, other, from + runs.length);
    }
    if (lane_index())
        return;
    if (runs.best)
        *(volatile unsigned *)&scanning.seen.run =
            1u << 16 | (runs.start + runs.best - 1) << 8 | runs.start;
    if (runs.best == 256)
        atomicAnd(&scanning.todo[0], ~(unsigned)FIND_DISTINCT);
}

// Notes the values of the lanes that say so. Called by the whole warp, when its words are staged.
__device__ static __noinline__ void note_octets(bool unknown)
{
    volatile unsigned char *seen = scanning.seen.values;
    const uint4 *vectors = scanning.staged[warp_index()] + lane_index();
    unsigned known = 1;
#pragma unroll 1
    for (unsigned i = 0; unknown && i < VECTORS; i++) {
        const unsigned words[4] = {vectors[32 * i].x, vectors[32 * i].y, vectors[32 * i].z,
                                   vectors[32 * i].w};
        unsigned these = 1;
#pragma unroll
        for (int k = 0; k < 16; k++)
            these &= seen[words[k / 4] >> 8 * (k % 4) & 0xff];
        known &= these;
        if (these)
            continue;
#pragma unroll
        for (int k = 0; k < 16; k++)
            seen[words[k / 4] >> 8 * (k % 4) & 0xff] = 1;
    }
    if (__all_sync(ALL, known))
        return;
    const unsigned found = found_octets();
    find_cube(found);
    find_run(found);
    __syncwarp();
}

// --- Groups --------------------------------------------------------------------------------------

// Adds all octets of the group. Returns whether some may be values that were not found before.
__device__ static bool add_known_octets(struct lane_sums<unsigned> *own,
                                        const unsigned (&words)[GROUP_WORDS], unsigned todo,
                                        unsigned run, unsigned cube, bool has_zeros)
{
    const struct wanted &wanted = scanning.wanted[0];
    unsigned counted = 0;
    if (todo & SKIP_FIRST) {
        const unsigned first = repeated((unsigned)wanted.candidates[0]);
        unsigned other = 0;
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
            other |= words[i] ^ first;
        if (!other) {
            own->same++;
            return false;
        }
    }
    unsigned any = 0, all = ~0u;
#pragma unroll
    for (int i = 0; i < GROUP_WORDS; i++) {
        any |= words[i];
        all &= words[i];
    }
    own->any |= any;
    own->all &= all;
    if (has_zeros) {
        const unsigned zeros = count_octets(words, 0);
        own->zeros += zeros;
        counted = is_in_run(0, run) ? 0 : zeros;
    }
#pragma unroll 1
    for (unsigned i = 0; i < wanted.candidate_count; i++) {
        const unsigned value = (unsigned)wanted.candidates[i];
        if (!value) // zeros are counted anyway
            continue;
        const unsigned count = count_octets(words, repeated(value));
        counted += is_in_run(value & 0xff, run) ? 0 : count;
        count_packed(own->candidates, i, count);
    }
    // Candidates that were counted are noted at the end.
    return todo & FIND_DISTINCT && !is_in_cube(joined_any(any), joined_all(all), cube) &&
           counted + count_in_run(words, run) < OCTETS_EACH;
}

// Called by the whole warp.
__device__ static void add_octets(struct lane_sums<unsigned> *own, const uint4 (&vectors)[VECTORS])
{
    const unsigned todo = *(volatile unsigned *)&scanning.todo[0];
    const unsigned run = *(volatile unsigned *)&scanning.seen.run;
    volatile unsigned char *seen = scanning.seen.values;
    const unsigned cube = *(volatile unsigned *)&scanning.seen.cube;
    const bool has_zeros = seen[0] || (run && !(run & 0xff)) || (cube && !(cube >> 8 & 0xff));
    unsigned words[GROUP_WORDS];
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        words[4 * i] = vectors[i].x;
        words[4 * i + 1] = vectors[i].y;
        words[4 * i + 2] = vectors[i].z;
        words[4 * i + 3] = vectors[i].w;
    }
    const bool unknown = add_known_octets(own, words, todo, run, cube, has_zeros);
    if (!__any_sync(ALL, unknown))
        return;
    stage_vectors(vectors, place_to_stage());
    __syncwarp();
    note_octets(unknown);
    if (unknown && !has_zeros && seen[0])
        own->zeros += count_octets(words, 0);
}

// Joins the bits of the four octets of a word.
__device__ static void join_octets(struct lane_sums<unsigned> *own)
{
    own->any = joined_any(own->any);
    own->all = joined_all(own->all);
}

// Adds the values that the block has noted to the set and the bounds. Called by the whole block.
__device__ static void flush_octets()
{
    const unsigned type = scanning.job.fields[0].type;
    const struct wanted &wanted = scanning.wanted[0];
    struct set *set = &at<struct work>(scanning.job.work)->fields[0].set;
    if (kind_of(type) == INT1 && threadIdx.x < wanted.candidate_count &&
        scanning.sums[0].counters[CANDIDATES + threadIdx.x])
        scanning.seen.values[wanted.candidates[threadIdx.x] & 0xff] = 1;
    __syncthreads();
    if (threadIdx.x >= sizeof(scanning.seen.values))
        return;
    const unsigned seen = scanning.seen.values[threadIdx.x];
    const unsigned found = __ballot_sync(ALL, seen);
    const u64 extended = extend(type, threadIdx.x);
    const u64 key = is_signed(type) ? (u64)(long long)(int)extended ^ sign_of(INT8) : extended;
    // Keys of a warp ascend.
    if (found && lane_index() == 31 - __clz((int)found))
        atomicMax(&scanning.sums[0].greatest, key);
    if (found && lane_index() == __ffs((int)found) - 1)
        atomicMax(&scanning.sums[0].least, ~key);
    if (seen)
        set_add(set, extended);
}
static_assert(sizeof(scanning.seen.values) <= THREADS, "each thread has a value");

#endif
