// SPDX-License-Identifier: Apache-2.0
// What all of the scan shares: elements of all types, and the memory in which the sample leaves
// what the scan counts. See values.h.
#ifndef GLINT_DEVICE_VALUES_CUH
#define GLINT_DEVICE_VALUES_CUH

#include "common.cuh"
#include "values.h"

enum {
    THREADS = DEVICE_VALUES_THREADS,
    WARPS = THREADS / 32,
    PIECE = 1 << DEVICE_PIECE_SHIFT, // bytes
    EARLY_PIECES = 32,               // the most of each warp, before the sample has chosen
    EARLY_BATCH = 4,                 // of these, between two looks at whether it has chosen
    COUNTED = 12,                    // candidates that are counted: see choose_candidates
    SET_BITS = 9,                    // log2 of the room of the set of distinct values
    SET_ROOM = 1 << SET_BITS,
};

// Returns whether the block is the last of the grid to end; it then sees what all others wrote.
// `done` is the address of a uint32_t, which is 0 again afterwards; `last` is shared. Called by the
// whole block.
__device__ static bool ends_last(uint64_t done, unsigned *last)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned *ended = at<unsigned>(done);
        fence_gpu();
        *last = atomicAdd(ended, 1u) == gridDim.x - 1;
        fence_gpu();
        if (*last)
            *ended = 0;
    }
    __syncthreads();
    return *last;
}

// --- The work memory of a job --------------------------------------------------------------------

// Counters of a field.
enum {
    ZEROS, // without -0.0
    MINUS, // -0.0
    NANS,
    LINEAR,
    CANDIDATES, // 0 is not counted here
    ROUNDED = CANDIDATES + COUNTED,
    ROUNDED_LINEAR = ROUNDED + DEVICE_ROUNDINGS,
    COUNTERS = ROUNDED_LINEAR + DEVICE_ROUNDINGS,
};
static_assert(COUNTERS <= 32, "a warp adds them at once");

// What the sample says is worth counting. Values are extended elements.
struct wanted {
    u64 slope, intercept; // of floats: doubles
    u64 candidates[COUNTED];
    u64 rounded[DEVICE_ROUNDINGS];
    u64 from[DEVICE_ROUNDINGS], width[DEVICE_ROUNDINGS]; // in rounding space: what rounds to it
    unsigned candidate_count;                            // the most frequent in the sample first
    unsigned line;                                       // not 0: count elements on the line
    unsigned roundings; // bit k: count; bit 8 + k: count those on the line
    unsigned mostly;    // not 0: half of the sample is the first candidate
    unsigned lacking;   // NOT_INTEGRAL, NOT_NARROW: some of the sample are not
    unsigned reserved;
};

// Sums of a field. Keys are ordered as the values are. Everything begins with 0.
struct sums {
    u64 counters[COUNTERS];
    u64 greatest, least; // the greatest key, and the greatest complement of a key
    u64 any, none;       // bits set in some element; bits not set in some element
    u64 elements;
    u64 lacking; // NOT_INTEGRAL, NOT_NARROW
};

// Something that not all elements are.
enum { NOT_INTEGRAL = 1, NOT_NARROW = 2 };

// The set of different values: an open hash table of extended elements. 0 is an empty place, so
// that the value 0 is kept apart.
struct set {
    unsigned count; // more than DEVICE_DISTINCT: the set is not complete
    unsigned null;  // not 0: the value 0 is in the set, and counted
    u64 places[SET_ROOM];
};

struct field_work {
    struct wanted wanted;
    struct sums sums;
    struct set set;
};

// Sums of a job, in the order of struct device_values_result.
enum { PIECES, BYTES, FRESH, MOVED, SAME, JOB_SUMS };

enum { WANTS = 1 << 16 };

struct work {
    u64 sums[7];
    unsigned ready;   // choices that the sample has made, and WANTS for each that wants something
    unsigned claimed; // choices that blocks have begun to make, and tries of others
    struct field_work fields[DEVICE_FIELDS];
};
static_assert(sizeof(struct work) <= DEVICE_VALUES_WORK, "it has room");

__device__ static u64 mix(u64 value)
{
    value = (value ^ value >> 32) * 0xd6e8feb86659fd93ull;
    return value ^ value >> 29;
}

__device__ static unsigned set_place(u64 bits)
{
    return (unsigned)(bits * 0x9e3779b97f4a7c15ull >> (64 - SET_BITS));
}

// Adds a value to the set. Returns false if the set has more than DEVICE_DISTINCT. Loads may be
// served by the first-level cache: what has been found never goes away, and what has not been found
// is looked up again by an atomic operation.
__device__ static bool set_add(struct set *set, u64 bits)
{
    if (!bits) {
        if (!__ldca(&set->null) && !atomicExch(&set->null, 1u))
            return atomicAdd(&set->count, 1u) < DEVICE_DISTINCT;
        return true;
    }
    unsigned place = set_place(bits);
#pragma unroll 1
    for (unsigned tries = 0; tries < SET_ROOM; tries++) {
        u64 *to = &set->places[place];
        u64 old = __ldca(to);
        if ((!old || tries % 8 == 7) && __ldcg(&set->count) > DEVICE_DISTINCT)
            return false; // others have filled it
        if (!old) {
            old = atomicCAS(to, 0ull, bits);
            if (!old)
                return atomicAdd(&set->count, 1u) < DEVICE_DISTINCT;
        }
        if (old == bits)
            return true;
        place = (place + 1) % SET_ROOM;
    }
    atomicAdd(&set->count, DEVICE_DISTINCT + 1u); // no room
    return false;
}

// --- Shared memory of the sample -----------------------------------------------------------------

enum {
    SAMPLE = THREADS, // elements: each thread of a block has one
    COUNTS = 2048,    // of a table that counts equal values
    LISTED = 32,
    LINES = 32,  // lines that are tried
    SIMILAR = 5, // similar lines, of which one is taken
    FITTED = 5,  // sums that fit a line
    WALKED = 16, // parts in which each thread counts marks or states
};

struct sampling {
    union {
        struct {
            u64 index[SAMPLE]; // of the field's elements, one after the other
            u64 bits[SAMPLE];  // of the field's elements
            union {
                u64 keys[SAMPLE]; // what is counted; of integers: the difference to the next one
                double numbers[SAMPLE]; // the elements
            };
            union {
                u64 set[SET_ROOM];
                double places[SAMPLE]; // the elements' indices
            };
        };
        // How many pieces are looked at in each thread's part of marks or states.
        unsigned short parts[THREADS][WALKED];
    };
    // Of equal values and of equal roundings: the first element's number + 1, and the count in the
    // lower half.
    unsigned counts[2][COUNTS];
    unsigned there[WARPS]; // which places have an element of the field
    struct {
        u64 value;
        unsigned count;
    } list[LISTED];
    double lines[LINES][2];
    double sums[WARPS][FITTED];
    u64 ends[WARPS][2]; // the last index, and the complement of the first
    u64 line[2];        // slope and intercept of integers
    // The following begins with 0.
    struct wanted wanted;
    u64 half;                        // the complement of the least value that half of all are
    u64 cells[DEVICE_ROUNDINGS];     // the complement of the most frequent value after rounding
    unsigned most[DEVICE_ROUNDINGS]; // how frequent that is,
    unsigned pair[DEVICE_ROUNDINGS]; // together with one beside it
    unsigned listed;
    unsigned null, different; // of the set
    unsigned close; // of the tried lines, how many elements are close to the best, and that one's
    unsigned loose; // number
};

// --- Kinds of elements ---------------------------------------------------------------------------

// Integers of one size are one kind; `flip` is the bit by which keys of signed ones differ from
// their stored bits.
enum kind { INT1, INT2, INT4, INT8, F16, BF16, F32, F64, NOTHING };

__device__ static enum kind kind_of(unsigned type)
{
    switch (type) {
    case DEVICE_U8:
    case DEVICE_S8: return INT1;
    case DEVICE_U16:
    case DEVICE_S16: return INT2;
    case DEVICE_U64:
    case DEVICE_S64: return INT8;
    case DEVICE_F16: return F16;
    case DEVICE_BF16: return BF16;
    case DEVICE_F32: return F32;
    case DEVICE_F64: return F64;
    default: return INT4;
    }
}

__device__ static bool is_signed(unsigned type)
{
    return type == DEVICE_S8 || type == DEVICE_S16 || type == DEVICE_S32 || type == DEVICE_S64;
}

__device__ static constexpr unsigned size_of(int kind)
{
    return kind == INT1                                  ? 1
           : kind == INT2 || kind == F16 || kind == BF16 ? 2
           : kind == INT8 || kind == F64                 ? 8
                                                         : 4;
}

__device__ static constexpr bool is_float(int kind)
{
    return kind >= F16 && kind <= F64;
}

__device__ static constexpr int mantissa_of(int kind)
{
    return kind == F16 ? 10 : kind == BF16 ? 7 : kind == F32 ? 23 : kind == F64 ? 52 : 0;
}

__device__ static constexpr u64 sign_of(int kind)
{
    return 1ull << (8 * size_of(kind) - 1);
}

__device__ static constexpr u64 mask_of(int kind)
{
    return sign_of(kind) * 2 - 1;
}

// The bits of an infinity: all bits of the exponent.
__device__ static constexpr u64 infinity_of(int kind)
{
    return (sign_of(kind) - 1) >> mantissa_of(kind) << mantissa_of(kind);
}

// Elements of up to four bytes are processed as 32 bits, others as 64 bits.
template <int KIND> struct bits_of {
    typedef unsigned type;
};
template <> struct bits_of<INT8> {
    typedef u64 type;
};
template <> struct bits_of<F64> {
    typedef u64 type;
};

template <int KIND, typename B> __device__ static bool is_nan(B bits)
{
    return is_float(KIND) && (bits & (B)(sign_of(KIND) - 1)) > (B)infinity_of(KIND);
}

template <int KIND, typename B> __device__ static bool is_special(B bits)
{
    return (bits & (B)infinity_of(KIND)) == (B)infinity_of(KIND);
}

template <int KIND, typename B> __device__ static bool is_zero(B bits)
{
    return !(is_float(KIND) ? bits & (B)(sign_of(KIND) - 1) : bits);
}

// Of a NaN, the result is a NaN.
template <int KIND, typename B> __device__ static float float_of(B bits)
{
    float value = __uint_as_float((unsigned)bits << 16); // BF16
    if (KIND == F16)
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)bits));
    return KIND == F32 ? __uint_as_float((unsigned)bits) : value;
}

template <int KIND, typename B> __device__ static double double_of(B bits)
{
    if (KIND == F64)
        return __longlong_as_double((long long)bits);
    return (double)float_of<KIND>(bits);
}

// Whether the narrower type with so many bits of mantissa and exponent holds the value bit for bit.
// Infinities and NaNs keep the upper bits of the mantissa. Small numbers have fewer bits.
template <int KIND, int MANTISSA, int EXPONENT, typename B> __device__ static bool fits(B bits)
{
    const int special = (int)(infinity_of(KIND) >> mantissa_of(KIND)), bias = special / 2;
    const int least = bias - (1 << (EXPONENT - 1)) + 2; // exponent of normal numbers
    const int greatest = bias + (1 << (EXPONENT - 1)) - 1;
    const int exponent = (int)((bits & (B)infinity_of(KIND)) >> mantissa_of(KIND));
    const int drop = mantissa_of(KIND) - MANTISSA + min(max(least - exponent, 0), MANTISSA);
    return is_zero<KIND>(bits) ||
           (!(bits & (((B)1 << drop) - 1)) &&
            ((exponent >= least - MANTISSA && exponent <= greatest) || exponent == special));
}

// Rounds to a mantissa of 10 - k bits, to the nearest; of equal distances, to even.
template <int KIND, typename B> __device__ static B round_bits(B bits, int k)
{
    const int drop = mantissa_of(KIND) - 10 + k;
    if (drop <= 0 || is_special<KIND>(bits))
        return bits;
    const B rest = ((B)1 << drop) - 1;
    return (bits + (rest >> 1) + (bits >> drop & 1)) & ~rest;
}

// Converts to two bytes, to the nearest; of equal distances, to even.
template <int KIND> __device__ static __noinline__ unsigned to_half(double number)
{
    const u64 bits = (u64)__double_as_longlong(number), size = bits & ~0ull >> 1;
    const unsigned sign = (unsigned)(bits >> 63) << 15;
    const unsigned infinity = (unsigned)infinity_of(KIND);
    const int least = 1 - (int)(infinity >> mantissa_of(KIND)) / 2; // exponent of normal numbers
    const int exponent = (int)(size >> 52) - 1023;
    if (exponent == 1024)
        return sign | infinity | (size << 12 != 0);
    const int shift = 52 - mantissa_of(KIND) + (exponent < least ? least - exponent : 0);
    if (shift > 53)
        return sign;
    const u64 whole = (size & ((1ull << 52) - 1)) | 1ull << 52;
    const u64 rest = whole & ((1ull << shift) - 1), half = 1ull << (shift - 1);
    unsigned units = (unsigned)(whole >> shift);
    units += rest > half || (rest == half && units & 1);
    // The leading bit of a normal number is added to the exponent before it.
    if (exponent >= least)
        units += (unsigned)(exponent - least) << mantissa_of(KIND);
    return sign | min(units, infinity);
}

template <int KIND> __device__ static typename bits_of<KIND>::type to_bits(double number)
{
    if constexpr (KIND == F64)
        return (u64)__double_as_longlong(number);
    else if constexpr (KIND == F32)
        return __float_as_uint(__double2float_rn(number));
    else
        return to_half<KIND>(number);
}

// The value of an element: values.h. A NaN keeps its mantissa, as the upper bits.
template <int KIND, typename B> __device__ static u64 widened(B bits)
{
    if (KIND == F64)
        return bits;
    if (!is_nan<KIND>(bits))
        return (u64)__double_as_longlong(double_of<KIND>(bits));
    const u64 mantissa = bits & (((B)1 << mantissa_of(KIND)) - 1);
    return (u64)(bits & (B)sign_of(KIND) ? 1 : 0) << 63 | infinity_of(F64) |
           mantissa << (52 - mantissa_of(KIND));
}

__device__ static __noinline__ u64 value_of(unsigned type, u64 bits)
{
    switch (type) {
    case DEVICE_S8: return (u64)(long long)(signed char)bits;
    case DEVICE_S16: return (u64)(long long)(short)bits;
    case DEVICE_S32: return (u64)(long long)(int)bits;
    case DEVICE_F16: return widened<F16>((unsigned)bits);
    case DEVICE_BF16: return widened<BF16>((unsigned)bits);
    case DEVICE_F32: return widened<F32>((unsigned)bits);
    default: return bits;
    }
}

// --- Extended elements ---------------------------------------------------------------------------

// The scan knows elements of four and of eight bytes: smaller integers are extended to
// four, and smaller floats converted to float. NaNs keep their mantissa, so that different elements
// stay different, and 0 stays 0.
__device__ static u64 extend(unsigned type, u64 bits)
{
    const unsigned word = (unsigned)bits;
    switch (type) {
    case DEVICE_S8: return (unsigned)(int)(signed char)word;
    case DEVICE_S16: return (unsigned)(int)(short)word;
    case DEVICE_BF16: return word << 16;
    case DEVICE_F16:
        if (is_nan<F16>(word))
            return (word & 0x8000) << 16 | (unsigned)infinity_of(F32) | (word & 0x3ff) << 13;
        return __float_as_uint(float_of<F16>(word));
    default: return bits;
    }
}

// Returns the stored bits of an extended f16.
__device__ static unsigned half_of(unsigned word)
{
    unsigned short half;
    if (is_nan<F32>(word))
        return (word >> 16 & 0x8000) | 0x7c00 | (word >> 13 & 0x3ff);
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(__uint_as_float(word)));
    return half;
}

__device__ static bool is_wide(unsigned type)
{
    return size_of(kind_of(type)) == 8;
}

__device__ static u64 value_of_extended(unsigned type, u64 bits)
{
    if (is_wide(type))
        return bits;
    if (is_float(kind_of(type)))
        return widened<F32>((unsigned)bits);
    return is_signed(type) ? (u64)(long long)(int)bits : bits;
}

// Whether the size is not an integer. Adding a number from which on all are integers rounds.
__device__ static bool has_fraction(unsigned bits)
{
    const float size = fabsf(__uint_as_float(bits)), whole = 0x1p23f;
    return __fadd_rn(__fadd_rn(size, whole), -whole) != size && size < whole;
}

__device__ static bool has_fraction(u64 bits)
{
    const double size = fabs(__longlong_as_double((long long)bits)), whole = 0x1p52;
    return __dadd_rn(__dadd_rn(size, whole), -whole) != size && size < whole;
}

// Whether the next narrower type holds the float bit for bit.
__device__ static bool is_narrow(unsigned bits)
{
    return fits<F32, 10, 5>(bits);
}

__device__ static bool is_narrow(u64 bits)
{
    return fits<F64, 23, 8>(bits);
}

// --- Layouts -------------------------------------------------------------------------------------

// Whether a piece of that state is looked at, if states decide.
__device__ static bool is_wanted(const struct device_values_job &job, unsigned state)
{
    return state & DEVICE_PIECE_KNOWN &&
           (job.which == DEVICE_KNOWN || !(state & DEVICE_PIECE_SEEN));
}

// Where the mark of a piece is.
__device__ static unsigned mark_of(const struct device_values_job &job, u64 piece)
{
    return (unsigned)piece * (unsigned)DEVICE_PIECE_STEP & job.mask;
}

// Loads what decides whether the scan looks at the piece: its mark or its state. All in the range
// are looked at.
__device__ static unsigned load_deciding(const struct device_values_job &job, u64 piece)
{
    if (job.which == DEVICE_MARKED)
        return __ldcg(at<const unsigned char>(job.marks) + mark_of(job, piece));
    return job.which == DEVICE_RANGE ? DEVICE_PIECE_KNOWN
                                     : __ldcg(at<const unsigned char>(job.states) + piece);
}

__device__ static bool is_decided(const struct device_values_job &job, unsigned deciding)
{
    return job.which == DEVICE_MARKED || job.which == DEVICE_RANGE ? deciding != 0
                                                                   : is_wanted(job, deciding);
}

__device__ static bool is_looked_at(const struct device_values_job &job, u64 piece)
{
    return is_decided(job, load_deciding(job, piece));
}

struct span {
    u64 from, to;
};

// The pieces among which those are that the scan looks at.
__device__ static struct span pieces_of(const struct device_values_job &job)
{
    if (job.which != DEVICE_RANGE)
        return {0, job.pieces};
    const u64 from = max(job.from, job.first), to = min(job.to, job.end);
    if (from >= to)
        return {0, 0};
    return {(from - job.base) >> DEVICE_PIECE_SHIFT,
            ((to - 1 - job.base) >> DEVICE_PIECE_SHIFT) + 1};
}

// The addresses of a piece's bytes in the object.
__device__ static struct span bytes_of(const struct device_values_job &job, u64 piece)
{
    const u64 from = job.base + (piece << DEVICE_PIECE_SHIFT);
    return {max(from, (u64)job.first), min(from + PIECE, (u64)job.end)};
}

// Divides and rounds up; most strides are powers of two.
__device__ static u64 divide_up(u64 number, unsigned by)
{
    number += by - 1;
    return by & (by - 1) ? number / by : number >> (__ffs((int)by) - 1);
}

// The range of the field's elements that begin in the piece.
__device__ static struct span elements_of(const struct device_values_job &job, unsigned field,
                                          u64 piece, unsigned size)
{
    const struct span bytes = bytes_of(job, piece);
    const u64 start = job.first + job.fields[field].offset;
    const u64 to = min(bytes.to, (u64)job.end + 1 - size);
    return {bytes.from > start ? divide_up(bytes.from - start, job.stride) : 0,
            to > start ? divide_up(to - start, job.stride) : 0};
}

#endif
