// SPDX-License-Identifier: Apache-2.0
// Fixed points over the values of a function: an analysis takes a value, computes what is known of
// it, and if that changed, the values that directly depend on it are processed again. Internal to
// src/ptx.
#ifndef GLINT_PTX_FLOW_H
#define GLINT_PTX_FLOW_H

#include "ssa.h"
#include "worklist.h"

struct ptx_flow {
    const struct ptx_ssa *ssa;
    struct ptx_worklist work;
    // Linked lists of the definitions that keep a value if their guard is false.
    uint32_t *kept_first, *kept_next;
};

// Begins with all values. Jumps to arena->escape if memory runs out.
void ptx_flow_init(struct ptx_flow *flow, const struct ptx_ssa *ssa, struct base_arena *arena);

// Sets *value to the next one to be processed. Returns false if there is none.
static inline bool ptx_flow_take(struct ptx_flow *flow, uint32_t *value)
{
    return ptx_worklist_take(&flow->work, value);
}

// Adds the values that directly depend on this one.
void ptx_flow_changed(struct ptx_flow *flow, uint32_t value);

#endif
