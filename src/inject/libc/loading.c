// SPDX-License-Identifier: Apache-2.0
// dlopen: a library that is loaded by it may have other processes, or the system, touch memory
// unseen (MPI, UCX, liburing). What is closed is opened before; whether such a library has come is
// looked at before anything is closed again (use_find_obstacle).
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "inject/entry.h"
#include "inject/next.h"
#include "libc.h"

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_loaded(const char *file)
{
    for (const struct link_map *object = _r_debug.r_map; file && object; object = object->l_next) {
        if (object->l_name && strcmp(base_of(object->l_name), base_of(file)) == 0)
            return true;
    }
    return !file; // the program itself
}

static void open_for(const char *file)
{
    const struct inside *inside = libc_inside();
    const int error = errno;
    if (inside && !is_loaded(file))
        inside->open_all();
    errno = error;
}

__attribute__((used)) void *door_choose_dlopen(const char *file, long mode);
void *door_choose_dlopen(const char *file, long mode)
{
    if (!(mode & RTLD_NOLOAD))
        open_for(file);
    return NEXT(dlopen, void *);
}

__attribute__((used)) void *door_choose_dlmopen(long space, const char *file);
void *door_choose_dlmopen(long space, const char *file)
{
    (void)space;
    open_for(file);
    return NEXT(dlmopen, void *);
}

ENTRY(dlopen);
ENTRY(dlmopen);
