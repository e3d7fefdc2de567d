// SPDX-License-Identifier: Apache-2.0
// Patterns of values of a launch that both reads and writes its object, on small models: what its
// loads and stores moved confirms them, contradicts them, or leaves them unknown. Each near miss
// differs from a match in one number.
#include "value_rows.h"

#include <math.h>

// Different values from least to greatest.
static struct profile_value_field range(enum profile_value_type type, uint64_t least,
                                        uint64_t greatest)
{
    struct profile_value_field field = plain(type, MANY);
    field.least = least;
    field.greatest = greatest;
    return field;
}

// What a launch moved.
struct moved {
    uint64_t any, all, most;
    uint32_t flags, stride, offset;
    enum profile_value_type type;
    enum profile_accessed_way way;
};

static struct moved of(enum profile_value_type type, uint64_t any, uint64_t all, uint64_t most)
{
    return (struct moved){.any = any,
                          .all = all,
                          .most = most,
                          .type = type,
                          .stride = (uint32_t)size_of(type),
                          .way = PROFILE_ACCESSED_WRITTEN};
}

enum { NOTHING, BORDER, CONFIRMED };

// Adds what the last call moved.
static void accessed(struct analyze_model *model, uint32_t object, const struct moved *moved)
{
    struct analyze_accessed *made = base_array_push(&model->accessed);
    assert_non_null(made);
    *made = (struct analyze_accessed){(uint32_t)model->calls.count - 1, object,
                                      (struct profile_accessed){.call = model->calls.count,
                                                                .object = object + 1,
                                                                .any_bits = moved->any,
                                                                .all_bits = moved->all,
                                                                .most = moved->most,
                                                                .stride = moved->stride,
                                                                .offset = moved->offset,
                                                                .flags = moved->flags,
                                                                .type = moved->type,
                                                                .way = moved->way}};
}

// Returns how the pattern was found, which may be only once.
static int found_once(enum analyze_pattern pattern)
{
    int how = NOTHING;
    for (size_t i = 0; i < last->finding_count; i++) {
        const struct analyze_finding *finding = &last->findings[i];
        if (finding->pattern != pattern)
            continue;
        assert_int_equal(how, NOTHING);
        assert_int_equal(value_of(finding, "border") + value_of(finding, "in_between"), 1);
        how = value_of(finding, "border") ? BORDER : CONFIRMED;
    }
    return how;
}

// A launch reads and writes an object, and leaves such a field behind. Checks what is found: the
// pattern, marked as border or confirmed, or nothing. `also` is moved, too; it may be NULL.
static void expect_both(struct profile_value_field field, struct moved moved,
                        const struct moved *also, enum analyze_pattern pattern, int wanted)
{
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, MANY * size_of(field.type));
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_READ | ANALYZE_WRITE);
    row(&model, a, PROFILE_CONTENTS_WRITTEN, &field, 1);
    accessed(&model, a, &moved);
    if (also)
        accessed(&model, a, also);
    last = analyze(&model, analyze_default_thresholds());
    assert_int_equal(found_once(pattern), wanted);
    forget(NULL);
}

static void expect_moved(struct profile_value_field field, struct moved moved,
                         enum analyze_pattern pattern, int wanted)
{
    expect_both(field, moved, NULL, pattern, wanted);
}

// --- Single values -------------------------------------------------------------------------------

static void one_other_value_in_between_contradicts(void **state)
{
    (void)state;
    const enum profile_value_type f32 = PROFILE_TYPE_F32, s32 = PROFILE_TYPE_S32;
    const struct profile_value_field half = constant(f32, MANY, bits_of(0.5), 0x3f000000);
    const uint64_t bits = 0x3f000000;
    expect_moved(half, of(f32, bits, bits, bits_of(0.5)), ANALYZE_SINGLE_VALUE, CONFIRMED);
    expect_moved(half, of(f32, bits | 1, bits, bits_of(0.5)), ANALYZE_SINGLE_VALUE, NOTHING);
    expect_moved(half, of(f32, bits, 0, bits_of(0.5)), ANALYZE_SINGLE_VALUE, NOTHING); // a zero
    expect_moved(half, of(f32, bits | 0x80000000, bits, bits_of(0.5)), ANALYZE_SINGLE_VALUE,
                 NOTHING);
    expect_moved(half, of(f32, 0x7fc00000, 0x3f000000, bits_of(NAN)), ANALYZE_SINGLE_VALUE,
                 NOTHING);
    // All values are the same, but not those at the border.
    expect_moved(half, of(f32, 0x3f800000, 0x3f800000, bits_of(1)), ANALYZE_SINGLE_VALUE, NOTHING);
    const struct profile_value_field seven = constant(s32, MANY, 7, 7);
    expect_moved(seven, of(s32, 7, 7, 7), ANALYZE_SINGLE_VALUE, CONFIRMED);
    expect_moved(seven, of(s32, 7, 5, 7), ANALYZE_SINGLE_VALUE, NOTHING);
    const struct profile_value_field nan = constant(f32, MANY, bits_of(NAN), 0x7fc00000);
    expect_moved(nan, of(f32, 0x7fc00000, 0x7fc00000, bits_of(NAN)), ANALYZE_SINGLE_VALUE,
                 CONFIRMED);
    expect_moved(nan, of(f32, 0x7fc00001, 0x7fc00000, bits_of(NAN)), ANALYZE_SINGLE_VALUE, NOTHING);
}

static void zeros_have_either_sign(void **state)
{
    (void)state;
    const enum profile_value_type f32 = PROFILE_TYPE_F32, raw = PROFILE_TYPE_RAW;
    const struct profile_value_field zero = constant(f32, MANY, 0, 0);
    expect_moved(zero, of(f32, 0, 0, 0), ANALYZE_SINGLE_ZERO, CONFIRMED);
    expect_moved(zero, of(f32, 0x80000000, 0, 0), ANALYZE_SINGLE_ZERO, CONFIRMED);
    expect_moved(zero, of(f32, 1, 0, bits_of(0x1p-149)), ANALYZE_SINGLE_ZERO, NOTHING);
    expect_moved(zero, of(f32, 0x7fc00000, 0, bits_of(NAN)), ANALYZE_SINGLE_ZERO, NOTHING);
    expect_moved(constant(raw, MANY, 0, 0), of(raw, 0, 0, 0), ANALYZE_SINGLE_ZERO, CONFIRMED);
    expect_moved(constant(raw, MANY, 0, 0), of(raw, 0x80000000, 0, 0x80000000), ANALYZE_SINGLE_ZERO,
                 NOTHING);
}

static void what_was_not_seen_stays_unknown(void **state)
{
    (void)state;
    const enum profile_value_type f32 = PROFILE_TYPE_F32;
    const struct profile_value_field zero = constant(f32, MANY, 0, 0);
    struct moved moved = of(f32, 0, 0, 0);
    moved.way = PROFILE_ACCESSED_READ; // what it stored is missing
    expect_moved(zero, moved, ANALYZE_SINGLE_ZERO, BORDER);
    moved = of(f32, 0, 0, 0);
    moved.flags = PROFILE_ACCESSED_INCOMPLETE;
    expect_moved(zero, moved, ANALYZE_SINGLE_ZERO, BORDER);
    // A value that was seen contradicts, even if others were not seen.
    moved = of(f32, 1, 0, 1);
    moved.flags = PROFILE_ACCESSED_INCOMPLETE;
    expect_moved(zero, moved, ANALYZE_SINGLE_ZERO, NOTHING);
    // Another layout.
    moved = of(f32, 1, 0, 1);
    moved.stride = 8;
    expect_moved(zero, moved, ANALYZE_SINGLE_ZERO, BORDER);
    moved = of(PROFILE_TYPE_S32, 1, 0, 1);
    expect_moved(zero, moved, ANALYZE_SINGLE_ZERO, BORDER);
    // The same bytes were stored as another type, too; or other bytes of a structure.
    moved = of(PROFILE_TYPE_S32, 0, 0, 0);
    expect_both(zero, of(f32, 0, 0, 0), &moved, ANALYZE_SINGLE_ZERO, BORDER);
    moved.offset = 2;
    expect_both(zero, of(f32, 0, 0, 0), &moved, ANALYZE_SINGLE_ZERO, BORDER);
    moved.offset = 4;
    expect_both(zero, of(f32, 0, 0, 0), &moved, ANALYZE_SINGLE_ZERO, CONFIRMED);
}

// Of two launches that write the object, only what one moved is known.
static void one_launch_that_was_not_seen_is_enough(void **state)
{
    (void)state;
    for (unsigned seen = 0; seen < 2; seen++) {
        struct analyze_model model;
        const struct profile_value_field bytes = range(PROFILE_TYPE_U32, 0, 255);
        const struct moved stored = of(PROFILE_TYPE_U32, 255, 0, 255);
        struct moved loaded = stored;
        loaded.way = PROFILE_ACCESSED_READ;
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        for (uint32_t i = 0; i < 2; i++) {
            launch(&model, LEGACY, 1 + i);
            uses(&model, a, ANALYZE_READ | ANALYZE_WRITE);
            row(&model, a, PROFILE_CONTENTS_WRITTEN, &bytes, 1);
            if (i == 0 || seen) {
                accessed(&model, a, &loaded);
                accessed(&model, a, &stored);
            }
        }
        last = analyze(&model, analyze_default_thresholds());
        assert_int_equal(found_once(ANALYZE_HEAVY_TYPE), seen ? CONFIRMED : BORDER);
        forget(NULL);
    }
}

// --- Narrower types ------------------------------------------------------------------------------

static void integers_must_fit_in_between(void **state)
{
    (void)state;
    const enum profile_value_type u32 = PROFILE_TYPE_U32, s32 = PROFILE_TYPE_S32;
    const struct profile_value_field bytes = range(u32, 0, 255);
    expect_moved(bytes, of(u32, 255, 0, 255), ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect_moved(bytes, of(u32, 256, 0, 256), ANALYZE_HEAVY_TYPE, NOTHING);
    const struct profile_value_field small = range(s32, (uint64_t)-128, 127);
    const uint64_t any = UINT32_MAX, sign = 0xffffff80;
    expect_moved(small, of(s32, any, 0, 127), ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect_moved(small, of(s32, any, 0, 128), ANALYZE_HEAVY_TYPE, BORDER); // 128 or -128
    expect_moved(small, of(s32, any, sign, 128), ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect_moved(small, of(s32, 255, 0, 128), ANALYZE_HEAVY_TYPE, NOTHING);
    expect_moved(small, of(s32, any, 0, 129), ANALYZE_HEAVY_TYPE, NOTHING);
    expect_moved(range(s32, 0, 200), of(s32, any, 0, 1), ANALYZE_HEAVY_TYPE, NOTHING); // -1 in u8
}

static void floats_must_fit_in_between(void **state)
{
    (void)state;
    const enum profile_value_type f32 = PROFILE_TYPE_F32, f64 = PROFILE_TYPE_F64;
    struct profile_value_field brief = range(f32, bits_of(-1e30), bits_of(1e30));
    brief.brief = MANY;
    expect_moved(brief, of(f32, 0xffff0000, 0, bits_of(INFINITY)), ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect_moved(brief, of(f32, 0xffff8000, 0, bits_of(1)), ANALYZE_HEAVY_TYPE, NOTHING);
    struct profile_value_field half = range(f32, bits_of(1.5), bits_of(100.5));
    half.narrow = MANY;
    const uint64_t one = 0x3f800000;
    expect_moved(half, of(f32, one | 0x7fe000, one, bits_of(1.75)), ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect_moved(half, of(f32, one | 0x7ff000, one, bits_of(1.75)), ANALYZE_HEAVY_TYPE, NOTHING);
    expect_moved(half, of(f32, 0x7fffe000, 0, bits_of(65536)), ANALYZE_HEAVY_TYPE, NOTHING);
    // Very small numbers may hide below others, and large ones below infinity.
    expect_moved(half, of(f32, one | 0x7fe000, 0, bits_of(1.75)), ANALYZE_HEAVY_TYPE, BORDER);
    expect_moved(half, of(f32, 0x7fffe000, one, bits_of(INFINITY)), ANALYZE_HEAVY_TYPE, BORDER);
    struct profile_value_field wide = range(f64, bits_of(1.5), bits_of(1e30));
    wide.narrow = MANY;
    const uint64_t double_one = bits_of(1);
    expect_moved(wide, of(f64, double_one | 0xfffffe0000000, double_one, bits_of(1.5)),
                 ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect_moved(wide, of(f64, double_one | 0x10000000, double_one, bits_of(1.5)),
                 ANALYZE_HEAVY_TYPE, NOTHING);
    expect_moved(wide, of(f64, 0x7fffffffe0000000, double_one, bits_of(0x1p128)),
                 ANALYZE_HEAVY_TYPE, NOTHING);
    // The limits of the narrower type.
    const uint64_t least = bits_of(0x1p-126), below = bits_of(0x1p-127);
    const uint64_t greatest = bits_of(0x1.fffffep127);
    expect_moved(wide, of(f64, least, least, bits_of(1)), ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect_moved(wide, of(f64, below, below, bits_of(1)), ANALYZE_HEAVY_TYPE, BORDER);
    expect_moved(wide, of(f64, greatest, greatest, greatest), ANALYZE_HEAVY_TYPE, CONFIRMED);
    const uint64_t small = 0x38800000, smaller = 0x38000000; // 2^-14, 2^-15
    expect_moved(half, of(f32, small, small, bits_of(1)), ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect_moved(half, of(f32, smaller, smaller, bits_of(1)), ANALYZE_HEAVY_TYPE, BORDER);
    const uint64_t negative = 0x80000000 | smaller;
    expect_moved(half, of(f32, negative, negative, bits_of(1)), ANALYZE_HEAVY_TYPE, BORDER);
    expect_moved(half, of(f32, one, one, bits_of(65504)), ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect_moved(half, of(f32, 0x80000000, 0, 0), ANALYZE_HEAVY_TYPE, CONFIRMED); // zeros
}

static void floats_must_be_integers_in_between(void **state)
{
    (void)state;
    const enum profile_value_type f32 = PROFILE_TYPE_F32;
    struct profile_value_field whole = range(f32, bits_of(1), bits_of(200));
    whole.integral = MANY;
    const uint64_t two = 0x40000000; // 2 or more: the mantissa has one bit above the point
    expect_moved(whole, of(f32, two | 0x400000, two, bits_of(3)), ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect_moved(whole, of(f32, two | 0x200000, two, bits_of(3)), ANALYZE_HEAVY_TYPE, BORDER);
    expect_moved(whole, of(f32, 0x7f800000, 0, bits_of(3)), ANALYZE_HEAVY_TYPE, BORDER);
    expect_moved(whole, of(f32, 0x7f800000, two, bits_of(257)), ANALYZE_HEAVY_TYPE, NOTHING);
    expect_moved(whole, of(f32, 0xc0400000, two, bits_of(3)), ANALYZE_HEAVY_TYPE,
                 NOTHING); // -0.0 or -3
    expect_moved(whole, of(f32, 0x7fc00000, two, bits_of(NAN)), ANALYZE_HEAVY_TYPE, NOTHING);
    // 256 is the limit of u8, and 0.5 has an exponent below that of integers.
    expect_moved(whole, of(f32, two, two, bits_of(255)), ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect_moved(whole, of(f32, two, two, bits_of(256)), ANALYZE_HEAVY_TYPE, NOTHING);
    expect_moved(whole, of(f32, 0x3f000000, 0x3f000000, bits_of(0.5)), ANALYZE_HEAVY_TYPE, BORDER);
    struct profile_value_field small = range(f32, bits_of(-128), bits_of(127));
    small.integral = MANY;
    const uint64_t minus_two = 0xc0000000;
    expect_moved(small, of(f32, minus_two, two, bits_of(127)), ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect_moved(small, of(f32, minus_two, two, bits_of(128)), ANALYZE_HEAVY_TYPE,
                 BORDER); // 128 or -128
    expect_moved(small, of(f32, minus_two, minus_two, bits_of(128)), ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect_moved(small, of(f32, two, two, bits_of(128)), ANALYZE_HEAVY_TYPE, NOTHING);
    expect_moved(small, of(f32, minus_two, minus_two, bits_of(129)), ANALYZE_HEAVY_TYPE, NOTHING);
}

// The least positive integer, and half of it, in each type.
static void each_type_has_its_own_exponents(void **state)
{
    (void)state;
    static const struct {
        enum profile_value_type type;
        uint64_t one, half;
    } cases[] = {{PROFILE_TYPE_F16, 0x3c00, 0x3800},
                 {PROFILE_TYPE_BF16, 0x3f80, 0x3f00},
                 {PROFILE_TYPE_F32, 0x3f800000, 0x3f000000},
                 {PROFILE_TYPE_F64, 0x3ff0000000000000, 0x3fe0000000000000}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct profile_value_field whole = range(cases[i].type, bits_of(1), bits_of(200));
        whole.integral = MANY;
        expect_moved(whole, of(cases[i].type, cases[i].one, cases[i].one, bits_of(1)),
                     ANALYZE_HEAVY_TYPE, CONFIRMED);
        expect_moved(whole, of(cases[i].type, cases[i].half, cases[i].half, bits_of(0.5)),
                     ANALYZE_HEAVY_TYPE, BORDER);
    }
}

// Results are not indexed, whatever was seen in between.
static void few_values_of_a_result_are_no_index(void **state)
{
    (void)state;
    struct profile_value_field few = range(PROFILE_TYPE_S32, (uint64_t)-70000, 70000);
    few.distinct = 200;
    expect_moved(few, of(PROFILE_TYPE_S32, UINT32_MAX, 0, 70000), ANALYZE_HEAVY_TYPE, NOTHING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_other_value_in_between_contradicts),
        cmocka_unit_test(zeros_have_either_sign),
        cmocka_unit_test(what_was_not_seen_stays_unknown),
        cmocka_unit_test(one_launch_that_was_not_seen_is_enough),
        cmocka_unit_test(integers_must_fit_in_between),
        cmocka_unit_test(floats_must_fit_in_between),
        cmocka_unit_test(floats_must_be_integers_in_between),
        cmocka_unit_test(each_type_has_its_own_exponents),
        cmocka_unit_test(few_values_of_a_result_are_no_index),
    };
    return cmocka_run_group_tests_name("analyze.accesses", tests, NULL, NULL);
}
