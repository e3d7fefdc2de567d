// SPDX-License-Identifier: Apache-2.0
// Integers and bits, compared with the loops in the PTX manual and with known answers.
#include "gpusim/numbers/int.h"

#include "numbers_testing.h"

enum { ROUNDS = 300000 };

// Small values, values near powers of two, and arbitrary ones.
static uint64_t random_int(uint64_t *seed)
{
    uint64_t bits = test_random(seed);
    switch (bits >> 62) {
    case 0: return bits & 63;
    case 1: return (UINT64_C(1) << (bits & 63)) + (bits >> 8 & 3) - 2;
    case 2: return bits >> (bits & 63);
    default: return test_random(seed);
    }
}

// --- References ----------------------------------------------------------------------------------

static bool bit(uint64_t value, unsigned position)
{
    return value >> position & 1;
}

// position and length are as the instruction reads them.
static uint64_t bfe_by_bits(uint64_t a, uint64_t position, uint64_t length, unsigned width,
                            bool is_signed)
{
    unsigned top = width - 1;
    uint64_t last = position + length - 1;
    bool fill = is_signed && length > 0 && bit(a, last < top ? (unsigned)last : top);
    uint64_t result = 0;
    for (unsigned i = 0; i < width; i++) {
        bool inside = i < length && position + i <= top;
        if (inside ? bit(a, (unsigned)position + i) : fill)
            result |= UINT64_C(1) << i;
    }
    return result;
}

static uint64_t bfi_by_bits(uint64_t a, uint64_t b, uint64_t position, uint64_t length,
                            unsigned width)
{
    for (unsigned i = 0; i < length && position + i < width; i++) {
        uint64_t mask = UINT64_C(1) << (position + i);
        b = bit(a, i) ? b | mask : b & ~mask;
    }
    return b;
}

static uint32_t bfind_by_bits(uint64_t a, unsigned width, bool is_signed, bool shiftamt)
{
    if (is_signed && bit(a, width - 1))
        a = ~a;
    for (unsigned i = width; i-- > 0;)
        if (bit(a, i))
            return shiftamt ? width - 1 - i : i;
    return UINT32_MAX;
}

static uint32_t fns_by_bits(uint32_t mask, uint32_t base, int32_t offset)
{
    if (offset == 0)
        return base < 32 && bit(mask, base) ? base : UINT32_MAX;
    int64_t count = (offset < 0 ? -(int64_t)offset : offset) - 1;
    for (int64_t i = base; i >= 0 && i<32; i += offset> 0 ? 1 : -1)
        if (bit(mask, (unsigned)i) && count-- == 0)
            return (uint32_t)i;
    return UINT32_MAX;
}

// --- Bits ----------------------------------------------------------------------------------------

static void bit_fields_follow_the_manual(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t a = random_int(&seed), b = random_int(&seed);
        uint32_t position = (uint32_t)random_int(&seed), length = (uint32_t)random_int(&seed);
        if (test_random(&seed) & 1) {
            position &= 127;
            length &= 127;
        }
        uint32_t a32 = (uint32_t)a, b32 = (uint32_t)b, p8 = position & 255, l8 = length & 255;
        assert_int_equal(num_bfe_u32(a32, position, length), bfe_by_bits(a32, p8, l8, 32, false));
        assert_int_equal((uint32_t)num_bfe_s32((int32_t)a32, position, length),
                         bfe_by_bits(a32, p8, l8, 32, true));
        assert_int_equal(num_bfe_u64(a, position, length),
                         bfe_by_bits(a, position, length, 64, false));
        assert_int_equal(num_bfe_s64((int64_t)a, position, length),
                         bfe_by_bits(a, position, length, 64, true));
        assert_int_equal(num_bfi_b32(a32, b32, position, length),
                         bfi_by_bits(a32, b32, p8, l8, 32));
        assert_int_equal(num_bfi_b64(a, b, position, length),
                         bfi_by_bits(a, b, position, length, 64));
        for (int shiftamt = 0; shiftamt < 2; shiftamt++) {
            assert_int_equal(num_bfind_u32(a32, shiftamt), bfind_by_bits(a32, 32, false, shiftamt));
            assert_int_equal(num_bfind_s32((int32_t)a32, shiftamt),
                             bfind_by_bits(a32, 32, true, shiftamt));
            assert_int_equal(num_bfind_u64(a, shiftamt), bfind_by_bits(a, 64, false, shiftamt));
            assert_int_equal(num_bfind_s64((int64_t)a, shiftamt),
                             bfind_by_bits(a, 64, true, shiftamt));
        }
        int32_t offset = (int32_t)(position % 40) - 20;
        assert_int_equal(num_fns(a32, length % 40, offset), fns_by_bits(a32, length % 40, offset));
        assert_int_equal(num_fns(a32, length, (int32_t)b32),
                         fns_by_bits(a32, length, (int32_t)b32));
    }
}

static void counting_and_reversing_go_bit_by_bit(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t a = random_int(&seed), reversed = 0;
        unsigned ones = 0, ones32 = 0, zeros = 64, zeros32 = 32;
        for (unsigned j = 0; j < 64; j++) {
            reversed |= (uint64_t)bit(a, j) << (63 - j);
            ones += bit(a, j);
            ones32 += j < 32 && bit(a, j);
            zeros = bit(a, j) ? 63 - j : zeros;
            zeros32 = j < 32 && bit(a, j) ? 31 - j : zeros32;
        }
        assert_int_equal(num_brev_b64(a), reversed);
        assert_int_equal(num_brev_b32((uint32_t)a), reversed >> 32);
        assert_int_equal(num_popc_b64(a), ones);
        assert_int_equal(num_popc_b32((uint32_t)a), ones32);
        assert_int_equal(num_clz_b64(a), zeros);
        assert_int_equal(num_clz_b32((uint32_t)a), zeros32);
    }
}

static void masks_and_extensions_clamp_or_wrap(void **state)
{
    (void)state;
    assert_int_equal(num_bmsk(3, 4, false), 0x78);
    assert_int_equal(num_bmsk(0, 32, false), 0xFFFFFFFFu);
    assert_int_equal(num_bmsk(0, 32, true), 0);
    assert_int_equal(num_bmsk(35, 4, false), 0);
    assert_int_equal(num_bmsk(35, 4, true), 0x78);
    assert_int_equal(num_bmsk(30, 9, false), 0xC0000000u);
    assert_int_equal(num_bmsk(UINT32_MAX, UINT32_MAX, false), 0);
    assert_int_equal(num_szext_u32(0xFFFFFFFF, 5, false), 31);
    assert_int_equal(num_szext_s32(0x10, 5, false), -16);
    assert_int_equal(num_szext_s32(0x0F, 5, false), 15);
    assert_int_equal(num_szext_s32(-7, 0, false), 0);
    assert_int_equal(num_szext_s32(-7, 32, false), -7);
    assert_int_equal(num_szext_s32(-7, 32, true), 0);
    assert_int_equal(num_szext_u32(0x1234, 1000, false), 0x1234);
    for (unsigned table = 0; table < 256; table++)
        assert_int_equal(num_lop3(0xF0, 0xCC, 0xAA, (uint8_t)table) & 0xFF, table);
}

static void shifts_beyond_the_width_leave_nothing(void **state)
{
    (void)state;
    for (uint32_t count = 0; count < 70; count++) {
        uint32_t a = 0x9ABCDEF1u;
        uint64_t wide = 0x923456789ABCDEF1u;
        assert_int_equal(num_shl_b32(a, count), count < 32 ? (uint32_t)((uint64_t)a << count) : 0);
        assert_int_equal(num_shr_u32(a, count), count < 32 ? a >> count : 0);
        assert_int_equal(num_shr_s32((int32_t)a, count), count < 32 ? (int32_t)a >> count : -1);
        assert_int_equal(num_shl_b64(wide, count), count < 64 ? wide << count : 0);
        assert_int_equal(num_shr_u64(wide, count), count < 64 ? wide >> count : 0);
        assert_int_equal(num_shr_s64((int64_t)wide, count),
                         count < 64 ? (int64_t)wide >> count : -1);
        assert_int_equal(num_shl_b16(0x8001, count), count < 16 ? (uint16_t)(0x8001u << count) : 0);
        assert_int_equal(num_shr_u16(0x8001, count), count < 16 ? 0x8001 >> count : 0);
        assert_int_equal(num_shr_s16(-2, count), -1 - (count == 0));
        uint32_t wrapped = count & 31, clamped = count < 32 ? count : 32;
        uint32_t low = (uint32_t)wide, high = (uint32_t)(wide >> 32);
        assert_int_equal(num_shf_l(low, high, count, true), (uint32_t)(wide << wrapped >> 32));
        assert_int_equal(num_shf_l(low, high, count, false), (uint32_t)(wide << clamped >> 32));
        assert_int_equal(num_shf_r(low, high, count, true), (uint32_t)(wide >> wrapped));
        assert_int_equal(num_shf_r(low, high, count, false), (uint32_t)(wide >> clamped));
    }
    assert_int_equal(num_shl_b32(1, UINT32_MAX), 0);
    assert_int_equal(num_shr_s64(-5, UINT32_MAX), -1);
}

// --- Arithmetic ----------------------------------------------------------------------------------

static void products_and_sums_agree_with_128_bits(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t a = random_int(&seed), b = random_int(&seed), c = random_int(&seed);
        __int128 product = (__int128)(int64_t)a * (int64_t)b;
        assert_int_equal(num_mul_hi_u64(a, b), (uint64_t)((unsigned __int128)a * b >> 64));
        assert_int_equal(num_mul_hi_s64((int64_t)a, (int64_t)b), (int64_t)(product >> 64));
        int32_t x = (int32_t)a, y = (int32_t)b, z = (int32_t)c;
        uint32_t ux = (uint32_t)a, uy = (uint32_t)b, uz = (uint32_t)c;
        assert_int_equal(num_mul_wide_s32(x, y), (int64_t)((__int128)x * y));
        assert_int_equal(num_mul_hi_s32(x, y), (int32_t)((__int128)x * y >> 32));
        assert_int_equal(num_mul_hi_u32(ux, uy), (uint32_t)((unsigned __int128)ux * uy >> 32));
        assert_int_equal(num_mul_hi_s16((int16_t)x, (int16_t)y),
                         (int16_t)((int16_t)x * (int16_t)y >> 16));
        assert_int_equal(num_mul_hi_u16((uint16_t)x, (uint16_t)y),
                         (uint16_t)((uint32_t)(uint16_t)x * (uint16_t)y >> 16));
        __int128 small = (__int128)((int32_t)(ux << 8) >> 8) * ((int32_t)(uy << 8) >> 8);
        assert_int_equal(num_mul24_s32(x, y, false), (int32_t)(uint32_t)small);
        assert_int_equal(num_mul24_s32(x, y, true), (int32_t)(uint32_t)(small >> 16));
        __int128 sum = (__int128)(int32_t)((__int128)x * y >> 32) + z;
        assert_int_equal(num_mad_hi_sat_s32(x, y, z), sum > INT32_MAX   ? INT32_MAX
                                                      : sum < INT32_MIN ? INT32_MIN
                                                                        : (int32_t)sum);
        sum = (small >> 16) + z;
        assert_int_equal(num_mad24_hi_sat_s32(x, y, z), sum > INT32_MAX   ? INT32_MAX
                                                        : sum < INT32_MIN ? INT32_MIN
                                                                          : (int32_t)sum);
        __int128 distance = (__int128)(int64_t)a - (int64_t)b;
        assert_int_equal(num_sad_s64((int64_t)a, (int64_t)b, c),
                         (uint64_t)(distance < 0 ? -distance : distance) + c);
        distance = (__int128)a - b;
        assert_int_equal(num_sad_u64(a, b, c), (uint64_t)(distance < 0 ? -distance : distance) + c);
        assert_int_equal(num_sad_u32(ux, uy, uz), (uint32_t)num_sad_u64(ux, uy, uz));
        assert_int_equal(num_sad_s32(x, y, uz), (uint32_t)num_sad_s64(x, y, uz));
    }
}

static void carries_make_long_sums(void **state)
{
    (void)state;
    uint64_t seed = 4;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t a = random_int(&seed), b = random_int(&seed);
        bool carry = false;
        uint32_t low = num_addc_u32((uint32_t)a, (uint32_t)b, false, &carry);
        uint32_t high = num_addc_u32((uint32_t)(a >> 32), (uint32_t)(b >> 32), carry, &carry);
        assert_int_equal((uint64_t)high << 32 | low, a + b);
        assert_int_equal(carry, a + b < a);
        bool wide = false;
        assert_int_equal(num_addc_u64(a, b, true, &wide), a + b + 1);
        assert_int_equal(wide, (bool)(((unsigned __int128)a + b + 1) >> 64));
        low = num_subc_u32((uint32_t)a, (uint32_t)b, false, &carry);
        high = num_subc_u32((uint32_t)(a >> 32), (uint32_t)(b >> 32), carry, &carry);
        assert_int_equal((uint64_t)high << 32 | low, a - b);
        assert_int_equal(carry, a < b);
        assert_int_equal(num_subc_u64(a, b, true, &wide), a - b - 1);
        assert_int_equal(wide, a <= b);
    }
}

// Division by zero: as on an H200.
static void division_has_an_answer_for_everything(void **state)
{
    (void)state;
    assert_int_equal(num_div_u32(7, 0), UINT32_MAX);
    assert_int_equal(num_rem_u32(7, 0), UINT32_MAX);
    assert_int_equal(num_div_s32(-7, 0), -1);
    assert_int_equal(num_rem_s32(7, 0), -1);
    assert_int_equal(num_div_u64(7, 0), UINT64_MAX);
    assert_int_equal(num_rem_u64(7, 0), UINT64_MAX);
    assert_int_equal(num_div_s64(7, 0), -1);
    assert_int_equal(num_rem_s64(-7, 0), -1);
    assert_int_equal(num_div_s32(INT32_MIN, -1), INT32_MIN);
    assert_int_equal(num_rem_s32(INT32_MIN, -1), 0);
    assert_int_equal(num_div_s64(INT64_MIN, -1), INT64_MIN);
    assert_int_equal(num_rem_s64(INT64_MIN, -1), 0);
    assert_int_equal(num_div_s32(-7, 2), -3);
    assert_int_equal(num_rem_s32(-7, 2), -1);
    assert_int_equal(num_rem_s64(7, -2), 1);
    assert_int_equal(num_div_u32(0xFFFFFFF9u, 2), 0x7FFFFFFCu);
}

// Near multiples of the divisor, where a quotient that is not exact would be another one.
static void quotients_are_exact(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 300000; i++) {
        const uint32_t b = (uint32_t)test_random(&seed) >> test_random(&seed) % 32 | 1;
        const uint32_t quotient = (uint32_t)test_random(&seed) >> test_random(&seed) % 32;
        const uint32_t a = quotient * b + (uint32_t)(test_random(&seed) % 3) - 1;
        const int32_t c = (int32_t)a, d = i % 2 ? (int32_t)b : (int32_t) - (b >> 1 | 1);
        assert_int_equal(num_div_u32(a, b), a / b);
        assert_int_equal(num_rem_u32(a, b), a % b);
        assert_true(num_div_s32(c, d) == (int32_t)((int64_t)c / d));
        assert_true(num_rem_s32(c, d) == (int32_t)((int64_t)c % d));
    }
}

static void signs_wrap_and_sums_saturate(void **state)
{
    (void)state;
    assert_int_equal(num_abs_s32(INT32_MIN), INT32_MIN);
    assert_int_equal(num_abs_s64(INT64_MIN), INT64_MIN);
    assert_int_equal(num_abs_s32(-5), 5);
    assert_int_equal(num_neg_s32(INT32_MIN), INT32_MIN);
    assert_int_equal(num_neg_s64(5), -5);
    assert_int_equal(num_add_sat_s32(INT32_MAX, 1), INT32_MAX);
    assert_int_equal(num_add_sat_s32(INT32_MIN, -1), INT32_MIN);
    assert_int_equal(num_sub_sat_s32(INT32_MIN, 1), INT32_MIN);
    assert_int_equal(num_sub_sat_s32(0, INT32_MIN), INT32_MAX);
    assert_int_equal(num_clamp_u32(-1), 0);
    assert_int_equal(num_clamp_u32(INT64_C(1) << 40), UINT32_MAX);
    assert_int_equal(num_mul24_u32(0xFF000003u, 5, false), 15);
    assert_int_equal(num_mul24_u32(0xFFFFFF, 0xFFFFFF, true), 0xFFFFFE00u);
}

// --- Bytes and halves ----------------------------------------------------------------------------

static void prmt_picks_bytes_in_every_mode(void **state)
{
    (void)state;
    const uint32_t a = 0x83828180u, b = 0x07060504u;
    assert_int_equal(num_prmt(a, b, 0x3210), a);
    assert_int_equal(num_prmt(a, b, 0x7654), b);
    assert_int_equal(num_prmt(a, b, 0x0426), 0x80048206u);
    assert_int_equal(num_prmt(a, b, 0x8CBF), 0xFF00FF00u);
    static const struct {
        enum num_prmt mode;
        uint32_t results[4];
    } rows[] = {
        {NUM_PRMT_F4E, {0x83828180, 0x04838281, 0x05048382, 0x06050483}},
        {NUM_PRMT_B4E, {0x05060780, 0x06078081, 0x07808182, 0x80818283}},
        {NUM_PRMT_RC8, {0x80808080, 0x81818181, 0x82828282, 0x83838383}},
        {NUM_PRMT_ECL, {0x83828180, 0x83828181, 0x83828282, 0x83838383}},
        {NUM_PRMT_ECR, {0x80808080, 0x81818180, 0x82828180, 0x83828180}},
        {NUM_PRMT_RC16, {0x81808180, 0x83828382, 0x81808180, 0x83828382}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t control = 0; control < 8; control++)
            assert_int_equal(num_prmt(a, b, num_prmt_selector(rows[i].mode, control)),
                             rows[i].results[control & 3]);
    assert_int_equal(num_prmt_selector(NUM_PRMT_INDEX, 0xABCD1234u), 0x1234);
}

static void dot_products_extend_as_told(void **state)
{
    (void)state;
    assert_int_equal(num_dp4a(0x01FF0280u, false, 0x02030405u, false, 10),
                     10 + 2 + 255 * 3 + 8 + 128 * 5);
    assert_int_equal((int32_t)num_dp4a(0x01FF0280u, true, 0x02030405u, true, 10),
                     10 + 2 - 3 + 8 - 128 * 5);
    assert_int_equal((int32_t)num_dp4a(0x000000FFu, true, 0x000000FFu, false, 0), -255);
    assert_int_equal((int32_t)num_dp2a(0xFFFF0003u, true, 0x01020304u, false, false, 1),
                     1 - 3 + 12);
    assert_int_equal((int32_t)num_dp2a(0xFFFF0003u, true, 0x01020304u, false, true, 1), 1 - 1 + 6);
    assert_int_equal(num_dp2a(0xFFFF0003u, false, 0x01020304u, false, false, 1),
                     1 + 65535 * 3 + 12);
}

static void packed_halves_do_not_touch(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t a = (uint32_t)test_random(&seed), b = (uint32_t)test_random(&seed);
        int16_t al = (int16_t)a, ah = (int16_t)(a >> 16), bl = (int16_t)b, bh = (int16_t)(b >> 16);
        int16_t low = al < bl ? al : bl, high = ah < bh ? ah : bh;
        int16_t top_low = al > bl ? al : bl, top_high = ah > bh ? ah : bh;
        assert_int_equal(num_add_x2(a, b), (uint16_t)(al + bl) | (uint32_t)(uint16_t)(ah + bh)
                                                                     << 16);
        assert_int_equal(num_min_s16x2(a, b, false),
                         (uint16_t)low | (uint32_t)(uint16_t)high << 16);
        assert_int_equal(num_max_s16x2(a, b, false),
                         (uint16_t)top_low | (uint32_t)(uint16_t)top_high << 16);
        low = low < 0 ? 0 : low;
        high = high < 0 ? 0 : high;
        assert_int_equal(num_min_s16x2(a, b, true), (uint16_t)low | (uint32_t)(uint16_t)high << 16);
        uint32_t u = (a & 0xFFFFu) < (b & 0xFFFFu) ? a & 0xFFFFu : b & 0xFFFFu;
        u |= a >> 16 < b >> 16 ? a & 0xFFFF0000u : b & 0xFFFF0000u;
        assert_int_equal(num_min_u16x2(a, b), u);
        assert_int_equal(num_max_u16x2(a, b) + (uint64_t)u, (uint64_t)a + b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bit_fields_follow_the_manual),
        cmocka_unit_test(counting_and_reversing_go_bit_by_bit),
        cmocka_unit_test(masks_and_extensions_clamp_or_wrap),
        cmocka_unit_test(shifts_beyond_the_width_leave_nothing),
        cmocka_unit_test(products_and_sums_agree_with_128_bits),
        cmocka_unit_test(carries_make_long_sums),
        cmocka_unit_test(division_has_an_answer_for_everything),
        cmocka_unit_test(quotients_are_exact),
        cmocka_unit_test(signs_wrap_and_sums_saturate),
        cmocka_unit_test(prmt_picks_bytes_in_every_mode),
        cmocka_unit_test(dot_products_extend_as_told),
        cmocka_unit_test(packed_halves_do_not_touch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
