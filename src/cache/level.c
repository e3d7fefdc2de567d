// SPDX-License-Identifier: Apache-2.0
// Sets, ways and replacement. See level.h.
#include "level.h"

#include <stdlib.h>
#include <string.h>

enum { HOST_LINE = 64 }; // bytes of a line of the CPU's cache

// One multiplication, which probes can do, too. The upper bits of the product decide.
bool cache_is_sampled(uint64_t line, uint32_t share)
{
    return ((uint32_t)line * 0x9e3779b1u) >> 16 < share;
}

// Divides one block of memory, so that a set begins where a line of the CPU's cache does.
static bool allocate(struct cache_level *level)
{
    const size_t ways = level->sets * level->form.ways;
    const size_t heads = level->sets * cache_tag_numbers(level->form.ways) * 2;
    const size_t room = (heads + HOST_LINE / sizeof(*level->heads)) * sizeof(*level->heads);
    const size_t heads_bytes = room & ~(size_t)(HOST_LINE - 1);
    level->memory =
        malloc(HOST_LINE + heads_bytes + ways * (sizeof(*level->words) + sizeof(*level->writers)));
    if (!level->memory)
        return false;
    char *start = (char *)level->memory + (HOST_LINE - (uintptr_t)level->memory % HOST_LINE);
    level->heads = (uint64_t *)start;
    level->words = (uint64_t *)(start + heads_bytes);
    level->writers = (uint32_t *)(level->words + ways);
    return true;
}

bool cache_level_init(struct cache_level *level, const struct cache_shape *shape, uint32_t share)
{
    uint32_t ways = shape->ways;
    *level = (struct cache_level){.share = share};
    if (!ways || ways > CACHE_MOST_WAYS || (ways & (ways - 1)) || share > CACHE_ALL)
        return false;
    const uint64_t lines = shape->bytes / CACHE_LINE_BYTES * share / CACHE_ALL;
    if (!lines)
        return false;
    while (ways > lines) // a small share of a small cache
        ways /= 2;
    level->form = (struct cache_form){.ways = ways, .policy = shape->policy};
    level->sets = (lines + ways / 2) / ways;
    level->inverse = UINT64_MAX / level->sets;
    while ((level->sets - 1) >> level->piece_shift >= CACHE_PIECES)
        level->piece_shift++;
    if (!allocate(level))
        return false;
    cache_level_clear(level);
    return true;
}

void cache_level_fini(struct cache_level *level)
{
    free(level->memory);
    *level = (struct cache_level){0};
}

// The first way is the oldest, so that free ways are taken from the first on. Bytes that are not a
// way's are older than all.
void cache_level_clear(struct cache_level *level)
{
    const uint32_t ways = level->form.ways, numbers = cache_tag_numbers(ways);
    memset(level->heads, 0, level->sets * numbers * 2 * sizeof(*level->heads));
    for (uint64_t i = 0; i < level->sets * ways; i++)
        level->words[i] = cache_no_line;
    for (uint64_t set = 0; level->form.policy == CACHE_LRU && set < level->sets; set++) {
        uint8_t *ages = (uint8_t *)(level->heads + (set * 2 + 1) * numbers);
        memset(ages, CACHE_MOST_WAYS, numbers * sizeof(*level->heads));
        for (uint32_t way = 0; way < ways; way++)
            ages[way] = (uint8_t)(ways - 1 - way);
    }
    for (unsigned i = 0; i < CACHE_PIECES; i++)
        level->random[i * CACHE_APART] = 1;
}

static uint32_t tree_victim(uint64_t tree, uint32_t ways)
{
    uint32_t node = 1;
    while (node < ways)
        node = 2 * node + (uint32_t)(tree >> node & 1);
    return node - ways;
}

static uint32_t any_way(struct cache_level *level, uint64_t set)
{
    uint64_t *random = &level->random[cache_level_piece_of(level, set) * CACHE_APART];
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 40) & (level->form.ways - 1);
}

uint32_t cache_level_other_victim(struct cache_level *level, uint64_t set)
{
    const uint64_t *words = level->words + set * level->form.ways;
    if (words[level->form.ways - 1] == cache_no_line) {
        uint32_t free_way = 0;
        while (words[free_way] != cache_no_line)
            free_way++;
        return free_way;
    }
    return level->form.policy == CACHE_TREE
               ? tree_victim(level->heads[(set * 2 + 1) * cache_tag_numbers(level->form.ways)],
                             level->form.ways)
               : any_way(level, set);
}
