// SPDX-License-Identifier: Apache-2.0
// What a launch needs of an L1 beyond the public header.
#ifndef GLINT_CACHE_L1_H
#define GLINT_CACHE_L1_H

#include "groups.h"
#include "item.h"

// Like cache_l1_run; counts also for groups of lines, unless `groups` is NULL.
void cache_l1_run_items(struct cache_l1 *l1, struct cache_item *items, size_t count,
                        struct cache_l1_counts *counts, struct cache_count *groups);

#endif
