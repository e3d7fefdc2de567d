// SPDX-License-Identifier: Apache-2.0
// Arena allocation. Chunks grow geometrically up to a cap, so a small arena stays small and a large
// one makes few system calls. An allocation larger than the next chunk gets its own chunk, and the
// current chunk stays current.
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT           16
#define FIRST_CHUNK_BYTES   ((size_t)4 << 10)
#define LARGEST_CHUNK_BYTES ((size_t)1 << 20)

struct base_arena_chunk {
    struct base_arena_chunk *older;
    size_t size_bytes; // with this header
};

_Static_assert(sizeof(struct base_arena_chunk) % ALIGNMENT == 0, "pieces start aligned");

void base_arena_init(struct base_arena *arena, size_t limit_bytes)
{
    memset(arena, 0, sizeof(*arena));
    arena->limit_bytes = limit_bytes;
}

void base_arena_fini(struct base_arena *arena)
{
    struct base_arena_chunk *chunk = arena->newest;
    while (chunk) {
        struct base_arena_chunk *older = chunk->older;
        free(chunk);
        chunk = older;
    }
    base_arena_init(arena, arena->limit_bytes);
}

static void *out_of_memory(struct base_arena *arena)
{
    if (arena->escape)
        longjmp(*arena->escape, 1);
    return NULL;
}

static struct base_arena_chunk *take_chunk(struct base_arena *arena, size_t size_bytes)
{
    if (arena->limit_bytes && (size_bytes > arena->limit_bytes ||
                               arena->allocated_bytes > arena->limit_bytes - size_bytes))
        return NULL;
    struct base_arena_chunk *chunk = calloc(1, size_bytes);
    if (!chunk)
        return NULL;
    chunk->size_bytes = size_bytes;
    arena->allocated_bytes += size_bytes;
    return chunk;
}

// Allocates a chunk from the system, for bytes that do not fit into the newest one.
static void *alloc_in_new_chunk(struct base_arena *arena, size_t piece_bytes)
{
    size_t needed;
    if (__builtin_add_overflow(piece_bytes, sizeof(struct base_arena_chunk), &needed))
        return NULL;
    size_t usual = arena->usual_bytes ? arena->usual_bytes : FIRST_CHUNK_BYTES;
    struct base_arena_chunk *chunk = NULL;
    if (needed <= usual)
        chunk = take_chunk(arena, usual);
    if (chunk) {
        chunk->older = arena->newest;
        arena->newest = chunk;
        arena->usual_bytes = usual < LARGEST_CHUNK_BYTES ? usual * 2 : usual;
        arena->next = (char *)(chunk + 1) + piece_bytes;
        arena->end = (char *)chunk + usual;
        return chunk + 1;
    }
    // A large allocation, or the last that the limit or the system allows, gets a chunk of exactly
    // its size, linked behind the newest one so that free space there is not lost.
    chunk = take_chunk(arena, needed);
    if (!chunk)
        return NULL;
    if (arena->newest) {
        chunk->older = arena->newest->older;
        arena->newest->older = chunk;
    } else {
        arena->newest = chunk;
        arena->next = arena->end = (char *)chunk + needed;
    }
    return chunk + 1;
}

void *base_alloc(struct base_arena *arena, size_t size_bytes)
{
    if (size_bytes > PTRDIFF_MAX - ALIGNMENT)
        return out_of_memory(arena);
    // An allocation of 0 bytes gets its own address, so that NULL always means failure.
    size_t rounded =
        size_bytes ? (size_bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1) : ALIGNMENT;
    if (!arena->newest || (size_t)(arena->end - arena->next) < rounded) {
        void *piece = alloc_in_new_chunk(arena, rounded);
        return piece ? piece : out_of_memory(arena);
    }
    void *piece = arena->next;
    arena->next += rounded;
    return piece;
}

void *base_alloc_array(struct base_arena *arena, size_t count, size_t size_bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, size_bytes, &total))
        return out_of_memory(arena);
    return base_alloc(arena, total);
}

char *base_alloc_text(struct base_arena *arena, const char *text, size_t length)
{
    if (length >= PTRDIFF_MAX)
        return out_of_memory(arena);
    char *copy = base_alloc(arena, length + 1);
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}
