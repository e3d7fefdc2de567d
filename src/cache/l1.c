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
    if (l1 && cache_level_init(&l1->level, &shape, share, 1, false)) {
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

// What is counted, and where.
struct counting {
    struct cache_l1_counts *counts;
    struct cache_count *groups; // may be NULL
};

// Returns the word of a request with those sectors that go to L2.
static inline __attribute__((always_inline)) uint64_t serve(struct cache_l1 *l1,
                                                            enum cache_form form, uint64_t word,
                                                            uint32_t owner, struct cache_spot spot,
                                                            struct counting counting)
{
    const uint64_t line = cache_word_line(word);
    const uint32_t sectors = cache_word_sectors(word), kind = cache_word_kind(word);
    const bool allocates = kind == CACHE_LOAD || (kind == CACHE_STORE && l1->stores_allocate);
    struct cache_place place;
    uint32_t there = 0;
    if (__builtin_expect(allocates, 1)) {
        place = cache_level_use(&l1->level, form, spot, line, true);
        there = *place.word & sectors;
        *place.word |= sectors;
    } else {
        place = cache_level_use(&l1->level, form, spot, line, false);
        if (place.found) {
            there = *place.word & sectors;
            *place.word &= ~(uint64_t)(kind == CACHE_ATOMIC ? sectors : 0);
        }
    }
    // A store finds its line, whichever sectors are there.
    const uint32_t of_line = place.found ? sectors : 0;
    const struct cache_count one = {
        .sectors = cache_count_of(sectors),
        .hits = cache_count_of(kind == CACHE_STORE ? of_line : there),
    };
    struct cache_count *count = &counting.counts[owner].kinds[kind];
    count->sectors += one.sectors;
    count->hits += one.hits;
    if (counting.groups)
        cache_group_add(counting.groups, line, owner, one);
    return cache_word_keep(word, sectors & ~(kind == CACHE_LOAD ? there : 0));
}

// Spots are found for several items at once, so that the CPU need not wait for each.
static inline __attribute__((always_inline)) void run_some(struct cache_l1 *l1,
                                                           enum cache_form form,
                                                           struct cache_item *items, size_t count,
                                                           struct counting counting)
{
    struct cache_spot spots[AT_ONCE];
    for (size_t i = 0; i < count; i++)
        spots[i] = cache_level_spot_of(&l1->level, cache_word_line(items[i].word));
    for (size_t i = 0; i < count; i++) {
        const uint64_t word = items[i].word;
        if (cache_word_sectors(word))
            items[i].word = serve(l1, form, word, items[i].owner, spots[i], counting);
    }
}

void cache_l1_run_items(struct cache_l1 *l1, struct cache_item *items, size_t count,
                        struct cache_l1_counts *counts, struct cache_count *groups)
{
    const struct counting counting = {counts, groups};
    for (size_t i = 0; i < count; i += AT_ONCE) {
        const size_t some = count - i < AT_ONCE ? count - i : AT_ONCE;
        if (l1->level.form == CACHE_LRU_4)
            run_some(l1, CACHE_LRU_4, items + i, some, counting);
        else
            run_some(l1, l1->level.form, items + i, some, counting);
    }
}

void cache_l1_run(struct cache_l1 *l1, struct cache_request *requests, size_t count,
                  struct cache_l1_counts *counts)
{
    struct cache_item items[AT_ONCE];
    for (size_t from = 0; from < count; from += AT_ONCE) {
        const size_t some = count - from < AT_ONCE ? count - from : AT_ONCE;
        struct cache_request *each = requests + from;
        for (size_t i = 0; i < some; i++)
            items[i] = (struct cache_item){
                .word = cache_word_of(each[i].line, each[i].kind, each[i].sectors, each[i].whole),
                .owner = each[i].owner};
        cache_l1_run_items(l1, items, some, counts, NULL);
        for (size_t i = 0; i < some; i++) {
            each[i].sectors = (uint8_t)cache_word_sectors(items[i].word);
            each[i].whole = (uint8_t)cache_word_whole(items[i].word);
        }
    }
}
