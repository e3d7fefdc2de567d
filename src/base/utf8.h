// SPDX-License-Identifier: Apache-2.0
// Makes foreign text safe to print: validates UTF-8, and finds characters that control a terminal
// or the direction of text instead of being visible.
#ifndef GLINT_BASE_UTF8_H
#define GLINT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "str.h"

// Returns the number of bytes of the first character of `text`, which has `left` bytes, at least
// one. If these bytes are not valid UTF-8, sets *valid to false and returns how many to skip.
size_t base_utf8_length(const unsigned char *text, size_t left, bool *valid);

// Returns true if a valid character of `length` bytes is a control character: U+0000 to U+001F,
// U+007F to U+009F, or one that changes the direction of text. Sets *point to its code point.
bool base_utf8_controls(const unsigned char *text, size_t length, uint32_t *point);

// Adds text as one line without control characters: newline, tab and return as \n, \t and \r, other
// control characters below U+00A0 and invalid bytes as \xNN, changes of direction as \uNNNN.
// `except` lists single-byte characters to add unchanged. Backslashes are not escaped.
void base_buf_visible(struct base_buf *out, struct base_str text, const char *except);

#endif
