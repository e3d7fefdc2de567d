// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of src/profile: cmocka with the headers that must precede it, and checks that
// print what went wrong.
#ifndef GLINT_TESTS_PROFILE_TESTING_H
#define GLINT_TESTS_PROFILE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "profile/profile.h"

static inline bool is_there(const char *suffix)
{
    char name[128];
    snprintf(name, sizeof(name), "%s%s", test_path, suffix);
    return access(name, F_OK) == 0;
}

static inline void check_good(enum base_code code, const struct base_error *error)
{
    char text[1024];
    if (code == BASE_OK)
        return;
    base_error_text(error, text, sizeof(text));
    fail_msg("%s", text);
}

// Checks that the call failed with this code and that the message contains the words.
static inline void check_bad(enum base_code code, enum base_code wanted,
                             const struct base_error *error, const char *words)
{
    char text[1024];
    base_error_text(error, text, sizeof(text));
    if (code != wanted || !strstr(text, words))
        fail_msg("%s, not %s with '%s': %s", base_code_name(code), base_code_name(wanted), words,
                 text);
}

// --- The result of a query as text: cells between '|', rows in lines -----------------------------

static inline bool text_columns(void *user, unsigned count, const char *const *names)
{
    (void)user;
    (void)count;
    (void)names;
    return true;
}

static inline bool text_row(void *user, unsigned count, const struct profile_cell *cells)
{
    struct base_buf *out = user;
    for (unsigned i = 0; i < count; i++) {
        if (i)
            base_buf_putc(out, '|');
        if (cells[i].kind == PROFILE_CELL_INTEGER)
            base_buf_i64(out, cells[i].integer);
        else if (cells[i].kind == PROFILE_CELL_REAL)
            base_buf_printf(out, "%g", cells[i].real);
        else if (cells[i].kind != PROFILE_CELL_NULL)
            base_buf_add(out, cells[i].bytes.text, cells[i].bytes.length);
    }
    base_buf_putc(out, '\n');
    return true;
}

static inline void check_text(const char *text, const char *wanted)
{
    if (wanted)
        assert_string_equal(text, wanted);
    else
        assert_null(text);
}

static inline void check_query(struct profile *profile, const char *sql, const char *wanted)
{
    struct base_error error = {0};
    struct base_buf text = {0};
    struct profile_sink sink = {text_columns, text_row, &text};
    check_good(profile_query(profile, sql, &sink, &error), &error);
    assert_string_equal(text.text ? text.text : "", wanted);
    base_buf_fini(&text);
}

#endif
