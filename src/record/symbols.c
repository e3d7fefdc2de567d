// SPDX-License-Identifier: Apache-2.0
// Symbolization with libdw. Results are cached until there are too many; the files used last stay
// open. A file, and a debug file that belongs to it, is used only if its build id is that of the
// image that ran.
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "functions.h"
#include "record.h"
#include "symbols.h"

enum { OPEN_MOST = 48, KEPT_MOST_BYTES = 32 << 20, FRAMES_MOST = 64 };

struct image {
    char *path;
    unsigned char build_id[32];
    size_t build_id_bytes;
    Dwfl *dwfl; // NULL: not open
    Dwfl_Module *module;
    struct record_functions *functions; // NULL: not sorted yet
    uint64_t used;                      // the value of symbols->clock at the last use
    int64_t built_s;
    enum record_symbols_status status;
    bool names_only;
    struct base_map places; // struct record_symbols_place *, by return address
};

struct record_symbols {
    char *debug_folder;
    Dwfl_Callbacks callbacks;
    BASE_ARRAY(struct image) images;
    unsigned open_count;
    uint64_t clock;
    struct base_arena kept; // places, frames and texts
    struct base_map texts;  // to one copy of each text
};

// --- Debug files ---------------------------------------------------------------------------------

// Opens the file if it has the build id; else returns -1.
static int open_with_id(const char *path, const void *wanted, size_t wanted_bytes)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    Elf *elf = elf_begin(file, ELF_C_READ_MMAP, NULL);
    const void *id = NULL;
    ssize_t bytes = elf ? dwelf_elf_gnu_build_id(elf, &id) : -1;
    bool same = bytes > 0 && (size_t)bytes == wanted_bytes && !memcmp(id, wanted, wanted_bytes);
    elf_end(elf);
    if (same)
        return file;
    close(file);
    return -1;
}

// Replaces libdw's own search, which would query servers if DEBUGINFOD_URLS is set.
static int find_debug_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
                           const char *path, const char *link, GElf_Word link_crc, char **found)
{
    (void)name, (void)base, (void)link_crc;
    const struct record_symbols *symbols = *user;
    const unsigned char *id;
    GElf_Addr id_address;
    int id_bytes = dwfl_module_build_id(module, &id, &id_address);
    if (id_bytes < 2)
        return -1;
    struct base_buf text = {0};
    base_buf_printf(&text, "%s/.build-id/%02x/", symbols->debug_folder, id[0]);
    for (int i = 1; i < id_bytes; i++)
        base_buf_printf(&text, "%02x", id[i]);
    base_buf_puts(&text, ".debug");
    int file = text.failed ? -1 : open_with_id(text.text, id, (size_t)id_bytes);
    const char *slash = path ? strrchr(path, '/') : NULL;
    for (unsigned i = 0; i < 3 && file < 0 && link && slash;
         i++) { // next to it, where debuggers look too
        int folder_bytes = (int)(slash - path);
        text.length = 0;
        if (i == 2)
            base_buf_puts(&text, symbols->debug_folder);
        base_buf_printf(&text, "%.*s/%s%s", folder_bytes, path, i == 1 ? ".debug/" : "", link);
        if (text.failed || !strcmp(text.text, path))
            continue;
        file = open_with_id(text.text, id, (size_t)id_bytes);
    }
    *found = file >= 0 ? text.text : NULL; // libdw frees it
    if (file < 0)
        base_buf_fini(&text);
    return file;
}

static int find_no_elf(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
                       char **path, Elf **elf)
{
    (void)module, (void)user, (void)name, (void)base, (void)path, (void)elf;
    return -1; // the file was passed when the module was reported
}

// --- Images --------------------------------------------------------------------------------------

struct record_symbols *record_symbols_create(const char *debug_folder)
{
    struct record_symbols *symbols = calloc(1, sizeof(*symbols));
    if (!symbols)
        return NULL;
    base_arena_init(&symbols->kept, 0);
    symbols->callbacks = (Dwfl_Callbacks){.find_elf = find_no_elf,
                                          .find_debuginfo = find_debug_file,
                                          .section_address = dwfl_offline_section_address};
    symbols->debug_folder = strdup(debug_folder ? debug_folder : "/usr/lib/debug");
    if (!symbols->debug_folder) {
        free(symbols);
        return NULL;
    }
    return symbols;
}

static void close_image(struct record_symbols *symbols, struct image *image)
{
    if (!image->dwfl)
        return;
    record_functions_destroy(image->functions);
    image->functions = NULL;
    dwfl_end(image->dwfl);
    image->dwfl = NULL;
    image->module = NULL;
    symbols->open_count--;
}

static void forget_places(struct record_symbols *symbols)
{
    for (size_t i = 0; i < symbols->images.count; i++)
        base_map_fini(&symbols->images.items[i].places);
    base_map_fini(&symbols->texts);
    base_arena_fini(&symbols->kept);
}

void record_symbols_destroy(struct record_symbols *symbols)
{
    if (!symbols)
        return;
    forget_places(symbols);
    for (size_t i = 0; i < symbols->images.count; i++) {
        close_image(symbols, &symbols->images.items[i]);
        free(symbols->images.items[i].path);
    }
    base_array_fini(&symbols->images);
    free(symbols->debug_folder);
    free(symbols);
}

uint32_t record_symbols_image(struct record_symbols *symbols, const char *path, size_t path_bytes,
                              const unsigned char *build_id, size_t build_id_bytes)
{
    size_t most = sizeof(symbols->images.items->build_id);
    if (build_id_bytes > most)
        build_id_bytes = most;
    for (size_t i = 0; i < symbols->images.count; i++) {
        const struct image *image = &symbols->images.items[i];
        if (strlen(image->path) == path_bytes && !memcmp(image->path, path, path_bytes) &&
            image->build_id_bytes == build_id_bytes &&
            (!build_id_bytes || !memcmp(image->build_id, build_id, build_id_bytes)))
            return (uint32_t)i + 1;
    }
    char *copy = strndup(path, path_bytes);
    struct image *image = copy ? base_array_push(&symbols->images) : NULL;
    if (!image) {
        free(copy);
        return 0;
    }
    image->path = copy;
    image->build_id_bytes = build_id_bytes;
    if (build_id_bytes)
        memcpy(image->build_id, build_id, build_id_bytes);
    return (uint32_t)symbols->images.count;
}

void record_symbols_names_only(struct record_symbols *symbols, uint32_t image_number)
{
    symbols->images.items[image_number - 1].names_only = true;
}

static bool has_id(const struct image *image)
{
    const unsigned char *id;
    GElf_Addr address;
    int bytes = dwfl_module_build_id(image->module, &id, &address);
    return !image->build_id_bytes || (bytes > 0 && (size_t)bytes >= image->build_id_bytes &&
                                      !memcmp(id, image->build_id, image->build_id_bytes));
}

static enum record_symbols_status open_module(struct record_symbols *symbols, struct image *image)
{
    int file = open(image->path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return RECORD_SYMBOLS_NO_FILE;
    struct stat status;
    image->built_s = fstat(file, &status) ? 0 : status.st_mtim.tv_sec;
    image->dwfl = dwfl_begin(&symbols->callbacks);
    if (!image->dwfl) {
        close(file);
        return RECORD_SYMBOLS_NO_FILE;
    }
    symbols->open_count++;
    dwfl_report_begin(image->dwfl);
    // With bias 0, addresses are those of the file.
    image->module = dwfl_report_elf(image->dwfl, image->path, image->path, file, 0, true);
    if (!image->module)
        close(file);
    dwfl_report_end(image->dwfl, NULL, NULL);
    void **user;
    if (!image->module ||
        !dwfl_module_info(image->module, &user, NULL, NULL, NULL, NULL, NULL, NULL))
        return RECORD_SYMBOLS_NO_FILE;
    *user = symbols;
    return has_id(image) ? RECORD_SYMBOLS_FOUND : RECORD_SYMBOLS_CHANGED;
}

// Opens the file unless it is open or cannot be used. If too many files are open, closes the one
// that was not used for the longest time.
static void ensure_open(struct record_symbols *symbols, struct image *image)
{
    image->used = ++symbols->clock;
    if (image->dwfl || image->status != RECORD_SYMBOLS_FOUND)
        return;
    if (symbols->open_count >= OPEN_MOST) {
        struct image *oldest = NULL;
        for (size_t i = 0; i < symbols->images.count; i++) {
            struct image *other = &symbols->images.items[i];
            if (other->dwfl && (!oldest || other->used < oldest->used))
                oldest = other;
        }
        if (oldest)
            close_image(symbols, oldest);
    }
    image->status = open_module(symbols, image);
    if (image->status != RECORD_SYMBOLS_FOUND)
        close_image(symbols, image);
}

struct Dwfl_Module *record_symbols_module(struct record_symbols *symbols, uint32_t image)
{
    ensure_open(symbols, &symbols->images.items[image - 1]);
    return symbols->images.items[image - 1].module;
}

const char *record_symbols_function(struct record_symbols *symbols, uint32_t image_number,
                                    uint64_t address, uint64_t *offset, unsigned *type)
{
    struct image *image = &symbols->images.items[image_number - 1];
    ensure_open(symbols, image);
    if (image->module && !image->functions)
        image->functions = record_functions_create(image->module);
    return image->functions ? record_functions_find(image->functions, address, offset, type) : NULL;
}

// --- One address ---------------------------------------------------------------------------------

struct search {
    struct record_symbols *symbols;
    struct record_symbols_frame frames[FRAMES_MOST];
    uint32_t count;
    bool failed; // memory ran out
};

// Returns one copy of each text, which lives as long as the places.
static const char *keep_text(struct search *search, const char *text)
{
    if (!text)
        return NULL;
    struct record_symbols *symbols = search->symbols;
    const uint64_t *known = base_map_get_str(&symbols->texts, base_str(text));
    if (known)
        return (const char *)(uintptr_t)*known;
    char *copy = base_alloc_text(&symbols->kept, text, strlen(text));
    uint64_t *place = copy ? base_map_put_str(&symbols->texts, base_str(copy), NULL) : NULL;
    if (!place) {
        search->failed = true;
        return NULL;
    }
    *place = (uint64_t)(uintptr_t)copy;
    return copy;
}

// Symbols may have a version behind their name: "qsort@@GLIBC_2.2.5".
static const char *keep_function(struct search *search, const char *name)
{
    char *plain = name ? record_demangle(name) : NULL;
    if (plain && strchr(plain, '@'))
        *strchr(plain, '@') = '\0';
    search->failed |= name && !plain;
    const char *kept = keep_text(search, plain);
    free(plain);
    return kept;
}

static const char *linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) &&
        !dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        return NULL;
    return dwarf_formstring(&attribute);
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    return dwarf_attr(die, name, &attribute) && !dwarf_formudata(&attribute, &value) &&
                   value <= UINT32_MAX
               ? (uint32_t)value
               : 0;
}

// Returns the compilation unit that contains the address. Without .debug_aranges this is a search.
// With it, the unit that libdw returns may end before the address, as for the code that calls main.
static Dwarf_Die *find_unit(Dwfl_Module *module, uint64_t address, Dwarf_Addr *bias)
{
    Dwarf_Die *unit = dwfl_module_addrdie(module, address, bias);
    if (unit && dwarf_haspc(unit, address - *bias) != 0)
        return unit;
    unit = NULL;
    while ((unit = dwfl_module_nextcu(module, unit, bias)))
        if (dwarf_haspc(unit, address - *bias) > 0)
            break;
    return unit;
}

// Returns the scopes of the code, innermost first. dwarf_getscopes alone returns the scopes of the
// definition of an inlined function.
static int find_scopes(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die **scopes)
{
    Dwarf_Die *of_definition = NULL;
    int count = dwarf_getscopes(unit, address, &of_definition);
    if (count > 0) {
        Dwarf_Die innermost = of_definition[0];
        count = dwarf_getscopes_die(&innermost, scopes);
    }
    free(of_definition);
    return count;
}

// nvcc passes a reformatted copy of the source to the host compiler: lines are those of the source,
// columns those of the copy.
static bool has_columns(Dwarf_Die *unit)
{
    const char *name = dwarf_diename(unit);
    return !name || !strstr(name, ".cudafe1.");
}

// Adds frames from debug information. `name` and `offset` are those of the symbol, which is the
// better name for a function without a linkage name.
static void add_debug_frames(struct search *search, Dwfl_Module *module, uint64_t address,
                             const char *name, uint64_t offset)
{
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = find_unit(module, address, &bias), *scopes = NULL;
    if (!unit)
        return;
    bool columns = has_columns(unit);
    Dwarf_Attribute folder_of;
    const char *folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &folder_of));
    folder = keep_text(search, folder);
    struct record_symbols_frame frame = {.offset = offset, .folder = folder};
    Dwarf_Line *line = dwarf_getsrc_die(unit, address - bias);
    int number = 0, column = 0;
    if (line && !dwarf_lineno(line, &number) && number > 0) {
        frame.file = keep_text(search, dwarf_linesrc(line, NULL, NULL));
        frame.line = (uint32_t)number;
        if (columns && !dwarf_linecol(line, &column) && column > 0)
            frame.column = (uint32_t)column;
    }
    Dwarf_Files *files = NULL;
    size_t file_count = 0;
    dwarf_getsrcfiles(unit, &files, &file_count);
    int count = find_scopes(unit, address - bias, &scopes);
    bool whole = false;
    for (int i = 0; i < count && !whole && search->count < FRAMES_MOST; i++) {
        int tag = dwarf_tag(&scopes[i]);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
            continue;
        const char *linked = linkage_name(&scopes[i]);
        whole = tag == DW_TAG_subprogram;
        if (!linked && whole && name && name[0] == '_' && name[1] == 'Z')
            linked = name;
        frame.function = keep_function(search, linked ? linked : dwarf_diename(&scopes[i]));
        frame.inlined = !whole;
        search->frames[search->count++] = frame;
        frame = (struct record_symbols_frame){.offset = offset, .folder = folder};
        uint32_t file = number_of(&scopes[i], DW_AT_call_file);
        frame.line = number_of(&scopes[i], DW_AT_call_line);
        frame.column = columns ? number_of(&scopes[i], DW_AT_call_column) : 0;
        if (frame.line && file < file_count)
            frame.file = keep_text(search, dwarf_filesrc(files, file, NULL, NULL));
    }
    free(scopes);
    if (!search->count && frame.file) { // a line without a function, as in assembly
        frame.function = keep_function(search, name);
        search->frames[search->count++] = frame;
    }
}

static void find_frames(struct search *search, uint32_t image_number, uint64_t return_address)
{
    const struct image *image = &search->symbols->images.items[image_number - 1];
    uint64_t address = return_address - 1;
    if (image->module) {
        uint64_t from_symbol = 0;
        unsigned type;
        const char *name =
            record_symbols_function(search->symbols, image_number, address, &from_symbol, &type);
        uint64_t offset = name ? from_symbol + 1 : return_address;
        if (!image->names_only)
            add_debug_frames(search, image->module, address, name, offset);
        if (!search->count && name)
            search->frames[search->count++] = (struct record_symbols_frame){
                .function = keep_function(search, name), .offset = offset};
    }
    if (!search->count)
        search->frames[search->count++] = (struct record_symbols_frame){.offset = return_address};
}

const struct record_symbols_place *
record_symbols_find(struct record_symbols *symbols, uint32_t image_number, uint64_t return_address)
{
    struct image *image = &symbols->images.items[image_number - 1];
    const uint64_t *known = base_map_get(&image->places, return_address);
    if (known)
        return (const struct record_symbols_place *)(uintptr_t)*known;
    if (symbols->kept.allocated_bytes > KEPT_MOST_BYTES)
        forget_places(symbols);
    ensure_open(symbols, image);
    struct search search = {.symbols = symbols};
    find_frames(&search, image_number, return_address);
    struct record_symbols_place *place = base_new(&symbols->kept, struct record_symbols_place);
    struct record_symbols_frame *frames =
        base_new_array(&symbols->kept, struct record_symbols_frame, search.count);
    uint64_t *slot = place && frames ? base_map_put(&image->places, return_address, NULL) : NULL;
    if (!slot)
        return NULL;
    if (search.failed) {
        base_map_remove(&image->places, return_address);
        return NULL;
    }
    memcpy(frames, search.frames, search.count * sizeof(*frames));
    for (uint32_t i = 0; i < search.count; i++)
        frames[i].built_s = image->built_s;
    *place = (struct record_symbols_place){image->status, search.count, frames};
    *slot = (uint64_t)(uintptr_t)place;
    return place;
}
