// SPDX-License-Identifier: Apache-2.0
// Converts wide characters, which are 32 bits wide on Linux.
#include "nvtx_text.h"

#include <string.h>

// Writes one character as UTF-8. Returns its bytes.
static size_t put_character(char *out, uint32_t character)
{
    static const uint8_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    const size_t bytes = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = bytes - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (character & 0x3f));
        character >>= 6;
    }
    out[0] = (char)(marks[bytes] | character);
    return bytes;
}

bool hooks_nvtx_text(uint32_t type, nvtxMessageValue_t value, char out[HOOKS_NVTX_TEXT])
{
    size_t used = 0;
    if (type == NVTX_MESSAGE_TYPE_ASCII && value.ascii) {
        used = strnlen(value.ascii, HOOKS_NVTX_TEXT - 1);
        memcpy(out, value.ascii, used);
    } else if (type == NVTX_MESSAGE_TYPE_UNICODE && value.unicode) {
        for (const wchar_t *at = value.unicode; *at && used + 4 < HOOKS_NVTX_TEXT; at++) {
            const bool valid = (uint32_t)*at < 0x110000 && ((uint32_t)*at & 0xfffff800) != 0xd800;
            used += put_character(out + used, valid ? (uint32_t)*at : 0xfffd);
        }
    }
    out[used] = '\0';
    return used > 0;
}
