// SPDX-License-Identifier: Apache-2.0
// The sample of the scan: takes a sample of a job's elements, and chooses from it what the scan
// counts. See values.h for what it promises. values_line.cuh chooses lines.
//
// The bytes that are looked at, one after the other, are divided into as many equal parts as the
// sample has elements. Of each part, the element at a pseudo-random place is taken, so that the
// sample is the same each time. If there are few elements, all are taken.
//
// One block takes the sample, and all of the grid may wait for it. Each thread keeps one element in
// registers.
#ifndef GLINT_DEVICE_VALUES_SAMPLE_CUH
#define GLINT_DEVICE_VALUES_SAMPLE_CUH

#include "values_groups.cuh"

#define NONE (~0ull)

// Returns for how many threads of the block it is so. Called by the whole block.
__device__ static unsigned block_count(bool is_so)
{
    return (unsigned)__syncthreads_count(is_so);
}

// --- Places --------------------------------------------------------------------------------------

// Where the thread's element of the sample lies among so many bytes: in its part of them, at a
// pseudo-random place. Ascends with the thread's number.
__device__ static u64 place_of(u64 bytes)
{
    const u64 part = bytes / SAMPLE;
    unsigned random = (threadIdx.x + 1) * 0x9e3779b1u;
    random = (random ^ random >> 15) * 0x85ebca6bu;
    random ^= random >> 13;
    if (part >> 32 || !part)
        return bytes * threadIdx.x / SAMPLE;
    return threadIdx.x * part + __umulhi(random, (unsigned)part);
}

__device__ static bool is_in(const struct device_values_job &job, u64 piece)
{
    const struct span range = pieces_of(job);
    return piece >= range.from && piece < range.to && is_looked_at(job, piece);
}

// Takes a place from all of the object, or from the range: an offset from the object's base. NONE:
// it is not looked at.
__device__ static u64 try_place(const struct device_values_job &job)
{
    const struct span range = pieces_of(job);
    const u64 from = bytes_of(job, range.from).from;
    const u64 bytes = range.from < range.to ? bytes_of(job, range.to - 1).to - from : 0;
    const u64 place = from - job.base + place_of(bytes);
    return is_in(job, place >> DEVICE_PIECE_SHIFT) ? place : NONE;
}

// The number by which a mark's index is multiplied to get the piece.
__device__ static constexpr unsigned inverse_step()
{
    unsigned inverse = DEVICE_PIECE_STEP;
    for (int i = 0; i < 5; i++)
        inverse *= 2 - DEVICE_PIECE_STEP * inverse;
    return inverse;
}

// The number of marks or states.
__device__ static u64 slots_of(const struct device_values_job &job)
{
    return job.which == DEVICE_MARKED ? (u64)job.mask + 1 : job.pieces;
}

// Loads 16 marks or states, from one on, all of which exist.
__device__ static uint4 load_slots(const struct device_values_job &job, u64 from)
{
    const u64 address = job.which == DEVICE_MARKED ? job.marks : job.states;
    return __ldcg(at<const uint4>(address + from));
}

// Of 16 marks or states, finds in each byte's last bit whether its piece is looked at.
__device__ static uint4 looked_at(const struct device_values_job &job, uint4 slots)
{
    unsigned words[4] = {slots.x, slots.y, slots.z, slots.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const unsigned known = words[i], seen = job.which == DEVICE_UNSEEN ? words[i] >> 1 : 0;
        words[i] = job.which == DEVICE_MARKED
                       ? (((words[i] & 0x7f7f7f7f) + 0x7f7f7f7f) | words[i]) >> 7
                       : known & ~seen;
        words[i] &= 0x01010101;
    }
    static_assert(DEVICE_PIECE_KNOWN == 1 && DEVICE_PIECE_SEEN == 2, "so are the bits");
    return make_uint4(words[0], words[1], words[2], words[3]);
}

// The same of 16, from one on, of which some may not exist; these are not looked at.
__device__ static __noinline__ uint4 looked_from(const struct device_values_job &job, u64 from)
{
    const u64 count = slots_of(job);
    const unsigned char *bytes =
        at<const unsigned char>(job.which == DEVICE_MARKED ? job.marks : job.states) + from;
    uint4 slots = make_uint4(0, 0, 0, 0);
    if (from + 16 <= count)
        return looked_at(job, load_slots(job, from));
#pragma unroll 1
    for (u64 i = 16; i; i--) {
        slots.w = __funnelshift_l(slots.z, slots.w, 8);
        slots.z = __funnelshift_l(slots.y, slots.z, 8);
        slots.y = __funnelshift_l(slots.x, slots.y, 8);
        slots.x = slots.x << 8 | (from + i <= count ? __ldcg(bytes + i - 1) : 0);
    }
    return looked_at(job, slots);
}

__device__ static unsigned count_bits(uint4 vector)
{
    return __popc(vector.x) + __popc(vector.y) + __popc(vector.z) + __popc(vector.w);
}

// Returns the slot, from one on, of the piece that so many others are before. Another stream's scan
// may have cleared it meanwhile.
__device__ static u64 find_slot(const struct device_values_job &job, u64 from, unsigned before)
{
    const u64 end = slots_of(job);
#pragma unroll 1
    for (; from < end; from += 16) {
        uint4 vector = looked_from(job, from);
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
    return 0;
}

// Counts the pieces that are looked at in the thread's part of all slots, which has WALKED smaller
// parts of so many slots.
__device__ static unsigned count_part(const struct device_values_job &job, unsigned smaller)
{
    enum { EACH = 8 }; // that are loaded at the same time
    const u64 count = slots_of(job), start = (u64)threadIdx.x * smaller * WALKED;
    const u64 end = min(start + (u64)smaller * WALKED, count);
    unsigned short *parts = scanning.sample.parts[threadIdx.x];
    unsigned sum = 0;
#pragma unroll
    for (unsigned i = 0; i < WALKED; i++)
        parts[i] = 0;
#pragma unroll 1
    for (u64 from = start; from < end; from += 16 * EACH) {
        uint4 vectors[EACH];
        const bool whole = from + 16 * EACH <= end;
#pragma unroll
        for (unsigned i = 0; i < EACH; i++)
            vectors[i] = whole ? load_slots(job, from + 16 * i) : make_uint4(0, 0, 0, 0);
#pragma unroll 1
        for (u64 at = from; at < min(from + 16 * EACH, end); at += 16) {
            const uint4 looked = whole ? looked_at(job, vectors[0]) : looked_from(job, at);
            const unsigned some = count_bits(looked);
            parts[(unsigned)(at - start) / smaller] += (unsigned short)some;
            sum += some;
#pragma unroll
            for (unsigned i = 0; i + 1 < EACH; i++) // indices must be constants
                vectors[i] = vectors[i + 1];
        }
    }
    return sum;
}

// Takes a place from the pieces that are looked at: each thread counts those in its part of all
// slots, and then finds one by its number. Called by the whole block.
__device__ static __noinline__ u64 walk_place(const struct device_values_job &job)
{
    struct sampling &sample = scanning.sample;
    unsigned(&counts)[COUNTS] = sample.counts[1];
    const unsigned pieces = (unsigned)((slots_of(job) + THREADS * WALKED - 1) / (THREADS * WALKED));
    const unsigned smaller = (pieces + 15) / 16 * 16; // slots
    unsigned sum = count_part(job, smaller);
    // Up to and including each thread's part.
#pragma unroll 1
    for (int step = 1; step < 32; step *= 2) {
        const unsigned other = __shfl_up_sync(ALL, sum, step);
        sum += lane_index() >= step ? other : 0;
    }
    if (lane_index() == 31)
        counts[THREADS + warp_index()] = sum;
    __syncthreads();
#pragma unroll 1
    for (unsigned i = 0; i < warp_index(); i++)
        sum += counts[THREADS + i];
    counts[threadIdx.x] = sum;
    __syncthreads();
    const unsigned total = counts[THREADS - 1];
    u64 place = NONE;
    if (total) {
        const u64 wanted = place_of((u64)total * PIECE);
        unsigned number = (unsigned)(wanted >> DEVICE_PIECE_SHIFT), owner = 0, part = 0;
#pragma unroll 1
        for (unsigned step = 1u << 9; step; step /= 2) // the first that has more up to its part
            owner += owner + step < THREADS && counts[owner + step - 1] <= number ? step : 0;
        number -= owner ? counts[owner - 1] : 0;
#pragma unroll 1
        for (; part + 1 < WALKED && number >= sample.parts[owner][part]; part++)
            number -= sample.parts[owner][part];
        const u64 slot = find_slot(job, ((u64)owner * WALKED + part) * smaller, number);
        const u64 piece =
            job.which == DEVICE_MARKED ? (unsigned)slot * inverse_step() & job.mask : slot;
        const struct span bytes = bytes_of(job, piece);
        const u64 within = (wanted & (PIECE - 1)) * (bytes.to - bytes.from) >> DEVICE_PIECE_SHIFT;
        if (piece < job.pieces)
            place = bytes.from + within - job.base;
    }
    static_assert(THREADS <= 1 << 10 && THREADS >= 1 << 9, "steps reach all threads");
    __syncthreads();
    return place;
}

// --- Elements ------------------------------------------------------------------------------------

__device__ static u64 load_element(u64 address, unsigned size)
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

// The thread's element of the sample.
struct element {
    u64 index, bits;
    u64 step; // of integers: the difference to the next one; 0: unknown
    bool there;
};

// What the sample was taken from, and its size.
struct sampled {
    struct span range;
    unsigned size;
};

// The field's elements among which those are that are looked at.
__device__ static struct span field_range(const struct device_values_job &job, unsigned field)
{
    const unsigned size = size_of(kind_of(job.fields[field].type));
    const struct span range = pieces_of(job);
    const u64 start = job.first + job.fields[field].offset;
    const u64 low = bytes_of(job, range.from).from, high = bytes_of(job, range.to - 1).to;
    const u64 end = min(high, (u64)job.end + 1 - size);
    if (range.from >= range.to)
        return {0, 0};
    return {low > start ? divide_up(low - start, job.stride) : 0,
            end > start ? divide_up(end - start, job.stride) : 0};
}

// Finds the thread's element of the field: at its place, that which begins behind the place, if it
// is in the same piece, else that before; or, if there are few, that of its number.
__device__ static struct element find_element(const struct device_values_job &job, unsigned field,
                                              struct span range, u64 place)
{
    const unsigned size = size_of(kind_of(job.fields[field].type));
    const u64 start = job.first + job.fields[field].offset;
    struct element own = {0, 0, 0, false};
    if (range.to <= range.from + SAMPLE) {
        own.index = range.from + threadIdx.x;
        own.there = own.index < range.to;
    } else if (place != NONE) {
        const u64 address = job.base + place;
        u64 index = address > start ? divide_up(address - start, job.stride) : 0;
        const u64 next = start + index * job.stride;
        if (index && ((next - job.base) >> DEVICE_PIECE_SHIFT != place >> DEVICE_PIECE_SHIFT ||
                      next + size > job.end))
            index--;
        own.index = index;
        own.there = true;
    }
    return own;
}

// Loads an element of the field. Returns false if it is not one that the scan counts. `known` is an
// offset in a piece that is looked at.
__device__ static bool load_field(const struct device_values_job &job, unsigned field, u64 index,
                                  u64 known, u64 *bits)
{
    const unsigned size = size_of(kind_of(job.fields[field].type));
    const u64 address = job.first + job.fields[field].offset + index * job.stride;
    const u64 piece = (address - job.base) >> DEVICE_PIECE_SHIFT;
    if (address < job.first || address + size > job.end)
        return false;
    *bits = load_element(address, size);
    return piece == known >> DEVICE_PIECE_SHIFT || is_in(job, piece);
}

// Moves the elements to the first threads. Called by the whole block.
__device__ static __noinline__ struct element join_elements(struct element own, unsigned size)
{
    struct sampling &sample = scanning.sample;
    const unsigned lane = lane_index(), mask = __ballot_sync(ALL, own.there);
    if (lane == 0)
        sample.there[warp_index()] = mask;
    __syncthreads();
    unsigned before = lane < warp_index() ? __popc(sample.there[lane]) : 0;
#pragma unroll 1
    for (int step = 16; step; step /= 2)
        before += __shfl_xor_sync(ALL, before, step);
    before += __popc(mask & ((1u << lane) - 1));
    if (own.there) {
        sample.index[before] = own.index;
        sample.bits[before] = own.bits;
        sample.keys[before] = own.step;
    }
    __syncthreads();
    const unsigned i = threadIdx.x;
    return {sample.index[i], sample.bits[i], sample.keys[i], i < size};
}

// Finds and loads the sample's elements of the field, those that are looked at. Returns their
// number. Called by the whole block.
__device__ static unsigned load_elements(const struct device_values_job &job, unsigned field,
                                         struct span range, u64 place, bool has_steps,
                                         struct element *own)
{
    struct sampling &sample = scanning.sample;
    const u64 mask = mask_of(kind_of(job.fields[field].type));
    u64 next = 0;
    *own = find_element(job, field, range, place);
    const bool has_next =
        own->there && has_steps && load_field(job, field, own->index + 1, place, &next);
    own->there = own->there && load_field(job, field, own->index, place, &own->bits);
    own->step = has_next && own->there ? (next - own->bits) & mask : 0;
    const unsigned size = block_count(own->there);
    if (size < SAMPLE)
        *own = join_elements(*own, size);
    sample.index[threadIdx.x] = own->index;
    sample.bits[threadIdx.x] = own->bits;
    sample.keys[threadIdx.x] = own->step;
    __syncthreads();
    return size;
}

__device__ static u64 round_any(unsigned type, u64 bits, int k)
{
    switch (type) {
    case DEVICE_F16: return round_bits<F16>((unsigned)bits, k);
    case DEVICE_BF16: return round_bits<BF16>((unsigned)bits, k);
    case DEVICE_F32: return round_bits<F32>((unsigned)bits, k);
    default: return round_bits<F64>(bits, k);
    }
}

// --- Frequent values -----------------------------------------------------------------------------

__device__ static void clear_counts(unsigned *counts)
{
#pragma unroll
    for (unsigned i = 0; i < COUNTS; i += THREADS) {
        if (i + threadIdx.x < COUNTS)
            counts[i + threadIdx.x] = 0;
    }
}

__device__ static unsigned count_place(u64 key)
{
    const unsigned word = (unsigned)key ^ (unsigned)(key >> 32) * 0x85ebca6bu;
    return (word ^ word >> 15) * 0x9e3779b1u >> (32 - 11);
}
static_assert(COUNTS == 1 << 11, "a place in the table");

// Counts the thread's key in a table. Returns its place. `first`: no equal one is there.
__device__ static unsigned *count_key(unsigned *counts, const u64 *keys, u64 key, bool *first)
{
#pragma unroll 1
    for (unsigned place = count_place(key);; place = (place + 1) % COUNTS) {
        unsigned old = *(volatile unsigned *)&counts[place];
        if (!old)
            old = atomicCAS(&counts[place], 0u, (threadIdx.x + 1) << 16 | 1);
        *first = !old;
        if (!old)
            return &counts[place];
        if (keys[(old >> 16) - 1] == key) {
            atomicAdd(&counts[place], 1u);
            return &counts[place];
        }
    }
}

// Returns how many keys are that one.
__device__ static unsigned count_of_key(const unsigned *counts, const u64 *keys, u64 key)
{
#pragma unroll 1
    for (unsigned place = count_place(key);; place = (place + 1) % COUNTS) {
        const unsigned entry = counts[place];
        if (!entry || keys[(entry >> 16) - 1] == key)
            return entry & 0xffff;
    }
}

// How many of the sample are the thread's value, if no earlier thread has it, else 0; and how many
// different values there are.
struct counted {
    unsigned count, kinds;
};

// Called by the whole block.
__device__ static struct counted count_values(const struct element &own)
{
    struct sampling &sample = scanning.sample;
    bool first = false;
    const unsigned *place =
        own.there ? count_key(sample.counts[0], sample.bits, own.bits, &first) : sample.counts[0];
    const unsigned kinds = block_count(first);
    return {first ? *place & 0xffff : 0, kinds};
}

// Lists a value with at least a 32nd of the sample.
__device__ static void list_value(u64 value, unsigned count)
{
    const unsigned place = atomicAdd(&scanning.sample.listed, 1u);
    scanning.sample.list[place].value = value;
    scanning.sample.list[place].count = count;
}

// Chooses candidates from the list. If there are more than eight values with 10 % of the elements,
// the scan must count more than it reports to find the first eight of them; twelve are certain to
// contain them. Called by a whole warp.
__device__ static void choose_candidates(unsigned type, unsigned size)
{
    struct sampling &sample = scanning.sample;
    const unsigned listed = sample.listed;
    if (lane_index() < listed) {
        const u64 value = sample.list[lane_index()].value;
        const unsigned count = sample.list[lane_index()].count;
        unsigned place = 0;
#pragma unroll 1
        for (unsigned i = 0; i < listed; i++)
            place += sample.list[i].count > count ||
                     (sample.list[i].count == count && sample.list[i].value < value);
        if (place < COUNTED)
            sample.wanted.candidates[place] = extend(type, value);
        if (!place)
            sample.wanted.mostly = 2 * count >= size;
    }
    if (lane_index() == 0)
        sample.wanted.candidate_count = min(listed, (unsigned)COUNTED);
}

// Adds a value to the set of different ones.
__device__ static void add_different(u64 bits)
{
    struct sampling &sample = scanning.sample;
    unsigned place = set_place(bits), more = DEVICE_DISTINCT + 1;
    if (!bits) {
        if (!atomicExch(&sample.null, 1u))
            atomicAdd(&sample.different, 1u);
        return;
    }
#pragma unroll 1
    for (unsigned tries = 0; tries < SET_ROOM; tries++) {
        const u64 old = atomicCAS(&sample.set[place], 0ull, bits);
        if (old == bits)
            return;
        if (!old) {
            more = 1;
            break;
        }
        place = (place + 1) % SET_ROOM;
    }
    atomicAdd(&sample.different, more);
}

// Begins the set of different values with those of the sample; `first`: no earlier thread has the
// same element. All elements are added if there are not many more: the scan adds those that it does
// not find in the set one after the other. Called by the whole block.
__device__ static void begin_set(const struct device_values_job &job, unsigned field,
                                 struct span range, struct set *set, u64 bits, bool first)
{
    enum { MANY = 4 * SAMPLE };
    struct sampling &sample = scanning.sample;
    const unsigned type = job.fields[field].type;
    if (threadIdx.x < SET_ROOM)
        sample.set[threadIdx.x] = 0;
    static_assert(SET_ROOM <= THREADS, "each thread has a place");
    __syncthreads();
    if (first)
        add_different(extend(type, bits));
    const bool more = range.to > range.from + SAMPLE && range.to <= range.from + MANY;
#pragma unroll 1
    for (u64 i = range.from + threadIdx.x; more && i < range.to; i += THREADS) {
        u64 other;
        if (*(volatile unsigned *)&sample.different <= DEVICE_DISTINCT &&
            load_field(job, field, i, NONE, &other))
            add_different(extend(type, other));
    }
    __syncthreads();
    if (threadIdx.x < SET_ROOM)
        set->places[threadIdx.x] = sample.set[threadIdx.x];
    if (threadIdx.x == 0) {
        set->null = sample.null;
        set->count = min(sample.different, DEVICE_DISTINCT + 1u);
    }
    __syncthreads();
}

// --- Roundings -----------------------------------------------------------------------------------

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

// Counts the values after rounding. Returns whether the most frequent has two fifths of the sample,
// and its complement in `cells`: of equally frequent ones, the least. `finer`: a finer rounding may
// have one, too. Called by the whole block.
__device__ static bool count_cells(unsigned type, int k, unsigned size, const struct element &own,
                                   bool *finer)
{
    struct sampling &sample = scanning.sample;
    unsigned *counts = sample.counts[1];
    const u64 unit = 1ull << max(mantissa_of(kind_of(type)) - 10 + k, 0);
    const u64 key = round_any(type, own.bits, k);
    bool first = false;
    sample.keys[threadIdx.x] = key;
    __syncthreads();
    const unsigned *place = own.there ? count_key(counts, sample.keys, key, &first) : counts;
    __syncthreads();
    const unsigned count = first ? *place & 0xffff : 0;
    const bool frequent = first && 5 * count >= size;
    *finer = __syncthreads_or(frequent);
    if (!*finer)
        return false;
    if (frequent) {
        atomicMax(&sample.most[k], count);
        atomicMax(&sample.pair[k], count + max(count_of_key(counts, sample.keys, key + unit),
                                               count_of_key(counts, sample.keys, key - unit)));
    }
    __syncthreads();
    const unsigned most = sample.most[k];
    *finer = 5 * sample.pair[k] >= 2 * size;
    if (count == most)
        atomicMax(&sample.cells[k], ~key);
    clear_counts(counts);
    return 5 * most >= 2 * size;
}

// Chooses the most frequent value after rounding to each size. If a value is half of all, it is so
// after rounding. The coarsest rounding is first:
// values that a finer one makes equal are in two of its cells, which are neighbours, so that if no
// two of these have two fifths of the sample, no finer one has.
__device__ static void choose_roundings(unsigned type, unsigned size, const struct element &own)
{
    struct wanted *wanted = &scanning.sample.wanted;
    const bool half = 2 * count_values(own).count >= size;
    if (half)
        atomicMax(&scanning.sample.half, ~own.bits);
    const bool mostly = __syncthreads_or(half);
    unsigned chosen = mostly ? (1u << DEVICE_ROUNDINGS) - 1 : 0;
    bool finer = !mostly;
#pragma unroll 1
    for (int k = DEVICE_ROUNDINGS - 1; finer && k >= 0; k--)
        chosen |= (unsigned)count_cells(type, k, size, own, &finer) << k;
    if (!chosen)
        return;
    __syncthreads();
    if (threadIdx.x == 0)
        wanted->roundings = chosen;
    if (threadIdx.x < DEVICE_ROUNDINGS && chosen >> threadIdx.x & 1) {
        const int k = (int)threadIdx.x;
        wanted->rounded[k] = extend(type, mostly ? round_any(type, ~scanning.sample.half, k)
                                                 : ~scanning.sample.cells[k]);
        choose_interval(type, wanted, k);
    }
    __syncthreads();
}

#endif
