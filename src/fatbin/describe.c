// SPDX-License-Identifier: Apache-2.0
// Describes an image and its entries in words.
#include <stdio.h>

#include "reader.h"

const char *fatbin_form_name(enum fatbin_form form)
{
    static const char *const names[] = {
        [FATBIN_FORM_PTX] = "PTX",
        [FATBIN_FORM_FATBIN] = "fatbin",
        [FATBIN_FORM_CUBIN] = "cubin",
        [FATBIN_FORM_EXECUTABLE] = "executable",
        [FATBIN_FORM_LIBRARY] = "shared library",
        [FATBIN_FORM_OBJECT] = "object",
        [FATBIN_FORM_ARCHIVE] = "archive",
    };
    return (size_t)form < sizeof(names) / sizeof(names[0]) ? names[form] : "unknown";
}

const char *fatbin_kind_name(enum fatbin_kind kind)
{
    static const char *const names[] = {
        [FATBIN_PTX] = "PTX",
        [FATBIN_CUBIN] = "cubin",
        [FATBIN_LTO] = "LTO",
        [FATBIN_OTHER] = "other",
    };
    return (size_t)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

const char *fatbin_compression_name(enum fatbin_compression compression)
{
    static const char *const names[] = {
        [FATBIN_STORED] = "none",
        [FATBIN_LZ4] = "LZ4",
        [FATBIN_ZSTD] = "zstd",
        [FATBIN_UNKNOWN] = "unknown",
    };
    return (size_t)compression < sizeof(names) / sizeof(names[0]) ? names[compression] : "unknown";
}

enum base_code fatbin_require_ptx(const struct fatbin_image *image, struct base_error *error)
{
    // More than the number of architectures; a hostile file may list any number.
    const struct fatbin_entry *seen[16];
    size_t seen_count = 0;
    char list[160] = "";
    size_t used = 0;
    bool more = false;
    for (size_t i = 0; i < image->entries.count; i++) {
        const struct fatbin_entry *entry = &image->entries.items[i];
        if (entry->kind == FATBIN_PTX)
            return BASE_OK;
        bool known = more;
        for (size_t j = 0; j < seen_count && !known; j++)
            known = seen[j]->kind == entry->kind && seen[j]->arch == entry->arch &&
                    seen[j]->arch_suffix == entry->arch_suffix;
        if (known)
            continue;
        char item[40];
        const char suffix[2] = {entry->arch_suffix};
        const int length = snprintf(item, sizeof(item), "%s%s sm_%u%s", used ? ", " : "",
                                    fatbin_kind_name(entry->kind), entry->arch, suffix);
        more = seen_count == 16 || used + (size_t)length >= sizeof(list);
        if (more)
            continue;
        seen[seen_count++] = entry;
        memcpy(list + used, item, (size_t)length + 1);
        used += (size_t)length;
    }
    return base_fail(error, BASE_NOT_FOUND, "%s: no PTX, only %s%s", image->name, list,
                     more ? " and more" : "");
}
