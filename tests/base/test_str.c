// SPDX-License-Identifier: Apache-2.0
// Tests of text views and of the text builder.
#include "testing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failing_memory.h"

static void views_compare_by_bytes_and_length(void **state)
{
    (void)state;
    struct base_str none = {0};
    struct base_str zeros = {"a\0b", 3};
    assert_true(base_str_is(base_str("glint"), "glint"));
    assert_false(base_str_is(base_str("glint"), "glin"));
    assert_false(base_str_is(base_str("glin"), "glint"));
    assert_false(base_str_is(base_str("glint"), "Glint"));
    assert_true(base_str_is(none, ""));
    assert_false(base_str_is(none, "x"));
    assert_false(base_str_is(zeros, "a"));
    assert_true(base_str_equal(none, none));
    assert_true(base_str_equal(none, base_str("")));
    assert_true(base_str_equal(zeros, (struct base_str){"a\0b", 3}));
    assert_false(base_str_equal(zeros, (struct base_str){"a\0c", 3}));
    assert_false(base_str_equal(zeros, base_str("a")));
}

static void the_text_is_always_terminated(void **state)
{
    (void)state;
    struct base_buf buf = {0};
    base_buf_add(&buf, NULL, 0);
    assert_string_equal(buf.text, "");
    for (size_t i = 0; i < 5000; i++) {
        base_buf_putc(&buf, (char)('a' + i % 26));
        assert_int_equal(buf.length, i + 1);
        assert_int_equal(buf.text[i + 1], '\0');
    }
    for (size_t i = 0; i < 5000; i++)
        assert_int_equal(buf.text[i], 'a' + i % 26);
    assert_false(buf.failed);
    base_buf_fini(&buf);
    assert_null(buf.text);
}

static void bytes_of_any_value_are_kept(void **state)
{
    (void)state;
    struct base_buf buf = {0};
    base_buf_add(&buf, "a\0b", 3);
    base_buf_puts(&buf, "\xFF");
    assert_int_equal(buf.length, 4);
    assert_memory_equal(buf.text, "a\0b\xFF", 5);
    base_buf_fini(&buf);
}

static void numbers_are_written_as_printf_does(void **state)
{
    (void)state;
    static const uint64_t edges[] = {
        0, 1, 9, 10, 99, 100, 0x7FFFFFFFFFFFFFFFu, 0x8000000000000000u, UINT64_MAX - 1, UINT64_MAX};
    uint64_t random = 2;
    for (size_t i = 0; i < 2000; i++) {
        uint64_t value = test_random(&random) >> (i % 64);
        if (i < sizeof(edges) / sizeof(edges[0]))
            value = edges[i];
        char expected[128];
        unsigned digits = (unsigned)(i % 20);
        int width = digits > 16 ? 16 : (int)digits;
        snprintf(expected, sizeof(expected), "%" PRIu64 " %" PRId64 " %0*" PRIX64, value,
                 (int64_t)value, width, value);
        struct base_buf buf = {0};
        base_buf_u64(&buf, value);
        base_buf_putc(&buf, ' ');
        base_buf_i64(&buf, (int64_t)value);
        base_buf_putc(&buf, ' ');
        base_buf_hex(&buf, value, digits);
        assert_string_equal(buf.text, expected);
        base_buf_fini(&buf);
    }
}

static void formatted_text_of_every_length_is_whole(void **state)
{
    (void)state;
    char text[700];
    memset(text, 'y', sizeof(text));
    for (int length = 0; length < 600; length++) {
        struct base_buf buf = {0};
        base_buf_printf(&buf, "<%.*s>", length, text);
        base_buf_printf(&buf, "%d", length);
        char expected[700];
        int expected_length =
            snprintf(expected, sizeof(expected), "<%.*s>%d", length, text, length);
        assert_int_equal(buf.length, expected_length);
        assert_string_equal(buf.text, expected);
        base_buf_fini(&buf);
    }
}

static void padding_counts_from_the_last_newline(void **state)
{
    (void)state;
    struct base_buf buf = {0};
    base_buf_pad(&buf, 2);
    base_buf_puts(&buf, "ab");
    base_buf_pad(&buf, 6);
    base_buf_puts(&buf, "|\nlonger");
    base_buf_pad(&buf, 6);
    base_buf_puts(&buf, "|\n");
    base_buf_pad(&buf, 1);
    base_buf_puts(&buf, "|");
    assert_string_equal(buf.text, "  ab  |\nlonger|\n |");
    base_buf_fini(&buf);
}

static void reserved_room_needs_no_more_memory(void **state)
{
    (void)state;
    struct base_buf buf = {0};
    base_buf_puts(&buf, "start");
    base_buf_reserve(&buf, 1000);
    allocations_left = 0;
    for (int i = 0; i < 1000; i++)
        base_buf_putc(&buf, 'x');
    assert_false(buf.failed);
    assert_int_equal(buf.length, 1005);
    allocations_left = SIZE_MAX;
    base_buf_fini(&buf);
}

static void a_builder_without_memory_says_so_and_keeps_what_it_had(void **state)
{
    (void)state;
    struct base_buf buf = {0};
    base_buf_puts(&buf, "kept");
    allocations_left = 0;
    for (int i = 0; i < 100; i++)
        base_buf_printf(&buf, "%0300d", i);
    allocations_left = SIZE_MAX;
    assert_true(buf.failed);
    base_buf_puts(&buf, "not taken any more");
    base_buf_u64(&buf, 1);
    base_buf_pad(&buf, 30);
    assert_string_equal(buf.text, "kept");
    assert_int_equal(buf.length, 4);
    base_buf_fini(&buf);
    assert_false(buf.failed);

    allocations_left = 0;
    base_buf_puts(&buf, "x");
    allocations_left = SIZE_MAX;
    assert_true(buf.failed);
    assert_null(buf.text);
    base_buf_fini(&buf);
}

static void lengths_that_overflow_fail(void **state)
{
    (void)state;
    static const size_t lengths[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 4, SIZE_MAX / 2 + 1};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct base_buf buf = {0};
        base_buf_puts(&buf, "kept");
        base_buf_reserve(&buf, lengths[i]);
        assert_true(buf.failed);
        assert_string_equal(buf.text, "kept");
        base_buf_fini(&buf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_compare_by_bytes_and_length),
        cmocka_unit_test(the_text_is_always_terminated),
        cmocka_unit_test(bytes_of_any_value_are_kept),
        cmocka_unit_test(numbers_are_written_as_printf_does),
        cmocka_unit_test(formatted_text_of_every_length_is_whole),
        cmocka_unit_test(padding_counts_from_the_last_newline),
        cmocka_unit_test(reserved_room_needs_no_more_memory),
        cmocka_unit_test(a_builder_without_memory_says_so_and_keeps_what_it_had),
        cmocka_unit_test(lengths_that_overflow_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
