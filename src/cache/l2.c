// SPDX-License-Identifier: Apache-2.0
// The cache of the GPU. A line has a *home* among the partitions, where it is written and where
// atomic operations are done. Loads ask the partition of their multiprocessor, which keeps copies
// of lines with another home; only if it does not have a sector, the home is asked, and then
// memory. So what all multiprocessors read takes room in each partition.
//
// It is write-back. A store of a whole sector needs nothing from memory. One of a part leaves a
// sector that is dirty, but not present: what is missing is read when it is loaded or leaves,
// unless another store has come meanwhile, which is taken to bring the rest. Memory is read, and
// copies are made, in aligned groups of sectors. All partitions have a line in the same set, and
// requests for different pieces of sets have nothing in common, so that threads can share them.
#include <stdlib.h>

#include "l2.h"
#include "level.h"

enum { MOST_PARTITIONS = 8, AT_ONCE = 64 }; // AT_ONCE: requests

struct cache_l2 {
    struct cache_level partitions[MOST_PARTITIONS];
    const struct cache_preset *preset;
    // Of each piece: percents that are not a hit yet (see part_stores_hit), as many numbers apart
    // as are in a line of the CPU's cache.
    uint32_t owed[CACHE_PIECES * 2 * CACHE_APART];
    uint8_t fills[1 << CACHE_SECTORS]; // of each set of sectors: what memory delivers for it
    uint8_t near[];                    // of each multiprocessor: the partition
};

// Returns the sectors together with those that memory delivers at the same time.
static uint32_t filled(const struct cache_preset *preset, uint32_t sectors)
{
    if (preset->fill_sectors >= 4)
        return sectors ? 15 : 0;
    if (preset->fill_sectors == 2)
        return (sectors & 3 ? 3u : 0) | (sectors & 12 ? 12u : 0);
    return sectors;
}

struct cache_l2 *cache_l2_create(const struct cache_preset *preset, uint32_t share)
{
    struct cache_l2 *l2 = calloc(1, sizeof(*l2) + preset->multiprocessors);
    if (!l2)
        return NULL;
    l2->preset = preset;
    bool fine =
        preset->multiprocessors && preset->partitions && preset->partitions <= MOST_PARTITIONS;
    for (uint32_t i = 0; i < preset->multiprocessors; i++)
        l2->near[i] = (uint8_t)((uint64_t)i * preset->partitions / preset->multiprocessors);
    for (uint32_t i = 0; i < 1 << CACHE_SECTORS; i++)
        l2->fills[i] = (uint8_t)filled(preset, i);
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

uint32_t cache_l2_share(const struct cache_l2 *l2)
{
    return l2->partitions[0].share;
}

const struct cache_preset *cache_l2_preset(const struct cache_l2 *l2)
{
    return l2->preset;
}

const struct cache_level *cache_l2_partition(const struct cache_l2 *l2)
{
    return &l2->partitions[0];
}

// A request, where it goes to, and whom all lines are counted for.
struct access {
    struct cache_l2 *l2;
    struct cache_form form;
    const struct cache_request *request;
    struct cache_level *near, *home;
    struct cache_spot spot;
    struct cache_l2_counts *counts;
};

static uint32_t home_of(const struct cache_l2 *l2, uint64_t line)
{
    return cache_home_of(line, l2->preset->partitions);
}

// Numbers that the GPU of the preset does not have begin again with the first.
uint32_t cache_l2_near(const struct cache_l2 *l2, uint32_t multiprocessor)
{
    const uint32_t count = l2->preset->multiprocessors;
    return l2->near[multiprocessor < count ? multiprocessor : multiprocessor % count];
}

// Counts what it takes to write these sectors to memory: those that are not present are read first.
static void count_written(struct cache_l2_counts *counts, uint64_t word)
{
    const uint64_t dirty = word >> CACHE_DIRTY_SHIFT & 15;
    counts->written += cache_count_of(dirty);
    counts->read += cache_count_of(dirty & ~word);
}

// Finds the line's word, or makes room for it; what must leave for that is written to memory.
static inline __attribute__((always_inline)) uint64_t *line_in(const struct access *access,
                                                               struct cache_level *level)
{
    const uint64_t line = access->request->line;
    uint64_t gone, *word = cache_level_find(level, access->form, access->spot, line);
    if (word)
        return word;
    word = cache_level_place(level, access->form, access->spot, line, &gone);
    if (gone >> CACHE_DIRTY_SHIFT & 15)
        count_written(&access->counts[*cache_level_writer(level, word)], gone);
    return word;
}

// Has sectors read from memory, unless they are there.
static inline __attribute__((always_inline)) void read_sectors(const struct access *access,
                                                               uint64_t *home, uint32_t sectors)
{
    const uint32_t there = *home & 15, missing = access->l2->fills[sectors & ~there & 15] & ~there;
    access->counts[access->request->owner].read += cache_count_of(missing);
    *home |= missing;
}

// Returns the hits.
static inline __attribute__((always_inline)) uint64_t load(const struct access *access)
{
    const uint32_t sectors = access->request->sectors & 15;
    uint64_t *word = line_in(access, access->near);
    const uint32_t there = *word & sectors;
    if (there == sectors)
        return cache_count_of(there);
    if (access->home != access->near) {
        *word |= access->l2->fills[sectors];
        word = line_in(access, access->home);
    }
    read_sectors(access, word, sectors);
    return cache_count_of(there);
}

// Of so many sectors that are not there, returns how many count as hits. What is left over is kept,
// so that the share is right in the long run, and the same in each run.
static __attribute__((noinline)) uint64_t hits_of(const struct access *access, uint64_t sectors)
{
    const struct cache_preset *preset = access->l2->preset;
    const enum cache_kind kind = (enum cache_kind)access->request->kind;
    const uint32_t percent = kind == CACHE_STORE ? preset->part_stores_hit : preset->atomics_hit;
    const uint32_t piece = cache_level_piece_of(access->home, access->spot.set);
    uint32_t *owed = &access->l2->owed[piece * 2 * CACHE_APART + kind];
    const uint64_t sum = *owed + sectors * percent;
    *owed = (uint32_t)(sum % 100);
    return sum / 100;
}

// Returns the hits.
static inline __attribute__((always_inline)) uint64_t change(const struct access *access)
{
    const struct cache_request *request = access->request;
    const uint32_t sectors = request->sectors & 15;
    uint64_t *word = line_in(access, access->home), *copy;
    const uint32_t dirty = (uint32_t)(*word >> CACHE_DIRTY_SHIFT) & 15;
    const uint32_t whole = request->kind == CACHE_STORE ? (request->whole & 15) | dirty : 0;
    const uint32_t missing = sectors & ~(uint32_t)*word & ~whole;
    *word |= sectors & whole;
    if (request->kind != CACHE_STORE)
        read_sectors(access, word, missing);
    *word |= (uint64_t)sectors << CACHE_DIRTY_SHIFT;
    *cache_level_writer(access->home, word) = request->owner;
    // Copies elsewhere are not valid any more. That of the multiprocessor itself is most likely to
    // be there, and others would have to be asked for: they are left, which only loads of changed
    // data notice.
    if (access->near != access->home &&
        (copy = cache_level_find(access->near, access->form, access->spot, request->line)))
        *copy &= ~(uint64_t)sectors;
    return cache_count_of(sectors & ~missing) +
           (missing ? hits_of(access, cache_count_of(missing)) : 0);
}

// Returns what it counted.
static inline __attribute__((always_inline)) struct cache_count serve(const struct access *access)
{
    const struct cache_request *request = access->request;
    struct cache_count *count = &access->counts[request->owner].kinds[request->kind];
    const struct cache_count one = {
        .sectors = cache_count_of(request->sectors),
        .hits = request->kind == CACHE_LOAD ? load(access) : change(access),
    };
    count->sectors += one.sectors;
    count->hits += one.hits;
    return one;
}

// Finds sets, and has the CPU fetch them, for several requests at once.
static inline __attribute__((always_inline)) void
run_some(struct cache_l2 *l2, struct cache_form form, const struct cache_request *requests,
         size_t count, struct cache_l2_counts *counts, struct cache_count *groups)
{
    uint32_t sets[AT_ONCE];
    uint8_t tags[AT_ONCE], indices[AT_ONCE], nears[AT_ONCE], homes[AT_ONCE];
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct cache_request *request = &requests[i];
        if (!request->sectors)
            continue;
        const struct cache_spot spot = cache_level_spot_of(&l2->partitions[0], request->line);
        sets[used] = spot.set;
        tags[used] = spot.tag;
        indices[used] = (uint8_t)i;
        nears[used] = (uint8_t)cache_l2_near(l2, request->multiprocessor);
        homes[used] = (uint8_t)home_of(l2, request->line);
        cache_level_prefetch(&l2->partitions[nears[used]], form, spot.set);
        cache_level_prefetch(&l2->partitions[homes[used]], form, spot.set); // often the same
        used++;
    }
    for (size_t i = 0; i < used; i++) {
        const struct cache_request *request = &requests[indices[i]];
        const struct access access = {
            .l2 = l2,
            .form = form,
            .request = request,
            .near = &l2->partitions[nears[i]],
            .home = &l2->partitions[homes[i]],
            .spot = {sets[i], tags[i]},
            .counts = counts,
        };
        const struct cache_count one = serve(&access);
        if (groups)
            cache_group_add(groups, request, one);
    }
}

void cache_l2_run_groups(struct cache_l2 *l2, const struct cache_request *requests, size_t count,
                         struct cache_l2_counts *counts, struct cache_count *groups)
{
    const struct cache_form form = l2->partitions[0].form;
    for (size_t i = 0; i < count; i += AT_ONCE) {
        const size_t some = count - i < AT_ONCE ? count - i : AT_ONCE;
        if (form.ways == 16 && form.policy == CACHE_LRU)
            run_some(l2, (struct cache_form){16, CACHE_LRU}, requests + i, some, counts, groups);
        else
            run_some(l2, form, requests + i, some, counts, groups);
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
    struct cache_level *home = &l2->partitions[home_of(l2, request->line)];
    if (request->sectors)
        serve(&(struct access){
            .l2 = l2,
            .form = home->form,
            .request = request,
            .near = home,
            .home = home,
            .spot = cache_level_spot_of(home, request->line),
            .counts = counts,
        });
}

void cache_l2_clean(struct cache_l2 *l2, struct cache_l2_counts *counts)
{
    for (uint32_t i = 0; i < l2->preset->partitions; i++) {
        const struct cache_level *level = &l2->partitions[i];
        for (uint64_t *word = level->words; word < level->words + level->sets * level->form.ways;
             word++) {
            const uint64_t dirty = *word >> CACHE_DIRTY_SHIFT & 15;
            if (dirty)
                count_written(&counts[*cache_level_writer(level, word)], *word);
            *word = (*word | dirty) & ~((uint64_t)15 << CACHE_DIRTY_SHIFT);
        }
    }
}
