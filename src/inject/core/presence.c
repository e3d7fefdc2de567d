// SPDX-License-Identifier: Apache-2.0
// This process's slot in the file that the recorder shares with the program's processes.
#include "presence.h"

#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#include "driver.h"
#include "inject/util/settings.h"

// Written when the library is loaded, and by the only thread that starts recording.
static struct {
    struct event_presence *all;
    struct event_presence_slot *own; // NULL: none; a parent's in a child of fork
} presence;

void core_presence_begin(void)
{
    const int error = errno;
    const char *path = util_setting(EVENT_SOCKET_VARIABLE);
    presence.all = path && *path ? event_presence_join(path) : NULL;
    presence.own = presence.all ? event_presence_take(presence.all) : NULL;
    errno = error;
}

static bool is_own(void)
{
    return presence.own && atomic_load(&presence.own->pid) == getpid();
}

void core_presence_call(void)
{
    const int error = errno;
    if (presence.all && !is_own())
        presence.own = event_presence_take(presence.all);
    if (presence.own)
        atomic_fetch_or(&presence.own->flags, EVENT_PRESENT_CALLED);
    errno = error;
}

void core_presence_meet(enum event_refusal refusal, int error)
{
    if (!is_own())
        return;
    atomic_store(&presence.own->error, error);
    atomic_store(&presence.own->refusal, refusal);
    if (refusal == EVENT_REFUSED_NOTHING)
        atomic_fetch_or(&presence.own->flags, EVENT_PRESENT_RECORDED);
}

void core_presence_add(uint32_t flags)
{
    if (presence.own &&
        (atomic_load_explicit(&presence.own->flags, memory_order_relaxed) & flags) != flags)
        atomic_fetch_or(&presence.own->flags, flags);
}

// The loader has taken its lock before it runs exit handlers, so asking it cannot wait for longer
// than the program's own end does.
static bool is_loaded(const char *library)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle)
        dlclose(handle);
    return handle != NULL;
}

void core_presence_end(void)
{
    const int error = errno;
    if (is_own()) {
        const bool runtime = is_loaded("libcudart.so.13") || is_loaded("libcudart.so.12") ||
                             is_loaded("libcudart.so.11.0");
        atomic_fetch_or(&presence.own->flags,
                        EVENT_PRESENT_ENDED |
                            (is_loaded("libcuda.so.1") ? EVENT_PRESENT_DRIVER : 0) |
                            (runtime ? EVENT_PRESENT_RUNTIME : 0));
    }
    errno = error;
}
