// SPDX-License-Identifier: Apache-2.0
// A helper of tests/fatbin/test_nvcc.sh: lists the device code of a file, one line a piece, each
// decompressed to be sure; or writes one piece out.
//     list_entries FILE          form, then "INDEX kind sm_ARCH version compression section ..."
//     list_entries FILE INDEX    that entry's decompressed payload
//     list_entries FILE kernels  of its first cubin: name, and offset and size of each parameter
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fatbin/fatbin.h"

static int complain(const struct base_error *error)
{
    char text[1000];
    base_error_text(error, text, sizeof(text));
    fprintf(stderr, "list_entries: %s: %s\n", base_code_name(error->code), text);
    return 1;
}

static int list(const struct fatbin_image *image)
{
    int status = 0;
    printf("%s fatbins=%zu\n", fatbin_form_name(image->form), image->fatbin_count);
    for (size_t i = 0; i < image->entries.count; i++) {
        const struct fatbin_entry *entry = &image->entries.items[i];
        printf(
            "%zu %s sm_%u%.1s %u.%u %s section=%.*s fatbin=%zu rdc=%d debug_copy=%d "
            "flags=0x%" PRIx64 " offset=0x%" PRIx64 " stored=%zu full=%zu member=%.*s source=%.*s",
            i, fatbin_kind_name(entry->kind), entry->arch, &entry->arch_suffix,
            entry->version_major, entry->version_minor, fatbin_compression_name(entry->compression),
            BASE_STR_ARG(entry->section), entry->fatbin_index, entry->relocatable,
            entry->from_debug_info, entry->flags, entry->offset, entry->payload_bytes,
            entry->full_bytes, BASE_STR_ARG(entry->member), BASE_STR_ARG(entry->source_name));
        if (entry->kind == FATBIN_PTX)
            printf(" options=%.*s", BASE_STR_ARG(entry->options));
        printf("\n");
        char *text;
        size_t length;
        struct base_error error;
        enum base_code code = fatbin_entry_text(entry, &text, &length, &error);
        if (code && !(code == BASE_UNSUPPORTED && entry->kind == FATBIN_LTO))
            status = complain(&error);
        free(text);
    }
    return status;
}

static int dump(const struct fatbin_image *image, size_t index)
{
    if (index >= image->entries.count) {
        fprintf(stderr, "list_entries: there are %zu entries\n", image->entries.count);
        return 1;
    }
    char *text;
    size_t length;
    struct base_error error;
    if (fatbin_entry_text(&image->entries.items[index], &text, &length, &error))
        return complain(&error);
    int status = fwrite(text, 1, length, stdout) == length ? 0 : 1;
    free(text);
    return status;
}

static bool list_kernel(void *user, const char *kernel)
{
    struct fatbin_param params[16];
    struct base_error error;
    uint32_t count;
    if (fatbin_kernel_params(user, kernel, params, 16, &count, &error))
        return complain(&error) == 0;
    printf("%s", kernel);
    for (uint32_t i = 0; i < count && i < 16; i++)
        printf(" %u:%u", params[i].offset, params[i].bytes);
    printf("\n");
    return true;
}

static int list_kernels(const struct fatbin_image *image)
{
    struct base_error error;
    for (size_t i = 0; i < image->entries.count; i++) {
        if (image->entries.items[i].kind == FATBIN_CUBIN)
            return fatbin_each_kernel(&image->entries.items[i], list_kernel,
                                      &image->entries.items[i], &error)
                       ? complain(&error)
                       : 0;
    }
    return 1;
}

// Returns 0 if the first cubin has the copy of the text in the file.
static int compare(const struct fatbin_image *image, const char *path)
{
    struct base_error error;
    struct fatbin_entry entry;
    char *copy = NULL, *text = NULL;
    size_t length;
    int status = 1;
    if (!fatbin_find_copy(&image->entries.items[0], &entry) ||
        fatbin_entry_text(&entry, &copy, &length, &error) ||
        base_file_read(path, &text, &length, &error))
        puts("no copy, or no text");
    else if (!fatbin_is_copy(copy, text))
        puts("not a copy of it");
    else
        status = 0;
    free(copy);
    free(text);
    return status;
}

int main(int argc, char **argv)
{
    const bool compares = argc == 4 && strcmp(argv[2], "copy-of") == 0;
    if (argc < 2 || (argc > 3 && !compares)) {
        fprintf(stderr, "usage: list_entries FILE [INDEX|kernels|copy-of PTX]\n");
        return 2;
    }
    struct fatbin_image *image;
    struct base_error error;
    if (fatbin_open_file(argv[1], &image, &error))
        return complain(&error);
    int status = compares                          ? compare(image, argv[3])
                 : argc == 2                       ? list(image)
                 : strcmp(argv[2], "kernels") == 0 ? list_kernels(image)
                                                   : dump(image, strtoul(argv[2], NULL, 10));
    if (argc == 2 && fatbin_require_ptx(image, &error))
        complain(&error);
    fatbin_close(image);
    return status;
}
