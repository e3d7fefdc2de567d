// SPDX-License-Identifier: Apache-2.0
// Sets, ways and replacement. See level.h.
#include "level.h"

#include <stdlib.h>
#include <string.h>

uint64_t cache_mix(uint64_t number)
{
    number ^= number >> 31;
    number *= 0x7fb5d329728ea185u;
    number ^= number >> 27;
    number *= 0x81dadef4bc2dd44du;
    return number ^ number >> 33;
}

uint32_t cache_home_of(uint64_t line, uint32_t partitions)
{
    enum { RUN = 32 };
    return ((uint32_t)line + (uint32_t)cache_mix(line / RUN) % partitions) % partitions;
}

// One multiplication, which probes can do, too. The upper bits of the product decide.
bool cache_is_sampled(uint64_t line, uint32_t share)
{
    return ((uint32_t)line * 0x9e3779b1u) >> 16 < share;
}

bool cache_level_init(struct cache_level *level, const struct cache_shape *shape, uint32_t share)
{
    const uint32_t ways = shape->ways;
    *level = (struct cache_level){.ways = ways, .share = share, .policy = shape->policy};
    if (!ways || ways > CACHE_MOST_WAYS || (ways & (ways - 1)) || share > CACHE_ALL)
        return false;
    const uint64_t lines = shape->bytes / CACHE_LINE_BYTES * share / CACHE_ALL;
    if (!lines)
        return false;
    while (level->ways > lines) // a small share of a small cache
        level->ways /= 2;
    level->sets = (lines + level->ways / 2) / level->ways;
    level->inverse = UINT64_MAX / level->sets;
    while ((level->sets - 1) >> level->piece_shift >= CACHE_PIECES)
        level->piece_shift++;
    level->keys = calloc(level->sets * level->ways, sizeof(*level->keys));
    level->lines = calloc(level->sets * level->ways, sizeof(*level->lines));
    level->trees = calloc(level->sets, sizeof(*level->trees));
    if (level->keys && level->lines && level->trees) {
        cache_level_clear(level);
        return true;
    }
    cache_level_fini(level);
    return false;
}

void cache_level_fini(struct cache_level *level)
{
    free(level->keys);
    free(level->lines);
    free(level->trees);
    *level = (struct cache_level){0};
}

void cache_level_clear(struct cache_level *level)
{
    memset(level->keys, 0, level->sets * level->ways * sizeof(*level->keys));
    memset(level->lines, 0, level->sets * level->ways * sizeof(*level->lines));
    memset(level->trees, 0, level->sets * sizeof(*level->trees));
    for (unsigned i = 0; i < CACHE_PIECES; i++)
        level->random[i * CACHE_APART] = 1;
}

// Of each run of as many lines as there are sets, each set has one, so that a range of memory that
// fits has no conflicts; in which order is a matter of the run, so that no distance between lines
// has them all in one set. Sampled lines are nearly as far from each other as their share says, so
// that there is about one for each number. The quotient is found by a multiplication, and is one
// too small at most.
uint64_t cache_level_set_of(const struct cache_level *level, uint64_t line)
{
    const uint64_t number = line * level->share / CACHE_ALL, sets = level->sets;
    uint64_t run = (uint64_t)((unsigned __int128)number * level->inverse >> 64);
    uint64_t rest = number - run * sets;
    if (rest >= sets) {
        rest -= sets;
        run++;
    }
    const uint64_t set = rest + (uint64_t)((unsigned __int128)cache_mix(run) * sets >> 64);
    return set < sets ? set : set - sets;
}

uint32_t cache_level_piece_of(const struct cache_level *level, uint64_t set)
{
    return (uint32_t)(set >> level->piece_shift);
}

// --- The tree ------------------------------------------------------------------------------------

// Nodes are numbered from 1; the children of n are 2 n and 2 n + 1. Each node on the way's path
// points away from it.
static uint64_t tree_used(uint64_t tree, uint32_t ways, uint32_t way)
{
    for (uint32_t node = ways + way; node > 1; node /= 2) {
        const uint64_t bit = (uint64_t)1 << (node / 2);
        tree = node % 2 ? tree & ~bit : tree | bit;
    }
    return tree;
}

static uint32_t tree_victim(uint64_t tree, uint32_t ways)
{
    uint32_t node = 1;
    while (node < ways)
        node = 2 * node + (uint32_t)(tree >> node & 1);
    return node - ways;
}

// --- Use -----------------------------------------------------------------------------------------

// Makes a way the last used. Returns where it is then.
static uint32_t use(struct cache_level *level, uint64_t set, uint32_t way)
{
    uint64_t *keys = level->keys + set * level->ways;
    struct cache_line *lines = level->lines + set * level->ways;
    if (level->policy == CACHE_TREE)
        level->trees[set] = tree_used(level->trees[set], level->ways, way);
    if (level->policy != CACHE_LRU || !way)
        return way;
    const uint64_t key = keys[way];
    const struct cache_line line = lines[way];
    memmove(keys + 1, keys, way * sizeof(*keys));
    memmove(lines + 1, lines, way * sizeof(*lines));
    keys[0] = key;
    lines[0] = line;
    return 0;
}

// Returns the way that holds the key, or `ways`. Four keys are compared at once: whether one of
// them is equal is hard to predict, and which one is not needed mostly.
static uint32_t way_of(const uint64_t *keys, uint32_t ways, uint64_t key)
{
    uint32_t way = 0;
    for (; way + 4 <= ways; way += 4) {
        const uint64_t *four = keys + way;
        if ((four[0] == key) | (four[1] == key) | (four[2] == key) | (four[3] == key))
            break;
    }
    while (way < ways && keys[way] != key)
        way++;
    return way;
}

struct cache_line *cache_level_find(struct cache_level *level, uint64_t set, uint64_t line)
{
    const uint32_t way = way_of(level->keys + set * level->ways, level->ways, line + 1);
    return way < level->ways ? &level->lines[set * level->ways + use(level, set, way)] : NULL;
}

static uint32_t any_way(struct cache_level *level, uint64_t set)
{
    uint64_t *random = &level->random[cache_level_piece_of(level, set) * CACHE_APART];
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 40) & (level->ways - 1);
}

static uint32_t victim_of(struct cache_level *level, uint64_t set)
{
    const uint64_t *keys = level->keys + set * level->ways;
    const uint32_t last = level->ways - 1;
    if (!keys[last]) {
        uint32_t free_way = 0;
        while (keys[free_way])
            free_way++;
        return free_way;
    }
    switch (level->policy) {
    case CACHE_TREE: return tree_victim(level->trees[set], level->ways);
    case CACHE_RANDOM: return any_way(level, set);
    default: return last;
    }
}

struct cache_line *cache_level_place(struct cache_level *level, uint64_t set, uint64_t line,
                                     struct cache_line *gone)
{
    const uint32_t way = victim_of(level, set);
    struct cache_line *lines = level->lines + set * level->ways;
    *gone = lines[way];
    lines[way] = (struct cache_line){0};
    level->keys[set * level->ways + way] = line + 1;
    return &lines[use(level, set, way)];
}
