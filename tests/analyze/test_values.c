// SPDX-License-Identifier: Apache-2.0
// Patterns of values on small models: what must match, and near misses that must not. Findings of
// other patterns are ignored.
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

static void a_copy_of_one_value_from_the_host_can_be_a_set(void **state)
{
    (void)state;
    static const struct {
        uint64_t value, stored;
        enum profile_value_type type;
        const char *fill;
    } cases[] = {
        {1, 1, PROFILE_TYPE_U8, "cudaMemset"},
        {0x3f3f3f3f, 0x3f3f3f3f, PROFILE_TYPE_U32, "cudaMemset"},
        {0x12341234, 0x12341234, PROFILE_TYPE_U32, "cuMemsetD16"},
        {5, 5, PROFILE_TYPE_U32, "cuMemsetD32"},
        {5, 5, PROFILE_TYPE_U64, "kernel"},
        {UINT64_MAX, 0xff, PROFILE_TYPE_S8, "cudaMemset"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct analyze_model model;
        char wanted[80];
        copy_and_read(&model, constant(cases[i].type, MANY, cases[i].value, cases[i].stored));
        const unsigned bytes = MANY * (unsigned)size_of(cases[i].type);
        snprintf(wanted, sizeof(wanted), "single-value 1 %u, single-value 2 %u", bytes, bytes);
        expect(&model, wanted);
        const struct analyze_finding *finding = found(ANALYZE_SINGLE_VALUE);
        assert_int_equal(finding->call, 2);
        assert_int_equal(finding->gpu_ns, 1000);
        assert_string_equal(word_of(finding, "fill"), cases[i].fill);
        assert_int_equal(value_of(finding, "from_host"), 1);
        forget(NULL);
    }
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

// --- What is in effect ---------------------------------------------------------------------------

// Calls: 0 allocates, 1 writes the first piece, 2 the second, 3 reads.
static void rows_about_parts_add_up(void **state)
{
    (void)state;
    for (unsigned same = 0; same < 2; same++) {
        struct analyze_model model;
        struct profile_value_field field =
            constant(PROFILE_TYPE_F32, MANY / 2, bits_of(3), 0x40400000);
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        for (unsigned i = 0; i < 2; i++) {
            launch(&model, LEGACY, 1 + i);
            uses(&model, a, ANALYZE_WRITE);
            if (i && !same)
                field = constant(PROFILE_TYPE_F32, MANY / 2, bits_of(4), 0x40800000);
            struct profile_contents *part = row(&model, a, PROFILE_CONTENTS_WRITTEN, &field, 1);
            part->pieces = 1;
            part->bytes = part->moved_bytes = 4096;
            part->known_pieces = i + 1;
        }
        launch(&model, LEGACY, 3);
        uses(&model, a, ANALYZE_READ);
        // Of different constants, every row is single, but the object is not.
        expect(&model, same ? "single-value 1 0, single-value 2 0, single-value 3 8192"
                            : "single-value 1 0, single-value 2 0");
        forget(NULL);
    }
}

// Launch 2 writes the whole object, so what launch 1 wrote is no longer there.
static void a_row_about_everything_replaces_the_others(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field zero = constant(PROFILE_TYPE_F32, MANY, 0, 0),
                                     other = plain(PROFILE_TYPE_F32, MANY);
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_WRITE);
    row(&model, a, PROFILE_CONTENTS_WRITTEN, &zero, 1);
    launch(&model, LEGACY, 2);
    uses(&model, a, ANALYZE_WRITE);
    row(&model, a, PROFILE_CONTENTS_WRITTEN, &other, 1);
    launch(&model, LEGACY, 3);
    uses(&model, a, ANALYZE_READ);
    expect(&model, "single-zero 1 0");
}

// The second launch reads what the first wrote, with another layout: the row that it finds
// describes values of the first.
static void another_layout_keeps_the_writer(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field raw = constant(PROFILE_TYPE_RAW, MANY, 5, 5),
                                     typed = constant(PROFILE_TYPE_U32, MANY, 5, 5);
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_WRITE);
    row(&model, a, PROFILE_CONTENTS_WRITTEN, &raw, 1);
    launch(&model, LEGACY, 2);
    uses(&model, a, ANALYZE_READ);
    row(&model, a, PROFILE_CONTENTS_FOUND, &typed, 1);
    expect(&model, "single-value 1 0, single-value 2 8192");
    for (size_t i = 0; i < last->finding_count; i++) {
        const struct analyze_finding *finding = &last->findings[i];
        if (finding->pattern == ANALYZE_SINGLE_VALUE && finding->call == 3)
            assert_int_equal(value_of(finding, "written_by"), 2);
    }
}

// After a copy whose values nothing has described, after rows of two streams at once, and after a
// launch that is not watched, the values are unknown.
static void unknown_values_are_not_guessed(void **state)
{
    (void)state;
    const struct profile_value_field zero = constant(PROFILE_TYPE_F32, MANY, 0, 0);
    for (unsigned kind = 0; kind < 4; kind++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        launch(&model, LEGACY, 1);
        uses(&model, a, ANALYZE_WRITE);
        row(&model, a, PROFILE_CONTENTS_WRITTEN, &zero, 1);
        if (kind == 1) {
            copy_in(&model, a, 0, 4 * MANY);
            row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0);
        } else if (kind == 2) {
            launch(&model, FREE_RUNNING, 3);
            uses(&model, a, ANALYZE_WRITE);
            row(&model, a, PROFILE_CONTENTS_WRITTEN, &zero, 1)->flags = PROFILE_CONTENTS_CONCURRENT;
        } else {
            uint32_t call = launch(&model, LEGACY, 3);
            model.calls.items[call].flags |= kind == 3 ? ANALYZE_UNSEEN : 0;
        }
        launch(&model, LEGACY, 2);
        uses(&model, a, ANALYZE_READ);
        expect(&model, kind ? "single-zero 1 0" : "single-zero 1 0, single-zero 3 8192");
        forget(NULL);
    }
}

// A copy that changes nothing leaves the description as it was.
static void a_copy_of_the_same_keeps_what_is_known(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field zero = constant(PROFILE_TYPE_F32, MANY, 0, 0);
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_WRITE);
    row(&model, a, PROFILE_CONTENTS_WRITTEN, &zero, 1);
    copy_in(&model, a, 0, 4 * MANY);
    struct profile_contents *copied = row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0);
    copied->same_bytes = copied->moved_bytes;
    launch(&model, LEGACY, 2);
    uses(&model, a, ANALYZE_READ);
    expect(&model, "redundant-values 2 8192, single-zero 1 0, single-zero 3 8192");
}

static void host_memory_and_managed_memory_are_left_out(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct analyze_model model;
        const struct profile_value_field zero = constant(PROFILE_TYPE_F32, MANY, 0, 0);
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        model.objects.items[a].is_host = i == 0;
        model.objects.items[a].elsewhere = i == 1;
        launch(&model, LEGACY, 1);
        uses(&model, a, ANALYZE_WRITE);
        row(&model, a, PROFILE_CONTENTS_WRITTEN, &zero, 1)->same_bytes = 4 * MANY;
        launch(&model, LEGACY, 2);
        uses(&model, a, ANALYZE_READ);
        expect(&model, "");
        forget(NULL);
    }
}

// Objects that calls use are counted: here one whose contents were seen, one of managed memory, and
// one that the recorder had no memory for. Host memory and an object that nothing uses are not.
static void contents_that_were_not_seen_are_counted(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field some = plain(PROFILE_TYPE_F32, MANY);
    uint32_t objects[5];
    model_begin(&model);
    for (unsigned i = 0; i < 5; i++)
        objects[i] = allocate(&model, 4 * MANY);
    model.objects.items[objects[1]].elsewhere = true;
    model.objects.items[objects[3]].is_host = true;
    launch(&model, LEGACY, 1);
    for (unsigned i = 0; i < 4; i++)
        uses(&model, objects[i], ANALYZE_WRITE);
    row(&model, objects[0], PROFILE_CONTENTS_WRITTEN, &some, 1);
    expect(&model, "");
    const struct analyze_contents_seen *seen = analyze_contents_seen(last);
    assert_int_equal(seen->used, 3);
    assert_int_equal(seen->seen, 1);
    assert_int_equal(seen->shared, 1);
}

// A launch of a graph is one call: its second node reads what the object held before the first has
// written it. Values in between are not seen.
static void a_graph_reads_what_was_there_before_it(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field zero = constant(PROFILE_TYPE_F32, MANY, 0, 0),
                                     other = constant(PROFILE_TYPE_F32, MANY, 0x40000000, 3);
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_WRITE);
    row(&model, a, PROFILE_CONTENTS_WRITTEN, &zero, 1);
    uint32_t graph = add_call(&model, PROFILE_CALL_GRAPH_LAUNCH, LEGACY);
    model.calls.items[graph].flags |= ANALYZE_LAUNCHES;
    for (uint32_t node = 0; node < 4; node++) {
        struct analyze_touch *made = uses(&model, a, node % 2 ? ANALYZE_READ : ANALYZE_WRITE);
        made->node = node;
        made->kernel = node + 5;
    }
    row(&model, a, PROFILE_CONTENTS_WRITTEN, &other, 1);
    expect(&model, "single-value 2 0, single-zero 1 0, single-zero 2 0");
    for (size_t i = 0; i < last->finding_count; i++) {
        const struct analyze_finding *finding = &last->findings[i];
        if (finding->pattern == ANALYZE_SINGLE_VALUE)
            assert_true(!value_of(finding, "read") && finding->kernel == 7 &&
                        value_of(finding, "border"));
        else if (finding->pattern == ANALYZE_SINGLE_ZERO && value_of(finding, "read"))
            assert_true(finding->kernel == 6 && value_of(finding, "border"));
    }
}

// A graph that writes an object without a row leaves its values unknown.
static void a_graph_without_a_row_is_unknown(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field zero = constant(PROFILE_TYPE_F32, MANY, 0, 0);
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_WRITE);
    row(&model, a, PROFILE_CONTENTS_WRITTEN, &zero, 1);
    add_call(&model, PROFILE_CALL_GRAPH_LAUNCH, LEGACY);
    uses(&model, a, ANALYZE_WRITE);
    launch(&model, LEGACY, 2);
    uses(&model, a, ANALYZE_READ);
    expect(&model, "single-zero 1 0");
}

// A launch that reads and writes, or stores more than it leaves behind, may use other values.
static void values_in_between_are_not_seen(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct analyze_model model;
        const struct profile_value_field zero = constant(PROFILE_TYPE_F32, MANY, 0, 0);
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        launch(&model, LEGACY, 1);
        uses(&model, a, kind == 1 ? ANALYZE_READ | ANALYZE_WRITE : ANALYZE_WRITE);
        row(&model, a, PROFILE_CONTENTS_WRITTEN, &zero, 1);
        stores(&model, a, 1, kind == 2 ? MANY + 1 : MANY, 0);
        expect(&model, "single-zero 1 0");
        assert_int_equal(value_of(found(ANALYZE_SINGLE_ZERO), "border"), kind != 0);
        forget(NULL);
    }
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
        const char *wanted;
    } cases[] = {
        {1, 1000, 600, 0, "frequent-values 2 0"},
        {1, 1000, 0, 0, ""},
        {MANY / 2, 1000, 0, 0, ""},
        {MANY / 2, 1000, 0, 4, "frequent-values 2 0"}, // of another field
        {1, 1000, 600, 4, ""},
        {MANY, 1000, 1000, 0, "single-value 1 8188, single-value 2 8192"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct analyze_model model;
        const uint32_t a = copy_and_read(&model, frequent(PROFILE_TYPE_F32, cases[i].held));
        struct profile_contents *brought =
            (struct profile_contents *)(uintptr_t)model.contents.items[0].row;
        brought->moved_bytes -= 4; // which values are frequent in the copy is unknown
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

// Counts of two rows cannot be added up, and part of a piece is not the piece.
static void frequency_needs_one_row_about_exactly_that(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field field = frequent(PROFILE_TYPE_F32, MANY);
    uint32_t a = copy_and_read(&model, field);
    (void)a;
    ((struct profile_contents *)(uintptr_t)model.contents.items[0].row)->moved_bytes -= 4;
    struct profile_contents *found_row =
        (struct profile_contents *)(uintptr_t)model.contents.items[1].row;
    found_row->fields[0].candidates[0].count--;
    expect(&model, "frequent-values 2 0"); // the launch's, not the copy's
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
        assert_int_equal(value_of(found(ANALYZE_APPROXIMATE_VALUES), "bits"), bits);
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

// --- Redundant values ----------------------------------------------------------------------------

// A launch stores to an object whose contents are known, and changes some of it.
static void expect_stores(uint64_t count, uint64_t silent, uint64_t fresh, uint32_t flags,
                          const char *wanted)
{
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_WRITE);
    stores(&model, a, 3, count, silent);
    struct profile_contents *made = row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0);
    made->fresh_pieces = fresh;
    made->flags = flags;
    made->same_bytes = 4096;
    expect(&model, wanted);
    forget(NULL);
}

static void stores_that_change_nothing_are_redundant(void **state)
{
    (void)state;
    expect_stores(1000, 330, 0, 0, "redundant-values 1 1320");
    expect_stores(1000, 329, 0, 0, "");
    expect_stores(0, 0, 0, 0, "");
    expect_stores(1000, 1000, 1, 0, "");
    expect_stores(1000, 1000, 0, PROFILE_CONTENTS_CONCURRENT, "");
}

static void a_launch_that_changes_nothing_is_told(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        uint32_t call = launch(&model, LEGACY, 1);
        uses(&model, a, ANALYZE_WRITE);
        // Each store changes something, but all together leave what was there.
        stores(&model, a, 3, 2 * MANY, 0);
        row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0)->same_bytes =
            kind == 1 ? 4 * MANY - 4096 : 4 * MANY;
        model.calls.items[call].flags |= kind == 2 ? ANALYZE_UNSEEN : 0;
        expect(&model, kind ? "" : "redundant-values 1 8192");
        if (kind == 0)
            assert_int_equal(value_of(found(ANALYZE_REDUNDANT_VALUES), "changes_nothing"), 1);
        forget(NULL);
    }
}

static void atomic_operations_are_told_apart(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_WRITE);
    struct analyze_store_site *site = base_array_push(&model.store_sites);
    assert_non_null(site);
    *site = (struct analyze_store_site){
        .kernel = 1, .site = 2, .line = {"a.cu", 12}, .is_atomic = true};
    stores(&model, a, 1, 100, 99);
    stores(&model, a, 2, 200, 150)->place = 0;
    row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0);
    expect(&model, "redundant-values 1 396, redundant-values 1 600");
    const struct analyze_finding *second = &last->findings[1];
    for (size_t i = 0; i < last->finding_count; i++) {
        if (last->findings[i].pattern == ANALYZE_REDUNDANT_VALUES &&
            last->findings[i].traffic_bytes == 600)
            second = &last->findings[i];
    }
    assert_int_equal(value_of(second, "atomic"), 1);
    assert_int_equal(value_of(second, "site"), 2);
    assert_string_equal(analyze_field_line(second, field_of(second, "line")).file, "a.cu");
}

// Two streams use the object: of a store it is unknown what was there, of an atomic operation not.
static void atomic_operations_count_beside_other_streams(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        launch(&model, LEGACY, 1);
        uses(&model, a, ANALYZE_WRITE);
        struct analyze_store_site *site = base_array_push(&model.store_sites);
        assert_non_null(site);
        *site = (struct analyze_store_site){.kernel = 1, .site = 1, .is_atomic = kind != 1};
        stores(&model, a, 1, 100, 99)->place = 0;
        struct profile_contents *written = row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0);
        written->flags = PROFILE_CONTENTS_CONCURRENT;
        written->fresh_pieces = kind == 2;
        expect(&model, kind == 0 ? "redundant-values 1 396" : "");
        forget(NULL);
    }
}

static void copies_and_sets_of_the_same_are_redundant(void **state)
{
    (void)state;
    static const struct {
        uint64_t same;
        const char *wanted;
    } cases[] = {{3300, "redundant-values 1 3300"}, {3299, ""}, {0, ""}};
    for (size_t i = 0; i < 2 * (sizeof(cases) / sizeof(cases[0])); i++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = allocate(&model, 10000);
        uint32_t call = i % 2 ? set(&model, a, 0, 10000) : copy_in(&model, a, 0, 10000);
        model.calls.items[call].gpu_ns = 100000;
        row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0)->same_bytes = cases[i / 2].same;
        expect(&model, cases[i / 2].wanted);
        if (i < 2)
            assert_int_equal(found(ANALYZE_REDUNDANT_VALUES)->gpu_ns, 33000);
        forget(NULL);
    }
}

// --- Duplicate values ----------------------------------------------------------------------------

// Copies to two objects; a launch then describes the first.
static void expect_twins(struct profile_value_field field, uint64_t other_hash,
                         uint64_t other_bytes, uint64_t known, uint32_t flags, const char *wanted)
{
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY), b = allocate(&model, other_bytes); // 0, 1
    copy_in(&model, a, 0, 4 * MANY);                                            // 2
    row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0)->hash_high = 77;
    copy_in(&model, b, 0, other_bytes); // 3
    struct profile_contents *twin = row(&model, b, PROFILE_CONTENTS_WRITTEN, NULL, 0);
    twin->hash_high = other_hash;
    twin->known_pieces = known;
    twin->flags = flags;
    launch(&model, LEGACY, 1); // 4
    row(&model, a, PROFILE_CONTENTS_FOUND, &field, 1)->hash_high = 77;
    expect(&model, wanted);
    forget(NULL);
}

static void objects_that_hold_the_same_are_duplicates(void **state)
{
    (void)state;
    const struct profile_value_field various = plain(PROFILE_TYPE_F32, MANY);
    expect_twins(various, 77, 4 * MANY, 2, 0, "duplicate-values 3 8192");
    expect_twins(various, 78, 4 * MANY, 2, 0, "");
    expect_twins(various, 77, 4 * MANY + 1, 3, 0, ""); // another size
    expect_twins(various, 77, 4 * MANY, 1, 0, "");     // a part is unknown
    expect_twins(various, 77, 4 * MANY, 2, PROFILE_CONTENTS_CONCURRENT, "");
    expect_twins(constant(PROFILE_TYPE_F32, MANY, 0, 0), 77, 4 * MANY, 2, 0,
                 "single-zero 2 8192"); // one value is no duplicate
}

static void freed_objects_are_no_duplicates(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct analyze_model model;
        const struct profile_value_field various = plain(PROFILE_TYPE_F32, MANY);
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY), b = allocate(&model, 4 * MANY);
        launch(&model, LEGACY, 1); // 2
        uses(&model, a, ANALYZE_WRITE);
        row(&model, a, PROFILE_CONTENTS_WRITTEN, &various, 1)->hash_high = 77;
        if (kind == 1)
            release(&model, a); // 3
        if (kind == 2)
            model.calls.items[launch(&model, LEGACY, 2)].flags |= ANALYZE_UNSEEN;
        launch(&model, LEGACY, 3); // 3 or 4
        uses(&model, b, ANALYZE_WRITE);
        row(&model, b, PROFILE_CONTENTS_WRITTEN, &various, 1)->hash_high = 77;
        expect(&model, kind ? "" : "duplicate-values 3 0");
        forget(NULL);
    }
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
        TEST(a_copy_with_gaps_cannot_be_a_set),
        TEST(a_set_is_no_finding_of_its_own),
        TEST(a_copy_uses_only_what_it_copies),
        TEST(a_launch_reads_the_elements_that_it_touches),
        TEST(rows_about_parts_add_up),
        TEST(a_row_about_everything_replaces_the_others),
        TEST(another_layout_keeps_the_writer),
        TEST(unknown_values_are_not_guessed),
        TEST(a_copy_of_the_same_keeps_what_is_known),
        TEST(host_memory_and_managed_memory_are_left_out),
        TEST(contents_that_were_not_seen_are_counted),
        TEST(a_graph_reads_what_was_there_before_it),
        TEST(a_graph_without_a_row_is_unknown),
        TEST(values_in_between_are_not_seen),
        TEST(fields_of_a_structure_are_told_apart),
        TEST(equal_fields_are_two_findings),
        TEST(half_of_the_elements_is_frequent),
        TEST(reads_are_weighed_by_accesses),
        TEST(thresholds_of_values_are_settable),
        TEST(frequency_needs_one_row_about_exactly_that),
        TEST(the_narrowest_integer_type_is_found),
        TEST(the_narrowest_type_of_floats_is_found),
        TEST(few_different_values_need_only_an_index),
        TEST(results_are_not_indexed),
        TEST(values_on_a_line_are_structured),
        TEST(rounding_finds_what_nearly_holds),
        TEST(exact_patterns_are_not_approximate),
        TEST(stores_that_change_nothing_are_redundant),
        TEST(a_launch_that_changes_nothing_is_told),
        TEST(atomic_operations_are_told_apart),
        TEST(atomic_operations_count_beside_other_streams),
        TEST(copies_and_sets_of_the_same_are_redundant),
        TEST(objects_that_hold_the_same_are_duplicates),
        TEST(freed_objects_are_no_duplicates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
