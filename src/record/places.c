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
    char numbers[32] = "";
    size_t used = 0;
    if (pid)
        used = (size_t)snprintf(numbers, sizeof(numbers), "-%d", pid);
    if (again)
        snprintf(numbers + used, sizeof(numbers) - used, "-%u", again + 1);
    record_put_before_suffix(out, file, numbers);
}

// Fails unless files can be created in the folder of this name.
static enum base_code check_folder(const char *name, struct base_error *error)
{
    const char *slash = strrchr(name, '/');
    struct base_buf folder = {0};
    if (slash)
        base_buf_add(&folder, name, slash == name ? 1 : (size_t)(slash - name));
    else
        base_buf_putc(&folder, '.');
    enum base_code code = folder.failed ? base_no_memory(error) : BASE_OK;
    if (code == BASE_OK && access(folder.text, W_OK | X_OK) != 0)
        code = base_fail(error, BASE_IO, "cannot write a profile to %s: %s",
                         slash ? folder.text : "the current folder", strerror(errno));
    base_buf_fini(&folder);
    return code;
}

// The program's name is not known before it runs.
static enum base_code check_pattern_folder(const struct recorder *recorder,
                                           struct base_error *error)
{
    const char *pattern = recorder->request->output, *slash = strrchr(pattern, '/');
    struct base_buf name = {0};
    if (slash)
        base_buf_add(&name, pattern, (size_t)(slash - pattern) + 1);
    // A folder whose name differs between processes is not checked.
    enum base_code code = name.failed ? base_no_memory(error) : BASE_OK;
    if (code == BASE_OK && (!name.text || !strchr(name.text, '%')))
        code = check_folder(name.text ? name.text : "", error);
    base_buf_fini(&name);
    return code;
}

enum base_code record_reserve_output(struct recorder *recorder, struct base_error *error)
{
    const struct record_request *request = recorder->request;
    struct record_process own;
    struct base_buf first = {0};
    if (!request->output)
        return check_folder("", error);
    record_process_read_own(&own);
    if (request->is_pattern && !record_pattern_is_known(request->output, &own))
        return check_pattern_folder(recorder, error);
    if (request->is_pattern)
        record_pattern_put(&first, request->output, &own);
    else
        base_buf_puts(&first, request->output);
    if (first.failed) {
        base_buf_fini(&first);
        return base_no_memory(error);
    }
    enum base_code code = BASE_CONFLICT;
    bool taken = false;
    for (unsigned i = 0; i < MOST_NAMES && code == BASE_CONFLICT; i++) {
        struct base_buf path = {0};
        if (i == 0)
            base_buf_puts(&path, first.text);
        else
            put_name(&path, first.text, (int)getpid(), i - 1);
        code = path.failed ? base_no_memory(error)
                           : profile_reserve(path.text, i == 0 && request->overwrite,
                                             &recorder->place, &taken, error);
        if (code == BASE_OK) {
            recorder->output = path.text;
            recorder->outcome->output_instead = i ? strdup(path.text) : NULL;
            break;
        }
        base_buf_fini(&path);
        if (i == 0 && !taken)
            break;
    }
    if (code == BASE_OK)
        recorder->wanted = first.text;
    else
        base_buf_fini(&first);
    return code;
}

// NAME-PID.glint, or NAME-PID-rankN.glint: the name of a process without FILE.
static void put_default_name(const struct recorder *recorder, const struct record_process *process,
                             unsigned again, struct base_buf *out)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof(path), "/proc/%d/comm", process->pid);
    FILE *file = fopen(path, "re");
    if (file) {
        size_t got = fread(name, 1, sizeof(name) - 1, file);
        name[got] = '\0';
        name[strcspn(name, "\n/")] = '\0';
        fclose(file);
    }
    const char *slash = strrchr(recorder->request->path, '/');
    if (process->pid == recorder->program || !name[0])
        base_buf_puts(out, slash ? slash + 1 : recorder->request->path);
    else
        base_buf_puts(out, name);
    base_buf_printf(out, "-%d", process->pid);
    if (process->rank.has_number)
        base_buf_printf(out, "-rank%u", process->rank.number);
    if (again)
        base_buf_printf(out, "-%u", again + 1);
    base_buf_puts(out, ".glint");
}

// The name of the process's profile without additions. Returns false if there is no FILE.
static bool put_own_name(const struct recorder *recorder, const struct record_process *process,
                         struct base_buf *out)
{
    const struct record_request *request = recorder->request;
    if (request->output && request->is_pattern)
        record_pattern_put(out, request->output, process);
    else if (recorder->output)
        base_buf_puts(out, recorder->output);
    if (recorder->wanted && out->length && strcmp(out->text, recorder->wanted) == 0) {
        base_buf_clear(out);
        base_buf_puts(out, recorder->output);
    }
    return request->output != NULL;
}

// Returns whether this recorder has written, or is writing, a profile of this name.
static bool is_used(const struct recorder *recorder, const char *path)
{
    for (uint32_t i = 0; i < recorder->session_count; i++) {
        if (strcmp(recorder->sessions[i]->path, path) == 0)
            return true;
    }
    for (uint32_t i = 0; i < recorder->outcome->profile_count; i++) {
        if (strcmp(recorder->outcome->profiles[i].path, path) == 0)
            return true;
    }
    return false;
}

// Returns whether the process may have FILE itself: it is the program, or its name separates it
// from other processes. Of the processes of a rank, the first that uses CUDA has it, so that a rank
// has the same name whether the launcher is recorded or started the recorder.
static bool has_own_name(const struct recorder *recorder, const struct record_process *process,
                         unsigned again)
{
    const struct record_request *request = recorder->request;
    return (process->pid == recorder->program && !again) ||
           (request->is_pattern &&
            (process->rank.has_number || record_pattern_has_pid(request->output)));
}

struct profile_place *record_find_place(struct recorder *recorder,
                                        const struct record_process *process, unsigned again,
                                        struct base_buf *path)
{
    struct base_buf own = {0};
    struct profile_place *place = NULL;
    const bool has_file = put_own_name(recorder, process, &own);
    if (own.failed) {
        path->failed = true;
        base_buf_fini(&own);
        return NULL;
    }
    const bool entitled = has_file && has_own_name(recorder, process, again);
    const int pid = process->pid == recorder->program ? 0 : process->pid;
    // The name that was reserved before the program ran.
    if (recorder->place && entitled && (!pid || strcmp(own.text, recorder->output) == 0)) {
        base_buf_puts(path, recorder->output);
        place = recorder->place;
        recorder->place = NULL;
        base_buf_fini(&own);
        return place;
    }
    for (unsigned i = 0; i < MOST_NAMES + 1u && !place; i++) {
        bool taken;
        const unsigned number = entitled ? again + i - 1 : again + i;
        base_buf_clear(path);
        if (!has_file)
            put_default_name(recorder, process, again + i, path);
        else if (entitled && i == 0)
            base_buf_puts(path, own.text);
        else
            put_name(path, own.text, pid, number);
        if (path->failed)
            break;
        if (is_used(recorder, path->text))
            continue;
        if (profile_reserve(path->text, recorder->request->overwrite, &place, &taken, NULL) !=
            BASE_CONFLICT)
            break;
    }
    if (!place && !path->failed) {
        base_buf_clear(path);
        if (has_file)
            put_name(path, own.text, pid, again);
        else
            put_default_name(recorder, process, again, path);
    }
    base_buf_fini(&own);
    return place;
}
