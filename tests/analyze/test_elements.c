// SPDX-License-Identifier: Apache-2.0
// Patterns inside objects: slices that launches touch, of one kernel or of several, and elements
// that are scattered.
#include "models.h"

static const struct analyze_finding *find(const struct analysis *analysis,
                                          enum analyze_pattern pattern)
{
    for (size_t i = 0; i < analyze_finding_count(analysis); i++) {
        if (analyze_finding(analysis, i)->pattern == pattern)
            return analyze_finding(analysis, i);
    }
    return NULL;
}

static double real_of(const struct analyze_finding *finding, const char *name)
{
    return analyze_field_real(finding, analyze_find_field(finding->pattern, name, strlen(name)));
}

enum { ROWS = 16, ROW = 64 };

// Each launch touches a row of its own; `accesses` says how often. again: the last one touches an
// element of an earlier row.
static struct analysis *make_rows(const uint64_t accesses[ROWS], bool several, bool again)
{
    struct analyze_model model;
    model_begin(&model);
    const uint32_t a = allocate(&model, 4 * ROWS * ROW);
    for (uint32_t i = 0; i < ROWS; i++) {
        const uint32_t kernel = several ? i + 1 : 1, call = launch(&model, LEGACY, kernel);
        struct analyze_touch *row = uses(&model, a, ANALYZE_WRITE);
        row->elements = row->new_elements = ROW;
        row->element_bytes = 4;
        row->new_elements -= again && i + 1 == ROWS;
        struct analyze_counted *counted = base_array_push(&model.counted);
        assert_non_null(counted);
        *counted = (struct analyze_counted){call, a, kernel, 0, accesses[i]};
    }
    release(&model, a);
    return analyze(&model, analyze_default_thresholds());
}

static void rows_of_launches_are_compared_over_all_launches(void **state)
{
    (void)state;
    uint64_t falling[ROWS], even[ROWS];
    for (unsigned i = 0; i < ROWS; i++) {
        falling[i] = ROWS - i;
        even[i] = 100 + i % 2;
    }
    struct analysis *analysis = make_rows(falling, false, false);
    const struct analyze_finding *finding = find(analysis, ANALYZE_NON_UNIFORM_ACCESS);
    assert_non_null(finding);
    // Of the numbers 1 to n, the coefficient is sqrt((n - 1) / (3 (n + 1))).
    const double variation = real_of(finding, "variation");
    assert_true(variation > 0.542 && variation < 0.543);
    assert_int_equal(finding->call, 2); // the row that is accessed most often
    assert_int_equal(finding->times, ROWS);
    analyze_free(analysis);
    analysis = make_rows(even, false, false);
    assert_null(find(analysis, ANALYZE_NON_UNIFORM_ACCESS));
    analyze_free(analysis);
    analysis = make_rows(falling, false, true); // not a row of its own
    assert_null(find(analysis, ANALYZE_NON_UNIFORM_ACCESS));
    analyze_free(analysis);
    analysis = make_rows(falling, true, false); // one launch of each kernel
    assert_null(find(analysis, ANALYZE_NON_UNIFORM_ACCESS));
    analyze_free(analysis);
}

static void slices_may_be_of_several_kernels(void **state)
{
    (void)state;
    const uint64_t once[ROWS] = {0};
    for (unsigned again = 0; again < 2; again++) {
        struct analysis *analysis = make_rows(once, true, again);
        const struct analyze_finding *finding = find(analysis, ANALYZE_STRUCTURED_ACCESS);
        assert_int_equal(finding != NULL, !again);
        if (finding) {
            assert_int_equal(finding->times, ROWS);
            assert_int_equal(finding->peak_bytes, 4 * (ROWS - 1) * ROW);
        }
        analyze_free(analysis);
    }
}

// Of 1000 elements `touched` are used, nearly each with unused ones on both sides.
static struct analysis *make_scattered(uint64_t touched)
{
    struct analyze_model model;
    model_begin(&model);
    const uint32_t a = allocate(&model, 40000);
    launch(&model, LEGACY, 1);
    struct analyze_touch *row = uses(&model, a, ANALYZE_READ);
    row->elements = row->new_elements = touched;
    row->element_bytes = 40;
    release(&model, a);
    struct analyze_map *map = base_array_push(&model.maps);
    assert_non_null(map);
    *map = (struct analyze_map){.element_bytes = 40,
                                .elements = 1000,
                                .touched = touched,
                                .unused = 1000 - touched,
                                .largest_count = 20};
    return analyze(&model, analyze_default_thresholds());
}

static void few_scattered_elements_need_another_layout(void **state)
{
    (void)state;
    struct analysis *analysis = make_scattered(50);
    const struct analyze_finding *finding = find(analysis, ANALYZE_OVERALLOCATION);
    assert_non_null(finding);
    assert_true(finding->is_hard && finding->worthwhile);
    assert_int_equal(finding->peak_bytes, 950 * 40);
    assert_int_equal(analysis->levels.achievable, 40000); // that is too hard to count on
    analyze_free(analysis);
    analysis = make_scattered(500);
    assert_null(find(analysis, ANALYZE_OVERALLOCATION));
    analyze_free(analysis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_launches_are_compared_over_all_launches),
        cmocka_unit_test(slices_may_be_of_several_kernels),
        cmocka_unit_test(few_scattered_elements_need_another_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
