// SPDX-License-Identifier: Apache-2.0
// The program headers of the executable. _dl_find_object reports each segment as an image of its
// own if there is a gap between them, as before a variable that is aligned to more than a page.
#ifndef GLINT_INJECT_UTIL_EXECUTABLE_H
#define GLINT_INJECT_UTIL_EXECUTABLE_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct util_executable {
    const ElfW(Phdr) * headers;
    unsigned count;
    uint64_t bias;       // address in memory minus virtual address in the file
    uint64_t start, end; // of all segments
};

// Returns false if the kernel does not say where they are.
bool util_find_executable(struct util_executable *found);

#endif
