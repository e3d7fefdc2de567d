// SPDX-License-Identifier: Apache-2.0
// The function behind one of ours that stands before it, by name, found without calling any
// function: the first caller may come before the C library can be called.
#ifndef GLINT_INJECT_UTIL_NEXT_H
#define GLINT_INJECT_UTIL_NEXT_H

#include <stdatomic.h>

// The next definition of the function behind this library in the order of loading; where there is
// none behind it, the first before it. NULL: none. Any thread.
void *util_next(const char *name);

// The same, looked up once for each place where it stands.
#define NEXT(name, type)                                                          \
    ({                                                                            \
        static void *_Atomic next_found;                                          \
        void *next_now = atomic_load_explicit(&next_found, memory_order_relaxed); \
        if (__builtin_expect(!next_now, 0)) {                                     \
            next_now = util_next(#name);                                          \
            atomic_store_explicit(&next_found, next_now, memory_order_relaxed);   \
        }                                                                         \
        (type) next_now;                                                          \
    })

#endif
