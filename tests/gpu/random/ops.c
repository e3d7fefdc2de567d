// SPDX-License-Identifier: Apache-2.0
// The arithmetic instructions of random kernels, and their results. The results follow the ISA and
// the behavior of an H200; they are implemented independently of the simulated GPU.
#include <math.h>
#include <string.h>

#include "random.h"

static float as_float(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof(value));
    return value;
}

// Floats come from integers and from each other, so every NaN is the canonical one that operations
// produce. For any other NaN, min(x, x) may or may not preserve the bits.
static uint64_t of_float(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof(word));
    return isnan(value) ? 0x7fffffff : word;
}

static double as_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

// Doubles come from integers, so every NaN is the result of an invalid operation.
static uint64_t of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return isnan(value) ? 0xfff8000000000000 : bits;
}

static uint64_t smaller(float a, float b)
{
    if (isnan(a) || isnan(b))
        return of_float(isnan(a) ? b : a);
    return of_float(a < b || (a == b && signbit(a)) ? a : b);
}

static uint64_t larger(float a, float b)
{
    if (isnan(a) || isnan(b))
        return of_float(isnan(a) ? b : a);
    return of_float(a > b || (a == b && !signbit(a)) ? a : b);
}

static uint64_t permuted(uint32_t a, uint32_t b, uint32_t selector)
{
    uint64_t bytes = (uint64_t)b << 32 | a, result = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned nibble = selector >> 4 * i & 15, byte = bytes >> 8 * (nibble & 7) & 255;
        if (nibble & 8)
            byte = byte & 128 ? 255 : 0;
        result |= (uint64_t)byte << 8 * i;
    }
    return result;
}

static uint64_t reversed(uint32_t a)
{
    uint32_t result = 0;
    for (unsigned i = 0; i < 32; i++)
        result |= (a >> i & 1) << (31 - i);
    return result;
}

static uint64_t funnel_left(uint32_t low, uint32_t high, uint32_t by)
{
    return (uint32_t)(((uint64_t)high << 32 | low) << (by & 31) >> 32);
}

static uint64_t difference(int32_t a, int32_t b)
{
    return a < b ? (uint32_t)b - (uint32_t)a : (uint32_t)a - (uint32_t)b;
}

static uint64_t to_word(float value)
{
    if (isnan(value))
        return 0;
    value = truncf(value);
    return value >= 0x1p31f   ? INT32_MAX
           : value < -0x1p31f ? (uint32_t)INT32_MIN
                              : (uint32_t)(int32_t)value;
}

#define A  ((uint32_t)a)
#define B  ((uint32_t)b)
#define C  ((uint32_t)c)
#define SA ((int32_t)A)
#define SB ((int32_t)B)
#define FA as_float(a)
#define FB as_float(b)
#define FC as_float(c)
#define GA as_double(a)
#define GB as_double(b)
#define GC as_double(c)

#define OPS(X)                                                                   \
    X(add_u32, "add.u32", "rrr", A + B)                                          \
    X(sub_u32, "sub.u32", "rrr", A - B)                                          \
    X(mul_lo, "mul.lo.s32", "rrr", A *B)                                         \
    X(mul_hi_u, "mul.hi.u32", "rrr", (uint64_t)A *B >> 32)                       \
    X(mul_hi_s, "mul.hi.s32", "rrr", (uint64_t)((int64_t)SA * SB) >> 32)         \
    X(mad_lo, "mad.lo.s32", "rrrr", A *B + C)                                    \
    X(and_b, "and.b32", "rrr", A &B)                                             \
    X(or_b, "or.b32", "rrr", A | B)                                              \
    X(xor_b, "xor.b32", "rrr", A ^ B)                                            \
    X(not_b, "not.b32", "rr", ~A)                                                \
    X(shl_b, "shl.b32", "rrr", B > 31 ? 0 : A << B)                              \
    X(shr_u, "shr.u32", "rrr", B > 31 ? 0 : A >> B)                              \
    X(shr_s, "shr.s32", "rrr", (uint32_t)(SA >> (B > 31 ? 31 : B)))              \
    X(shf_l, "shf.l.wrap.b32", "rrrr", funnel_left(A, B, C))                     \
    X(min_s, "min.s32", "rrr", SA < SB ? A : B)                                  \
    X(max_s, "max.s32", "rrr", SA > SB ? A : B)                                  \
    X(min_u, "min.u32", "rrr", A < B ? A : B)                                    \
    X(max_u, "max.u32", "rrr", A > B ? A : B)                                    \
    X(div_u, "div.u32", "rrr", B ? A / B : UINT32_MAX)                           \
    X(rem_u, "rem.u32", "rrr", B ? A % B : UINT32_MAX)                           \
    X(abs_s, "abs.s32", "rr", SA < 0 ? 0 - A : A)                                \
    X(neg_s, "neg.s32", "rr", 0 - A)                                             \
    X(sad_s, "sad.s32", "rrrr", difference(SA, SB) + C)                          \
    X(popc, "popc.b32", "rr", (unsigned)__builtin_popcount(A))                   \
    X(clz, "clz.b32", "rr", A ? (unsigned)__builtin_clz(A) : 32)                 \
    X(brev, "brev.b32", "rr", reversed(A))                                       \
    X(prmt, "prmt.b32", "rrrr", permuted(A, B, C))                               \
    X(mov_r, "mov.b32", "rr", A)                                                 \
    X(cvt_s8, "cvt.s32.s8", "rr", (uint32_t)(int8_t)A)                           \
    X(cvt_u16, "cvt.u32.u16", "rr", (uint16_t)A)                                 \
    X(mul_wide_u, "mul.wide.u32", "drr", (uint64_t)A *B)                         \
    X(mul_wide_s, "mul.wide.s32", "drr", (uint64_t)((int64_t)SA * SB))           \
    X(mad_wide, "mad.wide.u32", "drrd", (uint64_t)A *B + c)                      \
    X(cvt_d_u, "cvt.u64.u32", "dr", A)                                           \
    X(cvt_d_s, "cvt.s64.s32", "dr", (uint64_t)(int64_t)SA)                       \
    X(cvt_u_d, "cvt.u32.u64", "rd", A)                                           \
    X(add_d, "add.s64", "ddd", a + b)                                            \
    X(sub_d, "sub.s64", "ddd", a - b)                                            \
    X(mul_d, "mul.lo.s64", "ddd", a *b)                                          \
    X(mul_hi_d, "mul.hi.u64", "ddd", (uint64_t)((unsigned __int128)a * b >> 64)) \
    X(mad_d, "mad.lo.s64", "dddd", a *b + c)                                     \
    X(xor_d, "xor.b64", "ddd", a ^ b)                                            \
    X(and_d, "and.b64", "ddd", a &b)                                             \
    X(shl_d, "shl.b64", "ddr", B > 63 ? 0 : a << B)                              \
    X(shr_d, "shr.u64", "ddr", B > 63 ? 0 : a >> B)                              \
    X(shr_sd, "shr.s64", "ddr", (uint64_t)((int64_t)a >> (B > 63 ? 63 : B)))     \
    X(min_sd, "min.s64", "ddd", (int64_t)a < (int64_t)b ? a : b)                 \
    X(popc_d, "popc.b64", "rd", (unsigned)__builtin_popcountll(a))               \
    X(rem_d, "rem.u64", "ddd", b ? a % b : UINT64_MAX)                           \
    X(add_f, "add.rn.f32", "fff", of_float(FA + FB))                             \
    X(sub_f, "sub.rn.f32", "fff", of_float(FA - FB))                             \
    X(mul_f, "mul.rn.f32", "fff", of_float(FA *FB))                              \
    X(fma_f, "fma.rn.f32", "ffff", of_float(fmaf(FA, FB, FC)))                   \
    X(div_f, "div.rn.f32", "fff", of_float(FA / FB))                             \
    X(sqrt_f, "sqrt.rn.f32", "ff", of_float(sqrtf(FA)))                          \
    X(min_f, "min.f32", "fff", smaller(FA, FB))                                  \
    X(max_f, "max.f32", "fff", larger(FA, FB))                                   \
    X(cvt_f_s, "cvt.rn.f32.s32", "fr", of_float((float)SA))                      \
    X(cvt_s_f, "cvt.rzi.s32.f32", "rf", to_word(FA))                             \
    X(mov_rf, "mov.b32", "rf", A)                                                \
    X(add_g, "add.rn.f64", "ggg", of_double(GA + GB))                            \
    X(mul_g, "mul.rn.f64", "ggg", of_double(GA *GB))                             \
    X(fma_g, "fma.rn.f64", "gggg", of_double(fma(GA, GB, GC)))                   \
    X(div_g, "div.rn.f64", "ggg", of_double(GA / GB))                            \
    X(cvt_g_s, "cvt.rn.f64.s32", "gr", of_double((double)SA))                    \
    X(cvt_g_d, "cvt.rn.f64.s64", "gd", of_double((double)(int64_t)a))

#define FUNCTION(name, text, signature, result)              \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t c) \
    {                                                        \
        (void)a, (void)b, (void)c;                           \
        return result;                                       \
    }
OPS(FUNCTION)

#define ROW(name, text, signature, result) {text, signature, name},
const struct op ops[] = {OPS(ROW)};
const unsigned op_count = sizeof(ops) / sizeof(ops[0]);
