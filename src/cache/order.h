// SPDX-License-Identifier: Apache-2.0
// The order in which the records of a launch reach the caches: when each block begins in the time
// of the model, and in which order a multiprocessor has the records of its warps.
#ifndef GLINT_CACHE_ORDER_H
#define GLINT_CACHE_ORDER_H

#include "item.h"

struct cache_run;

struct cache_ordered_block {
    uint64_t begin; // sixteenths of a basic block
    uint32_t pace;  // time that a basic block takes; 65536 is the mean
    uint32_t place; // of its multiprocessor: its index among those that have blocks
};

struct cache_schedule {
    struct cache_ordered_block *blocks;
    uint32_t *multiprocessors; // numbers of those that have blocks, in ascending order
    size_t multiprocessor_count;
    uint64_t inverse; // 2^64 / warps of a block, rounded up; 0 if that is one
    unsigned shift;   // records have (time of the schedule >> shift)
    uint64_t steps;   // of work
};

// Returns false if memory runs out; then there is nothing to free.
bool cache_schedule_init(struct cache_schedule *schedule, const struct cache_launch *launch,
                         const struct cache_order *order);
void cache_schedule_fini(struct cache_schedule *schedule);

// Returns the block of a warp.
static inline uint32_t cache_block_of(const struct cache_schedule *schedule, uint32_t warp)
{
    return schedule->inverse ? (uint32_t)((unsigned __int128)schedule->inverse * warp >> 64) : warp;
}

// Room to sort in: two places for each item.
struct cache_room {
    struct cache_item *items, *spare_items;
    uint64_t *numbers, *spare_numbers;
};

// Makes items of the records of one multiprocessor, which runs have in the order of the launch, and
// puts them in order. Returns where in the room they are; their partitions are still unknown.
struct cache_item *cache_order_records(const struct cache_schedule *schedule,
                                       const struct cache_order *order,
                                       const struct cache_record *records,
                                       const struct cache_run *runs, size_t run_count,
                                       const struct cache_room *room, uint64_t *steps);

#endif
