// SPDX-License-Identifier: Apache-2.0
// The copy of its PTX that ptxas puts into a cubin if the PTX has line numbers. The copy has the
// lines of the text without what are only comments or debug information. A line of it is followed
// by a NUL.
//
// Two texts are compared line by line, as what remains of a line: without comments, and with one
// space for blanks. Lines of which nothing remains do not count. Neither do .loc and .file, nor
// debug sections (".section .debug_info { ... }"), whose bytes the copy lacks.
#include <string.h>

#include "elf.h"
#include "fatbin.h"
#include "reader.h"

// --- Finding it ----------------------------------------------------------------------------------

bool fatbin_find_copy(const struct fatbin_entry *cubin, struct fatbin_entry *copy)
{
    struct fatbin_elf file = {0};
    uint64_t count = 0;
    if (cubin->kind != FATBIN_CUBIN || cubin->compression != FATBIN_STORED || cubin->relocatable ||
        fatbin_elf_open(&file, cubin->payload, cubin->payload_bytes) ||
        file.header.e_type == ET_REL)
        return false;
    for (uint64_t i = 0; i < file.section_count; i++) {
        const Elf64_Shdr section = fatbin_elf_section(&file, i);
        if (section.sh_type == SHT_NOBITS ||
            !fatbin_elf_section_is(&file, &section, FATBIN_COPY_SECTION))
            continue;
        *copy = (struct fatbin_entry){.kind = FATBIN_PTX,
                                      .arch = cubin->arch,
                                      .payload = file.bytes + section.sh_offset,
                                      .payload_bytes = section.sh_size,
                                      .full_bytes = section.sh_size,
                                      .source_name = {"", 0},
                                      .options = {"", 0},
                                      .section = base_str(FATBIN_COPY_SECTION),
                                      .member = {"", 0},
                                      .fatbin_index = cubin->fatbin_index,
                                      .from_debug_info = true};
        if (++count > 1 || !fatbin_elf_in_range(section.sh_offset, section.sh_size, file.length) ||
            !fatbin_describe_ptx(copy->payload, copy->payload_bytes, true, copy))
            return false;
    }
    return count == 1;
}

// --- Comparing it --------------------------------------------------------------------------------

struct lines {
    const char *at;
    bool comment; // a comment began in an earlier line and has not ended
    struct base_buf line;
};

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n');
}

// Skips a comment, as far as it is in this line. Returns whether there was one.
static bool skip_comment(struct lines *lines)
{
    const char *at = lines->at;
    if (!lines->comment && at[0] == '/' && at[1] == '/') {
        lines->at += strcspn(at, "\n");
        return true;
    }
    if (!lines->comment && (at[0] != '/' || at[1] != '*'))
        return false;
    at += lines->comment ? 0 : 2;
    lines->comment = true;
    while (*at && *at != '\n' && lines->comment) {
        lines->comment = at[0] != '*' || at[1] != '/';
        at += lines->comment ? 1 : 2;
    }
    lines->at = at;
    return true;
}

// Reads what remains of one line.
static void read_line(struct lines *lines)
{
    bool quoted = false, gap = false;
    base_buf_clear(&lines->line);
    while (*lines->at && *lines->at != '\n') {
        if (!quoted && (skip_comment(lines) || is_blank(*lines->at))) {
            gap = true;
            lines->at += is_blank(*lines->at);
            continue;
        }
        if (gap && lines->line.length)
            base_buf_putc(&lines->line, ' ');
        gap = false;
        quoted ^= *lines->at == '"';
        base_buf_putc(&lines->line, *lines->at++);
    }
    lines->at += *lines->at == '\n';
}

static bool starts_with(const struct base_buf *line, const char *words)
{
    return line->length && strncmp(line->text, words, strlen(words)) == 0;
}

// Line numbers are in lines of their own; anything behind them in the line might be code.
static bool is_line_number(const struct base_buf *line)
{
    return (starts_with(line, ".loc ") || starts_with(line, ".file ")) &&
           !strpbrk(line->text, ";{}@");
}

// Reads the next line that counts. Returns false at the end.
static bool next_line(struct lines *lines)
{
    while (*lines->at) {
        const char *start = lines->at;
        const bool inside = lines->comment;
        read_line(lines);
        if (!inside && starts_with(&lines->line, ".section .debug_")) {
            const char *end = strchr(start, '}');
            lines->at = end ? end + 1 : start + strlen(start);
            lines->comment = false;
        } else if (lines->line.length && !is_line_number(&lines->line)) {
            return true;
        }
    }
    return false;
}

bool fatbin_is_copy(const char *copy, const char *text)
{
    struct lines one = {.at = copy}, other = {.at = text};
    bool more, same;
    do {
        more = next_line(&one);
        same = next_line(&other) == more && !one.line.failed && !other.line.failed;
        if (same && more)
            same = one.line.length == other.line.length &&
                   memcmp(one.line.text, other.line.text, one.line.length) == 0;
    } while (same && more);
    base_buf_fini(&one.line);
    base_buf_fini(&other.line);
    return same;
}
