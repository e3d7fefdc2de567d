// SPDX-License-Identifier: Apache-2.0
// Which values a call uses, on small models: the rows that are in effect, what is unknown, and
// graphs. Single values show what is known.
#include "value_rows.h"

// --- What is in effect ---------------------------------------------------------------------------

// What holds for all elements of both halves holds for the object, if it is the same for both. Of
// different constants, every row is single, but the object is not.
static void rows_about_parts_add_up(void **state)
{
    (void)state;
    const enum profile_value_type f32 = PROFILE_TYPE_F32;
    const struct profile_value_field zero = constant(f32, HALF, 0, 0),
                                     three = constant(f32, HALF, bits_of(3), 0x40400000);
    struct profile_value_field minus = constant(f32, HALF, bits_of(-0.0), 0x80000000);
    minus.zeros = HALF;
    const struct {
        struct profile_value_field first, second;
        const char *wanted;
    } cases[] = {
        {three, three, "single-value 1 0, single-value 2 0, single-value 3 8192"},
        {three, constant(f32, HALF, bits_of(4), 0x40800000), "single-value 1 0, single-value 2 0"},
        {three, zero, "single-value 1 0, single-zero 2 0"},
        {zero, three, "single-value 2 0, single-zero 1 0"},
        {zero, minus, "single-zero 1 0, single-zero 2 0, single-zero 3 8192"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct analyze_model model;
        write_halves(&model, cases[i].first, cases[i].second);
        expect(&model, cases[i].wanted);
        for (size_t k = 0; k < last->finding_count; k++) { // two calls have written what is read
            if (last->findings[k].pattern == ANALYZE_SINGLE_VALUE && last->findings[k].call == 4)
                assert_int_equal(value_of(&last->findings[k], "written_by"), 0);
        }
        forget(NULL);
    }
}

// Rows with different layouts describe different elements, even if all of them are zero.
static void rows_with_different_layouts_do_not_add_up(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        struct analyze_model model;
        const struct profile_value_field zero = constant(PROFILE_TYPE_F32, HALF, 0, 0);
        struct profile_contents *half = write_halves(&model, zero, zero);
        if (kind == 1)
            half->fields[0].type = PROFILE_TYPE_S32;
        if (kind == 2)
            half->fields[0].offset = 4;
        if (kind == 3)
            half->stride = 8;
        expect(&model, kind ? "single-zero 1 0, single-zero 2 0"
                            : "single-zero 1 0, single-zero 2 0, single-zero 3 8192");
        forget(NULL);
    }
}

// Sixteen rows that add up are remembered for an object.
static void too_many_rows_are_not_combined(void **state)
{
    (void)state;
    for (uint32_t count = 16; count <= 17; count++) {
        struct analyze_model model;
        char wanted[600];
        int length = 0;
        const struct profile_value_field zero = constant(PROFILE_TYPE_F32, HALF, 0, 0);
        model_begin(&model);
        uint32_t a = allocate(&model, 17 * 4096);
        for (uint32_t i = 1; i <= count; i++) {
            launch(&model, LEGACY, i);
            uses(&model, a, ANALYZE_WRITE);
            struct profile_contents *part = row(&model, a, PROFILE_CONTENTS_WRITTEN, &zero, 1);
            part->pieces = 1;
            part->bytes = part->moved_bytes = 4096;
            part->known_pieces = i;
            length += snprintf(wanted + length, sizeof(wanted) - (size_t)length,
                               "%ssingle-zero %u 0", i > 1 ? ", " : "", i);
        }
        launch(&model, LEGACY, 20);
        uses(&model, a, ANALYZE_READ);
        if (count == 16)
            snprintf(wanted + length, sizeof(wanted) - (size_t)length, ", single-zero 17 65536");
        expect(&model, wanted);
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

// After a copy whose values nothing has described, after rows of two streams at once, after a
// launch that is not watched, and after a batch of copies, the values are unknown.
static void unknown_values_are_not_guessed(void **state)
{
    (void)state;
    const struct profile_value_field zero = constant(PROFILE_TYPE_F32, MANY, 0, 0);
    for (unsigned kind = 0; kind < 5; kind++) {
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
            model.calls.items[call].flags |= kind == 3   ? ANALYZE_UNSEEN
                                             : kind == 4 ? ANALYZE_BATCH
                                                         : 0;
        }
        launch(&model, LEGACY, 2);
        uses(&model, a, ANALYZE_READ);
        expect(&model, kind ? "single-zero 1 0" : "single-zero 1 0, single-zero 3 8192");
        forget(NULL);
    }
}

// Two streams wrote the object at the same time. Then a launch writes a half of it, or all.
static void a_row_about_everything_makes_values_known_again(void **state)
{
    (void)state;
    for (unsigned whole = 0; whole < 2; whole++) {
        struct analyze_model model;
        const struct profile_value_field zero =
            constant(PROFILE_TYPE_F32, whole ? MANY : HALF, 0, 0);
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        launch(&model, LEGACY, 1);
        uses(&model, a, ANALYZE_WRITE);
        row(&model, a, PROFILE_CONTENTS_WRITTEN, &zero, 1)->flags = PROFILE_CONTENTS_CONCURRENT;
        launch(&model, LEGACY, 2);
        uses(&model, a, ANALYZE_WRITE);
        struct profile_contents *written = row(&model, a, PROFILE_CONTENTS_WRITTEN, &zero, 1);
        if (!whole) {
            written->pieces = 1;
            written->bytes = written->moved_bytes = 4096;
        }
        launch(&model, LEGACY, 3);
        uses(&model, a, ANALYZE_READ);
        launch(&model, LEGACY, 4);
        uses(&model, a, ANALYZE_READ);
        const struct profile_value_field all = constant(PROFILE_TYPE_S32, MANY, 0, 0);
        row(&model, a, PROFILE_CONTENTS_FOUND, &all, 1); // with another layout
        expect(&model, whole ? "single-zero 2 0, single-zero 3 8192, single-zero 4 8192"
                             : "single-zero 2 0, single-zero 4 8192");
        for (size_t i = 0; i < last->finding_count; i++) { // who wrote the other half is unknown
            if (last->findings[i].pattern == ANALYZE_SINGLE_ZERO && last->findings[i].call == 5)
                assert_int_equal(value_of(&last->findings[i], "written_by"), whole ? 3 : 0);
        }
        forget(NULL);
    }
}

// What a launch finds is what the last copy brought, not the one before.
static void each_copy_brings_what_the_next_launch_finds(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field zero = constant(PROFILE_TYPE_F32, MANY, 0, 0);
    const uint32_t a = copy_and_read(&model, zero);
    copy_in(&model, a, 0, 4 * MANY);
    row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0);
    launch(&model, LEGACY, 2);
    row(&model, a, PROFILE_CONTENTS_FOUND, &zero, 1);
    uses(&model, a, ANALYZE_READ);
    expect(&model,
           "single-zero 1 8192, single-zero 2 8192, single-zero 3 8192, single-zero 4 8192");
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

// Rows about one of two pieces.
static struct profile_contents *half_row(struct analyze_model *model, uint32_t object,
                                         enum profile_contents_kind kind,
                                         const struct profile_value_field *field)
{
    struct profile_contents *made = row(model, object, kind, field, field != NULL);
    made->pieces = 1;
    made->bytes = made->moved_bytes = 4096;
    return made;
}

// After launch 1, a copy (2) writes all pieces, or one. A launch (3) writes one, and another (4)
// finds what the copy left in the other. Only if the copy wrote everything, the last launch reads
// nothing that is older, even if the older values are unknown.
static void a_copy_of_everything_replaces_what_was_there(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        const bool whole = i % 2 == 0, known = i < 2;
        const struct profile_value_field old = constant(PROFILE_TYPE_F32, MANY, bits_of(1), 1),
                                         half = constant(PROFILE_TYPE_F32, HALF, bits_of(2), 2);
        struct analyze_model model;
        char wanted[80];
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        launch(&model, LEGACY, 1);
        uses(&model, a, ANALYZE_WRITE);
        row(&model, a, PROFILE_CONTENTS_WRITTEN, &old, 1)->flags =
            known ? 0 : PROFILE_CONTENTS_CONCURRENT;
        copy_in(&model, a, 0, whole ? 4 * MANY : 4096);
        if (whole)
            row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0);
        else
            half_row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL);
        launch(&model, LEGACY, 2);
        uses(&model, a, ANALYZE_WRITE);
        half_row(&model, a, PROFILE_CONTENTS_WRITTEN, &half);
        launch(&model, LEGACY, 3);
        uses(&model, a, ANALYZE_READ);
        half_row(&model, a, PROFILE_CONTENTS_FOUND, &half);
        snprintf(wanted, sizeof(wanted), "%ssingle-value 3 0, %s",
                 known ? "single-value 1 0, " : "",
                 whole ? "single-value 4 8192" : "single-value 2 4096");
        expect(&model, wanted);
        forget(NULL);
    }
}

// Of two copies, the launch finds what the second wrote if that was everything; else it finds what
// both wrote, one over the other.
static void a_copy_of_everything_replaces_copies_before_it(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 2; first++) {
        const struct profile_value_field two = constant(PROFILE_TYPE_F32, MANY, bits_of(2), 2);
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        for (unsigned i = 0; i < 2; i++) { // 1, 2
            copy_in(&model, a, 0, i == first ? 4 * MANY : 4096);
            if (i == first)
                row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0);
            else
                half_row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL);
        }
        launch(&model, LEGACY, 1); // 3
        uses(&model, a, ANALYZE_READ);
        row(&model, a, PROFILE_CONTENTS_FOUND, &two, 1);
        expect(&model, first ? "single-value 2 8192, single-value 3 8192" : "single-value 3 8192");
        forget(NULL);
    }
}

static void host_memory_and_managed_memory_are_left_out(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct analyze_model model;
        const struct profile_value_field zero = constant(PROFILE_TYPE_F32, MANY, 0, 0);
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        model.objects.items[a].is_host = i % 2;
        model.objects.items[a].elsewhere = i % 2 == 0;
        launch(&model, LEGACY, 1);
        uses(&model, a, ANALYZE_WRITE);
        row(&model, a, PROFILE_CONTENTS_WRITTEN, &zero, 1)->same_bytes = 4 * MANY;
        if (i / 2)
            stores(&model, a, 1, MANY, MANY);
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

// The row of a graph describes whole pieces, of which a copy in it may have written a part.
static void what_a_copy_in_a_graph_writes_is_no_finding(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field zero = constant(PROFILE_TYPE_F32, MANY, 0, 0);
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY);
    add_call(&model, PROFILE_CALL_GRAPH_LAUNCH, LEGACY);
    touch(&model, a, ANALYZE_WRITE)->row_bytes = 16;
    model.touches.items[0].rows = 1;
    row(&model, a, PROFILE_CONTENTS_WRITTEN, &zero, 1);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_READ);
    expect(&model, "single-zero 2 8192");
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

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, forget)
    const struct CMUnitTest tests[] = {
        TEST(rows_about_parts_add_up),
        TEST(rows_with_different_layouts_do_not_add_up),
        TEST(too_many_rows_are_not_combined),
        TEST(a_row_about_everything_replaces_the_others),
        TEST(another_layout_keeps_the_writer),
        TEST(unknown_values_are_not_guessed),
        TEST(a_row_about_everything_makes_values_known_again),
        TEST(each_copy_brings_what_the_next_launch_finds),
        TEST(a_copy_of_the_same_keeps_what_is_known),
        TEST(a_copy_of_everything_replaces_what_was_there),
        TEST(a_copy_of_everything_replaces_copies_before_it),
        TEST(host_memory_and_managed_memory_are_left_out),
        TEST(contents_that_were_not_seen_are_counted),
        TEST(a_graph_reads_what_was_there_before_it),
        TEST(what_a_copy_in_a_graph_writes_is_no_finding),
        TEST(a_graph_without_a_row_is_unknown),
        TEST(values_in_between_are_not_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
