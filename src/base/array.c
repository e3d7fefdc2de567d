// SPDX-License-Identifier: Apache-2.0
// The growth function behind all growing arrays.
#include "array.h"

#include <stdint.h>
#include <string.h>

size_t base_array_grow(base_array_items *items, size_t *count, size_t *capacity, size_t item_bytes,
                       struct base_arena *arena)
{
    if (*count == *capacity) {
        size_t wanted = *capacity ? *capacity * 2 : 8;
        size_t bytes;
        // An impossible size is requested too, so that an arena can escape.
        if (wanted < *capacity || __builtin_mul_overflow(wanted, item_bytes, &bytes))
            bytes = SIZE_MAX;
        void *larger = arena ? base_alloc(arena, bytes) : realloc(*items, bytes);
        if (!larger)
            return SIZE_MAX;
        if (arena && *count)
            memcpy(larger, *items, *count * item_bytes);
        *items = larger;
        *capacity = wanted;
    }
    memset((char *)*items + *count * item_bytes, 0, item_bytes);
    return (*count)++;
}
