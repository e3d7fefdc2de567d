// SPDX-License-Identifier: Apache-2.0
// Memory for large arrays. See memory.h.
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { LARGE_PAGE = 2 << 20 };

void *cache_allocate(size_t count, size_t item_bytes)
{
    const size_t bytes = count * item_bytes;
    char *memory = malloc(bytes + 1);
    if (!memory || bytes < (size_t)2 * LARGE_PAGE)
        return memory;
    // cppcheck-suppress uninitdata
    const size_t before = (LARGE_PAGE - (uintptr_t)memory % LARGE_PAGE) % LARGE_PAGE;
    madvise(memory + before, (bytes - before) / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);
    return memory;
}
