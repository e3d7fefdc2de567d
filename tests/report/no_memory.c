// SPDX-License-Identifier: Apache-2.0
// Lets allocations fail in turn: a report must return the error, and must not pass off incomplete
// output as complete. Of the allocations that a call path makes, the first one fails, and of all
// others every STEPth: each failure is a whole report.
#include "testing.h"

#include <execinfo.h>
#include <unistd.h>

#include "../base/failing_memory.h"
#include "../profile/sample.h"

// Opening is the same for all formats and takes most allocations, so that it has its own test. The
// others open the profile once.
static char path[64] = "/tmp/glint-report-XXXXXX";

static int write_profile(void **state)
{
    (void)state;
    struct base_error error = {0};
    const int file = mkstemp(path);
    if (file < 0)
        return -1;
    close(file);
    unlink(path);
    return sample_write(path, &error) == BASE_OK ? 0 : -1;
}

static int remove_profile(void **state)
{
    (void)state;
    return unlink(path);
}

static bool take(void *user, const char *bytes, size_t length)
{
    (void)bytes;
    *(size_t *)user += length;
    return true;
}

enum { ENDS = 300, STEP = 5, DEPTH = 24, MOST_ALLOCATIONS = 1 << 20 };

// By allocation: it is the first one of its call path.
static bool is_first[MOST_ALLOCATIONS];
static size_t allocation_count;
static struct base_map call_paths;

static void see_allocation(void)
{
    void *frames[DEPTH];
    uint64_t hash = 0;
    allocation_passes = NULL; // for the map's own
    const int depth = backtrace(frames, DEPTH);
    for (int i = 0; i < depth; i++)
        hash = (hash ^ (uintptr_t)frames[i]) * 0x9E3779B97F4A7C15u;
    bool is_new = false;
    assert_true(allocation_count < MOST_ALLOCATIONS);
    assert_non_null(base_map_put(&call_paths, hash, &is_new));
    is_first[allocation_count++] = is_new;
    allocation_passes = see_allocation;
}

// Between its first and its last allocations, opening lets SQLite parse the schema. Those fail in
// steps.
static void opening_reports_it(void **state)
{
    (void)state;
    struct profile *profile;
    struct base_error error = {0};
    allocations_left = SIZE_MAX - 1;
    assert_int_equal(profile_open(path, &profile, &error), BASE_OK);
    const size_t needed = SIZE_MAX - 1 - allocations_left;
    allocations_left = SIZE_MAX;
    profile_close(profile);
    assert_true(needed > 3 * ENDS);
    enum base_code code = BASE_NO_MEMORY;
    size_t limit = 0;
    while (code != BASE_OK) {
        allocations_left = limit;
        code = profile_open(path, &profile, &error);
        allocations_left = SIZE_MAX;
        assert_true(code == BASE_OK || code == BASE_NO_MEMORY);
        limit += limit >= ENDS && limit + ENDS < needed ? STEP : 1;
    }
    assert_true(limit > needed - ENDS);
    profile_close(profile);
}

static void check_report(enum format format)
{
    struct profile *profile;
    struct base_error error = {0};
    size_t whole = 0, bytes = 0;
    assert_int_equal(profile_open(path, &profile, &error), BASE_OK);
    allocation_count = 0;
    allocation_passes = see_allocation;
    enum base_code code = report_in(format, profile, take, &whole, &error);
    allocation_passes = NULL;
    const size_t path_count = call_paths.count;
    base_map_fini(&call_paths);
    profile_close(profile);
    if (code == BASE_UNSUPPORTED) // built without the page
        skip();
    assert_int_equal(code, BASE_OK);
    assert_int_equal(profile_open(path, &profile, &error), BASE_OK);
    for (size_t limit = 0; limit <= allocation_count; limit++) {
        if (limit < allocation_count && !is_first[limit] && limit % STEP != 0)
            continue;
        bytes = 0;
        allocations_left = limit;
        code = report_in(format, profile, take, &bytes, &error);
        allocations_left = SIZE_MAX;
        assert_true(code == BASE_NO_MEMORY || code == BASE_OK);
        assert_true(code == BASE_NO_MEMORY || bytes == whole); // SQLite can do without some
    }
    assert_int_equal(code, BASE_OK);
    assert_true(allocation_count > 1000 && path_count > 100);
    profile_close(profile);
}

static void text_reports_it(void **state)
{
    (void)state;
    check_report(TEXT);
}

static void json_reports_it(void **state)
{
    (void)state;
    check_report(JSON);
}

static void sarif_reports_it(void **state)
{
    (void)state;
    check_report(SARIF);
}

static void github_reports_it(void **state)
{
    (void)state;
    check_report(GITHUB);
}

static void page_reports_it(void **state)
{
    (void)state;
    check_report(HTML);
}

static void perfetto_reports_it(void **state)
{
    (void)state;
    check_report(PERFETTO);
}

static void graphviz_reports_it(void **state)
{
    (void)state;
    check_report(DOT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_reports_it), cmocka_unit_test(text_reports_it),
        cmocka_unit_test(json_reports_it),    cmocka_unit_test(sarif_reports_it),
        cmocka_unit_test(github_reports_it),  cmocka_unit_test(perfetto_reports_it),
        cmocka_unit_test(page_reports_it),    cmocka_unit_test(graphviz_reports_it),
    };
    return cmocka_run_group_tests(tests, write_profile, remove_profile);
}
