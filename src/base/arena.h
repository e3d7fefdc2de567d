// SPDX-License-Identifier: Apache-2.0
// Arena allocation: many small pieces that live and die together, freed in one call.
// Single-threaded: an arena belongs to whoever holds it.
#ifndef GLINT_BASE_ARENA_H
#define GLINT_BASE_ARENA_H

#include <setjmp.h>
#include <stddef.h>

struct base_arena_chunk;

struct base_arena {
    struct base_arena_chunk *newest;
    char *next;             // first free byte of the newest chunk
    char *end;              // one past its last byte
    size_t usual_bytes;     // size of the next ordinary chunk; 0: the first
    size_t allocated_bytes; // taken from the system so far
    size_t limit_bytes;     // 0: none. Beyond it allocation fails as if memory had run out
    jmp_buf *escape;        // where to go when memory runs out; NULL: base_alloc returns NULL
};

// Prepares an empty arena; takes no memory yet. limit_bytes 0 means no limit.
void base_arena_init(struct base_arena *arena, size_t limit_bytes);

// Frees all that was allocated. The arena may be used again afterwards, with its limit and without
// an escape.
void base_arena_fini(struct base_arena *arena);

// Returns size_bytes of zeroed memory aligned for any object. When memory runs out it jumps to
// arena->escape where that is set, so that a long computation needs one recovery point and not a
// test at every allocation; else it returns NULL.
void *base_alloc(struct base_arena *arena, size_t size_bytes);

// The same for count objects of size_bytes each; a product that overflows counts as out of memory.
void *base_alloc_array(struct base_arena *arena, size_t count, size_t size_bytes);

// A NUL-terminated copy of length bytes. Fails as base_alloc does.
char *base_alloc_text(struct base_arena *arena, const char *text, size_t length);

#define base_new(arena, type) ((type *)base_alloc((arena), sizeof(type)))
#define base_new_array(arena, type, count) \
    ((type *)base_alloc_array((arena), (count), sizeof(type)))

#endif
