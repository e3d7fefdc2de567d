// SPDX-License-Identifier: Apache-2.0
// The first kernel of the scan: takes a sample of a job's elements, and chooses from it what the
// second kernel counts. See values.h for what it promises. values_line.cuh chooses lines.
//
// The bytes that are looked at, one after the other, are divided into as many equal parts as the
// sample has elements. Of each part, the element at a pseudo-random place is taken, so that the
// sample is the same each time. If there are few elements, all are taken.
#ifndef GLINT_DEVICE_VALUES_SAMPLE_CUH
#define GLINT_DEVICE_VALUES_SAMPLE_CUH

#include "values.cuh"

enum {
    SAMPLE = 1024,
    COUNTS = 2 * SAMPLE, // of the table that counts equal values
    LISTED = 32,
    TRIES = 64, // lines that are tried
};
#define NONE (~0ull)

static __shared__ struct {
    struct device_values_job job;
    struct wanted wanted;
    unsigned size;           // of the sample
    unsigned room;           // of `counts`
    u64 places[SAMPLE];      // byte offsets from the object's base; NONE: not looked at
    u64 index[SAMPLE];       // of the field's elements, below
    u64 bits[SAMPLE];        // of the field's elements
    u64 keys[SAMPLE];        // what is counted, or numbers
    unsigned counts[COUNTS]; // the first element's number + 1, and the count in the lower half
    unsigned counter, kinds, listed;
    struct {
        u64 value;
        unsigned count;
    } list[LISTED];
    u64 best, least;
    u64 parts[WARPS];
    // Lines:
    u64 slopes[TRIES];
    bool tried[TRIES];
    double lines[TRIES][2];
    double sums[WARPS][6];
} sampling;

// Returns the sum over the block. Called by the whole block.
__device__ static unsigned block_sum(unsigned own)
{
    __syncthreads();
    if (threadIdx.x == 0)
        sampling.counter = 0;
    __syncthreads();
    if (own)
        atomicAdd(&sampling.counter, own);
    __syncthreads();
    return sampling.counter;
}

// Returns the greatest value of the block, at least 0. Called by the whole block.
__device__ static u64 block_max(u64 own)
{
    __syncthreads();
    if (threadIdx.x == 0)
        sampling.best = 0;
    __syncthreads();
    if (own)
        atomicMax(&sampling.best, own);
    __syncthreads();
    return sampling.best;
}

// --- Places --------------------------------------------------------------------------------------

// Where element `number` of the sample lies among so many bytes; ascends with the number.
__device__ static u64 place_of(unsigned number, u64 bytes)
{
    const u64 part = ~0ull / SAMPLE;
    return __umul64hi(bytes, number * part + mix((number + 1) * 0x9e3779b97f4a7c15ull) % part);
}

__device__ static bool is_in(const struct device_values_job &job, u64 piece)
{
    const struct span range = pieces_of(job);
    unsigned char state;
    return piece >= range.from && piece < range.to && is_looked_at(job, (unsigned)piece, &state);
}

// Takes places from all of the object, or from the range. Returns how many of them are in pieces
// that are looked at. Called by the whole block.
__device__ static unsigned try_places(const struct device_values_job &job)
{
    const struct span range = pieces_of(job);
    const u64 from = bytes_of(job, range.from).from;
    const u64 bytes = range.from < range.to ? bytes_of(job, range.to - 1).to - from : 0;
    unsigned found = 0;
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < SAMPLE; i += THREADS) {
        const u64 place = from - job.base + place_of(i, bytes);
        const bool looked = is_in(job, place >> DEVICE_PIECE_SHIFT);
        sampling.places[i] = looked ? place : NONE;
        found += looked;
    }
    return block_sum(found);
}

// The number by which a mark's index is multiplied to get the piece.
__device__ static constexpr unsigned inverse_step()
{
    unsigned inverse = DEVICE_PIECE_STEP;
    for (int i = 0; i < 5; i++)
        inverse *= 2 - DEVICE_PIECE_STEP * inverse;
    return inverse;
}

// Returns a bit for each of 16 bytes that says that its piece is looked at: marks, or states.
__device__ static unsigned looked_at(const struct device_values_job &job, u64 from, u64 count)
{
    const unsigned char *bytes =
        at<const unsigned char>(job.which == DEVICE_MARKED ? job.marks : job.states) + from;
    unsigned words[4] = {0, 0, 0, 0}, mask = 0;
    if (count >= 16) {
        const uint4 vector = __ldcg((const uint4 *)bytes);
        words[0] = vector.x;
        words[1] = vector.y;
        words[2] = vector.z;
        words[3] = vector.w;
    } else {
        for (unsigned i = 0; i < 16; i++)
            words[i / 4] |= i < count ? (unsigned)__ldcg(bytes + i) << 8 * (i % 4) : 0;
    }
    if (!(words[0] | words[1] | words[2] | words[3]))
        return 0;
    for (unsigned i = 0; i < 16; i++) {
        const unsigned byte = words[i / 4] >> 8 * (i % 4) & 0xff;
        const bool looked = job.which == DEVICE_MARKED ? byte != 0 : is_wanted(job, byte);
        mask |= (unsigned)looked << i;
    }
    return mask;
}

// Goes through the thread's part of all pieces that are looked at, and returns how many bytes they
// have. If `before` is not NONE, it is the number of bytes in the parts before, of `total`, and the
// elements of the sample that lie in this part are taken.
__device__ static __noinline__ u64 walk(const struct device_values_job &job, u64 before, u64 total)
{
    const bool marked = job.which == DEVICE_MARKED;
    const u64 slots = marked ? (u64)job.mask + 1 : job.pieces;
    const u64 part = ((slots + THREADS - 1) / THREADS + 15) / 16 * 16;
    const u64 end = min((threadIdx.x + 1) * part, slots);
    u64 bytes = 0;
    unsigned number = 0;
    if (before != NONE) {
        for (unsigned step = SAMPLE; step; step /= 2)
            if (number + step <= SAMPLE && place_of(number + step - 1, total) < before)
                number += step;
    }
#pragma unroll 1
    for (u64 from = threadIdx.x * part; from < end; from += 16) {
#pragma unroll 1
        for (unsigned left = looked_at(job, from, end - from); left; left &= left - 1) {
            const unsigned slot = (unsigned)from + __ffs((int)left) - 1;
            const u64 piece = marked ? slot * inverse_step() & job.mask : slot;
            if (piece >= job.pieces)
                continue;
            const struct span range = bytes_of(job, piece);
            while (before != NONE && number < SAMPLE &&
                   place_of(number, total) < before + bytes + (range.to - range.from)) {
                const u64 place = range.from + (place_of(number, total) - before - bytes);
                sampling.places[number++] = place - job.base;
            }
            bytes += range.to - range.from;
        }
    }
    return bytes;
}

// Takes the sample from the pieces that are looked at, all of which are found first.
__device__ static void walk_places(const struct device_values_job &job)
{
    const u64 own = walk(job, NONE, 0);
    u64 sum = own;
    for (int step = 1; step < 32; step *= 2) {
        const u64 other = __shfl_up_sync(ALL, sum, step);
        sum += lane_index() >= step ? other : 0;
    }
    if (lane_index() == 31)
        sampling.parts[warp_index()] = sum;
    __syncthreads();
    u64 before = sum - own, total = 0;
    for (unsigned i = 0; i < WARPS; i++) {
        before += i < warp_index() ? sampling.parts[i] : 0;
        total += sampling.parts[i];
    }
    walk(job, before, total);
    __syncthreads();
}

// --- Elements ------------------------------------------------------------------------------------

__device__ static __noinline__ u64 load_element(u64 address, unsigned size)
{
    u64 bits = 0;
    if (size == 8 && address % 8 == 0)
        return __ldcg(at<const u64>(address));
    if (size == 4 && address % 4 == 0)
        return __ldcg(at<const unsigned>(address));
#pragma unroll 1
    for (unsigned i = 0; i < size; i++)
        bits |= (u64)__ldcg(at<const unsigned char>(address + i)) << 8 * i;
    return bits;
}

// Loads a field of a structure. Returns false if it is not one that the second kernel counts.
__device__ static bool load_field(const struct device_values_job &job, unsigned field, u64 index,
                                  u64 *bits)
{
    const unsigned size = size_of(kind_of(job.fields[field].type));
    const u64 address = job.first + job.fields[field].offset + index * job.stride;
    if (address < job.first || address + size > job.end ||
        !is_in(job, (address - job.base) >> DEVICE_PIECE_SHIFT))
        return false;
    *bits = load_element(address, size);
    return true;
}

// Finds the sample's elements of the field. Called by the whole block.
__device__ static void find_elements(const struct device_values_job &job, unsigned field)
{
    const unsigned size = size_of(kind_of(job.fields[field].type));
    const struct span range = pieces_of(job);
    const u64 from = range.from < range.to ? elements_of(job, field, range.from, size).from : 0;
    const u64 to = range.from < range.to ? elements_of(job, field, range.to - 1, size).to : 0;
    const bool all = to <= from + SAMPLE;
    __syncthreads();
    if (threadIdx.x == 0) {
        sampling.size = !all ? SAMPLE : to > from ? (unsigned)(to - from) : 0;
        sampling.room = 64;
        while (sampling.room < 2 * sampling.size)
            sampling.room *= 2;
    }
    __syncthreads();
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < sampling.size; i += THREADS) {
        const u64 place = sampling.places[i];
        sampling.index[i] = all ? from + i : NONE;
        if (all || place == NONE)
            continue;
        const u64 piece = place >> DEVICE_PIECE_SHIFT;
        const struct span bytes = bytes_of(job, piece);
        const struct span elements = elements_of(job, field, piece, size);
        const u64 within = place + job.base - bytes.from;
        if (elements.from < elements.to)
            sampling.index[i] =
                elements.from + within * (elements.to - elements.from) / (bytes.to - bytes.from);
    }
}

// Loads the sample's elements of the field, and drops those that are not looked at. Called by the
// whole block.
__device__ static void load_elements(const struct device_values_job &job, unsigned field)
{
    unsigned count = 0; // so far
    __syncthreads();
#pragma unroll 1
    for (unsigned from = 0; from < sampling.size; from += THREADS) {
        const unsigned own = from + threadIdx.x;
        const u64 index = own < sampling.size ? sampling.index[own] : NONE;
        u64 bits = 0;
        const bool there = index != NONE && load_field(job, field, index, &bits);
        const unsigned mask = __ballot_sync(ALL, there);
        if (lane_index() == 0)
            sampling.parts[warp_index()] = __popc(mask);
        __syncthreads();
        unsigned place = count + __popc(mask & ((1u << lane_index()) - 1));
        for (unsigned i = 0; i < WARPS; i++) {
            place += i < warp_index() ? (unsigned)sampling.parts[i] : 0;
            count += (unsigned)sampling.parts[i];
        }
        if (there) { // at a place that has been read
            sampling.index[place] = index;
            sampling.bits[place] = sampling.keys[place] = bits;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sampling.size = count;
    __syncthreads();
}

__device__ static __noinline__ u64 round_any(unsigned type, u64 bits, int k)
{
    switch (type) {
    case DEVICE_F16: return round_bits<F16>((unsigned)bits, k);
    case DEVICE_BF16: return round_bits<BF16>((unsigned)bits, k);
    case DEVICE_F32: return round_bits<F32>((unsigned)bits, k);
    default: return round_bits<F64>(bits, k);
    }
}

// --- Frequent values -----------------------------------------------------------------------------

// Counts equal keys. Called by the whole block.
__device__ static void count_keys()
{
    const unsigned room = sampling.room;
    __syncthreads();
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < room; i += THREADS)
        sampling.counts[i] = 0;
    if (threadIdx.x == 0)
        sampling.kinds = 0;
    __syncthreads();
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < sampling.size; i += THREADS) {
        const u64 key = sampling.keys[i];
#pragma unroll 1
        for (unsigned place = (unsigned)mix(key * 0x9e3779b97f4a7c15ull);; place++) {
            unsigned *to = &sampling.counts[place % room];
            unsigned old = *(volatile unsigned *)to;
            if (!old)
                old = atomicCAS(to, 0u, (i + 1) << 16 | 1);
            if (!old) {
                atomicAdd(&sampling.kinds, 1u);
                break;
            }
            if (sampling.keys[(old >> 16) - 1] == key) {
                atomicAdd(to, 1u);
                break;
            }
        }
    }
    __syncthreads();
}

// Chooses the values with at least 5 % of the sample. If there are more than eight with 10 % of the
// elements, the second kernel must count more than it reports to find the first eight of them;
// twelve are certain to contain them.
__device__ static void choose_candidates(unsigned type, struct wanted *wanted)
{
    const unsigned least = (sampling.size + 19) / 20;
    if (threadIdx.x == 0)
        sampling.listed = 0;
    __syncthreads();
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < sampling.room; i += THREADS) {
        const unsigned count = sampling.counts[i] & 0xffff;
        if (!count || count < least)
            continue;
        const unsigned place = atomicAdd(&sampling.listed, 1u);
        sampling.list[place].value = sampling.keys[(sampling.counts[i] >> 16) - 1];
        sampling.list[place].count = count;
    }
    __syncthreads();
    if (threadIdx.x < sampling.listed) {
        const u64 value = sampling.list[threadIdx.x].value;
        const unsigned count = sampling.list[threadIdx.x].count;
        unsigned place = 0;
#pragma unroll 1
        for (unsigned i = 0; i < sampling.listed; i++)
            place += sampling.list[i].count > count ||
                     (sampling.list[i].count == count && sampling.list[i].value < value);
        if (place < COUNTED)
            wanted->candidates[place] = extend(type, value);
        if (!place)
            wanted->mostly = 2 * count >= sampling.size;
    }
    if (threadIdx.x == 0)
        wanted->candidate_count = min(sampling.listed, (unsigned)COUNTED);
    __syncthreads();
}

// Begins the set of different values with those of the sample.
__device__ static void begin_set(unsigned type, struct set *set)
{
    if (sampling.kinds > DEVICE_DISTINCT) {
        if (threadIdx.x == 0)
            set->count = DEVICE_DISTINCT + 1;
    } else {
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < sampling.room; i += THREADS) {
            if (sampling.counts[i])
                set_add(set, extend(type, sampling.keys[(sampling.counts[i] >> 16) - 1]));
        }
    }
    __syncthreads();
}

// Finds which numbers are rounded to the chosen one: see rounding_bits.
__device__ static void choose_interval(unsigned type, struct wanted *wanted, int k)
{
    const bool wide = is_wide(type), half = type == DEVICE_F16;
    const int drop = (wide ? 52 : 23) - 10 + k;
    const u64 sign = wide ? sign_of(F64) : half ? sign_of(F16) << 13 : sign_of(F32);
    const u64 infinity = wide ? infinity_of(F64) : half ? infinity_of(F16) << 13 : infinity_of(F32);
    const u64 to = half ? (u64)half_of((unsigned)wanted->rounded[k]) << 13 : wanted->rounded[k];
    const u64 half_unit = 1ull << (drop - 1), size = to & (sign - 1), odd = to >> drop & 1;
    const u64 below = !size || size > infinity ? 0 : half_unit - odd;
    wanted->from[k] = to - below;
    wanted->width[k] = below + (size >= infinity ? 0 : half_unit - odd);
}

// Chooses the most frequent value after rounding to each size; of equally frequent ones, the least.
__device__ static void choose_roundings(unsigned type, struct wanted *wanted)
{
#pragma unroll 1
    for (int k = 0; k < DEVICE_ROUNDINGS; k++) {
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < sampling.size; i += THREADS)
            sampling.keys[i] = round_any(type, sampling.bits[i], k);
        count_keys();
        unsigned own = 0;
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < sampling.room; i += THREADS)
            own = max(own, sampling.counts[i] & 0xffff);
        const unsigned most = (unsigned)block_max(own);
        if (threadIdx.x == 0)
            sampling.least = NONE;
        __syncthreads();
        if (5 * most < 2 * sampling.size || !most)
            continue;
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < sampling.room; i += THREADS) {
            if ((sampling.counts[i] & 0xffff) == most)
                atomicMin(&sampling.least, sampling.keys[(sampling.counts[i] >> 16) - 1]);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            wanted->rounded[k] = extend(type, sampling.least);
            choose_interval(type, wanted, k);
            wanted->roundings |= 1u << k;
        }
        __syncthreads();
    }
}

#endif
