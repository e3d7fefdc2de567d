// SPDX-License-Identifier: Apache-2.0
// What a call uses of the values that rows describe: all of them or a part, and whether it changes
// them. What must match, and near misses that must not.
#include "value_rows.h"

static struct profile_value_field half_zero(uint64_t zeros)
{
    struct profile_value_field field = plain(PROFILE_TYPE_F32, MANY);
    field.zeros = zeros;
    field.candidates[0] = (struct profile_candidate){0, zeros};
    return field;
}

// A launch stores this many elements of 4 bytes to an object of MANY elements.
static void expect_stored(struct profile_value_field field, uint64_t stored, const char *wanted)
{
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_WRITE);
    row(&model, a, PROFILE_CONTENTS_WRITTEN, &field, 1)->fresh_pieces = 2;
    stores(&model, a, 1, stored, 0);
    expect(&model, wanted);
}

// The row also describes what the launch did not write, in the same pieces. That may be all of the
// frequent value.
static void elements_that_are_not_written_do_not_count(void **state)
{
    (void)state;
    const uint64_t most = MANY - MANY / 10; // that is nearly all
    expect_stored(half_zero(MANY / 2), MANY, "frequent-values 1 0");
    assert_int_equal(value_of(found(ANALYZE_FREQUENT_VALUES), "elements"), MANY);
    forget(NULL);
    // Of `most` elements, half and what was not written.
    expect_stored(half_zero(most / 2 + MANY / 10), most, "frequent-values 1 0");
    assert_int_equal(value_of(found(ANALYZE_FREQUENT_VALUES), "elements"), most);
    assert_int_equal(value_of(found(ANALYZE_FREQUENT_VALUES), "matching"), most / 2);
    forget(NULL);
    expect_stored(half_zero(most / 2 + MANY / 10 - 1), most, "");
    forget(NULL);
    // Too much was not written, so that even this says nothing.
    expect_stored(half_zero(MANY - 1), most - 1, "");
}

// What holds for all elements holds for those that were written. Their number is that of stores.
static void written_elements_are_counted(void **state)
{
    (void)state;
    expect_stored(constant(PROFILE_TYPE_F32, MANY, 0, 0), MANY / 2, "single-zero 1 0");
    assert_int_equal(value_of(found(ANALYZE_SINGLE_ZERO), "elements"), MANY / 2);
    forget(NULL);
    expect_stored(constant(PROFILE_TYPE_F32, MANY, 0, 0), FEW, "");
}

// A structure of 4 bytes and 4 bytes of padding: all that can be stored is stored.
static void padding_is_not_missing(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field field = half_zero(MANY / 2);
    model_begin(&model);
    uint32_t a = allocate(&model, 8 * MANY);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_WRITE);
    row(&model, a, PROFILE_CONTENTS_WRITTEN, &field, 1)->stride = 8;
    stores(&model, a, 1, MANY, 0);
    expect(&model, "frequent-values 1 0");
    assert_int_equal(value_of(found(ANALYZE_FREQUENT_VALUES), "elements"), MANY);
}

// Of stores whose object is unknown, some may be to this one.
static void stores_to_unknown_objects_may_write_the_rest(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field field = half_zero(MANY / 2);
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_WRITE);
    row(&model, a, PROFILE_CONTENTS_WRITTEN, &field, 1);
    stores(&model, a, 1, 1, 0);
    stores(&model, ANALYZE_NONE, 2, MANY, 0);
    expect(&model, "frequent-values 1 0");
}

// Launch 1 writes all, launch 2 the first piece again, launch 3 reads. The two rows describe 3/2 of
// the elements, but the object has no more than it has.
static void overlapping_rows_are_no_more_than_the_object(void **state)
{
    (void)state;
    struct analyze_model model;
    struct profile_value_field field = constant(PROFILE_TYPE_F32, MANY, 0, 0);
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_WRITE);
    row(&model, a, PROFILE_CONTENTS_WRITTEN, &field, 1);
    launch(&model, LEGACY, 2);
    uses(&model, a, ANALYZE_WRITE);
    field = constant(PROFILE_TYPE_F32, MANY / 2, 0, 0);
    struct profile_contents *part = row(&model, a, PROFILE_CONTENTS_WRITTEN, &field, 1);
    part->pieces = 1;
    part->bytes = part->moved_bytes = 4096;
    launch(&model, LEGACY, 3);
    uses(&model, a, ANALYZE_READ);
    expect(&model, "single-zero 1 0, single-zero 2 0, single-zero 3 8192");
    for (size_t i = 0; i < last->finding_count; i++) {
        const struct analyze_finding *finding = &last->findings[i];
        if (finding->pattern == ANALYZE_SINGLE_ZERO && finding->call == 4)
            assert_int_equal(value_of(finding, "elements"), MANY);
    }
}

// A launch reads zeros and writes the object. If it changes nothing, the zeros need not be read;
// else it may begin to sum up there. Without a row, what it writes is unknown.
static void zeros_that_a_launch_changes_are_worth_nothing(void **state)
{
    (void)state;
    for (unsigned changes = 0; changes < 3; changes++) {
        struct analyze_model model;
        const struct profile_value_field zero = constant(PROFILE_TYPE_F32, MANY, 0, 0),
                                         sums = plain(PROFILE_TYPE_F32, MANY);
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        launch(&model, LEGACY, 1);
        uses(&model, a, ANALYZE_READ | ANALYZE_WRITE);
        row(&model, a, PROFILE_CONTENTS_FOUND, &zero, 1);
        if (changes < 2)
            row(&model, a, PROFILE_CONTENTS_WRITTEN, changes ? &sums : &zero, 1)->same_bytes =
                changes ? 4096 : 4 * MANY;
        expect(&model, changes ? "single-zero 1 0"
                               : "redundant-values 1 8192, single-zero 1 8192, single-zero 1 0");
        assert_int_equal(found(ANALYZE_SINGLE_ZERO)->gain_is_unknown, changes != 0);
        forget(NULL);
    }
}

// The same for a line.
static void a_line_that_a_launch_changes_is_worth_nothing(void **state)
{
    (void)state;
    for (unsigned changes = 0; changes < 2; changes++) {
        struct analyze_model model;
        struct profile_value_field line = plain(PROFILE_TYPE_S32, MANY);
        line.slope = 1;
        line.linear = MANY;
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        launch(&model, LEGACY, 1);
        uses(&model, a, changes ? ANALYZE_READ | ANALYZE_WRITE : ANALYZE_READ);
        row(&model, a, PROFILE_CONTENTS_FOUND, &line, 1);
        expect(&model, changes ? "structured-values 1 0" : "structured-values 1 8192");
        assert_int_equal(found(ANALYZE_STRUCTURED_VALUES)->gain_is_unknown, changes);
        forget(NULL);
    }
}

// Each device needs the bytes in its own memory.
static void twins_on_different_devices_are_no_duplicates(void **state)
{
    (void)state;
    for (uint32_t device = 1; device <= 2; device++) {
        struct analyze_model model;
        const struct profile_value_field various = plain(PROFILE_TYPE_F32, MANY);
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY), b = allocate(&model, 4 * MANY);
        model.objects.items[a].device = 1;
        model.objects.items[b].device = device;
        copy_in(&model, a, 0, 4 * MANY);
        row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0)->hash_high = 77;
        copy_in(&model, b, 0, 4 * MANY);
        row(&model, b, PROFILE_CONTENTS_WRITTEN, NULL, 0)->hash_high = 77;
        launch(&model, LEGACY, 3);
        uses(&model, b, ANALYZE_READ);
        row(&model, b, PROFILE_CONTENTS_FOUND, &various, 1)->hash_high = 77;
        expect(&model, device == 1 ? "duplicate-values 3 8192" : "");
        forget(NULL);
    }
}

// Copies bring the same to a and to b (calls 2 and 3), and a launch reads b. In between or later,
// something is written: if b could not be replaced by a, the second copy is worth nothing.
static void a_twin_that_changes_is_needed(void **state)
{
    (void)state;
    enum { NOTHING, A_BEFORE, A_AFTER, B_BEFORE, B_AFTER, B_OVERWRITTEN, UNSEEN, KINDS };
    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct analyze_model model;
        const struct profile_value_field various = plain(PROFILE_TYPE_F32, MANY);
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY), b = allocate(&model, 4 * MANY);
        copy_in(&model, a, 0, 4 * MANY);
        row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0)->hash_high = 77;
        copy_in(&model, b, 0, 4 * MANY);
        row(&model, b, PROFILE_CONTENTS_WRITTEN, NULL, 0)->hash_high = 77;
        launch(&model, LEGACY, 1);
        if (kind == A_BEFORE || kind == B_BEFORE)
            uses(&model, kind == A_BEFORE ? a : b, ANALYZE_WRITE);
        launch(&model, LEGACY, 2);
        model.calls.items[model.calls.count - 1].flags |= kind == UNSEEN ? ANALYZE_UNSEEN : 0;
        launch(&model, LEGACY, 3);
        uses(&model, b, ANALYZE_READ);
        row(&model, b, PROFILE_CONTENTS_FOUND, &various, 1)->hash_high = 77;
        if (kind == B_OVERWRITTEN)
            copy_in(&model, b, 0, 4 * MANY);
        launch(&model, LEGACY, 4);
        if (kind == A_AFTER || kind == B_AFTER || kind == B_OVERWRITTEN)
            uses(&model, kind == A_AFTER ? a : b, ANALYZE_WRITE);
        const bool is_replaceable = kind == NOTHING || kind == A_AFTER || kind == B_OVERWRITTEN;
        expect(&model, is_replaceable ? "duplicate-values 3 8192" : "duplicate-values 3 0");
        assert_int_equal(value_of(found(ANALYZE_DUPLICATE_VALUES), "replaceable"), is_replaceable);
        assert_int_equal(found(ANALYZE_DUPLICATE_VALUES)->gain_is_unknown, !is_replaceable);
        forget(NULL);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, forget)
    const struct CMUnitTest tests[] = {
        TEST(elements_that_are_not_written_do_not_count),
        TEST(written_elements_are_counted),
        TEST(padding_is_not_missing),
        TEST(stores_to_unknown_objects_may_write_the_rest),
        TEST(overlapping_rows_are_no_more_than_the_object),
        TEST(zeros_that_a_launch_changes_are_worth_nothing),
        TEST(a_line_that_a_launch_changes_is_worth_nothing),
        TEST(twins_on_different_devices_are_no_duplicates),
        TEST(a_twin_that_changes_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
