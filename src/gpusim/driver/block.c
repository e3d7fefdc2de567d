// SPDX-License-Identifier: Apache-2.0
// Allocates device memory: host memory that is mapped but not reserved, so that a program costs
// only the memory it touches. Small blocks share chunks, as in NVIDIA's driver, because the kernel
// limits the number of mappings. A gap follows each block, so that an access beyond its end hits no
// other object and is detected.
//
// A GPU maps pages of 2 MiB, so accesses beyond a block often go undetected there. With
// driver.lenient these pages are known, and large blocks end with a page.
#include <stdlib.h>
#include <sys/mman.h>

#include "driver.h"
#include "memory.h"

enum { PAGE_BYTES = 2 << 20, HEADER_BYTES = 4096 };
enum { CHUNK_BYTES = 4 << 20, LARGE_BYTES = 1 << 20, GAP_BYTES = DRIVER_ALIGNMENT };

// The header of a chunk, at the start of its first page, which blocks do not use.
struct driver_chunk {
    uint64_t generation; // how often the chunk was emptied; invalidates older free blocks
    uint32_t used_bytes; // from its start
    uint32_t live;       // blocks in use
};

struct free_block {
    struct free_block *next;
    uint64_t address;
    uint64_t generation;
};

static void *map_pages(uint64_t size_bytes)
{
    void *pages = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static struct driver_chunk *chunk_of(uint64_t address)
{
    return (struct driver_chunk *)(uintptr_t)(address & ~(uint64_t)(CHUNK_BYTES - 1));
}

// If memory runs out, an invalid access to the pages ends the launch.
static void add_pages(uint64_t address, uint64_t size_bytes)
{
    if (!driver.lenient)
        return;
    gpusim_lock(&driver.pages_lock, GPUSIM_RANK_PAGES);
    base_intervals_insert(&driver.pages, address, size_bytes, 0, NULL);
    gpusim_unlock(&driver.pages_lock, GPUSIM_RANK_PAGES);
}

static void remove_pages(uint64_t address)
{
    gpusim_lock(&driver.pages_lock, GPUSIM_RANK_PAGES);
    base_intervals_remove(&driver.pages, address, NULL);
    gpusim_unlock(&driver.pages_lock, GPUSIM_RANK_PAGES);
}

bool driver_block_is_mapped(uint64_t address, uint64_t size_bytes)
{
    gpusim_lock(&driver.pages_lock, GPUSIM_RANK_PAGES);
    const struct base_interval *pages = base_intervals_find(&driver.pages, address);
    const bool mapped = pages && size_bytes && pages->last - address >= size_bytes - 1;
    gpusim_unlock(&driver.pages_lock, GPUSIM_RANK_PAGES);
    return mapped;
}

// Adds the pages of a chunk that its blocks use now, but did not use before.
static void add_chunk_pages(struct driver_chunk *chunk, uint64_t before)
{
    const uint64_t start = (uint64_t)(uintptr_t)chunk;
    for (uint64_t at = 0; at < chunk->used_bytes; at += PAGE_BYTES) {
        const uint64_t header = at ? 0 : HEADER_BYTES;
        if (at + header >= before)
            add_pages(start + at + header, PAGE_BYTES - header);
    }
}

static struct driver_chunk *new_chunk(void)
{
    char *pages = map_pages(2 * (uint64_t)CHUNK_BYTES);
    if (!pages)
        return NULL;
    char *start = (char *)(((uintptr_t)pages + CHUNK_BYTES - 1) & ~(uintptr_t)(CHUNK_BYTES - 1));
    if (start > pages)
        munmap(pages, (size_t)(start - pages));
    munmap(start + CHUNK_BYTES, (size_t)(pages + CHUNK_BYTES - start));
    struct driver_chunk *chunk = (struct driver_chunk *)start;
    chunk->used_bytes = HEADER_BYTES;
    return chunk;
}

static uint64_t reuse(uint64_t block_bytes)
{
    uint64_t *list = base_map_get(&driver.free_blocks, block_bytes);
    while (list && *list) {
        struct free_block *block = (struct free_block *)(uintptr_t)*list;
        *list = (uint64_t)(uintptr_t)block->next;
        uint64_t address = block->address, generation = block->generation;
        free(block);
        if (chunk_of(address)->generation == generation)
            return address;
    }
    return 0;
}

static bool is_large(uint64_t size_bytes)
{
    return size_bytes >= LARGE_BYTES;
}

static uint64_t rounded(uint64_t size_bytes)
{
    uint64_t unit = !is_large(size_bytes) ? DRIVER_ALIGNMENT : driver.lenient ? PAGE_BYTES : 4096;
    return (size_bytes + unit - 1) / unit * unit + (is_large(size_bytes) ? 4096 : GAP_BYTES);
}

uint64_t driver_block_take(uint64_t size_bytes)
{
    uint64_t block_bytes = rounded(size_bytes);
    if (is_large(size_bytes)) {
        const uint64_t block = (uint64_t)(uintptr_t)map_pages(block_bytes);
        if (block)
            add_pages(block, (size_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
        return block;
    }
    uint64_t address = reuse(block_bytes);
    if (!address) {
        if (!driver.newest_chunk || driver.newest_chunk->used_bytes + block_bytes > CHUNK_BYTES) {
            struct driver_chunk *chunk = new_chunk();
            if (!chunk)
                return 0;
            driver.newest_chunk = chunk;
        }
        address = (uint64_t)(uintptr_t)driver.newest_chunk + driver.newest_chunk->used_bytes;
        const uint64_t before = driver.newest_chunk->used_bytes;
        driver.newest_chunk->used_bytes += (uint32_t)block_bytes;
        add_chunk_pages(driver.newest_chunk, before);
    }
    chunk_of(address)->live++;
    return address;
}

void driver_block_give(uint64_t address, uint64_t size_bytes)
{
    uint64_t block_bytes = rounded(size_bytes);
    if (is_large(size_bytes)) {
        if (driver.lenient)
            remove_pages(address);
        munmap((void *)(uintptr_t)address, block_bytes);
        return;
    }
    struct driver_chunk *chunk = chunk_of(address);
    if (--chunk->live == 0) {
        chunk->generation++;
        chunk->used_bytes = HEADER_BYTES;
        madvise((char *)chunk + HEADER_BYTES, CHUNK_BYTES - HEADER_BYTES, MADV_DONTNEED);
        driver.newest_chunk = chunk;
        return;
    }
    struct free_block *block = malloc(sizeof *block);
    uint64_t *list = base_map_put(&driver.free_blocks, block_bytes, NULL);
    if (!block || !list) { // the block is lost until its chunk is empty
        free(block);
        return;
    }
    *block = (struct free_block){(struct free_block *)(uintptr_t)*list, address, chunk->generation};
    *list = (uint64_t)(uintptr_t)block;
}
