// SPDX-License-Identifier: Apache-2.0
// Reduces words with counts; struct instrument_slot defines them. A warp processes one chunk at a
// time, four counts per lane at once: of four words that were touched as a whole, or of four
// elements. A warp keeps what it finds and adds it to its block's at the end of the object. Only
// sums of pieces are added to memory before, mostly once per chunk.
#ifndef GLINT_DEVICE_COUNTS_CUH
#define GLINT_DEVICE_COUNTS_CUH

#include "scan.cuh"

enum {
    SMALL = 8,       // smaller counts are collected in the bytes of a 64-bit number
    LARGE = 1 << 16, // squares of smaller counts sum up to 64 bits: elements are < 2^32
    FOURS = 4 * 32,  // counts of a warp
    ROUND = 4,       // FOURS counters so many times are read at once
    TOP = DEVICE_HOTTEST,
};

static __shared__ struct { // shared by the block
    struct {
        u64 sum, squares_low, squares_high, most;
        unsigned bins[DEVICE_BINS];
    } found[SLOTS]; // by current job
    // By warp.
    unsigned words[WARPS][DEVICE_CHUNK_WORDS];
    uint4 counters[WARPS][32 * ROUND];
    u64 before[WARPS][FOURS + 1];
    struct {
        u64 sum;
        unsigned piece;
    } hot[WARPS * TOP];
    unsigned places[THREADS];
} counting;

struct counted {
    unsigned slot;    // of the job
    unsigned few;     // lane i: elements with the small count i, without those in runs
    u64 sum, squares; // of counts that are neither small nor large, without those in runs
    // Elements since the last one with another count, if all counts of the warp were equal. The
    // same in all lanes.
    unsigned run_count, run_elements;
    // The highest count << 32 | UINT32_MAX - the first element that has it, counted from 0 of the
    // object: among words that were touched as a whole, and among counters. Elements ascend in
    // each.
    u64 most_whole, most_apart;
    // The piece that contained the last elements, the same in all lanes, and its end.
    u64 piece_end;
    unsigned piece;
    u64 piece_sum;
};

__device__ static void begin_counts()
{
    unsigned *words = (unsigned *)counting.found;
    for (unsigned i = threadIdx.x; i < sizeof(counting.found) / 4; i += THREADS)
        words[i] = 0;
}

// --- Sums, squares, bins -------------------------------------------------------------------------

__device__ static unsigned bin_of(unsigned count)
{
    const unsigned log = 31 - __clz(count);
    return 2 * log + (log ? count >> (log - 1) & 1 : 0);
}

__device__ static void add_squares(unsigned slot, u64 low, u64 high)
{
    const u64 old = atomicAdd(&counting.found[slot].squares_low, low);
    high += old + low < low;
    if (high)
        atomicAdd(&counting.found[slot].squares_high, high);
}

// Adds elements with equal counts to the block's sums.
__device__ static void add_block(unsigned slot, unsigned count, unsigned elements)
{
    if (!count || !elements)
        return;
    const u64 square = (u64)count * count;
    atomicAdd(&counting.found[slot].sum, (u64)count * elements);
    atomicAdd(&counting.found[slot].bins[bin_of(count)], elements);
    add_squares(slot, square * elements, __umul64hi(square, elements));
}

__device__ static void flush_run(struct counted *counted)
{
    if (lane_index() == 0)
        add_block(counted->slot, counted->run_count, counted->run_elements);
    counted->run_elements = 0;
}

__device__ static void add_run(struct counted *counted, unsigned count, unsigned elements)
{
    if (count != counted->run_count) {
        flush_run(counted);
        counted->run_count = count;
    }
    counted->run_elements += elements;
}

__device__ static void add_middle(struct counted *counted, unsigned count, unsigned elements)
{
    if (!count)
        return;
    counted->sum += (u64)count * elements;
    counted->squares += (u64)count * count * elements;
    atomicAdd(&counting.found[counted->slot].bins[bin_of(count)], elements);
}

// Adds four counts that are not all equal, each of so many elements.
__device__ static void add_four(struct counted *counted, uint4 counts, unsigned highest,
                                unsigned elements, u64 *bytes)
{
    if (highest < SMALL) {
        *bytes += (1ull << 8 * counts.x) + (1ull << 8 * counts.y) + (1ull << 8 * counts.z) +
                  (1ull << 8 * counts.w);
    } else if (highest < LARGE) {
        add_middle(counted, counts.x, elements);
        add_middle(counted, counts.y, elements);
        add_middle(counted, counts.z, elements);
        add_middle(counted, counts.w, elements);
    } else {
#pragma unroll 1
        for (int i = 0; i < 4; i++) {
            add_block(counted->slot, counts.x, elements);
            counts = make_uint4(counts.y, counts.z, counts.w, 0);
        }
    }
}

// Sums the bytes of all lanes, none of which exceeds FOURS; those of count i go to lane i.
__device__ static void add_bytes(struct counted *counted, u64 bytes, unsigned elements)
{
    const u64 mask = 0x00ff00ff00ff00ffull;
    if (!__any_sync(ALL, bytes >> 8 != 0))
        return;
    u64 even = bytes & mask, odd = bytes >> 8 & mask;
    for (int step = 16; step; step /= 2) {
        even += __shfl_xor_sync(ALL, even, step);
        odd += __shfl_xor_sync(ALL, odd, step);
    }
    const unsigned lane = lane_index();
    if (lane && lane < SMALL)
        counted->few += (unsigned)((lane & 1 ? odd : even) >> 16 * (lane / 2) & 0xffff) * elements;
}

// --- Pieces --------------------------------------------------------------------------------------

__device__ static struct device_counts *counts_of(uint64_t sums)
{
    return (struct device_counts *)(at<struct device_sums>(sums) + 1);
}

__device__ static void add_piece(uint64_t sums, unsigned piece, u64 sum)
{
    if (sum)
        add_global(&counts_of(sums)->pieces[piece], sum);
}

__device__ static void flush_piece(struct counted *counted, const struct device_job &job)
{
    const u64 sum = warp_sum(counted->piece_sum);
    if (lane_index() == 0)
        add_piece(job.sums, counted->piece, sum);
    counted->piece_sum = 0;
}

// Returns whether the elements from one on, numbered as their bits, lie in one piece, and makes
// that the current piece.
__device__ static bool enter_piece(struct counted *counted, u64 from, unsigned elements,
                                   const struct device_job &job)
{
    const u64 to = from + elements;
    if (to <= counted->piece_end) // elements ascend
        return true;
    const unsigned piece = from < job.first ? 0 : (unsigned)(from - job.first) / job.piece;
    const u64 end = job.first + ((u64)piece + 1) * job.piece;
    if (to > end)
        return false;
    flush_piece(counted, job);
    counted->piece = piece;
    counted->piece_end = end;
    return true;
}

// Returns the sum of the counts before a place among FOURS, of so many elements each.
__device__ static u64 sum_before(const u64 *before, unsigned place, unsigned elements)
{
    const unsigned index = place / elements, rest = place % elements;
    return before[index] * elements + (rest ? (before[index + 1] - before[index]) * rest : 0);
}

// Adds four counts of each lane, of so many elements each, from one element on, which lie in
// several pieces: each lane sums up one piece.
__device__ static void add_pieces(uint4 counts, u64 from, unsigned elements, uint64_t sums,
                                  unsigned first, unsigned each)
{
    u64 *before = counting.before[warp_index()];
    const unsigned lane = lane_index();
    const u64 own = (u64)counts.x + counts.y + counts.z + counts.w;
    u64 sum = own;
    for (int step = 1; step < 32; step *= 2) {
        const u64 other = __shfl_up_sync(ALL, sum, step);
        sum += lane >= step ? other : 0;
    }
    __syncwarp();
    before[4 * lane + 4] = sum;
    before[4 * lane + 3] = sum - counts.w;
    before[4 * lane + 2] = sum - counts.w - counts.z;
    before[4 * lane + 1] = sum - own + counts.x;
    if (lane == 0)
        before[0] = 0;
    __syncwarp();
    const u64 to = from + FOURS * elements;
    for (unsigned piece = (from < first ? 0 : (unsigned)(from - first) / each) + lane;
         piece < DEVICE_PIECES; piece += 32) {
        const u64 start = max((u64)first + (u64)piece * each, from);
        const u64 stop = min((u64)first + ((u64)piece + 1) * each, to);
        if (start >= to)
            break;
        add_piece(sums, piece,
                  sum_before(before, (unsigned)(stop - from), elements) -
                      sum_before(before, (unsigned)(start - from), elements));
    }
    __syncwarp();
}

// --- Counting ------------------------------------------------------------------------------------

// Updates the highest count; the element is numbered as its bit.
__device__ static void raise(u64 *most, unsigned count, unsigned place,
                             const struct device_job &job)
{
    if (count > (unsigned)(*most >> 32))
        *most = (u64)count << 32 | (ALL - (place - job.first));
}

// Adds four counts of each lane, of so many elements each, from one element on; `within` says that
// they lie in the current piece. Returns whether all of them are equal.
__device__ static bool count_fours(struct counted *counted, uint4 counts, u64 from,
                                   unsigned elements, bool within, const struct device_job &job,
                                   u64 *bytes, u64 *most)
{
    const unsigned first = __shfl_sync(ALL, counts.x, 0);
    const bool all = __all_sync(ALL, counts.x == first && counts.y == first && counts.z == first &&
                                         counts.w == first);
    const unsigned own = (unsigned)from + 4 * lane_index() * elements;
    if (all) {
        add_run(counted, first, FOURS * elements);
        raise(most, first, own, job);
    } else {
        const unsigned highest = max(max(counts.x, counts.y), max(counts.z, counts.w));
        const unsigned place = counts.x == highest   ? 0
                               : counts.y == highest ? 1
                               : counts.z == highest ? 2
                                                     : 3;
        add_four(counted, counts, highest, elements, bytes);
        raise(most, highest, own + place * elements, job);
    }
    if (within)
        counted->piece_sum += ((u64)counts.x + counts.y + counts.z + counts.w) * elements;
    else
        add_pieces(counts, from, elements, job.sums, job.first, job.piece);
    return all;
}

// Returns which elements of the lane's word were touched; the lane and its seven neighbours have
// four counts each of it.
__device__ static unsigned touched_of(uint4 counts)
{
    unsigned touched =
        ((counts.x != 0) | (counts.y != 0) << 1 | (counts.z != 0) << 2 | (counts.w != 0) << 3)
        << 4 * (lane_index() % 8);
    for (int step = 1; step < 8; step *= 2)
        touched |= __shfl_xor_sync(ALL, touched, step);
    return touched;
}

// Returns whether all counts of the warp equal the first count of the first lane.
__device__ static bool are_same(const uint4 (&counts)[ROUND], unsigned first)
{
    unsigned other = 0;
#pragma unroll
    for (int i = 0; i < ROUND; i++)
        other |= (counts[i].x ^ first) | (counts[i].y ^ first) | (counts[i].z ^ first) |
                 (counts[i].w ^ first);
    return __all_sync(ALL, !other);
}

// Counts the words of the chunk that were touched element by element. `quads` has a bit for each
// lane whose quad contains such words; `even`, if not 0, is the value that all words of the chunk
// have. Replaces each word by the bits of its touched elements.
__device__ static void count_quads(struct counted *counted, unsigned quads, unsigned even, u64 word,
                                   bool within, const struct device_job &job)
{
    const unsigned lane = lane_index();
    unsigned *words = counting.words[warp_index()];
    uint4 *counters = at<uint4>(job.counts) + 8 * word + lane;
    uint4 *stage = counting.counters[warp_index()] + lane;
    u64 bytes = 0; // each is increased by at most four per quad
    while (quads) {
        unsigned round = quads;
        uint4 own[ROUND];
        if (even) {
            const unsigned quad = __ffs((int)quads) - 1;
#pragma unroll
            for (int i = 0; i < ROUND; i++)
                own[i] = __ldcg(counters + 32 * (quad + i));
            quads <<= ROUND;
            const unsigned first = __shfl_sync(ALL, own[0].x, 0);
            if (within && are_same(own, first)) {
                const unsigned count = first + (even & ~(1u << 31));
#pragma unroll
                for (int i = 0; first && i < ROUND; i++)
                    counters[32 * (quad + i)] = make_uint4(0, 0, 0, 0);
                add_run(counted, count, ROUND * FOURS);
                raise(&counted->most_apart, count, (unsigned)(32 * (word + 4 * quad)) + 4 * lane,
                      job);
                counted->piece_sum += 4 * ROUND * (u64)count;
                if (lane < 4 * ROUND)
                    words[4 * quad + lane] = count ? ALL : 0;
                continue;
            }
        } else {
#pragma unroll
            for (int i = 0; i < ROUND; i++) {
                const unsigned quad = __ffs((int)quads) - 1;
                own[i] = make_uint4(0, 0, 0, 0);
                if (quads && words[4 * quad + lane / 8] >> 31)
                    own[i] = __ldcg(counters + 32 * quad);
                quads &= quads - 1;
            }
        }
#pragma unroll
        for (int i = 0; i < ROUND; i++)
            stage[32 * i] = own[i];
        round ^= quads;
#pragma unroll 1
        for (const uint4 *staged = stage; round; staged += 32, round &= round - 1) {
            const unsigned quad = __ffs((int)round) - 1;
            const u64 from = 32 * (word + 4 * quad);
            const unsigned its = words[4 * quad + lane / 8];
            uint4 counts = *staged;
            if (is_set(counts))
                counters[32 * quad] = make_uint4(0, 0, 0, 0);
            const unsigned together = its >> 31 ? its & ~(1u << 31) : 0;
            counts = make_uint4(counts.x + together, counts.y + together, counts.z + together,
                                counts.w + together);
            const bool here = within || enter_piece(counted, from, FOURS, job);
            const bool same =
                count_fours(counted, counts, from, 1, here, job, &bytes, &counted->most_apart);
            const unsigned touched = same ? (counts.x ? ALL : 0) : touched_of(counts);
            __syncwarp(); // all lanes have read their words
            if (its >> 31 && lane % 8 == 0)
                words[4 * quad + lane / 8] = touched;
        }
    }
    add_bytes(counted, bytes, 1);
    __syncwarp();
}

__device__ static unsigned whole(unsigned word)
{
    return word >> 31 ? 0 : word;
}

__device__ static unsigned bits_of(unsigned word, unsigned apart)
{
    return word >> 31 ? apart : word ? ALL : 0;
}

// Converts the lane's words of a chunk to bits of the elements that were touched.
__device__ static uint4 count_chunk(struct counted *counted, uint4 words,
                                    const struct device_job &job, unsigned chunk)
{
    if (!__any_sync(ALL, is_set(words)))
        return words;
    const u64 word = (u64)chunk * DEVICE_CHUNK_WORDS;
    const bool within = enter_piece(counted, 32 * word, 32 * DEVICE_CHUNK_WORDS, job);
    const unsigned quads = __ballot_sync(ALL, (words.x | words.y | words.z | words.w) >> 31);
    const uint4 counts = make_uint4(whole(words.x), whole(words.y), whole(words.z), whole(words.w));
    uint4 apart = make_uint4(0, 0, 0, 0);
    if (__any_sync(ALL, is_set(counts))) {
        u64 bytes = 0;
        count_fours(counted, counts, 32 * word, 32, within, job, &bytes, &counted->most_whole);
        add_bytes(counted, bytes, 32);
    }
    if (quads) {
        uint4 *own = (uint4 *)counting.words[warp_index()] + lane_index();
        const unsigned first = __shfl_sync(ALL, words.x, 0);
        const bool even = __all_sync(ALL, words.x == first && words.y == first &&
                                              words.z == first && words.w == first);
        *own = words;
        __syncwarp();
        count_quads(counted, quads, even ? first : 0, word, within, job);
        apart = *own;
        __syncwarp();
    }
    return make_uint4(bits_of(words.x, apart.x), bits_of(words.y, apart.y),
                      bits_of(words.z, apart.z), bits_of(words.w, apart.w));
}

// --- Scanning ------------------------------------------------------------------------------------

// Adds what the warp found to its block's.
__device__ static void flush_warp(struct counted *counted)
{
    const unsigned lane = lane_index(), slot = counted->slot;
    flush_run(counted);
    counted->sum += (u64)lane * counted->few;
    counted->squares += (u64)lane * lane * counted->few;
    if (counted->few)
        atomicAdd(&counting.found[slot].bins[bin_of(lane)], counted->few);
    u64 most = max(counted->most_whole, counted->most_apart);
    for (int step = 16; step; step /= 2)
        most = max(most, __shfl_xor_sync(ALL, most, step));
    const u64 sum = warp_sum(counted->sum), squares = warp_sum(counted->squares);
    if (lane == 0 && most) {
        atomicAdd(&counting.found[slot].sum, sum);
        add_squares(slot, squares, 0);
        atomicMax(&counting.found[slot].most, most);
    }
}

// Adds the block's results to those of the objects, one warp per object, and zeroes them. Called by
// the whole block.
__device__ static void flush_counts(unsigned slots)
{
    const unsigned lane = lane_index();
    __syncthreads();
    for (unsigned slot = warp_index(); slot < slots; slot += WARPS) {
        struct device_counts *to = counts_of(shared.jobs[slot].sums);
        const u64 low = counting.found[slot].squares_low, high = counting.found[slot].squares_high;
        const u64 sum = counting.found[slot].sum, most = counting.found[slot].most;
        __syncwarp();
        if (!most)
            continue;
        for (unsigned i = lane; i < DEVICE_BINS; i += 32) {
            if (counting.found[slot].bins[i])
                add_global(&to->bins[i], counting.found[slot].bins[i]);
            counting.found[slot].bins[i] = 0;
        }
        if (lane == 0) {
            add_global(&to->sum, sum);
            atomicMax((u64 *)&to->most, most);
            const u64 old = atomicAdd((u64 *)&to->squares_low, low);
            add_global(&to->squares_high, high + (old + low < low));
            counting.found[slot].sum = counting.found[slot].most = 0;
            counting.found[slot].squares_low = counting.found[slot].squares_high = 0;
        }
    }
    __syncthreads();
}

// Processes a warp's share of the job, as for bits. The next words are read while the current ones
// are counted.
__device__ static void scan_counts(const struct device_job &job, unsigned slot, unsigned chunk,
                                   unsigned chunks, unsigned step, struct sums *sums)
{
    enum { AHEAD = 2 };
    struct counted counted = {};
    uint4 words[AHEAD + 1];
    unsigned char full[AHEAD + 1];
    counted.slot = slot;
    if (chunk >= chunks)
        return;
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
        words[i] = load_words(job, chunk + i * step);
        full[i] = is_full(job, chunk + i * step);
    }
    for (; chunk < chunks; chunk += step) {
        words[AHEAD] = load_words(job, chunk + AHEAD * step);
        full[AHEAD] = is_full(job, chunk + AHEAD * step);
        clear_words(words[0], job, chunk);
        const uint4 bits[1] = {count_chunk(&counted, words[0], job, chunk)};
        join(bits, job, chunk, full[0], sums);
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            words[i] = words[i + 1];
            full[i] = full[i + 1];
        }
    }
    flush_piece(&counted, job);
    flush_warp(&counted);
}

#endif
