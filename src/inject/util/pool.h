// SPDX-License-Identifier: Apache-2.0
// The allocator of libglint.so. The linker replaces its malloc and free by these functions
// (--wrap).
#ifndef GLINT_INJECT_UTIL_POOL_H
#define GLINT_INJECT_UTIL_POOL_H

#include <stddef.h>

// malloc and related functions, by the names that the linker gives to replacements.
void *__wrap_malloc(size_t bytes);                // NOLINT
void *__wrap_calloc(size_t count, size_t bytes);  // NOLINT
void *__wrap_realloc(void *memory, size_t bytes); // NOLINT
void __wrap_free(void *memory);                   // NOLINT

// Called in a child of fork, before anything else: drops the parent's memory and locks.
void util_pool_forget(void);

#endif
