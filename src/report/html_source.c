// SPDX-License-Identifier: Apache-2.0
// Writes the source lines that the page's findings point to, and those of kernels whose requests
// were counted, with what these took. Lines are those that the recorder stored. No file is read: a
// profile may come from somebody else, and must not make the page contain other files.
#include <stdlib.h>
#include <string.h>

#include "html.h"
#include "json_members.h"
#include "requests.h"

enum {
    MOST_FILES = 200,
    MOST_FILE_BYTES = 4 << 20,
    AROUND_FINDING = 12, // lines before and after
    AROUND_CALLER = 3,
    ROLE_IN_KERNEL = 3,
};

struct wanted_line {
    uint32_t file, line;
    uint32_t around;  // lines
    uint32_t finding; // counted from 1; 0: only a caller
    uint32_t role;    // which call of the finding: 0, 1 or 2; or ROLE_IN_KERNEL
};

// What all memory instructions of a line took.
struct line_requests {
    uint32_t file, line;
    uint64_t sectors, needed_sectors, wavefronts, needed_wavefronts;
};

struct wanted_file {
    const char *name; // as in the call path
    char *path;       // where the recorder found it; NULL: it did not
    char *text;
    bool changed; // since the code was built, so that the text does not have the lines that ran
};

struct sources {
    struct page *page;
    struct base_map known; // name to index + 1
    BASE_ARRAY(struct wanted_file) files;
    BASE_ARRAY(struct wanted_line) lines;
    struct report_requests counted;
    BASE_ARRAY(struct line_requests) requests;
    struct base_map requests_index; // file and line to index + 1
    uint64_t lines_shown, lines_wanted;
};

// --- Choosing lines ------------------------------------------------------------------------------

// Returns the index of a file, which is added if there is room; UINT32_MAX if there is none.
static uint32_t want_file(struct sources *sources, const char *name)
{
    struct page *page = sources->page;
    uint64_t *slot = base_map_put_str(&sources->known, base_str(name), NULL);
    if (slot && *slot == 0 && sources->files.count < MOST_FILES) {
        struct wanted_file *file = base_array_push(&sources->files);
        if (file)
            file->name = name;
        *slot = file ? sources->files.count : 0;
        page->failed |= !file;
    }
    page->failed |= !slot;
    return page->failed || *slot == 0 ? UINT32_MAX : (uint32_t)*slot - 1;
}

static void want_line(struct sources *sources, const char *file, uint32_t line, uint32_t around,
                      uint32_t finding, uint32_t role)
{
    struct page *page = sources->page;
    if (!file || !line || page->failed)
        return;
    const uint32_t index = want_file(sources, file);
    struct wanted_line *row = index == UINT32_MAX ? NULL : base_array_push(&sources->lines);
    page->failed |= index != UINT32_MAX && !row;
    if (row)
        *row = (struct wanted_line){index, line, around, finding, role};
}

// Wants the lines that the finding names in a kernel.
static void want_kernel_lines(struct sources *sources, const struct analyze_finding *finding,
                              uint32_t number)
{
    const struct analyze_field *field = analyze_describe(finding->pattern)->fields;
    for (; field && field->name; field++) {
        if (field->type != ANALYZE_LINE)
            continue;
        const struct analyze_line line = analyze_field_line(finding, field);
        want_line(sources, line.file, line.line, AROUND_FINDING, number, ROLE_IN_KERNEL);
    }
}

static void want_lines(struct sources *sources)
{
    const struct report_data *data = sources->page->data;
    for (size_t i = 0; i < sources->page->findings; i++) {
        const struct analyze_finding *finding = analyze_finding(data->analysis, i);
        want_kernel_lines(sources, finding, (uint32_t)i + 1);
        const uint32_t paths[] = {finding->path, finding->other_path, finding->last_path};
        for (uint32_t role = 0; role < 3; role++) {
            const struct report_path *path = report_path_of(data, paths[role]);
            const struct profile_frame *place = report_place(data, paths[role]);
            if (place)
                want_line(sources, place->file, place->line, AROUND_FINDING, (uint32_t)i + 1, role);
            for (uint32_t k = 0; path && k < path->frame_count; k++) {
                const struct profile_frame *frame = &path->frames[k];
                if (frame != place)
                    want_line(sources, frame->file, frame->line, AROUND_CALLER, 0, 0);
            }
        }
    }
}

// --- Requests ------------------------------------------------------------------------------------

// Returns the sums of a line, which may be new; NULL if there is no room for its file.
static struct line_requests *requests_at(struct sources *sources, struct analyze_line line)
{
    const uint32_t file = want_file(sources, line.file);
    if (file == UINT32_MAX)
        return NULL;
    uint64_t *slot = base_map_put(&sources->requests_index, (uint64_t)file << 32 | line.line, NULL);
    if (slot && *slot == 0) {
        struct line_requests *made = base_array_push(&sources->requests);
        if (made)
            *made = (struct line_requests){.file = file, .line = line.line};
        *slot = made ? sources->requests.count : 0;
    }
    sources->page->failed |= !slot || *slot == 0;
    return sources->page->failed ? NULL : &sources->requests.items[*slot - 1];
}

static bool take_site(void *user, const struct profile_kernel_site *site)
{
    struct sources *sources = user;
    const struct report_site_requests *sum = report_requests_at(&sources->counted, site);
    const struct analyze_line line = analyze_line_of(site);
    if (!sum || !line.file || !line.line)
        return true;
    want_line(sources, line.file, line.line, AROUND_CALLER, 0, 0);
    struct line_requests *row = requests_at(sources, line);
    if (row && sum->shared) {
        row->wavefronts += sum->taken;
        row->needed_wavefronts += sum->needed;
    } else if (row) {
        row->sectors += sum->taken;
        row->needed_sectors += sum->needed;
    }
    return !sources->page->failed;
}

static int by_line(const void *one, const void *other)
{
    const struct line_requests *a = one, *b = other;
    return a->line < b->line ? -1 : a->line > b->line;
}

static enum base_code want_requests(struct sources *sources, struct base_error *error)
{
    struct profile *profile = sources->page->profile;
    enum base_code code = report_load_requests(profile, &sources->counted, error);
    if (code == BASE_OK && sources->counted.rows.count)
        code = profile_each_kernel_site(profile, take_site, sources, error);
    if (sources->requests.count)
        qsort(sources->requests.items, sources->requests.count, sizeof(*sources->requests.items),
              by_line);
    return code;
}

static void put_requests(const struct sources *sources, struct page_section *section, uint32_t file)
{
    struct base_json *json = &section->json;
    base_json_key(json, "requests"); // line, sectors, needed, wavefronts, needed
    base_json_begin_array(json);
    for (size_t i = 0; i < sources->requests.count; i++) {
        const struct line_requests *row = &sources->requests.items[i];
        if (row->file != file || page_section_bytes(section) >= PAGE_SOURCE_BYTES)
            continue;
        base_json_u64(json, row->line);
        base_json_u64(json, row->sectors);
        base_json_u64(json, row->needed_sectors);
        base_json_u64(json, row->wavefronts);
        base_json_u64(json, row->needed_wavefronts);
    }
    base_json_end_array(json);
}

// --- Files ---------------------------------------------------------------------------------------

// Keeps the text of a file that is wanted.
static bool take_source(void *user, const struct profile_source *source)
{
    struct sources *sources = user;
    const uint64_t *slot =
        source->name ? base_map_get_str(&sources->known, base_str(source->name)) : NULL;
    struct wanted_file *file = slot && *slot ? &sources->files.items[*slot - 1] : NULL;
    if (!file || file->text || !source->text || strlen(source->text) > MOST_FILE_BYTES)
        return true;
    file->text = strdup(source->text);
    file->path = strdup(source->path ? source->path : source->name);
    file->changed = source->changed;
    sources->page->failed |= !file->text || !file->path;
    return !sources->page->failed;
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
    put_requests(sources, section, index);
    if (file->text && !file->changed)
        put_text(sources, section, index);
    base_json_end_object(json);
}

enum base_code page_put_sources(struct page *page, struct base_error *error)
{
    struct sources sources = {.page = page};
    struct page_section section;
    size_t shown = 0;
    want_lines(&sources);
    enum base_code code = want_requests(&sources, error);
    if (code == BASE_OK)
        code = profile_each_source(page->profile, take_source, &sources, error);
    page_begin(&section, false);
    for (uint32_t i = 0; code == BASE_OK && i < sources.files.count && !page->failed; i++) {
        if (page_section_bytes(&section) > PAGE_SOURCE_BYTES)
            break;
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
    base_array_fini(&sources.requests);
    base_map_fini(&sources.requests_index);
    report_requests_fini(&sources.counted);
    return code;
}
