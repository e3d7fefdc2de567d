// SPDX-License-Identifier: Apache-2.0
// The lines that a cache holds: sets of ways with a replacement policy. What happens to sectors is
// up to the caller: l1.c and l2.c.
#ifndef GLINT_CACHE_LEVEL_H
#define GLINT_CACHE_LEVEL_H

#include "cache.h"

enum {
    CACHE_MOST_WAYS = 64,
    // Sets are divided into so many pieces at most, each of which has all that it changes to
    // itself: different threads may use different pieces of a level at the same time.
    CACHE_PIECES = 64,
    CACHE_APART = 8, // numbers of 64 bits that threads do not share a line of the CPU's cache with
};

struct cache_line {
    uint32_t writer; // owner of what is dirty
    uint8_t present; // sectors
    uint8_t dirty;   // sectors that memory does not have
};

struct cache_level {
    // Ways of set 0, of set 1, ... Keys are line + 1, or 0 if the way is free; free ways are the
    // last of a set. With LRU, ways are in order of use, the last used first.
    uint64_t *keys;
    struct cache_line *lines;
    uint64_t *trees; // TREE: of each set, bit n says that the right half of node n is to leave next
    uint64_t sets;
    uint64_t inverse; // 2^64 / sets
    uint32_t ways, share;
    unsigned piece_shift;                        // a piece has 2^piece_shift sets
    uint64_t random[CACHE_PIECES * CACHE_APART]; // RANDOM: of each piece, the last number
    enum cache_policy policy;
};

// Returns false if memory runs out or there is no room for a line.
bool cache_level_init(struct cache_level *level, const struct cache_shape *shape, uint32_t share);
void cache_level_fini(struct cache_level *level);
void cache_level_clear(struct cache_level *level);

// A hash of the number all of whose bits are good. Those of cache_is_sampled are different ones.
uint64_t cache_mix(uint64_t number);

// Returns the home of a line among so many partitions.
uint32_t cache_home_of(uint64_t line, uint32_t partitions);

// Returns the set of a line, and the piece of a set.
uint64_t cache_level_set_of(const struct cache_level *level, uint64_t line);
uint32_t cache_level_piece_of(const struct cache_level *level, uint64_t set);

// Returns the line of this set, which counts as used now, or NULL if it is not there. The pointer
// is valid until the next call for this set.
struct cache_line *cache_level_find(struct cache_level *level, uint64_t set, uint64_t line);

// Returns the place of a line that is not there; it counts as used now. `gone` is what the place
// held before, nothing if it was free.
struct cache_line *cache_level_place(struct cache_level *level, uint64_t set, uint64_t line,
                                     struct cache_line *gone);

#endif
