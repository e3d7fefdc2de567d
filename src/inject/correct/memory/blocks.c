// SPDX-License-Identifier: Apache-2.0
// The bookkeeping of a pool's blocks. Kept blocks are in two lists, of all and of their class, both
// from the oldest to the newest: the block that was freed first is the likeliest to be unused by
// now, and the first to be released if too much is kept.
#include "blocks.h"

#include <stdlib.h>

static uint64_t class_of(uint64_t bytes)
{
    return (bytes + CORRECT_BLOCK_CLASS_BYTES - 1) / CORRECT_BLOCK_CLASS_BYTES;
}

static struct correct_block *block_at(const struct base_interval *found)
{
    return found ? (struct correct_block *)(uintptr_t)found->value : NULL; // NOLINT
}

void correct_blocks_fini(struct correct_blocks *blocks)
{
    struct base_intervals_walk walk;
    struct base_interval *it = base_intervals_first(&blocks->at, &walk);
    for (; it; it = base_intervals_next(&walk))
        free(block_at(it));
    base_intervals_fini(&blocks->at);
    base_intervals_fini(&blocks->classes);
    *blocks = (struct correct_blocks){0};
}

static void used(struct correct_blocks *blocks, uint64_t bytes)
{
    blocks->used_bytes += bytes;
    if (blocks->used_bytes > blocks->peak_bytes)
        blocks->peak_bytes = blocks->used_bytes;
}

struct correct_block *correct_blocks_add(struct correct_blocks *blocks, uint64_t address,
                                         uint64_t bytes)
{
    struct correct_block *block = calloc(1, sizeof(*block));
    if (!block || base_intervals_insert(&blocks->at, address, bytes, (uint64_t)(uintptr_t)block,
                                        NULL) != BASE_OK) {
        free(block);
        return NULL;
    }
    block->address = address;
    block->bytes = block->asked_bytes = bytes;
    used(blocks, bytes);
    return block;
}

struct correct_block *correct_blocks_find(const struct correct_blocks *blocks, uint64_t address)
{
    return block_at(base_intervals_find(&blocks->at, address));
}

// --- Kept blocks ---------------------------------------------------------------------------------

bool correct_blocks_keep(struct correct_blocks *blocks, struct correct_block *block)
{
    const uint64_t class = class_of(block->bytes);
    struct base_interval *place = base_intervals_find(&blocks->classes, class);
    if (place) {
        struct correct_block *first = block_at(place);
        block->class_older = first->class_newest;
        first->class_newest->class_newer = block;
        first->class_newest = block;
    } else if (base_intervals_insert(&blocks->classes, class, 1, (uint64_t)(uintptr_t)block,
                                     NULL) != BASE_OK) {
        return false;
    } else {
        block->class_newest = block;
    }
    block->kept = true;
    block->older = blocks->newest;
    *(blocks->newest ? &blocks->newest->newer : &blocks->oldest) = block;
    blocks->newest = block;
    blocks->used_bytes -= block->asked_bytes;
    blocks->kept_bytes += block->bytes;
    return true;
}

static void leave_class(struct correct_blocks *blocks, struct correct_block *block)
{
    const uint64_t class = class_of(block->bytes);
    struct base_interval *place = base_intervals_find(&blocks->classes, class);
    struct correct_block *first = block_at(place);
    if (first != block) {
        block->class_older->class_newer = block->class_newer;
        if (first->class_newest == block)
            first->class_newest = block->class_older;
    } else if (block->class_newer) {
        block->class_newer->class_newest = block->class_newest;
        place->value = (uint64_t)(uintptr_t)block->class_newer;
    } else {
        base_intervals_remove(&blocks->classes, class, NULL);
    }
    if (block->class_newer)
        block->class_newer->class_older = block->class_older;
    block->class_older = block->class_newer = block->class_newest = NULL;
}

static void unkeep(struct correct_blocks *blocks, struct correct_block *block)
{
    leave_class(blocks, block);
    *(block->older ? &block->older->newer : &blocks->oldest) = block->newer;
    *(block->newer ? &block->newer->older : &blocks->newest) = block->older;
    block->older = block->newer = NULL;
    block->kept = false;
    blocks->kept_bytes -= block->bytes;
}

void correct_blocks_use(struct correct_blocks *blocks, struct correct_block *block, uint64_t bytes)
{
    unkeep(blocks, block);
    block->asked_bytes = bytes;
    used(blocks, bytes);
}

void correct_blocks_remove(struct correct_blocks *blocks, struct correct_block *block)
{
    if (block->kept)
        unkeep(blocks, block);
    else
        blocks->used_bytes -= block->asked_bytes;
    base_intervals_remove(&blocks->at, block->address, NULL);
    free(block);
}

struct correct_block *correct_blocks_fit(const struct correct_blocks *blocks, uint64_t bytes,
                                         bool fresh, correct_block_rate *rate, void *user)
{
    const uint64_t class = class_of(bytes);
    const enum correct_block_rating least = fresh ? CORRECT_BLOCK_GOOD : CORRECT_BLOCK_POOR;
    struct correct_block *found = NULL;
    enum correct_block_rating best = CORRECT_BLOCK_UNFIT;
    const struct base_interval *at = base_intervals_find(&blocks->classes, class);
    if (!at)
        at = base_intervals_after(&blocks->classes, class);
    for (; at && at->start <= class + class / 4 && best < least;
         at = base_intervals_after(&blocks->classes, at->start)) {
        struct correct_block *block = block_at(at);
        for (int i = 0; block && i < CORRECT_BLOCK_MOST_LOOKS && best < CORRECT_BLOCK_BEST; i++) {
            // A block of the same class may be some bytes too small.
            const enum correct_block_rating rating =
                block->bytes < bytes ? CORRECT_BLOCK_UNFIT : rate(block, user);
            if (rating > best) {
                best = rating;
                found = block;
            }
            block = block->class_newer;
        }
    }
    return best >= least ? found : NULL;
}
