// SPDX-License-Identifier: Apache-2.0
// The toolkit's installers put Compute Sanitizer into a folder of the toolkit, Debian into one of
// its own.
#include "sanitizer.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event/event.h"
#include "program.h"

// Returns whether the folder has the library, whose path replaces the buffer's.
static bool is_in(const char *folder, size_t length, const char *below, struct base_buf *path)
{
    base_buf_clear(path);
    base_buf_printf(path, "%.*s%s/%s", (int)length, folder, below, CLI_SANITIZER_LIBRARY);
    return length && !path->failed && access(path->text, R_OK) == 0;
}

static bool is_in_toolkit(const char *variable, struct base_buf *path)
{
    const char *folder = getenv(variable);
    return folder && is_in(folder, strlen(folder), "/compute-sanitizer", path);
}

static bool is_in_list(const char *folders, struct base_buf *path)
{
    for (const char *from = folders ? folders : ""; *from; from += *from == ':') {
        const size_t length = strcspn(from, ":");
        if (is_in(from, length, "", path))
            return true;
        from += length;
    }
    return false;
}

// The newest of several versions comes last.
static bool is_at(const char *pattern, struct base_buf *path)
{
    glob_t found;
    bool there = false;
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = found.gl_pathc; i > 0 && !there; i--)
            there = is_in(found.gl_pathv[i - 1], strlen(found.gl_pathv[i - 1]), "", path);
        globfree(&found);
    }
    return there;
}

bool cli_sanitizer_find(struct base_buf *path)
{
    const char *given = getenv(EVENT_SANITIZER_VARIABLE);
    if (given && *given) {
        base_buf_clear(path);
        base_buf_puts(path, given);
        return !path->failed && access(given, R_OK) == 0;
    }
    return is_in_toolkit("CUDA_HOME", path) || is_in_toolkit("CUDA_PATH", path) ||
           is_at("/usr/local/cuda/compute-sanitizer", path) ||
           is_at("/usr/local/cuda-*/compute-sanitizer", path) ||
           is_at("/usr/lib/nvidia-cuda-toolkit/compute-sanitizer", path) ||
           is_in_list(getenv("LD_LIBRARY_PATH"), path);
}

bool cli_sanitizer_find_patch(struct base_buf *path)
{
    const char *given = getenv(EVENT_PATCH_VARIABLE);
    base_buf_clear(path);
    if (given && *given)
        base_buf_puts(path, given);
    else if (cli_program_library_folder(path))
        base_buf_puts(path, "/sampled.fatbin");
    return !path->failed && path->text && access(path->text, R_OK) == 0;
}
