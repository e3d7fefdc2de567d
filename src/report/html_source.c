// SPDX-License-Identifier: Apache-2.0
// Writes the source lines that the page's findings point to, as they are on this machine now. A
// file is searched for in the folders where the program may have been compiled, starting from where
// it ran. Only files whose names are those of source files are read, because a profile may come
// from somebody else.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "html.h"
#include "json_members.h"

enum {
    MOST_FILES = 200,
    MOST_FILE_BYTES = 4 << 20,
    AROUND_FINDING = 12, // lines before and after
    AROUND_CALLER = 3,
};

struct wanted_line {
    uint32_t file, line;
    uint32_t around;  // lines
    uint32_t finding; // counted from 1; 0: only a caller
    uint32_t role;    // which call of the finding: 0, 1 or 2
};

struct wanted_file {
    const char *name; // as in the call path
    char *path;       // where it was found; NULL: not found
    char *text;
    bool changed; // modified after the program was started
};

struct sources {
    struct page *page;
    struct base_map known; // name to index + 1
    BASE_ARRAY(struct wanted_file) files;
    BASE_ARRAY(struct wanted_line) lines;
    uint64_t lines_shown, lines_wanted;
};

// --- Choosing lines ------------------------------------------------------------------------------

static void want_line(struct sources *sources, const struct profile_frame *frame, uint32_t around,
                      uint32_t finding, uint32_t role)
{
    struct page *page = sources->page;
    if (!frame->file || !frame->line || page->failed)
        return;
    uint64_t *slot = base_map_put_str(&sources->known, base_str(frame->file), NULL);
    if (slot && *slot == 0 && sources->files.count < MOST_FILES) {
        struct wanted_file *file = base_array_push(&sources->files);
        if (file)
            file->name = frame->file;
        *slot = file ? sources->files.count : 0;
        page->failed |= !file;
    }
    page->failed |= !slot;
    if (page->failed || *slot == 0)
        return;
    struct wanted_line *line = base_array_push(&sources->lines);
    page->failed |= !line;
    if (line)
        *line = (struct wanted_line){(uint32_t)*slot - 1, frame->line, around, finding, role};
}

static void want_lines(struct sources *sources)
{
    const struct report_data *data = sources->page->data;
    for (size_t i = 0; i < sources->page->findings; i++) {
        const struct analyze_finding *finding = analyze_finding(data->analysis, i);
        const uint32_t paths[] = {finding->path, finding->other_path, finding->last_path};
        for (uint32_t role = 0; role < 3; role++) {
            const struct report_path *path = report_path_of(data, paths[role]);
            const struct profile_frame *place = report_place(data, paths[role]);
            if (place)
                want_line(sources, place, AROUND_FINDING, (uint32_t)i + 1, role);
            for (uint32_t k = 0; path && k < path->frame_count; k++) {
                if (&path->frames[k] != place)
                    want_line(sources, &path->frames[k], AROUND_CALLER, 0, 0);
            }
        }
    }
}

// --- Files ---------------------------------------------------------------------------------------

static bool is_source(const char *name)
{
    static const char *const endings[] = {".c",   ".cc",  ".cpp", ".cxx", ".cu",  ".cuh", ".h",
                                          ".hh",  ".hpp", ".hxx", ".inl", ".f90", ".F90", ".f",
                                          ".cuf", ".py",  ".jl",  ".rs",  ".hip", ".cl"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof(endings) / sizeof(endings[0]); i++) {
        if (strcmp(dot, endings[i]) == 0)
            return true;
    }
    return false;
}

// Reads the path if it is a regular file. Returns false if it is not, or when memory ran out.
static bool try_path(struct sources *sources, struct wanted_file *file, struct base_buf *path)
{
    struct stat about;
    struct base_error error = {0};
    size_t length;
    int64_t started = profile_program(sources->page->profile)->start_unix_ns;
    sources->page->failed |= path->failed;
    if (path->failed || stat(path->text, &about) != 0 || !S_ISREG(about.st_mode) ||
        about.st_size > MOST_FILE_BYTES ||
        base_file_read(path->text, &file->text, &length, &error) != BASE_OK)
        return false;
    file->path = strdup(path->text);
    file->changed = started && (int64_t)about.st_mtime > started / 1000000000;
    sources->page->failed |= !file->path;
    return true;
}

// Tries the folder and all folders above it. Relative names in debug information refer to the
// folder in which the compiler ran, which is often one of these.
static bool try_folders(struct sources *sources, struct wanted_file *file, const char *folder)
{
    size_t length = folder ? strlen(folder) : 0;
    bool found = false;
    while (length && !found) {
        struct base_buf path = {0};
        base_buf_printf(&path, "%.*s/%s", (int)length, folder, file->name);
        found = try_path(sources, file, &path);
        base_buf_fini(&path);
        while (length && folder[length - 1] != '/')
            length--;
        length -= length > 0; // removes the slash
    }
    return found;
}

static void find_file(struct sources *sources, struct wanted_file *file)
{
    const struct profile_program *program = profile_program(sources->page->profile);
    if (!is_source(file->name))
        return;
    struct base_buf path = {0};
    base_buf_puts(&path, file->name);
    if (!(file->name[0] == '/' && try_path(sources, file, &path)) &&
        !try_folders(sources, file, program->folder) &&
        !try_folders(sources, file, program->executable))
        try_path(sources, file, &path); // relative to the folder in which glint runs
    sources->page->failed |= path.failed;
    base_buf_fini(&path);
}

// --- The section ---------------------------------------------------------------------------------

// Returns which lines of a file are wanted; NULL when memory ran out. The caller frees the array.
static bool *mark_lines(const struct sources *sources, uint32_t file, size_t count)
{
    bool *marks = calloc(count + 2, sizeof(*marks));
    for (size_t i = 0; marks && i < sources->lines.count; i++) {
        const struct wanted_line *line = &sources->lines.items[i];
        if (line->file != file || line->line > count)
            continue;
        size_t from = line->line > line->around ? line->line - line->around : 1;
        size_t to = line->line + line->around < count ? line->line + line->around : count;
        for (size_t k = from; k <= to; k++)
            marks[k] = true;
    }
    return marks;
}

static void put_text(struct sources *sources, struct page_section *section, uint32_t index)
{
    const struct wanted_file *file = &sources->files.items[index];
    struct base_json *json = &section->json;
    size_t count = 1, number = 1;
    for (const char *c = file->text; *c; c++)
        count += *c == '\n';
    bool *marks = mark_lines(sources, index, count);
    sources->page->failed |= !marks;
    base_json_key(json, "lines"); // number, text
    base_json_begin_array(json);
    for (char *line = file->text; marks && line; number++) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        sources->lines_wanted += marks[number];
        if (marks[number] && page_section_bytes(section) < PAGE_SOURCE_BYTES) {
            sources->lines_shown++;
            base_json_u64(json, number);
            page_put_text(json, line);
        }
        line = end ? end + 1 : NULL;
    }
    base_json_end_array(json);
    free(marks);
}

static void put_file(struct sources *sources, struct page_section *section, uint32_t index)
{
    const struct wanted_file *file = &sources->files.items[index];
    struct base_json *json = &section->json;
    base_json_begin_object(json);
    base_json_key(json, "name");
    page_put_text(json, file->name);
    base_json_key(json, "path");
    page_put_text(json, file->path);
    report_json_bool(json, "changed", file->changed);
    base_json_key(json, "marks"); // line, finding, role
    base_json_begin_array(json);
    for (size_t i = 0; i < sources->lines.count; i++) {
        const struct wanted_line *line = &sources->lines.items[i];
        if (line->file == index && line->finding &&
            page_section_bytes(section) < PAGE_SOURCE_BYTES) {
            base_json_u64(json, line->line);
            base_json_u64(json, line->finding);
            base_json_u64(json, line->role);
        }
    }
    base_json_end_array(json);
    if (file->text)
        put_text(sources, section, index);
    base_json_end_object(json);
}

void page_put_sources(struct page *page)
{
    struct sources sources = {.page = page};
    struct page_section section;
    size_t shown = 0;
    want_lines(&sources);
    page_begin(&section, false);
    for (uint32_t i = 0; i < sources.files.count && !page->failed; i++) {
        if (page_section_bytes(&section) > PAGE_SOURCE_BYTES)
            break;
        find_file(&sources, &sources.files.items[i]);
        put_file(&sources, &section, i);
        shown++;
    }
    page->failed |= !page_end(page, &section, "sources", PAGE_SOURCE_BYTES + PAGE_ROW_BYTES);
    page_omit(page, "source files", shown, sources.known.live,
              "those of the findings that are worth most");
    page_omit(page, "source lines", sources.lines_shown, sources.lines_wanted,
              "the files that come first");
    for (size_t i = 0; i < sources.files.count; i++) {
        free(sources.files.items[i].path);
        free(sources.files.items[i].text);
    }
    base_map_fini(&sources.known);
    base_array_fini(&sources.files);
    base_array_fini(&sources.lines);
}
