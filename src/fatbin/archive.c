// SPDX-License-Identifier: Apache-2.0
// Reads static archives: each member is read as if it were a file. Archives in archives are
// ignored.
#include <elf.h>

#include "reader.h"

struct archive_header {
    char name[16];
    char unused[32]; // date, owner, group, mode
    char size[10];   // decimal, padded with blanks
    char end[2];
};
_Static_assert(sizeof(struct archive_header) == 60, "as in the file");

static bool parse_decimal(const char *digits, size_t count, uint64_t *number)
{
    size_t i = 0;
    *number = 0;
    for (; i < count && digits[i] >= '0' && digits[i] <= '9'; i++)
        *number = *number * 10 + (uint64_t)(digits[i] - '0');
    const bool any = i > 0;
    while (i < count && digits[i] == ' ')
        i++;
    return any && i == count;
}

// In GNU archives a name is "name/", or "/123" for a name in the member "//", where each name ends
// with "/\n".
static struct base_str member_name(const char *field, struct base_str long_names)
{
    struct base_str name = {field, sizeof(((struct archive_header *)0)->name)};
    uint64_t offset;
    if (field[0] == '/' && parse_decimal(field + 1, name.length - 1, &offset) &&
        offset < long_names.length)
        name = (struct base_str){long_names.text + offset, long_names.length - offset};
    const char *end = memchr(name.text, '/', name.length);
    name.length = end ? (size_t)(end - name.text) : name.length;
    return name;
}

// Members of other formats are ignored.
static bool is_foreign(const unsigned char *bytes, size_t length)
{
    return length > EI_DATA && memcmp(bytes, ELFMAG, SELFMAG) == 0 &&
           (bytes[EI_CLASS] != ELFCLASS64 || bytes[EI_DATA] != ELFDATA2LSB);
}

enum base_code fatbin_read_archive(struct fatbin_reader *archive)
{
    struct base_error *error = archive->error;
    struct base_str long_names = {"", 0};
    for (size_t at = sizeof(FATBIN_ARCHIVE_MAGIC) - 1; at < archive->length;) {
        struct archive_header header;
        uint64_t size;
        const char *field = (const char *)archive->bytes + at;
        BASE_RETURN_IF(archive->length - at < sizeof(header), error, BASE_CORRUPT,
                       "the archive member at offset 0x%zx is truncated", at);
        memcpy(&header, field, sizeof(header));
        at += sizeof(header);
        BASE_RETURN_IF(memcmp(header.end, "`\n", 2) != 0 ||
                           !parse_decimal(header.size, sizeof(header.size), &size),
                       error, BASE_CORRUPT, "no archive member at offset 0x%zx",
                       at - sizeof(header));
        BASE_RETURN_IF(size > archive->length - at, error, BASE_CORRUPT,
                       "the archive member at offset 0x%zx states %" PRIu64
                       " bytes, but %zu remain; is it truncated?",
                       at - sizeof(header), size, archive->length - at);
        const bool index =
            memcmp(header.name, "/ ", 2) == 0 || memcmp(header.name, "/SYM64/", 7) == 0;
        if (memcmp(header.name, "// ", 3) == 0) {
            long_names = (struct base_str){(const char *)archive->bytes + at, size};
        } else if (!index && !is_foreign(archive->bytes + at, size)) {
            struct fatbin_reader member = *archive;
            member.bytes += at;
            member.length = size;
            member.file_offset += at;
            member.member = member_name(field, long_names);
            enum fatbin_form form;
            bool recognised;
            enum base_code code = fatbin_read_single(&member, &form, &recognised);
            // BASE_NOT_FOUND: an ELF file without section headers.
            if (code && code != BASE_NOT_FOUND) {
                base_fail_while(error, "archive member %.*s", BASE_STR_ARG(member.member));
                return code;
            }
        }
        // Members begin on even offsets.
        at += size + (size & 1 && at + size < archive->length);
    }
    return BASE_OK;
}
