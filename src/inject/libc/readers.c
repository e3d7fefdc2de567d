// SPDX-License-Identifier: Apache-2.0
// Functions of the C library by which a program lets others access its memory (guard/readers.h).
// They announce it before they do so.
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "inject/util/next.h"
#include "libc.h"

static void opened(int file)
{
    const struct hooks_inside *inside = libc_inside();
    if (inside)
        inside->opened(file);
}

#pragma GCC visibility push(default)

// --- Files ---------------------------------------------------------------------------------------

#define OPENS(name, params, args, last)                                                 \
    int read_##name params __asm__(#name);                                              \
    int read_##name params                                                              \
    {                                                                                   \
        va_list list;                                                                   \
        va_start(list, last);                                                           \
        const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0; \
        va_end(list);                                                                   \
        const int file = NEXT(name, int(*) params) args;                                \
        opened(file);                                                                   \
        return file;                                                                    \
    }
OPENS(open, (const char *path, int flags, ...), (path, flags, mode), flags)
OPENS(open64, (const char *path, int flags, ...), (path, flags, mode), flags)
OPENS(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, mode), flags)
OPENS(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags, mode), flags)

// The variants that compilers use if there is no mode.
#define OPENS_CHECKED(name, params, args)                \
    int read_##name params __asm__(#name);               \
    int read_##name params                               \
    {                                                    \
        const int file = NEXT(name, int(*) params) args; \
        opened(file);                                    \
        return file;                                     \
    }
OPENS_CHECKED(__open_2, (const char *path, int flags), (path, flags))
OPENS_CHECKED(__open64_2, (const char *path, int flags), (path, flags))
OPENS_CHECKED(__openat_2, (int folder, const char *path, int flags), (folder, path, flags))
OPENS_CHECKED(__openat64_2, (int folder, const char *path, int flags), (folder, path, flags))

#define OPENS_STREAM(name, params, args)                        \
    FILE *read_##name params __asm__(#name);                    \
    FILE *read_##name params                                    \
    {                                                           \
        FILE *const stream = NEXT(name, FILE * (*)params) args; \
        if (stream)                                             \
            opened(fileno(stream));                             \
        return stream;                                          \
    }
OPENS_STREAM(fopen, (const char *path, const char *how), (path, how))
OPENS_STREAM(fopen64, (const char *path, const char *how), (path, how))
OPENS_STREAM(freopen, (const char *path, const char *how, FILE *old), (path, how, old))
OPENS_STREAM(freopen64, (const char *path, const char *how, FILE *old), (path, how, old))

// --- Other processes -----------------------------------------------------------------------------

int read_prctl(int option, ...) __asm__("prctl");
int read_prctl(int option, ...)
{
    va_list list;
    unsigned long argument[4];
    va_start(list, option);
    for (unsigned i = 0; i < 4; i++)
        argument[i] = va_arg(list, unsigned long);
    va_end(list);
    const struct hooks_inside *inside = libc_inside();
    // MPI libraries do this for their own copies, which libglint-mpi.so handles.
    if (inside && option == PR_SET_PTRACER && argument[0] && !util_next("MPI_Init"))
        inside->found_reader("the program lets another process read its memory (PR_SET_PTRACER)");
    return NEXT(prctl, int (*)(int, ...))(option, argument[0], argument[1], argument[2],
                                          argument[3]);
}
#pragma GCC visibility pop
