// SPDX-License-Identifier: Apache-2.0
// Patterns of what calls write, on small models: bytes that are there already, and objects that hold
// the same. What must match, and near misses that must not.
#include "value_rows.h"

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
