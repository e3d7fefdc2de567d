// SPDX-License-Identifier: Apache-2.0
// Leads calls that one library makes to a function of another one to glint instead, by exchanging
// the function's address in the caller's table of calls. Unlike an exported function of the same
// name this changes no lookup: dlsym and weak references find what they find without glint, and it
// works however the libraries were loaded. Calls within one library, and through pointers, that do
// not use the table go past glint.
#ifndef GLINT_INJECT_UTIL_IMPORTS_H
#define GLINT_INJECT_UTIL_IMPORTS_H

#include <link.h>
#include <stdbool.h>

#include "base/base.h"

// Each function. `real` is set before the first call is led to `hook`, and never changes then.
struct util_import {
    const char *name;
    void *hook;
    void *_Atomic real;
};

// What was done so far. Initialize all but the first three with 0. The loader's lock, which
// dl_iterate_phdr holds, protects it.
struct util_imports {
    struct util_import *items;
    unsigned count;
    const char *prefix;                  // of all names, by which most others are excluded quickly
    unsigned long long loaded, unloaded; // as the loader counted them when all was done
    struct base_map examined;            // dynamic sections of libraries that need no second look
    bool waits;                          // some library was not ready yet
    unsigned tries;                      // looks since the last library was loaded
};

// Exchanges the addresses in all libraries that are loaded now. If none was loaded since the last
// time, it costs one call of the loader. A library that another thread is loading at the moment is
// left to a later call, and a table that cannot be written, or whose entry is not understood, is
// left as it is. Takes the loader's lock. Keeps errno.
void util_imports_redirect(struct util_imports *imports);

// For callbacks of dl_iterate_phdr: returns whether the object calls the function, of whatever
// library, by its table of calls.
bool util_imports_calls(const struct dl_phdr_info *info, const char *function);
// Returns whether the address lies in the object's code.
bool util_imports_has_code(const struct dl_phdr_info *info, const void *address);

#endif
