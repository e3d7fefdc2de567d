// SPDX-License-Identifier: Apache-2.0
// The cache of a multiprocessor. It is write-through: stores go to L2 in any case, and leave what
// they wrote here if they allocate lines. Atomic operations are done by L2, so that what was here
// is not valid any more.
#include <stdlib.h>

#include "l1.h"
#include "level.h"

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
static uint32_t serve(struct cache_l1 *l1, const struct cache_request *request,
                      struct cache_l1_counts *counts, struct cache_count *one)
{
    const uint64_t set = cache_level_set_of(&l1->level, request->line);
    struct cache_line *line = cache_level_find(&l1->level, set, request->line), gone;
    const uint32_t there = line ? line->present & request->sectors : 0;
    struct cache_count *count = &counts[request->owner].kinds[request->kind];
    one->sectors = (uint64_t)__builtin_popcount(request->sectors);
    one->hits = (uint64_t)__builtin_popcount(there);
    count->sectors += one->sectors;
    count->hits += one->hits;
    if (request->kind == CACHE_ATOMIC) {
        if (line)
            line->present &= (uint8_t)~request->sectors;
        return request->sectors;
    }
    if (request->kind == CACHE_LOAD || l1->stores_allocate) {
        if (!line)
            line = cache_level_place(&l1->level, set, request->line, &gone);
        line->present |= request->sectors;
    }
    return request->kind == CACHE_LOAD ? request->sectors & ~there : request->sectors;
}

void cache_l1_run_groups(struct cache_l1 *l1, struct cache_request *requests, size_t count,
                         struct cache_l1_counts *counts, struct cache_count *groups)
{
    for (size_t i = 0; i < count; i++) {
        struct cache_request *request = &requests[i];
        struct cache_count one = {0};
        if (request->sectors)
            request->sectors = (uint8_t)serve(l1, request, counts, &one);
        request->whole &= request->sectors;
        if (groups)
            cache_group_add(groups, request, one);
    }
}

void cache_l1_run(struct cache_l1 *l1, struct cache_request *requests, size_t count,
                  struct cache_l1_counts *counts)
{
    cache_l1_run_groups(l1, requests, count, counts, NULL);
}
