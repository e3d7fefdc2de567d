// SPDX-License-Identifier: Apache-2.0
// Patterns of values of a launch that both reads and writes its object, on small models: what its
// loads and stores moved confirms them, contradicts them, or leaves them unknown. Each near miss
// differs from a match in one number.
#include "wanted.h"

#include <math.h>

enum { MANY = 2048 }; // elements

static uint64_t bits_of(double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof(bits));
    return bits;
}

static uint32_t size_of(enum profile_value_type type)
{
    return type == PROFILE_TYPE_F64 || type == PROFILE_TYPE_S64 ? 8 : 4;
}

// All elements hold one value.
static struct profile_value_field constant(enum profile_value_type type, uint64_t value,
                                           uint64_t stored_bits)
{
    return (struct profile_value_field){.elements = MANY,
                                        .zeros = value == 0 ? MANY : 0,
                                        .least = value,
                                        .greatest = value,
                                        .any_bits = stored_bits,
                                        .all_bits = stored_bits,
                                        .distinct = 1,
                                        .type = type,
                                        .candidates = {{value, MANY}}};
}

// Different values from least to greatest.
static struct profile_value_field range(enum profile_value_type type, uint64_t least,
                                        uint64_t greatest)
{
    return (struct profile_value_field){.elements = MANY,
                                        .least = least,
                                        .greatest = greatest,
                                        .any_bits = UINT32_MAX,
                                        .distinct = PROFILE_DISTINCT + 1,
                                        .type = type,
                                        .candidates = {{least, 1}}};
}

// What a launch moved.
struct moved {
    uint64_t any, all, most;
    uint32_t flags, stride, offset;
    enum profile_value_type type;
    bool is_missing;
};

static struct moved of(enum profile_value_type type, uint64_t any, uint64_t all, uint64_t most)
{
    return (struct moved){
        .any = any, .all = all, .most = most, .type = type, .stride = size_of(type)};
}

enum { NOTHING, BORDER, CONFIRMED };

// A launch reads and writes an object, and leaves such a field behind. Checks what is found: the
// pattern, marked as border or confirmed, or nothing.
static void expect(struct profile_value_field field, struct moved moved,
                   enum analyze_pattern pattern, int wanted)
{
    struct analyze_model model;
    model_begin(&model);
    const uint64_t bytes = MANY * (uint64_t)size_of(field.type);
    uint32_t a = allocate(&model, bytes);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_READ | ANALYZE_WRITE);
    struct profile_contents *made = base_new(&model.arena, struct profile_contents);
    memset(made, 0, sizeof(*made));
    *made = (struct profile_contents){.call = model.calls.count,
                                      .object = a + 1,
                                      .pieces = bytes / 4096,
                                      .bytes = bytes,
                                      .moved_bytes = bytes,
                                      .known_pieces = bytes / 4096,
                                      .all_pieces = bytes / 4096,
                                      .kind = PROFILE_CONTENTS_WRITTEN,
                                      .stride = size_of(field.type),
                                      .field_count = 1};
    made->fields[0] = field;
    *(struct analyze_contents *)base_array_push(&model.contents) =
        (struct analyze_contents){(uint32_t)model.calls.count - 1, a, made};
    if (!moved.is_missing)
        *(struct analyze_accessed *)base_array_push(&model.accessed) =
            (struct analyze_accessed){(uint32_t)model.calls.count - 1, a,
                                      (struct profile_accessed){.call = model.calls.count,
                                                                .object = a + 1,
                                                                .any_bits = moved.any,
                                                                .all_bits = moved.all,
                                                                .most = moved.most,
                                                                .stride = moved.stride,
                                                                .offset = moved.offset,
                                                                .flags = moved.flags,
                                                                .type = moved.type,
                                                                .way = PROFILE_ACCESSED_WRITTEN}};
    struct analysis *analysis = analyze(&model, analyze_default_thresholds());
    int found = NOTHING;
    for (size_t i = 0; i < analysis->finding_count; i++) {
        const struct analyze_finding *finding = &analysis->findings[i];
        if (finding->pattern != pattern)
            continue;
        assert_int_equal(found, NOTHING);
        assert_int_equal(value_of(finding, "border") + value_of(finding, "in_between"), 1);
        found = value_of(finding, "border") ? BORDER : CONFIRMED;
    }
    assert_int_equal(found, wanted);
    analyze_free(analysis);
}

// --- Single values -------------------------------------------------------------------------------

static void one_other_value_in_between_contradicts(void **state)
{
    (void)state;
    const enum profile_value_type f32 = PROFILE_TYPE_F32, s32 = PROFILE_TYPE_S32;
    const struct profile_value_field half = constant(f32, bits_of(0.5), 0x3f000000);
    const uint64_t bits = 0x3f000000;
    expect(half, of(f32, bits, bits, bits_of(0.5)), ANALYZE_SINGLE_VALUE, CONFIRMED);
    expect(half, of(f32, bits | 1, bits, bits_of(0.5)), ANALYZE_SINGLE_VALUE, NOTHING);
    expect(half, of(f32, bits, 0, bits_of(0.5)), ANALYZE_SINGLE_VALUE, NOTHING); // a zero
    expect(half, of(f32, bits | 0x80000000, bits, bits_of(0.5)), ANALYZE_SINGLE_VALUE, NOTHING);
    expect(half, of(f32, 0x7fc00000, 0x3f000000, bits_of(NAN)), ANALYZE_SINGLE_VALUE, NOTHING);
    // All values are the same, but not those at the border.
    expect(half, of(f32, 0x3f800000, 0x3f800000, bits_of(1)), ANALYZE_SINGLE_VALUE, NOTHING);
    const struct profile_value_field seven = constant(s32, 7, 7);
    expect(seven, of(s32, 7, 7, 7), ANALYZE_SINGLE_VALUE, CONFIRMED);
    expect(seven, of(s32, 7, 5, 7), ANALYZE_SINGLE_VALUE, NOTHING);
    const struct profile_value_field nan = constant(f32, bits_of(NAN), 0x7fc00000);
    expect(nan, of(f32, 0x7fc00000, 0x7fc00000, bits_of(NAN)), ANALYZE_SINGLE_VALUE, CONFIRMED);
    expect(nan, of(f32, 0x7fc00001, 0x7fc00000, bits_of(NAN)), ANALYZE_SINGLE_VALUE, NOTHING);
}

static void zeros_have_either_sign(void **state)
{
    (void)state;
    const enum profile_value_type f32 = PROFILE_TYPE_F32, raw = PROFILE_TYPE_RAW;
    const struct profile_value_field zero = constant(f32, 0, 0);
    expect(zero, of(f32, 0, 0, 0), ANALYZE_SINGLE_ZERO, CONFIRMED);
    expect(zero, of(f32, 0x80000000, 0, 0), ANALYZE_SINGLE_ZERO, CONFIRMED);
    expect(zero, of(f32, 1, 0, bits_of(0x1p-149)), ANALYZE_SINGLE_ZERO, NOTHING);
    expect(zero, of(f32, 0x7fc00000, 0, bits_of(NAN)), ANALYZE_SINGLE_ZERO, NOTHING);
    expect(constant(raw, 0, 0), of(raw, 0, 0, 0), ANALYZE_SINGLE_ZERO, CONFIRMED);
    expect(constant(raw, 0, 0), of(raw, 0x80000000, 0, 0x80000000), ANALYZE_SINGLE_ZERO, NOTHING);
}

static void what_was_not_seen_stays_unknown(void **state)
{
    (void)state;
    const enum profile_value_type f32 = PROFILE_TYPE_F32;
    const struct profile_value_field zero = constant(f32, 0, 0);
    struct moved moved = of(f32, 0, 0, 0);
    moved.is_missing = true;
    expect(zero, moved, ANALYZE_SINGLE_ZERO, BORDER);
    moved = of(f32, 0, 0, 0);
    moved.flags = PROFILE_ACCESSED_INCOMPLETE;
    expect(zero, moved, ANALYZE_SINGLE_ZERO, BORDER);
    // A value that was seen contradicts, even if others were not seen.
    moved = of(f32, 1, 0, 1);
    moved.flags = PROFILE_ACCESSED_INCOMPLETE;
    expect(zero, moved, ANALYZE_SINGLE_ZERO, NOTHING);
    // Another layout.
    moved = of(f32, 1, 0, 1);
    moved.stride = 8;
    expect(zero, moved, ANALYZE_SINGLE_ZERO, BORDER);
    moved = of(PROFILE_TYPE_S32, 1, 0, 1);
    expect(zero, moved, ANALYZE_SINGLE_ZERO, BORDER);
}

// --- Narrower types ------------------------------------------------------------------------------

static void integers_must_fit_in_between(void **state)
{
    (void)state;
    const enum profile_value_type u32 = PROFILE_TYPE_U32, s32 = PROFILE_TYPE_S32;
    const struct profile_value_field bytes = range(u32, 0, 255);
    expect(bytes, of(u32, 255, 0, 255), ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect(bytes, of(u32, 256, 0, 256), ANALYZE_HEAVY_TYPE, NOTHING);
    const struct profile_value_field small = range(s32, (uint64_t)-128, 127);
    const uint64_t any = UINT32_MAX, sign = 0xffffff80;
    expect(small, of(s32, any, 0, 127), ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect(small, of(s32, any, 0, 128), ANALYZE_HEAVY_TYPE, BORDER); // 128 or -128
    expect(small, of(s32, any, sign, 128), ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect(small, of(s32, 255, 0, 128), ANALYZE_HEAVY_TYPE, NOTHING);
    expect(small, of(s32, any, 0, 129), ANALYZE_HEAVY_TYPE, NOTHING);
    expect(range(s32, 0, 200), of(s32, any, 0, 1), ANALYZE_HEAVY_TYPE, NOTHING); // -1 in u8
}

static void floats_must_fit_in_between(void **state)
{
    (void)state;
    const enum profile_value_type f32 = PROFILE_TYPE_F32, f64 = PROFILE_TYPE_F64;
    struct profile_value_field brief = range(f32, bits_of(-1e30), bits_of(1e30));
    brief.brief = MANY;
    expect(brief, of(f32, 0xffff0000, 0, bits_of(INFINITY)), ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect(brief, of(f32, 0xffff8000, 0, bits_of(1)), ANALYZE_HEAVY_TYPE, NOTHING);
    struct profile_value_field half = range(f32, bits_of(1.5), bits_of(100.5));
    half.narrow = MANY;
    const uint64_t one = 0x3f800000;
    expect(half, of(f32, one | 0x7fe000, one, bits_of(1.75)), ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect(half, of(f32, one | 0x7ff000, one, bits_of(1.75)), ANALYZE_HEAVY_TYPE, NOTHING);
    expect(half, of(f32, 0x7fffe000, 0, bits_of(65536)), ANALYZE_HEAVY_TYPE, NOTHING);
    // Very small numbers may hide below others, and large ones below infinity.
    expect(half, of(f32, one | 0x7fe000, 0, bits_of(1.75)), ANALYZE_HEAVY_TYPE, BORDER);
    expect(half, of(f32, 0x7fffe000, one, bits_of(INFINITY)), ANALYZE_HEAVY_TYPE, BORDER);
    struct profile_value_field wide = range(f64, bits_of(1.5), bits_of(1e30));
    wide.narrow = MANY;
    const uint64_t double_one = bits_of(1);
    expect(wide, of(f64, double_one | 0xfffffe0000000, double_one, bits_of(1.5)),
           ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect(wide, of(f64, double_one | 0x10000000, double_one, bits_of(1.5)), ANALYZE_HEAVY_TYPE,
           NOTHING);
    expect(wide, of(f64, 0x7fffffffe0000000, double_one, bits_of(0x1p128)), ANALYZE_HEAVY_TYPE,
           NOTHING);
}

static void floats_must_be_integers_in_between(void **state)
{
    (void)state;
    const enum profile_value_type f32 = PROFILE_TYPE_F32;
    struct profile_value_field whole = range(f32, bits_of(1), bits_of(200));
    whole.integral = MANY;
    const uint64_t two = 0x40000000; // 2 or more: the mantissa has one bit above the point
    expect(whole, of(f32, two | 0x400000, two, bits_of(3)), ANALYZE_HEAVY_TYPE, CONFIRMED);
    expect(whole, of(f32, two | 0x200000, two, bits_of(3)), ANALYZE_HEAVY_TYPE, BORDER);
    expect(whole, of(f32, 0x7f800000, 0, bits_of(3)), ANALYZE_HEAVY_TYPE, BORDER);
    expect(whole, of(f32, 0x7f800000, two, bits_of(257)), ANALYZE_HEAVY_TYPE, NOTHING);
    expect(whole, of(f32, 0xc0400000, two, bits_of(3)), ANALYZE_HEAVY_TYPE, NOTHING); // -0.0 or -3
    expect(whole, of(f32, 0x7fc00000, two, bits_of(NAN)), ANALYZE_HEAVY_TYPE, NOTHING);
}

// Results are not indexed, whatever was seen in between.
static void few_values_of_a_result_are_no_index(void **state)
{
    (void)state;
    struct profile_value_field few = range(PROFILE_TYPE_S32, (uint64_t)-70000, 70000);
    few.distinct = 200;
    expect(few, of(PROFILE_TYPE_S32, UINT32_MAX, 0, 70000), ANALYZE_HEAVY_TYPE, NOTHING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_other_value_in_between_contradicts),
        cmocka_unit_test(zeros_have_either_sign),
        cmocka_unit_test(what_was_not_seen_stays_unknown),
        cmocka_unit_test(integers_must_fit_in_between),
        cmocka_unit_test(floats_must_fit_in_between),
        cmocka_unit_test(floats_must_be_integers_in_between),
        cmocka_unit_test(few_values_of_a_result_are_no_index),
    };
    return cmocka_run_group_tests_name("analyze.accesses", tests, NULL, NULL);
}
