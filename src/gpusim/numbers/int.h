// SPDX-License-Identifier: Apache-2.0
// Implements the integer arithmetic, bit fields, shifts and permutations of PTX. Plain add, sub,
// mul.lo, and, or, xor, not and comparisons are missing, because C's operators on unsigned types
// implement them. Callers extend operands that are narrower than the function's type and keep the
// low bits of the result. Every function is defined for all inputs. Internal to src/gpusim.
#ifndef GLINT_GPUSIM_NUMBERS_INT_H
#define GLINT_GPUSIM_NUMBERS_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "numbers.h"

// --- Multiplication ------------------------------------------------------------------------------

// mul.wide, and mul.hi as its upper half.
static inline uint32_t num_mul_wide_u16(uint16_t a, uint16_t b)
{
    return (uint32_t)a * b;
}

static inline int32_t num_mul_wide_s16(int16_t a, int16_t b)
{
    return (int32_t)a * b;
}

static inline uint64_t num_mul_wide_u32(uint32_t a, uint32_t b)
{
    return (uint64_t)a * b;
}

static inline int64_t num_mul_wide_s32(int32_t a, int32_t b)
{
    return (int64_t)a * b;
}

static inline uint16_t num_mul_hi_u16(uint16_t a, uint16_t b)
{
    return (uint16_t)(num_mul_wide_u16(a, b) >> 16);
}

static inline int16_t num_mul_hi_s16(int16_t a, int16_t b)
{
    return (int16_t)(num_mul_wide_s16(a, b) >> 16);
}

static inline uint32_t num_mul_hi_u32(uint32_t a, uint32_t b)
{
    return (uint32_t)(num_mul_wide_u32(a, b) >> 32);
}

static inline int32_t num_mul_hi_s32(int32_t a, int32_t b)
{
    return (int32_t)(num_mul_wide_s32(a, b) >> 32);
}

static inline uint64_t num_mul_hi_u64(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b >> 64);
}

static inline int64_t num_mul_hi_s64(int64_t a, int64_t b)
{
    return (int64_t)((__int128)a * b >> 64);
}

// mul24 multiplies the low 24 bits of both operands. The result is the product's low 32 bits, or
// with `hi` its bits 16 to 47.
static inline uint32_t num_mul24_u32(uint32_t a, uint32_t b, bool hi)
{
    uint64_t product = (uint64_t)(a & 0xFFFFFFu) * (b & 0xFFFFFFu);
    return (uint32_t)(hi ? product >> 16 : product);
}

static inline int32_t num_mul24_s32(int32_t a, int32_t b, bool hi)
{
    int64_t product =
        (int64_t)((int32_t)((uint32_t)a << 8) >> 8) * ((int32_t)((uint32_t)b << 8) >> 8);
    return (int32_t)(hi ? product >> 16 : product);
}

// --- Saturation ----------------------------------------------------------------------------------

static inline int32_t num_clamp_s32(int64_t value)
{
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

static inline uint32_t num_clamp_u32(int64_t value)
{
    return value > (int64_t)UINT32_MAX ? UINT32_MAX : value < 0 ? 0 : (uint32_t)value;
}

static inline int32_t num_add_sat_s32(int32_t a, int32_t b)
{
    return num_clamp_s32((int64_t)a + b);
}

static inline int32_t num_sub_sat_s32(int32_t a, int32_t b)
{
    return num_clamp_s32((int64_t)a - b);
}

// mad.hi.sat.s32 and mad24.hi.sat.s32. Only the addition can overflow.
static inline int32_t num_mad_hi_sat_s32(int32_t a, int32_t b, int32_t c)
{
    return num_clamp_s32((int64_t)num_mul_hi_s32(a, b) + c);
}

static inline int32_t num_mad24_hi_sat_s32(int32_t a, int32_t b, int32_t c)
{
    return num_clamp_s32((int64_t)num_mul24_s32(a, b, true) + c);
}

// --- Carry chains --------------------------------------------------------------------------------

// add.cc, addc, sub.cc, subc, mad.cc and madc. `carry_in` is 0 or 1, and 0 for the forms without c.
// Callers may ignore *carry_out. For sub.cc and subc the flag is the borrow. The hardware has a
// single flag and stores the inverse of a borrow in it, so a caller with a single flag must invert
// it around subc.
static inline uint32_t num_addc_u32(uint32_t a, uint32_t b, bool carry_in, bool *carry_out)
{
    uint64_t sum = (uint64_t)a + b + carry_in;
    *carry_out = sum >> 32;
    return (uint32_t)sum;
}

static inline uint32_t num_subc_u32(uint32_t a, uint32_t b, bool borrow_in, bool *borrow_out)
{
    uint64_t difference = (uint64_t)a - b - borrow_in;
    *borrow_out = difference >> 63;
    return (uint32_t)difference;
}

static inline uint64_t num_addc_u64(uint64_t a, uint64_t b, bool carry_in, bool *carry_out)
{
    unsigned __int128 sum = (unsigned __int128)a + b + carry_in;
    *carry_out = (bool)(sum >> 64);
    return (uint64_t)sum;
}

static inline uint64_t num_subc_u64(uint64_t a, uint64_t b, bool borrow_in, bool *borrow_out)
{
    unsigned __int128 difference = (unsigned __int128)a - b - borrow_in;
    *borrow_out = (bool)(difference >> 127);
    return (uint64_t)difference;
}

// --- Division ------------------------------------------------------------------------------------

// Division by zero gives all ones as quotient and as remainder, like NVIDIA's division routines.
// Dividing the smallest value by -1 wraps.
// The quotient of integers of 32 bits is computed in f64, in a form that compilers can vectorize.
// It differs from the next integer by at least 2^-32 of itself, so rounding cannot reach that.
static inline double num_f64_of_u32(uint32_t a)
{
    return num_from_bits_f64(0x4330000000000000u | a) - 0x1p52;
}

// Truncates a number between -2^31 and 2^32 to an integer. The low bits of the sum hold it.
static inline uint32_t num_u32_of_f64(double a)
{
    return (uint32_t)num_bits_f64(__builtin_trunc(a) + 0x1.8p52);
}

static inline uint32_t num_div_u32(uint32_t a, uint32_t b)
{
    const uint32_t quotient = num_u32_of_f64(num_f64_of_u32(a) / num_f64_of_u32(b ? b : 1));
    return b ? quotient : UINT32_MAX;
}

static inline uint32_t num_rem_u32(uint32_t a, uint32_t b)
{
    const uint32_t quotient = num_u32_of_f64(num_f64_of_u32(a) / num_f64_of_u32(b ? b : 1));
    return b ? a - quotient * b : UINT32_MAX;
}

static inline int32_t num_div_s32(int32_t a, int32_t b)
{
    const uint32_t quotient = num_u32_of_f64((double)a / (double)(b ? b : 1));
    return b ? (int32_t)quotient : -1;
}

static inline int32_t num_rem_s32(int32_t a, int32_t b)
{
    const uint32_t quotient = num_u32_of_f64((double)a / (double)(b ? b : 1));
    return b ? (int32_t)((uint32_t)a - quotient * (uint32_t)b) : -1;
}

static inline uint64_t num_div_u64(uint64_t a, uint64_t b)
{
    return b ? a / b : UINT64_MAX;
}

static inline uint64_t num_rem_u64(uint64_t a, uint64_t b)
{
    return b ? a % b : UINT64_MAX;
}

static inline int64_t num_div_s64(int64_t a, int64_t b)
{
    return b == -1 ? (int64_t) - (uint64_t)a : b ? a / b : -1;
}

static inline int64_t num_rem_s64(int64_t a, int64_t b)
{
    return b == -1 ? 0 : b ? a % b : -1;
}

// --- Sign ----------------------------------------------------------------------------------------

// abs and neg leave the smallest value unchanged.
static inline int32_t num_abs_s32(int32_t a)
{
    return a < 0 ? (int32_t) - (uint32_t)a : a;
}

static inline int64_t num_abs_s64(int64_t a)
{
    return a < 0 ? (int64_t) - (uint64_t)a : a;
}

static inline int32_t num_neg_s32(int32_t a)
{
    return (int32_t) - (uint32_t)a;
}

static inline int64_t num_neg_s64(int64_t a)
{
    return (int64_t) - (uint64_t)a;
}

// sad: c + |a - b|.
static inline uint32_t num_sad_s32(int32_t a, int32_t b, uint32_t c)
{
    return c + (a < b ? (uint32_t)b - (uint32_t)a : (uint32_t)a - (uint32_t)b);
}

static inline uint32_t num_sad_u32(uint32_t a, uint32_t b, uint32_t c)
{
    return c + (a < b ? b - a : a - b);
}

static inline uint64_t num_sad_s64(int64_t a, int64_t b, uint64_t c)
{
    return c + (a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b);
}

static inline uint64_t num_sad_u64(uint64_t a, uint64_t b, uint64_t c)
{
    return c + (a < b ? b - a : a - b);
}

// --- Shifts --------------------------------------------------------------------------------------

// shl and shr. A shift by the width or more gives 0, or for the signed forms copies of the sign.
static inline uint32_t num_shl_b32(uint32_t a, uint32_t count)
{
    return count > 31 ? 0 : a << (count & 31);
}

static inline uint64_t num_shl_b64(uint64_t a, uint32_t count)
{
    return count > 63 ? 0 : a << (count & 63);
}

static inline uint32_t num_shr_u32(uint32_t a, uint32_t count)
{
    return count > 31 ? 0 : a >> (count & 31);
}

static inline int32_t num_shr_s32(int32_t a, uint32_t count)
{
    return a >> (count > 31 ? 31 : count);
}

static inline uint64_t num_shr_u64(uint64_t a, uint32_t count)
{
    return count > 63 ? 0 : a >> (count & 63);
}

static inline int64_t num_shr_s64(int64_t a, uint32_t count)
{
    return a >> (count > 63 ? 63 : count);
}

static inline uint16_t num_shl_b16(uint16_t a, uint32_t count)
{
    return (uint16_t)num_shl_b32(a, count);
}

static inline uint16_t num_shr_u16(uint16_t a, uint32_t count)
{
    return (uint16_t)num_shr_u32(a, count);
}

static inline int16_t num_shr_s16(int16_t a, uint32_t count)
{
    return (int16_t)num_shr_s32(a, count);
}

// shf shifts the 64 bits high:low. With `wrap`, count is taken modulo 32; otherwise it is clamped
// to 32.
static inline uint32_t num_shf_l(uint32_t low, uint32_t high, uint32_t count, bool wrap)
{
    // In 32 bits, which compiles to better vector code than in 64.
    count = wrap ? count & 31 : count > 32 ? 32 : count;
    const uint32_t from_high = count > 31 ? 0 : high << (count & 31);
    return from_high | (count ? low >> ((32 - count) & 31) : 0);
}

static inline uint32_t num_shf_r(uint32_t low, uint32_t high, uint32_t count, bool wrap)
{
    count = wrap ? count & 31 : count > 32 ? 32 : count;
    const uint32_t from_low = count > 31 ? 0 : low >> (count & 31);
    return from_low | (count ? high << ((32 - count) & 31) : 0);
}

// --- Bits ----------------------------------------------------------------------------------------

static inline uint32_t num_popc_b32(uint32_t a)
{
    return (uint32_t)__builtin_popcount(a);
}

static inline uint32_t num_popc_b64(uint64_t a)
{
    return (uint32_t)__builtin_popcountll(a);
}

static inline uint32_t num_clz_b32(uint32_t a)
{
    return a ? (uint32_t)__builtin_clz(a) : 32;
}

static inline uint32_t num_clz_b64(uint64_t a)
{
    return a ? (uint32_t)__builtin_clzll(a) : 64;
}

static inline uint32_t num_brev_b32(uint32_t a)
{
    a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
    a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
    a = (a >> 4 & 0x0F0F0F0Fu) | (a & 0x0F0F0F0Fu) << 4;
    return __builtin_bswap32(a);
}

static inline uint64_t num_brev_b64(uint64_t a)
{
    return (uint64_t)num_brev_b32((uint32_t)a) << 32 | num_brev_b32((uint32_t)(a >> 32));
}

// bfind returns the position of the highest bit that differs from the sign, or with `shiftamt` the
// left shift that moves this bit to the top. Without such a bit the result is all ones.
static inline uint32_t num_bfind_u32(uint32_t a, bool shiftamt)
{
    uint32_t zeros = num_clz_b32(a);
    return a == 0 ? UINT32_MAX : shiftamt ? zeros : 31 - zeros;
}

static inline uint32_t num_bfind_s32(int32_t a, bool shiftamt)
{
    return num_bfind_u32((uint32_t)(a < 0 ? ~a : a), shiftamt);
}

static inline uint32_t num_bfind_u64(uint64_t a, bool shiftamt)
{
    uint32_t zeros = num_clz_b64(a);
    return a == 0 ? UINT32_MAX : shiftamt ? zeros : 63 - zeros;
}

static inline uint32_t num_bfind_s64(int64_t a, bool shiftamt)
{
    return num_bfind_u64((uint64_t)(a < 0 ? ~a : a), shiftamt);
}

// fns returns the position of the offset-th set bit of mask, counted from base: upwards if offset
// is positive, downwards if it is negative. Offset 0 tests the bit at base itself. The result is
// all ones if there is no such bit.
uint32_t num_fns(uint32_t mask, uint32_t base, int32_t offset);

// A mask of the `count` lowest bits; any count is valid.
static inline uint64_t num_low_bits(uint32_t count)
{
    return count > 63 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
}

// bfe extracts `length` bits of a from `position` on. Bits past the top are 0, or for the signed
// forms the sign of the field. The 32-bit forms use only the low 8 bits of position and length. The
// ISA says the same of the 64-bit forms, but NVIDIA's code for them uses all bits, and so do these
// functions.
static inline uint32_t num_bfe_u32(uint32_t a, uint32_t position, uint32_t length)
{
    return num_shr_u32(a, position & 255) & (uint32_t)num_low_bits(length & 255);
}

static inline uint64_t num_bfe_u64(uint64_t a, uint32_t position, uint32_t length)
{
    return num_shr_u64(a, position) & num_low_bits(length);
}

static inline int64_t num_bfe_s64(int64_t a, uint32_t position, uint32_t length)
{
    int64_t shifted = num_shr_s64(a, position); // past the top: a's sign, which is the field's
    uint32_t unused = length > 63 ? 0 : 64 - length;
    return length ? (int64_t)((uint64_t)shifted << (unused & 63)) >> (unused & 63) : 0;
}

static inline int32_t num_bfe_s32(int32_t a, uint32_t position, uint32_t length)
{
    return (int32_t)num_bfe_s64(a, position & 255, length & 255);
}

// bfi inserts the low `length` bits of a into b from `position` on.
static inline uint32_t num_bfi_b32(uint32_t a, uint32_t b, uint32_t position, uint32_t length)
{
    uint32_t mask = num_shl_b32((uint32_t)num_low_bits(length & 255), position & 255);
    return (b & ~mask) | (num_shl_b32(a, position & 255) & mask);
}

static inline uint64_t num_bfi_b64(uint64_t a, uint64_t b, uint32_t position, uint32_t length)
{
    uint64_t mask = num_shl_b64(num_low_bits(length), position);
    return (b & ~mask) | (num_shl_b64(a, position) & mask);
}

// bmsk returns `length` ones from `position` on. With `wrap` both are taken modulo 32; otherwise
// they are clamped to 32.
static inline uint32_t num_bmsk(uint32_t position, uint32_t length, bool wrap)
{
    position = wrap ? position & 31 : position;
    length = wrap ? length & 31 : length;
    return num_shl_b32((uint32_t)num_low_bits(length), position);
}

// szext returns the low `length` bits of a, sign- or zero-extended.
static inline uint32_t num_szext_u32(uint32_t a, uint32_t length, bool wrap)
{
    return a & (uint32_t)num_low_bits(wrap ? length & 31 : length);
}

static inline int32_t num_szext_s32(int32_t a, uint32_t length, bool wrap)
{
    length = wrap ? length & 31 : length > 32 ? 32 : length;
    return num_bfe_s32(a, 0, length);
}

// lop3. For each bit position, the bits of a, b and c form an index into `table`; a's bit is the
// highest.
static inline uint32_t num_lop3(uint32_t a, uint32_t b, uint32_t c, uint8_t table)
{
    uint32_t result = 0;
    result |= table & 0x01 ? ~a & ~b & ~c : 0;
    result |= table & 0x02 ? ~a & ~b & c : 0;
    result |= table & 0x04 ? ~a & b & ~c : 0;
    result |= table & 0x08 ? ~a & b & c : 0;
    result |= table & 0x10 ? a & ~b & ~c : 0;
    result |= table & 0x20 ? a & ~b & c : 0;
    result |= table & 0x40 ? a & b & ~c : 0;
    result |= table & 0x80 ? a & b & c : 0;
    return result;
}

// --- Bytes ---------------------------------------------------------------------------------------

enum num_prmt {
    NUM_PRMT_INDEX, // no mode: each nibble of the selector picks one byte
    NUM_PRMT_F4E,
    NUM_PRMT_B4E,
    NUM_PRMT_RC8,
    NUM_PRMT_ECL,
    NUM_PRMT_ECR,
    NUM_PRMT_RC16,
};

// The selector with which prmt without a mode does the same as prmt with this mode.
uint32_t num_prmt_selector(enum num_prmt mode, uint32_t control);

// prmt without a mode. Bytes 0 to 3 are those of a, 4 to 7 those of b. Bit 3 of a nibble replicates
// the byte's sign bit instead of copying the byte.
static inline uint32_t num_prmt(uint32_t a, uint32_t b, uint32_t selector)
{
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t result = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint32_t nibble = selector >> 4 * i & 15;
        uint32_t byte = (uint32_t)(bytes >> 8 * (nibble & 7)) & 255;
        uint32_t sign = (byte >> 7) * 255u;
        result |= (nibble & 8 ? sign : byte) << 8 * i;
    }
    return result;
}

// Dot products; overflow wraps. dp4a adds the products of four bytes to c. dp2a adds the products
// of the two halves of a and two bytes of b: the low two, or with `hi` the high two.
uint32_t num_dp4a(uint32_t a, bool a_signed, uint32_t b, bool b_signed, uint32_t c);
uint32_t num_dp2a(uint32_t a, bool a_signed, uint32_t b, bool b_signed, bool hi, uint32_t c);

// --- Packed 16-bit integers ----------------------------------------------------------------------

static inline uint32_t num_add_x2(uint32_t a, uint32_t b)
{
    return ((a + b) & 0xFFFFu) | ((a & 0xFFFF0000u) + (b & 0xFFFF0000u));
}

static inline uint32_t num_min_u16x2(uint32_t a, uint32_t b)
{
    uint32_t low = (a & 0xFFFFu) < (b & 0xFFFFu) ? a : b;
    uint32_t high = (a >> 16) < (b >> 16) ? a : b;
    return (low & 0xFFFFu) | (high & 0xFFFF0000u);
}

static inline uint32_t num_max_u16x2(uint32_t a, uint32_t b)
{
    uint32_t low = (a & 0xFFFFu) > (b & 0xFFFFu) ? a : b;
    uint32_t high = (a >> 16) > (b >> 16) ? a : b;
    return (low & 0xFFFFu) | (high & 0xFFFF0000u);
}

// relu replaces negative values by 0.
static inline uint32_t num_relu_s16x2(uint32_t a)
{
    return a & ~((a >> 15 & 0x00010001u) * 0xFFFFu);
}

static inline uint32_t num_min_s16x2(uint32_t a, uint32_t b, bool relu)
{
    uint32_t least = num_min_u16x2(a ^ 0x80008000u, b ^ 0x80008000u) ^ 0x80008000u;
    return relu ? num_relu_s16x2(least) : least;
}

static inline uint32_t num_max_s16x2(uint32_t a, uint32_t b, bool relu)
{
    uint32_t largest = num_max_u16x2(a ^ 0x80008000u, b ^ 0x80008000u) ^ 0x80008000u;
    return relu ? num_relu_s16x2(largest) : largest;
}

#endif
