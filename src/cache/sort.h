// SPDX-License-Identifier: Apache-2.0
// Stable sorting by some bits, in linear time.
#ifndef GLINT_CACHE_SORT_H
#define GLINT_CACHE_SORT_H

#include "item.h"

// Returns how many bits the number has.
unsigned cache_bits_of(uint64_t number);

// Sorts numbers by `bits` bits from `shift` on; those that are equal there stay in order. `spare`
// has room for as many. Returns which of both has the result. `steps` increases by how many numbers
// and counts were looked at.
uint64_t *cache_sort(uint64_t *numbers, uint64_t *spare, size_t count, unsigned shift,
                     unsigned bits, uint64_t *steps);

// Items that are to be sorted.
struct cache_part {
    struct cache_item *items;
    size_t count;
};

// Sorts the items of several parts by their times, which have so many bits; those that are equal
// there stay in order. `room` and `spare` have room for all of them; `spare` may be the only part.
// Returns which of both has the result, and sets how many items there are.
struct cache_item *cache_sort_items(const struct cache_part *parts, size_t part_count,
                                    struct cache_item *room, struct cache_item *spare,
                                    unsigned bits, size_t *count, uint64_t *steps);

#endif
