// SPDX-License-Identifier: Apache-2.0
// Finds out how a function passes a variable to its caller: as a parameter, or by returning it. The
// function is found by brackets and braces around a line: see ctext.h.
#include <string.h>

#include "ctext.h"
#include "names.h"

// Returns the parameters of the function whose body contains the position; an empty span if that is
// not found.
static struct record_ctext_span parameters_at(const char *text, size_t at)
{
    static const char *const others[] = {"if", "for", "while", "switch", "catch"};
    const struct record_ctext_span none = {0, 0};
    struct record_ctext_span found = none;
    int depth = 0;
    while (at > 0) {
        const char c = text[--at];
        depth += (c == '}') - (c == '{');
        if (c == '}' || depth >= 0)
            continue;
        depth = 0; // an open brace around the position
        size_t close = at;
        while (close > 0 && text[close - 1] != ')' &&
               (record_ctext_is_space(text[close - 1]) || record_ctext_is_word(text[close - 1])))
            close--;
        const size_t open = close > 0 && text[close - 1] == ')'
                                ? record_ctext_opening(text, close - 1, 0)
                                : SIZE_MAX;
        if (open == SIZE_MAX)
            continue;
        size_t end = open;
        while (end > 0 && record_ctext_is_space(text[end - 1]))
            end--;
        size_t start = end;
        while (start > 0 && record_ctext_is_word(text[start - 1]))
            start--;
        bool is_function = end > start;
        for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
            is_function &= end - start != strlen(others[i]) ||
                           memcmp(text + start, others[i], end - start) != 0;
        if (is_function)
            return (struct record_ctext_span){open + 1, close - 1};
    }
    return found;
}

static bool is_text(const char *text, struct record_ctext_span span, const char *word, size_t bytes)
{
    return span.end - span.start == bytes && !memcmp(text + span.start, word, bytes);
}

// Returns whether the function later returns the variable as a whole.
static bool returns(const char *text, size_t length, size_t at, const char *word, size_t bytes)
{
    const struct record_ctext_span rest = {at, length};
    for (int depth = 0; at < length && depth >= 0; at++) {
        depth += (text[at] == '{') - (text[at] == '}');
        if (!record_ctext_word_at(text, rest, at, "return", 6))
            continue;
        size_t end = at + 6;
        while (end < length && text[end] != ';')
            end++;
        if (is_text(text, record_ctext_without_casts(text, (struct record_ctext_span){at + 6, end}),
                    word, bytes))
            return true;
    }
    return false;
}

struct record_names_owner record_names_owner_of(const char *text, size_t length, uint32_t line,
                                                const char *name)
{
    struct record_names_owner owner = {.kind = RECORD_NAMES_KEPT};
    const size_t at = record_ctext_line_at(text, length, line);
    size_t bytes = 0;
    while (record_ctext_is_word(name[bytes]))
        bytes++;
    if (!bytes || at == length)
        return owner;
    const char *newline = memchr(text + at, '\n', length - at);
    const size_t end = newline ? (size_t)(newline - text) : length;
    // The function may begin in the line: its body comes last.
    size_t inside = end;
    while (inside > at &&
           !record_ctext_word_at(text, (struct record_ctext_span){at, end}, inside, name, bytes))
        inside--;
    struct record_ctext_span list = parameters_at(text, inside);
    for (unsigned i = 0; list.start < list.end; i++) {
        struct record_ctext_span one = record_ctext_next_argument(text, &list);
        const char *value = memchr(text + one.start, '=', one.end - one.start);
        one.end = value ? (size_t)(value - text) : one.end;
        const struct record_ctext_span last = record_ctext_last_expression(text, one);
        const bool passes = memchr(text + one.start, '&', one.end - one.start) ||
                            memchr(text + one.start, '*', one.end - one.start);
        if (passes && is_text(text, last, name, bytes))
            return (struct record_names_owner){RECORD_NAMES_PARAMETER, i};
    }
    if (returns(text, length, inside, name, bytes))
        owner.kind = RECORD_NAMES_RETURNS;
    return owner;
}
