// SPDX-License-Identifier: Apache-2.0
// Texts of Python: objects of type str.
#ifndef GLINT_INJECT_PYTHON_TEXTS_H
#define GLINT_INJECT_PYTHON_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"

enum { PYTHON_TEXT_MOST_BYTES = 4096 }; // the rest of a longer text is left out

struct python_text {
    uint64_t address, length; // length: in characters
    uint64_t hash;            // UINT64_MAX: Python has not computed it
    uint64_t data_address;
    uint32_t data_bytes;
    uint8_t character_bytes; // 1, 2 or 4
    unsigned char data[PYTHON_TEXT_MOST_BYTES];
};

// Returns false if the object there is not a text. type: the address of the type str. Reads with
// system calls, and changes errno.
bool python_text_read(const struct python_layout *layout, uint64_t type, uint64_t address,
                      struct python_text *text);

// Writes the text as UTF-8 and returns its length in bytes; with NULL it only returns the length.
// Characters by which Python represents bytes of file names that are not UTF-8 become these bytes.
size_t python_text_utf8(const struct python_text *text, unsigned char *out);

#endif
