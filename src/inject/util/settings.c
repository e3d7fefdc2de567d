// SPDX-License-Identifier: Apache-2.0
// Keeps copies of environment variables. Children of fork inherit them.
#include "settings.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Each NAME=VALUE, followed by a NUL; after the last one an empty text. Written once.
static const char *_Atomic kept;

// Returns whether the variable is one of glint's, or locates its cache.
static bool is_ours(const char *variable)
{
    static const char *const names[] = {"GLINT_", "HOME=", "XDG_CACHE_HOME="};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

void util_settings_keep(void)
{
    size_t bytes = 1;
    if (!environ || atomic_load(&kept))
        return;
    for (char **variable = environ; *variable; variable++)
        bytes += is_ours(*variable) ? strlen(*variable) + 1 : 0;
    // Not from the program's allocator; zeroed, so that the last text is empty.
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return;
    char *copy = at;
    for (char **variable = environ; *variable; variable++) {
        if (!is_ours(*variable))
            continue;
        const size_t length = strlen(*variable) + 1;
        memcpy(at, *variable, length);
        at += length;
    }
    mprotect(copy, bytes, PROT_READ);
    atomic_store(&kept, copy);
}

const char *util_setting(const char *name)
{
    const char *at = atomic_load(&kept);
    const size_t length = strlen(name);
    if (!at)
        return getenv(name);
    for (; *at; at += strlen(at) + 1) {
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    }
    return NULL;
}
