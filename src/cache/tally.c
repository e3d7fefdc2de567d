// SPDX-License-Identifier: Apache-2.0
// Counts of a launch. See tally.h. One sum for each owner, kind and group takes less of the CPU
// than separate ones of kinds and of groups would, with two numbers each.
#include "tally.h"

#include <stdlib.h>

enum { KIND_BITS = 2, GROUP_BITS = 4 };
_Static_assert(CACHE_KINDS <= 1 << KIND_BITS, "a sum for each kind");
_Static_assert(CACHE_GROUPS == 1 << GROUP_BITS, "a sum for each group");

bool cache_tally_init(struct cache_tally *tally, size_t owners, bool groups)
{
    tally->group_bits = groups ? GROUP_BITS : 0;
    for (uint64_t outcome = 0; outcome < 256; outcome++)
        tally->adds[outcome] = cache_count_of(outcome) | cache_count_of(outcome >> CACHE_HITS_SHIFT)
                                                             << 32;
    tally->sums = calloc((owners + 1) << KIND_BITS << tally->group_bits, sizeof(*tally->sums));
    return tally->sums;
}

void cache_tally_fini(struct cache_tally *tally)
{
    free(tally->sums);
}

static inline __attribute__((always_inline)) void count_some(const struct cache_tally *tally,
                                                             unsigned group_bits,
                                                             const struct cache_item *items,
                                                             const uint8_t *outcomes, size_t count)
{
    uint64_t *sums = tally->sums;
    for (size_t i = 0; i < count; i++) {
        const uint64_t word = items[i].word;
        uint64_t place = (uint64_t)items[i].owner << KIND_BITS | cache_word_kind(word);
        // The multiplication is another one than that of cache_is_sampled.
        if (group_bits)
            place = place << GROUP_BITS |
                    cache_word_line(word) * 0xd1342543de82ef95u >> (64 - GROUP_BITS);
        sums[place] += tally->adds[outcomes[i]];
    }
}

void cache_tally_count(const struct cache_tally *tally, const struct cache_item *items,
                       const uint8_t *outcomes, size_t count)
{
    if (tally->group_bits)
        count_some(tally, GROUP_BITS, items, outcomes, count);
    else
        count_some(tally, 0, items, outcomes, count);
}

static void add(struct cache_count *count, uint64_t sum)
{
    count->sectors += (uint32_t)sum;
    count->hits += sum >> 32;
}

void cache_tally_sum(const struct cache_tally *tally, uint32_t owner, struct cache_count *kinds,
                     struct cache_count *groups)
{
    const unsigned bits = tally->group_bits;
    for (uint64_t kind = 0; kind < CACHE_KINDS; kind++) {
        const uint64_t *sums = tally->sums + (((uint64_t)owner << KIND_BITS | kind) << bits);
        for (unsigned group = 0; group < 1u << bits; group++) {
            add(&kinds[kind], sums[group]);
            if (bits)
                add(&groups[group], sums[group]);
        }
    }
}
