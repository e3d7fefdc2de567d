// SPDX-License-Identifier: Apache-2.0
// C and C++ source as text: finds statements, calls, arguments and expressions by brackets and ends
// of statements, without parsing. The input may be anything; nothing outside it is read. Internal.
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

// Returns a copy of the same length in which comments and quoted text are blanks. The caller frees
// it. Returns NULL if memory ran out. All functions below expect such a text.
char *record_ctext_clean(const char *text, size_t length);

bool record_ctext_is_word(char c);
bool record_ctext_is_space(char c);
bool record_ctext_ends_statement(char c);

struct record_ctext_span record_ctext_trim(const char *text, struct record_ctext_span span);
// Adds the text of the span, with redundant blanks removed.
void record_ctext_add(struct base_buf *out, const char *text, struct record_ctext_span span);
// Returns true if the word, not as part of a longer one, begins at position `at`.
bool record_ctext_word_at(const char *text, struct record_ctext_span in, size_t at,
                          const char *word, size_t length);
// Returns the position of a line, from 1; length if there is none.
size_t record_ctext_line_at(const char *text, size_t length, uint32_t line);
// Returns the position of the bracket that matches the closing one at `at`, or SIZE_MAX.
size_t record_ctext_opening(const char *text, size_t at, size_t start);
// Returns the statement that contains the position.
struct record_ctext_span record_ctext_statement_at(const char *text, size_t length, size_t at);

// Returns the expression at the end of the span: words with member access and subscripts, such as
// a->b[i].c.
struct record_ctext_span record_ctext_last_expression(const char *text,
                                                      struct record_ctext_span span);
// Removes casts and brackets from the front: (void **)x, (x), reinterpret_cast<void **>(x).
struct record_ctext_span record_ctext_without_casts(const char *text,
                                                    struct record_ctext_span span);
// Returns true if the span is a readable name: words with member access and subscripts, without a
// computation.
bool record_ctext_is_name(const char *text, struct record_ctext_span span);

// Finds the next call of the function `name` in the span, from position `at` on.
bool record_ctext_find_call(const char *text, struct record_ctext_span in, size_t at,
                            const char *name, struct record_ctext_call *call);
// Finds the next call of any function whose bracket opens at `at` or later. *callee is the word
// before the bracket; it is empty if an expression selects the function.
bool record_ctext_next_call(const char *text, struct record_ctext_span in, size_t at,
                            struct record_ctext_span *callee, struct record_ctext_call *call);
// Returns the first argument and removes it from the list.
struct record_ctext_span record_ctext_next_argument(const char *text,
                                                    struct record_ctext_span *list);
// Returns x of an argument &x; an empty span for other arguments.
struct record_ctext_span record_ctext_address_of(const char *text,
                                                 struct record_ctext_span argument);

#endif
