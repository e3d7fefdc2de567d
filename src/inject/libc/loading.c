// SPDX-License-Identifier: Apache-2.0
// dlopen. A library that it loads may let other processes or the system access memory unseen (MPI,
// UCX, liburing). Closed pages are opened before the load, and the libraries are examined before
// any page is closed again (guard/readers.h).
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "inject/util/entry.h"
#include "inject/util/next.h"
#include "libc.h"

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int has_name(struct dl_phdr_info *info, size_t bytes, void *file)
{
    (void)bytes;
    return info->dlpi_name && strcmp(base_of(info->dlpi_name), file) == 0;
}

// Reads the loader's list with its lock, because another thread may close a library.
static bool is_loaded(const char *file)
{
    return !file /* the program itself */ || dl_iterate_phdr(has_name, (void *)base_of(file));
}

// escapes: why glint will not see calls of the library; NULL: it will.
static void load(const char *file, bool loaded, const char *escapes, const void *caller)
{
    const struct hooks_inside *inside = libc_inside();
    const int error = errno;
    if (inside && file && (escapes || !loaded)) {
        inside->load(escapes, caller);
        inside->open_all();
    }
    errno = error;
}

__attribute__((used)) void *libc_choose_dlopen(const char *file, uintptr_t mode, uintptr_t unused,
                                               const void *caller);
void *libc_choose_dlopen(const char *file, uintptr_t mode, uintptr_t unused, const void *caller)
{
    (void)unused;
    if (!(mode & RTLD_NOLOAD))
        load(file, is_loaded(file),
             mode & RTLD_DEEPBIND
                 ? "a library was opened with RTLD_DEEPBIND: glint cannot see its calls"
                 : NULL,
             caller);
    return NEXT(dlopen, void *);
}

__attribute__((used)) void *libc_choose_dlmopen(uintptr_t space, const char *file, uintptr_t mode,
                                                const void *caller);
void *libc_choose_dlmopen(uintptr_t space, const char *file, uintptr_t mode, const void *caller)
{
    if (!(mode & RTLD_NOLOAD))
        load(file, false,
             (Lmid_t)space != LM_ID_BASE || mode & RTLD_DEEPBIND
                 ? "a library was opened in a namespace of its own (dlmopen): glint cannot see its "
                   "calls"
                 : NULL,
             caller);
    return NEXT(dlmopen, void *);
}

ENTRY(libc, dlopen);
ENTRY(libc, dlmopen);
