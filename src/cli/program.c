// SPDX-License-Identifier: Apache-2.0
// Prepares a program for the verbs that start one: finds the executable, chooses the device, and
// sets the environment that loads glint's libraries into the program and its children.
#include "program.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "event/event.h"
#include "fatbin/fatbin.h"
#include "gpusim/gpusim.h"
#include "plan/plan.h"
#include "record/record.h"
#include "try_driver.h"

bool cli_program_is_device(const char *argument)
{
    static const char sim[] = "sim:";
    return strncmp(argument, sim, sizeof(sim) - 1) == 0 &&
           gpusim_device_count(argument + sizeof(sim) - 1) > 0;
}

// The argument is one that CLI_PROGRAM_OPTIONS allows.
static bool take_device(struct cli_program_request *request, const char *argument)
{
    request->preset = NULL;
    if (strcmp(argument, "auto") == 0 || strcmp(argument, "gpu") == 0) {
        request->device = argument[0] == 'a' ? CLI_PROGRAM_DEVICE_AUTO : CLI_PROGRAM_DEVICE_GPU;
        return true;
    }
    request->device = CLI_PROGRAM_DEVICE_SIM;
    if (strcmp(argument, "sim") == 0)
        return true;
    request->preset = argument + strlen("sim:");
    return true;
}

bool cli_program_take_option(struct cli_program_request *request, const struct cli_option *option,
                             const char *argument)
{
    char *end;
    switch (option->letter) {
    case 'd': return take_device(request, argument);
    case 'w':
        errno = 0;
        if (argument[0] < '0' || argument[0] > '9' || strtoul(argument, &end, 10) < 1 || *end ||
            errno || strtoul(argument, NULL, 10) > 1024) {
            cli_message("--workers takes a number from 1 to 1024, not '%s'", argument);
            return false;
        }
        request->workers = argument;
        return true;
    case 'm': request->memory_errors = argument; return true;
    default: request->log = argument; return true;
    }
}

bool cli_program_find(const char *name, struct base_buf *path)
{
    if (strchr(name, '/')) {
        base_buf_puts(path, name);
        if (!path->failed && access(name, X_OK) != 0) {
            cli_message("cannot run %s: %m", name);
            return false;
        }
        return true;
    }
    char usual[256] = "";
    confstr(_CS_PATH, usual, sizeof(usual));
    const char *folders = getenv("PATH");
    bool refused = false;
    for (const char *from = folders ? folders : usual; *name; from += strcspn(from, ":") + 1) {
        size_t length = strcspn(from, ":");
        path->length = 0;
        if (length)
            base_buf_add(path, from, length);
        base_buf_puts(path, length ? "/" : "./"); // an empty entry is the current folder
        base_buf_puts(path, name);
        struct stat stat_of;
        if (path->failed)
            return true; // the caller checks path->failed
        if (stat(path->text, &stat_of) == 0 && S_ISREG(stat_of.st_mode)) {
            if (access(path->text, X_OK) == 0)
                return true;
            refused = true;
        }
        if (!from[length])
            break;
    }
    cli_message(refused ? "cannot run %s: Permission denied" : "cannot find a program '%s' in PATH",
                name);
    return false;
}

bool cli_program_prefix(struct base_buf *folder)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0)
        return false;
    self[length] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(self, '/');
        if (slash)
            *slash = '\0';
    }
    base_buf_puts(folder, self);
    return !folder->failed;
}

bool cli_program_library_folder(struct base_buf *folder)
{
    const bool known = cli_program_prefix(folder);
    base_buf_puts(folder, "/lib/glint");
    return known && !folder->failed;
}

// Finds the folder of glint's libraries and checks that it contains `library`. The libraries of the
// simulated GPU are in the subfolder "/sim".
static bool find_libraries(struct base_buf *folder, const char *where, const char *library)
{
    if (!cli_program_library_folder(folder)) {
        cli_message(folder->failed ? "out of memory"
                                   : "cannot find glint's installation folder: %m");
        return false;
    }
    base_buf_puts(folder, where);
    base_buf_printf(folder, "/%s", library);
    bool there = !folder->failed && access(folder->text, R_OK) == 0;
    if (!there)
        cli_message("the installation of glint is incomplete: %s is missing",
                    folder->failed ? "library" : folder->text);
    else
        *strrchr(folder->text, '/') = '\0';
    if (there && strpbrk(folder->text, ":;")) {
        cli_message(
            "glint's libraries are in %s; the loader accepts no folder with ':' or ';' in its "
            "name",
            folder->text);
        there = false;
    }
    return there;
}

// Puts text in front of the current value of the variable.
static bool put_before(const char *variable, const char *text, const char *separator)
{
    const char *old = getenv(variable);
    struct base_buf value = {0};
    base_buf_puts(&value, text);
    if (old && *old)
        base_buf_printf(&value, "%s%s", separator, old);
    bool good = !value.failed && setenv(variable, value.text, 1) == 0;
    base_buf_fini(&value);
    return good;
}

bool cli_program_gains_rights(const char *path)
{
    struct stat stat_of;
    if (stat(path, &stat_of) != 0)
        return false;
    bool other_user = (stat_of.st_mode & S_ISUID) && stat_of.st_uid != geteuid();
    bool other_group =
        (stat_of.st_mode & S_ISGID) && (stat_of.st_mode & S_IXGRP) && stat_of.st_gid != getegid();
    return other_user || other_group ||
           (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

// Prints a warning if the program has device code and none of it is PTX, which the simulated GPU
// needs.
static bool has_ptx(const char *path)
{
    struct base_error error = {0};
    struct fatbin_image *image = NULL;
    // If the file cannot be read here, the CUDA runtime reports it when the program needs it.
    if (fatbin_open_file(path, &image, &error) != BASE_OK)
        return true;
    bool good = fatbin_require_ptx(image, &error) != BASE_NOT_FOUND;
    if (!good) {
        cli_error(&error);
        unsigned arch = image->entries.items[0].arch;
        cli_message("the simulated GPU needs PTX: also compile with "
                    "'-gencode arch=compute_%u,code=compute_%u'",
                    arch, arch);
    }
    fatbin_close(image);
    return good;
}

// Returns whether the program can run on the simulated GPU; prints the reason if not.
static bool can_be_simulated(const char *path, const struct gpusim_program *program)
{
    bool uses_cuda = program->has_device_code || program->has_runtime || program->is_stripped ||
                     program->runtime || program->needs_driver || program->standins;
    if (cli_program_gains_rights(path)) {
        cli_message("%s runs with another user's or group's rights or with capabilities, so the "
                    "loader would not load the simulated GPU; run a copy without them",
                    path);
        return false;
    }
    if (!uses_cuda)
        return true;
    if (!program->is_native) {
        cli_message("%s is built for another processor than this glint", path);
        return false;
    }
    if (!program->is_dynamic) {
        cli_message("%s is linked statically, so the loader cannot load the simulated GPU into it; "
                    "link it without -static",
                    path);
        return false;
    }
    if (program->is_stripped) {
        cli_message(
            "%s contains the static CUDA runtime, but not the symbols by which glint redirects "
            "it to the simulated GPU",
            path);
        cli_message("link it with 'nvcc -cudart shared', or do not strip it (strip, -s)");
        return false;
    }
    if (program->vendor_library) {
        cli_message("%s needs NVIDIA's libraries, which cannot run on the simulated GPU: %s", path,
                    program->vendor_library);
        return false;
    }
    return !program->has_device_code || has_ptx(path);
}

// Makes the path absolute, so that it stays valid when the program changes its folder.
static bool set_log(const char *path)
{
    char here[PATH_MAX];
    struct base_buf full = {0};
    if (path[0] != '/' && getcwd(here, sizeof(here)))
        base_buf_printf(&full, "%s/", here);
    base_buf_puts(&full, path);
    bool good = !full.failed && setenv("GLINT_SIM_LOG", full.text, 1) == 0;
    base_buf_fini(&full);
    return good;
}

// Adds one of glint's libraries to a list for LD_PRELOAD: by its path, which stays valid if a
// script changes LD_LIBRARY_PATH. A blank would end the path, so if the folder contains one, only
// the name is added, which the loader searches for in LD_LIBRARY_PATH.
static void add_preload(struct base_buf *list, const char *folder, const char *name)
{
    if (list->length)
        base_buf_putc(list, ':');
    if (!strpbrk(folder, " \t\n"))
        base_buf_printf(list, "%s/", folder);
    base_buf_puts(list, name);
}

static bool set_environment(const struct cli_program_request *request,
                            const struct gpusim_program *program, const char *folder)
{
    static const char allow_preload[] = "verify_asan_link_order=0";
    struct base_buf preload = {0};
    add_preload(&preload, folder, "libglint-redirect.so");
    // Preloading is needed if the executable names folders that come before LD_LIBRARY_PATH: the
    // loader does not search for a library that is already loaded.
    if (program->has_rpath && program->runtime)
        add_preload(&preload, folder,
                    program->runtime == 11   ? "libcudart.so.11.0"
                    : program->runtime == 12 ? "libcudart.so.12"
                                             : "libcudart.so.13");
    if (program->has_rpath && program->needs_driver)
        add_preload(&preload, folder, "libcuda.so.1");
    const char *standin;
    for (unsigned i = 0; program->has_rpath && (standin = gpusim_standin_name(i)) != NULL; i++) {
        if (program->standins >> i & 1)
            add_preload(&preload, folder, standin);
    }
    bool good = !preload.failed && put_before("LD_PRELOAD", preload.text, ":") &&
                put_before("LD_LIBRARY_PATH", folder, ":") &&
                (!program->needs_asan || put_before("ASAN_OPTIONS", allow_preload, ":")) &&
                (!request->preset || setenv("GLINT_SIM_DEVICE", request->preset, 1) == 0) &&
                (!request->workers || setenv("GLINT_SIM_WORKERS", request->workers, 1) == 0) &&
                (!request->memory_errors ||
                 setenv("GLINT_SIM_MEMORY_ERRORS", request->memory_errors, 1) == 0) &&
                (!request->log || set_log(request->log));
    if (!good)
        cli_no_memory();
    base_buf_fini(&preload);
    return good;
}

static bool prepare_simulation(const struct cli_program_request *request, const char *path)
{
    struct base_error error = {0};
    struct gpusim_program program;
    struct base_buf folder = {0};
    bool good = false;
    // An executable that cannot be read cannot be examined, and may not use CUDA.
    enum base_code code = gpusim_program_read(path, &program, &error);
    if (code != BASE_OK && code != BASE_IO)
        cli_error(&error);
    else
        good = find_libraries(&folder, "/sim", "libglint-redirect.so") &&
               can_be_simulated(path, &program) && set_environment(request, &program, folder.text);
    base_buf_fini(&folder);
    return good;
}

// Makes libglint.so the NVTX injection library, so that it receives the memory that the program
// announces, and its ranges. If the user has set another one, that stays; then glint refuses to
// watch ranges, because it would watch nothing. Returns false after a message.
static bool set_nvtx(const char *folder)
{
    static const char variable[] = "NVTX_INJECTION64_PATH";
    const char *capture = getenv(EVENT_CAPTURE_VARIABLE), *before = getenv(variable);
    struct event_capture wanted = {0};
    struct base_buf path = {0};
    base_buf_printf(&path, "%s/libglint.so", folder);
    bool good = !path.failed && (before || setenv(variable, path.text, 1) == 0);
    if (!good)
        cli_no_memory();
    if (good && before && strcmp(before, path.text) != 0) {
        if (capture)
            event_capture_parse(capture, &wanted);
        good = wanted.kind != EVENT_CAPTURE_NVTX;
        cli_message(good ? "%s is already set: memory that the program announces by NVTX is not "
                           "recorded"
                         : "%s is already set, so glint cannot see ranges of NVTX; unset it",
                    variable);
    }
    base_buf_fini(&path);
    return good;
}

// Preloads libglint.so before all other libraries, so that it is between the program and the
// driver. If pages are to be protected, also by a plan, it also preloads the library that
// intercepts the C library, and the one for MPI only if the program has an MPI: a program that
// checks for MPI must not find one where there is none.
static bool prepare_watching(const struct cli_program_request *request, const char *path)
{
    const char *plan = getenv(PLAN_VARIABLE);
    const bool first_uses = request->first_uses || (plan && *plan);
    struct base_buf folder = {0}, preload = {0};
    bool good = find_libraries(&folder, "", first_uses ? "libglint-sync.so" : "libglint.so");
    if (good) {
        if (first_uses)
            add_preload(&preload, folder.text, "libglint-sync.so");
        if (first_uses && record_needs_mpi(path))
            add_preload(&preload, folder.text, "libglint-mpi.so");
        add_preload(&preload, folder.text, "libglint.so");
        good = !preload.failed && put_before("LD_PRELOAD", preload.text, ":") &&
               put_before("LD_LIBRARY_PATH", folder.text, ":");
        if (!good)
            cli_no_memory();
        good = good && set_nvtx(folder.text);
    }
    base_buf_fini(&preload);
    base_buf_fini(&folder);
    return good;
}

// Returns whether there is a GPU with a driver that works; else why not. Only the driver knows:
// WSL2 and Jetson have other device files than servers, and a container may have the files without
// the driver.
static bool has_gpu(struct base_buf *why)
{
    struct base_buf folder = {0}, said = {0};
    const struct cli_driver_trial trial = {
        .library = "libcuda.so.1",
        .not_within = cli_program_library_folder(&folder) ? folder.text : NULL,
        .silent = true};
    const enum cli_driver found = cli_try_driver(&trial, &said);
    if (found == CLI_DRIVER_ABSENT)
        base_buf_puts(why, "no GPU found");
    else if (found == CLI_DRIVER_FAILS)
        base_buf_printf(why, "the GPU's driver does not work (%s)", said.text ? said.text : "");
    base_buf_fini(&folder);
    base_buf_fini(&said);
    return found == CLI_DRIVER_WORKS;
}

bool cli_program_prepare(struct cli_program_request *request, const char *name,
                         struct base_buf *path)
{
    struct base_buf fallback = {0};
    if (request->device == CLI_PROGRAM_DEVICE_AUTO)
        request->device = has_gpu(&fallback) ? CLI_PROGRAM_DEVICE_GPU : CLI_PROGRAM_DEVICE_SIM;
    if (request->device == CLI_PROGRAM_DEVICE_GPU &&
        (request->workers || request->log || request->memory_errors))
        cli_message(
            "--workers, --sim-log and --memory-errors apply only to the simulated GPU, and are "
            "ignored");
    bool good = cli_program_find(name, path);
    if (path->failed)
        cli_no_memory();
    good &= !path->failed;
    if (good && request->device == CLI_PROGRAM_DEVICE_SIM)
        good = prepare_simulation(request, path->text);
    if (good && fallback.length && !request->quiet)
        cli_message("%s: using the simulated GPU (times are not real)", fallback.text);
    base_buf_fini(&fallback);
    return good && (!request->watched || prepare_watching(request, path->text));
}
