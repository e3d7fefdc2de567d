// SPDX-License-Identifier: Apache-2.0
// The memory of libglint.so; see pool.c.
#ifndef GLINT_INJECT_UTIL_POOL_H
#define GLINT_INJECT_UTIL_POOL_H

#include <stddef.h>

// malloc and its like, as the linker names those that stand in for them.
void *__wrap_malloc(size_t bytes);                // NOLINT
void *__wrap_calloc(size_t count, size_t bytes);  // NOLINT
void *__wrap_realloc(void *memory, size_t bytes); // NOLINT
void __wrap_free(void *memory);                   // NOLINT

// In a new child of fork, before all else: what the parent's threads held is left behind.
void util_pool_forget(void);

#endif
