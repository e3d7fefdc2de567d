// SPDX-License-Identifier: Apache-2.0
// dlopen: a library that is loaded later may have other processes, or the system, touch memory
// unseen (MPI, UCX, liburing). What is closed is opened before; whether such a library has come is
// looked at before anything is closed again (use_find_obstacle).
#include <errno.h>

#include "inject/entry.h"
#include "inject/next.h"
#include "libc.h"

static void open_all(void)
{
    const struct inside *inside = libc_inside();
    const int error = errno;
    if (inside)
        inside->open_all();
    errno = error;
}

__attribute__((used)) void *door_choose_dlopen(const void *file, long mode);
void *door_choose_dlopen(const void *file, long mode)
{
    (void)file, (void)mode;
    open_all();
    return NEXT(dlopen, void *);
}

__attribute__((used)) void *door_choose_dlmopen(long space, const void *file);
void *door_choose_dlmopen(long space, const void *file)
{
    (void)space, (void)file;
    open_all();
    return NEXT(dlmopen, void *);
}

ENTRY(dlopen);
ENTRY(dlmopen);
