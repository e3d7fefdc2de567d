// SPDX-License-Identifier: Apache-2.0
// A growing array of any type, on the heap or in an arena:
//     BASE_ARRAY(int) numbers = {0};
//     int *slot = base_array_push(&numbers);      NULL when memory ran out
//     base_array_fini(&numbers);
// Items move when the array grows: keep indices, not pointers, across a push.
#ifndef GLINT_BASE_ARRAY_H
#define GLINT_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "arena.h"

#define BASE_ARRAY(type) \
    struct {             \
        type *items;     \
        size_t count;    \
        size_t capacity; \
    }

// A pointer that may alias any pointer, so that one function can grow arrays of every type without
// violating C's aliasing rules.
typedef void *__attribute__((may_alias)) base_array_items;

// Appends one zeroed item and returns its index. Returns SIZE_MAX if memory ran out; the array is
// then unchanged. In an arena, the memory of the smaller array is not reused. Use the macros below.
size_t base_array_grow(base_array_items *items, size_t *count, size_t *capacity, size_t item_bytes,
                       struct base_arena *arena);

// Append a zeroed item and return a pointer to it, or NULL if memory ran out. They evaluate `array`
// more than once. An array must always grow in the same arena, or always on the heap.
#define base_array_push(array) base_array_push_in((array), NULL)
#define base_array_push_in(array, arena)                                                       \
    (base_array_grow((base_array_items *)&(array)->items, &(array)->count, &(array)->capacity, \
                     sizeof(*(array)->items), (arena)) == (size_t)-1                           \
         ? NULL                                                                                \
         : &(array)->items[(array)->count - 1])

// The same in an arena whose escape is set. Never returns NULL: it escapes if memory runs out.
#define base_array_add(array, arena)                                                           \
    (base_array_grow((base_array_items *)&(array)->items, &(array)->count, &(array)->capacity, \
                     sizeof(*(array)->items), (arena)),                                        \
     &(array)->items[(array)->count - 1])

// Frees the items of an array on the heap.
#define base_array_fini(array)                  \
    do {                                        \
        free((array)->items);                   \
        (array)->items = NULL;                  \
        (array)->count = (array)->capacity = 0; \
    } while (0)

#endif
