// SPDX-License-Identifier: Apache-2.0
// Sets, ways and replacement. See level.h.
#include "level.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum {
    HOST_LINE = 64, // bytes of a line of the CPU's cache
    // Of sets of 16 ways: how many are free at first, and how many lines that are only copied take
    // free ways, on average over a piece. Both were chosen by what stays of copies on an H200.
    FREE_AT_FIRST = 13,
    MOST_WEAK = 8,
};

// One multiplication, which probes can do, too. The upper bits of the product decide.
bool cache_is_sampled(uint64_t line, uint32_t share)
{
    return ((uint32_t)line * 0x9e3779b1u) >> 16 < share;
}

// Divides one block of memory, so that a set begins where a line of the CPU's cache does.
static bool allocate(struct cache_level *level, bool writers)
{
    const size_t sets = level->sets * level->partitions, ways = sets * level->ways;
    const size_t heads_bytes = sets * level->head_numbers * sizeof(*level->heads);
    const size_t words_at = (heads_bytes + HOST_LINE - 1) / HOST_LINE * HOST_LINE;
    const size_t states = level->form == CACHE_LRU_16 ? sets * sizeof(*level->states) : 0;
    const size_t way_bytes = sizeof(*level->words) + (writers ? sizeof(*level->writers) : 0);
    level->memory = cache_allocate(HOST_LINE + words_at + ways * way_bytes + states, 1);
    if (!level->memory)
        return false;
    char *start = (char *)level->memory + (HOST_LINE - (uintptr_t)level->memory % HOST_LINE);
    level->heads = (uint64_t *)start;
    level->words = (uint64_t *)(start + words_at);
    level->writers = writers ? (uint32_t *)(level->words + ways) : NULL;
    level->states = (struct cache_state_16 *)(start + words_at + ways * way_bytes);
    return true;
}

// Says what becomes of each order of 4 ways, from the first on, in which way 0 is the oldest.
static void make_steps(struct cache_level *level)
{
    uint8_t orders[CACHE_ORDERS_4][4] = {{3, 2, 1, 0}}; // ways, the last used first
    for (size_t i = 0, known = 1; i < known; i++) {
        for (unsigned way = 0; way <= CACHE_OLDEST_4; way++) {
            const uint8_t used = way < CACHE_OLDEST_4 ? (uint8_t)way : orders[i][3];
            uint8_t next[4] = {used};
            for (size_t from = 0, to = 1; from < 4; from++) {
                if (orders[i][from] != used)
                    next[to++] = orders[i][from];
            }
            size_t number = 0;
            while (number < known && memcmp(orders[number], next, sizeof(next)) != 0)
                number++;
            if (number == known)
                memcpy(orders[known++], next, sizeof(next));
            level->steps[i][way] = (struct cache_step_4){(uint8_t)number, used};
        }
    }
}

// Returns the form for a shape, and sets how many numbers a head of it has.
static enum cache_form form_of(struct cache_level *level, bool writers)
{
    const bool lru = level->policy == CACHE_LRU;
    if (lru && level->ways == 16) {
        level->head_numbers = 4;
        return CACHE_LRU_16;
    }
    if (lru && level->ways == 4 && !writers) {
        make_steps(level);
        level->head_numbers = 1;
        return CACHE_LRU_4;
    }
    level->head_numbers = lru ? (level->ways + 7) / 8 : 1;
    return CACHE_ANY_FORM;
}

bool cache_level_init(struct cache_level *level, const struct cache_shape *shape, uint32_t share,
                      uint32_t partitions, bool writers)
{
    uint32_t ways = shape->ways;
    *level =
        (struct cache_level){.share = share, .policy = shape->policy, .partitions = partitions};
    if (!ways || ways > CACHE_MOST_WAYS || (ways & (ways - 1)) || share > CACHE_ALL ||
        !partitions || partitions > CACHE_MOST_PARTITIONS)
        return false;
    const uint64_t lines = shape->bytes / CACHE_LINE_BYTES * share / CACHE_ALL;
    if (!lines)
        return false;
    while (ways > lines) // a small share of a small cache
        ways /= 2;
    level->ways = ways;
    level->form = form_of(level, writers);
    level->sets = (lines + ways / 2) / ways;
    level->inverse = UINT64_MAX / level->sets;
    while ((level->sets - 1) >> level->piece_shift >= CACHE_PIECES)
        level->piece_shift++;
    if (!allocate(level, writers))
        return false;
    cache_level_clear(level);
    return true;
}

void cache_level_fini(struct cache_level *level)
{
    free(level->memory);
    *level = (struct cache_level){0};
}

// Returns the ages of a set's ways.
static uint8_t *ages_of(const struct cache_level *level, uint64_t set)
{
    if (level->form == CACHE_LRU_16)
        return (uint8_t *)&((struct cache_head_16 *)level->heads)[set].ages;
    return (uint8_t *)(level->heads + set * level->head_numbers);
}

// The first way is the oldest, so that free ways are taken from the first on.
void cache_level_clear(struct cache_level *level)
{
    const uint32_t ways = level->ways;
    const uint64_t sets = level->sets * level->partitions;
    memset(level->heads, 0, sets * level->head_numbers * sizeof(*level->heads));
    memset(level->weak, 0, sizeof(level->weak));
    for (uint64_t i = 0; i < sets * ways; i++)
        level->words[i] = cache_no_line;
    for (uint64_t set = 0; level->form == CACHE_LRU_16 && set < sets; set++) {
        level->states[set] = (struct cache_state_16){16 - FREE_AT_FIRST, FREE_AT_FIRST};
    }
    const bool ages = level->form != CACHE_LRU_4 && level->policy == CACHE_LRU;
    for (uint64_t set = 0; ages && set < sets; set++) {
        for (uint32_t way = 0; way < ways; way++)
            ages_of(level, set)[way] = (uint8_t)(ways - 1 - way);
    }
    for (uint32_t i = 0; i < level->partitions * CACHE_PIECES; i++)
        level->random[i / CACHE_PIECES][i % CACHE_PIECES * CACHE_APART] = 1;
}

#define AGE(age)                                                                       \
    {                                                                                  \
        age, age, age, age, age, age, age, age, age, age, age, age, age, age, age, age \
    }
const cache_bytes cache_ages[16] = {AGE(0),  AGE(1),  AGE(2),  AGE(3), AGE(4),  AGE(5),
                                    AGE(6),  AGE(7),  AGE(8),  AGE(9), AGE(10), AGE(11),
                                    AGE(12), AGE(13), AGE(14), AGE(15)};

// --- Policies ------------------------------------------------------------------------------------

// Makes a way the youngest. Those that were younger are one older then.
static void use_age(uint8_t *ages, uint32_t ways, uint32_t way)
{
    const uint8_t age = ages[way];
    for (uint32_t i = 0; i < ways; i++)
        ages[i] += ages[i] < age;
    ages[way] = 0;
}

static uint32_t oldest_way(const uint8_t *ages, uint32_t ways)
{
    uint32_t way = 0;
    while (ages[way] != ways - 1)
        way++;
    return way;
}

// Nodes are numbered from 1; the children of n are 2 n and 2 n + 1. Each node on the way's path
// points away from it.
static uint64_t use_tree(uint64_t tree, uint32_t ways, uint32_t way)
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

static uint32_t any_way(struct cache_level *level, uint32_t set)
{
    const uint32_t partition = set % level->partitions, first = set / level->partitions;
    uint64_t *random = &level->random[partition][cache_level_piece_of(level, first) * CACHE_APART];
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 40) & (level->ways - 1);
}

// --- Other forms ---------------------------------------------------------------------------------

// Returns the way of a line, or the number of ways.
static uint32_t way_of(const uint64_t *words, uint32_t ways, uint64_t line)
{
    uint32_t way = 0;
    while (way < ways && words[way] >> CACHE_LINE_SHIFT != line)
        way++;
    return way;
}

uint64_t *cache_level_find_any(const struct cache_level *level, uint32_t set, uint64_t line)
{
    uint64_t *words = level->words + (size_t)set * level->ways;
    const uint32_t way = way_of(words, level->ways, line);
    return way < level->ways ? &words[way] : NULL;
}

// Returns the way that makes room.
static uint32_t victim_of(struct cache_level *level, uint32_t set)
{
    const uint64_t *words = level->words + (size_t)set * level->ways;
    if (level->policy == CACHE_LRU)
        return oldest_way(ages_of(level, set), level->ways);
    if (words[level->ways - 1] == cache_no_line)
        return way_of(words, level->ways, cache_no_line >> CACHE_LINE_SHIFT);
    return level->policy == CACHE_TREE ? tree_victim(level->heads[set], level->ways)
                                       : any_way(level, set);
}

struct cache_place cache_level_use_any(struct cache_level *level, struct cache_spot spot,
                                       uint64_t line, bool add)
{
    const uint32_t ways = level->ways, set = spot.set;
    uint64_t *words = level->words + (size_t)set * ways;
    uint32_t way = way_of(words, ways, line);
    const bool found = way < ways;
    if (!found && !add)
        return (struct cache_place){0};
    if (!found)
        way = victim_of(level, set);
    const uint64_t word = words[way];
    if (level->policy == CACHE_LRU)
        use_age(ages_of(level, set), ways, way);
    else if (level->policy == CACHE_TREE)
        level->heads[set] = use_tree(level->heads[set], ways, way);
    return (struct cache_place){&words[way], found ? word : line << CACHE_LINE_SHIFT,
                                found ? 0 : word, found};
}

uint64_t *cache_level_older_any(const struct cache_level *level, uint32_t set, uint32_t age)
{
    if (level->policy != CACHE_LRU || level->form != CACHE_ANY_FORM)
        return NULL;
    for (uint32_t way = 0; way < level->ways; way++) {
        if (ages_of(level, set)[way] == age)
            return level->words + (size_t)set * level->ways + way;
    }
    return NULL;
}

// --- Copies --------------------------------------------------------------------------------------

// Returns whether no more than so many lines may be weak.
static bool has_most_weak(struct cache_level *level, uint32_t set)
{
    const uint64_t first = set / level->partitions >> level->piece_shift << level->piece_shift;
    const uint64_t next = first + ((uint64_t)1 << level->piece_shift);
    const uint64_t sets = (next < level->sets ? next : level->sets) - first;
    return *cache_level_weak(level, set) >= sets * MOST_WEAK;
}

// The line becomes the first of the weak ones. It takes a free place, unless there are many weak
// lines, or else that of the last weak line, or else that of the oldest.
struct cache_place cache_level_copy(struct cache_level *level, struct cache_spot spot,
                                    uint64_t line)
{
    uint64_t *words = level->words + (size_t)spot.set * level->ways;
    const uint32_t found = way_of(words, level->ways, line);
    if (found < level->ways)
        return (struct cache_place){&words[found], words[found], 0, true};
    if (level->form != CACHE_LRU_16)
        return cache_level_use(level, level->form, spot, line, true);
    struct cache_head_16 *head = (struct cache_head_16 *)level->heads + spot.set;
    struct cache_state_16 *state = &level->states[spot.set];
    const uint32_t weak = 16u - state->used - state->free;
    const bool takes_free = state->free && (!weak || !has_most_weak(level, spot.set));
    const uint32_t from = takes_free ? 15 : 15u - state->free; // its way's age
    if (takes_free || !weak)
        ++*cache_level_weak(level, spot.set);
    state->used -= !takes_free && !weak;
    state->free -= takes_free;
    const uint32_t to = state->used;
    uint8_t *ages = ages_of(level, spot.set);
    uint32_t way = 0;
    for (uint32_t i = 0; i < 16; i++) {
        way = ages[i] == from ? i : way;
        ages[i] += ages[i] >= to && ages[i] < from;
    }
    ages[way] = (uint8_t)to;
    ((uint8_t *)&head->tags)[way] = spot.tag;
    return (struct cache_place){&words[way], line << CACHE_LINE_SHIFT, words[way], false};
}
