// SPDX-License-Identifier: Apache-2.0
// Text from elsewhere on its way to people: what UTF-8 is, and which characters do something to a
// terminal, or to the order in which a line is read, instead of being seen.
#ifndef GLINT_BASE_UTF8_H
#define GLINT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "str.h"

// The bytes of the character at the beginning of text, of which at least one is left. Where *valid
// comes out false, as many bytes as cannot begin one.
size_t base_utf8_length(const unsigned char *text, size_t left, bool *valid);

// Whether a valid character of that length controls instead of being seen: U+0000 to U+001F, U+007F
// to U+009F, and the characters that change the direction of text. *point is its code point.
bool base_utf8_controls(const unsigned char *text, size_t length, uint32_t *point);

// Adds text so that it stands in one line and controls nothing: \n, \t and \r as in C, other bytes
// below U+00A0 that control, and bytes that are no UTF-8, as \xNN, changes of direction as \uNNNN.
// `except` lists characters of one byte that are added as they are. Backslashes are left alone.
void base_buf_visible(struct base_buf *out, struct base_str text, const char *except);

#endif
