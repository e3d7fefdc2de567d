// SPDX-License-Identifier: Apache-2.0
// Finds the values that depend on a value: results of instructions that use it, phis, and
// definitions that keep it if their guard is false.
#include "flow.h"

#include <string.h>

void ptx_flow_init(struct ptx_flow *flow, const struct ptx_ssa *ssa, struct base_arena *arena)
{
    flow->ssa = ssa;
    ptx_worklist_init(&flow->work, ssa->value_count, arena);
    flow->kept_first = base_new_array(arena, uint32_t, ssa->value_count);
    flow->kept_next = base_new_array(arena, uint32_t, ssa->value_count);
    memset(flow->kept_first, 0xFF, ssa->value_count * sizeof(*flow->kept_first));
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        const uint32_t kept = ssa->values[i].previous;
        ptx_worklist_add(&flow->work, i);
        if (kept == PTX_NO_VALUE)
            continue;
        flow->kept_next[i] = flow->kept_first[kept];
        flow->kept_first[kept] = i;
    }
}

void ptx_flow_changed(struct ptx_flow *flow, uint32_t value)
{
    const struct ptx_ssa *ssa = flow->ssa;
    for (uint32_t i = 0; i < ssa->values[value].use_count; i++) {
        const struct ptx_use *use = &ssa->values[value].uses[i];
        if (!use->instr) {
            ptx_worklist_add(&flow->work, use->phi);
            continue;
        }
        uint32_t end = ssa->ref_start[use->instr->index + 1];
        for (uint32_t k = ssa->ref_start[use->instr->index]; k < end; k++) {
            if (ssa->refs[k].is_def)
                ptx_worklist_add(&flow->work, ssa->refs[k].value);
        }
    }
    for (uint32_t i = flow->kept_first[value]; i != PTX_NO_VALUE; i = flow->kept_next[i])
        ptx_worklist_add(&flow->work, i);
}
