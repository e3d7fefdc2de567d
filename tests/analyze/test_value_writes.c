// SPDX-License-Identifier: Apache-2.0
// Patterns of what calls write, on small models: bytes that are there already, and objects that
// hold the same. What must match, and near misses that must not.
#include "value_rows.h"

// --- Redundant values ----------------------------------------------------------------------------

// Begins a model with a launch that writes an object. Returns the object.
static uint32_t begin_write(struct analyze_model *model)
{
    model_begin(model);
    const uint32_t object = allocate(model, 4 * MANY);
    launch(model, LEGACY, 1);
    uses(model, object, ANALYZE_WRITE);
    return object;
}

// A launch stores to an object whose contents are known, and changes some of it.
static void expect_stores(uint64_t count, uint64_t silent, uint64_t fresh, uint32_t flags,
                          const char *wanted)
{
    struct analyze_model model;
    const uint32_t a = begin_write(&model);
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

// The launch also writes something whose contents are not looked at: managed or host memory, an
// object that the recorder had no memory for, or one that is unknown.
static void a_launch_may_change_what_is_not_looked_at(void **state)
{
    (void)state;
    enum { READS, MANAGED, HOST, NO_ROW, UNKNOWN, KINDS };
    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY), b = allocate(&model, 4 * MANY);
        model.objects.items[b].elsewhere = kind == MANAGED;
        model.objects.items[b].is_host = kind == HOST;
        launch(&model, LEGACY, 1);
        uses(&model, a, ANALYZE_WRITE);
        if (kind != UNKNOWN)
            uses(&model, b, kind == READS ? ANALYZE_READ : ANALYZE_WRITE);
        stores(&model, a, 1, MANY, MANY);
        if (kind == UNKNOWN)
            stores(&model, ANALYZE_NONE, 2, MANY, 0);
        row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0)->same_bytes = 4 * MANY;
        expect(&model, "redundant-values 2 8192");
        assert_int_equal(value_of(found(ANALYZE_REDUNDANT_VALUES), "changes_nothing"),
                         kind == READS);
        forget(NULL);
    }
}

// The launch prints, for example. What it writes is still redundant.
static void a_launch_may_do_more_than_write(void **state)
{
    (void)state;
    for (unsigned acts = 0; acts < 2; acts++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        uint32_t call = launch(&model, LEGACY, 1);
        model.calls.items[call].flags |= acts ? ANALYZE_ACTS : 0;
        uses(&model, a, ANALYZE_WRITE);
        stores(&model, a, 1, MANY, MANY);
        row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0)->same_bytes = 4 * MANY;
        expect(&model, "redundant-values 1 8192");
        const struct analyze_finding *finding = found(ANALYZE_REDUNDANT_VALUES);
        assert_int_equal(value_of(finding, "changes_nothing"), !acts);
        assert_int_equal(value_of(finding, "unchanging_calls"), !acts);
        forget(NULL);
    }
}

static void atomic_operations_are_told_apart(void **state)
{
    (void)state;
    struct analyze_model model;
    const uint32_t a = begin_write(&model);
    struct analyze_site *site = base_array_push(&model.sites);
    assert_non_null(site);
    *site = (struct analyze_site){
        .kernel = 1, .site = 2, .line = {"a.cu", 12}, .access = PROFILE_SITE_ATOMIC};
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
        const uint32_t a = begin_write(&model);
        struct analyze_site *site = base_array_push(&model.sites);
        assert_non_null(site);
        *site = (struct analyze_site){
            .kernel = 1, .site = 1, .access = kind != 1 ? PROFILE_SITE_ATOMIC : PROFILE_SITE_STORE};
        stores(&model, a, 1, 100, 99)->place = 0;
        struct profile_contents *written = row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0);
        written->flags = PROFILE_CONTENTS_CONCURRENT;
        written->fresh_pieces = kind == 2;
        expect(&model, kind == 0 ? "redundant-values 1 396" : "");
        forget(NULL);
    }
}

// An instruction that is not known by its number: a pointer that is looked up.
static void stores_without_an_instruction_are_redundant(void **state)
{
    (void)state;
    struct analyze_model model;
    const uint32_t a = begin_write(&model);
    stores(&model, a, 0, 100, 50);
    row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0);
    expect(&model, "redundant-values 1 200");
    assert_int_equal(value_of(found(ANALYZE_REDUNDANT_VALUES), "sites"), 0);
}

// Of a graph, stores of each kernel are one finding. What a copy in it writes is unknown: the row
// is about whole pieces.
static void kernels_of_a_graph_are_told_apart(void **state)
{
    (void)state;
    struct analyze_model model;
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY), b = allocate(&model, 4 * MANY);
    add_call(&model, PROFILE_CALL_GRAPH_LAUNCH, LEGACY);
    touch(&model, b, ANALYZE_WRITE)->row_bytes = 4 * MANY;
    for (uint32_t kernel = 1; kernel <= 2; kernel++) {
        uses(&model, a, ANALYZE_WRITE)->kernel = kernel;
        stores(&model, a, 1, 100, 40 + kernel)->kernel = kernel;
    }
    row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0);
    row(&model, b, PROFILE_CONTENTS_WRITTEN, NULL, 0)->same_bytes = 4096;
    expect(&model, "redundant-values 2 164, redundant-values 2 168");
}

// A graph leaves its object as it was, and may copy it to the host, or from there.
static void a_graph_that_copies_to_the_host_changes_something(void **state)
{
    (void)state;
    static const unsigned ways[] = {0, ANALYZE_WRITE, ANALYZE_READ};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct analyze_model model;
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY);
        add_call(&model, PROFILE_CALL_GRAPH_LAUNCH, LEGACY);
        uses(&model, a, ANALYZE_WRITE);
        stores(&model, a, 1, MANY, MANY);
        if (ways[i])
            touch(&model, a, ways[i])->maker = ANALYZE_MADE_BY_HOST_COPY;
        row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0)->same_bytes = 4 * MANY;
        expect(&model, "redundant-values 1 8192");
        assert_int_equal(value_of(found(ANALYZE_REDUNDANT_VALUES), "changes_nothing"),
                         ways[i] != ANALYZE_READ);
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
    twin->hash_high = other_hash & UINT32_MAX;
    twin->hash_low = other_hash >> 32;
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
    expect_twins(various, 77 | UINT64_C(1) << 32, 4 * MANY, 2, 0, ""); // of the lower half
    expect_twins(various, 77, 4 * MANY + 1, 3, 0, "");                 // another size
    expect_twins(various, 77, 4 * MANY, 1, 0, "");                     // a part is unknown
    expect_twins(various, 77, 4 * MANY, 2, PROFILE_CONTENTS_CONCURRENT, "");
    expect_twins(constant(PROFILE_TYPE_F32, MANY, 0, 0), 77, 4 * MANY, 2, 0,
                 "single-zero 2 8192"); // one value is no duplicate
    struct profile_value_field zeros = constant(PROFILE_TYPE_F32, MANY, 0, 0x80000000);
    zeros.candidates[0].count = MANY / 2; // of both signs
    zeros.distinct = 2;
    expect_twins(zeros, 77, 4 * MANY, 2, 0, "single-zero 2 8192");
}

// Launches write a and b. What a held may not be there any more when b is written, or nothing may
// be known about b.
static void objects_that_held_the_same_are_no_duplicates(void **state)
{
    (void)state;
    enum { BOTH, FREED, UNSEEN, BATCH, DISTURBED, MANAGED, KINDS };
    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct analyze_model model;
        const struct profile_value_field various = plain(PROFILE_TYPE_F32, MANY);
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY), b = allocate(&model, 4 * MANY);
        model.objects.items[b].elsewhere = kind == MANAGED;
        launch(&model, LEGACY, 1); // 2
        uses(&model, a, ANALYZE_WRITE);
        row(&model, a, PROFILE_CONTENTS_WRITTEN, &various, 1)->hash_high = 77;
        if (kind == FREED)
            release(&model, a); // 3
        else
            launch(&model, LEGACY, 2); // 3
        if (kind == UNSEEN)
            model.calls.items[3].flags |= ANALYZE_UNSEEN;
        if (kind == BATCH)
            model.calls.items[3].flags |= ANALYZE_BATCH;
        if (kind == DISTURBED)
            row(&model, a, PROFILE_CONTENTS_WRITTEN, NULL, 0)->flags = PROFILE_CONTENTS_CONCURRENT;
        launch(&model, LEGACY, 3); // 4
        uses(&model, b, ANALYZE_WRITE);
        row(&model, b, PROFILE_CONTENTS_WRITTEN, &various, 1)->hash_high = 77;
        expect(&model, kind ? "" : "duplicate-values 4 0");
        forget(NULL);
    }
}

// A launch that may write anything has a row about b. Then c becomes the same as b was.
static void rows_of_unseen_launches_prove_nothing(void **state)
{
    (void)state;
    for (unsigned unseen = 0; unseen < 2; unseen++) {
        struct analyze_model model;
        const struct profile_value_field various = plain(PROFILE_TYPE_F32, MANY);
        model_begin(&model);
        uint32_t b = allocate(&model, 4 * MANY), c = allocate(&model, 4 * MANY);
        const uint32_t call = launch(&model, LEGACY, 1); // 2
        model.calls.items[call].flags |= unseen ? ANALYZE_UNSEEN : 0;
        uses(&model, b, ANALYZE_WRITE);
        row(&model, b, PROFILE_CONTENTS_WRITTEN, &various, 1)->hash_high = 77;
        launch(&model, LEGACY, 2); // 3
        uses(&model, c, ANALYZE_WRITE);
        row(&model, c, PROFILE_CONTENTS_WRITTEN, &various, 1)->hash_high = 77;
        expect(&model, unseen ? "" : "duplicate-values 3 0");
        forget(NULL);
    }
}

// Copies bring the same to a and b. Copying it to b again makes nothing new the same.
static void the_same_duplicate_is_found_once(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field various = plain(PROFILE_TYPE_F32, MANY);
    model_begin(&model);
    uint32_t objects[3] = {allocate(&model, 4 * MANY), allocate(&model, 4 * MANY)}; // 0, 1
    objects[2] = objects[1];
    for (unsigned i = 0; i < 3; i++) { // 2, 3, 4
        copy_in(&model, objects[i], 0, 4 * MANY);
        row(&model, objects[i], PROFILE_CONTENTS_WRITTEN, &various, 1)->hash_high = 77;
    }
    expect(&model, "duplicate-values 3 8192");
}

// Only a call that writes makes objects the same; one that reads finds out that they are.
static void what_a_launch_finds_makes_nothing_the_same(void **state)
{
    (void)state;
    struct analyze_model model;
    const struct profile_value_field various = plain(PROFILE_TYPE_F32, MANY);
    model_begin(&model);
    uint32_t a = allocate(&model, 4 * MANY), b = allocate(&model, 4 * MANY);
    launch(&model, LEGACY, 1);
    uses(&model, a, ANALYZE_WRITE);
    row(&model, a, PROFILE_CONTENTS_WRITTEN, &various, 1)->hash_high = 77;
    launch(&model, LEGACY, 2);
    uses(&model, b, ANALYZE_READ);
    row(&model, b, PROFILE_CONTENTS_FOUND, &various, 1)->hash_high = 77;
    expect(&model, "");
}

// A launch writes a half of b, after which it holds the same as a. What the half holds is not what
// all of b holds: zeros, if a holds various values.
static void a_half_does_not_tell_about_the_whole(void **state)
{
    (void)state;
    for (unsigned described = 0; described < 3; described++) { // nothing, a, the half of b
        struct analyze_model model;
        const struct profile_value_field various = plain(PROFILE_TYPE_F32, MANY),
                                         zeros = constant(PROFILE_TYPE_F32, HALF, 0, 0),
                                         others = plain(PROFILE_TYPE_F32, HALF);
        model_begin(&model);
        uint32_t a = allocate(&model, 4 * MANY), b = allocate(&model, 4 * MANY);
        copy_in(&model, a, 0, 4 * MANY);
        row(&model, a, PROFILE_CONTENTS_WRITTEN, &various, described == 1)->hash_high = 77;
        launch(&model, LEGACY, 1);
        uses(&model, b, ANALYZE_WRITE);
        struct profile_contents *half =
            row(&model, b, PROFILE_CONTENTS_WRITTEN, described == 2 ? &others : &zeros, 1);
        half->hash_high = 77;
        half->pieces = 1;
        half->bytes = half->moved_bytes = 4096;
        expect(&model, described == 0   ? "single-zero 3 0"
                       : described == 1 ? "duplicate-values 3 0, single-zero 3 0"
                                        : "duplicate-values 3 0");
        forget(NULL);
    }
}

// Two fields of a structure hold one value each. If it is the same one, the object holds one value.
static void fields_with_different_values_are_no_single_value(void **state)
{
    (void)state;
    for (unsigned same = 0; same < 2; same++) {
        struct analyze_model model;
        struct profile_value_field fields[2] = {
            constant(PROFILE_TYPE_U32, FEW, 5, 5),
            constant(PROFILE_TYPE_U32, FEW, same ? 5 : 6, same ? 5 : 6)};
        fields[1].offset = 4;
        model_begin(&model);
        for (unsigned i = 0; i < 2; i++) {
            const uint32_t object = allocate(&model, 8 * FEW);
            launch(&model, LEGACY, 1 + i);
            uses(&model, object, ANALYZE_WRITE);
            row(&model, object, PROFILE_CONTENTS_WRITTEN, fields, 2)->hash_high = 77;
        }
        expect(&model, same ? "" : "duplicate-values 3 0");
        forget(NULL);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, forget)
    const struct CMUnitTest tests[] = {
        TEST(stores_that_change_nothing_are_redundant),
        TEST(a_launch_that_changes_nothing_is_told),
        TEST(a_launch_may_change_what_is_not_looked_at),
        TEST(a_launch_may_do_more_than_write),
        TEST(atomic_operations_are_told_apart),
        TEST(atomic_operations_count_beside_other_streams),
        TEST(stores_without_an_instruction_are_redundant),
        TEST(kernels_of_a_graph_are_told_apart),
        TEST(a_graph_that_copies_to_the_host_changes_something),
        TEST(copies_and_sets_of_the_same_are_redundant),
        TEST(objects_that_hold_the_same_are_duplicates),
        TEST(objects_that_held_the_same_are_no_duplicates),
        TEST(rows_of_unseen_launches_prove_nothing),
        TEST(the_same_duplicate_is_found_once),
        TEST(what_a_launch_finds_makes_nothing_the_same),
        TEST(a_half_does_not_tell_about_the_whole),
        TEST(fields_with_different_values_are_no_single_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
