// SPDX-License-Identifier: Apache-2.0
// The text builder. Numbers have their own functions, because printing large modules spends most of
// its time there.
#include "str.h"

#include <stdio.h>
#include <stdlib.h>

void base_buf_fini(struct base_buf *buf)
{
    free(buf->text);
    memset(buf, 0, sizeof(*buf));
}

void base_buf_reserve(struct base_buf *buf, size_t more_bytes)
{
    size_t needed;
    if (buf->failed || __builtin_add_overflow(buf->length, more_bytes, &needed) ||
        __builtin_add_overflow(needed, 1, &needed)) {
        buf->failed = true;
        return;
    }
    if (needed <= buf->capacity)
        return;
    size_t capacity = buf->capacity ? buf->capacity : 64;
    while (capacity < needed)
        capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
    char *larger = realloc(buf->text, capacity);
    if (!larger) {
        buf->failed = true;
        return;
    }
    buf->text = larger;
    buf->capacity = capacity;
    buf->text[buf->length] = '\0';
}

void base_buf_add(struct base_buf *buf, const char *text, size_t length)
{
    base_buf_reserve(buf, length);
    if (buf->failed || length == 0)
        return;
    memcpy(buf->text + buf->length, text, length);
    buf->length += length;
    buf->text[buf->length] = '\0';
}

void base_buf_puts(struct base_buf *buf, const char *text)
{
    base_buf_add(buf, text, strlen(text));
}

void base_buf_putc(struct base_buf *buf, char c)
{
    base_buf_add(buf, &c, 1);
}

void base_buf_u64(struct base_buf *buf, uint64_t value)
{
    char digits[20];
    size_t start = sizeof(digits);
    do {
        digits[--start] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    base_buf_add(buf, digits + start, sizeof(digits) - start);
}

void base_buf_i64(struct base_buf *buf, int64_t value)
{
    if (value < 0)
        base_buf_putc(buf, '-');
    base_buf_u64(buf, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void base_buf_hex(struct base_buf *buf, uint64_t value, unsigned digits)
{
    static const char figures[] = "0123456789ABCDEF";
    char text[16];
    unsigned wanted = digits ? (digits > 16 ? 16 : digits) : 1;
    unsigned used = 0;
    while (used < wanted || (value && used < 16)) {
        text[15 - used++] = figures[value & 15];
        value >>= 4;
    }
    base_buf_add(buf, text + 16 - used, used);
}

void base_buf_printf(struct base_buf *buf, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char small[256];
    int length = vsnprintf(small, sizeof(small), format, arguments);
    va_end(arguments);
    if (length < 0) {
        buf->failed = true;
        return;
    }
    if ((size_t)length < sizeof(small)) {
        base_buf_add(buf, small, (size_t)length);
        return;
    }
    base_buf_reserve(buf, (size_t)length);
    if (buf->failed)
        return;
    va_start(arguments, format);
    vsnprintf(buf->text + buf->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    buf->length += (size_t)length;
}

void base_buf_pad(struct base_buf *buf, size_t column)
{
    size_t width = 0;
    while (width < buf->length && buf->text[buf->length - width - 1] != '\n')
        width++;
    while (width++ < column)
        base_buf_putc(buf, ' ');
}
