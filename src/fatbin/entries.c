// SPDX-License-Identifier: Apache-2.0
// Reads the fatbin format: headers, entries and their bounds. It neither searches for fatbins nor
// decompresses them.
#include "reader.h"

static enum fatbin_kind kind_of(unsigned number)
{
    switch (number) {
    case 1: return FATBIN_PTX;
    case 2: return FATBIN_CUBIN;
    case 8: return FATBIN_LTO;
    default: return FATBIN_OTHER;
    }
}

static enum fatbin_compression compression_of(const struct fatbin_entry_header *header)
{
    switch (header->flags & (FATBIN_FLAG_LZ4 | FATBIN_FLAG_ZSTD)) {
    case 0: return header->full_bytes || header->compressed_bytes ? FATBIN_UNKNOWN : FATBIN_STORED;
    case FATBIN_FLAG_LZ4: return FATBIN_LZ4;
    case FATBIN_FLAG_ZSTD: return FATBIN_ZSTD;
    default: return FATBIN_UNKNOWN;
    }
}

// Returns a text in the variable part of an entry's header.
static bool header_text(const unsigned char *entry_bytes, const struct fatbin_entry_header *header,
                        uint32_t offset, uint32_t bytes, struct base_str *text)
{
    if (offset < sizeof(*header) || offset > header->header_bytes ||
        bytes > header->header_bytes - offset)
        return false;
    *text = (struct base_str){(const char *)entry_bytes + offset, bytes};
    return true;
}

static bool header_options(const unsigned char *entry_bytes,
                           const struct fatbin_entry_header *header, struct base_str *options)
{
    struct base_str descriptor;
    struct fatbin_options_place place;
    if (!header_text(entry_bytes, header, header->options_offset, sizeof(place), &descriptor))
        return false;
    memcpy(&place, descriptor.text, sizeof(place));
    return header_text(entry_bytes, header, place.offset, place.bytes, options);
}

// Reads the entry at `at` of a fatbin that ends at `end`, and moves `at` behind it.
static enum base_code read_entry(struct fatbin_reader *reader, size_t *at, size_t end,
                                 const char *section, bool relocatable)
{
    struct base_error *error = reader->error;
    const uint64_t place = reader->file_offset + *at;
    const unsigned char *bytes = reader->bytes + *at;
    const size_t available = end - *at;
    struct fatbin_entry_header header;
    BASE_RETURN_IF(available < sizeof(header), error, BASE_CORRUPT,
                   "the fatbin's last entry, at offset 0x%" PRIx64 ", is truncated", place);
    memcpy(&header, bytes, sizeof(header));
    BASE_RETURN_IF(header.version >> 8 != 1, error, BASE_UNSUPPORTED,
                   "the entry at offset 0x%" PRIx64
                   " has the unknown version 0x%x; expected 0x0101",
                   place, header.version);
    BASE_RETURN_IF(header.header_bytes < sizeof(header) || header.header_bytes > available, error,
                   BASE_CORRUPT,
                   "the entry at offset 0x%" PRIx64 " states a header of %" PRIu32
                   " bytes, but %zu remain",
                   place, header.header_bytes, available);
    const size_t rest = available - header.header_bytes;
    BASE_RETURN_IF(header.payload_bytes == 0 || header.payload_bytes > rest, error, BASE_CORRUPT,
                   "the entry at offset 0x%" PRIx64 " states a payload of %" PRIu64
                   " bytes, but %zu remain",
                   place, header.payload_bytes, rest);
    const enum fatbin_compression compression = compression_of(&header);
    const bool packed = compression == FATBIN_LZ4 || compression == FATBIN_ZSTD;
    BASE_RETURN_IF(packed && (header.compressed_bytes == 0 || header.full_bytes == 0 ||
                              header.compressed_bytes > header.payload_bytes),
                   error, BASE_CORRUPT,
                   "the entry at offset 0x%" PRIx64 " states %" PRIu32
                   " compressed bytes for %" PRIu64 " in a payload of %" PRIu64,
                   place, header.compressed_bytes, header.full_bytes, header.payload_bytes);

    struct fatbin_entry entry = {
        .kind = kind_of(header.kind),
        .kind_number = header.kind,
        .arch = header.arch,
        .arch_suffix = header.flags & FATBIN_FLAG_SPECIFIC ? 'a'
                       : header.flags & FATBIN_FLAG_FAMILY ? 'f'
                                                           : '\0',
        .version_major = header.version_major,
        .version_minor = header.version_minor,
        .flags = header.flags,
        .compression = compression,
        .payload = bytes + header.header_bytes,
        .payload_bytes = packed ? header.compressed_bytes : header.payload_bytes,
        .full_bytes = packed ? header.full_bytes : header.payload_bytes,
        .source_name = base_str(""),
        .options = base_str(""),
        .section = base_str(section),
        .offset = *at,
        .fatbin_index = reader->image->fatbin_count - 1,
        .relocatable = relocatable,
    };
    BASE_RETURN_IF(header.name_offset && !header_text(bytes, &header, header.name_offset,
                                                      header.name_bytes, &entry.source_name),
                   error, BASE_CORRUPT,
                   "the entry at offset 0x%" PRIx64 " has a source name outside its header", place);
    BASE_RETURN_IF(header.options_offset && !header_options(bytes, &header, &entry.options), error,
                   BASE_CORRUPT, "the entry at offset 0x%" PRIx64 " has options outside its header",
                   place);
    // Outside __nv_relfatbin, only the options of its PTX show that a fatbin is relocatable.
    if (entry.kind == FATBIN_PTX && memmem(entry.options.text, entry.options.length,
                                           "--compile-only", strlen("--compile-only")))
        entry.relocatable = true;
    *at += header.header_bytes + header.payload_bytes;
    return fatbin_add_entry(reader, &entry);
}

static enum base_code read_fatbin(struct fatbin_reader *reader, size_t *at, size_t end,
                                  const char *section, bool relocatable)
{
    struct base_error *error = reader->error;
    const uint64_t place = reader->file_offset + *at;
    const size_t available = end - *at;
    struct fatbin_header header;
    BASE_RETURN_IF(available < sizeof(header), error, BASE_CORRUPT,
                   "the fatbin at offset 0x%" PRIx64 " is truncated", place);
    memcpy(&header, reader->bytes + *at, sizeof(header));
    BASE_RETURN_IF(header.magic != FATBIN_MAGIC, error, BASE_CORRUPT,
                   "no fatbin at offset 0x%" PRIx64 ": it begins with 0x%08" PRIx32, place,
                   header.magic);
    BASE_RETURN_IF(header.version != 1, error, BASE_UNSUPPORTED,
                   "the fatbin at offset 0x%" PRIx64 " has the unknown version %u; expected 1",
                   place, header.version);
    BASE_RETURN_IF(header.header_bytes < sizeof(header) || header.header_bytes > available ||
                       header.entries_bytes > available - header.header_bytes,
                   error, BASE_CORRUPT,
                   "the fatbin at offset 0x%" PRIx64 " states %u + %" PRIu64
                   " bytes, but %zu remain; is it truncated?",
                   place, header.header_bytes, header.entries_bytes, available);
    reader->image->fatbin_count++;
    *at += header.header_bytes;
    const size_t entries_end = *at + header.entries_bytes;
    while (*at < entries_end) {
        enum base_code code = read_entry(reader, at, entries_end, section, relocatable);
        if (code)
            return code;
    }
    return BASE_OK;
}

enum base_code fatbin_read_fatbins(struct fatbin_reader *reader, size_t start, size_t end,
                                   const char *section, bool relocatable)
{
    // Linkers align fatbins to 8 bytes or more and fill the gaps with zeros.
    for (size_t at = start; at < end;) {
        if (reader->bytes[at] == 0) {
            at++;
            continue;
        }
        enum base_code code = read_fatbin(reader, &at, end, section, relocatable);
        if (code)
            return code;
    }
    return BASE_OK;
}
