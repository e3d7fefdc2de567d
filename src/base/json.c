// SPDX-License-Identifier: Apache-2.0
// The streaming JSON writer. It buffers text, because calling the sink for every comma would cost
// more than the formatting.
#include "json.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "utf8.h"

_Static_assert(BASE_JSON_DEPTH % 64 == 0, "levels fill whole words");

static bool write_to_buf(void *user, const char *bytes, size_t length)
{
    struct base_buf *buf = user;
    base_buf_add(buf, bytes, length);
    return !buf->failed;
}

void base_json_init(struct base_json *json, base_json_write *write, void *user, unsigned indent)
{
    json->write = write;
    json->user = user;
    json->indent = indent < 16 ? indent : 16;
    json->depth = 0;
    memset(json->is_object, 0, sizeof(json->is_object));
    json->has_items = json->after_key = json->done = json->failed = false;
    json->used_bytes = 0;
}

void base_json_init_buf(struct base_json *json, struct base_buf *buf, unsigned indent)
{
    base_json_init(json, write_to_buf, buf, indent);
}

// --- Text on its way to the sink -----------------------------------------------------------------

static void flush(struct base_json *json)
{
    if (!json->failed && json->used_bytes &&
        !json->write(json->user, json->buffer, json->used_bytes))
        json->failed = true;
    json->used_bytes = 0;
}

// Adds bytes for which the buffer has no room.
static void put_far(struct base_json *json, const char *bytes, size_t length)
{
    flush(json);
    if (json->failed)
        return;
    if (length > sizeof(json->buffer)) {
        json->failed = !json->write(json->user, bytes, length);
        return;
    }
    memcpy(json->buffer, bytes, length);
    json->used_bytes = length;
}

enum { SHORT = 32 };

// Keys and numbers are short: two overlapping copies of fixed size cost less than memcpy.
static inline void copy_short(char *to, const char *from, size_t length)
{
#define COPY_BY(bytes)                                                   \
    if (length >= (bytes)) {                                             \
        memcpy(to, from, (bytes));                                       \
        memcpy(to + length - (bytes), from + length - (bytes), (bytes)); \
        return;                                                          \
    }
    COPY_BY(16)
    COPY_BY(8)
    COPY_BY(4)
#undef COPY_BY
    for (size_t i = 0; i < length; i++)
        to[i] = from[i];
}

static inline bool has_room(const struct base_json *json, size_t length)
{
    return length <= sizeof(json->buffer) - json->used_bytes;
}

// At most SHORT bytes.
static inline void put_short(struct base_json *json, const char *bytes, size_t length)
{
    if (!has_room(json, length))
        flush(json);
    copy_short(json->buffer + json->used_bytes, bytes, length);
    json->used_bytes += length;
}

static void put(struct base_json *json, const char *bytes, size_t length)
{
    if (length <= SHORT) {
        put_short(json, bytes, length);
    } else if (has_room(json, length)) {
        memcpy(json->buffer + json->used_bytes, bytes, length);
        json->used_bytes += length;
    } else {
        put_far(json, bytes, length);
    }
}

static inline void put_char(struct base_json *json, char c)
{
    if (json->used_bytes == sizeof(json->buffer))
        flush(json);
    json->buffer[json->used_bytes++] = c;
}

static void put_new_line(struct base_json *json)
{
    put_char(json, '\n');
    for (unsigned i = 0; i < json->depth * json->indent; i++)
        put_char(json, ' ');
}

static inline void put_line(struct base_json *json)
{
    if (json->indent)
        put_new_line(json);
}

// --- Structure -----------------------------------------------------------------------------------

static inline bool sound(struct base_json *json, bool condition)
{
    assert(condition && "these JSON calls make no valid document");
    if (!condition)
        json->failed = true;
    return condition;
}

static inline bool in_object(const struct base_json *json)
{
    return json->depth && json->is_object[(json->depth - 1) / 64] >> ((json->depth - 1) % 64) & 1;
}

static inline void separate(struct base_json *json)
{
    if (json->has_items)
        put_char(json, ',');
    json->has_items = true;
    put_line(json);
}

// Called before every value. Returns false if it must not be written, as in an object without a
// key.
static inline bool begin_value(struct base_json *json)
{
    if (json->failed)
        return false;
    if (json->after_key) {
        json->after_key = false;
        return true;
    }
    if (!json->depth)
        return sound(json, !json->done);
    if (!sound(json, !in_object(json)))
        return false;
    separate(json);
    return true;
}

static inline void end_value(struct base_json *json)
{
    json->done = json->depth == 0;
}

static void begin(struct base_json *json, char bracket, bool object)
{
    if (!begin_value(json) || !sound(json, json->depth < BASE_JSON_DEPTH))
        return;
    put_char(json, bracket);
    uint64_t bit = (uint64_t)1 << (json->depth % 64);
    if (object)
        json->is_object[json->depth / 64] |= bit;
    else
        json->is_object[json->depth / 64] &= ~bit;
    json->depth++;
    json->has_items = false;
}

static void end(struct base_json *json, char bracket, bool object)
{
    if (json->failed || !sound(json, json->depth && in_object(json) == object && !json->after_key))
        return;
    json->depth--;
    if (json->has_items)
        put_line(json);
    put_char(json, bracket);
    json->has_items = true;
    end_value(json);
}

void base_json_begin_object(struct base_json *json)
{
    begin(json, '{', true);
}

void base_json_end_object(struct base_json *json)
{
    end(json, '}', true);
}

void base_json_begin_array(struct base_json *json)
{
    begin(json, '[', false);
}

void base_json_end_array(struct base_json *json)
{
    end(json, ']', false);
}

bool base_json_finish(struct base_json *json)
{
    if (!json->failed)
        sound(json, json->done);
    flush(json);
    return !json->failed;
}

// --- Text ----------------------------------------------------------------------------------------

static void put_escape(struct base_json *json, uint32_t c)
{
    static const char figures[] = "0123456789abcdef";
    static const char letters[32] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    if (c == '"' || c == '\\') {
        put(json, (char[]){'\\', (char)c}, 2);
    } else if (c < sizeof(letters) && letters[c]) {
        put(json, (char[]){'\\', letters[c]}, 2);
    } else {
        put(json,
            (char[]){'\\', 'u', figures[c >> 12 & 15], figures[c >> 8 & 15], figures[c >> 4 & 15],
                     figures[c & 15]},
            6);
    }
}

// Single-byte characters that need no escape.
static const bool is_plain[256] = {
    [' '] = 1,
    ['!'] = 1,
    ['#' ... '['] = 1,
    [']' ... '~'] = 1,
};

static void put_quoted(struct base_json *json, struct base_str text)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    const unsigned char *bytes = (const unsigned char *)text.text;
    size_t written = 0; // bytes of text; those from here to `next` are written unchanged
    size_t next = 0;
    put_char(json, '"');
    while (next < text.length) {
        bool valid;
        uint32_t point = 0;
        if (is_plain[bytes[next]]) {
            next++;
            continue;
        }
        size_t length = base_utf8_length(bytes + next, text.length - next, &valid);
        if (valid && !base_utf8_controls(bytes + next, length, &point) && bytes[next] != '"' &&
            bytes[next] != '\\') {
            next += length;
            continue;
        }
        if (next > written)
            put(json, text.text + written, next - written);
        if (valid)
            put_escape(json, point);
        else
            put(json, replacement, sizeof(replacement) - 1);
        next += length;
        written = next;
    }
    if (next > written)
        put(json, text.text + written, next - written);
    put_char(json, '"');
}

void base_json_name(struct base_json *json, struct base_str name)
{
    if (json->failed || !sound(json, in_object(json) && !json->after_key))
        return;
    json->after_key = true;
    if (json->indent || name.length > SHORT || !has_room(json, SHORT + 1)) {
        separate(json);
        put(json, name.text, name.length);
        if (json->indent)
            put_char(json, ' ');
        return;
    }
    char *to = json->buffer + json->used_bytes;
    *to = ',';
    to += json->has_items;
    copy_short(to, name.text, name.length);
    json->has_items = true;
    json->used_bytes = (size_t)(to - json->buffer) + name.length;
}

void base_json_key_str(struct base_json *json, struct base_str key)
{
    if (json->failed || !sound(json, in_object(json) && !json->after_key))
        return;
    separate(json);
    put_quoted(json, key);
    put_char(json, ':');
    if (json->indent)
        put_char(json, ' ');
    json->after_key = true;
}

void base_json_key(struct base_json *json, const char *key)
{
    base_json_key_str(json, base_str(key));
}

void base_json_str(struct base_json *json, struct base_str text)
{
    if (!text.text) {
        base_json_null(json);
        return;
    }
    if (!begin_value(json))
        return;
    put_quoted(json, text);
    end_value(json);
}

void base_json_raw(struct base_json *json, struct base_str text)
{
    if (!begin_value(json))
        return;
    put(json, text.text, text.length);
    end_value(json);
}

void base_json_string(struct base_json *json, const char *text)
{
    base_json_str(json, text ? base_str(text) : (struct base_str){0});
}

// --- Numbers and the rest ------------------------------------------------------------------------

static inline void put_literal(struct base_json *json, const char *text, size_t length)
{
    if (!begin_value(json))
        return;
    put_short(json, text, length);
    end_value(json);
}

static unsigned count_digits(uint64_t value)
{
    static const uint64_t powers[] = {0,
                                      10,
                                      100,
                                      1000,
                                      10000,
                                      100000,
                                      1000000,
                                      10000000,
                                      100000000,
                                      1000000000,
                                      10000000000,
                                      100000000000,
                                      1000000000000,
                                      10000000000000,
                                      100000000000000,
                                      1000000000000000,
                                      10000000000000000,
                                      100000000000000000,
                                      1000000000000000000,
                                      10000000000000000000u};
    // 1233 / 4096 is a little more than the logarithm of 2.
    unsigned guess = (64 - (unsigned)__builtin_clzll(value | 1)) * 1233 >> 12;
    return guess + (value >= powers[guess]);
}

static void put_integer(struct base_json *json, bool negative, uint64_t magnitude)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    unsigned digits = count_digits(magnitude);
    if (!begin_value(json))
        return;
    if (!has_room(json, SHORT))
        flush(json);
    if (negative)
        put_char(json, '-');
    char *at = json->buffer + json->used_bytes + digits;
    for (; magnitude >= 100; magnitude /= 100)
        memcpy(at -= 2, pairs + magnitude % 100 * 2, 2);
    if (magnitude >= 10)
        memcpy(at - 2, pairs + magnitude * 2, 2);
    else
        at[-1] = (char)('0' + magnitude);
    json->used_bytes += digits;
    end_value(json);
}

void base_json_u64(struct base_json *json, uint64_t value)
{
    put_integer(json, false, value);
}

void base_json_i64(struct base_json *json, int64_t value)
{
    put_integer(json, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

struct decimal {
    char digits[20];
    int count;    // at least 1; the last digit is not 0 unless it is the only one
    int exponent; // of the first digit
};

// Finds the shortest decimal that printf's rounding yields and that reads back as `value`, which is
// finite and not negative. (At a power of two a shorter one may exist on the farther side. An
// algorithm that saves one digit in rare numbers was not worth it.)
static struct decimal shortest(double value)
{
    // 15 digits survive the conversion to double and back, so fewer need not be tried. Below
    // DBL_MIN precision is lower, so they are.
    int precision = value < DBL_MIN ? 1 : DBL_DIG;
    char text[48];
    for (;; precision++) {
        snprintf(text, sizeof(text), "%.*e", precision - 1, value);
        if (precision >= DBL_DECIMAL_DIG || strtod(text, NULL) == value)
            break;
    }
    // Only digits are copied, because the decimal point depends on the locale.
    struct decimal decimal = {.count = 0};
    const char *next = text;
    for (; *next != 'e'; next++) {
        if (*next >= '0' && *next <= '9')
            decimal.digits[decimal.count++] = *next;
    }
    while (decimal.count > 1 && decimal.digits[decimal.count - 1] == '0')
        decimal.count--;
    decimal.exponent = (int)strtol(next + 1, NULL, 10);
    return decimal;
}

void base_json_double(struct base_json *json, double value)
{
    if (!isfinite(value)) {
        base_json_null(json);
        return;
    }
    struct decimal decimal = shortest(fabs(value));
    int exponent = decimal.exponent;
    bool scientific = exponent < -5 || exponent > 15;
    int whole = scientific ? 1 : exponent + 1; // digits before the point
    char text[SHORT];
    int length = 0;
    if (signbit(value))
        text[length++] = '-';
    if (whole <= 0)
        text[length++] = '0';
    for (int i = 0; i < whole; i++)
        text[length++] = i < decimal.count ? decimal.digits[i] : '0';
    if (!scientific || decimal.count > 1)
        text[length++] = '.';
    for (int i = whole; i < 0; i++)
        text[length++] = '0';
    for (int i = whole > 0 ? whole : 0; i < decimal.count; i++)
        text[length++] = decimal.digits[i];
    if (!scientific && whole >= decimal.count)
        text[length++] = '0';
    if (scientific)
        length += snprintf(text + length, sizeof(text) - (size_t)length, "e%d", exponent);
    put_literal(json, text, (size_t)length);
}

void base_json_bool(struct base_json *json, bool value)
{
    put_literal(json, value ? "true" : "false", value ? 4 : 5);
}

void base_json_null(struct base_json *json)
{
    put_literal(json, "null", 4);
}
