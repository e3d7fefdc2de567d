// SPDX-License-Identifier: Apache-2.0
// Lets memory run out when a test wants it to: the linker's --wrap (tests.cmake) redirects calls of
// the allocator here. Requests that no machine can satisfy always fail, so that they do not depend
// on how a sanitizer handles them.
#ifndef GLINT_TESTS_BASE_FAILING_MEMORY_H
#define GLINT_TESTS_BASE_FAILING_MEMORY_H

#include <stddef.h>
#include <stdint.h>

// How many allocations succeed before all fail.
static size_t allocations_left = SIZE_MAX;
// If not NULL, called before each allocation that does not fail.
static void (*allocation_passes)(void);

void *__real_malloc(size_t size_bytes);
void *__real_calloc(size_t count, size_t size_bytes);
void *__real_realloc(void *piece, size_t size_bytes);
void *__wrap_malloc(size_t size_bytes);
void *__wrap_calloc(size_t count, size_t size_bytes);
void *__wrap_realloc(void *piece, size_t size_bytes);

static int allocation_fails(size_t size_bytes)
{
    if (allocations_left == 0 || size_bytes > (size_t)1 << 40)
        return 1;
    if (allocations_left != SIZE_MAX)
        allocations_left--;
    if (allocation_passes)
        allocation_passes();
    return 0;
}

void *__wrap_malloc(size_t size_bytes)
{
    return allocation_fails(size_bytes) ? NULL : __real_malloc(size_bytes);
}

void *__wrap_calloc(size_t count, size_t size_bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, size_bytes, &total) || allocation_fails(total))
        return NULL;
    return __real_calloc(count, size_bytes);
}

void *__wrap_realloc(void *piece, size_t size_bytes)
{
    return allocation_fails(size_bytes) ? NULL : __real_realloc(piece, size_bytes);
}

#endif
