// SPDX-License-Identifier: Apache-2.0
// Stands before the C library's functions that allocate memory, and remembers where large blocks
// were (host_memory.h). Small ones, and all where it is not asked for, pass on at once. They may be
// called before anything else of this library, by the loader: nothing here needs more than its own
// memory.
//
// A program that has an allocator of its own in its executable never comes here, and one in a
// library that is loaded behind this one is what these pass on to.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host_memory.h"
#include "libc_next.h"

extern _Atomic bool use_asked; // first_use_inner.h

static inline bool is_large(size_t bytes)
{
    return __builtin_expect(bytes >= HOST_LEAST_BYTES, 0) &&
           atomic_load_explicit(&use_asked, memory_order_relaxed);
}

static inline bool is_wanted(size_t bytes)
{
    return is_large(bytes) && !inject_thread.depth;
}

// The compiler knows these functions by other names than the linker: it knows too much of their
// own.
#define ALLOCATES(name, params, args, size)                                   \
    void *host_##name params __asm__(#name);                                  \
    void *host_##name params                                                  \
    {                                                                         \
        void *(*const next)params = NEXT(name, void *(*)params);              \
        if (!is_wanted(size))                                                 \
            return next args;                                                 \
        void *block = next args;                                              \
        if (block)                                                            \
            host_allocated(block, size, EVENT_HOST_ALLOCATED, UNWIND_CALLER); \
        return block;                                                         \
    }

#pragma GCC visibility push(default)

void *host_malloc(size_t bytes) __asm__("malloc");
void *host_malloc(size_t bytes)
{
    void *(*const next)(size_t) = NEXT(malloc, void *(*)(size_t));
    if (!is_large(bytes))
        return next(bytes);
    void *block = host_spare_take(bytes);
    block = block ? block : next(bytes);
    if (!block && host_spare_release())
        block = next(bytes);
    if (block && !inject_thread.depth)
        host_allocated(block, bytes, EVENT_HOST_ALLOCATED, UNWIND_CALLER);
    return block;
}

void *host_calloc(size_t count, size_t each) __asm__("calloc");
void *host_calloc(size_t count, size_t each)
{
    void *(*const next)(size_t, size_t) = NEXT(calloc, void *(*)(size_t, size_t));
    size_t bytes;
    if (__builtin_mul_overflow(count, each, &bytes) || !is_large(bytes))
        return next(count, each);
    void *block = host_spare_take(bytes);
    if (block)
        memset(block, 0, bytes);
    block = block ? block : next(count, each);
    if (!block && host_spare_release())
        block = next(count, each);
    if (block && !inject_thread.depth)
        host_allocated(block, bytes, EVENT_HOST_ALLOCATED, UNWIND_CALLER);
    return block;
}

ALLOCATES(aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes), bytes)
ALLOCATES(memalign, (size_t alignment, size_t bytes), (alignment, bytes), bytes)
ALLOCATES(valloc, (size_t bytes), (bytes), bytes)
ALLOCATES(pvalloc, (size_t bytes), (bytes), bytes)

int host_posix_memalign(void **block, size_t alignment, size_t bytes) __asm__("posix_memalign");
int host_posix_memalign(void **block, size_t alignment, size_t bytes)
{
    int (*const next)(void **, size_t, size_t) =
        NEXT(posix_memalign, int (*)(void **, size_t, size_t));
    if (!is_wanted(bytes))
        return next(block, alignment, bytes);
    const int result = next(block, alignment, bytes);
    if (result == 0)
        host_allocated(*block, bytes, EVENT_HOST_ALLOCATED, UNWIND_CALLER);
    return result;
}
#pragma GCC visibility pop
