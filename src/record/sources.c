// SPDX-License-Identifier: Apache-2.0
// Finds and stores source files. A relative name is searched for in the folders where the program
// may have been compiled, starting from where it ran. Only files whose names are those of source
// files are stored, up to a limit for each and for all.
#include "sources.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_FILES = 200, MOST_FILE_BYTES = 1 << 20, MOST_BYTES = 8 << 20 };

void record_sources_want(struct record_session *session, const char *file)
{
    if (!file || session->nameless || session->source_names.count == MOST_FILES ||
        base_map_get_str(&session->sources, base_str(file)))
        return;
    const char *kept = base_alloc_text(&session->arena, file, strlen(file)); // the map borrows it
    if (!kept || !base_map_put_str(&session->sources, base_str(kept), NULL))
        return;
    const char **name = base_array_push(&session->source_names);
    if (name)
        *name = kept;
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

struct found {
    char *text; // NULL: not found
    size_t length;
    bool changed;
};

// Reads the path if it is a regular file of acceptable size.
static bool try_path(const struct record_session *session, const struct base_buf *path,
                     struct found *found)
{
    struct stat about;
    struct base_error error = {0};
    const int64_t started_s = session->program.start_unix_ns / 1000000000;
    if (path->failed || stat(path->text, &about) != 0 || !S_ISREG(about.st_mode) ||
        about.st_size > MOST_FILE_BYTES ||
        base_file_read(path->text, &found->text, &found->length, &error) != BASE_OK)
        return false;
    found->changed = started_s && (int64_t)about.st_mtime > started_s;
    return true;
}

// Tries the folder and all folders above it. Relative names in debug information refer to the
// folder in which the compiler ran, which is often one of these.
static bool try_folders(const struct record_session *session, const char *folder, const char *name,
                        struct base_buf *path, struct found *found)
{
    size_t length = folder ? strlen(folder) : 0;
    while (length) {
        base_buf_clear(path);
        base_buf_printf(path, "%.*s/%s", (int)length, folder, name);
        if (try_path(session, path, found))
            return true;
        while (length && folder[length - 1] != '/')
            length--;
        length -= length > 0; // removes the slash
    }
    return false;
}

static bool find(const struct record_session *session, const char *name, struct base_buf *path,
                 struct found *found)
{
    base_buf_clear(path);
    base_buf_puts(path, name);
    if (name[0] == '/' && try_path(session, path, found))
        return true;
    return try_folders(session, session->program.folder, name, path, found) ||
           try_folders(session, session->program.executable, name, path, found);
}

void record_sources_write(struct record_session *session)
{
    struct base_buf path = {0};
    size_t bytes = 0;
    uint32_t number = 0;
    for (size_t i = 0; i < session->source_names.count && session->error.code == BASE_OK; i++) {
        const char *name = session->source_names.items[i];
        struct found found = {0};
        if (!name || !is_source(name) || !find(session, name, &path, &found))
            continue;
        // A text ends at a NUL: a file that has one is not source text.
        if (bytes + found.length <= MOST_BYTES && strlen(found.text) == found.length) {
            bytes += found.length;
            const struct profile_source source = {++number, name, path.text, found.text,
                                                  found.changed};
            profile_add_source(session->writer, &source, &session->error);
        }
        free(found.text);
    }
    base_buf_fini(&path);
}
