// SPDX-License-Identifier: Apache-2.0
// Names and reserves the files of profiles. A name is reserved before anything is written, so that
// recorders that run at the same time do not write the same file.
#include "places.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_NAMES = 1000 }; // that are tried for a profile

// Adds FILE (pid 0), FILE-PID (again 0) or FILE-PID-AGAIN; the numbers precede the last suffix.
static void put_name(struct base_buf *out, const char *file, int pid, unsigned again)
{
    const char *slash = strrchr(file, '/'), *dot = strrchr(file, '.');
    size_t stem = dot && (!slash || dot > slash + 1) ? (size_t)(dot - file) : strlen(file);
    base_buf_add(out, file, stem);
    if (pid)
        base_buf_printf(out, "-%d", pid);
    if (again)
        base_buf_printf(out, "-%u", again + 1);
    base_buf_puts(out, file + stem);
}

enum base_code record_reserve_output(struct recorder *recorder, struct base_error *error)
{
    const struct record_request *request = recorder->request;
    if (!request->output) {
        BASE_RETURN_IF(access(".", W_OK | X_OK) != 0, error, BASE_IO,
                       "cannot write a profile to the current folder: %s", strerror(errno));
        return BASE_OK;
    }
    enum base_code code = BASE_CONFLICT;
    bool taken = false;
    for (unsigned i = 0; i < MOST_NAMES && code == BASE_CONFLICT; i++) {
        struct base_buf path = {0};
        if (i == 0)
            base_buf_puts(&path, request->output);
        else
            put_name(&path, request->output, (int)getpid(), i - 1);
        code = path.failed ? base_no_memory(error)
                           : profile_reserve(path.text, i == 0 && request->overwrite,
                                             &recorder->place, &taken, error);
        if (code == BASE_OK) {
            recorder->output = path.text;
            recorder->outcome->output_instead = i ? strdup(path.text) : NULL;
            return BASE_OK;
        }
        base_buf_fini(&path);
        if (i == 0 && !taken)
            break;
    }
    return code;
}

// FILE for the program itself, FILE-PID for other processes, with a number if a process has
// several; without FILE, NAME-PID.glint.
static void name_profile(const struct recorder *recorder, int pid, unsigned again,
                         struct base_buf *out)
{
    if (recorder->output) {
        put_name(out, recorder->output, pid == recorder->program ? 0 : pid, again);
        return;
    }
    char path[64], name[32] = "";
    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    FILE *file = fopen(path, "re");
    if (file) {
        size_t got = fread(name, 1, sizeof(name) - 1, file);
        name[got] = '\0';
        name[strcspn(name, "\n/")] = '\0';
        fclose(file);
    }
    const char *slash = strrchr(recorder->request->path, '/');
    if (pid == recorder->program || !name[0])
        base_buf_puts(out, slash ? slash + 1 : recorder->request->path);
    else
        base_buf_puts(out, name);
    base_buf_printf(out, "-%d", pid);
    if (again)
        base_buf_printf(out, "-%u", again + 1);
    base_buf_puts(out, ".glint");
}

struct profile_place *record_find_place(const struct recorder *recorder, int pid, unsigned again,
                                        struct base_buf *path)
{
    struct profile_place *place = NULL;
    for (unsigned i = 0; i < MOST_NAMES && !place; i++) {
        bool taken;
        base_buf_clear(path);
        name_profile(recorder, pid, again + i, path);
        if (path->failed || profile_reserve(path->text, recorder->request->overwrite, &place,
                                            &taken, NULL) != BASE_CONFLICT)
            break;
    }
    if (!place) {
        base_buf_clear(path);
        name_profile(recorder, pid, again, path);
    }
    return place;
}
