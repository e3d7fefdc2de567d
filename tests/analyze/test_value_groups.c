// SPDX-License-Identifier: Apache-2.0
// Which matches of patterns of values are one finding, and what it says about all of them.
#include "value_rows.h"

static struct profile_value_field ranging(uint64_t least, uint64_t greatest)
{
    struct profile_value_field field = plain(PROFILE_TYPE_S32, MANY);
    field.least = least;
    field.greatest = greatest;
    return field;
}

// Adds a launch of this kernel that writes all of the object.
static uint32_t write_all(struct analyze_model *model, uint32_t object, uint32_t kernel,
                          const struct profile_value_field *field)
{
    const uint32_t call = launch(model, LEGACY, kernel);
    uses(model, object, ANALYZE_WRITE);
    row(model, object, PROFILE_CONTENTS_WRITTEN, field, 1);
    return call;
}

// --- All uses of an object -----------------------------------------------------------------------

// One launch needs u8 and another s8. Both together need s16; 1 << 16 needs all of s32.
static void a_type_must_be_enough_for_all_uses(void **state)
{
    (void)state;
    static const struct {
        uint64_t least, greatest;
        const char *wanted, *type;
    } cases[] = {
        {0, 9, "heavy-type 1 12288", "u8"},
        {(uint64_t)-1, 9, "heavy-type 1 8192", "s16"},
        {0, 300, "heavy-type 1 8192", "u16"},
        {0, 65536, "", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct analyze_model model;
        const struct profile_value_field first = ranging(0, 200),
                                         second = ranging(cases[i].least, cases[i].greatest);
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        write_all(&model, a, 1, &first);
        write_all(&model, a, 2, &second);
        expect(&model, cases[i].wanted);
        if (cases[i].type)
            assert_string_equal(word_of(found(ANALYZE_HEAVY_TYPE), "narrow_type"), cases[i].type);
        forget(NULL);
    }
}

// The same for floats, whose order is not that of their bits.
static void a_type_must_be_enough_for_negative_floats(void **state)
{
    (void)state;
    for (unsigned swapped = 0; swapped < 2; swapped++) {
        struct analyze_model model;
        struct profile_value_field fields[2];
        for (unsigned i = 0; i < 2; i++) { // -3 to -2, and 0 to 9
            fields[i] = plain(PROFILE_TYPE_F32, MANY);
            fields[i].least = bits_of(i ? -3 : 0);
            fields[i].greatest = bits_of(i ? -2 : 9);
            fields[i].integral = MANY;
        }
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        write_all(&model, a, 1, &fields[swapped]);
        write_all(&model, a, 2, &fields[!swapped]);
        expect(&model, "heavy-type 1 12288");
        assert_string_equal(word_of(found(ANALYZE_HEAVY_TYPE), "narrow_type"), "s8");
        forget(NULL);
    }
}

// Of two fields of a structure, one is narrow, or both are. The type of each is decided apart.
static void fields_have_their_own_types(void **state)
{
    (void)state;
    for (unsigned both = 0; both < 2; both++) {
        struct profile_value_field fields[2] = {ranging(0, 200), ranging(0, both ? 200 : 70000)};
        fields[1].offset = 4;
        expect_read(fields, 2, both ? "heavy-type 2 6144, heavy-type 2 6144" : "heavy-type 2 6144");
        assert_int_equal(value_of(found(ANALYZE_HEAVY_TYPE), "offset"), 0);
        forget(NULL);
    }
}

// Another kernel uses the same bytes as floats.
static void elements_of_another_type_are_another_field(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field small = ranging(0, 200), other = plain(PROFILE_TYPE_F32, MANY);
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY);
    write_all(&model, a, 1, &small);
    write_all(&model, a, 2, &other);
    expect(&model, "heavy-type 1 6144");
}

// One launch writes and reads, another only writes: values between stores of the first were not
// seen.
static void one_use_at_a_border_is_enough(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 2; first++) {
        struct analyze_model model;
        const struct profile_value_field small = ranging(0, 200);
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        for (uint32_t i = 0; i < 2; i++) {
            write_all(&model, a, 1 + i, &small);
            if (i == first)
                model.touches.items[model.touches.count - 1].how |= ANALYZE_READ;
        }
        expect(&model, first ? "heavy-type 1 18432" : "heavy-type 1 12288");
        assert_int_equal(value_of(found(ANALYZE_HEAVY_TYPE), "border"), 1);
        forget(NULL);
    }
}

// Values that are all the same are no finding about types, but the type must hold them, too. So
// must it hold those of calls that use few elements.
static void a_type_must_be_enough_for_single_values_and_short_copies(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        struct analyze_model model;
        const struct profile_value_field small = ranging(0, 200);
        struct profile_value_field other =
            kind < 2 ? constant(PROFILE_TYPE_S32, MANY, kind ? 70000 : 7, kind ? 70000 : 7)
                     : ranging(0, kind == 2 ? 7 : 70000);
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        write_all(&model, a, 1, &small);
        write_all(&model, a, 2, &other);
        if (kind >= 2) {
            struct profile_contents *part =
                (struct profile_contents *)(uintptr_t)model.contents.items[1].row;
            part->pieces = 1;
            part->bytes = part->moved_bytes = 4096;
            part->fields[0].elements = FEW;
        }
        expect(&model, kind == 0   ? "single-value 2 0, heavy-type 1 6144"
                       : kind == 1 ? "single-value 2 0"
                       : kind == 2 ? "heavy-type 1 6144"
                                   : "");
        forget(NULL);
    }
}

// Two objects of one name, of which one needs the wide type: those that are allocated on one call
// path have one type in the source. A function that allocates for others has several call paths.
static void objects_of_one_name_and_call_path_have_one_type(void **state)
{
    (void)state;
    for (unsigned paths = 1; paths <= 2; paths++) {
        struct analyze_model model;
        const struct profile_value_field small = ranging(0, 200), large = ranging(0, 70000);
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY), b = allocate(&model, 4 * MANY);
        model.objects.items[a].name = model.objects.items[b].name = "p";
        model.calls.items[model.objects.items[a].call].path = 77;
        model.calls.items[model.objects.items[b].call].path = 76 + paths;
        write_all(&model, a, 1, &small);
        write_all(&model, b, 2, &large);
        expect(&model, paths == 1 ? "" : "heavy-type 2 6144");
        forget(NULL);
    }
}

// Two calls use the same line, a third one has another intercept, a fourth one another slope: they
// use one object, so it is one finding, which says that the lines vary.
static void uses_of_one_line_are_one_finding(void **state)
{
    (void)state;
    struct analyze_model model;
    struct profile_value_field line = plain(PROFILE_TYPE_S32, MANY);
    line.slope = 3;
    line.linear = MANY;
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY);
    write_all(&model, a, 1, &line);
    copy_out(&model, a, 0, 4 * MANY);
    line.intercept = 5;
    write_all(&model, a, 2, &line);
    line.slope = 4;
    write_all(&model, a, 2, &line);
    expect(&model, "structured-values 2 8192");
    assert_int_equal(found(ANALYZE_STRUCTURED_VALUES)->count, 4);
    assert_true(analyze_number_named(found(ANALYZE_STRUCTURED_VALUES), "varies"));
}

// --- Stores --------------------------------------------------------------------------------------

// Stores of one launch to one object are one finding, with the line of the one that writes most.
static void stores_to_an_object_are_one_finding(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY), b = allocate(&model, 4 * MANY);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_WRITE);
    uses(&model, b, ANALYZE_WRITE);
    for (uint32_t i = 0; i < 3; i++) {
        struct analyze_site *site = base_array_push(&model.sites);
        assert_non_null(site);
        *site = (struct analyze_site){.kernel = 1, .site = i + 1, .line = {"a.cu", 10 + i}};
    }
    stores(&model, a, 1, 100, 50)->place = 0;
    stores(&model, a, 2, 100, 60)->place = 1;
    stores(&model, a, 3, 100, 10)->place = 2; // too few are silent
    stores(&model, b, 3, 100, 99)->place = 2;
    row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0);
    row(&model, b, PROFILE_CONTENTS_WRITTEN, NULL, 0);
    expect(&model, "redundant-values 2 440, redundant-values 2 396");
    const struct analyze_finding *finding = found(ANALYZE_REDUNDANT_VALUES);
    assert_int_equal(value_of(finding, "sites"), 2);
    assert_int_equal(value_of(finding, "site"), 2);
    assert_int_equal(value_of(finding, "written_bytes"), 800);
    assert_int_equal(value_of(finding, "same_bytes"), 440);
    assert_int_equal(analyze_field_line(finding, field_of(finding, "line")).line, 11);
}

// Of a launch that changes nothing, all objects are one finding. If it changes one of them, each is
// one.
static void a_launch_that_changes_nothing_is_one_finding(void **state)
{
    (void)state;
    for (unsigned changes = 0; changes < 2; changes++) {
        struct analyze_model model;
        uint32_t objects[3];
        model_begin(&model);
        for (unsigned i = 0; i < 3; i++)
            objects[i] = allocate(&model, 4 * MANY);
        launch(&model, LEGACY, 1);
        for (unsigned i = 0; i < 3; i++) {
            uses(&model, objects[i], ANALYZE_WRITE);
            stores(&model, objects[i], 1 + i, 100 + i % 2, 100 + i % 2);
            row(&model, objects[i], PROFILE_CONTENTS_WRITTEN, NULL, 0)->same_bytes =
                changes && i == 0 ? 0 : 4 * MANY;
        }
        expect(&model, changes ? "redundant-values 3 400, redundant-values 3 404, "
                                 "redundant-values 3 400"
                               : "redundant-values 3 1204");
        const struct analyze_finding *finding = found(ANALYZE_REDUNDANT_VALUES);
        assert_int_equal(index_of(finding->object), objects[!changes]);
        assert_int_equal(value_of(finding, "changes_nothing"), !changes);
        assert_int_equal(value_of(finding, "other_objects"), changes ? 0 : 2);
        forget(NULL);
    }
}

// Three copies of one call path, of which two or all change nothing.
static void how_many_calls_change_nothing_is_told(void **state)
{
    (void)state;
    for (unsigned changing = 0; changing < 2; changing++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        for (unsigned i = 0; i < 3; i++) {
            const uint32_t call = copy_in(&model, a, 0, 4 * MANY);
            model.calls.items[call].path = 77;
            row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0)->same_bytes =
                i < changing ? 0 : 4 * MANY;
        }
        set(&model, a, 0, 4 * MANY); // of another path
        row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0);
        expect(&model, changing ? "redundant-values 2 16384" : "redundant-values 1 24576");
        const struct analyze_finding *finding = found(ANALYZE_REDUNDANT_VALUES);
        assert_int_equal(value_of(finding, "calls"), 3);
        assert_int_equal(value_of(finding, "unchanging_calls"), 3 - changing);
        assert_int_equal(value_of(finding, "always_nothing"), !changing);
        forget(NULL);
    }
}

// Of three launches of one call path, the last one has changed nothing, has accesses that are
// unknown, or has only read.
static void launches_that_may_change_something_do_not_count(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct analyze_model model;
        const struct profile_value_field various = plain(PROFILE_TYPE_F32, MANY);
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        for (unsigned i = 0; i < 3; i++) {
            const uint32_t call = launch(&model, LEGACY, 1);
            const bool reads = i == 2 && kind == 2;
            model.calls.items[call].path = 77;
            model.calls.items[call].flags |= i == 2 && kind == 1 ? ANALYZE_UNSEEN : 0;
            uses(&model, a, reads ? ANALYZE_READ : ANALYZE_WRITE);
            row(&model, a, reads ? PROFILE_CONTENTS_FOUND : PROFILE_CONTENTS_WRITTEN, &various, 1)
                ->same_bytes = 4 * MANY;
        }
        expect(&model, kind ? "redundant-values 1 16384" : "redundant-values 1 24576");
        const struct analyze_finding *finding = found(ANALYZE_REDUNDANT_VALUES);
        assert_int_equal(value_of(finding, "calls"), 3);
        assert_int_equal(value_of(finding, "unchanging_calls"), kind ? 2 : 3);
        forget(NULL);
    }
}

// --- Single values -------------------------------------------------------------------------------

// Two launches of one call path write one value each: the same or another one.
static void values_that_vary_are_no_constant(void **state)
{
    (void)state;
    for (unsigned varies = 0; varies < 2; varies++) {
        struct analyze_model model;
        const struct profile_value_field five = constant(PROFILE_TYPE_S32, MANY, 5, 5),
                                         other = constant(PROFILE_TYPE_S32, MANY, 5 + varies,
                                                          5 + varies);
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        const uint32_t first = write_all(&model, a, 1, &five),
                       second = write_all(&model, a, 1, &other);
        model.calls.items[first].path = model.calls.items[second].path = 77;
        expect(&model, "single-value 1 0");
        assert_int_equal(found(ANALYZE_SINGLE_VALUE)->count, 2);
        assert_int_equal(value_of(found(ANALYZE_SINGLE_VALUE), "varies"), varies);
        forget(NULL);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, forget)
    const struct CMUnitTest tests[] = {
        TEST(a_type_must_be_enough_for_all_uses),
        TEST(a_type_must_be_enough_for_negative_floats),
        TEST(fields_have_their_own_types),
        TEST(elements_of_another_type_are_another_field),
        TEST(one_use_at_a_border_is_enough),
        TEST(a_type_must_be_enough_for_single_values_and_short_copies),
        TEST(objects_of_one_name_and_call_path_have_one_type),
        TEST(uses_of_one_line_are_one_finding),
        TEST(stores_to_an_object_are_one_finding),
        TEST(a_launch_that_changes_nothing_is_one_finding),
        TEST(how_many_calls_change_nothing_is_told),
        TEST(launches_that_may_change_something_do_not_count),
        TEST(values_that_vary_are_no_constant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
