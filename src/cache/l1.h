// SPDX-License-Identifier: Apache-2.0
// What a launch needs of an L1 beyond the public header.
#ifndef GLINT_CACHE_L1_H
#define GLINT_CACHE_L1_H

#include "tally.h"

// Runs items, each of which has sectors, and leaves in them those that go to L2. Returns the
// outcome of each.
void cache_l1_run_items(struct cache_l1 *l1, struct cache_item *items, size_t count,
                        uint8_t *outcomes);

#endif
