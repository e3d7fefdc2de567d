// SPDX-License-Identifier: Apache-2.0
// What tests see of a launch beyond the public header.
#ifndef GLINT_CACHE_LAUNCH_H
#define GLINT_CACHE_LAUNCH_H

#include "cache.h"

// Like cache_launch_run. `steps` increases by the work done: how many records, blocks, numbers to
// be sorted, and places of heaps were looked at, each as often as it was.
bool cache_launch_run_counted(struct cache_l2 *l2, const struct cache_launch *launch,
                              const struct cache_order *order, unsigned threads,
                              struct cache_result *results, const struct cache_launch_reuse *reuse,
                              uint64_t *steps);

#endif
