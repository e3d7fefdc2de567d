// SPDX-License-Identifier: Apache-2.0
// Merges in several processes. Each merges some of the files into a part, which is a job profile,
// and then the parts are merged. That gives the same file as one process does, because merging does
// not depend on order and grouping.
#include "merge.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batch.h"

enum { MOST_PROCESSES = 64, LEAST_FILES = 4, TEXT_BYTES = 512 };

// What a process says, in pieces that a pipe takes at once.
struct message {
    enum { DONE, UNMERGED, FAILED } kind;
    enum base_code code;
    size_t index;
    char text[TEXT_BYTES];
};

struct worker {
    pid_t process;
    int pipe;   // -1: closed
    char *part; // path of the job profile that it writes
};

struct merging {
    const struct merge_request *request;
    char **why; // for each file: why it cannot be merged; NULL: it can
    size_t done;
    bool no_memory;
};

static void note_unmerged(void *user, size_t index, const char *why)
{
    struct merging *merging = user;
    if (merging->why[index])
        return;
    merging->why[index] = strdup(why);
    merging->no_memory |= !merging->why[index];
}

static void note_progress(void *user)
{
    struct merging *merging = user;
    merging->done++;
    if (merging->request->progress)
        merging->request->progress(merging->request->user, merging->done);
}

// --- In a process of its own ---------------------------------------------------------------------

static void say(int pipe, const struct message *message)
{
    const char *at = (const char *)message;
    for (size_t left = sizeof(*message); left;) {
        const ssize_t put = write(pipe, at, left);
        if (put < 0 && errno != EINTR)
            return; // nobody listens
        at += put > 0 ? put : 0;
        left -= put > 0 ? (size_t)put : 0;
    }
}

static void say_progress(void *user)
{
    const struct message message = {.kind = DONE};
    say(*(const int *)user, &message);
}

static void say_unmerged(void *user, size_t index, const char *why)
{
    struct message message = {.kind = UNMERGED, .index = index};
    strncpy(message.text, why, sizeof(message.text) - 1);
    say(*(const int *)user, &message);
}

static void work(const struct merge_request *request, size_t first, size_t step, const char *part,
                 int pipe)
{
    const struct merge_batch batch = {request, first, step, say_progress, say_unmerged, &pipe};
    struct job_writer *writer = NULL;
    struct base_error error = {0};
    enum base_code code = merge_batch(&batch, &writer, &error);
    if (code == BASE_OK)
        code = job_write(writer, part, &error);
    job_destroy(writer);
    if (code != BASE_OK) {
        struct message message = {.kind = FAILED, .code = code};
        base_error_text(&error, message.text, sizeof(message.text));
        say(pipe, &message);
    }
    _exit(code == BASE_OK ? 0 : 1);
}

// --- In the first process ------------------------------------------------------------------------

static enum base_code start(const struct merge_request *request, const char *folder, size_t index,
                            size_t count, struct worker *worker, struct base_error *error)
{
    struct base_buf part = {0};
    int ends[2];
    base_buf_printf(&part, "%s/part-%zu", folder, index);
    worker->part = part.text;
    BASE_RETURN_IF_NO_MEMORY(part.failed, error);
    BASE_RETURN_IF(pipe2(ends, O_CLOEXEC) != 0, error, BASE_IO, "cannot start a process: %s",
                   strerror(errno));
    const pid_t parent = getpid();
    worker->process = fork();
    if (worker->process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        close(ends[0]);
        if (getppid() == parent)
            work(request, index, count, part.text, ends[1]);
        _exit(1);
    }
    close(ends[1]);
    worker->pipe = ends[0];
    if (worker->process > 0)
        return BASE_OK;
    close(ends[0]);
    worker->pipe = -1;
    return base_fail(error, BASE_IO, "cannot start a process: %s", strerror(errno));
}

// Reads one message. Closes the pipe at its end.
static enum base_code listen_to(struct merging *merging, struct worker *worker,
                                struct base_error *error)
{
    struct message message = {.kind = DONE};
    size_t got = 0;
    while (got < sizeof(message)) {
        const ssize_t more = read(worker->pipe, (char *)&message + got, sizeof(message) - got);
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            break;
        got += (size_t)more;
    }
    if (got < sizeof(message)) {
        close(worker->pipe);
        worker->pipe = -1;
        return BASE_OK;
    }
    message.text[sizeof(message.text) - 1] = '\0';
    if (message.kind == DONE)
        note_progress(merging);
    else if (message.kind == UNMERGED && message.index < merging->request->count)
        note_unmerged(merging, message.index, message.text);
    return message.kind == FAILED ? base_fail(error, message.code, "%s", message.text) : BASE_OK;
}

static enum base_code listen_to_all(struct merging *merging, struct worker *workers, size_t count,
                                    struct base_error *error)
{
    enum base_code code = BASE_OK;
    while (code == BASE_OK) {
        struct pollfd ends[MOST_PROCESSES];
        size_t open = 0;
        for (size_t i = 0; i < count; i++) {
            ends[i] = (struct pollfd){workers[i].pipe, POLLIN, 0};
            open += workers[i].pipe >= 0;
        }
        if (!open)
            break;
        if (poll(ends, count, -1) < 0 && errno != EINTR)
            return base_fail(error, BASE_IO, "cannot wait for a process: %s", strerror(errno));
        for (size_t i = 0; i < count && code == BASE_OK; i++) {
            if (workers[i].pipe >= 0 && ends[i].revents)
                code = listen_to(merging, &workers[i], error);
        }
    }
    return code;
}

// Ends the processes; those that are still at work are not needed any more.
static enum base_code end_all(struct worker *workers, size_t count, enum base_code code,
                              struct base_error *error)
{
    for (size_t i = 0; i < count; i++) {
        int status = 0;
        if (workers[i].pipe >= 0)
            close(workers[i].pipe);
        if (workers[i].process > 0 && code != BASE_OK)
            kill(workers[i].process, SIGTERM);
        while (workers[i].process > 0 && waitpid(workers[i].process, &status, 0) < 0 &&
               errno == EINTR)
            continue;
        if (code == BASE_OK && status != 0)
            code = base_fail(error, BASE_IO, "a process that merges ended in an unexpected way");
    }
    return code;
}

static enum base_code add_parts(struct job_writer *writer, const struct worker *workers,
                                size_t count, struct base_error *error)
{
    enum base_code code = BASE_OK;
    for (size_t i = 0; i < count && code == BASE_OK; i++) {
        struct profile *job = NULL;
        code = profile_open_job(workers[i].part, &job, error);
        if (code == BASE_OK)
            code = job_add_job(writer, job, error);
        profile_close(job);
        unlink(workers[i].part);
    }
    return code;
}

static enum base_code merge_in_processes(struct merging *merging, size_t count,
                                         struct job_writer **writer, struct base_error *error)
{
    struct worker workers[MOST_PROCESSES] = {{0}};
    struct base_scratch folder = {0};
    size_t started = 0;
    enum base_code code = base_scratch_make("merge", 0, &folder, error);
    for (; started < count && code == BASE_OK; started++)
        code = start(merging->request, folder.path, started, count, &workers[started], error);
    if (code == BASE_OK)
        code = listen_to_all(merging, workers, count, error);
    code = end_all(workers, started, code, error);
    if (code == BASE_OK)
        code = job_create(writer, error);
    if (code == BASE_OK)
        code = add_parts(*writer, workers, count, error);
    for (size_t i = 0; i < started; i++)
        free(workers[i].part);
    base_scratch_remove(&folder);
    return code;
}

static size_t count_processes(const struct merge_request *request)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t most = request->processes ? request->processes : cores > 0 ? (size_t)cores : 1;
    if (!request->processes && most > request->count / LEAST_FILES)
        most = request->count / LEAST_FILES; // starting a process costs more than it gains
    most = most < request->count ? most : request->count;
    return most > MOST_PROCESSES ? MOST_PROCESSES : most ? most : 1;
}

enum base_code merge_check_output(const char *output, bool force, struct base_error *error)
{
    struct stat status;
    const char *slash = strrchr(output, '/');
    char *folder = slash ? strndup(output, slash > output ? (size_t)(slash - output) : 1) : NULL;
    BASE_RETURN_IF_NO_MEMORY(slash && !folder, error);
    const bool writable = access(folder ? folder : ".", W_OK | X_OK) == 0;
    const int reason = errno;
    free(folder);
    BASE_RETURN_IF(!writable, error, BASE_IO, "cannot write %s: %s", output, strerror(reason));
    if (stat(output, &status) != 0)
        return BASE_OK;
    BASE_RETURN_IF(!S_ISREG(status.st_mode), error, BASE_CONFLICT, "%s is not a file", output);
    BASE_RETURN_IF(!force, error, BASE_CONFLICT, "%s already exists; use -f to replace it", output);
    return BASE_OK;
}

static void report_unmerged(const struct merging *merging, struct merge_result *result)
{
    const struct merge_request *request = merging->request;
    for (size_t i = 0; i < request->count; i++) {
        if (!merging->why[i])
            continue;
        result->unmerged++;
        if (request->unmerged)
            request->unmerged(request->user, request->files[i], merging->why[i]);
    }
}

enum base_code merge_files(const struct merge_request *request, struct merge_result *result,
                           struct base_error *error)
{
    struct merging merging = {.request = request};
    struct job_writer *writer = NULL;
    const size_t processes = count_processes(request);
    *result = (struct merge_result){0};
    enum base_code code = merge_check_output(request->output, request->force, error);
    if (code != BASE_OK)
        return code;
    merging.why = calloc(request->count + 1, sizeof(*merging.why));
    BASE_RETURN_IF_NO_MEMORY(!merging.why, error);
    if (processes > 1) {
        code = merge_in_processes(&merging, processes, &writer, error);
    } else {
        const struct merge_batch batch = {request, 0, 1, note_progress, note_unmerged, &merging};
        code = merge_batch(&batch, &writer, error);
    }
    if (code == BASE_OK && merging.no_memory)
        code = base_no_memory(error);
    report_unmerged(&merging, result);
    if (code == BASE_OK) {
        result->profiles = job_count(writer);
        code = result->profiles || request->may_be_empty
                   ? job_write(writer, request->output, error)
                   : base_fail(error, BASE_NOT_FOUND, "no file could be merged");
    }
    job_destroy(writer);
    for (size_t i = 0; i < request->count; i++)
        free(merging.why[i]);
    free(merging.why);
    return code;
}
