// SPDX-License-Identifier: Apache-2.0
// Keeps copies of environment variables: glint's own, and those that say which rank of a job the
// process is. Children of fork inherit them. In a process whose rank is not to be recorded none of
// glint's is kept, so that the library does nothing.
#include "settings.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "event/event.h"

// Written once: `introduction_bytes` of the introduction, then glint's variables, each NAME=VALUE
// with a NUL, and an empty text.
static const char *_Atomic kept;
static size_t introduction_bytes; // written before `kept`

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

// Returns whether the list of names, separated by commas, has the variable's.
static bool is_listed(const char *list, const char *variable)
{
    const size_t length = strcspn(variable, "=");
    for (; list && *list; list += strspn(list, ",")) {
        const size_t name = strcspn(list, ",");
        if (name == length && strncmp(list, variable, length) == 0)
            return true;
        list += name;
    }
    return false;
}

static bool introduces(const char *variable)
{
    return event_rank_is_variable(variable) || is_listed(getenv(EVENT_NAMING_VARIABLE), variable);
}

static const char *get_variable(void *user, const char *name)
{
    (void)user;
    return getenv(name);
}

// Returns whether only some ranks are to be recorded, and this process is none of them.
static bool is_left_out(void)
{
    const char *ranks = getenv(EVENT_RANKS_VARIABLE);
    struct event_rank rank;
    if (!ranks || !*ranks)
        return false;
    event_rank_read(get_variable, NULL, &rank);
    return !rank.has_number || !event_ranks_have(ranks, rank.number);
}

static char *copy(char *to, const char *variable)
{
    const size_t length = strlen(variable) + 1;
    memcpy(to, variable, length);
    return to + length;
}

void util_settings_keep(void)
{
    size_t bytes = 1, introduction = 0;
    if (!environ || atomic_load(&kept))
        return;
    const bool left_out = is_left_out();
    for (char **variable = environ; *variable; variable++) {
        const size_t length = strlen(*variable) + 1;
        if (is_ours(*variable))
            bytes += length;
        if (introduction + length <= EVENT_INTRODUCTION && introduces(*variable))
            introduction += length;
    }
    bytes += introduction;
    // Not from the program's allocator; zeroed, so that the last text is empty.
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return;
    char *start = at, *ours = at + introduction;
    for (char **variable = environ; *variable; variable++) {
        const size_t length = strlen(*variable) + 1;
        if (is_ours(*variable) && !left_out)
            ours = copy(ours, *variable);
        if ((size_t)(at - start) + length <= introduction && introduces(*variable))
            at = copy(at, *variable);
    }
    mprotect(start, bytes, PROT_READ);
    introduction_bytes = introduction;
    atomic_store(&kept, start);
}

struct base_str util_introduction(void)
{
    const char *start = atomic_load(&kept);
    return (struct base_str){start, start ? introduction_bytes : 0};
}

const char *util_setting(const char *name)
{
    const char *at = atomic_load(&kept);
    const size_t length = strlen(name);
    if (!at)
        return is_left_out() ? NULL : getenv(name);
    for (at += introduction_bytes; *at; at += strlen(at) + 1) {
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    }
    return NULL;
}
