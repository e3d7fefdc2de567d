// SPDX-License-Identifier: Apache-2.0
// The cache of the GPU. A line has a *home* among the partitions, where it is written and where
// atomic operations are done. Loads ask the partition of their multiprocessor, which keeps copies
// of lines with another home; only if it does not have a sector, the home is asked, and then
// memory. So what all multiprocessors read takes room in each partition.
//
// It is write-back. A store of a whole sector needs nothing from memory; one of a part has it read.
// Memory is read in aligned groups of sectors.
#include <stdlib.h>

#include "level.h"

enum { MOST_PARTITIONS = 8 };

struct cache_l2 {
    struct cache_level partitions[MOST_PARTITIONS];
    const struct cache_preset *preset;
    // Percents that are not a hit yet: see part_stores_hit.
    uint32_t owed[CACHE_KINDS];
};

struct cache_l2 *cache_l2_create(const struct cache_preset *preset, uint32_t share)
{
    struct cache_l2 *l2 = calloc(1, sizeof(*l2));
    if (!l2)
        return NULL;
    l2->preset = preset;
    bool fine = preset->partitions && preset->partitions <= MOST_PARTITIONS;
    for (uint32_t i = 0; fine && i < preset->partitions; i++)
        fine = cache_level_init(&l2->partitions[i], &preset->l2, share);
    if (fine)
        return l2;
    cache_l2_destroy(l2);
    return NULL;
}

void cache_l2_destroy(struct cache_l2 *l2)
{
    for (uint32_t i = 0; l2 && i < MOST_PARTITIONS; i++)
        cache_level_fini(&l2->partitions[i]);
    free(l2);
}

static uint64_t count_of(uint32_t sectors)
{
    return (uint64_t)__builtin_popcount(sectors);
}

static struct cache_level *home_of(struct cache_l2 *l2, uint64_t line)
{
    return &l2->partitions[cache_home_of(line, l2->preset->partitions)];
}

static struct cache_level *near_to(struct cache_l2 *l2, uint32_t multiprocessor)
{
    const struct cache_preset *preset = l2->preset;
    const uint32_t index = multiprocessor * preset->partitions / preset->multiprocessors;
    return &l2->partitions[index < preset->partitions ? index : preset->partitions - 1];
}

// Finds a line, or makes room for it; what must leave for that is written to memory.
static struct cache_line *line_in(struct cache_level *level, uint64_t number,
                                  struct cache_l2_counts *counts)
{
    struct cache_line gone, *line = cache_level_find(level, number);
    if (line)
        return line;
    line = cache_level_place(level, number, &gone);
    if (gone.dirty)
        counts[gone.writer].written += count_of(gone.dirty);
    return line;
}

// Returns the sectors together with those that memory delivers at the same time.
static uint32_t filled(const struct cache_l2 *l2, uint32_t sectors)
{
    if (l2->preset->fill_sectors >= 4)
        return sectors ? 15 : 0;
    if (l2->preset->fill_sectors == 2)
        return (sectors & 3 ? 3u : 0) | (sectors & 12 ? 12u : 0);
    return sectors;
}

// Has sectors read from memory, unless they are there.
static void read_sectors(struct cache_l2 *l2, struct cache_line *home, uint32_t sectors,
                         uint64_t *read)
{
    const uint32_t missing = filled(l2, sectors & ~(uint32_t)home->present) & ~home->present;
    *read += count_of(missing);
    home->present |= (uint8_t)missing;
}

static void load(struct cache_l2 *l2, struct cache_level *near, const struct cache_request *request,
                 struct cache_l2_counts *counts)
{
    struct cache_l2_counts *own = &counts[request->owner];
    struct cache_level *home = home_of(l2, request->line);
    struct cache_line *line = line_in(near, request->line, counts);
    const uint32_t there = line->present & request->sectors;
    own->kinds[CACHE_LOAD].hits += count_of(there);
    if (there == request->sectors)
        return;
    if (home == near) {
        read_sectors(l2, line, request->sectors, &own->read);
        return;
    }
    line->present |= request->sectors;
    read_sectors(l2, line_in(home, request->line, counts), request->sectors, &own->read);
}

// Of so many sectors that are not there, returns how many count as hits. What is left over is kept,
// so that the share is right in the long run, and the same in each run.
static uint64_t hits_of(struct cache_l2 *l2, enum cache_kind kind, uint64_t sectors,
                        uint32_t percent)
{
    const uint64_t sum = l2->owed[kind] + sectors * percent;
    l2->owed[kind] = (uint32_t)(sum % 100);
    return sum / 100;
}

static void change(struct cache_l2 *l2, struct cache_level *near,
                   const struct cache_request *request, struct cache_l2_counts *counts)
{
    const enum cache_kind kind = (enum cache_kind)request->kind;
    struct cache_l2_counts *own = &counts[request->owner];
    struct cache_level *home = home_of(l2, request->line);
    struct cache_line *line = line_in(home, request->line, counts), *copy;
    const uint32_t whole = kind == CACHE_STORE ? request->whole : 0;
    const uint32_t missing = request->sectors & ~(uint32_t)line->present & ~whole;
    const uint32_t percent =
        kind == CACHE_STORE ? l2->preset->part_stores_hit : l2->preset->atomics_hit;
    own->kinds[kind].hits +=
        count_of(request->sectors & ~missing) + hits_of(l2, kind, count_of(missing), percent);
    line->present |= (uint8_t)whole;
    read_sectors(l2, line, missing, &own->read);
    line->dirty |= request->sectors;
    line->writer = request->owner;
    // Copies elsewhere are not valid any more. That of the multiprocessor itself is most likely to
    // be there, and others would have to be asked for: they are left, which only loads of changed
    // data notice.
    if (near != home && (copy = cache_level_find(near, request->line)))
        copy->present &= (uint8_t)~request->sectors;
}

static void serve(struct cache_l2 *l2, struct cache_level *near,
                  const struct cache_request *request, struct cache_l2_counts *counts)
{
    counts[request->owner].kinds[request->kind].sectors += count_of(request->sectors);
    if (request->kind == CACHE_LOAD)
        load(l2, near, request, counts);
    else
        change(l2, near, request, counts);
}

void cache_l2_run(struct cache_l2 *l2, const struct cache_request *requests, size_t count,
                  struct cache_l2_counts *counts)
{
    for (size_t i = 0; i < count; i++) {
        if (requests[i].sectors)
            serve(l2, near_to(l2, requests[i].multiprocessor), &requests[i], counts);
    }
}

void cache_l2_copy(struct cache_l2 *l2, const struct cache_request *request,
                   struct cache_l2_counts *counts)
{
    if (request->sectors)
        serve(l2, home_of(l2, request->line), request, counts);
}

void cache_l2_clean(struct cache_l2 *l2, struct cache_l2_counts *counts)
{
    for (uint32_t i = 0; i < l2->preset->partitions; i++) {
        const struct cache_level *level = &l2->partitions[i];
        for (uint64_t k = 0; k < level->sets * level->ways; k++) {
            struct cache_line *line = &level->lines[k];
            if (line->dirty)
                counts[line->writer].written += count_of(line->dirty);
            line->dirty = 0;
        }
    }
}
