// SPDX-License-Identifier: Apache-2.0
// Finds statements, calls and expressions in C source by what surrounds them.
#include "ctext.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// --- Text ----------------------------------------------------------------------------------------

bool record_ctext_is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool record_ctext_is_space(char c)
{
    return isspace((unsigned char)c);
}

char *record_ctext_clean(const char *text, size_t length)
{
    char *clean = malloc(length + 1);
    if (!clean)
        return NULL;
    enum { CODE, LINE, BLOCK, QUOTED } in = CODE;
    char quote = 0;
    for (size_t i = 0; i < length; i++) {
        char c = text[i], next = i + 1 < length ? text[i + 1] : 0, keep = ' ';
        size_t more = 0; // characters that go with this one
        if (in == CODE) {
            if (c == '/' && (next == '/' || next == '*')) {
                in = next == '/' ? LINE : BLOCK;
                more = 1;
            } else {
                keep = c;
                // A digit separator, as in 1'000, is not a quote.
                if (c == '"' || (c == '\'' && !(i && record_ctext_is_word(text[i - 1]) &&
                                                record_ctext_is_word(next)))) {
                    in = QUOTED;
                    quote = c;
                }
            }
        } else if (in == LINE) {
            in = c == '\n' ? CODE : LINE;
        } else if (in == BLOCK) {
            more = c == '*' && next == '/';
            in = more ? CODE : BLOCK;
        } else if (c == '\\') {
            more = 1;
        } else if (c == quote || c == '\n') {
            keep = c;
            in = CODE;
        }
        clean[i] = c == '\n' ? c : keep;
        if (more && i + 1 < length) {
            i++;
            clean[i] = text[i] == '\n' ? '\n' : ' ';
        }
    }
    clean[length] = 0;
    return clean;
}

struct record_ctext_span record_ctext_trim(const char *text, struct record_ctext_span span)
{
    while (span.start < span.end && record_ctext_is_space(text[span.start]))
        span.start++;
    while (span.end > span.start && record_ctext_is_space(text[span.end - 1]))
        span.end--;
    return span;
}

size_t record_ctext_line_at(const char *text, size_t length, uint32_t line)
{
    size_t at = 0;
    for (uint32_t i = 1; i < line; i++) {
        const char *newline = memchr(text + at, '\n', length - at);
        if (!newline)
            return length;
        at = (size_t)(newline - text) + 1;
    }
    return at;
}

static bool is_open(char c)
{
    return c == '(' || c == '[';
}

static bool is_close(char c)
{
    return c == ')' || c == ']';
}

bool record_ctext_ends_statement(char c)
{
    return c == ';' || c == '{' || c == '}';
}

// Returns the position of the bracket that matches the opening one at `at`, or end.
static size_t closing(const char *text, size_t at, size_t end)
{
    unsigned depth = 0;
    for (; at < end; at++) {
        depth += is_open(text[at]);
        if (is_close(text[at]) && --depth == 0)
            return at;
    }
    return end;
}

size_t record_ctext_opening(const char *text, size_t at, size_t start)
{
    unsigned depth = 0;
    for (;; at--) {
        depth += is_close(text[at]);
        if (is_open(text[at]) && --depth == 0)
            return at;
        if (at == start)
            return SIZE_MAX;
    }
}

// The semicolons of a for statement are inside its brackets, so they do not end it.
struct record_ctext_span record_ctext_statement_at(const char *text, size_t length, size_t at)
{
    struct record_ctext_span span = {at, at};
    for (int depth = 0; span.start; span.start--) {
        char c = text[span.start - 1];
        depth += is_close(c);
        depth -= is_open(c);
        if (depth <= 0 && record_ctext_ends_statement(c))
            break;
    }
    int depth = 0;
    for (span.end = span.start; span.end < length; span.end++) {
        char c = text[span.end];
        depth += is_open(c);
        depth -= is_close(c);
        if (span.end >= at && depth <= 0 && record_ctext_ends_statement(c))
            break;
    }
    return span;
}

bool record_ctext_word_at(const char *text, struct record_ctext_span in, size_t at,
                          const char *word, size_t length)
{
    return at + length <= in.end && !memcmp(text + at, word, length) &&
           (at == 0 || !record_ctext_is_word(text[at - 1])) &&
           (at + length >= in.end || !record_ctext_is_word(text[at + length]));
}

// --- Expressions ---------------------------------------------------------------------------------

struct record_ctext_span record_ctext_last_expression(const char *text,
                                                      struct record_ctext_span span)
{
    span = record_ctext_trim(text, span);
    size_t at = span.end;
    for (;;) {
        while (at > span.start && text[at - 1] == ']') {
            size_t open = record_ctext_opening(text, at - 1, span.start);
            if (open == SIZE_MAX)
                return (struct record_ctext_span){span.end, span.end};
            at = open;
        }
        size_t word = at;
        while (word > span.start && record_ctext_is_word(text[word - 1]))
            word--;
        if (word == at || isdigit((unsigned char)text[word]))
            return (struct record_ctext_span){span.end, span.end};
        at = word;
        if (at > span.start && text[at - 1] == '.')
            at -= 1;
        else if (at > span.start + 1 &&
                 (!memcmp(text + at - 2, "->", 2) || !memcmp(text + at - 2, "::", 2)))
            at -= 2;
        else
            return (struct record_ctext_span){at, span.end};
    }
}

struct record_ctext_span record_ctext_without_casts(const char *text, struct record_ctext_span span)
{
    for (;;) {
        span = record_ctext_trim(text, span);
        size_t size = span.end - span.start;
        if (size > 5 && text[span.end - 1] == ')' && record_ctext_is_word(text[span.start])) {
            const char *cast = memmem(text + span.start, size, "_cast", 5);
            size_t open = record_ctext_opening(text, span.end - 1, span.start);
            if (cast && open != SIZE_MAX && open > span.start && text[open - 1] == '>') {
                span = (struct record_ctext_span){open + 1, span.end - 1};
                continue;
            }
        }
        if (size < 2 || text[span.start] != '(')
            return span;
        size_t close = closing(text, span.start, span.end);
        if (close >= span.end)
            return span;
        if (close + 1 == span.end) { // brackets around all of it
            span = (struct record_ctext_span){span.start + 1, close};
            continue;
        }
        span.start = close + 1; // a cast, before something
    }
}

void record_ctext_add(struct base_buf *out, const char *text, struct record_ctext_span span)
{
    for (size_t i = span.start; i < span.end; i++) {
        bool space = record_ctext_is_space(text[i]);
        if (!space)
            base_buf_putc(out, text[i]);
        else if (i + 1 < span.end && record_ctext_is_word(text[i - 1]) &&
                 record_ctext_is_word(text[i + 1]))
            base_buf_putc(out, ' ');
    }
}

bool record_ctext_is_name(const char *text, struct record_ctext_span span)
{
    struct record_ctext_span last = record_ctext_last_expression(text, span);
    return last.start == span.start && last.end > last.start;
}

// --- Calls ---------------------------------------------------------------------------------------

bool record_ctext_find_call(const char *text, struct record_ctext_span in, size_t at,
                            const char *name, struct record_ctext_call *call)
{
    size_t length = strlen(name);
    for (; length && at + length < in.end; at++) {
        if (!record_ctext_word_at(text, in, at, name, length))
            continue;
        size_t open = at + length;
        while (open < in.end && record_ctext_is_space(text[open]))
            open++;
        if (open < in.end && text[open] == '<') { // template arguments
            int depth = 0;
            for (; open < in.end; open++) {
                depth += (text[open] == '<') - (text[open] == '>');
                if (!depth)
                    break;
            }
            open++;
        }
        if (open >= in.end || text[open] != '(')
            continue;
        size_t close = closing(text, open, in.end);
        *call =
            (struct record_ctext_call){{at, close < in.end ? close + 1 : close}, {open + 1, close}};
        return true;
    }
    return false;
}

bool record_ctext_next_call(const char *text, struct record_ctext_span in, size_t at,
                            struct record_ctext_span *callee, struct record_ctext_call *call)
{
    for (; at < in.end; at++) {
        if (text[at] != '(')
            continue;
        size_t end = at;
        while (end > in.start && record_ctext_is_space(text[end - 1]))
            end--;
        size_t start = end;
        while (start > in.start && record_ctext_is_word(text[start - 1]))
            start--;
        bool selected = end > in.start && is_close(text[end - 1]); // (*function)(x), table[i](x)
        if (start == end && !selected)
            continue;
        size_t close = closing(text, at, in.end);
        *callee = (struct record_ctext_span){start, end};
        *call = (struct record_ctext_call){{start, close < in.end ? close + 1 : close},
                                           {at + 1, close}};
        return true;
    }
    return false;
}

struct record_ctext_span record_ctext_next_argument(const char *text,
                                                    struct record_ctext_span *list)
{
    int depth = 0;
    size_t at = list->start;
    for (; at < list->end; at++) {
        char c = text[at];
        depth += is_open(c) || c == '{';
        depth -= is_close(c) || c == '}';
        if (c == ',' && depth == 0)
            break;
    }
    struct record_ctext_span argument = {list->start, at};
    list->start = at < list->end ? at + 1 : at;
    return record_ctext_trim(text, argument);
}

struct record_ctext_span record_ctext_address_of(const char *text,
                                                 struct record_ctext_span argument)
{
    argument = record_ctext_without_casts(text, argument);
    if (argument.start == argument.end || text[argument.start] != '&')
        return (struct record_ctext_span){0, 0};
    argument.start++;
    argument = record_ctext_without_casts(text, argument);
    return record_ctext_is_name(text, argument) ? argument : (struct record_ctext_span){0, 0};
}
