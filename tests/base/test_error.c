// SPDX-License-Identifier: Apache-2.0
// Tests of error codes and chains of causes.
#include "testing.h"

#include <string.h>

static const char *text_of(const struct base_error *error)
{
    static char text[BASE_ERROR_CAUSES * BASE_ERROR_TEXT + 16];
    const size_t length = base_error_text(error, text, sizeof(text));
    assert_int_equal(length, strlen(text));
    return text;
}

static void every_code_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int i = BASE_OK; i <= BASE_CONFLICT; i++) {
        assert_string_not_equal(base_code_name((enum base_code)i), "unknown");
        for (int k = BASE_OK; k < i; k++)
            assert_string_not_equal(base_code_name((enum base_code)i),
                                    base_code_name((enum base_code)k));
    }
    assert_string_equal(base_code_name(BASE_OK), "ok");
    assert_string_equal(base_code_name(BASE_NO_MEMORY), "no-memory");
    assert_string_equal(base_code_name(BASE_CONFLICT), "conflict");
    assert_string_equal(base_code_name((enum base_code)(BASE_CONFLICT + 1)), "unknown");
    assert_string_equal(base_code_name((enum base_code) - 1), "unknown");
}

static void a_chain_reads_from_the_outermost_to_the_root(void **state)
{
    (void)state;
    struct base_error error = {0};
    assert_string_equal(text_of(&error), "");
    assert_int_equal(base_fail(&error, BASE_SYNTAX, "%s:%d:%d: expected '%c'", "a.ptx", 3, 7, ';'),
                     BASE_SYNTAX);
    assert_string_equal(text_of(&error), "a.ptx:3:7: expected ';'");
    assert_int_equal(base_fail_while(&error, "reading %s", "a.ptx"), BASE_SYNTAX);
    assert_string_equal(text_of(&error), "reading a.ptx: a.ptx:3:7: expected ';'");
    assert_int_equal(base_fail_while(&error, "loading"), BASE_SYNTAX);
    assert_string_equal(text_of(&error), "loading: reading a.ptx: a.ptx:3:7: expected ';'");
}

static void a_new_root_replaces_the_chain(void **state)
{
    (void)state;
    struct base_error error = {0};
    base_fail(&error, BASE_IO, "first");
    base_fail_while(&error, "outer");
    base_fail(&error, BASE_CORRUPT, "second");
    assert_int_equal(error.code, BASE_CORRUPT);
    assert_string_equal(text_of(&error), "second");
}

static void beyond_the_last_place_the_newest_is_replaced(void **state)
{
    (void)state;
    struct base_error error = {0};
    base_fail(&error, BASE_IO, "0");
    for (int i = 1; i <= 9; i++)
        base_fail_while(&error, "%d", i);
    assert_int_equal(error.causes, BASE_ERROR_CAUSES);
    assert_string_equal(text_of(&error), "9: 2: 1: 0");
}

static void a_long_text_is_cut_and_terminated(void **state)
{
    (void)state;
    struct base_error error = {0};
    char text[2 * BASE_ERROR_TEXT];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    base_fail(&error, BASE_IO, "%s", text);
    assert_int_equal(strlen(error.text[0]), BASE_ERROR_TEXT - 1);
}

static void a_buffer_of_any_size_is_filled_and_never_overrun(void **state)
{
    (void)state;
    static const char whole[] = "outer: middle: root";
    struct base_error error = {0};
    base_fail(&error, BASE_IO, "root");
    base_fail_while(&error, "middle");
    base_fail_while(&error, "outer");
    assert_int_equal(base_error_text(&error, NULL, 0), strlen(whole));
    for (size_t size = 1; size < sizeof(whole) + 4; size++) {
        char out[sizeof(whole) + 8];
        memset(out, '#', sizeof(out));
        assert_int_equal(base_error_text(&error, out, size), strlen(whole));
        size_t kept = size - 1 < strlen(whole) ? size - 1 : strlen(whole);
        assert_memory_equal(out, whole, kept);
        assert_int_equal(out[kept], '\0');
        for (size_t i = size; i < sizeof(out); i++)
            assert_int_equal(out[i], '#');
    }
}

static void arguments_may_be_texts_of_the_error_itself(void **state)
{
    (void)state;
    struct base_error error = {0};
    base_fail(&error, BASE_IO, "root");
    base_fail(&error, BASE_INVALID, "not %s but %s", error.text[0], error.text[0]);
    assert_string_equal(text_of(&error), "not root but root");
    for (int i = 0; i < BASE_ERROR_CAUSES; i++)
        base_fail_while(&error, "a%s", error.text[error.causes - 1]);
    assert_string_equal(error.text[BASE_ERROR_CAUSES - 1], "aaaanot root but root");
}

static void without_an_error_to_fill_the_code_still_returns(void **state)
{
    (void)state;
    assert_int_equal(base_fail(NULL, BASE_NOT_FOUND, "unseen %d", 1), BASE_NOT_FOUND);
    assert_int_equal(base_fail_while(NULL, "unseen"), BASE_INVALID);
}

static void adding_a_cause_never_yields_success(void **state)
{
    (void)state;
    struct base_error error = {0};
    assert_int_equal(base_fail_while(&error, "a callee failed without a word"), BASE_INVALID);
    assert_int_equal(error.code, BASE_INVALID);
}

static enum base_code half_of(int number, int *half, struct base_error *error)
{
    BASE_RETURN_IF(number % 2, error, BASE_INVALID, "%d is odd", number);
    *half = number / 2;
    return BASE_OK;
}

static void return_if_returns_only_if(void **state)
{
    (void)state;
    struct base_error error = {0};
    int half = 0;
    assert_int_equal(half_of(4, &half, &error), BASE_OK);
    assert_int_equal(half, 2);
    assert_int_equal(error.code, BASE_OK);
    assert_int_equal(half_of(5, &half, &error), BASE_INVALID);
    assert_int_equal(half, 2);
    assert_string_equal(text_of(&error), "5 is odd");
}

static enum base_code need(const void *memory, struct base_error *error)
{
    BASE_RETURN_IF_NO_MEMORY(!memory, error);
    return BASE_OK;
}

static void memory_that_ran_out_has_one_text(void **state)
{
    (void)state;
    struct base_error error = {0};
    assert_int_equal(need(&error, &error), BASE_OK);
    assert_int_equal(error.code, BASE_OK);
    assert_int_equal(need(NULL, &error), BASE_NO_MEMORY);
    assert_int_equal(error.code, BASE_NO_MEMORY);
    assert_string_equal(text_of(&error), "out of memory");
    assert_int_equal(base_no_memory_while(&error, "reading %s:%d", "a.ptx", 3), BASE_NO_MEMORY);
    assert_string_equal(text_of(&error), "out of memory reading a.ptx:3");
    assert_int_equal(base_no_memory_while(&error, "after '%s'", error.text[0]), BASE_NO_MEMORY);
    assert_string_equal(text_of(&error), "out of memory after 'out of memory reading a.ptx:3'");
    assert_int_equal(base_no_memory(NULL), BASE_NO_MEMORY);
    assert_int_equal(base_no_memory_while(NULL, "x"), BASE_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_a_name_of_its_own),
        cmocka_unit_test(a_chain_reads_from_the_outermost_to_the_root),
        cmocka_unit_test(a_new_root_replaces_the_chain),
        cmocka_unit_test(beyond_the_last_place_the_newest_is_replaced),
        cmocka_unit_test(a_long_text_is_cut_and_terminated),
        cmocka_unit_test(a_buffer_of_any_size_is_filled_and_never_overrun),
        cmocka_unit_test(arguments_may_be_texts_of_the_error_itself),
        cmocka_unit_test(without_an_error_to_fill_the_code_still_returns),
        cmocka_unit_test(adding_a_cause_never_yields_success),
        cmocka_unit_test(return_if_returns_only_if),
        cmocka_unit_test(memory_that_ran_out_has_one_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
