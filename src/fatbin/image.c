// SPDX-License-Identifier: Apache-2.0
// Opens images: recognises a file or an image in memory by its first bytes.
#include <stdlib.h>

#include "reader.h"

enum { LINKED_LIMIT = 1 << 20 };

enum base_code fatbin_add_entry(struct fatbin_reader *reader, const struct fatbin_entry *entry)
{
    struct fatbin_entry *added = base_array_push(&reader->image->entries);
    if (!added)
        return base_no_memory_while(reader->error, "listing %zu pieces of device code",
                                    reader->image->entries.count);
    *added = *entry;
    added->offset += reader->file_offset;
    added->member = reader->member;
    struct base_str *const texts[] = {&added->source_name, &added->options, &added->section};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (!texts[i]->text)
            *texts[i] = (struct base_str){"", 0};
    return BASE_OK;
}

enum base_code fatbin_read_single(struct fatbin_reader *reader, enum fatbin_form *form,
                                  bool *recognised)
{
    static const uint32_t magic = FATBIN_MAGIC;
    struct fatbin_entry ptx = {.kind = FATBIN_PTX,
                               .payload = reader->bytes,
                               .payload_bytes = reader->length,
                               .full_bytes = reader->length};
    *recognised = true;
    if (fatbin_starts_with(reader, "\177ELF", 4))
        return fatbin_read_elf(reader, form);
    if (fatbin_starts_with(reader, &magic, sizeof(magic))) {
        *form = FATBIN_FORM_FATBIN;
        return fatbin_read_fatbins(reader, 0, reader->length, "", false);
    }
    if (fatbin_describe_ptx(reader->bytes, reader->length, false, &ptx)) {
        *form = FATBIN_FORM_PTX;
        return fatbin_add_entry(reader, &ptx);
    }
    *recognised = false;
    return BASE_OK;
}

static enum base_code read_any(struct fatbin_reader *reader)
{
    struct base_error *error = reader->error;
    enum fatbin_form *form = &reader->image->form;
    BASE_RETURN_IF(reader->length == 0, error, BASE_UNSUPPORTED, "empty file");
    BASE_RETURN_IF(fatbin_starts_with(reader, "!<thin>\n", 8), error, BASE_UNSUPPORTED,
                   "a thin archive, which does not contain its members");
    if (fatbin_starts_with(reader, FATBIN_ARCHIVE_MAGIC, 8)) {
        *form = FATBIN_FORM_ARCHIVE;
        return fatbin_read_archive(reader);
    }
    bool recognised;
    enum base_code code = fatbin_read_single(reader, form, &recognised);
    BASE_RETURN_IF(!recognised, error, BASE_UNSUPPORTED,
                   "neither PTX, a fatbin, an ELF file nor an archive");
    return code;
}

static struct fatbin_image *new_image(const char *name)
{
    struct fatbin_image *image = calloc(1, sizeof(*image));
    if (!image)
        return NULL;
    const size_t bytes = strlen(name) + 1;
    image->name = malloc(bytes); // not strdup: libglint.so replaces malloc
    if (!image->name) {
        free(image);
        return NULL;
    }
    memcpy(image->name, name, bytes);
    return image;
}

void fatbin_close(struct fatbin_image *image)
{
    if (!image)
        return;
    base_array_fini(&image->entries);
    free(image->file_bytes);
    free(image->name);
    free(image);
}

// Returns the image to the caller, or closes it and completes the error.
static enum base_code finish(struct fatbin_image *image, enum base_code code,
                             struct fatbin_image **out, struct base_error *error)
{
    if (!code && image->entries.count == 0)
        code = base_fail(error, BASE_NOT_FOUND, "no device code in this %s",
                         fatbin_form_name(image->form));
    if (code) {
        base_fail_while(error, "%s", image->name);
        fatbin_close(image);
        return code;
    }
    *out = image;
    return BASE_OK;
}

enum base_code fatbin_open_bytes(const void *bytes, size_t length, const char *name,
                                 struct fatbin_image **image, struct base_error *error)
{
    *image = NULL;
    struct fatbin_image *opened = new_image(name);
    if (!opened)
        return base_no_memory_while(error, "opening %s", name);
    struct fatbin_reader reader = {
        .image = opened, .bytes = bytes, .length = length, .member = {"", 0}, .error = error};
    return finish(opened, read_any(&reader), image, error);
}

enum base_code fatbin_open_file(const char *path, struct fatbin_image **image,
                                struct base_error *error)
{
    char *bytes;
    size_t length;
    *image = NULL;
    enum base_code code = base_file_read(path, &bytes, &length, error);
    if (code)
        return code;
    code = fatbin_open_bytes(bytes, length, path, image, error);
    if (*image)
        (*image)->file_bytes = bytes;
    else
        free(bytes);
    return code;
}

static bool memory_starts_with(const unsigned char *memory, const void *magic, size_t magic_bytes)
{
    // Compared byte by byte: memcmp may read all of both, and the text may be shorter.
    const unsigned char *wanted = magic;
    for (size_t i = 0; i < magic_bytes; i++)
        if (memory[i] != wanted[i])
            return false;
    return true;
}

static enum base_code read_memory_fatbin(struct fatbin_reader *reader, const void *memory,
                                         bool relocatable)
{
    struct fatbin_header header;
    memcpy(&header, memory, sizeof(header));
    BASE_RETURN_IF(header.magic != FATBIN_MAGIC, reader->error, BASE_CORRUPT,
                   "the fatbin wrapper does not point to a fatbin but to 0x%08" PRIx32,
                   header.magic);
    BASE_RETURN_IF(header.entries_bytes > (uint64_t)PTRDIFF_MAX - header.header_bytes ||
                       (uintptr_t)memory > UINTPTR_MAX - header.header_bytes - header.entries_bytes,
                   reader->error, BASE_CORRUPT, "a fatbin in memory states %" PRIu64 " bytes",
                   header.entries_bytes);
    const size_t length = header.header_bytes + (size_t)header.entries_bytes;
    reader->bytes = memory;
    reader->length = length > sizeof(header) ? length : sizeof(header);
    return fatbin_read_fatbins(reader, 0, reader->length, "", relocatable);
}

static enum base_code read_wrapper(struct fatbin_reader *reader, const void *memory)
{
    struct fatbin_wrapper wrapper;
    memcpy(&wrapper, memory, sizeof(wrapper));
    BASE_RETURN_IF(wrapper.version != 1 && wrapper.version != 2, reader->error, BASE_UNSUPPORTED,
                   "a fatbin wrapper of the unknown version %" PRIu32 "; expected 1 or 2",
                   wrapper.version);
    BASE_RETURN_IF(!wrapper.fatbin, reader->error, BASE_CORRUPT,
                   "a fatbin wrapper without a fatbin");
    enum base_code code = read_memory_fatbin(reader, wrapper.fatbin, false);
    if (code || wrapper.version == 1 || !wrapper.linked)
        return code;
    for (size_t i = 0; wrapper.linked[i]; i++) {
        BASE_RETURN_IF(i == LINKED_LIMIT, reader->error, BASE_CORRUPT,
                       "a fatbin wrapper whose list of fatbins has no end");
        code = read_memory_fatbin(reader, wrapper.linked[i], true);
        if (code)
            return code;
    }
    return BASE_OK;
}

static enum base_code read_memory(struct fatbin_reader *reader, const unsigned char *memory)
{
    static const uint32_t wrapper_magic = FATBIN_WRAPPER_MAGIC;
    static const uint32_t magic = FATBIN_MAGIC;
    struct fatbin_entry ptx = {.kind = FATBIN_PTX, .payload = memory};
    reader->image->form = FATBIN_FORM_FATBIN;
    if (memory_starts_with(memory, &wrapper_magic, sizeof(wrapper_magic)))
        return read_wrapper(reader, memory);
    if (memory_starts_with(memory, &magic, sizeof(magic)))
        return read_memory_fatbin(reader, memory, false);
    reader->bytes = memory;
    if (memory_starts_with(memory, "\177ELF", 4)) {
        reader->length = fatbin_elf_size(memory, UINTPTR_MAX - (uintptr_t)memory);
        BASE_RETURN_IF(!reader->length, reader->error, BASE_CORRUPT,
                       "an ELF file in memory with inconsistent headers");
        return fatbin_read_elf(reader, &reader->image->form);
    }
    BASE_RETURN_IF(!fatbin_describe_ptx(memory, SIZE_MAX, false, &ptx), reader->error,
                   BASE_UNSUPPORTED, "neither PTX, a fatbin nor an ELF file");
    ptx.payload_bytes = ptx.full_bytes = strlen((const char *)memory);
    reader->image->form = FATBIN_FORM_PTX;
    return fatbin_add_entry(reader, &ptx);
}

enum base_code fatbin_open_memory(const void *memory, struct fatbin_image **image,
                                  struct base_error *error)
{
    *image = NULL;
    BASE_RETURN_IF(!memory, error, BASE_INVALID, "the module image is a null pointer");
    struct fatbin_image *opened = new_image("module in memory");
    if (!opened)
        return base_no_memory_while(error, "opening a module in memory");
    struct fatbin_reader reader = {.image = opened, .member = {"", 0}, .error = error};
    return finish(opened, read_memory(&reader, memory), image, error);
}
