// SPDX-License-Identifier: Apache-2.0
// A hash map from 64-bit keys or from text to 64-bit values, which hold numbers, indices or
// pointers. Iteration is in order of insertion, so that output from a map is deterministic.
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

// Initialize with {0}.
struct base_map {
    struct base_map_entry *entries; // in order of insertion; skip those that are `removed`
    size_t count;                   // entries, including removed ones
    size_t live;                    // entries, without removed ones
    size_t capacity;
    uint32_t *slots;   // index + 1 into entries; 0: empty
    size_t slot_count; // a power of two
};

void base_map_fini(struct base_map *map);

// Return a pointer to the value for the key. A key that is not in the map is added with value 0,
// and *added says whether that happened, unless added is NULL. Return NULL if memory ran out; the
// map is then unchanged. The pointer is valid until the next insertion. The map borrows the text of
// a key until its entry is removed.
uint64_t *base_map_put(struct base_map *map, uint64_t key, bool *added);
uint64_t *base_map_put_str(struct base_map *map, struct base_str key, bool *added);

// The same without adding: return NULL if the key is not in the map.
uint64_t *base_map_get(const struct base_map *map, uint64_t key);
uint64_t *base_map_get_str(const struct base_map *map, struct base_str key);

// Return true if the key was in the map.
bool base_map_remove(struct base_map *map, uint64_t key);
bool base_map_remove_str(struct base_map *map, struct base_str key);

// The hash function of the maps. All its bits are good, but it does not resist adversaries.
uint64_t base_hash(const void *bytes, size_t length);

#endif
