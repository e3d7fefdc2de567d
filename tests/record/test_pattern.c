// SPDX-License-Identifier: Apache-2.0
// Tests of placeholders in names of profiles.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "record/pattern.h"

static struct record_process process_of(const char *introduction, size_t length)
{
    struct record_process process = {.pid = 77};
    base_buf_add(&process.introduction, introduction, length);
    record_process_read(&process);
    return process;
}

static void check(const char *pattern, const char *introduction, size_t length,
                  const char *expected)
{
    struct record_process process = process_of(introduction, length);
    struct base_buf name = {0};
    struct base_error error = {0};
    assert_true(record_pattern_check(pattern, &error));
    record_pattern_put(&name, pattern, &process);
    assert_false(name.failed);
    assert_string_equal(name.text, expected);
    base_buf_fini(&name);
    record_process_fini(&process);
}
#define CHECK(pattern, introduction, expected) \
    check(pattern, introduction, sizeof(introduction), expected)

static void placeholders_are_replaced(void **state)
{
    (void)state;
    CHECK("a.glint", "", "a.glint");
    CHECK("%p.glint", "", "77.glint");
    CHECK("100%%.glint", "", "100%.glint");
    CHECK("%%p-%r%r.glint", "PMI_RANK=3", "%p-33.glint");
    CHECK("d/%q{X}-%q{Y}.glint", "X=one\0Y=two", "d/one-two.glint");
}

static void ranks_have_names_of_their_own(void **state)
{
    (void)state;
    CHECK("a.glint", "PMI_RANK=3", "a-rank3.glint");
    CHECK("a.b/c", "PMI_RANK=3", "a.b/c-rank3");
    CHECK("100%%.glint", "PMI_RANK=3", "100%-rank3.glint");
    CHECK("%p.glint", "PMI_RANK=3", "77.glint");
    CHECK("%q{PMI_RANK}.glint", "PMI_RANK=3", "3.glint");
    CHECK("a.glint", "PMI_RANK=x", "a.glint");
}

static void what_there_is_not_is_none(void **state)
{
    (void)state;
    CHECK("%r.glint", "", "none.glint");
    CHECK("%q{X}%q{Y}.glint", "X=", "nonenone.glint");
    CHECK("%q{X}", "XY=1", "none");
}

static void values_do_not_lead_to_other_folders(void **state)
{
    (void)state;
    CHECK("%q{X}/a", "X=..", "_./a");
    CHECK("%q{X}/a", "X=../../etc", "_._.._etc/a");
    CHECK("%q{X}", "X=/etc/passwd", "_etc_passwd");
    CHECK("%q{X}", "X=a\n\033[1m\x7f", "a__[1m_");
    CHECK("%q{X}", "X=%p", "%p"); // not replaced again
    CHECK("%q{X}", "X=\xc3\xa9", "\xc3\xa9");
}

// An introduction that ends in the middle of a variable.
static void incomplete_introductions_are_not_believed(void **state)
{
    (void)state;
    check("%q{X}", "Y=1\0X=12", 7, "none");
    check("%q{X}", "", 0, "none");
    check("a", "PMI_RANK=1", 10, "a");
}

static void what_is_unknown_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *message;
    } cases[] = {
        {"a%x.glint", "unknown placeholder '%x'"},
        {"a%", "unknown placeholder '%'"},
        {"%P", "unknown placeholder '%P'"},
        {"%q", "%q needs the name"},
        {"%qX", "%q needs the name"},
        {"%q{X", "%q needs the name"},
        {"%q{}", "%q needs the name"},
        {"%q{A,B}", "%q needs the name"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct base_error error = {0};
        char text[256];
        assert_false(record_pattern_check(cases[i].pattern, &error));
        base_error_text(&error, text, sizeof(text));
        assert_non_null(strstr(text, cases[i].message));
    }
}

static void names_are_known_before_the_program_runs_or_not(void **state)
{
    (void)state;
    struct record_process own = {0};
    setenv("GLINT_TEST_SET", "1", 1);
    assert_true(record_pattern_is_known("a-%h-%%.glint", &own));
    assert_true(record_pattern_is_known("a-%q{GLINT_TEST_SET}", &own));
    assert_false(record_pattern_is_known("a-%q{GLINT_TEST_UNSET}", &own));
    assert_false(record_pattern_is_known("a-%p", &own));
    assert_false(record_pattern_is_known("a-%r", &own));
    own.rank.has_number = true;
    assert_true(record_pattern_is_known("a-%r", &own));
    struct base_buf names = {0};
    record_pattern_put_variables(&names, "%q{A}%p%%q{C}-%q{B}");
    assert_string_equal(names.text, "A,B");
    base_buf_fini(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placeholders_are_replaced),
        cmocka_unit_test(ranks_have_names_of_their_own),
        cmocka_unit_test(what_there_is_not_is_none),
        cmocka_unit_test(values_do_not_lead_to_other_folders),
        cmocka_unit_test(incomplete_introductions_are_not_believed),
        cmocka_unit_test(what_is_unknown_is_refused),
        cmocka_unit_test(names_are_known_before_the_program_runs_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
