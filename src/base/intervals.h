// SPDX-License-Identifier: Apache-2.0
// The interval map: ranges of 64-bit addresses that never overlap, each with a 64-bit value (a
// number, an index or a pointer). It finds the range that contains an address, the ranges that
// overlap another, and neighbors, in O(log n). It does not own what the values point to. It has no
// lock: any number of threads may read it at once; a change requires exclusive access.
#ifndef GLINT_BASE_INTERVALS_H
#define GLINT_BASE_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

// One range, from its first byte to its last. It stores the last byte because the end of a range at
// the top of the address space, 2^64, does not fit. start <= last always.
struct base_interval {
    uint64_t start;
    uint64_t last;
    uint64_t value;
};

struct base_intervals_node;

struct base_intervals {
    struct base_intervals_node *root;  // NULL when empty
    struct base_intervals_node *spare; // nodes kept for the next insertion
    size_t spare_count;
    size_t count;           // ranges in the map
    unsigned height;        // levels of inner nodes above the leaves
    size_t allocated_bytes; // in use now, spare nodes included
    size_t limit_bytes;     // insertion beyond it fails as if memory had run out; 0: no limit
};

// A position in an iteration; its fields are private. Any change to the map invalidates it.
struct base_intervals_walk {
    struct base_intervals_node *leaf;
    size_t index;
    uint64_t last;
};

// Functions take a range as its first byte and its size: [start, start + size_bytes). The sum may
// be 2^64. Functions that change the map return BASE_INVALID if the sum is larger or the size is 0.
// (A single range of all 2^64 bytes cannot be expressed.)
//
// A struct base_interval pointer that a function returns belongs to the map. The caller may change
// the value through it, but not start and last. It is valid until the next insert, remove,
// remove_range or fini, whatever range those affect; keep the start, not the pointer, across one.

// Initializes an empty map without allocating. limit_bytes 0 means no limit.
void base_intervals_init(struct base_intervals *map, size_t limit_bytes);

// Frees all memory. The map is empty afterwards and may be used again.
void base_intervals_fini(struct base_intervals *map);

// Adds a range. Returns BASE_CONFLICT if it overlaps a range of the map, and sets *overlapping to
// the lowest such range; after any other result *overlapping is NULL. overlapping may be NULL. May
// also return BASE_NO_MEMORY or BASE_INVALID. On failure the map is unchanged.
enum base_code base_intervals_insert(struct base_intervals *map, uint64_t start,
                                     uint64_t size_bytes, uint64_t value,
                                     struct base_interval **overlapping);

// Returns the range that contains the address, or NULL.
struct base_interval *base_intervals_find(const struct base_intervals *map, uint64_t address);

// Return the nearest range that lies entirely below the address (last < address) or entirely above
// it (start > address), or NULL. Whether a range contains the address itself does not matter.
struct base_interval *base_intervals_before(const struct base_intervals *map, uint64_t address);
struct base_interval *base_intervals_after(const struct base_intervals *map, uint64_t address);

// Removes the range that begins at `start`. Returns false if there is none; otherwise stores the
// range in *removed, unless removed is NULL. Never runs out of memory.
bool base_intervals_remove(struct base_intervals *map, uint64_t start,
                           struct base_interval *removed);

// Removes all addresses of the range from the map and keeps all others. A range that is partly
// inside is cut. A range that extends beyond it on both sides becomes two, both with its value.
// Returns BASE_INVALID, or BASE_NO_MEMORY, which is only possible if a piece remains above the
// removed range; the map is then unchanged. If values own something, walk the overlaps first.
enum base_code base_intervals_remove_range(struct base_intervals *map, uint64_t start,
                                           uint64_t size_bytes);

// Iterate in order of address, over all ranges or over those that overlap the given one. Here a
// range that extends beyond 2^64 is cut there, and an empty range overlaps nothing:
//     struct base_intervals_walk walk;
//     struct base_interval *it = base_intervals_first(map, &walk);
//     for (; it; it = base_intervals_next(&walk))
// Values may be changed during the iteration. To remove ranges, iterate with base_intervals_after.
struct base_interval *base_intervals_first(const struct base_intervals *map,
                                           struct base_intervals_walk *walk);
struct base_interval *base_intervals_first_overlap(const struct base_intervals *map, uint64_t start,
                                                   uint64_t size_bytes,
                                                   struct base_intervals_walk *walk);
struct base_interval *base_intervals_next(struct base_intervals_walk *walk);

static inline size_t base_intervals_count(const struct base_intervals *map)
{
    return map->count;
}

static inline uint64_t base_interval_size_bytes(const struct base_interval *interval)
{
    return interval->last - interval->start + 1;
}

#endif
