// SPDX-License-Identifier: Apache-2.0
// The sequences of cuRAND and its distributions, for the host and, compiled as CUDA C, for the
// device.
//
// A generator has many columns, each with a state of its own: a part of the sequence that is far
// from those of other columns. A visit of a column yields one to four results. Consecutive results
// come from consecutive columns and, after the last column, from the next visits of all columns.
//
// XORWOW is G. Marsaglia's (Xorshift RNGs, 2003), MRG32k3a P. L'Ecuyer's (Good Parameters and
// Implementations for Combined Multiple Recursive Random Number Generators, 1999), Philox 4x32-10
// J. Salmon's and others' (Parallel Random Numbers: As Easy as 1, 2, 3, 2011). Normal numbers are
// made by G. Box's and M. Muller's method.
#ifndef GLINT_STANDINS_CURAND_SEQUENCES_H
#define GLINT_STANDINS_CURAND_SEQUENCES_H

#include <stdint.h>

#ifdef __CUDACC__
#define CURAND_INLINE static __device__ inline
#define CURAND_SQRT   sqrt
#else
#define CURAND_INLINE static inline
#define CURAND_SQRT   __builtin_sqrt
#endif

enum curand_sequence { CURAND_XORWOW, CURAND_MRG32K3A, CURAND_PHILOX };

enum curand_kind {
    CURAND_BITS,
    CURAND_UNIFORM,
    CURAND_UNIFORM_DOUBLE,
    CURAND_NORMAL,
    CURAND_NORMAL_DOUBLE,
    CURAND_LOG_NORMAL,
    CURAND_LOG_NORMAL_DOUBLE,
    CURAND_POISSON,
};

enum { CURAND_WORDS = 6, CURAND_THREADS = 256 };

// XORWOW: five words and the counter; MRG32k3a: two recurrences of three; Philox: the counter's low
// and high half.
struct curand_state {
    uint32_t word[CURAND_WORDS];
};

// A call for `count` results. Every result is at out[index].
struct curand_request {
    uint64_t out;    // address
    uint64_t states; // address of struct curand_state, one for each column
    uint64_t count;
    uint64_t first; // position of the first result: a column; for Philox a column * 4, and which of
                    // its 4 results
    uint64_t seed;
    uint32_t columns;
    uint32_t visits_columns; // columns that the call visits
    int32_t sequence, kind;
    double mean, deviation; // of Poisson: lambda
};

union curand_result {
    uint32_t bits;
    float single;
    double wide;
};

// --- Sequences -----------------------------------------------------------------------------------

CURAND_INLINE uint32_t curand_xorwow(struct curand_state *state)
{
    uint32_t *const v = state->word, t = v[0] ^ v[0] >> 2;
    v[0] = v[1];
    v[1] = v[2];
    v[2] = v[3];
    v[3] = v[4];
    v[4] = v[4] ^ v[4] << 4 ^ t ^ t << 1;
    v[5] += 362437;
    return v[4] + v[5];
}

#define CURAND_M1 UINT64_C(4294967087)
#define CURAND_M2 UINT64_C(4294944443)

// Returns a number from 1 to CURAND_M1.
CURAND_INLINE uint32_t curand_mrg32k3a(struct curand_state *state)
{
    uint32_t *const a = state->word, *const b = state->word + 3;
    const uint64_t x = (UINT64_C(1403580) * a[1] + 810728 * (CURAND_M1 - a[0])) % CURAND_M1;
    const uint64_t y = (UINT64_C(527612) * b[2] + 1370589 * (CURAND_M2 - b[0])) % CURAND_M2;
    a[0] = a[1];
    a[1] = a[2];
    a[2] = (uint32_t)x;
    b[0] = b[1];
    b[1] = b[2];
    b[2] = (uint32_t)y;
    return (uint32_t)(x > y ? x - y : x + CURAND_M1 - y);
}

// Encrypts a counter of 128 bits with a key of 64.
CURAND_INLINE void curand_philox(const uint32_t counter[4], uint64_t key, uint32_t out[4])
{
    uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);
    uint32_t a = counter[0], b = counter[1], c = counter[2], d = counter[3];
    for (int round = 0; round < 10; round++) {
        const uint64_t x = UINT64_C(0xd2511f53) * a, y = UINT64_C(0xcd9e8d57) * c;
        a = (uint32_t)(y >> 32) ^ b ^ low;
        b = (uint32_t)y;
        c = (uint32_t)(x >> 32) ^ d ^ high;
        d = (uint32_t)x;
        low += 0x9e3779b9;
        high += 0xbb67ae85;
    }
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
}

// --- Functions, to the last bits of a double -----------------------------------------------------

// x is a positive normal number.
CURAND_INLINE double curand_log(double x)
{
    union {
        double number;
        uint64_t bits;
    } whole = {x};
    int64_t exponent = (int64_t)(whole.bits >> 52) - 1023;
    whole.bits = (whole.bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x3ff0000000000000);
    if (whole.number > 1.4142135623730951) {
        whole.number *= 0.5;
        exponent++;
    }
    // log(m) = 2 * atanh(s), a series in s with m = (1 + s) / (1 - s)
    const double s = (whole.number - 1) / (whole.number + 1), z = s * s;
    double sum = 0;
    for (int k = 23; k > 1; k -= 2)
        sum = sum * z + 1.0 / k;
    return (double)exponent * 0.6931471805599453 + (2 * s + 2 * s * z * sum);
}

// The sine and cosine of turns * pi.
CURAND_INLINE void curand_sincospi(double turns, double *sine, double *cosine)
{
    const int quarter = (int)(turns * 2 + 0.5);
    const double x = (turns - quarter * 0.5) * 3.141592653589793, z = x * x;
    double s = 0, c = 0;
    for (int k = 17; k > 1; k -= 2)
        s = (1 - s) * z / (k * (k - 1));
    for (int k = 18; k > 0; k -= 2)
        c = (1 - c) * z / (k * (k - 1));
    s = x * (1 - s);
    c = 1 - c;
    *sine = quarter % 4 == 0 ? s : quarter % 4 == 1 ? c : quarter % 4 == 2 ? -s : -c;
    *cosine = quarter % 4 == 0 ? c : quarter % 4 == 1 ? -s : quarter % 4 == 2 ? -c : s;
}

CURAND_INLINE double curand_exp(double x)
{
    if (x > 709.7)
        return 1e308 * 10;
    if (x < -708)
        return 0;
    const int k = (int)(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
    const double r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
    double sum = 1;
    for (int i = 16; i > 0; i--)
        sum = 1 + sum * r / i;
    union {
        uint64_t bits;
        double number;
    } scale = {(uint64_t)(k + 1023) << 52};
    return sum * scale.number;
}

// --- Distributions -------------------------------------------------------------------------------

#define CURAND_2POW_32 2.3283064365386963e-10 // 2^-32
#define CURAND_2POW_53 1.1102230246251565e-16 // 2^-53
#define CURAND_MRG     2.3283065498378288e-10

CURAND_INLINE float curand_uniform_single(uint32_t x)
{
    return (float)x * (float)CURAND_2POW_32 + (float)(CURAND_2POW_32 / 2);
}

CURAND_INLINE double curand_uniform_wide(uint32_t low, uint32_t high)
{
    return (double)((uint64_t)low ^ (uint64_t)high << 21) * CURAND_2POW_53 + CURAND_2POW_53 / 2;
}

// Two normal numbers from a number above 0 and up to 1, and an angle in units of pi.
CURAND_INLINE void curand_box_muller(double u, double turns, double *first, double *second)
{
    const double size = CURAND_SQRT(-2 * curand_log(u));
    double sine, cosine;
    curand_sincospi(turns, &sine, &cosine);
    *first = size * sine;
    *second = size * cosine;
}

// The same with an angle in radians that has the precision of a float, as cuRAND has it.
CURAND_INLINE void curand_box_muller_bits(uint32_t x, uint32_t y, double *first, double *second)
{
    const float step = (float)CURAND_2POW_32 * 6.2831855f;
    const float angle = (float)y * step + step / 2;
    curand_box_muller((double)curand_uniform_single(x), (double)angle * 0.3183098861837907, first,
                      second);
}

// The number for which the distribution function passes u; for a large lambda by an expansion of
// its inverse, for which z is a normal number.
CURAND_INLINE uint32_t curand_poisson(double lambda, double u, double z)
{
    if (lambda > 512) {
        const double value = lambda + CURAND_SQRT(lambda) * z + (z * z - 1) / 6 + 0.5;
        return value < 0 ? 0 : (uint32_t)value;
    }
    double probability = curand_exp(-lambda), sum = probability;
    uint32_t k = 0;
    while (u > sum && k < 2048) {
        k++;
        probability *= lambda / k;
        sum += probability;
    }
    return k;
}

// How many results a visit has. Normal numbers come in pairs.
CURAND_INLINE uint32_t curand_per_visit(int sequence, int kind)
{
    if (sequence == CURAND_PHILOX)
        return 4;
    return kind >= CURAND_NORMAL && kind <= CURAND_LOG_NORMAL_DOUBLE ? 2 : 1;
}

CURAND_INLINE int curand_is_wide(int kind)
{
    return kind == CURAND_UNIFORM_DOUBLE || kind == CURAND_NORMAL_DOUBLE ||
           kind == CURAND_LOG_NORMAL_DOUBLE;
}

// Stores two normal numbers as results of that kind.
CURAND_INLINE void curand_put_pair(const struct curand_request *about, double first, double second,
                                   union curand_result *to)
{
    double pair[2] = {first, second};
    for (int i = 0; i < 2; i++) {
        double value;
        if (about->kind == CURAND_POISSON) {
            to[i].bits = curand_poisson(about->mean, 0, pair[i]);
            continue;
        }
        if (!curand_is_wide(about->kind))
            pair[i] = (double)(float)pair[i];
        value = about->mean + about->deviation * pair[i];
        if (about->kind == CURAND_LOG_NORMAL || about->kind == CURAND_LOG_NORMAL_DOUBLE)
            value = curand_exp(value);
        if (curand_is_wide(about->kind))
            to[i].wide = value;
        else
            to[i].single = (float)value;
    }
}

// The draws of a visit of Philox.
CURAND_INLINE void curand_visit_philox(const struct curand_request *about, uint64_t counter,
                                       uint32_t column, union curand_result to[4])
{
    uint32_t in[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), column, 0}, x[8];
    curand_philox(in, about->seed, x);
    if (curand_is_wide(about->kind)) {
        in[0]++;
        in[1] += in[0] == 0;
        curand_philox(in, about->seed, x + 4);
    }
    for (int i = 0; i < 4; i++) {
        double first, second;
        switch (about->kind) {
        case CURAND_BITS: to[i].bits = x[i]; break;
        case CURAND_UNIFORM: to[i].single = curand_uniform_single(x[i]); break;
        case CURAND_UNIFORM_DOUBLE: to[i].wide = curand_uniform_wide(x[2 * i], x[2 * i + 1]); break;
        case CURAND_POISSON:
            if (about->mean <= 512) {
                to[i].bits = curand_poisson(about->mean, (double)curand_uniform_single(x[i]), 0);
                break;
            }
        // fallthrough
        default:
            if (i % 2)
                break;
            if (curand_is_wide(about->kind))
                curand_box_muller(curand_uniform_wide(x[2 * i], x[2 * i + 1]),
                                  curand_uniform_wide(x[2 * i + 2], x[2 * i + 3]) * 2, &first,
                                  &second);
            else
                curand_box_muller_bits(x[i], x[i + 1], &first, &second);
            curand_put_pair(about, first, second, to + i);
        }
    }
}

CURAND_INLINE void curand_visit_xorwow(const struct curand_request *about,
                                       struct curand_state *state, union curand_result to[2])
{
    double first, second;
    const uint32_t x = curand_xorwow(state);
    switch (about->kind) {
    case CURAND_BITS: to->bits = x; return;
    case CURAND_UNIFORM: to->single = curand_uniform_single(x); return;
    case CURAND_UNIFORM_DOUBLE: to->wide = curand_uniform_wide(x, curand_xorwow(state)); return;
    case CURAND_POISSON:
        if (about->mean <= 512) {
            to->bits = curand_poisson(about->mean, (double)curand_uniform_single(x), 0);
            return;
        }
    }
    const uint32_t y = curand_xorwow(state);
    if (curand_is_wide(about->kind)) {
        const uint32_t low = curand_xorwow(state), high = curand_xorwow(state);
        curand_box_muller(curand_uniform_wide(x, y), curand_uniform_wide(low, high) * 2, &first,
                          &second);
    } else {
        curand_box_muller_bits(x, y, &first, &second);
    }
    curand_put_pair(about, first, second, to);
}

CURAND_INLINE void curand_visit_mrg32k3a(const struct curand_request *about,
                                         struct curand_state *state, union curand_result to[2])
{
    double first, second;
    const uint32_t x = curand_mrg32k3a(state);
    const double u = x * CURAND_MRG;
    switch (about->kind) {
    case CURAND_BITS: to->bits = (uint32_t)(x * 1.000000048662); return;
    case CURAND_UNIFORM: to->single = (float)u; return;
    case CURAND_UNIFORM_DOUBLE: to->wide = u; return;
    case CURAND_POISSON:
        if (about->mean <= 512) {
            to->bits = curand_poisson(about->mean, (double)(float)u, 0);
            return;
        }
    }
    const double v = curand_mrg32k3a(state) * CURAND_MRG;
    if (curand_is_wide(about->kind))
        curand_box_muller(u, v * 2, &first, &second);
    else
        curand_box_muller((double)(float)u, (double)((float)v * 6.2831855f) * 0.3183098861837907,
                          &first, &second);
    curand_put_pair(about, first, second, to);
}

// --- Columns -------------------------------------------------------------------------------------

// Stores one result of a call.
CURAND_INLINE void curand_store(const struct curand_request *about, uint64_t index,
                                union curand_result value)
{
    if (curand_is_wide(about->kind))
        ((double *)about->out)[index] = value.wide;
    else
        ((uint32_t *)about->out)[index] = value.bits;
}

// Makes all results of a call that are of the `index`th column from the first on.
CURAND_INLINE void curand_column(const struct curand_request *about, uint32_t index)
{
    const uint32_t each = curand_per_visit(about->sequence, about->kind);
    const int is_philox = about->sequence == CURAND_PHILOX;
    const uint64_t start = is_philox ? about->first / 4 : about->first;
    const uint32_t column = (uint32_t)((start + index) % about->columns);
    // How many results of the first visit earlier calls had.
    const uint64_t had = is_philox ? about->first % 4 : 0;
    struct curand_state *const place = (struct curand_state *)about->states + column;
    struct curand_state state = *place;
    for (uint64_t visit = index;; visit += about->columns) {
        union curand_result results[4];
        const uint64_t begin =
            visit * each; // of the visit's results, counted from the first visit's first
        if (begin >= had + about->count)
            break;
        if (is_philox) {
            const uint64_t counter = (uint64_t)state.word[1] << 32 | state.word[0];
            curand_visit_philox(about, counter, column, results);
            if (begin + each <= had + about->count) { // all of it is used
                const uint64_t next = counter + (curand_is_wide(about->kind) ? 2 : 1);
                state.word[0] = (uint32_t)next;
                state.word[1] = (uint32_t)(next >> 32);
            }
        } else if (about->sequence == CURAND_XORWOW) {
            curand_visit_xorwow(about, &state, results);
        } else {
            curand_visit_mrg32k3a(about, &state, results);
        }
        for (uint32_t i = 0; i < each; i++) {
            if (begin + i >= had && begin + i < had + about->count)
                curand_store(about, begin + i - had, results[i]);
        }
    }
    *place = state;
}

#endif
