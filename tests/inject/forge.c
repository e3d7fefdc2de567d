// SPDX-License-Identifier: Apache-2.0
// Changes the PTX in an entry of the cache of rewritten modules, so that the driver gets
// a text that glint never wrote: forge FILE FROM TO replaces the first FROM by TO, in
// the text or in one of its parts, and updates the hash of the entry with the key beside it. Exit
// status: 3 if the file is no such entry.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "instrument/instrument.h"

struct head { // as in src/inject/probe/cache.c
    char magic[16];
    uint64_t key[2], bytes;
    unsigned char hash[BASE_SIPHASH_BYTES];
};

// Reads the key of the cache: the file "key" beside the entry.
static bool read_key(const char *entry, unsigned char key[BASE_SIPHASH_KEY_BYTES])
{
    struct base_buf path = {0};
    const char *slash = strrchr(entry, '/');
    base_buf_add(&path, entry, slash ? (size_t)(slash - entry) + 1 : 0);
    base_buf_puts(&path, "key");
    FILE *file = path.failed ? NULL : fopen(path.text, "re");
    const bool good = file && fread(key, 1, BASE_SIPHASH_KEY_BYTES, file) == BASE_SIPHASH_KEY_BYTES;
    if (file)
        fclose(file);
    base_buf_fini(&path);
    return good;
}

int main(int argc, char **argv)
{
    struct base_error error = {0};
    struct base_buf text = {0}, saved = {0};
    struct instrument_module *module;
    struct head head;
    unsigned char key[BASE_SIPHASH_KEY_BYTES];
    char *bytes;
    size_t length;
    if (argc != 4 || !read_key(argv[1], key) ||
        base_file_read(argv[1], &bytes, &length, &error) != BASE_OK || length < sizeof(head))
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
    head.bytes = saved.length;
    base_siphash(key, &head, offsetof(struct head, hash), saved.text, saved.length, head.hash);
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
