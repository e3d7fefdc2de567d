// SPDX-License-Identifier: Apache-2.0
// Blocks that malloc has mapped individually, freed by the program and kept for the next request of
// the same size. While first uses are watched, large blocks get separate pages (libc_spare_start),
// which the system maps and clears each time; without glint the C library soon keeps such memory in
// its heap. Keeping freed blocks saves that time in programs that allocate and free in a loop.
//
// To the C library a kept block is in use. A thread that finds the lock taken does without: no
// thread ever waits here, not even in a child of fork whose parent held the lock.
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inject/util/next.h"
#include "libc.h"

enum { MOST = 64, LEAST_BYTES = 64 << 10, MOST_OF_ONE = 32 << 20, MOST_BYTES = 64 << 20 };

static struct {
    size_t page_bytes; // written once, before anything is kept
    atomic_flag busy;
    size_t count, bytes; // of kept blocks
    struct spare {
        void *block;
        size_t bytes; // of the mapping
    } kept[MOST];     // the oldest first
} spares = {.busy = ATOMIC_FLAG_INIT};

void libc_spare_start(void)
{
    const char *tunables = getenv("GLIBC_TUNABLES");
    spares.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (!getenv("MALLOC_MMAP_THRESHOLD_") && !(tunables && strstr(tunables, "mmap_threshold")))
        mallopt(M_MMAP_THRESHOLD, LEAST_BYTES);
}

// Returns whether malloc() is glibc's, whose block layout is known here.
static bool is_glibc(void)
{
    static _Atomic int known;
    int now = atomic_load_explicit(&known, memory_order_relaxed);
    if (!now) {
        struct dl_find_object one, other;
        const bool same = !_dl_find_object((void *)NEXT(malloc, char *), &one) &&
                          !_dl_find_object((void *)(uintptr_t)gnu_get_libc_version, &other) &&
                          one.dlfo_link_map == other.dlfo_link_map;
        now = same ? 1 : 2;
        atomic_store_explicit(&known, now, memory_order_relaxed);
    }
    return now == 1;
}

// Return the size of the mapping for a block of this many bytes, and of the mapping that holds a
// block; 0: the block is not alone in its mapping.
static size_t mapping_for(size_t bytes)
{
    enum { WORD = 8, UNIT = 16 };
    const size_t page = spares.page_bytes;
    const size_t chunk = (bytes + WORD + UNIT - 1) & ~(size_t)(UNIT - 1);
    return (chunk + WORD + page - 1) & ~(page - 1);
}

static size_t mapping_of(const void *block)
{
    enum { IS_MAPPED = 2, FLAGS = 7 };
    if ((uintptr_t)block % 16)
        return 0;
    const size_t *head =
        (const size_t *)block - 2; // bytes of the mapping before the header, and the size
    return (head[1] & FLAGS) == IS_MAPPED && !head[0] ? head[1] & ~(size_t)FLAGS : 0;
}

static bool enter(void)
{
    return !atomic_flag_test_and_set_explicit(&spares.busy, memory_order_acquire);
}

static void leave(void)
{
    atomic_flag_clear_explicit(&spares.busy, memory_order_release);
}

static struct spare take_at(size_t place)
{
    const struct spare taken = spares.kept[place];
    for (size_t i = place; i + 1 < spares.count; i++)
        spares.kept[i] = spares.kept[i + 1];
    spares.count--;
    spares.bytes -= taken.bytes;
    return taken;
}

void *libc_spare_take(size_t bytes)
{
    if (bytes < LEAST_BYTES || bytes > MOST_OF_ONE || !enter())
        return NULL;
    const size_t wanted = mapping_for(bytes);
    void *block = NULL;
    for (size_t i = spares.count; i-- > 0 && !block;)
        if (spares.kept[i].bytes == wanted)
            block = take_at(i).block;
    leave();
    return block;
}

static void really_free(void *block)
{
    NEXT(free, void (*)(void *))(block);
}

bool libc_spare_keep(void *block)
{
    struct spare gone[MOST];
    size_t gone_count = 0;
    if (!block || !is_glibc())
        return false;
    const size_t bytes = mapping_of(block);
    if (bytes < LEAST_BYTES || bytes > MOST_OF_ONE || !enter())
        return false;
    for (size_t i = 0; i < spares.count; i++) {
        if (spares.kept[i].block != block)
            continue;
        take_at(i); // freed twice: left to the C library
        leave();
        really_free(block);
        return false;
    }
    while (spares.count == MOST || spares.bytes + bytes > MOST_BYTES)
        gone[gone_count++] = take_at(0);
    spares.kept[spares.count++] = (struct spare){block, bytes};
    spares.bytes += bytes;
    leave();
    for (size_t i = 0; i < gone_count; i++)
        really_free(gone[i].block);
    return true;
}

bool libc_spare_release(void)
{
    struct spare gone[MOST];
    size_t count = 0;
    if (!enter())
        return false;
    while (spares.count)
        gone[count++] = take_at(spares.count - 1);
    leave();
    for (size_t i = 0; i < count; i++)
        really_free(gone[i].block);
    return count;
}
