// SPDX-License-Identifier: Apache-2.0
// The interface between the files of src/fatbin: the reader that lists the entries of an image.
// Internal to src/fatbin.
#ifndef GLINT_FATBIN_READER_H
#define GLINT_FATBIN_READER_H

#include <inttypes.h>

#include "fatbin.h"

// All formats are little-endian and are copied into structures; so are all hosts that glint
// supports.
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "glint needs a little-endian host");

#define FATBIN_MAGIC         UINT32_C(0xba55ed50)
#define FATBIN_ARCHIVE_MAGIC "!<arch>\n"

struct fatbin_header {
    uint32_t magic;
    uint16_t version;
    uint16_t header_bytes;
    uint64_t entries_bytes;
};
_Static_assert(sizeof(struct fatbin_header) == 16, "as in the file");

struct fatbin_entry_header {
    uint16_t kind;
    uint16_t version;
    uint32_t header_bytes;     // including the names that follow these 64 bytes
    uint64_t payload_bytes;    // padded
    uint32_t compressed_bytes; // without padding; 0 if stored
    uint32_t options_offset;   // of a struct fatbin_options_place; 0: none
    uint16_t version_minor;
    uint16_t version_major;
    uint32_t arch;
    uint32_t name_offset; // 0: none
    uint32_t name_bytes;
    uint64_t flags;
    uint64_t unused;
    uint64_t full_bytes; // 0 if stored
};
_Static_assert(sizeof(struct fatbin_entry_header) == 64, "as in the file");

struct fatbin_options_place {
    uint32_t offset; // from the start of the entry, as all its offsets
    uint32_t bytes;
};

// Offsets count from the first byte of `bytes`: a file, an archive's member, or an image in memory.
// Errors and entries count them from the start of the file.
struct fatbin_reader {
    struct fatbin_image *image;
    const unsigned char *bytes;
    size_t length;
    size_t file_offset; // of bytes[0] in the file
    struct base_str member;
    struct base_error *error;
};

static inline bool fatbin_starts_with(const struct fatbin_reader *reader, const void *magic,
                                      size_t magic_bytes)
{
    return reader->length >= magic_bytes && memcmp(reader->bytes, magic, magic_bytes) == 0;
}

// image.c: adds a copy of an entry, whose offset counts from the reader's bytes. The text of its
// section is NULL if it is in none.
enum base_code fatbin_add_entry(struct fatbin_reader *reader, const struct fatbin_entry *entry);

// image.c: reads any form but an archive. Sets *recognised to whether the form can hold device
// code, and returns BASE_OK if it cannot.
enum base_code fatbin_read_single(struct fatbin_reader *reader, enum fatbin_form *form,
                                  bool *recognised);

// archive.c: reads all members of a static archive.
enum base_code fatbin_read_archive(struct fatbin_reader *reader);

// entries.c: reads all entries of the fatbins in [start, end), which may be separated by zeros. The
// caller has checked that the range lies in the reader's bytes.
enum base_code fatbin_read_fatbins(struct fatbin_reader *reader, size_t start, size_t end,
                                   const char *section, bool relocatable);

// elf.c: reads an ELF file. The reader's bytes begin with ELF's magic number.
enum base_code fatbin_read_elf(struct fatbin_reader *reader, enum fatbin_form *form);

// elf.c: returns the size of an ELF file according to its headers, none of which lies past `limit`;
// 0 if they are inconsistent or exceed the limit.
size_t fatbin_elf_size(const unsigned char *bytes, size_t limit);

// ptx.c: returns whether the text begins with a PTX directive, and then sets the entry's version
// and architecture. Reads no further than necessary, and not past a NUL unless nul_is_newline.
bool fatbin_describe_ptx(const unsigned char *text, size_t length, bool nul_is_newline,
                         struct fatbin_entry *entry);

#endif
