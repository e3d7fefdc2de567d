// SPDX-License-Identifier: Apache-2.0
// UTF-8 and control characters.
#include "utf8.h"

size_t base_utf8_length(const unsigned char *text, size_t left, bool *valid)
{
    unsigned char first = text[0];
    unsigned char low = 0x80, high = 0xBF; // of the second byte
    size_t length;
    *valid = false;
    if (first < 0x80)
        length = 1;
    else if (first >= 0xC2 && first <= 0xDF)
        length = 2;
    else if (first >= 0xE0 && first <= 0xEF)
        length = 3;
    else if (first >= 0xF0 && first <= 0xF4)
        length = 4;
    else
        return 1;
    if (first == 0xE0)
        low = 0xA0; // shorter forms exist
    else if (first == 0xED)
        high = 0x9F; // surrogates
    else if (first == 0xF0)
        low = 0x90; // shorter forms exist
    else if (first == 0xF4)
        high = 0x8F; // beyond U+10FFFF
    for (size_t i = 1; i < length; i++) {
        if (i >= left || text[i] < low || text[i] > high)
            return i;
        low = 0x80;
        high = 0xBF;
    }
    *valid = true;
    return length;
}

bool base_utf8_controls(const unsigned char *text, size_t length, uint32_t *point)
{
    *point = length == 1   ? text[0]
             : length == 2 ? (text[0] & 0x1Fu) << 6 | (text[1] & 0x3Fu)
             : length == 3 ? (text[0] & 0x0Fu) << 12 | (text[1] & 0x3Fu) << 6 | (text[2] & 0x3Fu)
                           : 0x10000; // none above controls
    const uint32_t at = *point;
    return at < 0x20 || (at >= 0x7F && at < 0xA0) || at == 0x061C || at == 0x200E || at == 0x200F ||
           (at >= 0x2028 && at <= 0x202E) || (at >= 0x2066 && at <= 0x2069);
}

void base_buf_visible(struct base_buf *out, struct base_str text, const char *except)
{
    const unsigned char *bytes = (const unsigned char *)text.text;
    for (size_t next = 0; next < text.length;) {
        bool valid;
        uint32_t point = 0;
        const size_t length = base_utf8_length(bytes + next, text.length - next, &valid);
        const unsigned char *at = bytes + next;
        next += length;
        if (valid && (!base_utf8_controls(at, length, &point) ||
                      (*at && length == 1 && strchr(except, *at)))) {
            base_buf_add(out, (const char *)at, length);
        } else if (valid && (*at == '\n' || *at == '\t' || *at == '\r')) {
            base_buf_puts(out, *at == '\n' ? "\\n" : *at == '\t' ? "\\t" : "\\r");
        } else if (valid && length > 2) {
            base_buf_printf(out, "\\u%04x", (unsigned)point);
        } else if (valid && point == 0x061C) {
            base_buf_puts(out, "\\u061c");
        } else {
            for (size_t i = 0; i < length; i++)
                base_buf_printf(out, "\\x%02x", at[i]);
        }
    }
}
