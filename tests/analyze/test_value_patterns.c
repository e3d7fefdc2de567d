// SPDX-License-Identifier: Apache-2.0
// Patterns of the elements of a field, on small models: frequent values, narrower types, lines and
// approximate values. What must match, and near misses that must not.
#include "value_rows.h"

#include <math.h>

// --- Frequent values -----------------------------------------------------------------------------

static struct profile_value_field frequent(enum profile_value_type type, uint64_t count)
{
    struct profile_value_field field = plain(type, MANY);
    field.candidates[0] = (struct profile_candidate){bits_of(2), count};
    return field;
}

static void half_of_the_elements_is_frequent(void **state)
{
    (void)state;
    expect_one(frequent(PROFILE_TYPE_F32, MANY / 2), "frequent-values 2 0");
    expect_one(frequent(PROFILE_TYPE_F32, MANY / 2 - 1), "");
    expect_one(frequent(PROFILE_TYPE_RAW, MANY / 2), "frequent-values 2 0");
    // Zeros of both signs are one value.
    struct profile_value_field zeros = plain(PROFILE_TYPE_F32, MANY);
    zeros.zeros = MANY / 2;
    expect_one(zeros, "frequent-values 2 0");
    zeros.zeros--;
    expect_one(zeros, "");
    // So is a NaN, if its bits are the same.
    struct profile_value_field nans = frequent(PROFILE_TYPE_F32, MANY / 2);
    nans.candidates[0].value = bits_of(NAN);
    nans.nans = MANY;
    expect_one(nans, "frequent-values 2 0");
    nans.candidates[0].count--;
    expect_one(nans, "");
}

static void weigh(struct analyze_model *model, uint32_t object, uint32_t offset, uint64_t accesses,
                  uint64_t count)
{
    struct analyze_weighed *made = base_array_push(&model->weighed);
    assert_non_null(made);
    *made = (struct analyze_weighed){.call = (uint32_t)model->calls.count - 1,
                                     .object = object,
                                     .offset = offset,
                                     .accesses = accesses,
                                     .value = bits_of(3),
                                     .count = count};
}

// Reads are weighed by accesses if those were counted, whatever the elements hold.
static void reads_are_weighed_by_accesses(void **state)
{
    (void)state;
    static const struct {
        uint64_t held, accesses, count; // elements that hold the most frequent value
        uint32_t offset;                // of the weighed field
        unsigned how;
        const char *wanted;
    } cases[] = {
        {1, 1000, 600, 0, ANALYZE_READ, "frequent-values 2 0"},
        {1, 1000, 499, 0, ANALYZE_READ, ""},
        {1, 1000, 0, 0, ANALYZE_READ, ""},
        {1, 0, 0, 0, ANALYZE_READ, ""},
        {MANY / 2, 1000, 0, 0, ANALYZE_READ, ""},
        {MANY / 2, 1000, 0, 4, ANALYZE_READ, "frequent-values 2 0"}, // of another field
        {1, 1000, 600, 4, ANALYZE_READ, ""},
        {1, 1000, 600, 0, ANALYZE_READ | ANALYZE_WRITE, ""}, // it may have read other values
        {MANY, 1000, 1000, 0, ANALYZE_READ, "single-value 1 8188, single-value 2 8192"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct analyze_model model;
        const uint32_t a = copy_and_read(&model, frequent(PROFILE_TYPE_F32, cases[i].held));
        struct profile_contents *brought =
            (struct profile_contents *)(uintptr_t)model.contents.items[0].row;
        brought->moved_bytes -= 4; // which values are frequent in the copy is unknown
        model.touches.items[model.touches.count - 1].how = (uint8_t)cases[i].how;
        weigh(&model, a, cases[i].offset, cases[i].accesses, cases[i].count);
        expect(&model, cases[i].wanted);
        if (i == 0) {
            const struct analyze_finding *finding = found(ANALYZE_FREQUENT_VALUES);
            assert_int_equal(analyze_field_number(finding, field_of(finding, "matching_reads")),
                             600);
            assert_int_equal(analyze_field_number(finding, field_of(finding, "reads")), 1000);
        }
        forget(NULL);
    }
}

static void thresholds_of_values_are_settable(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field field = frequent(PROFILE_TYPE_F32, MANY / 2);
    struct analyze_thresholds thresholds = analyze_default_thresholds();
    copy_and_read(&model, field);
    *analyze_threshold(&thresholds, "frequent-percent") = 51;
    expect_with(&model, thresholds, "");
    forget(NULL);
    copy_and_read(&model, field);
    *analyze_threshold(&thresholds, "frequent-percent") = 50;
    *analyze_threshold(&thresholds, "value-elements") = MANY + 1;
    expect_with(&model, thresholds, "");
}

// A field that has one of the patterns of most elements.
static struct profile_value_field nearly(enum analyze_pattern pattern, uint64_t elements)
{
    struct profile_value_field field = plain(PROFILE_TYPE_F32, elements);
    if (pattern == ANALYZE_FREQUENT_VALUES) {
        field.candidates[0] = (struct profile_candidate){bits_of(2), elements - 1};
    } else if (pattern == ANALYZE_STRUCTURED_VALUES) {
        field.slope = bits_of(0.5);
        field.linear = elements;
    } else {
        field.roundings[0] = (struct profile_rounding){bits_of(2), elements - 1, 0};
    }
    return field;
}

// Part of a piece is not the piece: the pattern is that of the launch, not of the copy.
static void most_elements_of_a_row_may_be_others_than_those_of_a_copy(void **state)
{
    (void)state;
    static const struct {
        enum analyze_pattern pattern;
        const char *wanted;
    } cases[] = {{ANALYZE_FREQUENT_VALUES, "frequent-values 2 0"},
                 {ANALYZE_STRUCTURED_VALUES, "structured-values 2 8192"},
                 {ANALYZE_APPROXIMATE_VALUES, "approximate-values 2 0"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct analyze_model model;
        copy_and_read(&model, nearly(cases[i].pattern, MANY));
        ((struct profile_contents *)(uintptr_t)model.contents.items[0].row)->moved_bytes -= 4;
        expect(&model, cases[i].wanted);
        forget(NULL);
    }
}

// Counts of two rows cannot be added up: only the launches that write the halves have the pattern.
static void most_elements_of_two_rows_are_unknown(void **state)
{
    (void)state;
    static const struct {
        enum analyze_pattern pattern;
        const char *wanted;
    } cases[] = {{ANALYZE_FREQUENT_VALUES, "frequent-values 1 0, frequent-values 2 0"},
                 {ANALYZE_STRUCTURED_VALUES, "structured-values 1 0"}, // one finding
                 {ANALYZE_APPROXIMATE_VALUES, "approximate-values 1 0, approximate-values 2 0"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct analyze_model model;
        const struct profile_value_field field = nearly(cases[i].pattern, HALF);
        write_halves(&model, field, field);
        expect(&model, cases[i].wanted);
        forget(NULL);
    }
}

// All patterns of elements: in an object that two streams write at the same time, there is none. In
// an object of which only the first half has it, the launch that writes that half has it, but not
// the one that reads both; a narrower type must hold both halves.
static void patterns_need_one_stream_and_the_whole_object(void **state)
{
    (void)state;
    struct profile_value_field small = plain(PROFILE_TYPE_F32, HALF);
    small.least = 0;
    small.greatest = bits_of(200);
    small.integral = HALF;
    const struct {
        struct profile_value_field field;
        const char *alone, *half;
    } cases[] = {
        {constant(PROFILE_TYPE_F32, HALF, 0, 0), "single-zero 1 0", "single-zero 1 0"},
        {constant(PROFILE_TYPE_F32, HALF, bits_of(2), 2), "single-value 1 0", "single-value 1 0"},
        {nearly(ANALYZE_FREQUENT_VALUES, HALF), "frequent-values 1 0", "frequent-values 1 0"},
        {nearly(ANALYZE_STRUCTURED_VALUES, HALF), "structured-values 1 0", "structured-values 1 0"},
        {nearly(ANALYZE_APPROXIMATE_VALUES, HALF), "approximate-values 1 0",
         "approximate-values 1 0"},
        {small, "heavy-type 1 3072", ""},
    };
    for (size_t i = 0; i < 2 * (sizeof(cases) / sizeof(cases[0])); i++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * HALF);
        launch(&model, FREE_RUNNING, 1);
        uses(&model, a, ANALYZE_WRITE);
        row(&model, a, PROFILE_CONTENTS_WRITTEN, &cases[i / 2].field, 1)->flags =
            i % 2 ? PROFILE_CONTENTS_CONCURRENT : 0;
        expect(&model, i % 2 ? "" : cases[i / 2].alone);
        forget(NULL);
        write_halves(&model, cases[i / 2].field, plain(PROFILE_TYPE_F32, HALF));
        expect(&model, cases[i / 2].half);
        forget(NULL);
    }
}

// --- Types ---------------------------------------------------------------------------------------

static void expect_narrow(struct profile_value_field field, const char *type)
{
    char wanted[64] = "";
    const uint64_t wide = size_of(field.type);
    const uint64_t narrow = strcmp(type, "") == 0                             ? wide
                            : strcmp(type, "index") == 0 || strchr(type, '8') ? 1
                            : strstr(type, "16")                              ? 2
                                                                              : 4;
    if (narrow < wide)
        snprintf(wanted, sizeof(wanted), "heavy-type 2 %llu",
                 (unsigned long long)(MANY * (wide - narrow)));
    expect_read(&field, 1, wanted);
    if (narrow < wide)
        assert_string_equal(word_of(found(ANALYZE_HEAVY_TYPE), "narrow_type"), type);
    forget(NULL);
}

static struct profile_value_field ranging(enum profile_value_type type, uint64_t least,
                                          uint64_t greatest)
{
    struct profile_value_field field = plain(type, MANY);
    field.least = least;
    field.greatest = greatest;
    return field;
}

static void the_narrowest_integer_type_is_found(void **state)
{
    (void)state;
    expect_narrow(ranging(PROFILE_TYPE_S32, 0, 255), "u8");
    expect_narrow(ranging(PROFILE_TYPE_S32, 0, 256), "u16");
    expect_narrow(ranging(PROFILE_TYPE_S32, (uint64_t)-128, 127), "s8");
    expect_narrow(ranging(PROFILE_TYPE_S32, (uint64_t)-129, 127), "s16");
    expect_narrow(ranging(PROFILE_TYPE_S32, (uint64_t)-1, 128), "s16");
    expect_narrow(ranging(PROFILE_TYPE_S32, (uint64_t)-5, (uint64_t)-2), "s8");
    expect_narrow(ranging(PROFILE_TYPE_S32, 0, 65535), "u16");
    expect_narrow(ranging(PROFILE_TYPE_S32, 0, 65536), "");
    expect_narrow(ranging(PROFILE_TYPE_U64, 0, UINT32_MAX), "u32");
    expect_narrow(ranging(PROFILE_TYPE_S64, (uint64_t)INT32_MIN, INT32_MAX), "s32");
    expect_narrow(ranging(PROFILE_TYPE_S64, (uint64_t)INT32_MIN - 1, 0), "");
    expect_narrow(ranging(PROFILE_TYPE_U64, 0, (uint64_t)1 << 63), "");
    expect_narrow(ranging(PROFILE_TYPE_U8, 0, 1), "");
    expect_narrow(ranging(PROFILE_TYPE_RAW, 0, 1), "");
}

static void the_narrowest_type_of_floats_is_found(void **state)
{
    (void)state;
    struct profile_value_field field = ranging(PROFILE_TYPE_F32, bits_of(-3), bits_of(200));
    field.integral = MANY;
    expect_narrow(field, "s16");
    field.least = 0;
    expect_narrow(field, "u8");
    field.integral = MANY - 1; // one is -0.0, NaN or not an integer
    expect_narrow(field, "");
    field.narrow = MANY;
    expect_narrow(field, "f16");
    field.narrow = MANY - 1;
    field.brief = MANY;
    expect_narrow(field, "bf16");
    // 2^24 + 1 is an integer, but no float of 32 bits.
    field = ranging(PROFILE_TYPE_F64, 0, bits_of(0x1p24 + 1));
    field.integral = MANY;
    field.narrow = MANY - 1;
    expect_narrow(field, "u32");
    field.greatest = bits_of(0x1p32);
    field.narrow = MANY;
    expect_narrow(field, "f32");
    field.integral = 0;
    field.narrow = MANY - 1;
    expect_narrow(field, "");
}

// Expects that data which a copy brings from the host is heavy in this way: the copy and the launch
// that reads it together.
static void expect_given(struct profile_value_field field, const char *type)
{
    struct analyze_model model;
    char wanted[80] = "";
    const unsigned long long saved = MANY * (size_of(field.type) - 1);
    copy_and_read(&model, field);
    if (type)
        snprintf(wanted, sizeof(wanted), "heavy-type 1 %llu", 2 * saved);
    expect(&model, wanted);
    if (type)
        assert_string_equal(word_of(found(ANALYZE_HEAVY_TYPE), "narrow_type"), type);
    forget(NULL);
}

static void few_different_values_need_only_an_index(void **state)
{
    (void)state;
    struct profile_value_field field = plain(PROFILE_TYPE_F64, MANY);
    field.distinct = PROFILE_DISTINCT;
    expect_given(field, "index");
    field.distinct++;
    expect_given(field, NULL);
    field.distinct = 0; // unknown
    expect_given(field, NULL);
    field = ranging(PROFILE_TYPE_S32, 0, 255); // u8 needs no table
    field.distinct = 3;
    expect_given(field, "u8");
    field = plain(PROFILE_TYPE_U8, MANY);
    field.distinct = 3;
    expect_given(field, NULL);
    field = plain(PROFILE_TYPE_RAW, MANY);
    field.distinct = 3;
    expect_given(field, NULL);
}

// Results of a kernel may happen to be few different values. An index is suggested only for data
// that nothing but copies from the host writes.
static void results_are_not_indexed(void **state)
{
    (void)state;
    struct profile_value_field field = plain(PROFILE_TYPE_F64, MANY);
    field.distinct = 3;
    expect_one(field, ""); // a launch wrote it
    for (unsigned kind = 0; kind < 6; kind++) {
        struct analyze_model model;
        const uint32_t a = copy_and_read(&model, field);
        if (kind == 1 || kind == 2) { // later it is a result
            launch(&model, LEGACY, 2);
            uses(&model, a, kind == 1 ? ANALYZE_WRITE : ANALYZE_READ | ANALYZE_WRITE);
        } else if (kind == 3) { // a launch that may write anything
            const uint32_t call = launch(&model, LEGACY, 2);
            model.calls.items[call].flags |= ANALYZE_UNSEEN;
        } else if (kind == 4) { // a copy on the device may bring results
            const uint32_t call = copy_in(&model, a, 0, 8);
            model.calls.items[call].flags &= (uint16_t)~ANALYZE_HOST_END;
        } else if (kind == 5) {
            set(&model, a, 0, 8);
            copy_in(&model, a, 0, 8 * MANY);
        }
        expect(&model, kind == 0 || kind == 5 ? "heavy-type 1 28672" : "");
        forget(NULL);
    }
}

// Two copies bring 200 different values each: together they may be more than 256.
static void values_of_two_copies_may_be_too_many_for_an_index(void **state)
{
    (void)state;
    for (unsigned halves = 0; halves < 2; halves++) {
        struct analyze_model model;
        struct profile_value_field field = plain(PROFILE_TYPE_F32, halves ? HALF : MANY);
        field.distinct = 200;
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        for (uint32_t i = 0; i <= halves; i++) {
            copy_in(&model, a, i * 4096, halves ? 4096 : 8192);
            struct profile_contents *copied = row(&model, a, PROFILE_CONTENTS_WRITTEN, &field, 1);
            copied->pieces = copied->fresh_pieces = halves ? 1 : 2;
            copied->bytes = copied->moved_bytes = halves ? 4096 : 8192;
            copied->known_pieces = halves ? i + 1 : 2;
        }
        launch(&model, LEGACY, 1);
        uses(&model, a, ANALYZE_READ);
        expect(&model, halves ? "" : "heavy-type 1 12288");
        forget(NULL);
    }
}

// Zeros that a copy brings first need no table of their own.
static void an_index_selects_single_values_too(void **state)
{
    (void)state;
    struct analyze_model model;
    struct profile_value_field few = plain(PROFILE_TYPE_F64, MANY);
    few.distinct = 3;
    const uint32_t a = copy_and_read(&model, constant(PROFILE_TYPE_F64, MANY, 0, 0));
    copy_in(&model, a, 0, 8 * MANY);
    row(&model, a, PROFILE_CONTENTS_WRITTEN, &few, 1);
    expect(&model, "single-zero 1 16384, single-zero 2 16384, heavy-type 3 14336");
    assert_string_equal(word_of(found(ANALYZE_HEAVY_TYPE), "narrow_type"), "index");
    assert_int_equal(value_of(found(ANALYZE_HEAVY_TYPE), "distinct"), 3);
}

// --- Lines ---------------------------------------------------------------------------------------

static void values_on_a_line_are_structured(void **state)
{
    (void)state;
    struct profile_value_field field = plain(PROFILE_TYPE_F32, 2000);
    field.slope = bits_of(0.5);
    field.linear = 1980; // 99 %
    expect_one(field, "structured-values 2 8000");
    field.linear--;
    expect_one(field, "");
    field = plain(PROFILE_TYPE_S32, 2000);
    field.linear = 2000;
    field.slope = 0;
    expect_one(field, "");
    field.slope = (uint64_t)1 << 32; // 0 modulo the width
    expect_one(field, "");
    field.slope = UINT64_MAX; // -1
    expect_one(field, "structured-values 2 8000");
    field.type = PROFILE_TYPE_RAW; // which are no numbers
    expect_one(field, "");
    // Every constant is on a line.
    field = constant(PROFILE_TYPE_S32, 2000, 5, 5);
    field.slope = 1;
    field.linear = 2000;
    expect_one(field, "single-value 2 8000");
    field = plain(PROFILE_TYPE_S32, 2000);
    field.slope = 1;
    // A short table of indices is enough; 63 elements may be a coincidence.
    field.elements = field.linear = 64;
    expect_one(field, "structured-values 2 256");
    field.elements = field.linear = 63;
    expect_one(field, "");
}

// --- Approximate values --------------------------------------------------------------------------

static void expect_like(struct profile_value_field field, const char *like, uint64_t bits)
{
    expect_read(&field, 1, like ? "approximate-values 2 0" : "");
    if (like) {
        assert_string_equal(word_of(found(ANALYZE_APPROXIMATE_VALUES), "like"), like);
        const struct analyze_finding *finding = found(ANALYZE_APPROXIMATE_VALUES);
        assert_int_equal(value_of(finding, "bits"), bits);
        assert_int_equal(value_of(finding, "error_bits"), bits + 1);
        assert_true(analyze_field_real(finding, field_of(finding, "error")) ==
                    ldexp(1, -(int)bits - 1));
    }
    forget(NULL);
}

static void rounding_finds_what_nearly_holds(void **state)
{
    (void)state;
    struct profile_value_field field = plain(PROFILE_TYPE_F32, 2000);
    field.roundings[6].count = 999;
    expect_like(field, NULL, 0);
    field.roundings[6].count = 1000;
    expect_like(field, "frequent-values", 4);
    field.roundings[3].count = field.roundings[6].count = 2000;
    expect_like(field, "single-value", 7);
    field.roundings[3].count = 1999;
    expect_like(field, "frequent-values", 7);
    field = plain(PROFILE_TYPE_F64, 2000);
    field.slope = bits_of(2);
    field.roundings[0].linear = 1979;
    field.roundings[1].linear = 1980;
    expect_like(field, "structured-values", 9);
    field.slope = 0;
    expect_like(field, NULL, 0);
    field = plain(PROFILE_TYPE_S32, 2000); // integers are not rounded
    field.roundings[0].count = 2000;
    expect_like(field, NULL, 0);
}

// All elements round to one value if those of both halves do, and it is the same.
static void halves_must_round_to_the_same(void **state)
{
    (void)state;
    for (unsigned same = 0; same < 2; same++) {
        struct analyze_model model;
        struct profile_value_field first = plain(PROFILE_TYPE_F32, HALF), second = first;
        first.roundings[2] = (struct profile_rounding){bits_of(2), HALF, 0};
        second.roundings[2] = (struct profile_rounding){bits_of(same ? 2 : 3), HALF, 0};
        write_halves(&model, first, second);
        expect(&model, same ? "approximate-values 1 0, approximate-values 2 0, "
                              "approximate-values 3 0"
                            : "approximate-values 1 0, approximate-values 2 0");
        forget(NULL);
    }
}

// A row without elements of the field, because another field takes the end of the object, says
// nothing about them, neither before nor behind the other row.
static void rows_without_elements_round_to_anything(void **state)
{
    (void)state;
    for (unsigned empty = 0; empty < 2; empty++) {
        struct analyze_model model;
        struct profile_value_field fields[2] = {plain(PROFILE_TYPE_F32, HALF),
                                                plain(PROFILE_TYPE_F32, 0)};
        fields[0].roundings[2] = (struct profile_rounding){bits_of(3), HALF, 0};
        fields[1].roundings[2].value = bits_of(2);
        write_halves(&model, fields[!empty], fields[empty]);
        expect(&model, empty ? "approximate-values 1 0, approximate-values 3 0"
                             : "approximate-values 2 0, approximate-values 3 0");
        for (size_t i = 0; i < last->finding_count; i++) {
            const struct analyze_finding *finding = &last->findings[i];
            if (finding->pattern == ANALYZE_APPROXIMATE_VALUES)
                assert_int_equal(analyze_field_value(finding, field_of(finding, "value")).bits,
                                 bits_of(3));
        }
        forget(NULL);
    }
}

// What holds exactly is not reported as an approximation.
static void exact_patterns_are_not_approximate(void **state)
{
    (void)state;
    struct profile_value_field field = frequent(PROFILE_TYPE_F32, MANY / 2);
    for (unsigned k = 0; k < PROFILE_ROUNDINGS; k++)
        field.roundings[k].count = MANY / 2;
    expect_one(field, "frequent-values 2 0");
    field = constant(PROFILE_TYPE_F32, MANY, bits_of(2), 0x40000000);
    for (unsigned k = 0; k < PROFILE_ROUNDINGS; k++)
        field.roundings[k] = (struct profile_rounding){bits_of(2), MANY, 0};
    expect_one(field, "single-value 2 8192");
    field = plain(PROFILE_TYPE_F32, MANY);
    field.slope = bits_of(1);
    field.linear = field.roundings[0].linear = MANY;
    expect_one(field, "structured-values 2 8192");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, forget)
    const struct CMUnitTest tests[] = {
        TEST(half_of_the_elements_is_frequent),
        TEST(reads_are_weighed_by_accesses),
        TEST(thresholds_of_values_are_settable),
        TEST(most_elements_of_a_row_may_be_others_than_those_of_a_copy),
        TEST(most_elements_of_two_rows_are_unknown),
        TEST(patterns_need_one_stream_and_the_whole_object),
        TEST(the_narrowest_integer_type_is_found),
        TEST(the_narrowest_type_of_floats_is_found),
        TEST(few_different_values_need_only_an_index),
        TEST(results_are_not_indexed),
        TEST(values_of_two_copies_may_be_too_many_for_an_index),
        TEST(an_index_selects_single_values_too),
        TEST(values_on_a_line_are_structured),
        TEST(rounding_finds_what_nearly_holds),
        TEST(halves_must_round_to_the_same),
        TEST(rows_without_elements_round_to_anything),
        TEST(exact_patterns_are_not_approximate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
