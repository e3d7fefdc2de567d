// SPDX-License-Identifier: Apache-2.0
// Memory for large arrays.
#ifndef GLINT_CACHE_MEMORY_H
#define GLINT_CACHE_MEMORY_H

#include <stddef.h>

// Like malloc, also for no items; free() frees it. The system is asked for large pages: it clears
// each page when it is first used, and with small ones that takes as long as a launch's work on it.
void *cache_allocate(size_t count, size_t item_bytes);

#endif
