// SPDX-License-Identifier: Apache-2.0
// How a lane of the scan sums up 64 bytes of an array of words or of elements of
// eight bytes, which are in its registers: values_groups.cuh, with faster ways to do what costs
// most. See values.h.
//
// A multiprocessor reads about 4.6 words per clock, and can execute 128 instructions per clock,
// only half of which can be integer instructions. So each word can have 28, and 14 of these.
// Multiplications, floating-point instructions and shared memory are other units.
#ifndef GLINT_DEVICE_VALUES_ARRAYS_CUH
#define GLINT_DEVICE_VALUES_ARRAYS_CUH

#include "values_near.cuh"

// --- Candidates ----------------------------------------------------------------------------------

// An element can only be the candidate in its slot. So the number of candidates does not matter, as
// long as they are in one list.

// The upper bits are the number of the slot.
__device__ static unsigned hash_of(unsigned bits, uint2 factors)
{
    return bits * factors.x;
}

__device__ static unsigned hash_of(u64 bits, uint2 factors)
{
    return (unsigned)bits * factors.x + (unsigned)(bits >> 32) * factors.y;
}

// Finds the factors of a list, and fills its slots. Each lane tries others. Called by a warp.
template <typename B> __device__ static void fill_list(unsigned list)
{
    enum { TRIES = 64 };
    const struct wanted &wanted = scanning.wanted[0];
    const unsigned from = list * LIST_ROOM, to = min(wanted.candidate_count, from + LIST_ROOM);
    uint2 factors = make_uint2(0, 0);
    unsigned found = 0;
#pragma unroll 1
    for (unsigned i = 0; i < TRIES && !found; i++) {
        const u64 random = mix((i * 32 + lane_index() + 1) * 0x9e3779b97f4a7c15ull);
        factors = make_uint2((unsigned)random | 1, (unsigned)(random >> 32) | 1);
        unsigned used = 0;
        bool is_free = true;
#pragma unroll 1
        for (unsigned k = from; k < to; k++) {
            const unsigned slot = 1u << (hash_of((B)wanted.candidates[k], factors) >> 28);
            is_free &= !(used & slot);
            used |= slot;
        }
        found = __ballot_sync(ALL, is_free);
    }
    if (!found)
        scanning.is_listed = false;
    factors.x = __shfl_sync(ALL, factors.x, __ffs((int)found) - 1);
    factors.y = __shfl_sync(ALL, factors.y, __ffs((int)found) - 1);
    if (lane_index() < SLOTS)
        scanning.slots[list][lane_index()] = make_uint4(0, 0, 0, 0);
    __syncwarp();
    if (lane_index() == 0)
        scanning.factors[list] = factors;
    if (lane_index() < to - from) {
        const u64 value = wanted.candidates[from + lane_index()];
        const unsigned slot = hash_of((B)value, factors) >> 28,
                       counter = 1u << 4 * spread_place(lane_index());
        if (sizeof(B) == 8)
            scanning.slots[list][slot] =
                make_uint4((unsigned)value, (unsigned)(value >> 32), counter, 0);
        else
            ((uint2 *)scanning.slots[list])[slot] = make_uint2((unsigned)value, counter);
        if (!value)
            scanning.is_zero_listed = true;
    }
}

// Puts the candidates of the first field into lists. Called by the whole block, which synchronizes
// afterwards; is_listed is true and is_zero_listed is false before.
__device__ static void fill_lists()
{
    const unsigned list = warp_index();
    if (list >= LISTS || list * LIST_ROOM >= scanning.wanted[0].candidate_count)
        return;
    if (is_wide(scanning.job.fields[0].type))
        fill_list<u64>(list);
    else
        fill_list<unsigned>(list);
}
static_assert(LISTS <= WARPS, "a warp fills a list");

// The address of a slot in shared memory. Lists are aligned, so that bits can be joined instead of
// added.
template <typename B> __device__ static unsigned slot_at(B bits, uint2 factors, unsigned list)
{
    const int shift = sizeof(B) == 8 ? 4 : 3;
    return (hash_of(bits, factors) >> (28 - shift) & 15u << shift) | list;
}

__device__ static void load_slot(uint2 *slot, unsigned at)
{
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(slot->x), "=r"(slot->y) : "r"(at));
}

__device__ static void load_slot(uint4 *slot, unsigned at)
{
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(slot->x), "=r"(slot->y), "=r"(slot->z), "=r"(slot->w)
                 : "r"(at));
}

// Counts the candidates of four elements, each in its own counters, so that none waits for another.
__device__ static void count_slots(unsigned (&counters)[4], const unsigned *bits,
                                   const uint2 *slots)
{
    asm("{ .reg .pred p, q, r, s; setp.eq.u32 p, %4, %8; setp.eq.u32 q, %5, %9;"
        " setp.eq.u32 r, %6, %10; setp.eq.u32 s, %7, %11; @p add.u32 %0, %0, %12;"
        " @q add.u32 %1, %1, %13; @r add.u32 %2, %2, %14; @s add.u32 %3, %3, %15; }"
        : "+r"(counters[0]), "+r"(counters[1]), "+r"(counters[2]), "+r"(counters[3])
        : "r"(bits[0]), "r"(bits[1]), "r"(bits[2]), "r"(bits[3]), "r"(slots[0].x), "r"(slots[1].x),
          "r"(slots[2].x), "r"(slots[3].x), "r"(slots[0].y), "r"(slots[1].y), "r"(slots[2].y),
          "r"(slots[3].y));
}

__device__ static u64 first_of(uint4 pair)
{
    return (u64)pair.y << 32 | pair.x;
}

__device__ static void count_slots(unsigned (&counters)[4], const u64 *bits, const uint4 *slots)
{
    asm("{ .reg .pred p, q, r, s; setp.eq.u64 p, %4, %8; setp.eq.u64 q, %5, %9;"
        " setp.eq.u64 r, %6, %10; setp.eq.u64 s, %7, %11; @p add.u32 %0, %0, %12;"
        " @q add.u32 %1, %1, %13; @r add.u32 %2, %2, %14; @s add.u32 %3, %3, %15; }"
        : "+r"(counters[0]), "+r"(counters[1]), "+r"(counters[2]), "+r"(counters[3])
        : "l"(bits[0]), "l"(bits[1]), "l"(bits[2]), "l"(bits[3]), "l"(first_of(slots[0])),
          "l"(first_of(slots[1])), "l"(first_of(slots[2])), "l"(first_of(slots[3])),
          "r"(slots[0].z), "r"(slots[1].z), "r"(slots[2].z), "r"(slots[3].z));
}

// Whether slots hold candidates. Slots of a few elements are loaded before they are compared, and
// this makes the compiler keep it so: otherwise, each comparison would wait for its slot.
template <int N> __device__ static bool are_used(const uint2 (&slots)[N])
{
    unsigned counters = 0;
#pragma unroll
    for (int i = 0; i < N; i++)
        counters |= slots[i].y;
    return counters;
}

template <int N> __device__ static bool are_used(const uint4 (&slots)[N])
{
    unsigned counters = 0;
#pragma unroll
    for (int i = 0; i < N; i++)
        counters |= slots[i].z;
    return counters;
}

template <typename B> struct slot_of {
    typedef uint2 type;
};
template <> struct slot_of<u64> {
    typedef uint4 type;
};

// Counts the candidates of a list.
template <typename B, int N>
__device__ static struct spread count_list(const struct group<B, N, true> &group, uint2 factors,
                                           unsigned list)
{
    enum { SOME = 32 / sizeof(B) }; // counters of 4 bits do not overflow
    struct spread sums = {0, 0};
#pragma unroll
    for (int from = 0; from < N; from += SOME) {
        typename slot_of<B>::type slots[SOME];
        unsigned counters[4] = {0, 0, 0, 0};
#pragma unroll
        for (int i = 0; i < SOME; i++)
            load_slot(&slots[i], slot_at(group.elements[from + i], factors, list));
        if (!are_used(slots))
            continue;
#pragma unroll
        for (int i = 0; i < SOME; i += 4)
            count_slots(counters, group.elements + from + i, slots + i);
        add_counters(&sums, counters[0] + counters[1] + counters[2] + counters[3]);
    }
    return sums;
}

template <typename B, int N>
__device__ static void count_listed(struct lane_sums<B> *own, const struct group<B, N, true> &group,
                                    const struct habits &habits)
{
    const unsigned lists = habits.self + SLOTS_AT;
    add_spread(&own->candidates[0], &own->candidates[1], count_list(group, habits.factors, lists));
    if (habits.count > LIST_ROOM) {
        u64 none = 0;
        add_spread(&own->candidates[2], &none,
                   count_list(group, scanning.factors[1], lists + SLOTS * 16));
    }
}
static_assert(LISTS <= 2 && COUNTED <= LIST_ROOM + 4, "the second list has up to four");

// --- Different values ----------------------------------------------------------------------------

// The address of an element's places in the table, which is that of the only field.
template <typename B> __device__ static unsigned pair_at(B bits, unsigned table)
{
    return table + table_pair<B>(bits, TABLE_SHIFT) * 2 * (unsigned)sizeof(B);
}

__device__ static unsigned first_of(uint2 pair)
{
    return pair.x;
}

// Sets a bit if the element is not at its places.
__device__ static void find_missing(unsigned *missing, unsigned bit, unsigned bits, uint2 pair)
{
    asm("{ .reg .pred p; setp.ne.u32 p, %1, %2; setp.ne.and.u32 p, %1, %3, p;"
        " @p or.b32 %0, %0, %4; }"
        : "+r"(*missing)
        : "r"(bits), "r"(pair.x), "r"(pair.y), "r"(bit));
}

__device__ static void find_missing(unsigned *missing, unsigned bit, u64 bits, uint4 pair)
{
    asm("{ .reg .pred p; setp.ne.u64 p, %1, %2; setp.ne.and.u64 p, %1, %3, p;"
        " @p or.b32 %0, %0, %4; }"
        : "+r"(*missing)
        : "l"(bits), "l"(first_of(pair)), "l"((u64)pair.w << 32 | pair.z), "r"(bit));
}

template <typename B, int N>
__device__ static void find_different(const struct group<B, N, true> &group)
{
    enum { SOME = 32 / sizeof(B) };
    const unsigned table = (unsigned)__cvta_generic_to_shared(scanning.table);
    unsigned missing = 0;
#pragma unroll
    for (int from = 0; from < N; from += SOME) {
        typename slot_of<B>::type pairs[SOME];
#pragma unroll
        for (int i = 0; i < SOME; i++)
            load_slot(&pairs[i], pair_at(group.elements[from + i], table));
        B other = 0;
#pragma unroll
        for (int i = 0; i < SOME; i++)
            other |= group.elements[from + i] ^ first_of(pairs[i]);
        if (!other)
            continue;
#pragma unroll
        for (int i = 0; i < SOME; i++)
            find_missing(&missing, 1u << (from + i), group.elements[from + i], pairs[i]);
    }
    if (missing)
        add_missing(group, missing, 0);
}

// --- All of it -----------------------------------------------------------------------------------

// Moves counters to or from shared memory, which leaves registers to all else.
template <typename B> __device__ static void put_counters(struct lane_sums<B> *own)
{
    const unsigned self = threadIdx.x;
    scanning.rounded[0][self] += own->rounded[0];
    scanning.rounded[1][self] += own->rounded[1];
    scanning.missed[0][self] += own->missed[0];
    scanning.missed[1][self] += own->missed[1];
    scanning.close[self] += own->close;
    own->rounded[0] = own->rounded[1] = own->missed[0] = own->missed[1] = own->close = 0;
}

template <typename B> __device__ static void take_counters(struct lane_sums<B> *own)
{
    const unsigned self = threadIdx.x;
    own->rounded[0] = scanning.rounded[0][self];
    own->rounded[1] = scanning.rounded[1][self];
    own->missed[0] = scanning.missed[0][self];
    own->missed[1] = scanning.missed[1][self];
    own->close = scanning.close[self];
    scanning.rounded[0][self] = scanning.rounded[1][self] = 0;
    scanning.missed[0][self] = scanning.missed[1][self] = 0;
    scanning.close[self] = 0;
}

// Finds what needs many instructions.
template <typename B, int N>
__device__ static void add_heavy(struct lane_sums<B> *own, const struct group<B, N, true> &group,
                                 unsigned todo, bool has_nans)
{
    if (todo & COUNT_UNLISTED)
        count_candidates(own, group, scanning.wanted[0]);
    if (todo & FIND_DISTINCT)
        find_different(group);
    if (todo & COUNT_ROUNDED) {
        count_rounded(own, group, scanning.wanted[0], todo);
        put_counters(own);
    }
    if (!(todo & COUNT_LINEAR))
        return;
    if (!(todo & HAS_FLOATS)) {
        count_integer_line(own, group);
        return;
    }
    unsigned left;
    if (todo & COUNT_ROUNDED_LINEAR && !has_nans) {
        left = count_float_line<true>(own, group);
    } else if (!(todo & COUNT_ROUNDED_LINEAR) && are_on_line(group)) {
        own->linear += N;
        return;
    } else {
        left = count_float_line<false>(own, group);
    }
    if (todo & COUNT_ROUNDED_LINEAR) {
        count_close_each(own, group, left);
        put_counters(own);
    }
}

// Adds what is always looked for: bits, bounds, zeros and NaNs.
template <typename B, int N>
__device__ static void add_plain(struct lane_sums<B> *own, const struct group<B, N, true> &group,
                                 unsigned todo, bool is_zero_listed = false)
{
#pragma unroll
    for (int i = 0; i < N; i++) {
        own->any |= group.elements[i];
        own->all &= group.elements[i];
    }
    add_bounds(own, group, todo, is_zero_listed);
}

// Adds the elements of four vectors.
template <bool HAS_HEAVY, typename B, int N>
__device__ static void add_vectors(struct lane_sums<B> *own, const struct group<B, N, true> &group,
                                   const struct habits &habits)
{
    const struct wanted &wanted = scanning.wanted[0];
    const unsigned todo = load_shared(habits.self + TODO_AT), nans = own->nans;
    if (todo & SKIP_FIRST) {
        const B first = (B)wanted.candidates[0];
        B other = 0;
#pragma unroll
        for (int i = 0; i < N; i++)
            other |= group.elements[i] ^ first;
        if (!other) {
            own->same++;
            return;
        }
    }
    add_plain(own, group, todo, habits.is_zero_listed);
    if (habits.count)
        count_listed(own, group, habits);
    if (todo & FIND_TYPES)
        find_types(own, group, 0, todo);
    if (HAS_HEAVY && todo & HEAVY)
        add_heavy(own, group, todo, own->nans != nans);
}

#endif
