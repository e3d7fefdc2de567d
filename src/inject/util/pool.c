// SPDX-License-Identifier: Apache-2.0
// The allocator of libglint.so. The linker replaces its malloc, calloc, realloc and free by these
// functions (--wrap), so that hooks never enter the program's allocator, which may be the program's
// own and may be where the program was interrupted. Sizes are powers of two from 32 bytes, cut from
// mapped chunks and kept in lists when freed; large pieces are mapped individually. Each piece has
// a header of 16 bytes.
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "ranks.h"

#include "pool.h"

enum {
    SMALLEST_BITS = 5,
    LARGEST_BITS = 16, // above that, pieces are mapped individually
    CHUNK_BYTES = 1 << 20,
    HEAD_BYTES = 16
};

struct util_pool_piece {
    size_t bytes;                 // including the header
    struct util_pool_piece *next; // of a free one
};

_Static_assert(sizeof(struct util_pool_piece) == HEAD_BYTES, "what follows the head is aligned");

static struct {
    pthread_mutex_t lock; // protects all below
    struct util_pool_piece *free[LARGEST_BITS + 1];
    char *chunk;
    size_t left_bytes;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *map_pages(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static unsigned bits_for(size_t bytes)
{
    unsigned bits = SMALLEST_BITS;
    while (((size_t)1 << bits) < bytes)
        bits++;
    return bits;
}

static struct util_pool_piece *take_small(unsigned bits)
{
    size_t bytes = (size_t)1 << bits;
    util_mutex_lock(&pool.lock, RANK_MEMORY);
    struct util_pool_piece *piece = pool.free[bits];
    if (piece) {
        pool.free[bits] = piece->next;
    } else {
        if (pool.left_bytes < bytes) { // the rest of the old chunk is lost, at most one piece
            pool.chunk = map_pages(CHUNK_BYTES);
            pool.left_bytes = pool.chunk ? CHUNK_BYTES : 0;
        }
        if (pool.left_bytes >= bytes) {
            piece = (struct util_pool_piece *)(void *)pool.chunk;
            pool.chunk += bytes;
            pool.left_bytes -= bytes;
        }
    }
    util_mutex_unlock(&pool.lock, RANK_MEMORY);
    if (piece)
        piece->bytes = bytes;
    return piece;
}

void *__wrap_malloc(size_t bytes) // NOLINT: the linker's name
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes += HEAD_BYTES;
    struct util_pool_piece *piece;
    if (bytes <= (size_t)1 << LARGEST_BITS) {
        piece = take_small(bits_for(bytes));
    } else {
        piece = map_pages(bytes);
        if (piece)
            piece->bytes = bytes;
    }
    return piece ? piece + 1 : NULL;
}

void __wrap_free(void *memory) // NOLINT
{
    if (!memory)
        return;
    struct util_pool_piece *piece = (struct util_pool_piece *)memory - 1;
    if (piece->bytes > (size_t)1 << LARGEST_BITS) {
        munmap(piece, piece->bytes);
        return;
    }
    unsigned bits = bits_for(piece->bytes);
    util_mutex_lock(&pool.lock, RANK_MEMORY);
    piece->next = pool.free[bits];
    pool.free[bits] = piece;
    util_mutex_unlock(&pool.lock, RANK_MEMORY);
}

void *__wrap_calloc(size_t count, size_t bytes) // NOLINT
{
    size_t all;
    if (__builtin_mul_overflow(count, bytes, &all))
        return NULL;
    void *memory = __wrap_malloc(all);
    return memory ? memset(memory, 0, all) : NULL;
}

void *__wrap_realloc(void *memory, size_t bytes) // NOLINT
{
    size_t had = memory ? ((struct util_pool_piece *)memory - 1)->bytes - HEAD_BYTES : 0;
    if (memory && bytes <= had)
        return memory;
    void *larger = __wrap_malloc(bytes);
    if (larger && memory) {
        memcpy(larger, memory, had);
        __wrap_free(memory);
    }
    return larger;
}

void util_pool_forget(void)
{
    memset(&pool, 0, sizeof(pool));
    pthread_mutex_init(&pool.lock, NULL);
}
