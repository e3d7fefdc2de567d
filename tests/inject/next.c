// SPDX-License-Identifier: Apache-2.0
// A library that interposes one function of the C library and finds the original behind it.
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
