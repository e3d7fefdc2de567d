// SPDX-License-Identifier: Apache-2.0
// Arena allocation: many small allocations that are freed together, in one call. An arena may be
// used by one thread at a time.
#ifndef GLINT_BASE_ARENA_H
#define GLINT_BASE_ARENA_H

#include <setjmp.h>
#include <stddef.h>

struct base_arena_chunk;

struct base_arena {
    struct base_arena_chunk *newest;
    char *next;             // first free byte of the newest chunk
    char *end;              // one past its last byte
    size_t usual_bytes;     // size of the next ordinary chunk; 0: there is no chunk yet
    size_t allocated_bytes; // allocated from the system so far
    size_t limit_bytes;     // allocation beyond it fails as if memory had run out; 0: no limit
    jmp_buf *escape;        // base_alloc jumps there when memory runs out; NULL: it returns NULL
};

// Initializes an empty arena without allocating. limit_bytes 0 means no limit.
void base_arena_init(struct base_arena *arena, size_t limit_bytes);

// Frees everything that was allocated and clears the escape. The arena, with its limit, may be used
// again.
void base_arena_fini(struct base_arena *arena);

// Returns size_bytes of zeroed memory, aligned for any object. If memory runs out it jumps to
// arena->escape, so that a long computation needs one recovery point instead of a test after every
// allocation. Without an escape it returns NULL.
void *base_alloc(struct base_arena *arena, size_t size_bytes);

// The same for `count` objects of size_bytes each. Fails as base_alloc does if the product
// overflows.
void *base_alloc_array(struct base_arena *arena, size_t count, size_t size_bytes);

// Returns a NUL-terminated copy of `length` bytes. Fails as base_alloc does.
char *base_alloc_text(struct base_arena *arena, const char *text, size_t length);

#define base_new(arena, type) ((type *)base_alloc((arena), sizeof(type)))
#define base_new_array(arena, type, count) \
    ((type *)base_alloc_array((arena), (count), sizeof(type)))

#endif
