// SPDX-License-Identifier: Apache-2.0
// Lets each allocation fail in turn: writing and reading a profile must report it, and what was
// already written must stay readable.
#include "testing.h"

#include "../base/failing_memory.h"
#include "reading.h"
#include "sample.h"

// The number of allocations is unknown, so the test grants one more each time, until it succeeds.
static size_t next_limit(size_t limit)
{
    return limit + 1 + limit / 64;
}

static void writing_reports_it(void **state)
{
    (void)state;
    struct base_error error = {0};
    enum base_code code = BASE_NO_MEMORY;
    unsigned failures = 0;
    for (size_t limit = 0; code != BASE_OK; limit = next_limit(limit)) {
        allocations_left = limit;
        code = sample_write(test_path, &error);
        allocations_left = SIZE_MAX;
        if (code != BASE_OK && code != BASE_NO_MEMORY)
            check_bad(code, BASE_NO_MEMORY, &error, "");
        failures += code != BASE_OK;
        struct profile *profile;
        enum base_code opened = profile_open(test_path, &profile, &error);
        if (opened == BASE_NOT_FOUND)
            continue;
        check_good(opened, &error);
        assert_int_equal(profile_meta(profile)->complete, code == BASE_OK);
        check_query(profile, "PRAGMA quick_check", "ok\n");
        profile_close(profile);
    }
    assert_true(failures > 50);
}

static void reading_reports_it(void **state)
{
    (void)state;
    struct base_error error = {0};
    check_good(sample_write(test_path, &error), &error);
    enum base_code code = BASE_NO_MEMORY;
    unsigned failures = 0;
    for (size_t limit = 0; code != BASE_OK; limit = next_limit(limit)) {
        allocations_left = limit;
        code = reading_all(test_path, &error);
        allocations_left = SIZE_MAX;
        if (code != BASE_OK && code != BASE_NO_MEMORY)
            check_bad(code, BASE_NO_MEMORY, &error, "");
        failures += code != BASE_OK;
    }
    assert_true(failures > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writing_reports_it, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(reading_reports_it, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
