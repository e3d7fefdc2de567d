// SPDX-License-Identifier: Apache-2.0
// Finds and stores source files. A relative name is one in the folder where the compiler ran; if it
// is not there, it is searched for from where the program ran and lies. Only files whose names are
// those of source files are stored, up to a limit for each and for all. A file is marked if it was
// edited since the code was built: its lines are not those that ran.
#include "sources.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_FILES = 200, MOST_FILE_BYTES = 1 << 20, MOST_BYTES = 8 << 20 };

// Returns the row of a file, which may be new; NULL if it is not to be stored, or memory ran out.
static struct record_session_source *row_of(struct record_session *session, const char *file)
{
    const uint64_t *known = file && !session->nameless
                                ? base_map_get_str(&session->source_index, base_str(file))
                                : NULL;
    if (known)
        return &session->sources.items[*known - 1];
    if (!file || session->nameless || session->sources.count == MOST_FILES)
        return NULL;
    const char *kept = base_alloc_text(&session->arena, file, strlen(file)); // the map borrows it
    uint64_t *slot = kept ? base_map_put_str(&session->source_index, base_str(kept), NULL) : NULL;
    struct record_session_source *row = slot ? base_array_push(&session->sources) : NULL;
    if (row) {
        row->name = kept;
        *slot = session->sources.count;
    } else if (slot) {
        base_map_remove_str(&session->source_index, base_str(kept));
    }
    return row;
}

void record_sources_want(struct record_session *session, const char *file, uint32_t line)
{
    struct record_session_source *row = row_of(session, file);
    if (row && row->line < line)
        row->line = line;
}

void record_sources_want_frame(struct record_session *session,
                               const struct record_symbols_frame *frame)
{
    struct record_session_source *row = row_of(session, frame->file);
    record_sources_want(session, frame->file, frame->line);
    if (row && !row->folder && frame->folder)
        row->folder = base_alloc_text(&session->arena, frame->folder, strlen(frame->folder));
    if (row && row->built_s < frame->built_s)
        row->built_s = frame->built_s;
}

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

// A source file, and what is known about it.
struct found {
    const struct record_session_source *source;
    int64_t built_s; // if the row does not know it
    char *text;      // NULL: not found
    size_t length;
    bool changed;
};

static bool has_line(const char *text, uint32_t line)
{
    while (line > 1 && (text = strchr(text, '\n'))) {
        text++;
        line--;
    }
    return text && *text;
}

// Reads the path if it is a regular file of acceptable size. The file is changed if it is newer
// than the code that was built of it, or does not have the lines that the code names.
static bool try_path(const struct base_buf *path, struct found *found)
{
    struct stat about;
    struct base_error error = {0};
    const struct record_session_source *source = found->source;
    const int64_t built_s = source->built_s ? source->built_s : found->built_s;
    if (path->failed || stat(path->text, &about) != 0 || !S_ISREG(about.st_mode) ||
        about.st_size > MOST_FILE_BYTES ||
        base_file_read(path->text, &found->text, &found->length, &error) != BASE_OK)
        return false;
    found->changed =
        (built_s && (int64_t)about.st_mtime > built_s) || !has_line(found->text, source->line);
    return true;
}

// Tries the folder and all folders above it. Where the sources have moved since they were compiled,
// the program often still runs in one of them, or lies there. A file that does not have the named
// lines is another one.
static bool try_folders(const char *folder, struct base_buf *path, struct found *found)
{
    size_t length = folder ? strlen(folder) : 0;
    while (length) {
        base_buf_clear(path);
        base_buf_printf(path, "%.*s/%s", (int)length, folder, found->source->name);
        if (try_path(path, found) && !found->changed)
            return true;
        free(found->text);
        found->text = NULL;
        while (length && folder[length - 1] != '/')
            length--;
        length -= length > 0; // removes the slash
    }
    return false;
}

static bool find(const struct record_session *session, struct base_buf *path, struct found *found)
{
    const struct record_session_source *source = found->source;
    base_buf_clear(path);
    if (source->name[0] == '/')
        base_buf_puts(path, source->name);
    else if (source->folder)
        base_buf_printf(path, "%s/%s", source->folder, source->name);
    if (path->length && try_path(path, found))
        return true;
    return try_folders(session->program.folder, path, found) ||
           try_folders(session->program.executable, path, found);
}

// Returns when the youngest code was built that call paths name, or the executable.
static int64_t last_built_s(const struct record_session *session)
{
    struct stat about;
    const char *executable = session->program.executable;
    int64_t last = executable && stat(executable, &about) == 0 ? (int64_t)about.st_mtime : 0;
    for (size_t i = 0; i < session->sources.count; i++) {
        if (last < session->sources.items[i].built_s)
            last = session->sources.items[i].built_s;
    }
    return last;
}

void record_sources_write(struct record_session *session)
{
    struct base_buf path = {0};
    size_t bytes = 0;
    uint32_t number = 0;
    const int64_t built_s = last_built_s(session);
    for (size_t i = 0; i < session->sources.count && session->error.code == BASE_OK; i++) {
        struct found found = {.source = &session->sources.items[i], .built_s = built_s};
        if (!is_source(found.source->name) || !find(session, &path, &found))
            continue;
        // A text ends at a NUL: a file that has one is not source text.
        if (bytes + found.length <= MOST_BYTES && strlen(found.text) == found.length) {
            bytes += found.length;
            const struct profile_source source = {++number, found.source->name, path.text,
                                                  found.text, found.changed};
            profile_add_source(session->writer, &source, &session->error);
        }
        free(found.text);
    }
    base_buf_fini(&path);
}
