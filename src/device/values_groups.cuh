// SPDX-License-Identifier: Apache-2.0
// How a lane of the scan sums up a group of elements that are in its registers: 16 words of an
// array, or up to 4 elements of anything else. See values.h.
//
// Most contents have little to count. So a group is first reduced to bounds, which show whether it
// has zeros or NaNs; these are counted only then. Nothing here synchronizes lanes.
#ifndef GLINT_DEVICE_VALUES_GROUPS_CUH
#define GLINT_DEVICE_VALUES_GROUPS_CUH

#include "values_sums.cuh"

// --- Bounds, zeros and NaNs ----------------------------------------------------------------------

// If 0 is in a list, it is counted there.
template <typename B, int N, bool WHOLE>
__device__ static void count_zeros(struct lane_sums<B> *own, const struct group<B, N, WHOLE> &group,
                                   bool is_listed)
{
    const B sign = (B)1 << (8 * sizeof(B) - 1);
    unsigned zeros = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        if (group.has(i)) {
            count_equal(&zeros, group.elements[i], (B)0);
            count_equal(&own->minus, group.elements[i], sign);
        }
    }
    own->zeros += is_listed ? 0 : zeros;
}

// Bounds of words: as unsigned and as signed numbers.
struct bounds {
    unsigned least, greatest;
    int lowest, highest;
};

// Makes the bounds of a group again, without NaNs, and counts these. The loop is not unrolled, so
// that there is less to compile.
template <int N, bool WHOLE>
__device__ static struct bounds skip_nans(struct lane_sums<unsigned> *own,
                                          const struct group<unsigned, N, WHOLE> &group)
{
    struct bounds bounds = {~0u, 0, 0x7fffffff, (int)0x80000000};
#pragma unroll 1
    for (int i = 0; i < N; i++) {
        const unsigned bits = element_of_group(group, 1u << i);
        if (is_nan<F32>(bits)) {
            own->nans += group.has(i);
        } else {
            bounds.least = min(bounds.least, bits);
            bounds.greatest = max(bounds.greatest, bits);
            bounds.lowest = min(bounds.lowest, (int)bits);
            bounds.highest = max(bounds.highest, (int)bits);
        }
    }
    return bounds;
}

// Of signed and unsigned numbers, and of the bits of floats: all four bounds together tell the
// bounds of each kind, and whether there are zeros and NaNs.
template <int N, bool WHOLE>
__device__ static void add_bounds(struct lane_sums<unsigned> *own,
                                  const struct group<unsigned, N, WHOLE> &group, unsigned todo,
                                  bool is_zero_listed = false)
{
    const unsigned first = group.elements[0], infinity = (unsigned)infinity_of(F32);
    struct bounds bounds = {first, first, (int)first, (int)first};
#pragma unroll
    for (int i = 1; i < N; i++) {
        bounds.least = min(bounds.least, group.elements[i]);
        bounds.greatest = max(bounds.greatest, group.elements[i]);
        bounds.lowest = min(bounds.lowest, (int)group.elements[i]);
        bounds.highest = max(bounds.highest, (int)group.elements[i]);
    }
    const bool has_zeros = (!bounds.least && !is_zero_listed) || bounds.lowest == (int)0x80000000;
    const bool has_nans = todo & HAS_FLOATS && (bounds.highest > (int)infinity ||
                                                bounds.greatest > (infinity | 0x80000000u));
    if (__builtin_expect(has_zeros || has_nans, 0)) {
        if (has_zeros)
            count_zeros(own, group, is_zero_listed);
        if (has_nans)
            bounds = skip_nans(own, group);
    }
    own->least = min(own->least, bounds.least);
    own->greatest = max(own->greatest, bounds.greatest);
    own->lowest = min(own->lowest, bounds.lowest);
    own->highest = max(own->highest, bounds.highest);
}

template <int N, bool WHOLE>
__device__ static void add_double_bounds(struct lane_sums<u64> *own,
                                         const struct group<u64, N, WHOLE> &group,
                                         bool is_zero_listed)
{
    double least = __longlong_as_double((long long)own->least);
    double greatest = __longlong_as_double((long long)own->greatest);
    unsigned low = ~0u;
    int lowest = 0x7fffffff;
    bool beyond = false; // or not a number
#pragma unroll
    for (int i = 0; i < N; i++) {
        const double number = __longlong_as_double((long long)group.elements[i]);
        low = min(low, (unsigned)(group.elements[i] >> 32));
        lowest = min(lowest, (int)(group.elements[i] >> 32));
        beyond |= !(number >= least);
        beyond |= !(number <= greatest);
    }
    if ((!low && !is_zero_listed) || lowest == (int)0x80000000)
        count_zeros(own, group, is_zero_listed);
    if (!beyond)
        return;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const double number = __longlong_as_double((long long)group.elements[i]);
        own->nans += number != number && group.has(i);
        least = number < least ? number : least;
        greatest = number > greatest ? number : greatest;
    }
    own->least = (u64)__double_as_longlong(least);
    own->greatest = (u64)__double_as_longlong(greatest);
}

template <int N, bool WHOLE>
__device__ static void add_bounds(struct lane_sums<u64> *own,
                                  const struct group<u64, N, WHOLE> &group, unsigned todo,
                                  bool is_zero_listed = false)
{
    if (todo & HAS_FLOATS) {
        add_double_bounds(own, group, is_zero_listed);
        return;
    }
    const u64 flip = todo & IS_SIGNED ? sign_of(INT8) : 0;
    unsigned low = ~0u;
    bool beyond = false;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const u64 key = group.elements[i] ^ flip;
        low = min(low, (unsigned)group.elements[i] | (unsigned)(group.elements[i] >> 32));
        beyond |= key < own->least;
        beyond |= key > own->greatest;
    }
    if (!low && !is_zero_listed)
        count_zeros(own, group, false);
    if (!beyond)
        return;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const u64 key = group.elements[i] ^ flip;
        own->least = min(own->least, key);
        own->greatest = max(own->greatest, key);
    }
}

// --- Candidates and roundings --------------------------------------------------------------------

// If these loops were unrolled, the driver would take seconds to compile them.
template <typename B, int N, bool WHOLE>
__device__ static void count_candidates(struct lane_sums<B> *own,
                                        const struct group<B, N, WHOLE> &group,
                                        const struct wanted &wanted)
{
    const unsigned all = wanted.candidate_count;
#pragma unroll 1
    for (unsigned from = 0; from < all; from += 4) {
        u64 four = 0;
#pragma unroll
        for (unsigned c = 0; c < 4; c++) {
            const B value = (B)wanted.candidates[from + c];
            unsigned count = 0;
            if (from + c >= all || !value) // zeros are counted anyway
                continue;
#pragma unroll
            for (int i = 0; i < N; i++) {
                if (group.has(i))
                    count_equal(&count, group.elements[i], value);
            }
            four += (u64)count << 16 * c;
        }
#pragma unroll
        for (unsigned i = 0; i < COUNTED / 4; i++)
            own->candidates[i] += from == 4 * i ? four : 0;
    }
}

// The space in which elements are rounded: mantissas are at the same place in all types.
template <bool SMALL, typename B> __device__ static B rounding_bits(B bits, unsigned todo)
{
    return SMALL && todo & IS_F16 ? (B)(half_of((unsigned)bits) << 13) : bits;
}

template <typename B, int N, bool WHOLE>
__device__ static void count_rounded(struct lane_sums<B> *own,
                                     const struct group<B, N, WHOLE> &group,
                                     const struct wanted &wanted, unsigned todo)
{
    B bits[N];
#pragma unroll
    for (int i = 0; i < N; i++)
        bits[i] = rounding_bits<!WHOLE>(group.elements[i], todo);
#pragma unroll 1
    for (unsigned left = wanted.roundings & 0x7f; left; left &= left - 1) {
        const unsigned k = __ffs((int)left) - 1;
        const B from = (B)wanted.from[k], width = (B)wanted.width[k];
        unsigned count = 0;
#pragma unroll
        for (int i = 0; i < N; i++)
            count += bits[i] - from <= width && group.has(i);
        count_packed(own->rounded, k, count);
    }
}

// --- Lines ---------------------------------------------------------------------------------------

// Numbers that are rounded differently lie on different sides of a limit. The limits of rounding k
// are the multiples of a unit whose number has k zero bits at its end. Returns the number of the
// last one that is not above; a tie is below it if the number below is even.
template <typename B> __device__ static unsigned limit_below(B bits)
{
    const int shift = sizeof(B) == 8 ? 41 : 12;
    unsigned number = (unsigned)(bits >> shift);
    if (!(bits & (((B)1 << shift) - 1))) {
        const unsigned last = number & -number & 0x7f;
        number -= last && !(number & last << 1);
    }
    return number;
}

// Of a number that is close to the line, finds the roundings that give something else.
template <typename B>
__device__ static void add_close(struct lane_sums<B> *own, unsigned one, unsigned other)
{
    const unsigned low = min(one, other), high = max(one, other);
    if (high - low >= 128)
        return;
    own->close++;
    if (high - low == 1) {
        const unsigned k = __ffs((int)high) - 1;
        count_packed(own->missed, spread_place(k), k < DEVICE_ROUNDINGS);
    } else if (low != high) {
#pragma unroll 1
        for (unsigned k = 0; k < DEVICE_ROUNDINGS; k++)
            count_packed(own->missed, spread_place(k),
                         (high + (1u << k)) >> (k + 1) != (low + (1u << k)) >> (k + 1));
    }
}

// Arrays of words are summed up without calls: what is in registers would have to be saved. They
// have no small types.
template <bool SMALL> __device__ static unsigned line_bits(double line, unsigned todo, unsigned)
{
    if (SMALL && todo & IS_F16)
        return to_half<F16>(line) << 13;
    if (SMALL && todo & IS_BF16)
        return to_half<BF16>(line) << 16;
    return __float_as_uint(__double2float_rn(line));
}

template <bool SMALL> __device__ static u64 line_bits(double line, unsigned, u64)
{
    return (u64)__double_as_longlong(line);
}

template <typename B, int N, bool WHOLE>
__device__ static void count_linear(struct lane_sums<B> *own,
                                    const struct group<B, N, WHOLE> &group,
                                    const struct wanted &wanted, unsigned todo, unsigned width)
{
    if (!(todo & HAS_FLOATS)) {
        const B slope = (B)wanted.slope, intercept = (B)wanted.intercept;
        const B mask = (B)(~0ull >> (64 - width));
#pragma unroll
        for (int i = 0; i < N; i++) {
            const B line = slope * (B)group.index_of(i) + intercept;
            own->linear += !((group.elements[i] ^ line) & mask) && group.has(i);
        }
        return;
    }
    const double slope = __longlong_as_double((long long)wanted.slope);
    const double intercept = __longlong_as_double((long long)wanted.intercept);
#pragma unroll
    for (int i = 0; i < N; i++) {
        const double line = fma(slope, group.place_of(i), intercept);
        const double number = double_of < sizeof(B) == 8 ? F64 : F32 > (group.elements[i]);
        const double size = fabs(number);
        if (!group.has(i))
            continue;
        own->linear += fabs(number - line) <= 0x1p-20 * size && size <= 0x1.fffffffffffffp1023;
        if (todo & COUNT_ROUNDED_LINEAR && number == number)
            add_close(own, limit_below(rounding_bits<!WHOLE>(group.elements[i], todo)),
                      limit_below(line_bits<!WHOLE>(line, todo, (B)0)));
    }
}

// --- What all elements are -----------------------------------------------------------------------

// Whether a float whose bits that are dropped are 0 is not the same after it was converted to the
// next narrower type. Infinities and NaNs only lose these bits.
__device__ static bool is_changed(unsigned bits)
{
    unsigned short half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(__uint_as_float(bits)));
    return __float_as_uint(float_of<F16>((unsigned)half)) != bits && !is_special<F32>(bits);
}

__device__ static bool is_changed(u64 bits)
{
    const float number = __double2float_rn(__longlong_as_double((long long)bits));
    return (u64)__double_as_longlong((double)number) != bits && !is_special<F64>(bits);
}

// Whether elements may be out of the range of that type's normal numbers: the smallest that is not
// 0, or the greatest, is.
template <int N, bool WHOLE>
__device__ static bool may_be_out_of_range(const struct group<unsigned, N, WHOLE> &group, unsigned)
{
    unsigned least = ~0u, greatest = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        least = min(least, group.elements[i] * 2 - 1);
        greatest = max(greatest, group.elements[i] * 2);
    }
    return least < 2 * 0x38800000u - 1 || greatest > 2 * 0x477fe000u;
}

// If some have bits in their lower words, those without bits in their upper words may not be 0.
template <int N, bool WHOLE>
__device__ static bool may_be_out_of_range(const struct group<u64, N, WHOLE> &group, u64 any)
{
    unsigned least = ~0u, greatest = 0, lowest = ~0u;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const unsigned size = (unsigned)(group.elements[i] >> 32) * 2;
        least = min(least, size - 1);
        lowest = min(lowest, size);
        greatest = max(greatest, size);
    }
    return least < 2 * 0x38100000u - 1 || greatest > 2 * 0x47efffffu || (!lowest && (unsigned)any);
}

__device__ static float fraction_of(unsigned bits)
{
    const float number = __uint_as_float(bits);
    return fabsf(__fsub_rn(number, rintf(number)));
}

__device__ static double fraction_of(u64 bits)
{
    const double number = __longlong_as_double((long long)bits);
    return fabs(__dsub_rn(number, rint(number)));
}

// The fractions of numbers are added, so that there is one comparison for all: the sum is 0 only if
// all of them are. Infinities and NaNs have fractions. The lower bits that are dropped are examined
// at the end, in those that any element has.
template <typename B, int N, bool WHOLE>
__device__ static void find_types(struct lane_sums<B> *own, const struct group<B, N, WHOLE> &group,
                                  unsigned field, unsigned todo)
{
    const B dropped = sizeof(B) == 8 ? (1u << 29) - 1 : (1u << 13) - 1;
    bool broken = false, wide = false;
    if (todo & FIND_INTEGRAL) {
#pragma unroll
        for (int i = 0; i < N; i++)
            own->fractions += fraction_of(group.elements[i]);
        broken = !(own->fractions == 0);
    }
    if (todo & FIND_NARROW) {
        wide = (own->any & dropped) != 0;
        if (!wide && may_be_out_of_range(group, own->any)) {
#pragma unroll 1
            for (int i = 0; i < N && !wide; i++)
                wide = is_changed(element_of_group(group, 1u << i));
        }
    }
    if (!broken && !wide)
        return;
    atomicAnd(&scanning.todo[field], ~((broken ? FIND_INTEGRAL : 0u) | (wide ? FIND_NARROW : 0u)));
    atomicOr(&scanning.sums[field].lacking,
             (broken ? (unsigned)NOT_INTEGRAL : 0) | (wide ? (unsigned)NOT_NARROW : 0));
}

// --- Different values ----------------------------------------------------------------------------

// An element is looked for at two neighbouring places. Place 0 stays empty, so that 0 is found.
template <typename B> __device__ static unsigned table_pair(B bits, unsigned shift)
{
    const unsigned word = (unsigned)bits * 0x9e3779b1u +
                          (sizeof(B) == 8 ? (unsigned)((u64)bits >> 32) * 0x85ebca77u : 0);
    return word >> (32 - shift + (sizeof(B) == 8 ? 4 : 3));
}

template <typename B> __device__ static unsigned table_place(B bits, unsigned shift)
{
    const unsigned place = 2 * table_pair<B>(bits, shift);
    return place ? place : 1;
}

template <typename B> __device__ static B *table_of(unsigned field)
{
    return (B *)((char *)scanning.table + (field << scanning.table_shift));
}

// Adds an element that is not at its two places in the block's table.
template <typename B> __device__ static void add_distinct(unsigned field, B bits)
{
    enum { TRIES = 8 };
    struct set *set = &at<struct work>(scanning.job.work)->fields[field].set;
    const unsigned shift = scanning.table_shift;
    const unsigned last = (1u << shift) / sizeof(B) - 1;
    volatile B *table = table_of<B>(field);
    unsigned place = table_place<B>(bits, shift);
#pragma unroll 1
    for (unsigned i = 0; i < TRIES; i++) {
        const B old = table[place];
        if (old == bits)
            return;
        if (!old)
            break;
        place = (place + 1) & last ? place + 1 : 1;
    }
    // One lane after the other: if all added their elements at once when there are too many, most
    // would wait for nothing.
#pragma unroll 1
    for (unsigned left = __activemask(); left; left &= left - 1) {
        if (!(*(volatile unsigned *)&scanning.todo[field] & FIND_DISTINCT))
            return;
        if (lane_index() != __ffs((int)left) - 1)
            continue;
        if (!set_add(set, bits))
            atomicAnd(&scanning.todo[field], ~(unsigned)FIND_DISTINCT);
        else if (!table[place])
            atomicCAS((B *)&table[place], (B)0, bits);
    }
}

// Adds those elements of the group that `missing` has, one after the other.
template <typename B, int N, bool WHOLE>
__device__ static void add_missing(const struct group<B, N, WHOLE> &group, unsigned missing,
                                   unsigned field)
{
#pragma unroll 1
    for (; missing; missing &= missing - 1)
        add_distinct<B>(field, element_of_group(group, missing));
}

template <typename B, int N, bool WHOLE>
__device__ static void find_distinct(const struct group<B, N, WHOLE> &group, unsigned field)
{
    const B *table = table_of<B>(field);
    const unsigned shift = scanning.table_shift;
    unsigned missing = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const B bits = group.elements[i];
        const unsigned place = 2 * table_pair<B>(bits, shift);
        if (table[place] != bits && table[place + 1] != bits)
            missing |= 1u << i;
    }
    add_missing(group, missing, field);
}

// --- All of it -----------------------------------------------------------------------------------

// Finds what is seldom looked for.
template <typename B, int N, bool WHOLE>
__device__ static void add_rare(struct lane_sums<B> *own, const struct group<B, N, WHOLE> &group,
                                unsigned field, unsigned todo)
{
    const struct wanted &wanted = scanning.wanted[field];
    if (todo & FIND_TYPES)
        find_types(own, group, field, todo);
    if (todo & FIND_DISTINCT)
        find_distinct(group, field);
    if (todo & COUNT_ROUNDED)
        count_rounded(own, group, wanted, todo);
    if (todo & COUNT_LINEAR)
        count_linear(own, group, wanted, todo,
                     8 * size_of(kind_of(scanning.job.fields[field].type)));
}

// Adds a group whose bits have been added.
template <typename B, int N>
__device__ static void add_group(struct lane_sums<B> *own, const struct group<B, N, false> &group,
                                 unsigned field)
{
    const struct wanted &wanted = scanning.wanted[field];
    const unsigned todo = *(volatile unsigned *)&scanning.todo[field];
    add_bounds(own, group, todo);
    if (wanted.candidate_count)
        count_candidates(own, group, wanted);
    if (todo & RARE)
        add_rare(own, group, field, todo);
}

#endif
