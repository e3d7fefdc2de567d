// SPDX-License-Identifier: Apache-2.0
// The cache of a multiprocessor. It is write-through: stores go to L2 in any case, and leave what
// they wrote here if they allocate lines. Atomic operations are done by L2, so that what was here
// is not valid any more.
#include <stdlib.h>

#include "l1.h"
#include "level.h"

enum { AT_ONCE = 64 }; // requests

struct cache_l1 {
    struct cache_level level;
    bool stores_allocate;
};

struct cache_l1 *cache_l1_create(const struct cache_preset *preset, uint64_t shared_bytes,
                                 uint32_t share)
{
    struct cache_shape shape = preset->l1;
    if (shared_bytes >= shape.bytes)
        return NULL;
    shape.bytes -= shared_bytes;
    struct cache_l1 *l1 = malloc(sizeof(*l1));
    if (l1 && cache_level_init(&l1->level, &shape, share)) {
        l1->stores_allocate = preset->stores_allocate;
        return l1;
    }
    free(l1);
    return NULL;
}

void cache_l1_destroy(struct cache_l1 *l1)
{
    if (l1)
        cache_level_fini(&l1->level);
    free(l1);
}

void cache_l1_flush(struct cache_l1 *l1)
{
    cache_level_clear(&l1->level);
}

// Returns the sectors that go to L2; `one` is what it counted.
static inline __attribute__((always_inline)) uint32_t
serve(struct cache_l1 *l1, struct cache_form form, const struct cache_request *request,
      struct cache_spot spot, struct cache_l1_counts *counts, struct cache_count *one)
{
    uint64_t gone, *word = cache_level_find(&l1->level, form, spot, request->line);
    const uint32_t sectors = request->sectors & 15, there = word ? *word & sectors : 0;
    struct cache_count *count = &counts[request->owner].kinds[request->kind];
    one->sectors = cache_count_of(sectors);
    // A store finds its line, whichever sectors are there.
    one->hits = request->kind == CACHE_STORE && word ? one->sectors : cache_count_of(there);
    count->sectors += one->sectors;
    count->hits += one->hits;
    if (request->kind == CACHE_ATOMIC) {
        if (word)
            *word &= ~(uint64_t)sectors;
        return sectors;
    }
    if (request->kind == CACHE_LOAD || l1->stores_allocate) {
        if (!word)
            word = cache_level_place(&l1->level, form, spot, request->line, &gone);
        *word |= sectors;
    }
    return request->kind == CACHE_LOAD ? sectors & ~there : sectors;
}

// Spots are found for several requests at once, so that the CPU need not wait for each.
static inline __attribute__((always_inline)) void
run_some(struct cache_l1 *l1, struct cache_form form, struct cache_request *requests, size_t count,
         struct cache_l1_counts *counts, struct cache_count *groups)
{
    struct cache_spot spots[AT_ONCE];
    for (size_t i = 0; i < count; i++)
        spots[i] = cache_level_spot_of(&l1->level, requests[i].line);
    for (size_t i = 0; i < count; i++) {
        struct cache_request *request = &requests[i];
        struct cache_count one = {0};
        if (request->sectors)
            request->sectors = (uint8_t)serve(l1, form, request, spots[i], counts, &one);
        request->whole &= request->sectors;
        if (groups)
            cache_group_add(groups, request, one);
    }
}

void cache_l1_run_groups(struct cache_l1 *l1, struct cache_request *requests, size_t count,
                         struct cache_l1_counts *counts, struct cache_count *groups)
{
    const struct cache_form form = l1->level.form;
    for (size_t i = 0; i < count; i += AT_ONCE) {
        const size_t some = count - i < AT_ONCE ? count - i : AT_ONCE;
        if (form.ways == 4 && form.policy == CACHE_LRU)
            run_some(l1, (struct cache_form){4, CACHE_LRU}, requests + i, some, counts, groups);
        else
            run_some(l1, form, requests + i, some, counts, groups);
    }
}

void cache_l1_run(struct cache_l1 *l1, struct cache_request *requests, size_t count,
                  struct cache_l1_counts *counts)
{
    cache_l1_run_groups(l1, requests, count, counts, NULL);
}
