// SPDX-License-Identifier: Apache-2.0
// Finds device code in ELF files: in the sections that nvcc makes in host files, and in cubins,
// which are ELF files themselves. Current toolkits only make 64-bit little-endian files.
#include "elf.h"

#include "reader.h"

bool fatbin_elf_in_range(uint64_t offset, uint64_t bytes, uint64_t length)
{
    return offset <= length && bytes <= length - offset;
}

Elf64_Shdr fatbin_elf_section(const struct fatbin_elf *file, uint64_t index)
{
    Elf64_Shdr section;
    memcpy(&section, file->bytes + file->header.e_shoff + index * sizeof(section), sizeof(section));
    return section;
}

const char *fatbin_elf_open(struct fatbin_elf *file, const unsigned char *bytes, size_t length)
{
    *file = (struct fatbin_elf){.bytes = bytes, .length = length};
    if (length < sizeof(file->header))
        return "the ELF header is truncated";
    memcpy(&file->header, bytes, sizeof(file->header));
    const Elf64_Ehdr *header = &file->header;
    if (header->e_shoff == 0)
        return NULL;
    if (header->e_shentsize != sizeof(Elf64_Shdr) ||
        !fatbin_elf_in_range(header->e_shoff, sizeof(Elf64_Shdr), length))
        return "the ELF section headers lie outside the file; is it truncated?";
    // Counts that do not fit in the header are in the first section, which is otherwise unused.
    const Elf64_Shdr first = fatbin_elf_section(file, 0);
    file->section_count = header->e_shnum ? header->e_shnum : first.sh_size;
    if (file->section_count > (length - header->e_shoff) / sizeof(Elf64_Shdr))
        return "the ELF section headers lie outside the file; is it truncated?";
    const uint64_t names = header->e_shstrndx == SHN_XINDEX ? first.sh_link : header->e_shstrndx;
    if (names == SHN_UNDEF)
        return NULL;
    if (names >= file->section_count)
        return "the ELF section names are missing";
    file->names = fatbin_elf_section(file, names);
    if (!fatbin_elf_in_range(file->names.sh_offset, file->names.sh_size, length))
        return "the ELF section names lie outside the file; is it truncated?";
    return NULL;
}

bool fatbin_elf_section_is(const struct fatbin_elf *file, const Elf64_Shdr *section,
                           const char *name)
{
    const size_t bytes = strlen(name) + 1;
    return fatbin_elf_in_range(section->sh_name, bytes, file->names.sh_size) &&
           memcmp(file->bytes + file->names.sh_offset + section->sh_name, name, bytes) == 0;
}

size_t fatbin_elf_size(const unsigned char *bytes, size_t limit)
{
    struct fatbin_elf file;
    if (fatbin_elf_open(&file, bytes, limit))
        return 0;
    const Elf64_Ehdr *header = &file.header;
    uint64_t size = sizeof(*header);
    const uint64_t programs_bytes = (uint64_t)header->e_phnum * sizeof(Elf64_Phdr);
    if (header->e_phnum) {
        if (header->e_phentsize != sizeof(Elf64_Phdr) ||
            !fatbin_elf_in_range(header->e_phoff, programs_bytes, limit))
            return 0;
        size = header->e_phoff + programs_bytes > size ? header->e_phoff + programs_bytes : size;
    }
    for (uint64_t i = 0; i < file.section_count; i++) {
        const Elf64_Shdr section = fatbin_elf_section(&file, i);
        if (section.sh_type == SHT_NULL || section.sh_type == SHT_NOBITS)
            continue;
        if (!fatbin_elf_in_range(section.sh_offset, section.sh_size, limit))
            return 0;
        size =
            section.sh_offset + section.sh_size > size ? section.sh_offset + section.sh_size : size;
    }
    const uint64_t sections_end = header->e_shoff + file.section_count * sizeof(Elf64_Shdr);
    return sections_end > size ? sections_end : size;
}

static enum base_code add_debug_ptx(struct fatbin_reader *reader, const Elf64_Shdr *section,
                                    unsigned arch)
{
    struct fatbin_entry entry = {.kind = FATBIN_PTX,
                                 .arch = arch,
                                 .payload = reader->bytes + section->sh_offset,
                                 .payload_bytes = section->sh_size,
                                 .full_bytes = section->sh_size,
                                 .section = base_str(FATBIN_COPY_SECTION),
                                 .offset = section->sh_offset,
                                 .from_debug_info = true};
    if (!fatbin_describe_ptx(entry.payload, entry.payload_bytes, true, &entry))
        return BASE_OK;
    return fatbin_add_entry(reader, &entry);
}

static enum base_code add_cubin(struct fatbin_reader *reader, const struct fatbin_elf *file,
                                unsigned *arch)
{
    const size_t size = fatbin_elf_size(reader->bytes, reader->length);
    BASE_RETURN_IF(size == 0, reader->error, BASE_CORRUPT,
                   "the cubin's headers refer beyond its %zu bytes; is it truncated?",
                   reader->length);
    // The architecture is in the second byte of the flags since ABI version 8 (CUDA 13), before it
    // in the first.
    *arch = file->header.e_ident[EI_ABIVERSION] >= 8 ? file->header.e_flags >> 8 & 0xff
                                                     : file->header.e_flags & 0xff;
    const struct fatbin_entry entry = {.kind = FATBIN_CUBIN,
                                       .arch = *arch,
                                       .payload = reader->bytes,
                                       .payload_bytes = reader->length,
                                       .full_bytes = reader->length,
                                       .relocatable = file->header.e_type == ET_REL};
    return fatbin_add_entry(reader, &entry);
}

// Reads a section if it holds device code. *device_bytes is the size of all such sections so far.
static enum base_code read_section(struct fatbin_reader *reader, const struct fatbin_elf *file,
                                   const Elf64_Shdr *section, unsigned cubin_arch,
                                   uint64_t *device_bytes)
{
    const char *name = NULL;
    bool relocatable = false;
    if (fatbin_elf_section_is(file, section, ".nv_fatbin")) {
        name = ".nv_fatbin";
    } else if (fatbin_elf_section_is(file, section, "__nv_relfatbin")) {
        name = "__nv_relfatbin";
        relocatable = true;
    } else if (file->header.e_machine == FATBIN_ELF_CUDA &&
               fatbin_elf_section_is(file, section, FATBIN_COPY_SECTION)) {
        name = FATBIN_COPY_SECTION;
    }
    // Separate debug information files keep the section header without its bytes.
    if (!name || section->sh_type == SHT_NOBITS)
        return BASE_OK;
    BASE_RETURN_IF(!fatbin_elf_in_range(section->sh_offset, section->sh_size, file->length),
                   reader->error, BASE_CORRUPT,
                   "section %s lies outside the file; is it truncated?", name);
    // Without this check, reading a small file with many overlapping sections could take hours.
    *device_bytes += section->sh_size;
    BASE_RETURN_IF(*device_bytes > file->length, reader->error, BASE_CORRUPT, "sections %s overlap",
                   name);
    if (base_str_is(base_str(FATBIN_COPY_SECTION), name))
        return add_debug_ptx(reader, section, cubin_arch);
    enum base_code code = fatbin_read_fatbins(
        reader, section->sh_offset, section->sh_offset + section->sh_size, name, relocatable);
    if (code)
        base_fail_while(reader->error, "section %s", name);
    return code;
}

enum base_code fatbin_read_elf(struct fatbin_reader *reader, enum fatbin_form *form)
{
    struct base_error *error = reader->error;
    BASE_RETURN_IF(reader->length > EI_DATA && (reader->bytes[EI_CLASS] != ELFCLASS64 ||
                                                reader->bytes[EI_DATA] != ELFDATA2LSB),
                   error, BASE_UNSUPPORTED, "32-bit and big-endian ELF files are not supported");
    struct fatbin_elf file;
    const char *wrong = fatbin_elf_open(&file, reader->bytes, reader->length);
    BASE_RETURN_IF(wrong, error, BASE_CORRUPT, "%s", wrong);
    unsigned cubin_arch = 0;
    if (file.header.e_machine == FATBIN_ELF_CUDA) {
        *form = FATBIN_FORM_CUBIN;
        enum base_code code = add_cubin(reader, &file, &cubin_arch);
        if (code)
            return code;
    } else if (file.header.e_type == ET_REL) {
        *form = FATBIN_FORM_OBJECT;
    } else {
        *form = file.header.e_type == ET_DYN ? FATBIN_FORM_LIBRARY : FATBIN_FORM_EXECUTABLE;
    }
    BASE_RETURN_IF(file.section_count == 0 && *form != FATBIN_FORM_CUBIN, error, BASE_NOT_FOUND,
                   "the ELF file has no section headers, which are needed to find device code");
    uint64_t device_bytes = 0;
    for (uint64_t i = 0; i < file.section_count; i++) {
        const Elf64_Shdr section = fatbin_elf_section(&file, i);
        // A position-independent executable is a shared library with an interpreter.
        if (*form == FATBIN_FORM_LIBRARY && fatbin_elf_section_is(&file, &section, ".interp"))
            *form = FATBIN_FORM_EXECUTABLE;
        enum base_code code = read_section(reader, &file, &section, cubin_arch, &device_bytes);
        if (code)
            return code;
    }
    return BASE_OK;
}
