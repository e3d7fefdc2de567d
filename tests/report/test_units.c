// SPDX-License-Identifier: Apache-2.0
// Numbers and texts for human readers.
#include "testing.h"

#include "units.h"

static void bytes_are_in_the_largest_unit_that_fits(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {1536, "1.5 KiB"},
        {1048575, "1.0 MiB"},
        {1048524, "1023.9 KiB"},
        {3221225472, "3.0 GiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct base_buf out = {0};
        report_put_bytes(&out, rows[i].bytes);
        check_written(&out, rows[i].text);
    }
}

static void times_are_in_the_largest_unit_that_fits(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        const char *text;
    } rows[] = {
        {0, "0 ns"},           {999, "999 ns"},
        {1000, "1.0 us"},      {12345, "12.3 us"},
        {999940, "999.9 us"},  {999960, "1.0 ms"},
        {1500000000, "1.5 s"}, {UINT64_MAX, "18446744073.7 s"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct base_buf out = {0};
        report_put_ns(&out, rows[i].ns);
        check_written(&out, rows[i].text);
    }
}

static void text_keeps_utf8_and_escapes_the_rest(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wanted;
    } rows[] = {
        {"", ""},
        {"plain ~", "plain ~"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82"},
        {"\n\t\r\x1b\x7f", "\\n\\t\\r\\x1b\\x7f"},
        {"\xc2\x9b", "\\xc2\\x9b"},                   // a control character of two bytes
        {"a\xe2\x80\xae\xd8\x9c", "a\\u202e\\u061c"}, // direction controls
        {"\xc2\xa0", "\xc2\xa0"},                     // not a control character
        {"\xff", "\\xff"},                            // never in UTF-8
        {"\xc3", "\\xc3"},                            // truncated
        {"\xe2\x82", "\\xe2\\x82"},                   // truncated
        {"\xc0\xaf", "\\xc0\\xaf"},                   // overlong encoding
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          // a surrogate
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, // beyond U+10FFFF
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct base_buf out = {0};
        report_put_text(&out, rows[i].text);
        check_written(&out, rows[i].wanted);
    }
    struct base_buf out = {0};
    report_put_text(&out, NULL);
    check_written(&out, "");
}

static void shares_are_rounded_down(void **state)
{
    (void)state;
    static const struct {
        uint64_t part, whole;
        const char *wanted;
    } rows[] = {
        {0, 10, "0%"},      {10, 10, "100%"},         {1, 3, "33.3%"},
        {2, 3, "66.6%"},    {99999, 100000, "99.9%"}, {1, 1000, "0.1%"},
        {1, 1001, "<0.1%"}, {1, UINT64_MAX, "<0.1%"}, {UINT64_MAX - 1, UINT64_MAX, "99.9%"},
        {11, 10, "100%"}, // from a damaged file
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct base_buf out = {0};
        report_put_share(&out, rows[i].part, rows[i].whole);
        check_written(&out, rows[i].wanted);
    }
}

static void width_counts_characters(void **state)
{
    (void)state;
    assert_int_equal(report_text_width(""), 0);
    assert_int_equal(report_text_width("abc"), 3);
    assert_int_equal(report_text_width("\xc3\xa9\xe2\x82\xac"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_in_the_largest_unit_that_fits),
        cmocka_unit_test(times_are_in_the_largest_unit_that_fits),
        cmocka_unit_test(shares_are_rounded_down),
        cmocka_unit_test(text_keeps_utf8_and_escapes_the_rest),
        cmocka_unit_test(width_counts_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
