// SPDX-License-Identifier: Apache-2.0
// Paths relative to the source root, paths as URIs, and that the words of every pattern are in its
// documentation.
#include "testing.h"

#include "source.h"
#include "template.h"

static void files_are_told_from_the_root(void **state)
{
    (void)state;
    static const struct {
        const char *file, *root, *told;
        bool under;
    } rows[] = {
        {"/a/b/c.cu", "/a/b", "c.cu", true},
        {"/a/b/c.cu", "/a/b/", "c.cu", true},
        {"/a/b/c.cu", "/a//x/.././", "b/c.cu", true},
        {"/a/./b//../b/c.cu", "/a", "b/c.cu", true},
        {"/a/b/c.cu", "/", "a/b/c.cu", true},
        {"/a/b/c.cu", "", "a/b/c.cu", true},
        {"/../../c.cu", "/", "c.cu", true},
        {"c.cu", "/a/b", "c.cu", true},
        {"./x/../c.cu", "/a/b", "c.cu", true},
        {"../c.cu", "/a/b", "/a/c.cu", false},
        {"/a/bc/c.cu", "/a/b", "/a/bc/c.cu", false},
        {"/a/b", "/a/b", "/a/b", false},
        {"/a", "/a/b", "/a", false},
        {"/x/./c.cu", "/a/b", "/x/c.cu", false},
        {"/", "/a", "/", false},
        {"/a/..c", "/a", "..c", true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct base_buf out = {0};
        assert_int_equal(report_put_file(&out, rows[i].file, rows[i].root), rows[i].under);
        check_written(&out, rows[i].told);
    }
}

static void uris_have_no_other_characters(void **state)
{
    (void)state;
    struct base_buf out = {0};
    report_put_uri(&out, "src/a-b_c.d~e/0.cu");
    check_written(&out, "src/a-b_c.d~e/0.cu");
    report_put_uri(&out, "a:b c%20#?&[x]\\\"'\xc3\xa9\xff\n.cu");
    check_written(&out, "a%3Ab%20c%2520%23%3F%26%5Bx%5D%5C%22%27%C3%A9%FF%0A.cu");
    report_put_uri(&out, "/a b/");
    check_written(&out, "file:///a%20b/");
}

static void every_pattern_has_words_and_documentation(void **state)
{
    (void)state;
    struct base_error error = {0};
    char *text;
    size_t length;
    assert_int_equal(base_file_read("../../docs/reference/patterns.md", &text, &length, &error),
                     BASE_OK);
    for (unsigned i = 0; i < ANALYZE_PATTERNS; i++) {
        const struct analyze_description *pattern = analyze_describe((enum analyze_pattern)i);
        if (report_check_pattern((enum analyze_pattern)i, &error) != BASE_OK)
            fail_msg("%s", error.text[0]);
        assert_true(strlen(pattern->title) > 5);
        const size_t end = strlen(pattern->definition), stop = strlen(pattern->remedy);
        assert_true(end > 20 && pattern->definition[end - 1] == '.');
        assert_true(stop > 20 && pattern->remedy[stop - 1] == '.');
        char heading[64];
        snprintf(heading, sizeof(heading), "\n## %s\n",
                 analyze_pattern_word((enum analyze_pattern)i));
        if (!memmem(text, length, heading, strlen(heading)))
            fail_msg("docs/reference/patterns.md has no %s", heading + 1);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_told_from_the_root),
        cmocka_unit_test(uris_have_no_other_characters),
        cmocka_unit_test(every_pattern_has_words_and_documentation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
