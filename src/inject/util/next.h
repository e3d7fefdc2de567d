// SPDX-License-Identifier: Apache-2.0
// Finds the function that one of glint's replaces, by name. While the process starts, it calls no
// other function, because the C library cannot be called yet.
#ifndef GLINT_INJECT_UTIL_NEXT_H
#define GLINT_INJECT_UTIL_NEXT_H

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>

// Returns the next definition of the function after this library in load order; if there is none,
// the first before it. NULL: none. Any thread. Takes the loader's lock if no library of the start
// defines it.
void *util_next(const char *name);

// Returns the function or variable that the object defines, by its symbol table; NULL: none. The
// object must stay loaded meanwhile. Takes no lock.
void *util_symbol(const struct link_map *object, const char *name);
// Returns whether it is linked with a library whose name begins so. The same holds.
bool util_needs(const struct link_map *object, const char *beginning);

// For callbacks of dl_iterate_phdr: the object's dynamic section, NULL if it has none; and its
// definition of the function, NULL if it has none.
const ElfW(Dyn) * util_dynamic(const struct dl_phdr_info *info);
void *util_definition(const struct dl_phdr_info *info, const char *name);

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
