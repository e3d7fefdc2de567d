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
    bool allocates[CACHE_KINDS + 1]; // of each kind, and of what is no kind
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
        l1->allocates[CACHE_LOAD] = true;
        l1->allocates[CACHE_STORE] = preset->stores_allocate;
        l1->allocates[CACHE_ATOMIC] = l1->allocates[CACHE_KINDS] = false;
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

// Runs an item, and leaves in it those sectors that go to L2. Returns its outcome.
static inline __attribute__((always_inline)) uint8_t
serve(struct cache_l1 *l1, enum cache_form form, struct cache_item *item, uint32_t set)
{
    const uint64_t word = item->word, line = cache_word_line(word);
    const struct cache_spot spot = {set, cache_tag_of(line)};
    const uint32_t sectors = cache_word_sectors(word), kind = cache_word_kind(word);
    struct cache_place place;
    uint32_t there = 0;
    // Whether the next request is a load or a store is hard to predict, but not this.
    if (__builtin_expect(l1->allocates[kind], 1)) {
        place = cache_level_use(&l1->level, form, spot, line, true);
        there = (uint32_t)place.now & sectors;
        *place.word = place.now | sectors;
    } else {
        place = cache_level_use(&l1->level, form, spot, line, false);
        if (place.found) {
            there = (uint32_t)place.now & sectors;
            *place.word = place.now & ~(uint64_t)(kind == CACHE_ATOMIC ? sectors : 0);
        }
    }
    // A store finds its line, whichever sectors are there.
    const uint32_t hits = there | (sectors & -(uint32_t)(place.found & (kind == CACHE_STORE)));
    item->word = cache_word_drop(word, there & -(uint32_t)(kind == CACHE_LOAD));
    return (uint8_t)(sectors | hits << CACHE_HITS_SHIFT);
}

// Sets are found for several items at once, so that the CPU need not wait for each.
static inline __attribute__((always_inline)) void run_some(struct cache_l1 *l1,
                                                           enum cache_form form,
                                                           struct cache_item *items, size_t count,
                                                           uint8_t *outcomes)
{
    uint32_t sets[AT_ONCE];
    for (size_t i = 0; i < count; i++)
        sets[i] = cache_level_set_of(&l1->level, cache_word_line(items[i].word));
    for (size_t i = 0; i < count; i++)
        outcomes[i] = serve(l1, form, &items[i], sets[i]);
}

void cache_l1_run_items(struct cache_l1 *l1, struct cache_item *items, size_t count,
                        uint8_t *outcomes)
{
    for (size_t i = 0; i < count; i += AT_ONCE) {
        const size_t some = count - i < AT_ONCE ? count - i : AT_ONCE;
        if (l1->level.form == CACHE_LRU_4)
            run_some(l1, CACHE_LRU_4, items + i, some, outcomes + i);
        else
            run_some(l1, l1->level.form, items + i, some, outcomes + i);
    }
}

void cache_l1_run(struct cache_l1 *l1, struct cache_request *requests, size_t count,
                  struct cache_l1_counts *counts)
{
    for (size_t from = 0; from < count; from += AT_ONCE) {
        const size_t some = count - from < AT_ONCE ? count - from : AT_ONCE;
        struct cache_request *used[AT_ONCE];
        struct cache_item items[AT_ONCE];
        uint8_t outcomes[AT_ONCE];
        size_t n = 0;
        for (size_t i = 0; i < some; i++) {
            struct cache_request *each = &requests[from + i];
            used[n] = each;
            items[n].word = cache_word_of(each->line, each->kind, each->sectors, each->whole);
            n += cache_word_sectors(items[n].word) != 0;
        }
        cache_l1_run_items(l1, items, n, outcomes);
        for (size_t i = 0; i < n; i++) {
            cache_outcome_add(&counts[used[i]->owner].kinds[used[i]->kind], outcomes[i]);
            used[i]->sectors = (uint8_t)cache_word_sectors(items[i].word);
            used[i]->whole = (uint8_t)cache_word_whole(items[i].word);
        }
    }
}
