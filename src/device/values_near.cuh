// SPDX-License-Identifier: Apache-2.0
// Arrays: counts elements that are on a line v = a * i + b and, if they are floats, those that are on
// it after rounding to so many bits. values_arrays.cuh uses it.
#ifndef GLINT_DEVICE_VALUES_NEAR_CUH
#define GLINT_DEVICE_VALUES_NEAR_CUH

#include "values_groups.cuh"

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

#endif
