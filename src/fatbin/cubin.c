// SPDX-License-Identifier: Apache-2.0
// The section ".nv.info.NAME" of a cubin is a list of attributes: a byte for the form of the value,
// a byte for the attribute, and two bytes that are the value or, in one form, its size. The list
// has a record for each parameter of the kernel, the last parameter first:
//
//     04 17 0c00  00000000 0100 0800 00f02100    number 1, at 8, of 8 bytes (the word's upper 14
//     bits) 04 45 0c00  00000000 0100 9013 0800 0000   the same in newer cubins, with large
//     parameters
#include "elf.h"

#include "fatbin.h"
#include "reader.h"

enum {
    SIZED = 4, // the form with a size
    PARAMETER = 0x17,
    LARGE_PARAMETER = 0x45,
    PARAMETER_BYTES = 12,
    IS_KERNEL = 0x10, // of a symbol's st_other
    MOST_SYMBOLS = 1 << 20,
};

struct record {
    uint32_t index;
    uint16_t number, offset;
    uint32_t size;
};
_Static_assert(sizeof(struct record) == PARAMETER_BYTES, "as in the file");

// --- Kernels -------------------------------------------------------------------------------------

// Returns the text at the offset of the section; NULL: it does not end there.
static const char *text_at(const struct fatbin_elf *file, const Elf64_Shdr *section,
                           uint64_t offset)
{
    if (section->sh_type == SHT_NOBITS || offset >= section->sh_size ||
        !fatbin_elf_in_range(section->sh_offset, section->sh_size, file->length))
        return NULL;
    const char *text = (const char *)file->bytes + section->sh_offset + offset;
    return memchr(text, '\0', section->sh_size - offset) ? text : NULL;
}

// Returns whether all were visited.
static bool each_symbol(const struct fatbin_elf *file, const Elf64_Shdr *table,
                        fatbin_visit_kernel *visit, void *user)
{
    if (table->sh_link >= file->section_count ||
        !fatbin_elf_in_range(table->sh_offset, table->sh_size, file->length))
        return true;
    const Elf64_Shdr names = fatbin_elf_section(file, table->sh_link);
    const uint64_t count = table->sh_size / sizeof(Elf64_Sym);
    for (uint64_t i = 0; i < count && i < MOST_SYMBOLS; i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, file->bytes + table->sh_offset + i * sizeof(symbol), sizeof(symbol));
        const bool is_kernel = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
                               symbol.st_other & IS_KERNEL && symbol.st_shndx != SHN_UNDEF;
        const char *name = is_kernel ? text_at(file, &names, symbol.st_name) : NULL;
        if (name && *name && !visit(user, name))
            return false;
    }
    return true;
}

static enum base_code open_cubin(const struct fatbin_entry *entry, struct fatbin_elf *file,
                                 struct base_error *error)
{
    BASE_RETURN_IF(entry->kind != FATBIN_CUBIN || entry->compression != FATBIN_STORED, error,
                   BASE_UNSUPPORTED, "not a cubin that is stored as it is");
    const char *wrong = fatbin_elf_open(file, entry->payload, entry->payload_bytes);
    BASE_RETURN_IF(wrong, error, BASE_CORRUPT, "%s", wrong);
    return BASE_OK;
}

enum base_code fatbin_each_kernel(const struct fatbin_entry *cubin, fatbin_visit_kernel *visit,
                                  void *user, struct base_error *error)
{
    struct fatbin_elf file = {0};
    const enum base_code code = open_cubin(cubin, &file, error);
    for (uint64_t i = 0; code == BASE_OK && i < file.section_count; i++) {
        const Elf64_Shdr section = fatbin_elf_section(&file, i);
        if (section.sh_type == SHT_SYMTAB && !each_symbol(&file, &section, visit, user))
            break;
    }
    return code;
}

// --- Parameters ----------------------------------------------------------------------------------

static uint32_t size_of(uint8_t attribute, uint32_t word)
{
    return attribute == LARGE_PARAMETER ? word & 0xffff : word >> 18;
}

static enum base_code read_params(const unsigned char *list, size_t length,
                                  struct fatbin_param *params, uint32_t room, uint32_t *count,
                                  struct base_error *error)
{
    uint32_t found = 0;
    *count = 0;
    for (uint32_t i = 0; i < room; i++)
        params[i] = (struct fatbin_param){.bytes = 0};
    for (size_t at = 0; at < length;) {
        BASE_RETURN_IF(length - at < 4, error, BASE_CORRUPT, "a list of attributes is truncated");
        const uint8_t form = list[at], attribute = list[at + 1];
        const size_t size = form == SIZED ? list[at + 2] | (size_t)list[at + 3] << 8 : 0;
        at += 4;
        BASE_RETURN_IF(size > length - at, error, BASE_CORRUPT, "an attribute is truncated");
        if (form == SIZED && (attribute == PARAMETER || attribute == LARGE_PARAMETER)) {
            struct record record;
            BASE_RETURN_IF(size != PARAMETER_BYTES, error, BASE_CORRUPT,
                           "a parameter's attribute has %zu bytes", size);
            memcpy(&record, list + at, sizeof(record));
            const uint32_t bytes = size_of(attribute, record.size);
            BASE_RETURN_IF(bytes == 0 || record.number >= FATBIN_MOST_PARAMS, error, BASE_CORRUPT,
                           "parameter %u has %u bytes", record.number, bytes);
            if (record.number < room)
                params[record.number] = (struct fatbin_param){record.offset, bytes};
            *count = record.number >= *count ? record.number + 1u : *count;
            found++;
        }
        at += size;
    }
    bool all = found == *count; // no number twice, and none missing
    for (uint32_t i = 0; i < room && i < *count; i++)
        all = all && params[i].bytes;
    BASE_RETURN_IF(!all, error, BASE_CORRUPT, "a parameter is missing or listed twice");
    return BASE_OK;
}

enum base_code fatbin_kernel_params(const struct fatbin_entry *cubin, const char *kernel,
                                    struct fatbin_param *params, uint32_t room, uint32_t *count,
                                    struct base_error *error)
{
    struct fatbin_elf file = {0};
    struct base_buf name = {0};
    enum base_code code = open_cubin(cubin, &file, error);
    base_buf_printf(&name, ".nv.info.%s", kernel);
    if (code == BASE_OK && name.failed)
        code = base_no_memory(error);
    bool found = false;
    for (uint64_t i = 0; code == BASE_OK && !found && i < file.section_count; i++) {
        const Elf64_Shdr section = fatbin_elf_section(&file, i);
        found = section.sh_type != SHT_NOBITS && fatbin_elf_section_is(&file, &section, name.text);
        if (!found)
            continue;
        if (fatbin_elf_in_range(section.sh_offset, section.sh_size, file.length))
            code = read_params(file.bytes + section.sh_offset, section.sh_size, params, room, count,
                               error);
        else
            code = base_fail(error, BASE_CORRUPT, "the list of attributes lies outside the file");
    }
    if (code == BASE_OK && !found)
        code = base_fail(error, BASE_NOT_FOUND, "the cubin has no kernel '%s'", kernel);
    base_buf_fini(&name);
    return code;
}
