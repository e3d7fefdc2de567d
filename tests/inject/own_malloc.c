// SPDX-License-Identifier: Apache-2.0
// A program's own allocator: it cuts pieces from an array and never reuses a freed piece.
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))

enum { ARENA_BYTES = 64 << 20, HEAD_BYTES = 64 };

static _Alignas(64) unsigned char arena[ARENA_BYTES];
static _Atomic size_t used;

static void *cut(size_t bytes, size_t alignment)
{
    const size_t all = bytes + HEAD_BYTES + alignment;
    const size_t start = atomic_fetch_add(&used, (all + 63) / 64 * 64);
    if (bytes > ARENA_BYTES || start + all > ARENA_BYTES) {
        errno = ENOMEM;
        return NULL;
    }
    uintptr_t at = (uintptr_t)&arena[start] + HEAD_BYTES;
    at = (at + alignment - 1) / alignment * alignment;
    unsigned char *block = &arena[at - (uintptr_t)arena];
    memcpy(block - sizeof(bytes), &bytes, sizeof(bytes));
    return block;
}

SHOWN void *malloc(size_t bytes);
SHOWN void *malloc(size_t bytes)
{
    return cut(bytes, 64);
}

SHOWN void free(void *block);
SHOWN void free(void *block)
{
    (void)block;
}

SHOWN void *calloc(size_t count, size_t each);
SHOWN void *calloc(size_t count, size_t each)
{
    return each && count > SIZE_MAX / each ? NULL : cut(count * each, 64);
}

SHOWN void *realloc(void *block, size_t bytes);
SHOWN void *realloc(void *block, size_t bytes)
{
    void *changed = cut(bytes, 64);
    size_t had = 0;
    if (block)
        memcpy(&had, (unsigned char *)block - sizeof(had), sizeof(had));
    if (block && changed)
        memcpy(changed, block, had < bytes ? had : bytes);
    return changed;
}

SHOWN void *memalign(size_t alignment, size_t bytes);
SHOWN void *memalign(size_t alignment, size_t bytes)
{
    return cut(bytes, alignment < 64 ? 64 : alignment);
}

SHOWN void *aligned_alloc(size_t alignment, size_t bytes);
SHOWN void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

SHOWN int posix_memalign(void **block, size_t alignment, size_t bytes);
SHOWN int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    *block = memalign(alignment, bytes);
    return *block ? 0 : ENOMEM;
}
