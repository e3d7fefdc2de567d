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

#include "values_groups.cuh"

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

// --- Lines ---------------------------------------------------------------------------------------

// How far the index of an element is from that of the group's first.
template <typename B> __device__ static constexpr unsigned step_of(int i)
{
    return i / (16 / sizeof(B)) * (32 * 16 / sizeof(B)) + i % (16 / sizeof(B));
}

template <typename B, int N>
__device__ static void count_integer_line(struct lane_sums<B> *own,
                                          const struct group<B, N, true> &group)
{
    const B slope = (B)scanning.wanted[0].slope;
    const B line = slope * (B)group.index + (B)scanning.wanted[0].intercept;
#pragma unroll
    for (int i = 0; i < N; i++)
        count_equal(&own->linear, group.elements[i], line + slope * step_of<B>(i));
}

// The number of the last limit that is not above, if it is not a tie; and a number that is 0 if it
// is one. See limit_below.
__device__ static unsigned limit_of(unsigned bits)
{
    return bits >> 12;
}

__device__ static unsigned limit_of(u64 bits)
{
    return (unsigned)(bits >> 32) >> 9;
}

__device__ static unsigned rest_of(unsigned bits)
{
    return bits << 20;
}

__device__ static unsigned rest_of(u64 bits)
{
    return (unsigned)(bits >> 32) << 23 | (unsigned)bits;
}

// The number of the highest bit that is set; 0: ~0.
__device__ static unsigned highest_bit(unsigned bits)
{
    unsigned place;
    asm("bfind.u32 %0, %1;" : "=r"(place) : "r"(bits));
    return place;
}

// Shifts by 32 and more give 0.
__device__ static unsigned shift_left(unsigned bits, unsigned by)
{
    asm("shl.b32 %0, %0, %1;" : "+r"(bits) : "r"(by));
    return bits;
}

__device__ static unsigned shift_right(unsigned bits, unsigned by)
{
    asm("shr.u32 %0, %0, %1;" : "+r"(bits) : "r"(by));
    return bits;
}

struct closeness {
    unsigned close, counters[2], ties;
    unsigned beyond; // the least distance of those for which more than one limit is between
};

// Of two numbers and their limits: sets a bit if one of them is a tie, for which the rest is 0.
// Otherwise, counts if the limits are less than 128 apart, and adds the roundings that give
// something else, as counters of 4 bits. These are the k for which a number with k zero bits at its
// end is above the lower limit, but not above the upper one. The upper one without the bits below
// the first that differs is such a number. On both sides of it, there are those of all k up to the
// size of the distance. All is 0 if both are equal.
__device__ static void add_between(struct closeness *to, int i, unsigned one, unsigned other,
                                   unsigned rest)
{
    const unsigned first = highest_bit(one ^ other), low = min(one, other), high = max(one, other);
    const unsigned last = highest_bit((high | ~low) & (shift_left(1, first) - 1));
    const unsigned missed = shift_left(1, 4 * first) + shift_right(0x11111111, 28 - 4 * last);
    asm("{ .reg .pred p, q; setp.ne.u32 q, %3, 0; setp.lt.and.u32 p, %4, 255, q;"
        " @p add.u32 %0, %0, 1; @p add.u32 %1, %1, %5; @!q or.b32 %2, %2, %6; }"
        : "+r"(to->close), "+r"(to->counters[i / 8]), "+r"(to->ties)
        : "r"(rest), "r"(one - other + 127), "r"(missed), "r"(1u << i));
}

// The word of an element in which its limit is, what is below that word, and the distance of limits
// in it.
__device__ static unsigned upper_of(unsigned bits)
{
    return bits;
}

__device__ static unsigned upper_of(u64 bits)
{
    return (unsigned)(bits >> 32);
}

__device__ static unsigned lower_of(unsigned)
{
    return 0;
}

__device__ static unsigned lower_of(u64 bits)
{
    return (unsigned)bits;
}

template <typename B> __device__ static constexpr unsigned limit_shift()
{
    return sizeof(B) == 8 ? 9 : 12;
}

// How far two numbers are apart, less one limit: at least NEAR only if that is less than one.
#define NEAR(B) (-(1 << limit_shift<B>()))

template <typename B> __device__ static unsigned distance_of(B bits, B line)
{
    unsigned distance;
    asm("sad.u32 %0, %1, %2, %3;"
        : "=r"(distance)
        : "r"(upper_of(bits)), "r"(upper_of(line)), "n"(NEAR(B)));
    return distance;
}

// The lower bits of a number and the upper bits of a distance: NEAR only for a tie that is near.
template <typename B> __device__ static unsigned rest_near(B bits, unsigned distance)
{
    unsigned rest;
    asm("lop3.b32 %0, %1, %2, %3, 0xd8;" // %3 chooses
        : "=r"(rest)
        : "r"(upper_of(bits)), "r"(distance), "n"(NEAR(B)));
    return rest | lower_of(bits);
}

// The counter of 4 bits to which a number and the line add if they are near. If there is a limit
// between, the bits that differ are those up to the first that is set in the number of that limit,
// so the next number is a power of 2. Its fourth power is the counter behind the one of that
// rounding, or 0 if there is no such rounding. This returns its square.
template <typename B> __device__ static unsigned square_of(B bits, B line)
{
    const unsigned next = ((upper_of(bits) ^ upper_of(line)) >> limit_shift<B>()) + 1;
    return next * next;
}

// The same as add_between for numbers that are less than one limit apart, and for those that are
// so far apart that nothing is counted; others are found in `beyond`. Ties are counted as others
// are, and `ties` gets another bit that is 0 for a tie. The first counter has those that do not
// differ.
template <typename B>
__device__ static void add_near(struct closeness *to, int i, B bits, B line)
{
    const unsigned distance = distance_of(bits, line), square = square_of(bits, line);
    const unsigned rest = min(rest_near(bits, distance), rest_near(line, distance));
    unsigned whole; // 0: a tie
    asm("{ .reg .u32 t; add.u32 t, %1, %2; min.u32 %0, t, 1; }"
        : "=r"(whole)
        : "r"(rest), "n"(-NEAR(B)));
    asm("{ .reg .pred p; setp.ge.u32 p, %2, %4; @p add.u32 %0, %0, 1;"
        " @p mad.lo.u32 %1, %3, %3, %1; }"
        : "+r"(to->close), "+r"(to->counters[i / 8])
        : "r"(distance), "r"(square), "n"(NEAR(B)));
    to->ties = to->ties * 2 + whole;
    to->beyond = min(to->beyond, distance);
}

// Takes back what add_near has added for a tie.
template <typename B>
__device__ static void remove_near(struct lane_sums<B> *own, B bits, B line)
{
    const unsigned square = square_of(bits, line), k = (unsigned)__ffs((int)square) / 2 - 1;
    own->close--;
    if (k < DEVICE_ROUNDINGS) {
        const u64 one = 1ull << 16 * (spread_place(k) % 4);
        own->missed[0] -= spread_place(k) / 4 ? 0 : one;
        own->missed[1] -= spread_place(k) / 4 ? one : 0;
    }
}

__device__ static bool is_finite(unsigned bits)
{
    return fabsf(__uint_as_float(bits)) <= 0x1.fffffep127f;
}

__device__ static bool is_finite(u64 bits)
{
    return fabs(__longlong_as_double((long long)bits)) <= 0x1.fffffffffffffp1023;
}

// The line of the first field, at elements of a group.
template <typename B> struct line_of_group {
    double slope, intercept, place;

    __device__ double at(int i) const
    {
        return fma(slope, place + (double)step_of<B>(i), intercept);
    }
};

template <typename B, int N>
__device__ static struct line_of_group<B> line_of(const struct group<B, N, true> &group)
{
    return {__longlong_as_double((long long)scanning.wanted[0].slope),
            __longlong_as_double((long long)scanning.wanted[0].intercept), (double)group.index};
}

// Finds the roundings after which elements are on the line, however far they are from it.
template <typename B, int N>
__device__ static struct closeness find_between(const struct group<B, N, true> &group)
{
    const struct line_of_group<B> line = line_of(group);
    struct closeness sums = {0, {0, 0}, 0, 0};
#pragma unroll
    for (int i = 0; i < N; i++) {
        const B bits = group.elements[i], other = line_bits<false>(line.at(i), 0, (B)0);
        add_between(&sums, i, limit_of(bits), limit_of(other), min(rest_of(bits), rest_of(other)));
    }
    return sums;
}

// Counts if the element is on the line. An infinity is.
template <typename B>
__device__ static void count_on_line(unsigned *count, B bits, double line)
{
    const double number = double_of < sizeof(B) == 8 ? F64 : F32 > (bits);
    asm("{ .reg .pred p; setp.le.f64 p, %1, %2; @p add.u32 %0, %0, 1; }"
        : "+r"(*count)
        : "d"(fabs(number - line)), "d"(0x1p-20 * fabs(number)));
}

// Whether the lane has added an infinity.
__device__ static bool has_infinities(const struct lane_sums<unsigned> &own)
{
    return own.highest >= (int)infinity_of(F32) ||
           own.greatest >= (unsigned)(infinity_of(F32) | sign_of(F32));
}

__device__ static bool has_infinities(const struct lane_sums<u64> &own)
{
    return own.greatest == infinity_of(F64) || own.least == (infinity_of(F64) | sign_of(F64));
}

// How many elements would be on the line because they are infinite.
template <typename B, int N>
__device__ static unsigned count_infinities(const struct group<B, N, true> &group)
{
    const struct line_of_group<B> its = line_of(group);
    unsigned count = 0;
#pragma unroll 1
    for (int i = 0; i < N; i++) {
        const B bits = element_of_group(group, 1u << i);
        const double line = fma(its.slope, its.place + (double)step_of<B>(i), its.intercept);
        if (!is_finite(bits))
            count_on_line(&count, bits, line);
    }
    return count;
}

// Takes back what was added for ties.
template <typename B, int N>
__device__ static void remove_ties(struct lane_sums<B> *own, const struct group<B, N, true> &group,
                                   unsigned left)
{
    const struct line_of_group<B> its = line_of(group);
#pragma unroll 1
    for (; left; left &= left - 1) {
        const int i = __ffs((int)left) - 1;
        const double line = fma(its.slope, its.place + (double)step_of<B>(i), its.intercept);
        remove_near(own, element_of_group(group, left), line_bits<false>(line, 0, (B)0));
    }
}

// Counts elements on the line, and, if HAS_CLOSE, finds the roundings after which they are. Returns
// the elements for which the latter is not done, because they are ties.
template <bool HAS_CLOSE, typename B, int N>
__device__ static unsigned count_float_line(struct lane_sums<B> *own,
                                            const struct group<B, N, true> &group)
{
    const struct line_of_group<B> its = line_of(group);
    struct closeness sums = {0, {0, 0}, 0, ~0u};
#pragma unroll
    for (int i = 0; i < N; i++) {
        const double line = its.at(i);
        count_on_line(&own->linear, group.elements[i], line);
        if (HAS_CLOSE)
            add_near(&sums, i, group.elements[i], line_bits<false>(line, 0, (B)0));
    }
    if (has_infinities(*own))
        own->linear -= count_infinities(group);
    if (!HAS_CLOSE)
        return (1u << N) - 1;
    sums.counters[0] >>= 4;
    sums.counters[1] >>= 4;
    const bool is_near = sums.beyond >= 128u << limit_shift<B>();
    sums.ties = __brev(~sums.ties) >> (32 - N);
    if (!is_near)
        sums = find_between(group);
    struct spread missed = {0, 0};
    add_counters(&missed, sums.counters[0]);
    add_counters(&missed, sums.counters[1]);
    own->close += sums.close;
    add_spread(&own->missed[0], &own->missed[1], missed);
    if (is_near && sums.ties)
        remove_ties(own, group, sums.ties);
    return sums.ties;
}

// Whether all elements are so close to the line that they must be on it, which is faster to find:
// less than eight units of floats, each of which is at least 2^-24 of the number, or with the same
// upper words of doubles. The line is neither tiny nor huge, so these numbers are normal.
template <typename B, int N>
__device__ static bool are_on_line(const struct group<B, N, true> &group)
{
    const unsigned infinity = upper_of((B)infinity_of(sizeof(B) == 8 ? F64 : F32));
    const unsigned sign = 0x80000000u, least = infinity / 4, most = infinity / 4 * 3;
    const struct line_of_group<B> its = line_of(group);
    unsigned first = 0, last = 0, greatest = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const unsigned line = upper_of(line_bits<false>(its.at(i), 0, (B)0));
        unsigned distance;
        asm("sad.u32 %0, %1, %2, 0;"
            : "=r"(distance)
            : "r"(upper_of(group.elements[i])), "r"(line));
        greatest = max(greatest, distance);
        first = i == 0 ? line : first;
        last = line;
    }
    return greatest <= (sizeof(B) == 8 ? 0u : 7u) && !((first ^ last) & sign) &&
           (first & ~sign) - least < most - least && (last & ~sign) - least < most - least;
}

// Finds the roundings of some elements, one after the other.
template <typename B, int N>
__device__ static void count_close_each(struct lane_sums<B> *own,
                                        const struct group<B, N, true> &group, unsigned left)
{
    const double slope = __longlong_as_double((long long)scanning.wanted[0].slope);
    const double intercept = __longlong_as_double((long long)scanning.wanted[0].intercept);
#pragma unroll 1
    for (; left; left &= left - 1) {
        const B bits = element_of_group(group, left);
        const int i = __ffs((int)left) - 1;
        const double line = fma(slope, (double)(group.index + step_of<B>(i)), intercept);
        if (!is_nan < sizeof(B) == 8 ? F64 : F32 > (bits))
            add_close(own, limit_below(bits), limit_below(line_bits<false>(line, 0, (B)0)));
    }
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
#pragma unroll
    for (int i = 0; i < N; i++) {
        own->any |= group.elements[i];
        own->all &= group.elements[i];
    }
    add_bounds(own, group, todo, habits.is_zero_listed);
    if (habits.count)
        count_listed(own, group, habits);
    if (todo & FIND_TYPES)
        find_types(own, group, 0, todo);
    if (HAS_HEAVY && todo & HEAVY)
        add_heavy(own, group, todo, own->nans != nans);
}

#endif
