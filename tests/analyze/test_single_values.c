// SPDX-License-Identifier: Apache-2.0
// Single values on small models: what must match, and near misses that must not.
// test_value_patterns.c has the other patterns of elements, test_value_writes.c those of writes.
#include "value_rows.h"

#include <math.h>

// --- Single values -------------------------------------------------------------------------------

static void what_is_all_the_same_is_single(void **state)
{
    (void)state;
    expect_one(plain(PROFILE_TYPE_F32, MANY), "");
    expect_one(constant(PROFILE_TYPE_F32, MANY, 0, 0), "single-zero 2 8192");
    expect_one(constant(PROFILE_TYPE_F32, MANY, bits_of(1.5), 0x3fc00000), "single-value 2 8192");
    expect_one(constant(PROFILE_TYPE_RAW, MANY, 0, 0), "single-zero 2 8192");
    expect_one(constant(PROFILE_TYPE_RAW, MANY, 9, 9), "single-value 2 8192");
    expect_one(constant(PROFILE_TYPE_S64, MANY, UINT64_MAX, UINT64_MAX), "single-value 2 16384");
}

static void a_constant_nan_is_single_and_zeros_of_both_signs_are_zero(void **state)
{
    (void)state;
    struct profile_value_field nan = constant(PROFILE_TYPE_F32, MANY, bits_of(NAN), 0x7fc00000);
    nan.least = nan.greatest = 0;
    nan.nans = MANY;
    expect_one(nan, "single-value 2 0"); // which is probably a mistake
    struct profile_value_field zeros = constant(PROFILE_TYPE_F32, MANY, 0, 0x80000000);
    zeros.least = bits_of(-0.0);
    zeros.candidates[0].count = zeros.candidates[1].count = MANY / 2;
    zeros.candidates[1].value = bits_of(-0.0);
    zeros.distinct = 2;
    expect_one(zeros, "single-zero 2 8192");
    // A constant -0.0 is zero.
    zeros = constant(PROFILE_TYPE_F64, MANY, bits_of(-0.0), (uint64_t)1 << 63);
    zeros.zeros = MANY;
    expect_one(zeros, "single-zero 2 16384");
}

static void one_element_that_differs_is_enough(void **state)
{
    (void)state;
    struct profile_value_field field = constant(PROFILE_TYPE_F32, MANY, 0, 1);
    field.zeros = field.candidates[0].count = MANY - 1;
    field.candidates[1] = (struct profile_candidate){bits_of(0x1p-149), 1}; // a denormal number
    field.greatest = bits_of(0x1p-149);
    field.distinct = 2;
    expect_one(field, "frequent-values 2 0");
}

static void few_elements_are_not_looked_at(void **state)
{
    (void)state;
    expect_one(constant(PROFILE_TYPE_F32, FEW, 0, 0), "");
    expect_one(constant(PROFILE_TYPE_F32, FEW + 1, 0, 0), "single-zero 2 4096");
}

// --- Copies --------------------------------------------------------------------------------------

struct fill {
    uint64_t value, stored;
    enum profile_value_type type;
    const char *function;
};

// A copy brings one value, and a launch reads it: both are findings, and the copy's says by what
// the GPU can be filled.
static void expect_fill(const struct fill *fill, enum analyze_pattern pattern, const char *name)
{
    struct analyze_model model;
    char wanted[80];
    struct profile_value_field field = constant(fill->type, MANY, fill->value, fill->stored);
    const unsigned bytes = MANY * (unsigned)size_of(fill->type);
    if (pattern == ANALYZE_SINGLE_ZERO)
        field.zeros = MANY;
    copy_and_read(&model, field);
    snprintf(wanted, sizeof(wanted), "%s 1 %u, %s 2 %u", name, bytes, name, bytes);
    expect(&model, wanted);
    const struct analyze_finding *finding = found(pattern);
    assert_int_equal(finding->call, 2);
    assert_int_equal(finding->gpu_ns, 1000);
    assert_string_equal(word_of(finding, "fill"), fill->function);
    assert_int_equal(value_of(finding, "from_host"), 1);
    forget(NULL);
}

static void a_copy_of_one_value_from_the_host_can_be_a_set(void **state)
{
    (void)state;
    static const struct fill fills[] = {
        {1, 1, PROFILE_TYPE_U8, "cudaMemset"},
        {0x3f3f3f3f, 0x3f3f3f3f, PROFILE_TYPE_U32, "cudaMemset"},
        {0x12341234, 0x12341234, PROFILE_TYPE_U32, "cuMemsetD16"},
        {5, 5, PROFILE_TYPE_U32, "cuMemsetD32"},
        {5, 5, PROFILE_TYPE_U64, "kernel"},
        {UINT64_MAX, 0xff, PROFILE_TYPE_S8, "cudaMemset"},
    };
    for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++)
        expect_fill(&fills[i], ANALYZE_SINGLE_VALUE, "single-value");
}

// The set must write the sign, too. f64 has no such set.
static void a_copy_of_zeros_can_be_a_set_of_the_same_sign(void **state)
{
    (void)state;
    static const struct fill fills[] = {
        {0, 0, PROFILE_TYPE_F32, "cudaMemset"},
        {0, 0, PROFILE_TYPE_F64, "cudaMemset"},
        {UINT64_C(1) << 63, 0x80000000, PROFILE_TYPE_F32, "cuMemsetD32"},
        {UINT64_C(1) << 63, 0x8000, PROFILE_TYPE_F16, "cuMemsetD16"},
        {UINT64_C(1) << 63, UINT64_C(1) << 63, PROFILE_TYPE_F64, "kernel"},
    };
    for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++)
        expect_fill(&fills[i], ANALYZE_SINGLE_ZERO, "single-zero");
}

static void a_copy_of_zeros_of_both_signs_cannot_be_a_set(void **state)
{
    (void)state;
    struct analyze_model model;
    struct profile_value_field zeros = constant(PROFILE_TYPE_F32, MANY, 0, 0x80000000);
    zeros.all_bits = 0;
    zeros.candidates[0].count--;
    zeros.candidates[1] = (struct profile_candidate){bits_of(-0.0), 1};
    zeros.distinct = 2;
    copy_and_read(&model, zeros);
    expect(&model, "single-zero 1 8192, single-zero 2 8192");
    assert_string_equal(word_of(found(ANALYZE_SINGLE_ZERO), "fill"), "-");
}

// The structures have 4 bytes that no kernel uses: a set would not write them as the copy does.
static void a_copy_with_gaps_cannot_be_a_set(void **state)
{
    (void)state;
    struct analyze_model model;
    copy_and_read(&model, constant(PROFILE_TYPE_U32, MANY, 0, 0));
    ((struct profile_contents *)(uintptr_t)model.contents.items[1].row)->stride = 8;
    expect(&model, "single-zero 1 8192, single-zero 2 8192");
    assert_int_equal(found(ANALYZE_SINGLE_ZERO)->call, 2);
    assert_string_equal(word_of(found(ANALYZE_SINGLE_ZERO), "fill"), "-");
}

static void a_set_is_no_finding_of_its_own(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field zero = constant(PROFILE_TYPE_F32, MANY, 0, 0);
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY);
    set(&model, a, 0, 4 * MANY);
    row(&model, a, PROFILE_CONTENTS_WRITTEN, &zero, 1)->fresh_pieces = 2;
    expect(&model, "");
}

// A copy to the host of a quarter of the zeros reads a quarter of the elements.
static void a_copy_uses_only_what_it_copies(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field zero = constant(PROFILE_TYPE_F32, 4 * MANY, 0, 0);
    model_begin(&model);
    uint32_t a = allocate(&model, 16 * MANY);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_WRITE);
    row(&model, a, PROFILE_CONTENTS_WRITTEN, &zero, 1);
    copy_out(&model, a, 0, 4 * MANY);
    copy_out(&model, a, 0, 4 * FEW);
    expect(&model, "single-zero 1 0, single-zero 2 8192");
    const struct analyze_finding *finding = found(ANALYZE_SINGLE_ZERO);
    finding = finding->call == 3 ? finding : finding + 1;
    assert_int_equal(value_of(finding, "elements"), MANY);
}

// Of a launch whose elements were counted, only these count.
static void a_launch_reads_the_elements_that_it_touches(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field zero = constant(PROFILE_TYPE_F32, MANY, 0, 0);
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY);
    launch(&model, LEGACY, 1);
    struct analyze_touch *made = uses(&model, a, ANALYZE_READ);
    made->elements = 100;
    made->element_bytes = 4;
    row(&model, a, PROFILE_CONTENTS_FOUND, &zero, 1);
    expect(&model, "single-zero 1 400");
    assert_int_equal(value_of(found(ANALYZE_SINGLE_ZERO), "upper_bound"), 0);
}

// --- Fields --------------------------------------------------------------------------------------

static void fields_of_a_structure_are_told_apart(void **state)
{
    (void)state;
    struct profile_value_field fields[3] = {constant(PROFILE_TYPE_F32, MANY, 0, 0),
                                            plain(PROFILE_TYPE_F64, MANY),
                                            constant(PROFILE_TYPE_S32, MANY, 7, 7)};
    fields[1].offset = 8; // 4 bytes of padding before it
    fields[2].offset = 16;
    expect_read(fields, 3, "single-value 2 8192, single-zero 2 8192");
    assert_int_equal(value_of(found(ANALYZE_SINGLE_VALUE), "offset"), 16);
    assert_string_equal(word_of(found(ANALYZE_SINGLE_VALUE), "type"), "s32");
    assert_true(analyze_field_is_known(found(ANALYZE_SINGLE_ZERO),
                                       field_of(found(ANALYZE_SINGLE_ZERO), "offset")));
}

// Both fields hold the same value, and stay two findings.
static void equal_fields_are_two_findings(void **state)
{
    (void)state;
    struct profile_value_field fields[2] = {constant(PROFILE_TYPE_F32, MANY, 0, 0),
                                            constant(PROFILE_TYPE_F32, MANY, 0, 0)};
    fields[1].offset = 4;
    expect_read(fields, 2, "single-zero 2 8192, single-zero 2 8192");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, forget)
    const struct CMUnitTest tests[] = {
        TEST(what_is_all_the_same_is_single),
        TEST(a_constant_nan_is_single_and_zeros_of_both_signs_are_zero),
        TEST(one_element_that_differs_is_enough),
        TEST(few_elements_are_not_looked_at),
        TEST(a_copy_of_one_value_from_the_host_can_be_a_set),
        TEST(a_copy_of_zeros_can_be_a_set_of_the_same_sign),
        TEST(a_copy_of_zeros_of_both_signs_cannot_be_a_set),
        TEST(a_copy_with_gaps_cannot_be_a_set),
        TEST(a_set_is_no_finding_of_its_own),
        TEST(a_copy_uses_only_what_it_copies),
        TEST(a_launch_reads_the_elements_that_it_touches),
        TEST(fields_of_a_structure_are_told_apart),
        TEST(equal_fields_are_two_findings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
