// SPDX-License-Identifier: Apache-2.0
// What a thread counts of a launch: sectors and hits of each owner and kind, and of each group of
// lines, from whose differences the error of a sample is estimated (errors.c).
#ifndef GLINT_CACHE_TALLY_H
#define GLINT_CACHE_TALLY_H

#include "item.h"

// What became of a request: its sectors, and above them as many bits as were hits.
enum { CACHE_HITS_SHIFT = 4 };

// A launch has less than 2^30 records, so that both counts of a sum fit into 64 bits: of sectors in
// the lower half, and of hits.
struct cache_tally {
    uint64_t *sums;      // of each owner; in these of each kind, and of one more; in these by group
    unsigned group_bits; // 0: there is one group, because the model looks at all lines
    uint64_t adds[256];  // of each outcome: what it adds to a sum
};

bool cache_tally_init(struct cache_tally *tally, size_t owners, bool groups);
void cache_tally_fini(struct cache_tally *tally);

// Counts items: of one, the kind, the line and the owner decide where, and the outcome how much.
void cache_tally_count(const struct cache_tally *tally, const struct cache_item *items,
                       const uint8_t *outcomes, size_t count);

// Adds what was counted for an owner.
void cache_tally_sum(const struct cache_tally *tally, uint32_t owner, struct cache_count *kinds,
                     struct cache_count *groups);

// Returns how many sectors these are.
static inline uint64_t cache_count_of(uint64_t sectors)
{
    static const uint8_t counts[] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    return counts[sectors & 15];
}

// Counts what became of one request.
static inline void cache_outcome_add(struct cache_count *count, uint8_t outcome)
{
    count->sectors += cache_count_of(outcome);
    count->hits += cache_count_of(outcome >> CACHE_HITS_SHIFT);
}

#endif
