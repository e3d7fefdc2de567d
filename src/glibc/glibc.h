// SPDX-License-Identifier: Apache-2.0
// Stands in for functions that glibc got after version 2.28, so that what glint ships also loads
// there: the functions are linked into each of its libraries and programs, and hidden in them.
// They have glibc's names for the linker (scripts/make-glibc-stubs), so no other part includes this
// header.
#ifndef GLINT_GLIBC_GLIBC_H
#define GLINT_GLIBC_GLIBC_H

#include <dlfcn.h>
#include <stdbool.h>

struct dl_find_object;

// _dl_find_object of glibc 2.35: finds the executable or library that holds the address. Returns 0
// and fills `found`, or -1. Calls the loader's where it has one, which takes no lock.
int glibc_find_object(void *address, struct dl_find_object *found) __asm__("_dl_find_object");

// Does the same through the loader's list, as on glibc 2.28 to 2.34. Takes the loader's lock, which
// a thread may take again while it holds it. Any thread may call it, also in a signal handler.
bool glibc_search_object(void *address, struct dl_find_object *found);

#endif
