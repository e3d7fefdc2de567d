// SPDX-License-Identifier: Apache-2.0
// One source line gives one finding per pattern of waits, however many calls the line makes. And
// how many waits such a finding avoids on the simulated GPU, whose times do not tell which calls
// waited.
#include "timed_findings.h"

enum { MS = 1000000, BYTES = 1 << 20 };
enum { ONE = 700, OTHER = 701, MADE = 702, MADE_TOO = 703 };

// Calls of these paths are at one source line.
static void on_line(struct timed *run, uint32_t path, uint64_t line)
{
    uint64_t *slot = base_map_put(&run->model.places, path, NULL);
    assert_non_null(slot);
    *slot = line;
}

static uint32_t device_object(struct timed *run)
{
    return add_object(&run->model, PROFILE_OBJECT_DEVICE, BYTES);
}

static void expect_paths(const struct analyze_finding *finding, size_t count, uint32_t second)
{
    assert_int_equal(finding->path_count, count);
    assert_int_equal(finding->paths[0].path, finding->path);
    assert_int_equal(finding->paths[0].other_path, finding->other_path);
    if (count > 1)
        assert_int_equal(finding->paths[1].path, second);
}

static void copies_of_one_line_are_one_finding(void **state)
{
    (void)state;
    for (int lines = 1; lines <= 2; lines++) {
        struct timed run;
        timed_begin(&run);
        const uint32_t a = device_object(&run), b = device_object(&run);
        on_line(&run, ONE, 10);
        on_line(&run, OTHER, lines == 1 ? 10 : 11);
        for (int i = 0; i < 3; i++) {
            timed_launch(&run, LEGACY, MS);
            from_path(&run, timed_copy(&run, a, false, PROFILE_MEMORY_PINNED, MS, MS / 2)->call,
                      ONE);
            from_path(&run, timed_copy(&run, b, false, PROFILE_MEMORY_PINNED, MS, MS / 2)->call,
                      OTHER);
            works(&run, MS);
        }
        struct analysis *analysis = timed_analyze(&run, analyze_default_thresholds());
        const struct analyze_finding *finding = NULL;
        assert_int_equal(count_found(analysis, &finding), lines);
        assert_int_equal(finding->pattern, ANALYZE_SYNCHRONOUS_TRANSFER);
        assert_int_equal(finding->times, lines == 1 ? 6 : 3);
        assert_int_equal(value_of(finding, "calls"), finding->times);
        assert_int_equal(value_of(finding, "bytes"), finding->times * BYTES);
        expect_paths(finding, lines == 1 ? 2 : 1, OTHER);
        analyze_free(analysis);
    }
}

// Where the line makes a call that is needed, a fix of the line would change that one, too.
static void a_line_that_is_needed_once_has_no_finding(void **state)
{
    (void)state;
    for (int lines = 1; lines <= 2; lines++) {
        struct timed run;
        timed_begin(&run);
        on_line(&run, ONE, 10);
        on_line(&run, OTHER, lines == 1 ? 10 : 11);
        timed_launch(&run, LEGACY, MS);
        from_path(&run, timed_sync(&run, 0, MS), ONE);
        const uint32_t copy =
            timed_copy(&run, device_object(&run), true, PROFILE_MEMORY_PINNED, 10, 0)->call;
        const uint32_t sync = from_path(&run, timed_sync(&run, 0, MS), OTHER);
        first_use(&run, sync, copy, PROFILE_USE_READ);
        works(&run, MS);
        if (lines == 1)
            expect_none(&run);
        else
            expect_only(&run, ANALYZE_UNNECESSARY_SYNC, 1);
    }
}

static void memory_of_one_line_that_comes_and_goes_is_one_finding(void **state)
{
    (void)state;
    struct timed run;
    const struct analyze_finding *finding;
    timed_begin(&run);
    on_line(&run, MADE, 10);
    on_line(&run, MADE_TOO, 10);
    on_line(&run, ONE, 11);
    on_line(&run, OTHER, 11);
    for (int i = 0; i < 6; i++) {
        uint32_t objects[2];
        for (unsigned k = 0; k < 2; k++) {
            objects[k] = device_object(&run);
            run.model.objects.items[objects[k]].call = add_call(&run.model, PROFILE_CALL_ALLOC, 0);
            from_path(&run, took(&run, 40000, 0), k ? MADE_TOO : MADE);
        }
        timed_launch(&run, LEGACY, MS);
        for (unsigned k = 0; k < 2; k++) {
            release(&run.model, objects[k]);
            from_path(&run, took(&run, k ? 10 : MS, k ? 0 : MS), k ? OTHER : ONE);
        }
        works(&run, MS / 2);
    }
    struct analysis *analysis = expect_one(&run, ANALYZE_ALLOC_FREE_CHURN, 10, &finding);
    expect_paths(finding, 2, OTHER);
    assert_int_equal(finding->paths[1].other_path, MADE_TOO);
    analyze_free(analysis);
}

// --- What is avoided on the simulated GPU --------------------------------------------------------

// The first free of an iteration waits for the launch; nothing is left for the second one.
static void frees_without_pending_work_avoid_no_wait(void **state)
{
    (void)state;
    struct timed run;
    const struct analyze_finding *finding;
    timed_begin(&run);
    run.model.simulated = true;
    for (int i = 0; i < 6; i++) {
        const uint32_t object = device_object(&run);
        run.model.objects.items[object].call = add_call(&run.model, PROFILE_CALL_ALLOC, 0);
        from_path(&run, took(&run, 10, 0), MADE);
        if (i < 4)
            timed_launch(&run, LEGACY, MS);
        release(&run.model, object);
        from_path(&run, took(&run, 10, 0), ONE);
    }
    struct analysis *analysis = expect_one(&run, ANALYZE_ALLOC_FREE_CHURN, 5, &finding);
    assert_int_equal(finding->waits, 4);
    assert_false(finding->waits_are_pins);
    analyze_free(analysis);
}

static void memory_that_is_pinned_again_counts_pins(void **state)
{
    (void)state;
    struct timed run;
    const struct analyze_finding *finding;
    timed_begin(&run);
    run.model.simulated = true;
    for (int i = 0; i < 6; i++) {
        const uint32_t object = add_object(&run.model, PROFILE_OBJECT_PINNED, BYTES);
        run.model.objects.items[object].is_host = true;
        run.model.objects.items[object].call = add_call(&run.model, PROFILE_CALL_ALLOC, 0);
        from_path(&run, took(&run, 10, 0), MADE);
        release(&run.model, object);
        from_path(&run, took(&run, 10, 0), ONE);
    }
    struct analysis *analysis = expect_one(&run, ANALYZE_ALLOC_FREE_CHURN, 5, &finding);
    assert_int_equal(finding->waits, 5);
    assert_true(finding->waits_are_pins && finding->worthwhile);
    analyze_free(analysis);
}

// Copies to the device after all work was waited for. The driver buffers what is small and
// pageable.
static void small_copies_without_pending_work_avoid_no_wait(void **state)
{
    (void)state;
    enum { SMALL = 64 << 10 };
    static const struct {
        uint64_t bytes;
        enum profile_memory memory;
        bool launches, waits;
    } cases[] = {
        {SMALL, PROFILE_MEMORY_PAGEABLE, false, false},
        {SMALL + 1, PROFILE_MEMORY_PAGEABLE, false, true},
        {SMALL, PROFILE_MEMORY_PINNED, false, true},
        {SMALL, PROFILE_MEMORY_PAGEABLE, true, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct timed run;
        const struct analyze_finding *finding;
        timed_begin(&run);
        run.model.simulated = true;
        const uint32_t object = add_object(&run.model, PROFILE_OBJECT_DEVICE, cases[i].bytes);
        for (int k = 0; k < 5; k++) {
            if (cases[i].launches)
                timed_launch(&run, LEGACY, MS);
            from_path(&run, timed_copy(&run, object, false, cases[i].memory, 20, 0)->call, ONE);
        }
        struct analysis *analysis = expect_one(&run, ANALYZE_SYNCHRONOUS_TRANSFER, 5, &finding);
        assert_int_equal(finding->waits, cases[i].waits ? 5 : 0);
        assert_int_equal(finding->worthwhile, cases[i].waits);
        analyze_free(analysis);
    }
}

// --- Copies that can be left out -----------------------------------------------------------------

// A copy that is left out does not wait, so what remains to be gained by making the line's copies
// asynchronous is the first one, and those with other bytes.
static void a_copy_that_can_be_left_out_need_not_be_asynchronous(void **state)
{
    (void)state;
    for (uint64_t others = 0; others <= 4; others++) {
        struct timed run;
        timed_begin(&run);
        run.model.simulated = true;
        const uint32_t object = device_object(&run);
        for (uint64_t i = 0; i < 8 + others; i++) {
            struct analyze_copy *copy =
                timed_copy(&run, object, false, PROFILE_MEMORY_PAGEABLE, 20, 0);
            copy->hashed = true;
            copy->hash[0] = copy->hash[1] = i < 8 ? 7 : i;
            from_path(&run, copy->call, ONE);
            timed_launch(&run, LEGACY, MS);
            uses(&run.model, object, ANALYZE_READ);
        }
        struct analysis *analysis = timed_analyze(&run, analyze_default_thresholds());
        assert_int_equal(count_found(analysis, NULL), 2);
        for (size_t i = 0; i < analyze_finding_count(analysis); i++) {
            const struct analyze_finding *finding = analyze_finding(analysis, i);
            const bool asynchronous = finding->pattern == ANALYZE_SYNCHRONOUS_TRANSFER;
            if (!asynchronous && finding->pattern != ANALYZE_DUPLICATE_TRANSFER)
                continue;
            assert_int_equal(finding->waits, asynchronous ? 8 + others : 7);
            assert_int_equal(finding->covered_by != NULL,
                             asynchronous && 1 + others < ANALYZE_LEAST_WAITS);
            assert_int_equal(finding->worthwhile, !finding->covered_by);
        }
        analyze_free(analysis);
    }
}

// --- What the CPU waits for ----------------------------------------------------------------------

// The program copies results, frees memory, and uses the results. It relies on the copy, which
// waits for them, and not on the free; but on the free, if the copy is asynchronous.
static void results_are_protected_by_the_copy_that_waits_for_them(void **state)
{
    (void)state;
    for (int async = 0; async <= 1; async++) {
        struct timed run;
        timed_begin(&run);
        const uint32_t object = device_object(&run), freed = device_object(&run);
        timed_launch(&run, LEGACY, MS);
        const uint32_t copy = timed_copy(&run, object, true, PROFILE_MEMORY_PINNED,
                                         async ? 10 : 2 * MS, async ? 0 : MS)
                                  ->call;
        from_path(&run, copy, ONE);
        timed_launch(&run, LEGACY, MS);
        const uint32_t wait = release(&run.model, freed);
        took(&run, MS / 2, MS / 2);
        from_path(&run, wait, OTHER);
        first_use(&run, async ? wait : copy, copy, PROFILE_USE_READ);
        works(&run, 5 * MS);
        if (async)
            expect_none(&run);
        else
            expect_only(&run, ANALYZE_UNNECESSARY_SYNC, 1); // the free
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_one_line_are_one_finding),
        cmocka_unit_test(a_line_that_is_needed_once_has_no_finding),
        cmocka_unit_test(memory_of_one_line_that_comes_and_goes_is_one_finding),
        cmocka_unit_test(frees_without_pending_work_avoid_no_wait),
        cmocka_unit_test(memory_that_is_pinned_again_counts_pins),
        cmocka_unit_test(small_copies_without_pending_work_avoid_no_wait),
        cmocka_unit_test(a_copy_that_can_be_left_out_need_not_be_asynchronous),
        cmocka_unit_test(results_are_protected_by_the_copy_that_waits_for_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
