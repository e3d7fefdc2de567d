// SPDX-License-Identifier: Apache-2.0
// Blocks of host memory and where they were allocated, by address. A table of fixed size, because
// allocators call it: nothing here allocates, and only guard_blocks_borrow may wait. If too many
// blocks fall into one set, the newest are kept. Any thread may call, also in a child of fork.
#ifndef GLINT_INJECT_GUARD_BLOCKS_H
#define GLINT_INJECT_GUARD_BLOCKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { BLOCKS_SETS = 1024, BLOCKS_WAYS = 8, BLOCKS_FRAMES = 48, BLOCKS_RECALLS = 256 };

struct guard_block {
    uint64_t address, bytes;
    uint64_t time_ns;    // when it was allocated
    uint64_t number;     // number in its records; 0: not recorded
    uint32_t generation; // of the process that has recorded it
    uint8_t kind;        // enum event_host
    bool truncated;      // there were more frames
    uint32_t depth;
    uint64_t frames[BLOCKS_FRAMES]; // return addresses where it was allocated, innermost first
};

struct guard_blocks {                        // zeroed at first
    _Atomic uint64_t used[BLOCKS_SETS / 64]; // sets that hold blocks
    _Atomic uint64_t puts;
    _Atomic uint32_t turn;
    // One cache line per set. Key: the block's address; 0: none, 1: a thread is changing the entry.
    _Alignas(64) _Atomic uint64_t keys[BLOCKS_SETS][BLOCKS_WAYS];
    _Atomic uint64_t bytes[BLOCKS_SETS][BLOCKS_WAYS];
    // Where an address was found last: 1 + place, or 0, and how many puts there had been, in one
    // word; and a check word made of that and the address, so that a mixture written by two threads
    // is ignored.
    struct {
        _Atomic uint64_t found, check;
    } recalls[BLOCKS_RECALLS];
    struct guard_block blocks[BLOCKS_SETS][BLOCKS_WAYS];
};

static inline unsigned guard_blocks_set_of(uint64_t address)
{
    return (unsigned)(address * UINT64_C(0x9E3779B97F4A7C15) >> 54) % BLOCKS_SETS;
}

// Returns whether a block may be known there. Cheap; false is always right.
static inline bool guard_blocks_may_hold(const struct guard_blocks *blocks, uint64_t address)
{
    const unsigned set = guard_blocks_set_of(address);
    return atomic_load_explicit(&blocks->used[set / 64], memory_order_relaxed) >> set % 64 & 1;
}

// Adds a block, and replaces one at the same address.
void guard_blocks_put(struct guard_blocks *blocks, const struct guard_block *block);
// Take out the block that begins there, or any that overlaps the range. Return false if there is
// none.
bool guard_blocks_take(struct guard_blocks *blocks, uint64_t address, struct guard_block *taken);
bool guard_blocks_take_overlap(struct guard_blocks *blocks, uint64_t low, uint64_t high,
                               struct guard_block *taken);
// Borrows the block that holds the address, the innermost of several. No other thread sees it until
// guard_blocks_give_back. NULL: none is known.
struct guard_block *guard_blocks_borrow(struct guard_blocks *blocks, uint64_t address);
void guard_blocks_give_back(struct guard_blocks *blocks, struct guard_block *block);
// Called in a child of fork: drops entries that other threads were changing, since those threads do
// not exist in the child.
void guard_blocks_forked(struct guard_blocks *blocks);

#endif
