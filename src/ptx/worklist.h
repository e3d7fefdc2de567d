// SPDX-License-Identifier: Apache-2.0
// The items that an analysis still has to process. They are taken in ascending order, cyclically,
// so that items numbered in control-flow order are processed about once. Internal to src/ptx.
#ifndef GLINT_PTX_WORKLIST_H
#define GLINT_PTX_WORKLIST_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"

struct ptx_worklist {
    uint64_t *bits;
    uint32_t words, at; // the word at which the search continues
    uint32_t count;
};

static inline void ptx_worklist_init(struct ptx_worklist *list, uint32_t items,
                                     struct base_arena *arena)
{
    *list = (struct ptx_worklist){.words = items / 64 + 1};
    list->bits = base_new_array(arena, uint64_t, list->words);
}

static inline void ptx_worklist_add(struct ptx_worklist *list, uint32_t item)
{
    uint64_t bit = UINT64_C(1) << item % 64;
    list->count += !(list->bits[item / 64] & bit);
    list->bits[item / 64] |= bit;
}

// Adds all items of another list.
static inline void ptx_worklist_add_all(struct ptx_worklist *list, const struct ptx_worklist *other)
{
    for (uint32_t i = 0; i < list->words; i++) {
        list->count += (uint32_t)__builtin_popcountll(other->bits[i] & ~list->bits[i]);
        list->bits[i] |= other->bits[i];
    }
}

// Removes the next item from the list. Returns false if the list is empty.
static inline bool ptx_worklist_take(struct ptx_worklist *list, uint32_t *item)
{
    if (!list->count)
        return false;
    while (!list->bits[list->at])
        list->at = list->at + 1 < list->words ? list->at + 1 : 0;
    uint64_t *word = &list->bits[list->at];
    *item = list->at * 64 + (uint32_t)__builtin_ctzll(*word);
    *word &= *word - 1;
    list->count--;
    return true;
}

#endif
