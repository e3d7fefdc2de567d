// SPDX-License-Identifier: Apache-2.0
// Names of variables in images of device code. PTX is not parsed, which would take a thousand times
// as long: at module scope a variable's declaration is a statement of directives with .global or
// .const among them, then the name. In a cubin they are objects in the symbol table, in the
// sections for global and constant memory.
#include "globals.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"

void util_globals_fini(struct util_globals *globals)
{
    base_buf_fini(&globals->names);
    *globals = (struct util_globals){0};
}

static void add(struct util_globals *globals, const char *name, size_t length)
{
    if (globals->count == GLOBALS_MOST) {
        globals->truncated = true;
        return;
    }
    base_buf_add(&globals->names, name, length);
    base_buf_putc(&globals->names, '\0');
    globals->count += !globals->names.failed;
}

// --- PTX -----------------------------------------------------------------------------------------

struct scan {
    const char *at, *end;
    unsigned braces, brackets; // open ones: { and (
    // The statement has .global or .const; has .extern; declares a texture or similar; its = was
    // read.
    bool variable, elsewhere, opaque, valued;
    const char *name; // of the statement, at module scope
    size_t length;
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%' || c == '.';
}

static const char *find(const char *at, const char *end, const char *what)
{
    const char *found = memmem(at, (size_t)(end - at), what, strlen(what));
    return found ? found + strlen(what) : end;
}

// Skips a comment or a string, if one begins here.
static bool skip(struct scan *scan)
{
    const size_t left = (size_t)(scan->end - scan->at);
    if (left > 1 && memcmp(scan->at, "//", 2) == 0)
        scan->at = find(scan->at, scan->end, "\n");
    else if (left > 1 && memcmp(scan->at, "/*", 2) == 0)
        scan->at = find(scan->at + 2, scan->end, "*/");
    else if (*scan->at == '"')
        scan->at = find(scan->at + 1, scan->end, "\"");
    else
        return false;
    return true;
}

static void word(struct scan *scan, const char *text, size_t length)
{
#define IS(directive) (length == strlen(directive) && memcmp(text, directive, length) == 0)
    if (scan->braces || scan->brackets || scan->valued)
        return;
    if (IS(".global") || IS(".const"))
        scan->variable = true;
    else if (IS(".extern"))
        scan->elsewhere = true;
    else if (IS(".texref") || IS(".samplerref") || IS(".surfref"))
        scan->opaque = true;
    else if (scan->variable && !scan->name && text[0] != '.' && (text[0] < '0' || text[0] > '9')) {
        scan->name = text;
        scan->length = length;
    }
#undef IS
}

static void end_name(struct scan *scan, struct util_globals *globals)
{
    if (scan->name && !scan->elsewhere && !scan->opaque)
        add(globals, scan->name, scan->length);
    scan->name = NULL;
    scan->valued = false;
}

static void end_statement(struct scan *scan, struct util_globals *globals)
{
    end_name(scan, globals);
    scan->variable = scan->elsewhere = scan->opaque = false;
}

static void mark(struct scan *scan, char c, struct util_globals *globals)
{
    switch (c) {
    case '(': scan->brackets++; break;
    case ')': scan->brackets -= scan->brackets > 0; break;
    case '{': scan->braces++; break;
    case '}':
        scan->braces -= scan->braces > 0;
        if (!scan->braces && !scan->valued) // the end of a function, or of a section
            end_statement(scan, globals);
        break;
    case '=': scan->valued = true; break;
    case ',':
        if (!scan->braces && !scan->brackets)
            end_name(scan, globals);
        break;
    case ';':
        if (!scan->braces)
            end_statement(scan, globals);
        break;
    default: break;
    }
}

void util_globals_of_ptx(const char *text, size_t length, struct util_globals *globals)
{
    struct scan scan = {.at = text, .end = text + length};
    while (scan.at < scan.end) {
        const char *start = scan.at;
        if (skip(&scan))
            continue;
        while (scan.at < scan.end && is_word(*scan.at))
            scan.at++;
        if (scan.at > start)
            word(&scan, start, (size_t)(scan.at - start));
        else
            mark(&scan, *scan.at++, globals);
    }
}

// --- Cubins --------------------------------------------------------------------------------------

struct elf {
    const char *bytes;
    size_t length;
    Elf64_Ehdr head;
};

static bool section_of(const struct elf *elf, size_t index, Elf64_Shdr *section)
{
    if (index >= elf->head.e_shnum || elf->head.e_shentsize != sizeof(*section))
        return false;
    const size_t before = index * sizeof(*section);
    if (elf->head.e_shoff > elf->length || elf->length - elf->head.e_shoff < before ||
        elf->length - elf->head.e_shoff - before < sizeof(*section))
        return false;
    memcpy(section, elf->bytes + elf->head.e_shoff + before, sizeof(*section));
    return section->sh_type == SHT_NOBITS || (section->sh_offset <= elf->length &&
                                              section->sh_size <= elf->length - section->sh_offset);
}

// Returns the text at an offset of a string section; NULL: it does not end within the section.
static const char *text_at(const struct elf *elf, const Elf64_Shdr *texts, size_t offset)
{
    if (texts->sh_type != SHT_STRTAB || offset >= texts->sh_size)
        return NULL;
    const char *text = elf->bytes + texts->sh_offset + offset;
    return memchr(text, '\0', texts->sh_size - offset) ? text : NULL;
}

static bool holds_variables(const struct elf *elf, const Elf64_Shdr *section_names, size_t index)
{
    Elf64_Shdr section;
    const char *name =
        section_of(elf, index, &section) ? text_at(elf, section_names, section.sh_name) : NULL;
    return name && (strcmp(name, ".nv.global") == 0 || strcmp(name, ".nv.global.init") == 0 ||
                    strcmp(name, ".nv.constant3") == 0);
}

static void symbols_of(const struct elf *elf, const Elf64_Shdr *table, struct util_globals *globals)
{
    Elf64_Shdr names, section_names;
    if (table->sh_entsize != sizeof(Elf64_Sym) || !section_of(elf, table->sh_link, &names) ||
        !section_of(elf, elf->head.e_shstrndx, &section_names))
        return;
    for (size_t i = 0; i < table->sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, elf->bytes + table->sh_offset + i * sizeof(symbol), sizeof(symbol));
        const char *name = ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_size
                               ? text_at(elf, &names, symbol.st_name)
                               : NULL;
        if (name && *name && holds_variables(elf, &section_names, symbol.st_shndx))
            add(globals, name, strlen(name));
    }
}

void util_globals_of_cubin(const void *bytes, size_t length, struct util_globals *globals)
{
    struct elf elf = {.bytes = bytes, .length = length};
    Elf64_Shdr section;
    if (length < sizeof(elf.head))
        return;
    memcpy(&elf.head, bytes, sizeof(elf.head));
    if (memcmp(elf.head.e_ident, ELFMAG, SELFMAG) != 0 || elf.head.e_ident[EI_CLASS] != ELFCLASS64)
        return;
    for (size_t i = 0; i < elf.head.e_shnum; i++) {
        if (section_of(&elf, i, &section) && section.sh_type == SHT_SYMTAB)
            symbols_of(&elf, &section, globals);
    }
}

// --- Images --------------------------------------------------------------------------------------

static void read_entry(const struct fatbin_entry *entry, struct util_globals *globals)
{
    struct base_error error = {0};
    char *text = NULL;
    size_t length = 0;
    if (entry->full_bytes > GLOBALS_MOST_BYTES || entry->payload_bytes > GLOBALS_MOST_BYTES) {
        globals->truncated = true;
        return;
    }
    const char *bytes = (const char *)entry->payload;
    length = entry->payload_bytes;
    if (entry->compression != FATBIN_STORED) {
        if (fatbin_entry_text(entry, &text, &length, &error) != BASE_OK)
            return;
        bytes = text;
    }
    if (entry->kind == FATBIN_PTX)
        util_globals_of_ptx(bytes, strnlen(bytes, length), globals);
    else
        util_globals_of_cubin(bytes, length, globals);
    free(text);
}

// For each fatbin of an image, which are linked together, adds the code that fits best.
static void read_image(struct fatbin_image *image, unsigned major, unsigned minor,
                       struct util_globals *globals)
{
    const struct fatbin_entry *best = NULL;
    for (size_t i = 0; i < image->entries.count; i++) {
        const struct fatbin_entry *entry = &image->entries.items[i];
        if (best && entry->fatbin_index != best->fatbin_index) {
            read_entry(best, globals);
            best = NULL;
        }
        if (util_code_fitness(entry, major, minor) >
            (best ? util_code_fitness(best, major, minor) : 0))
            best = entry;
    }
    if (best)
        read_entry(best, globals);
    fatbin_close(image);
}

void util_globals_of_image(const void *image, unsigned major, unsigned minor,
                           struct util_globals *globals)
{
    struct base_error error = {0};
    struct fatbin_image *opened;
    if (fatbin_open_memory(image, &opened, &error) == BASE_OK)
        read_image(opened, major, minor, globals);
}

void util_globals_of_file(const char *path, unsigned major, unsigned minor,
                          struct util_globals *globals)
{
    struct base_error error = {0};
    struct fatbin_image *opened;
    if (fatbin_open_file(path, &opened, &error) == BASE_OK)
        read_image(opened, major, minor, globals);
}
