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
    SAMPLERS = DEVICE_VALUES_SAMPLERS, // threads of a block
    SAMPLER_WARPS = SAMPLERS / 32,
    SAMPLE = 1024,       // as many, so that loops over the sample end at once
    COUNTS = 2 * SAMPLE, // of the table that counts equal values
    LISTED = 32,
    TRIES = 64, // lines that are tried
};
#define NONE (~0ull)

static __shared__ struct {
    struct device_values_job job;
    struct wanted wanted;
    unsigned size;           // of the sample
    u64 places[SAMPLE];      // byte offsets from the object's base; NONE: not looked at
    u64 index[SAMPLE];       // of the field's elements, below
    u64 bits[SAMPLE];        // of the field's elements
    u64 keys[SAMPLE];        // what is counted, or numbers
    unsigned counts[COUNTS]; // the first element's number + 1, and the count in the lower half
    unsigned listed;
    u64 first; // the most frequent key
    struct {
        u64 value;
        unsigned count;
    } list[LISTED];
    u64 parts[SAMPLER_WARPS];
    // Lines:
    u64 slopes[TRIES];
    bool tried[TRIES];
    double lines[TRIES][2];
    double sums[SAMPLER_WARPS][6];
} sampling;

// Returns for how many threads of the block it is so. Called by the whole block.
__device__ static unsigned block_count(bool is_so)
{
    return (unsigned)__syncthreads_count(is_so);
}

// Returns the greatest value of the block, at least 0. Called by the whole block.
__device__ static u64 block_max(u64 own)
{
#pragma unroll 1
    for (int step = 16; step; step /= 2)
        own = max(own, __shfl_xor_sync(ALL, own, step));
    __syncthreads();
    if (lane_index() == 0)
        sampling.parts[warp_index()] = own;
    __syncthreads();
    own = sampling.parts[lane_index()];
#pragma unroll 1
    for (int step = 16; step; step /= 2)
        own = max(own, __shfl_xor_sync(ALL, own, step));
    return own;
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
    const u64 place = from - job.base + place_of(threadIdx.x, bytes);
    const bool looked = is_in(job, place >> DEVICE_PIECE_SHIFT);
    sampling.places[threadIdx.x] = looked ? place : NONE;
    return block_count(looked);
}

// The number by which a mark's index is multiplied to get the piece.
__device__ static constexpr unsigned inverse_step()
{
    unsigned inverse = DEVICE_PIECE_STEP;
    for (int i = 0; i < 5; i++)
        inverse *= 2 - DEVICE_PIECE_STEP * inverse;
    return inverse;
}

// Of 16 marks or states, from one on, finds in each byte's last bit whether its piece is looked at.
// Those of pieces that do not exist are 0.
__device__ static uint4 looked_at(const struct device_values_job &job, u64 from)
{
    const bool marked = job.which == DEVICE_MARKED;
    const u64 count = marked ? (u64)job.mask + 1 : job.pieces;
    const unsigned char *bytes = at<const unsigned char>(marked ? job.marks : job.states) + from;
    unsigned words[4] = {0, 0, 0, 0};
    if (from + 16 <= count) {
        const uint4 vector = __ldcg((const uint4 *)bytes);
        words[0] = vector.x;
        words[1] = vector.y;
        words[2] = vector.z;
        words[3] = vector.w;
    } else {
#pragma unroll 1
        for (u64 i = 16; i; i--) { // words are shifted, as their indices must be constants
            words[3] = __funnelshift_l(words[2], words[3], 8);
            words[2] = __funnelshift_l(words[1], words[2], 8);
            words[1] = __funnelshift_l(words[0], words[1], 8);
            words[0] = words[0] << 8 | (from + i <= count ? __ldcg(bytes + i - 1) : 0);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const unsigned known = words[i], seen = job.which == DEVICE_UNSEEN ? words[i] >> 1 : 0;
        words[i] =
            marked ? (((words[i] & 0x7f7f7f7f) + 0x7f7f7f7f) | words[i]) >> 7 : known & ~seen;
        words[i] &= 0x01010101;
    }
    static_assert(DEVICE_PIECE_KNOWN == 1 && DEVICE_PIECE_SEEN == 2, "so are the bits");
    return make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ static unsigned count_bits(uint4 vector)
{
    return __popc(vector.x) + __popc(vector.y) + __popc(vector.z) + __popc(vector.w);
}

// Returns the slot, from one on, of the piece that so many others are before.
__device__ static u64 find_slot(const struct device_values_job &job, u64 from, unsigned before)
{
#pragma unroll 1
    for (;; from += 16) {
        uint4 vector = looked_at(job, from);
        const unsigned count = count_bits(vector);
        if (before >= count) {
            before -= count;
            continue;
        }
#pragma unroll 1
        for (u64 slot = from;; slot++) {
            if (vector.x & 1 && !before--)
                return slot;
            vector.x = __funnelshift_r(vector.x, vector.y, 8);
            vector.y = __funnelshift_r(vector.y, vector.z, 8);
            vector.z = __funnelshift_r(vector.z, vector.w, 8);
            vector.w >>= 8;
        }
    }
}

// Takes the sample from the pieces that are looked at: each thread counts those in its part of all
// slots, and then finds one by its number. Called by the whole block.
__device__ static __noinline__ void walk_places(const struct device_values_job &job)
{
    const bool marked = job.which == DEVICE_MARKED;
    const u64 slots = marked ? (u64)job.mask + 1 : job.pieces;
    const u64 part = ((slots + SAMPLERS - 1) / SAMPLERS + 15) / 16 * 16;
    const u64 end = min((threadIdx.x + 1) * part, slots);
    unsigned sum = 0;
#pragma unroll 4
    for (u64 from = threadIdx.x * part; from < end; from += 16)
        sum += count_bits(looked_at(job, from));
        // Up to and including each thread's part.
#pragma unroll 1
    for (int step = 1; step < 32; step *= 2) {
        const unsigned other = __shfl_up_sync(ALL, sum, step);
        sum += lane_index() >= step ? other : 0;
    }
    if (lane_index() == 31)
        sampling.counts[SAMPLERS + warp_index()] = sum;
    __syncthreads();
    unsigned before = 0;
#pragma unroll 1
    for (unsigned i = 0; i < warp_index(); i++)
        before += sampling.counts[SAMPLERS + i];
    sampling.counts[threadIdx.x] = sum + before;
    __syncthreads();
    const unsigned total = sampling.counts[SAMPLERS - 1];
    u64 place = NONE;
    if (total) {
        const u64 wanted = place_of(threadIdx.x, (u64)total * PIECE);
        const unsigned number = (unsigned)(wanted >> DEVICE_PIECE_SHIFT);
        unsigned owner = 0; // the first whose parts up to its own have more
#pragma unroll 1
        for (unsigned step = SAMPLERS / 2; step; step /= 2)
            owner += sampling.counts[owner + step - 1] <= number ? step : 0;
        const u64 slot =
            find_slot(job, owner * part, number - (owner ? sampling.counts[owner - 1] : 0));
        const u64 piece = marked ? (unsigned)slot * inverse_step() & job.mask : slot;
        const struct span bytes = bytes_of(job, piece);
        const u64 within = (wanted & (PIECE - 1)) * (bytes.to - bytes.from) >> DEVICE_PIECE_SHIFT;
        if (piece < job.pieces)
            place = bytes.from + within - job.base;
    }
    sampling.places[threadIdx.x] = place;
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

// Divides; most strides are powers of two.
__device__ static u64 divide(u64 number, unsigned by)
{
    return by & (by - 1) ? number / by : number >> (__ffs((int)by) - 1);
}

// Finds the index of the thread's element of the field; NONE: there is none.
__device__ static u64 find_element(const struct device_values_job &job, unsigned field)
{
    const unsigned size = size_of(kind_of(job.fields[field].type));
    const struct span range = pieces_of(job);
    if (range.from >= range.to)
        return NONE;
    const u64 start = job.first + job.fields[field].offset;
    const u64 low = bytes_of(job, range.from).from, high = bytes_of(job, range.to - 1).to;
    const u64 end = min(high, (u64)job.end + 1 - size);
    const u64 from = low > start ? divide(low - start + job.stride - 1, job.stride) : 0;
    const u64 to = end > start ? divide(end - start + job.stride - 1, job.stride) : 0;
    if (to <= from + SAMPLE)
        return from + threadIdx.x < to ? from + threadIdx.x : NONE;
    const u64 place = sampling.places[threadIdx.x];
    if (place == NONE)
        return NONE;
    // That which begins behind the place, if it is in the same piece, else that before.
    const u64 address = job.base + place;
    u64 index = address > start ? divide(address - start + job.stride - 1, job.stride) : 0;
    const u64 next = start + index * job.stride;
    if (index && ((next - job.base) >> DEVICE_PIECE_SHIFT != place >> DEVICE_PIECE_SHIFT ||
                  next + size > job.end))
        index--;
    return index;
}

// Finds and loads the sample's elements of the field, those that are looked at. Called by the whole
// block.
__device__ static void load_elements(const struct device_values_job &job, unsigned field)
{
    const u64 index = find_element(job, field);
    u64 bits = 0;
    const bool there = index != NONE && load_field(job, field, index, &bits);
    const unsigned mask = __ballot_sync(ALL, there);
    if (lane_index() == 0)
        sampling.counts[warp_index()] = __popc(mask);
    const unsigned count = block_count(there);
    unsigned place = __popc(mask & ((1u << lane_index()) - 1));
    const unsigned before = sampling.counts[lane_index()];
#pragma unroll 1
    for (unsigned i = 0; i < SAMPLER_WARPS; i++)
        place += i < warp_index() ? __shfl_sync(ALL, before, (int)i) : 0;
    if (there) {
        sampling.index[place] = index;
        sampling.bits[place] = sampling.keys[place] = bits;
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

// Counts equal keys. Returns the number of kinds, and of the thread's key, how many are equal, and
// whether the thread is the one of them that stands for its kind. Called by the whole block.
__device__ static unsigned count_keys(bool *is_new, unsigned *count)
{
    unsigned *own = nullptr;
    const unsigned i = threadIdx.x;
    bool is_first = false;
    __syncthreads();
    sampling.counts[i] = sampling.counts[SAMPLERS + i] = 0;
    __syncthreads();
    if (i < sampling.size) {
        const u64 key = sampling.keys[i];
#pragma unroll 1
        for (unsigned place = (unsigned)mix(key * 0x9e3779b97f4a7c15ull);; place++) {
            unsigned *to = &sampling.counts[place % COUNTS];
            unsigned old = *(volatile unsigned *)to;
            if (!old)
                old = atomicCAS(to, 0u, (i + 1) << 16 | 1);
            is_first = !old;
            if (!is_first && sampling.keys[(old >> 16) - 1] != key)
                continue;
            if (!is_first)
                atomicAdd(to, 1u);
            own = to;
            break;
        }
    }
    const unsigned kinds = block_count(is_first);
    *is_new = is_first;
    *count = own ? *own & 0xffff : 0;
    return kinds;
}

// Chooses the values with at least 5 % of the sample. If there are more than eight with 10 % of the
// elements, the second kernel must count more than it reports to find the first eight of them;
// twelve are certain to contain them.
__device__ static void choose_candidates(unsigned type, struct wanted *wanted, bool is_new,
                                         unsigned own)
{
    const unsigned least = (sampling.size + 19) / 20;
    if (threadIdx.x == 0)
        sampling.listed = 0;
    __syncthreads();
    if (is_new && own >= least) {
        const unsigned place = atomicAdd(&sampling.listed, 1u);
        sampling.list[place].value = sampling.keys[threadIdx.x];
        sampling.list[place].count = own;
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
        if (!place) {
            wanted->mostly = 2 * count >= sampling.size;
            sampling.first = value;
        }
    }
    if (threadIdx.x == 0)
        wanted->candidate_count = min(sampling.listed, (unsigned)COUNTED);
    __syncthreads();
}

// Begins the set of different values with those of the sample.
__device__ static void begin_set(unsigned type, struct set *set, bool is_new, unsigned kinds)
{
    if (threadIdx.x == 0)
        set->count = min(kinds, DEVICE_DISTINCT + 1u);
    if (!is_new || kinds > DEVICE_DISTINCT)
        return;
    const u64 bits = extend(type, sampling.keys[threadIdx.x]);
    unsigned place = set_place(bits);
    if (!bits)
        set->null = 1;
#pragma unroll 1
    while (bits && atomicCAS(&set->places[place], 0ull, bits))
        place = (place + 1) % SET_ROOM;
}

// Finds what some of the sample are not.
__device__ static void choose_types(unsigned type, struct wanted *wanted)
{
    const u64 bits = extend(type, sampling.bits[threadIdx.x]);
    const bool is_there = threadIdx.x < sampling.size;
    const bool broken = is_wide(type) ? has_fraction(bits) : has_fraction((unsigned)bits);
    const bool wide = is_wide(type) ? !is_narrow(bits) : !is_narrow((unsigned)bits);
    const unsigned lacking = (block_count(is_there && broken) ? NOT_INTEGRAL : 0u) |
                             (block_count(is_there && wide) ? NOT_NARROW : 0u);
    if (threadIdx.x == 0)
        wanted->lacking = lacking;
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
// The most frequent value without rounding is given. If it is half of all, it is so after rounding.
// The coarsest rounding is first: values that a finer one makes equal are in two of its cells, so
// that if none of these has a fifth of the sample, no finer one has two fifths.
__device__ static void choose_roundings(unsigned type, struct wanted *wanted)
{
    const unsigned size = sampling.size;
    const u64 bits = sampling.bits[threadIdx.x];
    const bool mostly = wanted->mostly;
#pragma unroll 1
    for (int k = DEVICE_ROUNDINGS - 1; k >= 0; k--) {
        u64 best = mostly ? round_any(type, sampling.first, k) : 0;
        bool is_new = false;
        if (!mostly) {
            unsigned count;
            __syncthreads();
            sampling.keys[threadIdx.x] = round_any(type, bits, k);
            count_keys(&is_new, &count);
            const u64 most = block_max(is_new ? count : 0);
            if (5 * most < size)
                break;
            if (5 * most < 2 * size)
                continue;
            const u64 key = sampling.keys[threadIdx.x];
            best = ~block_max(is_new && count == most ? ~key : 0);
        }
        if (threadIdx.x == 0) {
            wanted->rounded[k] = extend(type, best);
            choose_interval(type, wanted, k);
            wanted->roundings |= 1u << k;
        }
    }
    __syncthreads();
}

#endif
