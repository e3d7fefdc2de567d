// SPDX-License-Identifier: Apache-2.0
// What a launch needs of an L2 beyond the public header.
#ifndef GLINT_CACHE_L2_H
#define GLINT_CACHE_L2_H

#include "groups.h"
#include "level.h"

uint32_t cache_l2_share(const struct cache_l2 *l2);
const struct cache_preset *cache_l2_preset(const struct cache_l2 *l2);

// Returns the partition that a multiprocessor asks.
uint32_t cache_l2_near(const struct cache_l2 *l2, uint32_t multiprocessor);

// Returns a partition, to find out which piece a line belongs to: the same in all.
const struct cache_level *cache_l2_partition(const struct cache_l2 *l2);

// Like cache_l2_run; counts also for groups of lines, unless `groups` is NULL. Different threads
// may run requests for different pieces at the same time, with counts of their own.
void cache_l2_run_groups(struct cache_l2 *l2, const struct cache_request *requests, size_t count,
                         struct cache_l2_counts *counts, struct cache_count *groups);

#endif
