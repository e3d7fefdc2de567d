// SPDX-License-Identifier: Apache-2.0
// PTX that lies near a cubin in the file system.
#ifndef GLINT_INJECT_PROBE_NEARBY_H
#define GLINT_INJECT_PROBE_NEARBY_H

#include <stdatomic.h>

#include "fatbin/fatbin.h"

// Returns the PTX of which the cubin has the copy, with its line numbers; NULL: none was found. For
// free(). path: the file from which the cubin was loaded; NULL: none. *spent_ns is what searches
// have taken in this process, which is bounded.
char *probe_nearby_find(const struct fatbin_entry *cubin, const char *path, const char *copy,
                        _Atomic uint64_t *spent_ns, size_t *length);

#endif
