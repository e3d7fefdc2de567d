// SPDX-License-Identifier: Apache-2.0
// A streaming JSON writer: the caller says what comes next, the writer puts in commas, quotes and
// indentation and hands the text on in pieces, so that a document of any size needs some
// kilobytes.
//     struct base_json json;
//     base_json_init_buf(&json, &buf, 0);
//     base_json_begin_object(&json);
//     base_json_key(&json, "bytes");
//     base_json_u64(&json, 4096);
//     base_json_end_object(&json);
//     bool good = base_json_finish(&json);
// It writes one document of valid UTF-8, and reads nothing. Single-threaded.
#ifndef GLINT_BASE_JSON_H
#define GLINT_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "str.h"

enum { BASE_JSON_DEPTH = 128, BASE_JSON_BUFFER_BYTES = 16384 };

// Takes a piece of text; false where that failed. The bytes are only lent.
typedef bool base_json_write(void *user, const char *bytes, size_t length);

// Fields are private, but for `failed`.
struct base_json {
    base_json_write *write;
    void *user;
    unsigned indent;
    unsigned depth;                           // open objects and arrays
    uint64_t is_object[BASE_JSON_DEPTH / 64]; // a bit a level: an object, else an array
    bool has_items;                           // something was written in the innermost one
    bool after_key;                           // a key awaits its value
    bool done;                                // the document's one value is complete
    bool failed;                              // the sink refused, or the calls made no sense
    size_t used_bytes;                        // of the buffer
    char buffer[BASE_JSON_BUFFER_BYTES];
};

// Begins a document. indent is the number of spaces a level, at most 16; 0 writes all in one line.
// Nothing is to be freed: a writer may be abandoned at any point.
void base_json_init(struct base_json *json, base_json_write *write, void *user, unsigned indent);

// The same, adding to the end of buf.
void base_json_init_buf(struct base_json *json, struct base_buf *buf, unsigned indent);

// Hands on what is still held back. True where the document is complete and all of it was taken.
// Adds no newline at the end.
bool base_json_finish(struct base_json *json);

// Calls that could only make an invalid document (a value without its key in an object, a key in an
// array, an end that does not match, a second document, a finish in the middle), and more than
// BASE_JSON_DEPTH levels, are mistakes of the caller: they trip an assert, and where asserts are
// off they set `failed`. Once failed, nothing more is written.
void base_json_begin_object(struct base_json *json);
void base_json_end_object(struct base_json *json);
void base_json_begin_array(struct base_json *json);
void base_json_end_array(struct base_json *json);

// Names the next value. That keys of one object differ is the caller's care.
void base_json_key(struct base_json *json, const char *key);
void base_json_key_str(struct base_json *json, struct base_str key);
// The same, and cheap: BASE_JSON_NAME("bytes") is a key that is a literal without anything to
// escape.
void base_json_name(struct base_json *json, struct base_str name);
#define BASE_JSON_NAME(literal) ((struct base_str){"\"" literal "\":", sizeof(literal) - 1 + 3})

// Text of any bytes: what is not UTF-8 becomes U+FFFD, one for each maximal part of a character. A
// NULL text is written as null.
void base_json_string(struct base_json *json, const char *text);
void base_json_str(struct base_json *json, struct base_str text);

// A value that is JSON already, such as one that was written to a buffer to be used again.
void base_json_raw(struct base_json *json, struct base_str text);

// Integers are written with all their digits, also beyond 2^53.
void base_json_u64(struct base_json *json, uint64_t value);
void base_json_i64(struct base_json *json, int64_t value);

// Few digits, but enough to read the same number back; always with a point or an exponent, in every
// locale with a point. JSON has no infinities and no NaN: they become null.
void base_json_double(struct base_json *json, double value);

void base_json_bool(struct base_json *json, bool value);
void base_json_null(struct base_json *json);

#endif
