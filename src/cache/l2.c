// SPDX-License-Identifier: Apache-2.0
// The cache of the GPU. A line has a *home* among the partitions, where it is written and where
// atomic operations are done. Loads ask the partition of their multiprocessor, which keeps copies
// of lines with another home; only if it does not have a sector, the home is asked, and then
// memory. So what all multiprocessors read takes room in each partition.
//
// It is write-back. A store of a whole sector needs nothing from memory; one of a part has it read.
// Memory is read in aligned groups of sectors. All partitions have a line in the same set, and
// requests for different pieces of sets have nothing in common, so that threads can share them.
#include <stdlib.h>

#include "l2.h"
#include "level.h"

enum { MOST_PARTITIONS = 8 };

struct cache_l2 {
    struct cache_level partitions[MOST_PARTITIONS];
    const struct cache_preset *preset;
    // Of each piece: percents that are not a hit yet (see part_stores_hit), as many numbers apart
    // as are in a line of the CPU's cache.
    uint32_t owed[CACHE_PIECES * 2 * CACHE_APART];
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

uint32_t cache_l2_share(const struct cache_l2 *l2)
{
    return l2->partitions[0].share;
}

const struct cache_preset *cache_l2_preset(const struct cache_l2 *l2)
{
    return l2->preset;
}

uint32_t cache_l2_piece_of(const struct cache_l2 *l2, uint64_t line)
{
    const struct cache_level *level = &l2->partitions[0];
    return cache_level_piece_of(level, cache_level_set_of(level, line));
}

// A request, where it goes to, and whom all lines are counted for.
struct access {
    struct cache_l2 *l2;
    const struct cache_request *request;
    struct cache_level *near, *home;
    uint64_t set;
    struct cache_l2_counts *counts;
};

static struct cache_level *home_of(struct cache_l2 *l2, uint64_t line)
{
    return &l2->partitions[cache_home_of(line, l2->preset->partitions)];
}

static struct cache_level *near_to(struct cache_l2 *l2, uint32_t multiprocessor)
{
    const struct cache_preset *preset = l2->preset;
    const uint32_t number = multiprocessor % preset->multiprocessors;
    return &l2->partitions[number * preset->partitions / preset->multiprocessors];
}

// Finds the line, or makes room for it; what must leave for that is written to memory.
static struct cache_line *line_in(const struct access *access, struct cache_level *level)
{
    const uint64_t number = access->request->line;
    struct cache_line gone, *line = cache_level_find(level, access->set, number);
    if (line)
        return line;
    line = cache_level_place(level, access->set, number, &gone);
    if (gone.dirty)
        access->counts[gone.writer].written += count_of(gone.dirty);
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
static void read_sectors(const struct access *access, struct cache_line *home, uint32_t sectors)
{
    const uint32_t missing =
        filled(access->l2, sectors & ~(uint32_t)home->present) & ~home->present;
    access->counts[access->request->owner].read += count_of(missing);
    home->present |= (uint8_t)missing;
}

// Returns the hits.
static uint64_t load(const struct access *access)
{
    const uint32_t sectors = access->request->sectors;
    struct cache_line *line = line_in(access, access->near);
    const uint32_t there = line->present & sectors;
    if (there == sectors)
        return count_of(there);
    if (access->home == access->near) {
        read_sectors(access, line, sectors);
        return count_of(there);
    }
    line->present |= (uint8_t)sectors;
    read_sectors(access, line_in(access, access->home), sectors);
    return count_of(there);
}

// Of so many sectors that are not there, returns how many count as hits. What is left over is kept,
// so that the share is right in the long run, and the same in each run.
static uint64_t hits_of(const struct access *access, uint64_t sectors)
{
    const struct cache_preset *preset = access->l2->preset;
    const enum cache_kind kind = (enum cache_kind)access->request->kind;
    const uint32_t percent = kind == CACHE_STORE ? preset->part_stores_hit : preset->atomics_hit;
    const uint32_t piece = cache_level_piece_of(access->home, access->set);
    uint32_t *owed = &access->l2->owed[piece * 2 * CACHE_APART + kind];
    const uint64_t sum = *owed + sectors * percent;
    *owed = (uint32_t)(sum % 100);
    return sum / 100;
}

// Returns the hits.
static uint64_t change(const struct access *access)
{
    const struct cache_request *request = access->request;
    struct cache_line *line = line_in(access, access->home), *copy;
    const uint32_t whole = request->kind == CACHE_STORE ? request->whole : 0;
    const uint32_t missing = request->sectors & ~(uint32_t)line->present & ~whole;
    line->present |= (uint8_t)whole;
    read_sectors(access, line, missing);
    line->dirty |= request->sectors;
    line->writer = request->owner;
    // Copies elsewhere are not valid any more. That of the multiprocessor itself is most likely to
    // be there, and others would have to be asked for: they are left, which only loads of changed
    // data notice.
    if (access->near != access->home &&
        (copy = cache_level_find(access->near, access->set, request->line)))
        copy->present &= (uint8_t)~request->sectors;
    return count_of(request->sectors & ~missing) +
           (missing ? hits_of(access, count_of(missing)) : 0);
}

// Returns what it counted.
static struct cache_count serve(const struct access *access)
{
    const struct cache_request *request = access->request;
    struct cache_count *count = &access->counts[request->owner].kinds[request->kind];
    const struct cache_count one = {
        .sectors = count_of(request->sectors),
        .hits = request->kind == CACHE_LOAD ? load(access) : change(access),
    };
    count->sectors += one.sectors;
    count->hits += one.hits;
    return one;
}

void cache_l2_run_groups(struct cache_l2 *l2, const struct cache_request *requests, size_t count,
                         struct cache_l2_counts *counts, struct cache_count *groups)
{
    for (size_t i = 0; i < count; i++) {
        const struct cache_request *request = &requests[i];
        if (!request->sectors)
            continue;
        const struct cache_count one = serve(&(struct access){
            .l2 = l2,
            .request = request,
            .near = near_to(l2, request->multiprocessor),
            .home = home_of(l2, request->line),
            .set = cache_level_set_of(&l2->partitions[0], request->line),
            .counts = counts,
        });
        if (groups)
            cache_group_add(groups, request, one);
    }
}

void cache_l2_run(struct cache_l2 *l2, const struct cache_request *requests, size_t count,
                  struct cache_l2_counts *counts)
{
    cache_l2_run_groups(l2, requests, count, counts, NULL);
}

void cache_l2_copy(struct cache_l2 *l2, const struct cache_request *request,
                   struct cache_l2_counts *counts)
{
    struct cache_level *home = home_of(l2, request->line);
    if (request->sectors)
        serve(&(struct access){
            .l2 = l2,
            .request = request,
            .near = home,
            .home = home,
            .set = cache_level_set_of(home, request->line),
            .counts = counts,
        });
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
