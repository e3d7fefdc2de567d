// SPDX-License-Identifier: Apache-2.0
// The C library's function behind one of ours that stands before it, by name, and found without the
// help of any function: the first caller may come before the library can be called.
#ifndef GLINT_INJECT_LIBC_NEXT_H
#define GLINT_INJECT_LIBC_NEXT_H

#include <stdatomic.h>

// doors.c: the next definition of a function behind ours in the order of loading; NULL: none.
void *door_next(const char *name);

#define NEXT(name, type)                                                          \
    ({                                                                            \
        static void *_Atomic next_found;                                          \
        void *next_now = atomic_load_explicit(&next_found, memory_order_relaxed); \
        if (__builtin_expect(!next_now, 0)) {                                     \
            next_now = door_next(#name);                                          \
            atomic_store_explicit(&next_found, next_now, memory_order_relaxed);   \
        }                                                                         \
        (type) next_now;                                                          \
    })

#endif
