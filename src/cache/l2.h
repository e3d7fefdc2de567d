// SPDX-License-Identifier: Apache-2.0
// What a launch needs of an L2 beyond the public header.
#ifndef GLINT_CACHE_L2_H
#define GLINT_CACHE_L2_H

#include "level.h"
#include "tally.h"

uint32_t cache_l2_share(const struct cache_l2 *l2);
const struct cache_preset *cache_l2_preset(const struct cache_l2 *l2);

// Returns the partition that a multiprocessor asks.
uint32_t cache_l2_near(const struct cache_l2 *l2, uint32_t multiprocessor);

// To find out which piece a line belongs to: the same in all partitions.
const struct cache_level *cache_l2_level(const struct cache_l2 *l2);

// Returns the word of an item with the partitions: the home, and the one near to its
// multiprocessor.
static inline uint64_t cache_l2_word_of(const struct cache_level *level, uint64_t word,
                                        uint32_t near)
{
    const uint64_t home = cache_home_of(cache_word_line(word), level->partitions);
    return word | home << CACHE_HOME_SHIFT | (uint64_t)near << CACHE_NEAR_SHIFT;
}

// Like cache_l2_run, for words of L2 and their sets; none is without sectors. Counts only what
// memory delivers and receives; returns the outcome of each. Different threads may run items of
// different pieces at the same time, with counts of their own.
void cache_l2_run_items(struct cache_l2 *l2, const struct cache_item *items, const uint32_t *sets,
                        size_t count, struct cache_l2_counts *counts, uint8_t *outcomes);

#endif
