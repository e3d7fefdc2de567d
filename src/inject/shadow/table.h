// SPDX-License-Identifier: Apache-2.0
// Tables of objects, as probes look them up on the GPU.
#ifndef GLINT_INJECT_SHADOW_TABLE_H
#define GLINT_INJECT_SHADOW_TABLE_H

#include "model.h"

// Returns the current table, which the caller then holds; NULL: no room. Needs shadow->lock.
struct shadow_table *shadow_table_hold(struct shadow *shadow);
void shadow_table_drop(struct shadow *shadow, struct shadow_table *table);
// Returns where the piece's elements lie between its base and its end.
struct instrument_slot shadow_slot(const struct core_objects_piece *piece, uint32_t shift);

#endif
