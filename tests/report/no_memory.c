// SPDX-License-Identifier: Apache-2.0
// Memory that runs out at any point of a report is reported, and nothing of the report is then
// taken for whole.
#include "testing.h"

#include <unistd.h>

#include "../base/failing_memory.h"
#include "../profile/sample.h"
#include "report/report.h"

static bool take(void *user, const char *bytes, size_t length)
{
    (void)bytes;
    *(size_t *)user += length;
    return true;
}

typedef enum base_code write_format(struct profile *profile, size_t *bytes,
                                    struct base_error *error);

static enum base_code write_text(struct profile *profile, size_t *bytes, struct base_error *error)
{
    return report_text(profile, NULL, &(struct report_choice){.verbose = true},
                       &(struct report_style){.width = 100}, take, bytes, error);
}

static enum base_code write_json(struct profile *profile, size_t *bytes, struct base_error *error)
{
    return report_json(profile, NULL, take, bytes, error);
}

static enum base_code write_perfetto(struct profile *profile, size_t *bytes,
                                     struct base_error *error)
{
    return report_perfetto(profile, NULL, take, bytes, error);
}

static enum base_code write_report(const char *path, write_format *write, size_t *bytes,
                                   struct base_error *error)
{
    struct profile *profile;
    enum base_code code = profile_open(path, &profile, error);
    if (code != BASE_OK)
        return code;
    code = write(profile, bytes, error);
    profile_close(profile);
    return code;
}

// From `limit` allocations on, after which it fails. Returns how many are enough.
static size_t check_report(write_format *write, size_t limit)
{
    char path[64] = "/tmp/glint-report-XXXXXX";
    struct base_error error = {0};
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    unlink(path);
    assert_int_equal(sample_write(path, &error), BASE_OK);
    size_t whole = 0, bytes = 0;
    assert_int_equal(write_report(path, write, &whole, &error), BASE_OK);
    enum base_code code = BASE_NO_MEMORY;
    unsigned failures = 0;
    for (; code != BASE_OK; limit++) {
        bytes = 0;
        allocations_left = limit;
        code = write_report(path, write, &bytes, &error);
        allocations_left = SIZE_MAX;
        assert_true(code == BASE_OK || code == BASE_NO_MEMORY);
        failures += code != BASE_OK;
    }
    assert_int_equal(bytes, whole);
    assert_true(failures > 50);
    unlink(path);
    return limit;
}

static void text_reports_it(void **state)
{
    (void)state;
    check_report(write_text, 0);
}

static size_t needed_by_json;

static void json_reports_it(void **state)
{
    (void)state;
    needed_by_json = check_report(write_json, 0);
}

// What is read first is the same as for JSON.
static void traces_report_it(void **state)
{
    (void)state;
    check_report(write_perfetto, needed_by_json > 100 ? needed_by_json - 100 : 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_reports_it),
        cmocka_unit_test(json_reports_it),
        cmocka_unit_test(traces_report_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
