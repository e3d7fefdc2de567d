// SPDX-License-Identifier: Apache-2.0
// The interval map: ranges of 64-bit addresses that never overlap, each with a 64-bit value (a
// number, an index or a pointer). It answers which range holds an address, which ranges a range
// touches, and which are the neighbours, in O(log n). It does not own what the values point to. Not
// locked: any number of threads may read at once; a change needs the map alone.
#ifndef GLINT_BASE_INTERVALS_H
#define GLINT_BASE_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

// One range. It holds the last byte inside and not the end, because the end of a range that reaches
// the top of the address space is 2^64, which does not fit. start <= last always.
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
    size_t allocated_bytes; // held now, spare nodes included
    size_t limit_bytes;     // 0: none. Beyond it insertion fails as if memory had run out
};

// A position in an iteration; its fields are private. Any change to the map ends it.
struct base_intervals_walk {
    struct base_intervals_node *leaf;
    size_t index;
    uint64_t last;
};

// Every range is given as its first byte and its size, so [start, start + size_bytes). The sum may
// be 2^64; one beyond it, or a size of 0, is BASE_INVALID where it would change the map. (All 2^64
// bytes as one range cannot be stated.)
//
// A returned struct base_interval pointer is the map's own: its value may be changed through it,
// its start and last may not. It is stable until the next insert, remove, remove_range or fini,
// whichever range those touch; hold the start, not the pointer, across one.

// Prepares an empty map; takes no memory yet. limit_bytes 0 means no limit.
void base_intervals_init(struct base_intervals *map, size_t limit_bytes);

// Frees all memory. The map is empty afterwards and may be used again.
void base_intervals_fini(struct base_intervals *map);

// Adds a range. BASE_CONFLICT where it overlaps a range of the map: the lowest such is stored in
// *overlapping, which is NULL after any other result; overlapping itself may be NULL.
// BASE_NO_MEMORY, BASE_INVALID. Unless BASE_OK is returned the map is as it was.
enum base_code base_intervals_insert(struct base_intervals *map, uint64_t start,
                                     uint64_t size_bytes, uint64_t value,
                                     struct base_interval **overlapping);

// The range that holds address; NULL where there is none.
struct base_interval *base_intervals_find(const struct base_intervals *map, uint64_t address);

// The nearest range that lies wholly below address (last < address), or wholly above it (start >
// address), whether or not a range holds address itself. NULL where there is none.
struct base_interval *base_intervals_before(const struct base_intervals *map, uint64_t address);
struct base_interval *base_intervals_after(const struct base_intervals *map, uint64_t address);

// Removes the range that begins at start: true where there was one, then stored in *removed unless
// that is NULL. Never fails for want of memory.
bool base_intervals_remove(struct base_intervals *map, uint64_t start,
                           struct base_interval *removed);

// Clears the range: afterwards no address in it is in the map, and every other address is as it
// was. Ranges partly inside are cut; one that reaches beyond on both sides becomes two, both with
// its value. BASE_NO_MEMORY is possible only where a piece remains above the cleared range, and
// leaves the map as it was; BASE_INVALID. A caller whose values own something walks the overlaps
// first.
enum base_code base_intervals_remove_range(struct base_intervals *map, uint64_t start,
                                           uint64_t size_bytes);

// Iteration in order of address, over all ranges or over those that overlap the given one (here
// what lies beyond 2^64 is ignored, and an empty range overlaps nothing):
//     struct base_intervals_walk walk;
//     struct base_interval *it = base_intervals_first(map, &walk);
//     for (; it; it = base_intervals_next(&walk))
// Values may be changed on the way. To remove on the way, ask base_intervals_after() again instead.
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
