// SPDX-License-Identifier: Apache-2.0
// Uses any bytes as a file with device code: opens it, lists all fields, and decompresses it.
#include "fuzz.h"

#include <stdlib.h>

#include "fatbin/fatbin.h"

// Decompressing more than this takes time and finds nothing.
enum { LARGEST_BYTES = 1 << 20 };

static volatile unsigned char sink;

// Reads the first and last byte, which ASan watches.
static void touch(const void *bytes, size_t length)
{
    if (length)
        sink = (unsigned char)(((const unsigned char *)bytes)[0] ^
                               ((const unsigned char *)bytes)[length - 1]);
}

// Reads the parameters of a kernel, with little room.
static bool read_kernel(void *user, const char *kernel)
{
    struct fatbin_param params[3];
    struct base_error error;
    uint32_t count = 0;
    if (fatbin_kernel_params(user, kernel, params, 3, &count, &error) == BASE_OK)
        touch(params, (count < 3 ? count : 3) * sizeof(params[0]));
    return true;
}

// Reads the copy of PTX in a cubin, which must be a copy of itself.
static void read_copy(const struct fatbin_entry *cubin)
{
    struct base_error error;
    struct fatbin_entry copy;
    char *text;
    size_t length;
    if (!fatbin_find_copy(cubin, &copy) ||
        fatbin_entry_text(&copy, &text, &length, &error) != BASE_OK)
        return;
    if (!fatbin_is_copy(text, text))
        abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct fatbin_image *image;
    struct base_error error;
    if (fatbin_open_bytes(data, size_bytes, "input", &image, &error))
        return 0;
    if (image->entries.count == 0)
        abort();
    for (size_t i = 0; i < image->entries.count; i++) {
        const struct fatbin_entry *entry = &image->entries.items[i];
        touch(entry->payload, entry->payload_bytes);
        touch(entry->source_name.text, entry->source_name.length);
        touch(entry->options.text, entry->options.length);
        touch(entry->member.text, entry->member.length);
        if (entry->full_bytes > LARGEST_BYTES)
            continue;
        fatbin_each_kernel(entry, read_kernel, (void *)entry, &error);
        read_copy(entry);
        char *text;
        size_t length;
        if (fatbin_entry_text(entry, &text, &length, &error) == BASE_OK) {
            if (length > entry->full_bytes || text[length] != '\0')
                abort();
            if (entry->kind == FATBIN_PTX && memchr(text, '\0', length))
                abort();
        }
        free(text);
    }
    fatbin_require_ptx(image, &error);
    fatbin_close(image);
    return 0;
}
