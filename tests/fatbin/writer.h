// SPDX-License-Identifier: Apache-2.0
// Writes the files that src/fatbin reads, for its tests: fatbins, minimal ELF files and archives.
// It shares no declarations with the reader, so that a mistake in a layout does not cancel out.
#ifndef GLINT_TESTS_FATBIN_WRITER_H
#define GLINT_TESTS_FATBIN_WRITER_H

#include <assert.h>
#include <elf.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/base.h"

enum writer_packing { WRITER_STORED = 0, WRITER_LZ4 = 0x2000, WRITER_ZSTD = 0x8000 };

// Offsets of fields, for tests that corrupt them: from the fatbin's start, and from the entry's.
enum {
    WRITER_FATBIN_MAGIC = 0,
    WRITER_FATBIN_VERSION = 4,
    WRITER_FATBIN_HEADER_BYTES = 6,
    WRITER_FATBIN_ENTRIES_BYTES = 8,
    WRITER_FATBIN_FIRST_ENTRY = 16,
    WRITER_ENTRY_KIND = 0,
    WRITER_ENTRY_VERSION = 2,
    WRITER_ENTRY_HEADER_BYTES = 4,
    WRITER_ENTRY_PAYLOAD_BYTES = 8,
    WRITER_ENTRY_COMPRESSED_BYTES = 16,
    WRITER_ENTRY_OPTIONS = 20,
    WRITER_ENTRY_NAME_OFFSET = 32,
    WRITER_ENTRY_NAME_BYTES = 36,
    WRITER_ENTRY_FLAGS = 40,
    WRITER_ENTRY_FULL_BYTES = 56,
};

struct writer_entry {
    unsigned kind;
    unsigned arch;
    const char *payload;
    size_t payload_bytes;
    enum writer_packing packing;
    uint64_t more_flags;
    const char *source_name;
    const char *options;
};

static const char writer_ptx[] = "\n\n.version 9.0\n.target sm_90\n.address_size 64\n\n"
                                 ".visible .entry nothing(\n)\n{\nret;\n\n}\n";

// PTX as nvcc stores it: its final NUL is part of the payload.
#define WRITER_PTX(how)                                         \
    ((struct writer_entry){.kind = 1,                           \
                           .arch = 90,                          \
                           .payload = writer_ptx,               \
                           .payload_bytes = sizeof(writer_ptx), \
                           .packing = (how)})

static inline void writer_put(char *place, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        place[i] = (char)(value >> 8 * i);
}

static inline void writer_zeros(struct base_buf *out, size_t count)
{
    while (count-- > 0)
        base_buf_putc(out, '\0');
}

static inline void writer_align(struct base_buf *out, size_t start, size_t alignment)
{
    while ((out->length - start) % alignment)
        base_buf_putc(out, '\0');
}

static inline size_t writer_pack(const struct writer_entry *entry, char *out, size_t out_bytes)
{
    if (entry->packing == WRITER_LZ4)
        return (size_t)LZ4_compress_default(entry->payload, out, (int)entry->payload_bytes,
                                            (int)out_bytes);
    if (entry->packing == WRITER_ZSTD)
        return ZSTD_compress(out, out_bytes, entry->payload, entry->payload_bytes, 3);
    memcpy(out, entry->payload, entry->payload_bytes);
    return entry->payload_bytes;
}

static inline void writer_add_entry(struct base_buf *out, const struct writer_entry *entry)
{
    const size_t start = out->length;
    writer_zeros(out, 64);
    size_t name_offset = 0;
    if (entry->source_name) {
        name_offset = out->length - start;
        base_buf_puts(out, entry->source_name);
        writer_align(out, start, 8);
    }
    size_t options_offset = 0;
    if (entry->options) {
        options_offset = out->length - start;
        writer_zeros(out, 8);
        writer_put(out->text + start + options_offset, options_offset + 8, 4);
        writer_put(out->text + start + options_offset + 4, strlen(entry->options), 4);
        base_buf_puts(out, entry->options);
        writer_align(out, start, 8);
    }
    const size_t header_bytes = out->length - start;

    const size_t room = ZSTD_compressBound(entry->payload_bytes) + 1000;
    char *packed = malloc(room);
    assert(packed);
    const size_t packed_bytes = writer_pack(entry, packed, room);
    assert(packed_bytes > 0 && packed_bytes <= room);
    base_buf_add(out, packed, packed_bytes);
    writer_align(out, start, 8);
    free(packed);

    char *header = out->text + start;
    writer_put(header + WRITER_ENTRY_KIND, entry->kind, 2);
    writer_put(header + WRITER_ENTRY_VERSION, 0x0101, 2);
    writer_put(header + WRITER_ENTRY_HEADER_BYTES, header_bytes, 4);
    writer_put(header + WRITER_ENTRY_PAYLOAD_BYTES, out->length - start - header_bytes, 8);
    writer_put(header + WRITER_ENTRY_OPTIONS, options_offset, 4);
    writer_put(header + 24, entry->kind == 1 ? 0 : 8, 2);
    writer_put(header + 26, entry->kind == 1 ? 9 : 1, 2);
    writer_put(header + 28, entry->arch, 4);
    writer_put(header + WRITER_ENTRY_NAME_OFFSET, name_offset, 4);
    writer_put(header + WRITER_ENTRY_NAME_BYTES,
               entry->source_name ? strlen(entry->source_name) : 0, 4);
    writer_put(header + WRITER_ENTRY_FLAGS, 0x11 | entry->packing | entry->more_flags, 8);
    if (entry->packing != WRITER_STORED) {
        writer_put(header + WRITER_ENTRY_COMPRESSED_BYTES, packed_bytes, 4);
        writer_put(header + WRITER_ENTRY_FULL_BYTES, entry->payload_bytes, 8);
    }
}

static inline void writer_add_fatbin(struct base_buf *out, const struct writer_entry *entries,
                                     size_t count)
{
    const size_t start = out->length;
    writer_zeros(out, 16);
    for (size_t i = 0; i < count; i++)
        writer_add_entry(out, &entries[i]);
    char *header = out->text + start;
    writer_put(header, 0xba55ed50, 4);
    writer_put(header + WRITER_FATBIN_VERSION, 1, 2);
    writer_put(header + WRITER_FATBIN_HEADER_BYTES, 16, 2);
    writer_put(header + WRITER_FATBIN_ENTRIES_BYTES, out->length - start - 16, 8);
}

struct writer_section {
    const char *name;
    struct base_str bytes;
    unsigned type; // 0: SHT_PROGBITS
};

// An ELF file: header, contents, names, section headers. Section 0 is the empty one; the given
// sections follow it, then the names.
static inline void writer_add_elf(struct base_buf *out, unsigned type, unsigned machine,
                                  const struct writer_section *sections, size_t count)
{
    const size_t start = out->length;
    Elf64_Shdr *headers = calloc(count + 2, sizeof(*headers));
    assert(headers);
    struct base_buf names = {0};
    base_buf_putc(&names, '\0');
    writer_zeros(out, sizeof(Elf64_Ehdr));
    for (size_t i = 0; i <= count; i++) {
        Elf64_Shdr *header = &headers[i + 1];
        header->sh_name = (Elf64_Word)names.length;
        base_buf_puts(&names, i < count ? sections[i].name : ".shstrtab");
        base_buf_putc(&names, '\0');
        writer_align(out, start, 8);
        header->sh_type = i == count         ? SHT_STRTAB
                          : sections[i].type ? sections[i].type
                                             : SHT_PROGBITS;
        header->sh_offset = out->length - start;
        header->sh_size = i < count ? sections[i].bytes.length : names.length;
        if (i == count)
            base_buf_add(out, names.text, names.length);
        else if (header->sh_type != SHT_NOBITS)
            base_buf_add(out, sections[i].bytes.text, sections[i].bytes.length);
    }
    writer_align(out, start, 8);
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = (Elf64_Half)type,
                         .e_machine = (Elf64_Half)machine,
                         .e_version = EV_CURRENT,
                         .e_shoff = out->length - start,
                         .e_ehsize = sizeof(header),
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = (Elf64_Half)(count + 2),
                         .e_shstrndx = (Elf64_Half)(count + 1)};
    if (machine == 190) {
        header.e_ident[EI_ABIVERSION] = 8;
        header.e_flags = 0x06005a04;
    }
    base_buf_add(out, (const char *)headers, (count + 2) * sizeof(*headers));
    memcpy(out->text + start, &header, sizeof(header));
    base_buf_fini(&names);
    free(headers);
}

// An ELF object for the host with one section.
static inline void writer_add_object(struct base_buf *out, const char *section,
                                     const struct base_buf *bytes)
{
    const struct writer_section sections[] = {{section, {bytes->text, bytes->length}, 0}};
    writer_add_elf(out, ET_REL, EM_AARCH64, sections, 1);
}

// name is as in the header: "a.o/", "/12", "//", "/".
static inline void writer_add_member(struct base_buf *out, const char *name, const char *bytes,
                                     size_t length)
{
    if (out->length == 0)
        base_buf_puts(out, "!<arch>\n");
    base_buf_printf(out, "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", name, 0, 0, 0, 0644u, length);
    base_buf_add(out, bytes, length);
    if (length & 1)
        base_buf_putc(out, '\n');
}

#endif
