// SPDX-License-Identifier: Apache-2.0
// Text: a view (pointer and length, not owned) and a builder (owned, growing).
#ifndef GLINT_BASE_STR_H
#define GLINT_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// A view of bytes that it does not own; not NUL-terminated. text may be NULL if length is 0.
struct base_str {
    const char *text;
    size_t length;
};

static inline struct base_str base_str(const char *text)
{
    return (struct base_str){text, strlen(text)};
}

static inline bool base_str_is(struct base_str view, const char *text)
{
    size_t length = strlen(text);
    return view.length == length && (length == 0 || memcmp(view.text, text, length) == 0);
}

static inline bool base_str_equal(struct base_str a, struct base_str b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.text, b.text, a.length) == 0);
}

// For printf's "%.*s".
#define BASE_STR_ARG(view) (int)(view).length, (view).text

// A builder; initialize it with {0}. If memory runs out it ignores further text and sets `failed`,
// so one check at the end is enough. The text is NUL-terminated unless it is NULL. Text to add must
// not be part of the builder's text, because that moves.
struct base_buf {
    char *text;
    size_t length;
    size_t capacity;
    bool failed;
};

void base_buf_fini(struct base_buf *buf);

// Empties the builder and keeps its memory.
static inline void base_buf_clear(struct base_buf *buf)
{
    buf->length = 0;
    if (buf->text)
        buf->text[0] = '\0';
}

// Allocates, so that adding more_bytes will not.
void base_buf_reserve(struct base_buf *buf, size_t more_bytes);
void base_buf_add(struct base_buf *buf, const char *text, size_t length);
void base_buf_puts(struct base_buf *buf, const char *text);
void base_buf_putc(struct base_buf *buf, char c);
void base_buf_u64(struct base_buf *buf, uint64_t value);
void base_buf_i64(struct base_buf *buf, int64_t value);

// Adds upper-case hexadecimal digits without a prefix, at least `digits` of them (at most 16).
void base_buf_hex(struct base_buf *buf, uint64_t value, unsigned digits);
void base_buf_printf(struct base_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Adds spaces until the last line has at least `column` characters.
void base_buf_pad(struct base_buf *buf, size_t column);

// Returns the candidate that differs from a mistyped word in the fewest letters. If all differ in
// too many, returns one that begins with the word, or NULL.
const char *base_nearest(const char *word, const char *const *candidates, size_t count);

#endif
