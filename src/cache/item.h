// SPDX-License-Identifier: Apache-2.0
// A request in 16 bytes, as it goes through a launch: it is moved several times, and there are
// many.
#ifndef GLINT_CACHE_ITEM_H
#define GLINT_CACHE_ITEM_H

#include "cache.h"

// Of an item's word: the sectors, and from these bits on what else. Near and home are partitions of
// L2: of the multiprocessor, and of the line.
enum {
    CACHE_WHOLE_SHIFT = 4,
    CACHE_KIND_SHIFT = 8,
    CACHE_NEAR_SHIFT = 10,
    CACHE_HOME_SHIFT = 13,
    CACHE_WORD_LINE_SHIFT = 16,
    CACHE_TIME_BITS = 24, // of an item
};

struct cache_item {
    uint64_t word;
    uint32_t owner;
    uint32_t when; // the time; above it, the set within a piece of L2, if that has few enough
};

static inline uint64_t cache_word_of(uint64_t line, uint8_t kind, uint8_t sectors, uint8_t whole)
{
    const uint32_t used = sectors & 15;
    return line << CACHE_WORD_LINE_SHIFT | (uint32_t)kind << CACHE_KIND_SHIFT |
           (whole & used) << CACHE_WHOLE_SHIFT | used;
}

static inline uint64_t cache_word_line(uint64_t word)
{
    return word >> CACHE_WORD_LINE_SHIFT;
}

static inline uint32_t cache_word_kind(uint64_t word)
{
    return word >> CACHE_KIND_SHIFT & 3;
}

static inline uint32_t cache_word_sectors(uint64_t word)
{
    return word & 15;
}

static inline uint32_t cache_word_whole(uint64_t word)
{
    return word >> CACHE_WHOLE_SHIFT & 15;
}

// Returns the word without these of its sectors.
static inline uint64_t cache_word_drop(uint64_t word, uint32_t sectors)
{
    return word & ~(uint64_t)(sectors | sectors << CACHE_WHOLE_SHIFT);
}

#endif
