// SPDX-License-Identifier: Apache-2.0
// Naive models of both caches: sector by sector, with lists in order of use, and trees that are
// walked from the root.
#ifndef GLINT_TESTS_CACHE_NAIVE_H
#define GLINT_TESTS_CACHE_NAIVE_H

#include "../base/testing.h"

#include <string.h>

#include "cache/level.h"
#include "random.h"

enum {
    NAIVE_SETS = 128,
    NAIVE_FREE = 13, // ways that are taken before copied lines leave
};

// --- The naive level -----------------------------------------------------------------------------

struct naive_line {
    bool used;
    bool weak; // only copied
    uint64_t line;
    bool present[CACHE_SECTORS], dirty[CACHE_SECTORS];
    uint32_t writer;
};

struct naive_set {
    struct naive_line ways[CACHE_MOST_WAYS];
    unsigned order[CACHE_MOST_WAYS]; // ways, the last used first
    unsigned count;                  // of these
    bool right[CACHE_MOST_WAYS];     // of a node of the tree: the right half is to leave next
};

struct naive_level {
    struct naive_set sets[NAIVE_SETS];
    uint64_t set_count, random[CACHE_PIECES];
    unsigned ways;
    uint32_t share;
    enum cache_policy policy;
};

static void naive_init(struct naive_level *level, const struct cache_shape *shape, uint32_t share)
{
    memset(level, 0, sizeof(*level));
    const uint64_t lines = shape->bytes / CACHE_LINE_BYTES * share / CACHE_ALL;
    level->ways = shape->ways;
    while (level->ways > lines)
        level->ways /= 2;
    level->set_count = (2 * lines / level->ways + 1) / 2; // rounded
    level->policy = shape->policy;
    level->share = share;
    for (unsigned i = 0; i < CACHE_PIECES; i++)
        level->random[i] = 1;
    assert_in_range(level->set_count, 1, NAIVE_SETS);
}

static uint64_t naive_set_of(const struct naive_level *level, uint64_t line)
{
    const uint64_t number = line * level->share / CACHE_ALL;
    const uint64_t sets = level->set_count, run = number / sets;
    const uint64_t turned = (uint64_t)((unsigned __int128)cache_mix(run) * sets >> 64);
    return (number % sets + turned) % sets;
}

// Pieces have as many sets each, a power of two, and there are no more than CACHE_PIECES.
static uint64_t naive_piece_of(const struct naive_level *level, uint64_t set)
{
    uint64_t size = 1;
    while (size * CACHE_PIECES < level->set_count)
        size *= 2;
    return set / size;
}

static void walk_to(struct naive_set *set, unsigned way, unsigned from, unsigned to, unsigned node)
{
    if (to - from == 1)
        return;
    const unsigned middle = (from + to) / 2;
    set->right[node] = way < middle;
    if (way < middle)
        walk_to(set, way, from, middle, 2 * node);
    else
        walk_to(set, way, middle, to, 2 * node + 1);
}

static unsigned walk_down(const struct naive_set *set, unsigned from, unsigned to, unsigned node)
{
    if (to - from == 1)
        return from;
    const unsigned middle = (from + to) / 2;
    return set->right[node] ? walk_down(set, middle, to, 2 * node + 1)
                            : walk_down(set, from, middle, 2 * node);
}

static void naive_use(const struct naive_level *level, struct naive_set *set, unsigned way)
{
    unsigned place = 0;
    while (place < set->count && set->order[place] != way)
        place++;
    if (place == set->count)
        set->count++;
    for (; place; place--)
        set->order[place] = set->order[place - 1];
    set->order[0] = way;
    walk_to(set, way, 0, level->ways, 1);
}

// Returns a line, which does not count as used.
static struct naive_line *naive_peek(struct naive_level *level, uint64_t line)
{
    struct naive_set *set = &level->sets[naive_set_of(level, line)];
    for (unsigned i = 0; i < level->ways; i++) {
        if (set->ways[i].used && set->ways[i].line == line)
            return &set->ways[i];
    }
    return NULL;
}

static struct naive_line *naive_find(struct naive_level *level, uint64_t line)
{
    struct naive_set *set = &level->sets[naive_set_of(level, line)];
    struct naive_line *found = naive_peek(level, line);
    if (found) {
        naive_use(level, set, (unsigned)(found - set->ways));
        found->weak = false;
    }
    return found;
}

// Writes a line to memory.
static void naive_write(struct naive_line *line, struct cache_l2_counts *counts)
{
    for (unsigned i = 0; i < CACHE_SECTORS; i++) {
        counts[line->writer].written += line->dirty[i];
        counts[line->writer].read += line->dirty[i] && !line->present[i];
        line->present[i] |= line->dirty[i];
        line->dirty[i] = false;
    }
}

static struct naive_line *naive_place(struct naive_level *level, uint64_t line,
                                      struct cache_l2_counts *counts)
{
    const uint64_t number = naive_set_of(level, line);
    struct naive_set *set = &level->sets[number];
    uint64_t *random = &level->random[naive_piece_of(level, number)];
    const bool weak = set->count && set->ways[set->order[set->count - 1]].weak;
    unsigned way = set->count;
    if (way == level->ways || (weak && way >= NAIVE_FREE)) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        way = level->policy == CACHE_LRU    ? set->order[set->count - 1]
              : level->policy == CACHE_TREE ? walk_down(set, 0, level->ways, 1)
                                            : (unsigned)(*random >> 40) % level->ways;
    }
    struct naive_line *found = &set->ways[way];
    if (counts)
        naive_write(found, counts);
    *found = (struct naive_line){.used = true, .line = line};
    naive_use(level, set, way);
    return found;
}

static struct naive_line *naive_line(struct naive_level *level, uint64_t line,
                                     struct cache_l2_counts *counts)
{
    struct naive_line *found = naive_find(level, line);
    return found ? found : naive_place(level, line, counts);
}

// --- The naive caches ----------------------------------------------------------------------------

static uint32_t naive_l1(struct naive_level *level, const struct cache_preset *preset,
                         const struct cache_request *request, struct cache_l1_counts *counts)
{
    const bool allocates =
        request->kind == CACHE_LOAD || (request->kind == CACHE_STORE && preset->stores_allocate);
    struct naive_line *line = naive_find(level, request->line);
    uint32_t rest = 0;
    const bool was_there = line;
    if (!line && allocates)
        line = naive_place(level, request->line, NULL);
    for (unsigned i = 0; i < CACHE_SECTORS; i++) {
        if (!(request->sectors >> i & 1))
            continue;
        struct cache_count *count = &counts[request->owner].kinds[request->kind];
        const bool hit = request->kind == CACHE_STORE ? was_there : line && line->present[i];
        count->sectors++;
        count->hits += hit;
        rest |= request->kind != CACHE_LOAD || !hit ? 1u << i : 0;
        if (line && request->kind == CACHE_ATOMIC)
            line->present[i] = false;
        if (line && allocates)
            line->present[i] = true;
    }
    return rest;
}

struct naive_l2 {
    struct naive_level partitions[2];
    const struct cache_preset *preset;
    unsigned owed[CACHE_PIECES][CACHE_KINDS];
};

static void naive_l2_init(struct naive_l2 *l2, const struct cache_preset *preset, uint32_t share)
{
    memset(l2->owed, 0, sizeof(l2->owed));
    l2->preset = preset;
    for (unsigned i = 0; i < preset->partitions; i++)
        naive_init(&l2->partitions[i], &preset->l2, share);
}

static void naive_fill(const struct naive_l2 *l2, struct naive_line *home, unsigned sector,
                       uint64_t *read)
{
    const unsigned size = l2->preset->fill_sectors;
    for (unsigned i = sector / size * size;
         !home->present[sector] && i < sector / size * size + size; i++) {
        if (i == sector)
            continue;
        *read += !home->present[i];
        home->present[i] = true;
    }
    *read += !home->present[sector];
    home->present[sector] = true;
}

static bool naive_is_dirty(const struct naive_line *line)
{
    return line->dirty[0] || line->dirty[1] || line->dirty[2] || line->dirty[3];
}

// If too many lines of the same piece of all partitions are dirty, writes one of this line's set.
static void naive_limit(struct naive_l2 *l2, struct naive_level *home, struct naive_line *line,
                        struct cache_l2_counts *counts)
{
    const uint64_t number = naive_set_of(home, line->line), piece = naive_piece_of(home, number);
    uint64_t dirty = 0, lines = 0;
    for (unsigned i = 0; i < l2->preset->partitions * home->set_count; i++) {
        const struct naive_level *level = &l2->partitions[i / home->set_count];
        const struct naive_set *set = &level->sets[i % home->set_count];
        for (unsigned way = 0; way < level->ways; way++) {
            const bool counts_here = naive_piece_of(level, i % home->set_count) == piece;
            lines += counts_here;
            dirty += counts_here && naive_is_dirty(&set->ways[way]);
        }
    }
    const unsigned start = cache_tag_of(line->line);
    for (unsigned i = 0; dirty > lines * l2->preset->most_dirty / 100 && i < home->ways; i++) {
        struct naive_line *other = &home->sets[number].ways[(start + i) % home->ways];
        if (other != line && naive_is_dirty(other)) {
            naive_write(other, counts);
            return;
        }
    }
}

static void naive_change(struct naive_l2 *l2, struct naive_level *near, struct naive_level *home,
                         const struct cache_request *request, struct cache_l2_counts *counts)
{
    struct cache_l2_counts *own = &counts[request->owner];
    struct naive_line *line = naive_line(home, request->line, counts), *copy;
    unsigned *owed =
        &l2->owed[naive_piece_of(home, naive_set_of(home, request->line))][request->kind];
    bool was[CACHE_SECTORS];
    memcpy(was, line->present, sizeof(was));
    for (unsigned i = 0; i < CACHE_SECTORS; i++) {
        if (request->kind == CACHE_STORE && request->sectors >> i & 1 &&
            (request->whole >> i & 1 || line->dirty[i]))
            was[i] = line->present[i] = true;
    }
    for (unsigned i = 0; i < CACHE_SECTORS; i++) {
        if (!(request->sectors >> i & 1))
            continue;
        if (!was[i]) {
            *owed += request->kind == CACHE_STORE ? l2->preset->part_stores_hit
                                                  : l2->preset->atomics_hit;
            own->kinds[request->kind].hits += *owed >= 100;
            *owed %= 100;
            if (request->kind == CACHE_ATOMIC)
                naive_fill(l2, line, i, &own->read);
        } else {
            own->kinds[request->kind].hits++;
        }
        line->dirty[i] = true;
        line->writer = request->owner;
    }
    naive_limit(l2, home, line, counts);
    for (unsigned i = 0; i < l2->preset->partitions; i++) {
        copy = &l2->partitions[i] == home ? NULL : naive_peek(&l2->partitions[i], request->line);
        for (unsigned k = 0; copy && k < CACHE_SECTORS; k++)
            copy->present[k] &= !(request->sectors >> k & 1);
    }
    if (near == home || request->kind != CACHE_STORE || !(request->whole & request->sectors & 15))
        return;
    copy = naive_line(near, request->line, counts);
    for (unsigned i = 0; i < CACHE_SECTORS; i++)
        copy->present[i] |= request->whole & request->sectors & 1u << i;
}

// A request to L2.
static void naive_access(struct naive_l2 *l2, uint32_t multiprocessor,
                         const struct cache_request *request, struct cache_l2_counts *counts)
{
    const struct cache_preset *preset = l2->preset;
    struct cache_l2_counts *own = &counts[request->owner];
    struct naive_level *near = &l2->partitions[multiprocessor % preset->multiprocessors *
                                               preset->partitions / preset->multiprocessors];
    struct naive_level *home = &l2->partitions[cache_home_of(request->line, preset->partitions)];
    for (unsigned i = 0; i < CACHE_SECTORS; i++)
        own->kinds[request->kind].sectors += request->sectors >> i & 1;
    if (request->kind != CACHE_LOAD) {
        naive_change(l2, near, home, request, counts);
        return;
    }
    struct naive_line *line = naive_line(near, request->line, counts);
    unsigned missing = 0;
    for (unsigned i = 0; i < CACHE_SECTORS; i++) {
        if (!(request->sectors >> i & 1))
            continue;
        own->kinds[CACHE_LOAD].hits += line->present[i];
        missing |= line->present[i] ? 0 : 1u << i;
    }
    if (!missing)
        return;
    for (unsigned i = 0; near != home && i < CACHE_SECTORS; i++) {
        const unsigned size = preset->fill_sectors, first = i / size * size;
        line->present[i] |= (request->sectors >> first & ((1u << size) - 1)) != 0;
    }
    struct naive_line *origin = near == home ? line : naive_line(home, request->line, counts);
    for (unsigned i = 0; i < CACHE_SECTORS; i++) {
        if (request->sectors >> i & 1)
            naive_fill(l2, origin, i, &own->read);
    }
}

// --- Configurations ------------------------------------------------------------------------------

// Caches of so many times a hundred lines.
static struct cache_preset random_preset(uint64_t size)
{
    return (struct cache_preset){
        .name = "random",
        .multiprocessors = 4,
        .l1 = {CACHE_LINE_BYTES * size * (2 + random_below(100)), 1u << random_below(6),
               (enum cache_policy)random_below(3)},
        .l2 = {CACHE_LINE_BYTES * size * (8 + random_below(200)), 4u << random_below(3),
               (enum cache_policy)random_below(3)},
        .partitions = 1 + (uint32_t)random_below(2),
        .fill_sectors = 1u << random_below(3),
        .part_stores_hit = (uint32_t)random_below(101),
        .atomics_hit = (uint32_t)random_below(101),
        .stores_allocate = random_below(2),
        .most_dirty = (uint32_t)random_below(101),
    };
}

#endif
