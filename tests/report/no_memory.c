// SPDX-License-Identifier: Apache-2.0
// Lets each allocation fail in turn: a report must return the error, and must not pass off
// incomplete output as complete.
#include "testing.h"

#include <unistd.h>

#include "../base/failing_memory.h"
#include "../profile/sample.h"

enum { LAST = 200 }; // allocations that formats make themselves, at the most

static bool take(void *user, const char *bytes, size_t length)
{
    (void)bytes;
    *(size_t *)user += length;
    return true;
}

static enum base_code write_report(const char *path, enum format format, size_t *bytes,
                                   struct base_error *error)
{
    struct profile *profile;
    enum base_code code = profile_open(path, &profile, error);
    if (code != BASE_OK)
        return code;
    code = report_in(format, profile, take, bytes, error);
    profile_close(profile);
    return code;
}

static void check_report(enum format format)
{
    char path[64] = "/tmp/glint-report-XXXXXX";
    struct base_error error = {0};
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    unlink(path);
    assert_int_equal(sample_write(path, &error), BASE_OK);
    size_t whole = 0, bytes = 0;
    allocations_left = SIZE_MAX - 1;
    const enum base_code result = write_report(path, format, &whole, &error);
    if (result == BASE_UNSUPPORTED) // built without the page
        skip();
    assert_int_equal(result, BASE_OK);
    const size_t all = SIZE_MAX - 1 - allocations_left;
    assert_true(all > LAST);
    // All formats read the profile in the same way.
    const size_t first = format == TEXT || format == JSON || format == HTML ? 0 : all - LAST;
    enum base_code code = BASE_NO_MEMORY;
    unsigned failures = 0;
    for (size_t limit = first; code != BASE_OK; limit++) {
        bytes = 0;
        allocations_left = limit;
        code = write_report(path, format, &bytes, &error);
        allocations_left = SIZE_MAX;
        assert_true(code == BASE_OK || code == BASE_NO_MEMORY);
        failures += code != BASE_OK;
    }
    assert_int_equal(bytes, whole);
    assert_true(failures > 50);
    unlink(path);
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
        cmocka_unit_test(text_reports_it),     cmocka_unit_test(json_reports_it),
        cmocka_unit_test(sarif_reports_it),    cmocka_unit_test(github_reports_it),
        cmocka_unit_test(perfetto_reports_it), cmocka_unit_test(page_reports_it),
        cmocka_unit_test(graphviz_reports_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
