// SPDX-License-Identifier: Apache-2.0
// Reads TOML in one pass over the text. Syntax errors and lack of memory both leave by longjmp, so
// that no function in between has to test for them.
#include "toml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include "array.h"

struct reading {
    const char *at, *end;
    unsigned line;
    struct base_arena *arena;
    struct base_error *error;
    enum base_code code;
    jmp_buf escape;
};

static _Noreturn void fail(struct reading *reading, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static _Noreturn void fail(struct reading *reading, unsigned line, const char *format, ...)
{
    char text[BASE_ERROR_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    reading->code = base_fail(reading->error, BASE_SYNTAX, "line %u: %s", line, text);
    longjmp(reading->escape, 1);
}

// --- Characters ----------------------------------------------------------------------------------

static int peek(const struct reading *reading)
{
    return reading->at < reading->end ? (unsigned char)*reading->at : -1;
}

static bool follows(const struct reading *reading, const char *text)
{
    const size_t length = strlen(text);
    return (size_t)(reading->end - reading->at) >= length && memcmp(reading->at, text, length) == 0;
}

static bool accept(struct reading *reading, char c)
{
    const bool is = peek(reading) == c;
    reading->at += is;
    return is;
}

static void skip_blanks(struct reading *reading)
{
    while (peek(reading) == ' ' || peek(reading) == '\t')
        reading->at++;
}

static void skip_comment(struct reading *reading)
{
    if (!accept(reading, '#'))
        return;
    for (int c; (c = peek(reading)) != -1 && c != '\n'; reading->at++) {
        if ((c < ' ' && c != '\t' && !follows(reading, "\r\n")) || c == 0x7f)
            fail(reading, reading->line, "a control character in a comment");
    }
}

// Returns true if it skipped a newline.
static bool skip_newline(struct reading *reading)
{
    if (follows(reading, "\r\n"))
        reading->at++;
    if (!accept(reading, '\n'))
        return false;
    reading->line++;
    return true;
}

static void skip_lines(struct reading *reading)
{
    do {
        skip_blanks(reading);
        skip_comment(reading);
    } while (skip_newline(reading));
}

static void end_line(struct reading *reading, const char *behind)
{
    skip_blanks(reading);
    skip_comment(reading);
    if (peek(reading) != -1 && !skip_newline(reading))
        fail(reading, reading->line, "unexpected text after %s", behind);
}

// --- Values --------------------------------------------------------------------------------------

// Writes the character in UTF-8 and returns its end.
static char *put_character(char *out, uint32_t c)
{
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    const unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *out++ = (char)(first[more] | c >> 6 * more);
    for (unsigned i = more; i-- > 0;)
        *out++ = (char)(0x80 | (c >> 6 * i & 0x3f));
    return out;
}

static uint32_t read_hex(struct reading *reading, unsigned digits)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < digits; i++, reading->at++) {
        const int c = peek(reading);
        const int lower = c | 0x20;
        if (c >= '0' && c <= '9')
            value = value << 4 | (uint32_t)(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = value << 4 | (uint32_t)(lower - 'a' + 10);
        else
            fail(reading, reading->line, "\\u needs 4 hexadecimal digits, \\U needs 8");
    }
    if (value == 0 || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        fail(reading, reading->line, "\\u%x is not a character", value);
    return value;
}

static char *read_escape(struct reading *reading, char *out)
{
    static const char letters[] = "btnfr\"\\", meanings[] = "\b\t\n\f\r\"\\";
    const int c = peek(reading);
    const char *letter = c > 0 ? strchr(letters, c) : NULL;
    if (c != -1)
        reading->at++;
    if (letter)
        return put_character(out, (uint32_t)meanings[letter - letters]);
    if (c != 'u' && c != 'U')
        fail(reading, reading->line, "unknown escape in a string: write \\\\ for a backslash");
    return put_character(out, read_hex(reading, c == 'u' ? 4 : 8));
}

static const char *read_string(struct reading *reading)
{
    const char quote = *reading->at;
    if (follows(reading, "\"\"\"") || follows(reading, "'''"))
        fail(reading, reading->line, "strings of several lines are not supported");
    reading->at++;
    // An escape is never shorter than the character it represents.
    const char *newline = memchr(reading->at, '\n', (size_t)(reading->end - reading->at));
    const size_t most = (size_t)((newline ? newline : reading->end) - reading->at);
    char *text = base_alloc(reading->arena, most + 1), *out = text;
    while (!accept(reading, quote)) {
        const int c = peek(reading);
        if (c == -1 || c == '\n' || c == '\r')
            fail(reading, reading->line, "the string has no closing %c on its line", quote);
        if ((c < ' ' && c != '\t') || c == 0x7f)
            fail(reading, reading->line, "a control character in a string");
        reading->at++;
        if (c == '\\' && quote == '"')
            out = read_escape(reading, out);
        else
            *out++ = (char)c;
    }
    return text;
}

static int64_t read_integer(struct reading *reading)
{
    const bool negative = accept(reading, '-');
    int64_t value = 0;
    bool any = false, leading_zero = peek(reading) == '0';
    if (!negative)
        accept(reading, '+');
    for (int c; (c = peek(reading)) >= '0' && c <= '9'; reading->at++, any = true) {
        if (leading_zero && any)
            fail(reading, reading->line, "numbers must not begin with 0");
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -(c - '0') : c - '0', &value))
            fail(reading, reading->line, "the number is too large");
    }
    const int c = peek(reading);
    if (!any)
        fail(reading, reading->line, "expected a value; text must be in quotes");
    if (c == '.' || c == 'e' || c == 'E')
        fail(reading, reading->line, "floating-point numbers are not supported");
    if (c == '-' || c == ':' || c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))
        fail(reading, reading->line, "only decimal integers are supported; text must be in quotes");
    return value;
}

static void read_array(struct reading *reading, struct base_toml_value *value)
{
    BASE_ARRAY(const char *) strings = {0};
    BASE_ARRAY(unsigned) lines = {0};
    const unsigned first = reading->line;
    reading->at++;
    for (;;) {
        skip_lines(reading);
        if (accept(reading, ']'))
            break;
        if (peek(reading) == -1)
            fail(reading, first, "the array has no closing ]");
        if (peek(reading) != '"' && peek(reading) != '\'')
            fail(reading, reading->line, "arrays may contain only strings in quotes");
        *base_array_add(&lines, reading->arena) = reading->line;
        *base_array_add(&strings, reading->arena) = read_string(reading);
        skip_lines(reading);
        if (!accept(reading, ',') && peek(reading) != ']')
            fail(reading, reading->line, "expected a comma or ] in the array");
    }
    *value = (struct base_toml_value){.kind = BASE_TOML_STRINGS,
                                      .strings = strings.items,
                                      .lines = lines.items,
                                      .string_count = strings.count};
}

static void read_value(struct reading *reading, struct base_toml_value *value)
{
    const int c = peek(reading);
    const bool is_true = follows(reading, "true");
    if (c == '"' || c == '\'') {
        *value = (struct base_toml_value){.kind = BASE_TOML_STRING};
        value->string = read_string(reading);
    } else if (c == '[') {
        read_array(reading, value);
    } else if (is_true || follows(reading, "false")) {
        *value = (struct base_toml_value){.kind = BASE_TOML_BOOLEAN, .boolean = is_true};
        reading->at += is_true ? 4 : 5;
    } else if (c == '{') {
        fail(reading, reading->line, "inline tables are not supported");
    } else {
        *value = (struct base_toml_value){.kind = BASE_TOML_INTEGER};
        value->integer = read_integer(reading);
    }
}

// --- Keys and tables -----------------------------------------------------------------------------

static const char *read_key(struct reading *reading)
{
    const char *start = reading->at;
    for (int c; (c = peek(reading)) == '-' || c == '_' || (c >= '0' && c <= '9') ||
                (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');)
        reading->at++;
    const size_t length = (size_t)(reading->at - start);
    const int c = peek(reading);
    if (c == '.')
        fail(reading, reading->line, "dotted keys are not supported");
    if (length == 0 && (c == '"' || c == '\''))
        fail(reading, reading->line, "keys in quotes are not supported");
    if (length == 0)
        fail(reading, reading->line, "expected a key");
    return base_alloc_text(reading->arena, start, length);
}

static void read_entry(struct reading *reading, struct base_toml_table *table)
{
    struct base_toml_entry *entry = base_new(reading->arena, struct base_toml_entry);
    struct base_toml_entry **last = &table->entries;
    entry->line = reading->line;
    entry->key = read_key(reading);
    for (; *last; last = &(*last)->next) {
        if (strcmp((*last)->key, entry->key) == 0)
            fail(reading, entry->line, "'%.60s' is already defined in line %u", entry->key,
                 (*last)->line);
    }
    skip_blanks(reading);
    if (!accept(reading, '='))
        fail(reading, reading->line, "expected = after '%.60s'", entry->key);
    skip_blanks(reading);
    read_value(reading, &entry->value);
    end_line(reading, "the value");
    *last = entry;
}

static struct base_toml_table *read_header(struct reading *reading, struct base_toml_table *tables)
{
    struct base_toml_table *table = base_new(reading->arena, struct base_toml_table);
    table->line = reading->line;
    reading->at++;
    table->in_array = accept(reading, '[');
    skip_blanks(reading);
    table->name = read_key(reading);
    skip_blanks(reading);
    if (!accept(reading, ']') || (table->in_array && !accept(reading, ']')))
        fail(reading, reading->line, "expected %s after '%.60s'", table->in_array ? "]]" : "]",
             table->name);
    end_line(reading, "the table's name");
    struct base_toml_table **last = &tables->next; // the first has no name
    for (; *last; last = &(*last)->next) {
        if (strcmp((*last)->name, table->name) == 0 && !((*last)->in_array && table->in_array))
            fail(reading, table->line, "the table '%.60s' is already defined in line %u",
                 table->name, (*last)->line);
    }
    for (const struct base_toml_entry *entry = tables->entries; entry; entry = entry->next) {
        if (strcmp(entry->key, table->name) == 0)
            fail(reading, table->line, "'%.60s' is already defined in line %u", table->name,
                 entry->line);
    }
    *last = table;
    return table;
}

static struct base_toml_table *read_all(struct reading *reading)
{
    struct base_toml_table *tables = base_new(reading->arena, struct base_toml_table);
    struct base_toml_table *current = tables;
    tables->name = "";
    tables->line = 1;
    if (follows(reading, "\xef\xbb\xbf")) // the byte order mark that some editors write
        reading->at += 3;
    for (skip_lines(reading); peek(reading) != -1; skip_lines(reading)) {
        if (peek(reading) == '[')
            current = read_header(reading, tables);
        else
            read_entry(reading, current);
    }
    return tables;
}

enum base_code base_toml_read(struct base_str text, struct base_arena *arena,
                              struct base_toml_table **tables, struct base_error *error)
{
    struct reading reading = {.at = text.length ? text.text : "",
                              .line = 1,
                              .arena = arena,
                              .error = error,
                              .code = BASE_NO_MEMORY};
    jmp_buf *before = arena->escape;
    reading.end = reading.at + text.length;
    arena->escape = &reading.escape;
    if (setjmp(reading.escape) == 0) {
        *tables = read_all(&reading);
        reading.code = BASE_OK;
    } else if (reading.code == BASE_NO_MEMORY) {
        base_no_memory(error);
    }
    arena->escape = before;
    return reading.code;
}

const char *base_toml_kind_words(enum base_toml_kind kind)
{
    static const char *const words[] = {"a string", "a number", "true or false",
                                        "an array of strings"};
    return words[kind];
}
