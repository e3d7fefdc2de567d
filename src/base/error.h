// SPDX-License-Identifier: Apache-2.0
// Errors: a code for programs and a chain of causes for people. The function that fails sets the
// root cause; each caller on the way up may add what it was doing. Only the command line prints
// errors. An error holds its texts inline, so reporting one never allocates.
#ifndef GLINT_BASE_ERROR_H
#define GLINT_BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>

enum base_code {
    BASE_OK = 0,
    BASE_NO_MEMORY,   // memory ran out
    BASE_IO,          // a system call failed; the message has errno's text
    BASE_SYNTAX,      // the input cannot be parsed; the message has file:line:column
    BASE_UNSUPPORTED, // the input is valid, but glint does not support it
    BASE_INVALID,     // the caller or the user asked for something impossible
    BASE_NOT_FOUND,   // the requested item does not exist
    BASE_CORRUPT,     // a file or structure contradicts itself
    BASE_CONFLICT,    // the request contradicts what already exists
};

enum { BASE_ERROR_CAUSES = 4, BASE_ERROR_TEXT = 240 };

// Initialize with {0}.
struct base_error {
    enum base_code code;
    unsigned causes;                               // number of texts in use
    char text[BASE_ERROR_CAUSES][BASE_ERROR_TEXT]; // [0] is the root cause
};

// Returns a word for the code, for logs and JSON: "no-memory", "syntax", ...
const char *base_code_name(enum base_code code);

// Sets the root cause, discards the causes that were there, and returns `code`. error may be NULL.
// Arguments may be texts of the error itself.
enum base_code base_fail(struct base_error *error, enum base_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Adds what the caller was doing; if all places are in use, it replaces the newest. Returns the
// code that the error holds, or BASE_INVALID if it holds none or error is NULL: never BASE_OK. So
// if error may be NULL, return the code of the call that failed instead of this one.
enum base_code base_fail_while(struct base_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Sets the root cause to "out of memory" and returns BASE_NO_MEMORY. The second form appends what
// the caller was doing: base_no_memory_while(error, "reading %s", name) gives "out of memory
// reading a.ptx". error may be NULL.
enum base_code base_no_memory(struct base_error *error);
enum base_code base_no_memory_while(struct base_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Writes the chain as one line, outermost cause first: "reading a.ptx: a.ptx:3:7: expected ';'".
// Returns the length that the whole text has. out may be NULL if out_bytes is 0.
size_t base_error_text(const struct base_error *error, char *out, size_t out_bytes);

// Returns from the calling function with a root cause if the condition holds.
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
