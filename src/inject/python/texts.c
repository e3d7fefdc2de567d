// SPDX-License-Identifier: Apache-2.0
// Reads str objects: a length, a hash, a state that says how wide characters are, and the
// characters, which lie at another place if they are not all ASCII.
#include "texts.h"

#include <string.h>

#include "read.h"

bool python_text_read(const struct python_layout *layout, uint64_t type, uint64_t address,
                      struct python_text *text)
{
    uint64_t its_type;
    uint32_t state;
    struct {
        uint64_t length, hash;
    } head;
    if (address % 8 || !python_read(address + layout->type, &its_type, sizeof(its_type)) ||
        its_type != type || !python_read(address + layout->text_length, &head, sizeof(head)) ||
        !python_read(address + layout->text_state, &state, sizeof(state)))
        return false;
    state >>= layout->text_kind; // three bits of the width, then flags: in one piece, ASCII
    const unsigned width = state & 7;
    const bool compact = state >> 3 & 1, ascii = state >> 4 & 1;
    if ((width != 1 && width != 2 && width != 4) || !compact || (ascii && width != 1) ||
        head.length > INT32_MAX)
        return false;
    text->address = address;
    text->length = head.length;
    text->hash = head.hash;
    text->character_bytes = (uint8_t)width;
    text->data_address = address + (ascii ? layout->text_ascii : layout->text_data);
    const uint64_t bytes = head.length * width;
    text->data_bytes = bytes < PYTHON_TEXT_MOST_BYTES ? (uint32_t)bytes : PYTHON_TEXT_MOST_BYTES;
    return python_read(text->data_address, text->data, text->data_bytes);
}

static size_t put(uint32_t character, unsigned char *out)
{
    enum { ESCAPED = 0xDC00, ESCAPED_END = 0xDD00, SURROGATE = 0xD800, SURROGATE_END = 0xE000 };
    if (character >= ESCAPED + 0x80 && character < ESCAPED_END) {
        out[0] = (unsigned char)(character - ESCAPED);
        return 1;
    }
    if ((character >= SURROGATE && character < SURROGATE_END) || character > 0x10FFFF)
        character = 0xFFFD;
    if (character < 0x80) {
        out[0] = (unsigned char)character;
        return 1;
    }
    if (character < 0x800) {
        out[0] = (unsigned char)(0xC0 | character >> 6);
        out[1] = (unsigned char)(0x80 | (character & 0x3F));
        return 2;
    }
    if (character < 0x10000) {
        out[0] = (unsigned char)(0xE0 | character >> 12);
        out[1] = (unsigned char)(0x80 | (character >> 6 & 0x3F));
        out[2] = (unsigned char)(0x80 | (character & 0x3F));
        return 3;
    }
    out[0] = (unsigned char)(0xF0 | character >> 18);
    out[1] = (unsigned char)(0x80 | (character >> 12 & 0x3F));
    out[2] = (unsigned char)(0x80 | (character >> 6 & 0x3F));
    out[3] = (unsigned char)(0x80 | (character & 0x3F));
    return 4;
}

size_t python_text_utf8(const struct python_text *text, unsigned char *out)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < text->data_bytes; i += text->character_bytes) {
        uint32_t character = 0;
        unsigned char put_here[4];
        memcpy(&character, text->data + i, text->character_bytes); // little-endian
        const size_t length = put(character, put_here);
        if (out)
            memcpy(out + bytes, put_here, length);
        bytes += length;
    }
    return bytes;
}
