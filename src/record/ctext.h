// SPDX-License-Identifier: Apache-2.0
// C and C++ source as text: statements, calls, arguments and expressions are found by brackets and
// ends of statements, without parsing. What it is given may be anything; it stays in its bounds.
// Internal.
#ifndef GLINT_RECORD_CTEXT_H
#define GLINT_RECORD_CTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

struct record_ctext_span {
    size_t start, end;
};

struct record_ctext_call {
    struct record_ctext_span all; // from the name to the closing bracket
    struct record_ctext_span arguments;
};

// A copy of the same length in which comments and what is in quotes are spaces; the caller frees
// it. NULL when memory ran out. All others want such a text.
char *record_ctext_clean(const char *text, size_t length);

bool record_ctext_is_word(char c);
bool record_ctext_is_space(char c);
bool record_ctext_ends_statement(char c);

struct record_ctext_span record_ctext_trim(const char *text, struct record_ctext_span span);
// Adds the text, with as few blanks as it can do with.
void record_ctext_add(struct base_buf *out, const char *text, struct record_ctext_span span);
// Whether the word stands at the position, alone.
bool record_ctext_word_at(const char *text, struct record_ctext_span in, size_t at,
                          const char *word, size_t length);
// The place of the bracket that opens the one at `at`, or SIZE_MAX.
size_t record_ctext_opening(const char *text, size_t at, size_t start);
// The statement that holds the position.
struct record_ctext_span record_ctext_statement_at(const char *text, size_t length, size_t at);

// The expression that ends at the end of the span: words with what selects in them, a->b[i].c.
struct record_ctext_span record_ctext_last_expression(const char *text,
                                                      struct record_ctext_span span);
// Takes casts and brackets off the front: (void **)x, (x), reinterpret_cast<void **>(x).
struct record_ctext_span record_ctext_without_casts(const char *text,
                                                    struct record_ctext_span span);
// A name that people can read: an expression of words and what selects in them, not a computation.
bool record_ctext_is_name(const char *text, struct record_ctext_span span);

// The next call of the function in the span, from `at` on.
bool record_ctext_find_call(const char *text, struct record_ctext_span in, size_t at,
                            const char *name, struct record_ctext_call *call);
// The next call of whatever function, whose bracket opens at `at` or later. *callee is the last
// word before that; empty where a function is called by an expression.
bool record_ctext_next_call(const char *text, struct record_ctext_span in, size_t at,
                            struct record_ctext_span *callee, struct record_ctext_call *call);
// Cuts the first argument off the list.
struct record_ctext_span record_ctext_next_argument(const char *text,
                                                    struct record_ctext_span *list);
// x of &x; empty where the argument is none.
struct record_ctext_span record_ctext_address_of(const char *text,
                                                 struct record_ctext_span argument);

#endif
