// SPDX-License-Identifier: Apache-2.0
// Errors: a code for programs and a chain of causes for people. The place that fails says what went
// wrong; each caller on the way up may add what it was doing. Only the command line prints. An
// error holds its text inline, so reporting one never needs memory.
#ifndef GLINT_BASE_ERROR_H
#define GLINT_BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>

enum base_code {
    BASE_OK = 0,
    BASE_NO_MEMORY,   // memory ran out
    BASE_IO,          // the system refused: errno's text is in the message
    BASE_SYNTAX,      // input that cannot be read; the message has file:line:column
    BASE_UNSUPPORTED, // valid, but not something glint handles
    BASE_INVALID,     // the caller or the user asked for something impossible
    BASE_NOT_FOUND,   // what was asked for is not there
    BASE_CORRUPT,     // a file or structure contradicts itself
    BASE_CONFLICT,    // what was asked for contradicts what is already there
};

enum { BASE_ERROR_CAUSES = 4, BASE_ERROR_TEXT = 240 };

// Begins as {0}.
struct base_error {
    enum base_code code;
    unsigned causes;                               // how many texts are filled
    char text[BASE_ERROR_CAUSES][BASE_ERROR_TEXT]; // [0] is the root cause
};

// A word for the code, for logs and JSON: "no-memory", "syntax", ...
const char *base_code_name(enum base_code code);

// Sets the root cause, replacing what was there, and returns code. error may be NULL; arguments may
// be texts of the error itself.
enum base_code base_fail(struct base_error *error, enum base_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Adds what the caller was doing; beyond the last place the newest is replaced. Returns the code
// that the error holds already, or BASE_INVALID where it holds none or error is NULL: never
// BASE_OK. So where error may be NULL, return the code that the failing call gave and not this one.
enum base_code base_fail_while(struct base_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Sets the root cause to "out of memory" and returns BASE_NO_MEMORY. The second form appends what
// the caller was doing: base_no_memory_while(error, "reading %s", name) gives "out of memory
// reading a.ptx". error may be NULL.
enum base_code base_no_memory(struct base_error *error);
enum base_code base_no_memory_while(struct base_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// The whole chain as one line, outermost first: "reading a.ptx: a.ptx:3:7: expected ';'". Returns
// the length that the text has without truncation; out may be NULL where out_bytes is 0.
size_t base_error_text(const struct base_error *error, char *out, size_t out_bytes);

#define BASE_RETURN_IF(condition, error, code, ...)         \
    do {                                                    \
        if (condition)                                      \
            return base_fail((error), (code), __VA_ARGS__); \
    } while (0)

// Returns from the calling function with "out of memory" if the condition holds.
#define BASE_RETURN_IF_NO_MEMORY(condition, error) \
    do {                                           \
        if (condition)                             \
            return base_no_memory(error);          \
    } while (0)

#endif
