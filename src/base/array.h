// SPDX-License-Identifier: Apache-2.0
// A growing array of any type, on the heap or in an arena:
//     BASE_ARRAY(int) numbers = {0};
//     int *slot = base_array_push(&numbers);      NULL when memory ran out
//     base_array_fini(&numbers);
// Items move when the array grows: hold indices, not pointers, across a push.
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

// Any pointer to an object, whatever its type: what lets one routine move the items of every array
// without breaking C's rules on aliasing.
typedef void *__attribute__((may_alias)) base_array_items;

// Makes room for one more item and returns its index, or SIZE_MAX when memory ran out; the array is
// then as it was. The new item is zeroed. With an arena, the old copy is left behind in it. Use the
// macros below.
size_t base_array_grow(base_array_items *items, size_t *count, size_t *capacity, size_t item_bytes,
                       struct base_arena *arena);

// Both return a pointer to the new, zeroed item, or NULL. They evaluate `array` more than once. An
// array grows always in the same arena, or always on the heap.
#define base_array_push(array) base_array_push_in((array), NULL)
#define base_array_push_in(array, arena)                                                       \
    (base_array_grow((base_array_items *)&(array)->items, &(array)->count, &(array)->capacity, \
                     sizeof(*(array)->items), (arena)) == (size_t)-1                           \
         ? NULL                                                                                \
         : &(array)->items[(array)->count - 1])

// The same in an arena whose escape is set, which memory that runs out leaves by: never NULL.
#define base_array_add(array, arena)                                                           \
    (base_array_grow((base_array_items *)&(array)->items, &(array)->count, &(array)->capacity, \
                     sizeof(*(array)->items), (arena)),                                        \
     &(array)->items[(array)->count - 1])

// Only for arrays on the heap.
#define base_array_fini(array)                  \
    do {                                        \
        free((array)->items);                   \
        (array)->items = NULL;                  \
        (array)->count = (array)->capacity = 0; \
    } while (0)

#endif
