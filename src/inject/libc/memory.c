// SPDX-License-Identifier: Apache-2.0
// The C library's functions that allocate and free memory. The call paths of large allocations are
// remembered (guard/host_memory.h), and watched data ends when its memory is freed. Small blocks,
// and all blocks if glint needs nothing of this process, are passed on at once. The loader may call
// these functions before anything else of this library, so they use only static memory.
//
// A program with an allocator in its executable never calls these functions. If a library that is
// loaded behind this one has an allocator, these functions pass calls on to it.
#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "event/event.h"
#include "inject/hooks/inside.h"
#include "inject/util/next.h"
#include "libc.h"

enum { LEAST_BYTES = 16 << 10 }; // smaller blocks are not remembered

static void forget(const struct hooks_inside *inside, const void *pointer, size_t bytes,
                   bool reported)
{
    const uint64_t low = (uint64_t)(uintptr_t)pointer;
    inside->forget(low, low + bytes, reported);
}

// --- Mappings ------------------------------------------------------------------------------------

#pragma GCC visibility push(default)

int libc_munmap(void *p, size_t bytes) __asm__("munmap");
int libc_munmap(void *p, size_t bytes)
{
    const struct hooks_inside *inside = libc_inside();
    if (inside) {
        forget(inside, p, bytes, false);
        if (!inside->is_own(__builtin_return_address(0)))
            inside->unmapped(p, bytes, UNWIND_CALLER);
    }
    return NEXT(munmap, int (*)(void *, size_t))(p, bytes);
}

int libc_mprotect(void *p, size_t bytes, int how) __asm__("mprotect");
int libc_mprotect(void *p, size_t bytes, int how)
{
    const struct hooks_inside *inside = libc_inside();
    if (inside)
        forget(inside, p, bytes, true);
    return NEXT(mprotect, int (*)(void *, size_t, int))(p, bytes, how);
}

int libc_madvise(void *p, size_t bytes, int advice) __asm__("madvise");
int libc_madvise(void *p, size_t bytes, int advice)
{
    const struct hooks_inside *inside = libc_inside();
    if (inside && (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE))
        forget(inside, p, bytes, false);
    return NEXT(madvise, int (*)(void *, size_t, int))(p, bytes, advice);
}

void *libc_mremap(void *p, size_t bytes, size_t wanted, int flags, ...) __asm__("mremap");
void *libc_mremap(void *p, size_t bytes, size_t wanted, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    void *to = va_arg(list, void *);
    va_end(list);
    void *(*const next)(void *, size_t, size_t, int, ...) =
        NEXT(mremap, void *(*)(void *, size_t, size_t, int, ...));
    const struct hooks_inside *inside = libc_inside();
    if (!inside)
        return next(p, bytes, wanted, flags, to);
    forget(inside, p, bytes, true);
    if (flags & MREMAP_FIXED)
        forget(inside, to, wanted, false);
    struct guard_block known;
    const bool left = inside->leaves(p, &known);
    if (flags & MREMAP_FIXED)
        inside->unmapped(to, wanted, UNWIND_CALLER);
    void *moved = next(p, bytes, wanted, flags, to);
    if (left && moved != MAP_FAILED)
        inside->freed(&known, UNWIND_CALLER);
    else if (left)
        inside->stays(&known);
    if (left && moved != MAP_FAILED && wanted >= LEAST_BYTES)
        inside->allocated(moved, wanted, known.kind, UNWIND_CALLER);
    return moved;
}

// Announces a new mapping. With MAP_FIXED, blocks that were mapped there before end.
static void map_block(const struct hooks_inside *inside, const void *mapped, size_t bytes,
                      int flags, struct stack_unwind_registers caller)
{
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
        inside->unmapped(mapped, bytes, caller);
    if (bytes >= LEAST_BYTES && !inside->is_in_driver())
        inside->allocated(mapped, bytes,
                          flags & MAP_ANONYMOUS ? EVENT_HOST_MAPPED : EVENT_HOST_FILE, caller);
}

#define MAPS(name, offset)                                                            \
    void *libc_##name(void *p, size_t bytes, int how, int flags, int file,            \
                      offset at) __asm__(#name);                                      \
    void *libc_##name(void *p, size_t bytes, int how, int flags, int file, offset at) \
    {                                                                                 \
        void *(*const next)(void *, size_t, int, int, int, offset) =                  \
            NEXT(name, void *(*)(void *, size_t, int, int, int, offset));             \
        const struct hooks_inside *inside = libc_inside();                            \
        if (!inside || inside->is_own(__builtin_return_address(0)))                   \
            return next(p, bytes, how, flags, file, at);                              \
        if (flags & MAP_FIXED)                                                        \
            forget(inside, p, bytes, false);                                          \
        void *mapped = next(p, bytes, how, flags, file, at);                          \
        if (mapped != MAP_FAILED)                                                     \
            map_block(inside, mapped, bytes, flags, UNWIND_CALLER);                   \
        return mapped;                                                                \
    }
MAPS(mmap, off_t)
MAPS(mmap64, off64_t)

#pragma GCC visibility pop

// --- Functions that free -------------------------------------------------------------------------

// Asks the allocator that has the program's free(), if it can report the size. Without the size,
// data in the block stays closed until the memory is touched.
static size_t size_of_block(void *block)
{
    struct dl_find_object one, other;
    void (*const next)(void *) = NEXT(free, void (*)(void *));
    size_t (*const size_of)(void *) = NEXT(malloc_usable_size, size_t(*)(void *));
    if (!size_of || _dl_find_object((void *)(uintptr_t)next, &one) ||
        _dl_find_object((void *)(uintptr_t)size_of, &other) ||
        one.dlfo_link_map != other.dlfo_link_map)
        return 0;
    return size_of(block);
}

#pragma GCC visibility push(default)

void libc_free(void *block)
{
    const struct hooks_inside *inside = libc_inside();
    if (inside) {
        struct guard_block known;
        if (inside->may_hold(block) && inside->leaves(block, &known))
            inside->freed(&known, UNWIND_CALLER);
        inside->forget_block(block, false, size_of_block);
        if (libc_spare_keep(block))
            return;
    }
    NEXT(free, void (*)(void *))(block);
}

// A block that realloc returns counts as a new one, allocated here. If realloc fails, the old block
// stays.
#define REALLOCATES(name, params, args, size)                                        \
    void *libc_##name params __asm__(#name);                                         \
    void *libc_##name params                                                         \
    {                                                                                \
        void *(*const next)params = NEXT(name, void *(*)params);                     \
        const struct hooks_inside *inside = libc_inside();                           \
        if (!inside)                                                                 \
            return next args;                                                        \
        struct guard_block known;                                                    \
        const bool left = inside->leaves(block, &known);                             \
        inside->forget_block(block, true, size_of_block);                            \
        void *changed = next args;                                                   \
        if (left && (changed || (size) == 0))                                        \
            inside->freed(&known, UNWIND_CALLER);                                    \
        else if (left)                                                               \
            inside->stays(&known);                                                   \
        if (changed && (size) >= LEAST_BYTES && !inside->is_in_driver())             \
            inside->allocated(changed, (size), EVENT_HOST_ALLOCATED, UNWIND_CALLER); \
        return changed;                                                              \
    }
REALLOCATES(realloc, (void *block, size_t bytes), (block, bytes), bytes)
REALLOCATES(reallocarray, (void *block, size_t count, size_t each), (block, count, each),
            count *each)

#pragma GCC visibility pop

// --- Functions that allocate ---------------------------------------------------------------------

static inline const struct hooks_inside *inside_if_large(size_t bytes)
{
    return __builtin_expect(bytes >= LEAST_BYTES, 0) ? libc_inside() : NULL;
}

static void note(const struct hooks_inside *inside, const void *block, size_t bytes,
                 struct stack_unwind_registers caller)
{
    if (block && !inside->is_in_driver())
        inside->allocated(block, bytes, EVENT_HOST_ALLOCATED, caller);
}

#pragma GCC visibility push(default)

// The compiler sees these functions under other names than the linker, because it makes assumptions
// about the original names.
#define ALLOCATES(name, params, args, size)                        \
    void *libc_##name params __asm__(#name);                       \
    void *libc_##name params                                       \
    {                                                              \
        void *(*const next)params = NEXT(name, void *(*)params);   \
        const struct hooks_inside *inside = inside_if_large(size); \
        void *block = next args;                                   \
        if (inside)                                                \
            note(inside, block, size, UNWIND_CALLER);              \
        return block;                                              \
    }

void *libc_malloc(size_t bytes) __asm__("malloc");
void *libc_malloc(size_t bytes)
{
    void *(*const next)(size_t) = NEXT(malloc, void *(*)(size_t));
    const struct hooks_inside *inside = inside_if_large(bytes);
    if (!inside)
        return next(bytes);
    void *block = libc_spare_take(bytes);
    block = block ? block : next(bytes);
    if (!block && libc_spare_release())
        block = next(bytes);
    note(inside, block, bytes, UNWIND_CALLER);
    return block;
}

void *libc_calloc(size_t count, size_t each) __asm__("calloc");
void *libc_calloc(size_t count, size_t each)
{
    void *(*const next)(size_t, size_t) = NEXT(calloc, void *(*)(size_t, size_t));
    size_t bytes;
    const struct hooks_inside *inside =
        __builtin_mul_overflow(count, each, &bytes) ? NULL : inside_if_large(bytes);
    if (!inside)
        return next(count, each);
    void *block = libc_spare_take(bytes);
    if (block)
        memset(block, 0, bytes);
    block = block ? block : next(count, each);
    if (!block && libc_spare_release())
        block = next(count, each);
    note(inside, block, bytes, UNWIND_CALLER);
    return block;
}

ALLOCATES(aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes), bytes)
ALLOCATES(memalign, (size_t alignment, size_t bytes), (alignment, bytes), bytes)
ALLOCATES(valloc, (size_t bytes), (bytes), bytes)
ALLOCATES(pvalloc, (size_t bytes), (bytes), bytes)

int libc_posix_memalign(void **block, size_t alignment, size_t bytes) __asm__("posix_memalign");
int libc_posix_memalign(void **block, size_t alignment, size_t bytes)
{
    int (*const next)(void **, size_t, size_t) =
        NEXT(posix_memalign, int (*)(void **, size_t, size_t));
    const struct hooks_inside *inside = inside_if_large(bytes);
    const int result = next(block, alignment, bytes);
    if (inside && result == 0)
        note(inside, *block, bytes, UNWIND_CALLER);
    return result;
}
#pragma GCC visibility pop
