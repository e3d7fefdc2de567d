// SPDX-License-Identifier: Apache-2.0
// Synchronizations that check for errors, and near misses, in models made in memory.
#include "timed_findings.h"

enum { PATH = 500, OTHER_PATH = 501 };
enum { MS = 1000000 };

static void set_use(struct timed *run, uint32_t path, enum profile_result_use use)
{
    if (use == PROFILE_RESULT_UNKNOWN)
        return;
    uint64_t *slot = base_map_put(&run->model.result_uses, path, NULL);
    assert_non_null(slot);
    *slot = use;
}

static void sync_at(struct timed *run, uint32_t path, uint32_t stream)
{
    from_path(run, timed_sync(run, stream, MS), path);
}

// Returns how many synchronizations of the path check for errors.
static uint64_t checks_of(struct timed *run, uint32_t path)
{
    struct analysis *analysis = timed_analyze(run, analyze_default_thresholds());
    const struct analyze_wait_path *row = analyze_find_wait_path(analysis, path, PROFILE_CALL_SYNC);
    assert_non_null(row);
    const uint64_t checks = row->checks;
    analyze_free(analysis);
    return checks;
}

static void what_is_only_looked_at_checks_for_errors(void **state)
{
    (void)state;
    static const enum profile_result_use uses[] = {PROFILE_RESULT_LOOKED_AT, PROFILE_RESULT_IGNORED,
                                                   PROFILE_RESULT_UNKNOWN};
    for (size_t i = 0; i < 3; i++) {
        struct timed run;
        const struct analyze_finding *finding = NULL;
        timed_begin(&run);
        set_use(&run, PATH, uses[i]);
        for (int k = 0; k < 3; k++) {
            timed_launch(&run, LEGACY, MS);
            sync_at(&run, PATH, 0);
            works(&run, MS / 2);
        }
        const bool checks = uses[i] == PROFILE_RESULT_LOOKED_AT;
        struct analysis *analysis = expect_one(
            &run, checks ? ANALYZE_CHECKING_SYNC : ANALYZE_UNNECESSARY_SYNC, 3, &finding);
        assert_int_equal(finding->path, PATH);
        // What it is for does not change what it costs.
        assert_int_equal(finding->host_ns, 3 * MS / 2 + 40 + 10);
        if (!checks)
            assert_int_equal(value_of(finding, "may_check_errors"),
                             uses[i] == PROFILE_RESULT_UNKNOWN);
        const struct analyze_wait_path *path = analyze_wait_path(analysis, 0);
        assert_int_equal(path->checks, checks ? 3 : 0);
        assert_int_equal(path->may_check, uses[i] == PROFILE_RESULT_UNKNOWN);
        assert_true(path->safe);
        analyze_free(analysis);
    }
}

static void data_that_is_used_is_the_reason_to_wait(void **state)
{
    (void)state;
    struct timed run;
    timed_begin(&run);
    set_use(&run, PATH, PROFILE_RESULT_LOOKED_AT);
    timed_launch(&run, LEGACY, MS);
    const uint32_t object = add_object(&run.model, PROFILE_OBJECT_DEVICE, 1 << 20);
    const uint32_t copy = timed_copy(&run, object, true, PROFILE_MEMORY_PINNED, 10, 0)->call;
    const uint32_t sync = from_path(&run, timed_sync(&run, 0, MS), PATH);
    first_use(&run, sync, copy, PROFILE_USE_READ);
    works(&run, MS);
    expect_none(&run);
}

static void a_sync_without_a_launch_before_it_checks_nothing(void **state)
{
    (void)state;
    for (int launches = 0; launches < 2; launches++) {
        struct timed run;
        timed_begin(&run);
        set_use(&run, PATH, PROFILE_RESULT_LOOKED_AT);
        set_use(&run, OTHER_PATH, PROFILE_RESULT_LOOKED_AT);
        timed_launch(&run, LEGACY, MS);
        sync_at(&run, PATH, 0);
        if (launches)
            timed_launch(&run, LEGACY, MS);
        sync_at(&run, OTHER_PATH, 0);
        assert_int_equal(checks_of(&run, OTHER_PATH), launches);
    }
}

// The error of a launch is still to be learned behind a wait that nobody looks at, a wait for
// another stream, and a launch that was only captured.
static void the_first_that_is_looked_at_checks(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        struct timed run;
        timed_begin(&run);
        set_use(&run, PATH,
                way == 0   ? PROFILE_RESULT_IGNORED
                : way == 1 ? PROFILE_RESULT_UNKNOWN
                           : PROFILE_RESULT_LOOKED_AT);
        set_use(&run, OTHER_PATH, PROFILE_RESULT_LOOKED_AT);
        timed_launch(&run, LEGACY, MS);
        if (way == 3)
            last_call(&run)->flags &= (uint8_t)~ANALYZE_WORKS;
        sync_at(&run, PATH, way == 2 ? FREE_RUNNING : 0);
        sync_at(&run, OTHER_PATH, 0);
        assert_int_equal(checks_of(&run, OTHER_PATH), way < 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_only_looked_at_checks_for_errors),
        cmocka_unit_test(data_that_is_used_is_the_reason_to_wait),
        cmocka_unit_test(a_sync_without_a_launch_before_it_checks_nothing),
        cmocka_unit_test(the_first_that_is_looked_at_checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
