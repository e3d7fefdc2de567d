// SPDX-License-Identifier: Apache-2.0
// Changes the PTX in an entry of the cache of rewritten modules, so that the driver gets
// a text that glint never wrote: forge FILE FROM TO replaces the first FROM by TO, in
// the text or in one of its parts, and updates the checksums of the entry. Exit status:
// 3 if the file is no such entry.
#define XXH_INLINE_ALL
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/base.h"
#include "instrument/instrument.h"

struct head { // as in src/inject/probe/cache.c
    char magic[16];
    uint64_t key[2], bytes, sum[2];
};

int main(int argc, char **argv)
{
    struct base_error error = {0};
    struct base_buf text = {0}, saved = {0};
    struct instrument_module *module;
    struct head head;
    char *bytes;
    size_t length;
    if (argc != 4 || base_file_read(argv[1], &bytes, &length, &error) != BASE_OK ||
        length < sizeof(head))
        return 2;
    memcpy(&head, bytes, sizeof(head));
    if (instrument_load(bytes + sizeof(head), length - sizeof(head), &module, &error) != BASE_OK)
        return 3;
    const char *whole = module->ptx, *found = strstr(whole, argv[2]);
    uint32_t part = 0;
    for (; !found && part < module->part_count; part++) {
        whole = module->parts[part].ptx;
        found = strstr(whole, argv[2]);
    }
    if (!found) {
        fprintf(stderr, "forge: there is no '%s'\n", argv[2]);
        return 1;
    }
    base_buf_add(&text, whole, (size_t)(found - whole));
    base_buf_puts(&text, argv[3]);
    base_buf_puts(&text, found + strlen(argv[2]));
    if (part) {
        module->parts[part - 1] = (struct instrument_part){text.text, text.length};
    } else {
        module->ptx = text.text;
        module->ptx_bytes = text.length;
    }
    if (text.failed || !instrument_save(module, &saved))
        return 2;
    const XXH128_hash_t sum = XXH3_128bits(saved.text, saved.length);
    head.bytes = saved.length;
    head.sum[0] = sum.high64;
    head.sum[1] = sum.low64;
    FILE *file = fopen(argv[1], "w");
    if (!file || fwrite(&head, sizeof(head), 1, file) != 1 ||
        fwrite(saved.text, saved.length, 1, file) != 1 || fclose(file) != 0)
        return 2;
    instrument_destroy(module);
    base_buf_fini(&saved);
    base_buf_fini(&text);
    free(bytes);
    return 0;
}
