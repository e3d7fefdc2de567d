// SPDX-License-Identifier: Apache-2.0
// Reasons why nothing was recorded: limits of the program, a changed root folder, user or
// environment, and executables into which the loader loads no library.
#include "unseen.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "gpusim/gpusim.h"
#include "program.h"

// --- A process that used CUDA and was refused ----------------------------------------------------

static const char *connection_reason(int error)
{
    switch (error) {
    case ENOENT:
        return "glint's socket is not in its root folder (chroot), or the socket was removed";
    case EACCES:
    case EPERM: return "it may not connect to glint's socket, as another user or in a sandbox";
    case EMFILE: return "it may not open more files (ulimit -n)";
    case EAGAIN: return "glint was too busy to accept it";
    case ECONNREFUSED: return "glint had already ended";
    default: return strerror(error);
    }
}

static const char *memory_reason(int error)
{
    switch (error) {
    case EMFILE: return "it may not open more files (ulimit -n)";
    case ENOSPC:
    case EFBIG:
        return "it may not write a file that is large enough (ulimit -f), or memory is full";
    case ENOMEM:
    case EAGAIN:
        return "it got no memory: its address space is limited (ulimit -v), or memory ran out";
    default: return strerror(error);
    }
}

// --- Executables ---------------------------------------------------------------------------------

// Follows "#!" to the executable that the system runs instead.
static void find_interpreter(const char *path, struct base_buf *out)
{
    char line[256] = "";
    FILE *file = fopen(path, "re");
    const size_t got = file ? fread(line, 1, sizeof(line) - 1, file) : 0;
    if (file)
        fclose(file);
    line[got] = '\0';
    base_buf_clear(out);
    if (strncmp(line, "#!", 2) != 0) {
        base_buf_puts(out, path);
        return;
    }
    const char *start = line + 2 + strspn(line + 2, " \t");
    base_buf_add(out, start, strcspn(start, " \t\r\n"));
}

// Returns why the loader loads no library into the executable; NULL: no reason is known.
static const char *executable_reason(const char *path)
{
    struct base_error error = {0};
    struct gpusim_program program;
    if (cli_program_gains_rights(path))
        return "it runs with the rights of another user or group or with capabilities, so the "
               "loader ignores LD_PRELOAD; run a copy without them";
    if (gpusim_program_read(path, &program, &error) != BASE_OK || !program.is_elf)
        return NULL;
    if (!program.is_native)
        return "it is built for another processor than this glint";
    if (!program.is_dynamic)
        return "it is linked statically, so there is no loader that could load it";
    return NULL;
}

static bool is_limited(int which)
{
    struct rlimit limit;
    return getrlimit(which, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// Adds why the program itself did not have the library.
static void put_not_loaded(struct base_buf *out, const struct record_outcome *outcome,
                           const char *path)
{
    struct base_buf file = {0};
    find_interpreter(path, &file);
    const char *reason = file.failed ? NULL : executable_reason(file.text);
    base_buf_puts(out, "glint could not be loaded into the program: ");
    if (reason)
        base_buf_puts(out, reason);
    else if (WIFSIGNALED(outcome->status))
        base_buf_printf(out, "signal %d (%s) ended it before", WTERMSIG(outcome->status),
                        strsignal(WTERMSIG(outcome->status)));
    else if (outcome->why.unloaded_count && outcome->why.unloaded[0].lacks_environment)
        base_buf_puts(out, "it runs with another environment than glint gave it");
    else if (WIFEXITED(outcome->status) && WEXITSTATUS(outcome->status) == 127)
        base_buf_puts(out, "the loader failed to start it");
    else if (is_limited(RLIMIT_AS))
        base_buf_puts(out, "its address space is limited (ulimit -v)");
    else
        base_buf_puts(out, "the loader did not load libglint.so");
    base_buf_fini(&file);
}

// --- Sentences -----------------------------------------------------------------------------------

void cli_unseen_put(struct base_buf *out, const struct record_outcome *outcome, const char *path)
{
    const struct record_why *why = &outcome->why;
    if (why->refused)
        base_buf_printf(out, "the program used CUDA, but could not be recorded: %s",
                        why->refused == RECORD_WHY_CONNECTION
                            ? connection_reason(why->refused_error)
                            : memory_reason(why->refused_error));
    else if (why->used_cuda)
        base_buf_puts(out, "the program used CUDA, but glint could not record it");
    else if (why->known && !why->loaded)
        put_not_loaded(out, outcome, path);
    else
        base_buf_puts(out, "no use of CUDA was seen");
}

// Says what the program's libraries tell.
static void explain_libraries(const struct record_why *why, const char *path)
{
    struct base_error error = {0};
    struct gpusim_program program = {0};
    const bool runs_cuda =
        why->runtime_loaded || (gpusim_program_read(path, &program, &error) == BASE_OK &&
                                (program.has_runtime || program.is_stripped || program.runtime));
    if (why->driver_loaded)
        cli_message(
            "the driver, libcuda.so.1, was loaded, but nothing was done with a GPU; calls of "
            "a library that is opened with RTLD_DEEPBIND are not seen");
    else if (runs_cuda)
        cli_message("the program has the CUDA runtime, but did not load the driver, libcuda.so.1: "
                    "it did not use the runtime, or found no driver");
}

void cli_unseen_explain(const struct record_outcome *outcome, const char *path)
{
    const struct record_why *why = &outcome->why;
    if (!why->known || why->used_cuda || !why->loaded)
        return;
    for (uint32_t i = 0; i < why->unloaded_count; i++) {
        const struct record_unloaded *program = &why->unloaded[i];
        const char *reason = executable_reason(program->path);
        if (!reason)
            reason = program->lacks_environment
                         ? "it was started without LD_PRELOAD or GLINT_SOCKET in its environment"
                         : "the loader did not load libglint.so";
        cli_message("glint was not loaded into %s: %s", program->path, reason);
    }
    if (why->became[0] && !why->unloaded_count)
        cli_message("the program became '%s', and glint was not loaded into that: it is linked "
                    "statically, has other rights, or was started without LD_PRELOAD",
                    why->became);
    else if (!why->unloaded_count)
        explain_libraries(why, path);
}
