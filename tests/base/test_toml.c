// SPDX-License-Identifier: Apache-2.0
// Tests of the TOML reader: what it accepts, what it rejects and with which message, and that it
// survives running out of memory.
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct base_toml_table *read_good(struct base_arena *arena, const char *text)
{
    struct base_error error = {0};
    struct base_toml_table *tables = NULL;
    if (base_toml_read(base_str(text), arena, &tables, &error) != BASE_OK)
        fail_msg("%s: %s", text, error.text[0]);
    return tables;
}

static void all_kinds_of_values_are_read(void **state)
{
    (void)state;
    struct base_arena arena = {0};
    const struct base_toml_table *top = read_good(&arena, "\xef\xbb\xbf# a comment\r\n"
                                                          "text = \"a \\\"b\\\" \\\\ \\t \\u00e9"
                                                          "\\U0001F600\" # more\r\n"
                                                          "literal='C:\\n'\n"
                                                          "number = -9223372036854775808\n"
                                                          "\tplus = +7\n"
                                                          "yes = true\nno=false\n"
                                                          "empty = []\n"
                                                          "list = [ 'a', # first\n\n  \"b\" ,\n]\n"
                                                          "[table] # named\n"
                                                          "key_1-A = 0\n"
                                                          "[[many]]\n[[many]]\nx = 1");
    const struct base_toml_entry *entry = top->entries;
    assert_string_equal(entry->key, "text");
    assert_int_equal(entry->line, 2);
    assert_int_equal(entry->value.kind, BASE_TOML_STRING);
    assert_string_equal(entry->value.string, "a \"b\" \\ \t \xc3\xa9\xf0\x9f\x98\x80");
    entry = entry->next;
    assert_string_equal(entry->value.string, "C:\\n");
    entry = entry->next;
    assert_int_equal(entry->value.kind, BASE_TOML_INTEGER);
    assert_true(entry->value.integer == INT64_MIN);
    entry = entry->next;
    assert_int_equal(entry->value.integer, 7);
    entry = entry->next;
    assert_int_equal(entry->value.kind, BASE_TOML_BOOLEAN);
    assert_true(entry->value.boolean);
    entry = entry->next;
    assert_false(entry->value.boolean);
    entry = entry->next;
    assert_int_equal(entry->value.kind, BASE_TOML_STRINGS);
    assert_int_equal(entry->value.string_count, 0);
    entry = entry->next;
    assert_int_equal(entry->value.string_count, 2);
    assert_string_equal(entry->value.strings[0], "a");
    assert_string_equal(entry->value.strings[1], "b");
    assert_int_equal(entry->value.lines[0], 9);
    assert_int_equal(entry->value.lines[1], 11);
    assert_null(entry->next);
    const struct base_toml_table *table = top->next;
    assert_string_equal(table->name, "table");
    assert_false(table->in_array);
    assert_string_equal(table->entries->key, "key_1-A");
    table = table->next;
    assert_true(table->in_array);
    assert_null(table->entries);
    table = table->next;
    assert_string_equal(table->name, "many");
    assert_int_equal(table->line, 16);
    assert_int_equal(table->entries->value.integer, 1);
    assert_null(table->next);
    base_arena_fini(&arena);
}

static void what_is_wrong_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a", "line 1: expected = after 'a'"},
        {"\n= 1", "line 2: expected a key"},
        {"a = ", "line 1: expected a value; text must be in quotes"},
        {"a = word", "line 1: expected a value; text must be in quotes"},
        {"a = truth", "line 1: expected a value; text must be in quotes"},
        {"a = true1", "line 1: unexpected text after the value"},
        {"a = 1 2", "line 1: unexpected text after the value"},
        {"a = 1\na = 2", "line 2: 'a' is already defined in line 1"},
        {"a.b = 1", "line 1: dotted keys are not supported"},
        {"\"a\" = 1", "line 1: keys in quotes are not supported"},
        {"a = 1.5", "line 1: floating-point numbers are not supported"},
        {"a = 1e3", "line 1: floating-point numbers are not supported"},
        {"a = 0x10", "line 1: only decimal integers are supported; text must be in quotes"},
        {"a = 64MiB", "line 1: only decimal integers are supported; text must be in quotes"},
        {"a = 2020-01-01", "line 1: only decimal integers are supported; text must be in quotes"},
        {"a = 010", "line 1: numbers must not begin with 0"},
        {"a = 9223372036854775808", "line 1: the number is too large"},
        {"a = -9223372036854775809", "line 1: the number is too large"},
        {"a = { b = 1 }", "line 1: inline tables are not supported"},
        {"a = \"b", "line 1: the string has no closing \" on its line"},
        {"a = 'b\n'", "line 1: the string has no closing ' on its line"},
        {"a = \"\"\"b\"\"\"", "line 1: strings of several lines are not supported"},
        {"a = '''b'''", "line 1: strings of several lines are not supported"},
        {"a = \"\\q\"", "line 1: unknown escape in a string: write \\\\ for a backslash"},
        {"a = \"\\", "line 1: unknown escape in a string: write \\\\ for a backslash"},
        {"a = \"\\u12\"", "line 1: \\u needs 4 hexadecimal digits, \\U needs 8"},
        {"a = \"\\ud800\"", "line 1: \\ud800 is not a character"},
        {"a = \"\\U00110000\"", "line 1: \\u110000 is not a character"},
        {"a = \"\\u0000\"", "line 1: \\u0 is not a character"},
        {"a = \"\x01\"", "line 1: a control character in a string"},
        {"# \x01", "line 1: a control character in a comment"},
        {"a = ['b' 'c']", "line 1: expected a comma or ] in the array"},
        {"a = [1]", "line 1: arrays may contain only strings in quotes"},
        {"a = [\n'b',\n", "line 1: the array has no closing ]"},
        {"[a", "line 1: expected ] after 'a'"},
        {"[[a]", "line 1: expected ]] after 'a'"},
        {"[]", "line 1: expected a key"},
        {"[a.b]", "line 1: dotted keys are not supported"},
        {"[a] b = 1", "line 1: unexpected text after the table's name"},
        {"[a]\n[a]", "line 2: the table 'a' is already defined in line 1"},
        {"[[a]]\n[a]", "line 2: the table 'a' is already defined in line 1"},
        {"[a]\n[[a]]", "line 2: the table 'a' is already defined in line 1"},
        {"a = 1\n[a]", "line 2: 'a' is already defined in line 1"},
        {"a = 1\r", "line 1: unexpected text after the value"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct base_arena arena = {0};
        struct base_error error = {0};
        struct base_toml_table *tables;
        assert_int_equal(base_toml_read(base_str(cases[i].text), &arena, &tables, &error),
                         BASE_SYNTAX);
        assert_string_equal(error.text[0], cases[i].message);
        base_arena_fini(&arena);
    }
}

// Truncates the text at every length, so also within every token.
static void a_text_may_end_anywhere(void **state)
{
    (void)state;
    static const char text[] = "a = \"b\\u00e9\"\n[[c]] # d\r\nd = [ 'e' ,\n\"f\" ]\ng = -12\n";
    for (size_t length = 0; length < sizeof(text); length++) {
        struct base_arena arena = {0};
        struct base_error error = {0};
        struct base_toml_table *tables;
        char *exact = malloc(length + 1); // so that a sanitizer detects a byte too many
        memcpy(exact, text, length);
        enum base_code code =
            base_toml_read((struct base_str){exact, length}, &arena, &tables, &error);
        assert_true(code == BASE_OK || code == BASE_SYNTAX);
        free(exact);
        base_arena_fini(&arena);
    }
}

static void memory_that_runs_out_is_reported(void **state)
{
    (void)state;
    enum base_code code = BASE_NO_MEMORY;
    struct base_buf text = {0};
    unsigned failures = 0;
    for (unsigned i = 0; i < 400; i++)
        base_buf_printf(&text, "[[t]]\nkey%u = [\"%0100u\"]\n", i, i);
    for (size_t limit = 1; code != BASE_OK; limit += 5000) {
        struct base_arena arena;
        struct base_error error = {0};
        struct base_toml_table *tables;
        base_arena_init(&arena, limit);
        code = base_toml_read((struct base_str){text.text, text.length}, &arena, &tables, &error);
        assert_true(code == BASE_OK || code == BASE_NO_MEMORY);
        assert_null(arena.escape);
        failures += code != BASE_OK;
        base_arena_fini(&arena);
    }
    assert_true(failures > 5);
    base_buf_fini(&text);
}

static void the_nearest_word_is_found_where_it_is_near(void **state)
{
    (void)state;
    static const char *const known[] = {"fail-on", "baseline", "path", "memory-leak"};
    static const struct {
        const char *word, *nearest;
    } cases[] = {{"fail-onn", "fail-on"},
                 {"fial-on", "fail-on"},
                 {"fail_on", "fail-on"},
                 {"base-line", "baseline"},
                 {"paths", "path"},
                 {"memory-lek", "memory-leak"},
                 {"memory", "memory-leak"},
                 {"ba", NULL},
                 {"pattern", NULL},
                 {"x", NULL},
                 {"", NULL},
                 {"leak", "memory-leak"}, // a later part
                 {"memoryl", "memory-leak"},
                 {"le", NULL},
                 {"eak", NULL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *found = base_nearest(cases[i].word, known, 4);
        if ((found ? strcmp(found, cases[i].nearest ? cases[i].nearest : "") != 0
                   : cases[i].nearest != NULL))
            fail_msg("%s: %s", cases[i].word, found ? found : "none");
    }
    char word[200];
    memset(word, 'a', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    assert_null(base_nearest(word, known, 4));
    const char *const longer = word;
    assert_null(base_nearest("path", &longer, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_of_values_are_read),
        cmocka_unit_test(what_is_wrong_is_refused_with_its_line),
        cmocka_unit_test(a_text_may_end_anywhere),
        cmocka_unit_test(memory_that_runs_out_is_reported),
        cmocka_unit_test(the_nearest_word_is_found_where_it_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
