// SPDX-License-Identifier: Apache-2.0
// Decompresses the payload of an entry. Sizes in a file may be wrong: no more is allocated than the
// compressed bytes could fill, and the result must have exactly the stated size.
#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "reader.h"

// The most bytes that one compressed byte can yield: a byte of LZ4 adds 255 to the length of a
// match; 4 bytes of Zstandard are a block of 128 KiB of one value.
enum { LZ4_MOST_RATIO = 255, ZSTD_MOST_RATIO = 32768 };

static enum base_code check_size(const struct fatbin_entry *entry, struct base_error *error)
{
    const uint64_t most =
        (uint64_t)entry->payload_bytes * (entry->compression == FATBIN_LZ4    ? LZ4_MOST_RATIO
                                          : entry->compression == FATBIN_ZSTD ? ZSTD_MOST_RATIO
                                                                              : 1);
    BASE_RETURN_IF(entry->full_bytes > FATBIN_PAYLOAD_LIMIT_BYTES, error, BASE_UNSUPPORTED,
                   "the entry at offset 0x%" PRIx64
                   " is %zu bytes decompressed; the limit is %" PRIu64,
                   entry->offset, entry->full_bytes, FATBIN_PAYLOAD_LIMIT_BYTES);
    BASE_RETURN_IF(entry->full_bytes > most, error, BASE_CORRUPT,
                   "the entry at offset 0x%" PRIx64
                   " states %zu bytes, more than %zu can decompress to",
                   entry->offset, entry->full_bytes, entry->payload_bytes);
    return BASE_OK;
}

static enum base_code unpack_zstd(const struct fatbin_entry *entry, char *out,
                                  struct base_error *error)
{
    size_t got = ZSTD_decompress(out, entry->full_bytes, entry->payload, entry->payload_bytes);
    if (ZSTD_isError(got)) {
        if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
            return base_no_memory_while(error, "decompressing the entry at offset 0x%" PRIx64,
                                        entry->offset);
        return base_fail(error, BASE_CORRUPT,
                         "the entry at offset 0x%" PRIx64 " does not decompress: %s", entry->offset,
                         ZSTD_getErrorName(got));
    }
    BASE_RETURN_IF(got != entry->full_bytes, error, BASE_CORRUPT,
                   "the entry at offset 0x%" PRIx64 " decompresses to %zu bytes instead of %zu",
                   entry->offset, got, entry->full_bytes);
    return BASE_OK;
}

static enum base_code unpack_lz4(const struct fatbin_entry *entry, char *out,
                                 struct base_error *error)
{
    // The format's field for the compressed size has 32 bits, LZ4's interface 31.
    BASE_RETURN_IF(entry->payload_bytes > INT32_MAX, error, BASE_UNSUPPORTED,
                   "the entry at offset 0x%" PRIx64 " is too large for LZ4", entry->offset);
    int got = LZ4_decompress_safe((const char *)entry->payload, out, (int)entry->payload_bytes,
                                  (int)entry->full_bytes);
    BASE_RETURN_IF(got < 0, error, BASE_CORRUPT,
                   "the entry at offset 0x%" PRIx64 " does not decompress", entry->offset);
    BASE_RETURN_IF((size_t)got != entry->full_bytes, error, BASE_CORRUPT,
                   "the entry at offset 0x%" PRIx64 " decompresses to %d bytes instead of %zu",
                   entry->offset, got, entry->full_bytes);
    return BASE_OK;
}

static enum base_code unpack(const struct fatbin_entry *entry, char *out, struct base_error *error)
{
    switch (entry->compression) {
    case FATBIN_ZSTD: return unpack_zstd(entry, out, error);
    case FATBIN_LZ4: return unpack_lz4(entry, out, error);
    default: memcpy(out, entry->payload, entry->full_bytes); return BASE_OK;
    }
}

static enum base_code finish_ptx(const struct fatbin_entry *entry, char *text, size_t *length,
                                 struct base_error *error)
{
    while (*length && text[*length - 1] == '\0')
        --*length;
    char *nul = memchr(text, '\0', *length);
    BASE_RETURN_IF(nul && !entry->from_debug_info, error, BASE_CORRUPT,
                   "the PTX of the entry at offset 0x%" PRIx64 " has a NUL byte at offset %zu",
                   entry->offset, (size_t)(nul - text));
    for (; nul; nul = memchr(nul, '\0', *length - (size_t)(nul - text)))
        *nul = '\n';
    return BASE_OK;
}

enum base_code fatbin_entry_text(const struct fatbin_entry *entry, char **text, size_t *length,
                                 struct base_error *error)
{
    *text = NULL;
    *length = 0;
    BASE_RETURN_IF(entry->kind == FATBIN_LTO, error, BASE_UNSUPPORTED,
                   "the entry at offset 0x%" PRIx64 " is encoded input of link-time optimisation",
                   entry->offset);
    BASE_RETURN_IF(entry->compression == FATBIN_UNKNOWN, error, BASE_UNSUPPORTED,
                   "the entry at offset 0x%" PRIx64 " has an unknown compression (flags 0x%" PRIx64
                   ")",
                   entry->offset, entry->flags);
    enum base_code code = check_size(entry, error);
    if (code)
        return code;
    char *out = malloc(entry->full_bytes + 1);
    if (!out)
        return base_no_memory_while(error, "unpacking %zu bytes of device code", entry->full_bytes);
    size_t out_bytes = entry->full_bytes;
    code = unpack(entry, out, error);
    if (!code && entry->kind == FATBIN_PTX)
        code = finish_ptx(entry, out, &out_bytes, error);
    if (code) {
        free(out);
        return code;
    }
    out[out_bytes] = '\0';
    *text = out;
    *length = out_bytes;
    return BASE_OK;
}
