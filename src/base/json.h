// SPDX-License-Identifier: Apache-2.0
// A streaming JSON writer. The caller says what comes next; the writer adds commas, quotes and
// indentation and passes the text on in pieces, so that a document of any size needs only a few
// kilobytes.
//     struct base_json json;
//     base_json_init_buf(&json, &buf, 0);
//     base_json_begin_object(&json);
//     base_json_key(&json, "bytes");
//     base_json_u64(&json, 4096);
//     base_json_end_object(&json);
//     bool good = base_json_finish(&json);
// It writes one document of valid UTF-8 and cannot read JSON. Used by one thread.
#ifndef GLINT_BASE_JSON_H
#define GLINT_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "str.h"

enum { BASE_JSON_DEPTH = 128, BASE_JSON_BUFFER_BYTES = 16384 };

// Receives a piece of text, which is valid only during the call. Returns false on failure.
typedef bool base_json_write(void *user, const char *bytes, size_t length);

// All fields but `failed` are private.
struct base_json {
    base_json_write *write;
    void *user;
    unsigned indent;
    unsigned depth;                           // open objects and arrays
    uint64_t is_object[BASE_JSON_DEPTH / 64]; // one bit per level: an object, not an array
    bool has_items;                           // the innermost one is not empty
    bool after_key;                           // a key was written, but not its value
    bool done;                                // the document is complete
    bool failed;                              // the sink failed, or the calls were out of order
    size_t used_bytes;                        // of the buffer
    char buffer[BASE_JSON_BUFFER_BYTES];
};

// Begins a document. indent is the number of spaces per level, at most 16; 0 writes a single line.
// There is nothing to free: a writer may be abandoned at any point.
void base_json_init(struct base_json *json, base_json_write *write, void *user, unsigned indent);

// The same, appending to buf.
void base_json_init_buf(struct base_json *json, struct base_buf *buf, unsigned indent);

// Passes on the text that is still buffered. Returns true if the document is complete and the sink
// took all of it. Adds no newline at the end.
bool base_json_finish(struct base_json *json);

// Calls that would make an invalid document are errors of the caller: a value without a key in an
// object, a key in an array, an end that does not match, a second document, a finish in the middle,
// more than BASE_JSON_DEPTH levels. They trip an assertion, or set `failed` if assertions are off.
// After a failure the writer writes nothing more.
void base_json_begin_object(struct base_json *json);
void base_json_end_object(struct base_json *json);
void base_json_begin_array(struct base_json *json);
void base_json_end_array(struct base_json *json);

// Names the next value. The caller ensures that the keys of an object differ.
void base_json_key(struct base_json *json, const char *key);
void base_json_key_str(struct base_json *json, struct base_str key);
// A faster form for keys that are literals without characters to escape: BASE_JSON_NAME("bytes").
void base_json_name(struct base_json *json, struct base_str name);
#define BASE_JSON_NAME(literal) ((struct base_str){"\"" literal "\":", sizeof(literal) - 1 + 3})

// Write text. Invalid UTF-8 becomes U+FFFD, one for each maximal subpart of a character. NULL
// becomes null.
void base_json_string(struct base_json *json, const char *text);
void base_json_str(struct base_json *json, struct base_str text);

// Writes a value that is already JSON, for instance one that another writer wrote to a buffer.
void base_json_raw(struct base_json *json, struct base_str text);

// Write integers with all their digits, also beyond 2^53.
void base_json_u64(struct base_json *json, uint64_t value);
void base_json_i64(struct base_json *json, int64_t value);

// Writes a number with few digits, but enough to read the same number back. It always has a decimal
// point or an exponent, whatever the locale. Infinities and NaN, which JSON lacks, become null.
void base_json_double(struct base_json *json, double value);

void base_json_bool(struct base_json *json, bool value);
void base_json_null(struct base_json *json);

#endif
