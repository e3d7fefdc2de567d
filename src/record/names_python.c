// SPDX-License-Identifier: Apache-2.0
// The text is scanned for strings, comments and brackets up to the line, so that a line inside of a
// string or of brackets is not taken for a statement. It is not parsed.
#include "names_python.h"

#include <string.h>

#include "ctext.h"

// What is open at a place in the text.
struct scan {
    const char *text;
    size_t length, at;
    unsigned depth; // of brackets
    bool joined;    // the last newline was escaped
};

static bool is_at(const struct scan *scan, char quote, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (scan->at + i >= scan->length || scan->text[scan->at + i] != quote)
            return false;
    return true;
}

// Passes the string that begins here. One that is not closed in its line ends there.
static void pass_string(struct scan *scan)
{
    const char quote = scan->text[scan->at];
    const unsigned quotes = is_at(scan, quote, 3) ? 3 : 1;
    scan->at += quotes;
    while (scan->at < scan->length && !is_at(scan, quote, quotes)) {
        if (scan->text[scan->at] == '\n' && quotes == 1)
            return;
        scan->at += scan->text[scan->at] == '\\' ? 2 : 1;
    }
    scan->at = scan->at + quotes < scan->length ? scan->at + quotes : scan->length;
}

// Passes a string, a comment, or one character.
static void step(struct scan *scan)
{
    const char c = scan->text[scan->at];
    if (c == '"' || c == '\'') {
        pass_string(scan);
        return;
    }
    if (c == '#') {
        while (scan->at < scan->length && scan->text[scan->at] != '\n')
            scan->at++;
        return;
    }
    scan->depth += c == '(' || c == '[' || c == '{';
    scan->depth -= (c == ')' || c == ']' || c == '}') && scan->depth > 0;
    if (c == '\n')
        scan->joined = scan->at > 0 && scan->text[scan->at - 1] == '\\';
    scan->at++;
}

// Finds the line. Returns false if it begins inside of something, or its end is.
static bool find_line(const char *text, size_t length, uint32_t line,
                      struct record_ctext_span *span)
{
    size_t start = 0;
    for (uint32_t i = 1; i < line && start < length; i++) {
        const char *next = memchr(text + start, '\n', length - start);
        start = next ? (size_t)(next - text) + 1 : length;
    }
    struct scan scan = {.text = text, .length = length};
    while (scan.at < start)
        step(&scan);
    if (scan.at != start || start == length || scan.depth || scan.joined)
        return false;
    const char *newline = memchr(text + start, '\n', length - start);
    const size_t end = newline ? (size_t)(newline - text) : length;
    size_t code_end = start;
    while (scan.at < end) {
        const bool comment = text[scan.at] == '#';
        step(&scan);
        code_end = comment ? code_end : scan.at;
    }
    *span = (struct record_ctext_span){start, code_end};
    return scan.at == end && !scan.depth && (end == start || text[end - 1] != '\\');
}

// Returns the position of the only '=' that assigns, outside of brackets; SIZE_MAX: there is none,
// there are several, or the line has more than one statement.
static size_t find_assignment(const char *text, struct record_ctext_span line)
{
    struct scan scan = {.text = text, .length = line.end, .at = line.start};
    size_t found = SIZE_MAX;
    while (scan.at < line.end) {
        const size_t at = scan.at;
        const char c = text[at];
        step(&scan);
        if (scan.depth || scan.at != at + 1)
            continue;
        if (c == ';' || c == ':')
            return SIZE_MAX;
        if (c != '=')
            continue;
        if (found != SIZE_MAX || at == line.start || strchr("=!<>+-*/%&|^@:", text[at - 1]) ||
            (at + 1 < line.end && text[at + 1] == '='))
            return SIZE_MAX;
        found = at;
    }
    return found;
}

// Returns whether the span is one call of a named function, and has no other call in it.
static bool is_single_call(const char *text, struct record_ctext_span span)
{
    const char *open = memchr(text + span.start, '(', span.end - span.start);
    if (!open || text[span.end - 1] != ')')
        return false;
    const size_t at = (size_t)(open - text);
    struct scan scan = {.text = text, .length = span.end, .at = at};
    unsigned calls = 0;
    while (scan.at < span.end) {
        calls += text[scan.at] == '(';
        step(&scan);
        if (!scan.depth && scan.at < span.end)
            return false; // something follows the call
    }
    return calls == 1 && record_ctext_is_name(text, (struct record_ctext_span){span.start, at});
}

// Returns the variable in the only byref() of the line; an empty span if there is none.
static struct record_ctext_span find_reference(const char *text, struct record_ctext_span line)
{
    struct record_ctext_call call, other;
    const struct record_ctext_span none = {0, 0};
    if (!record_ctext_find_call(text, line, line.start, "byref", &call) ||
        record_ctext_find_call(text, line, call.all.end, "byref", &other))
        return none;
    const struct record_ctext_span name = record_ctext_trim(text, call.arguments);
    return record_ctext_is_name(text, name) ? name : none;
}

static bool is_return_of(const char *text, struct record_ctext_span line,
                         struct record_ctext_span name)
{
    const struct record_ctext_span code = record_ctext_trim(text, line);
    if (!record_ctext_word_at(text, code, code.start, "return", strlen("return")))
        return false;
    const struct record_ctext_span value = record_ctext_trim(
        text, (struct record_ctext_span){code.start + strlen("return"), code.end});
    return value.end - value.start == name.end - name.start &&
           memcmp(text + value.start, text + name.start, name.end - name.start) == 0;
}

// Returns whether a later line of the block, or of one inside of it, returns the variable.
static bool is_returned(const char *text, size_t length, struct record_ctext_span line,
                        struct record_ctext_span name)
{
    const size_t indent = strspn(text + line.start, " \t");
    for (size_t at = line.end; at < length;) {
        const char *newline = memchr(text + at, '\n', length - at);
        if (!newline)
            return false;
        at = (size_t)(newline - text) + 1;
        const char *next = memchr(text + at, '\n', length - at);
        const size_t end = next ? (size_t)(next - text) : length;
        const struct record_ctext_span span = {at, end}, code = record_ctext_trim(text, span);
        if (code.start < code.end && code.start - at < indent)
            return false;
        if (is_return_of(text, span, name))
            return true;
    }
    return false;
}

enum record_names_strength record_names_in_python(const char *text, size_t length, uint32_t line,
                                                  struct base_buf *out)
{
    struct record_ctext_span span, name;
    if (!find_line(text, length, line, &span))
        return RECORD_NAMES_NONE;
    const struct record_ctext_span code = record_ctext_trim(text, span);
    if (code.start == code.end)
        return RECORD_NAMES_NONE;
    name = find_reference(text, code);
    const size_t equals = find_assignment(text, code);
    if (!name.end && equals != SIZE_MAX) {
        const struct record_ctext_span target =
            record_ctext_trim(text, (struct record_ctext_span){code.start, equals});
        if (is_single_call(
                text, record_ctext_trim(text, (struct record_ctext_span){equals + 1, code.end})) &&
            record_ctext_is_name(text, target))
            name = target;
    }
    if (name.end) {
        record_ctext_add(out, text, name);
        return is_returned(text, length, span, name) ? RECORD_NAMES_RETURNED : RECORD_NAMES_STRONG;
    }
    static const char word[] = "return";
    return record_ctext_word_at(text, code, code.start, word, strlen(word)) &&
                   is_single_call(text, record_ctext_trim(text,
                                                          (struct record_ctext_span){
                                                              code.start + strlen(word), code.end}))
               ? RECORD_NAMES_PASSED
               : RECORD_NAMES_NONE;
}
