// SPDX-License-Identifier: Apache-2.0
// A hash map from 64-bit keys or from text to 64-bit values, which hold numbers, indices or
// pointers. Iteration order is insertion order, so that whatever is printed from a map is the same
// every time.
#ifndef GLINT_BASE_MAP_H
#define GLINT_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "str.h"

struct base_map_entry {
    uint64_t hash;
    uint64_t key;     // the number, or the text's length
    const char *text; // borrowed: must outlive the entry. NULL for a number
    uint64_t value;
    bool removed;
};

// Begins as {0}.
struct base_map {
    struct base_map_entry *entries; // in order of insertion; skip those that are `removed`
    size_t count;                   // entries in use, removed ones included
    size_t live;                    // entries a user sees
    size_t capacity;
    uint32_t *slots;   // index + 1 into entries; 0: empty
    size_t slot_count; // a power of two
};

void base_map_fini(struct base_map *map);

// The place of the value for key, made (as 0) where there was none: *added says which, unless added
// is NULL. NULL when memory ran out; the map is then as it was. Valid until the next insertion. The
// text of a key is borrowed until its entry is removed.
uint64_t *base_map_put(struct base_map *map, uint64_t key, bool *added);
uint64_t *base_map_put_str(struct base_map *map, struct base_str key, bool *added);

// The same, without making one: NULL where there is none.
uint64_t *base_map_get(const struct base_map *map, uint64_t key);
uint64_t *base_map_get_str(const struct base_map *map, struct base_str key);

// True where there was one.
bool base_map_remove(struct base_map *map, uint64_t key);
bool base_map_remove_str(struct base_map *map, struct base_str key);

// The hash behind the maps: good in all bits, not for adversaries.
uint64_t base_hash(const void *bytes, size_t length);

#endif
