// SPDX-License-Identifier: Apache-2.0
// Finds the function that one of glint's replaces, by name. Calls no other function, because its
// first caller may run before the C library can be called.
#ifndef GLINT_INJECT_UTIL_NEXT_H
#define GLINT_INJECT_UTIL_NEXT_H

#include <stdatomic.h>

// Returns the next definition of the function after this library in load order; if there is none,
// the first before it. NULL: none. Any thread.
void *util_next(const char *name);

// Does the same, with one lookup for each place in the source where it stands.
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
