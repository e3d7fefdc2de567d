// SPDX-License-Identifier: Apache-2.0
// What launches of a kernel have in common, as far as requests of their warps follow from it. It is
// found once for launches in a row that have the same.
#ifndef GLINT_INJECT_SHADOW_SHAPES_H
#define GLINT_INJECT_SHADOW_SHAPES_H

#include "model.h"

struct shadow_shape {
    uint32_t holders; // shadow->lock protects it
    uint32_t block[3];
    bool whole[2]; // as instrument_whole_costs says
    bool regular;  // as instrument_is_regular says
    struct instrument_cost *costs;
    struct instrument_site_place places[];
};

// Returns what a launch has, held; NULL: it has no requests, or memory ran out.
struct shadow_shape *shadow_shape_take(struct shadow *shadow, const struct shadow_launch *launch,
                                       const struct instrument_launch *says);
// Caller holds shadow->lock. NULL: does nothing.
void shadow_shape_drop(struct shadow_shape *shape);

#endif
