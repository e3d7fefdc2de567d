// SPDX-License-Identifier: Apache-2.0
// Lines in groups, from whose differences the error of a sample is estimated. See errors.c.
#ifndef GLINT_CACHE_GROUPS_H
#define GLINT_CACHE_GROUPS_H

#include "cache.h"

// Counts for the group of a line. `groups` has CACHE_GROUPS places for each owner. The
// multiplication is another one than that of cache_is_sampled.
static inline void cache_group_add(struct cache_count *groups, uint64_t line, uint32_t owner,
                                   struct cache_count count)
{
    _Static_assert(CACHE_GROUPS == 1 << 4, "the upper 4 bits");
    const uint64_t group = line * 0xd1342543de82ef95u >> 60;
    struct cache_count *place = &groups[(uint64_t)owner * CACHE_GROUPS + group];
    place->sectors += count.sectors;
    place->hits += count.hits;
}

#endif
