// SPDX-License-Identifier: Apache-2.0
// A library that stands before the C library with one function, and finds the one behind it.
#include <dlfcn.h>

#define SHOWN __attribute__((visibility("default")))

SHOWN const char *gnu_get_libc_version(void);
const char *gnu_get_libc_version(void)
{
    return "the one in front";
}

SHOWN const char *next_version(void);
const char *next_version(void)
{
    const char *(*next)(void) = (const char *(*)(void))dlsym(RTLD_NEXT, "gnu_get_libc_version");
    return next ? next() : "none";
}
