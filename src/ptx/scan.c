// SPDX-License-Identifier: Apache-2.0
// The scanner: reads characters, white space, comments and words, with their positions for
// messages. It does not interpret words.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "parser.h"

enum { SPACE = 1, NAME_START = 2, NAME_REST = 4 };

static const uint8_t classes[256] = {
    [' '] = SPACE,
    ['\t'] = SPACE,
    ['\n'] = SPACE,
    ['\r'] = SPACE,
    ['\f'] = SPACE,
    ['\v'] = SPACE,
    ['a' ... 'z'] = NAME_START | NAME_REST,
    ['A' ... 'Z'] = NAME_START | NAME_REST,
    ['0' ... '9'] = NAME_REST,
    ['_'] = NAME_START | NAME_REST,
    ['$'] = NAME_START | NAME_REST,
    ['%'] = NAME_START,
};

void ptx_scan_start(struct ptx_parser *parser, const char *text, size_t length)
{
    parser->at = parser->line_start = text;
    parser->end = text + length;
    parser->line = 1;
}

struct ptx_place ptx_scan_place(const struct ptx_parser *parser)
{
    ptrdiff_t column = parser->at - parser->line_start + 1;
    return (struct ptx_place){parser->line, column > UINT16_MAX ? UINT16_MAX : (uint16_t)column};
}

_Noreturn void ptx_scan_fail(struct ptx_parser *parser, struct ptx_place place, const char *format,
                             ...)
{
    char message[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    base_fail(parser->error, BASE_SYNTAX, "%s:%u:%u: %s", parser->module->name, place.line,
              place.column, message);
    longjmp(parser->escape, 1);
}

// Describes the next token for a message: a word or one character.
static void describe(struct ptx_parser *parser, char *out, size_t out_bytes)
{
    const char *at = parser->at;
    if (at == parser->end) {
        snprintf(out, out_bytes, "the end of the text");
        return;
    }
    unsigned char c = (unsigned char)*at;
    size_t length = 1;
    if (classes[c] & (NAME_START | NAME_REST) || c == '.') {
        while (at + length < parser->end && length < 32 &&
               (classes[(unsigned char)at[length]] & NAME_REST || at[length] == '.'))
            length++;
    }
    if (c < ' ' || c > '~')
        snprintf(out, out_bytes, "the byte 0x%02x", c);
    else
        snprintf(out, out_bytes, "'%.*s'", (int)length, at);
}

_Noreturn void ptx_scan_expected(struct ptx_parser *parser, const char *what)
{
    ptx_scan_space(parser);
    char found[48];
    describe(parser, found, sizeof(found));
    ptx_scan_fail(parser, ptx_scan_place(parser), "expected %s, found %s", what, found);
}

static void new_line(struct ptx_parser *parser, const char *newline)
{
    parser->line++;
    parser->line_start = newline + 1;
}

void ptx_scan_space(struct ptx_parser *parser)
{
    const char *at = parser->at;
    const char *const end = parser->end;
    while (at < end) {
        if (classes[(unsigned char)*at] & SPACE) {
            if (*at == '\n')
                new_line(parser, at);
            at++;
        } else if (*at == '/' && at + 1 < end && at[1] == '/') {
            const char *newline = memchr(at, '\n', (size_t)(end - at));
            at = newline ? newline : end;
        } else if (*at == '/' && at + 1 < end && at[1] == '*') {
            parser->at = at;
            struct ptx_place start = ptx_scan_place(parser);
            at += 2;
            while (at + 1 < end && !(at[0] == '*' && at[1] == '/')) {
                if (*at == '\n')
                    new_line(parser, at);
                at++;
            }
            if (at + 1 >= end)
                ptx_scan_fail(parser, start, "this comment has no end: expected '*/'");
            at += 2;
        } else {
            break;
        }
    }
    parser->at = at;
}

char ptx_scan_peek(struct ptx_parser *parser)
{
    ptx_scan_space(parser);
    return parser->at < parser->end ? *parser->at : '\0';
}

bool ptx_scan_take(struct ptx_parser *parser, char c)
{
    if (ptx_scan_peek(parser) != c || parser->at == parser->end)
        return false;
    parser->at++;
    return true;
}

void ptx_scan_need(struct ptx_parser *parser, char c)
{
    if (!ptx_scan_take(parser, c)) {
        char what[] = {'\'', c, '\'', '\0'};
        ptx_scan_expected(parser, what);
    }
}

bool ptx_scan_is_name(char c)
{
    return classes[(unsigned char)c] & NAME_START;
}

bool ptx_scan_is_name_rest(char c)
{
    return classes[(unsigned char)c] & NAME_REST;
}

struct ptx_name *ptx_scan_name(struct ptx_parser *parser, const char *what)
{
    if (!ptx_scan_is_name(ptx_scan_peek(parser)))
        ptx_scan_expected(parser, what);
    const char *start = parser->at++;
    while (parser->at < parser->end && classes[(unsigned char)*parser->at] & NAME_REST)
        parser->at++;
    size_t length = (size_t)(parser->at - start);
    if (length == 1 && *start == '%') {
        parser->at = start;
        ptx_scan_expected(parser, what);
    }
    parser->name_end = parser->at;
    return ptx_name_intern(parser->names, start, length);
}

// A word consists of letters, digits, _ and $, with :: between two of them.
struct base_str ptx_scan_word(struct ptx_parser *parser, const char *what)
{
    const char *start = parser->at;
    const char *at = start;
    while (at < parser->end) {
        if (classes[(unsigned char)*at] & NAME_REST)
            at++;
        else if (at > start && at + 2 < parser->end && at[0] == ':' && at[1] == ':' &&
                 classes[(unsigned char)at[2]] & NAME_REST)
            at += 2;
        else
            break;
    }
    if (at == start)
        ptx_scan_expected(parser, what);
    parser->at = at;
    return (struct base_str){start, (size_t)(at - start)};
}

// Texts end at their first NUL, so there must be none inside.
static const char *keep_text(struct ptx_parser *parser, const char *start, const char *end,
                             struct ptx_place place)
{
    if (memchr(start, '\0', (size_t)(end - start)))
        ptx_scan_fail(parser, place, "expected text, found the byte 0x00 in it");
    return base_alloc_text(parser->arena, start, (size_t)(end - start));
}

const char *ptx_scan_string(struct ptx_parser *parser)
{
    struct ptx_place place = (ptx_scan_space(parser), ptx_scan_place(parser));
    const char *start = parser->at;
    if (!ptx_scan_take(parser, '"'))
        ptx_scan_expected(parser, "a string");
    while (parser->at < parser->end && *parser->at != '"' && *parser->at != '\n')
        parser->at +=
            *parser->at == '\\' && parser->at + 1 < parser->end && parser->at[1] != '\n' ? 2 : 1;
    if (parser->at >= parser->end || *parser->at != '"')
        ptx_scan_fail(parser, place, "this string has no end: expected '\"'");
    parser->at++;
    return keep_text(parser, start, parser->at, place);
}

const char *ptx_scan_parenthesised(struct ptx_parser *parser)
{
    ptx_scan_need(parser, '(');
    struct ptx_place place = ptx_scan_place(parser);
    const char *start = parser->at;
    for (unsigned depth = 1; parser->at < parser->end; parser->at++) {
        if (*parser->at == '\n')
            new_line(parser, parser->at);
        else if (*parser->at == '(')
            depth++;
        else if (*parser->at == ')' && --depth == 0)
            return keep_text(parser, start, parser->at++, place);
    }
    ptx_scan_fail(parser, place, "this parenthesis has no end: expected ')'");
}
