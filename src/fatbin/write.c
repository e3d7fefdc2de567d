// SPDX-License-Identifier: Apache-2.0
// Writes fatbins with one PTX entry.
#include "reader.h"

static void pad(struct base_buf *out, size_t start)
{
    while ((out->length - start) % 8 && !out->failed)
        base_buf_putc(out, '\0');
}

void fatbin_put_ptx(struct base_buf *out, const struct fatbin_entry *like, const char *text,
                    size_t length)
{
    const size_t start = out->length;
    const size_t options_bytes = (like->options.length + 7) / 8 * 8;
    const size_t payload_bytes = (length + 1 + 7) / 8 * 8; // including a NUL
    struct fatbin_options_place options = {
        .offset = sizeof(struct fatbin_entry_header) + sizeof(options),
        .bytes = (uint32_t)like->options.length,
    };
    struct fatbin_entry_header entry = {
        .kind = 1,
        .version = 0x0101,
        .header_bytes = (uint32_t)(sizeof(entry) + sizeof(options) + options_bytes),
        .payload_bytes = payload_bytes,
        .options_offset = like->options.length ? sizeof(entry) : 0,
        .version_minor = (uint16_t)like->version_minor,
        .version_major = (uint16_t)like->version_major,
        .arch = like->arch,
        .flags = like->flags & ~(FATBIN_FLAG_LZ4 | FATBIN_FLAG_ZSTD),
    };
    const struct fatbin_header header = {
        .magic = FATBIN_MAGIC,
        .version = 1,
        .header_bytes = sizeof(header),
        .entries_bytes = entry.header_bytes + payload_bytes,
    };
    base_buf_reserve(out, sizeof(header) + header.entries_bytes);
    base_buf_add(out, (const char *)&header, sizeof(header));
    base_buf_add(out, (const char *)&entry, sizeof(entry));
    base_buf_add(out, (const char *)&options, sizeof(options));
    base_buf_add(out, like->options.text, like->options.length);
    pad(out, start);
    base_buf_add(out, text, length);
    base_buf_putc(out, '\0');
    pad(out, start);
}
