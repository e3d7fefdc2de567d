// SPDX-License-Identifier: Apache-2.0
// Lets each allocation fail in turn: diff and check must return the error, and must not pass off
// incomplete output as complete.
#include "testing.h"

#include <unistd.h>

#include "../base/failing_memory.h"
#include "pairs.h"
#include "report/report.h"

static char folder[64] = "/tmp/glint-gate-XXXXXX";
static char paths[2][96];

static void write_profile(const char *path, unsigned objects)
{
    struct pair_writer to;
    pair_begin(&to, path, "objects,sync");
    const uint32_t kernel = pair_kernel(&to, "kernel<int>(int*)");
    for (unsigned i = 0; i < objects; i++) {
        const uint32_t place = pair_path(&to, "setup", "/src/a.cu", i);
        const uint64_t object = pair_alloc(&to, i ? NULL : "a", 1000 + i, place);
        pair_launch(&to, kernel, object, 1000, place);
        pair_wait(&to, 1000, place);
    }
    pair_end(&to);
}

static int write_profiles(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    for (unsigned i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s/%u.glint", folder, i);
        write_profile(paths[i], 2 + i);
    }
    return 0;
}

static int remove_profiles(void **state)
{
    (void)state;
    unlink(paths[0]);
    unlink(paths[1]);
    return rmdir(folder);
}

static bool take(void *user, const char *bytes, size_t length)
{
    (void)bytes;
    *(size_t *)user += length;
    return true;
}

typedef enum base_code output(struct profile *const profiles[2], size_t *bytes,
                              struct base_error *error);

static enum base_code write_diff(struct profile *const profiles[2], bool json, size_t *bytes,
                                 struct base_error *error)
{
    const struct report_diff_request request = {.profiles = {profiles[0], profiles[1]},
                                                .names = {"old", "new"}};
    bool differs;
    return json ? report_diff_json(&request, &differs, take, bytes, error)
                : report_diff_text(&request, &(struct report_style){.width = 100}, &differs, take,
                                   bytes, error);
}

static enum base_code diff_text(struct profile *const profiles[2], size_t *bytes,
                                struct base_error *error)
{
    return write_diff(profiles, false, bytes, error);
}

static enum base_code diff_json(struct profile *const profiles[2], size_t *bytes,
                                struct base_error *error)
{
    return write_diff(profiles, true, bytes, error);
}

static enum base_code write_check(struct profile *const profiles[2], bool json, size_t *bytes,
                                  struct base_error *error)
{
    static const char file[] = "fail-on = ['any', 'peak>1B', 'new']\n"
                               "[[suppress]]\npath = 'setup'\nobject = 'a'\nreason = 'r'\n"
                               "[[suppress]]\nobject = 'none'\nreason = 'r'\n";
    struct report_rules rules;
    bool holds;
    report_rules_init(&rules);
    enum base_code code = report_rules_read(&rules, base_str(file), error);
    const struct report_check_request request = {.profile = profiles[1],
                                                 .baseline = profiles[0],
                                                 .name = "new",
                                                 .baseline_name = "old",
                                                 .rules_name = "rules",
                                                 .rules = &rules};
    if (code == BASE_OK)
        code = json ? report_check_json(&request, &holds, take, bytes, error)
                    : report_check_text(&request, &(struct report_style){.width = 100}, &holds,
                                        take, bytes, error);
    report_rules_fini(&rules);
    return code;
}

static enum base_code check_text(struct profile *const profiles[2], size_t *bytes,
                                 struct base_error *error)
{
    return write_check(profiles, false, bytes, error);
}

static enum base_code check_json(struct profile *const profiles[2], size_t *bytes,
                                 struct base_error *error)
{
    return write_check(profiles, true, bytes, error);
}

enum { MANY = 1000000, LAST = 150, STEP = 23 };

static void every_output_reports_it(void **state)
{
    (void)state;
    static output *const outputs[] = {diff_text, diff_json, check_text, check_json};
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
        struct base_error error = {0};
        struct profile *profiles[2];
        size_t whole = 0, bytes = 0;
        unsigned failures = 0;
        enum base_code code = BASE_NO_MEMORY;
        for (unsigned which = 0; which < 2; which++)
            assert_int_equal(profile_open(paths[which], &profiles[which], &error), BASE_OK);
        allocations_left = MANY;
        assert_int_equal(outputs[i](profiles, &whole, &error), BASE_OK);
        const size_t needed = MANY - allocations_left;
        // Most allocations are for reading profiles; other tests let those fail one by one.
        for (size_t limit = 0; code != BASE_OK; limit += limit + LAST < needed ? STEP : 1) {
            bytes = 0;
            allocations_left = limit;
            code = outputs[i](profiles, &bytes, &error);
            allocations_left = SIZE_MAX;
            assert_true(code == BASE_OK || code == BASE_NO_MEMORY);
            failures += code != BASE_OK;
        }
        assert_int_equal(bytes, whole);
        assert_true(failures >= LAST && failures < needed);
        profile_close(profiles[0]);
        profile_close(profiles[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_output_reports_it)};
    return cmocka_run_group_tests(tests, write_profiles, remove_profiles);
}
