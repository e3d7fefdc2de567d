// SPDX-License-Identifier: Apache-2.0
// Values: finds what may change memory between the load of an old value and the store, or show that
// other threads have changed it.
#include "quiet.h"

bool instrument_is_barrier(const struct ptx_instr *instr)
{
    switch (ptx_op(instr)) {
    case PTX_OP_BAR:
    case PTX_OP_BAR_SYNC:
    case PTX_OP_BAR_ARRIVE:
    case PTX_OP_BAR_RED:
    case PTX_OP_BAR_CTA_SYNC:
    case PTX_OP_BAR_CTA_ARRIVE:
    case PTX_OP_BAR_CTA_RED:
    case PTX_OP_BARRIER_SYNC:
    case PTX_OP_BARRIER_ARRIVE:
    case PTX_OP_BARRIER_RED:
    case PTX_OP_BARRIER_CTA_SYNC:
    case PTX_OP_BARRIER_CTA_ARRIVE:
    case PTX_OP_BARRIER_CTA_RED: return true;
    default: return false;
    }
}

bool instrument_may_change(const struct ptx_instr *instr)
{
    const uint32_t flags = ptx_flags(instr);
    if (flags & (PTX_FLAG_ATOMIC | PTX_FLAG_ASYNC | PTX_FLAG_CALL | PTX_FLAG_SYNC |
                 PTX_FLAG_EFFECT | PTX_FLAG_TEXTURE))
        return true;
    if (!(flags & (PTX_FLAG_LOAD | PTX_FLAG_STORE)))
        return false;
    return (instr->form->sem && instr->form->sem != PTX_MOD_WEAK) ||
           ptx_form_has(instr->form, PTX_MOD_MMIO) ||
           (ptx_op(instr) != PTX_OP_LD && ptx_op(instr) != PTX_OP_LDU &&
            ptx_op(instr) != PTX_OP_ST);
}

// Sites ascend.
const struct instrument_probe *instrument_store_at(const struct instrument_body *body,
                                                   const struct ptx_instr *instr)
{
    for (uint32_t low = 0, high = body->probe_count; low < high;) {
        const uint32_t middle = low + (high - low) / 2;
        const struct instrument_probe *probe = &body->probes[middle];
        if (probe->site->instr == instr)
            return probe->how == HOW_NOT ? NULL : probe;
        if (probe->site->instr->index < instr->index)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool has_barrier(const struct ptx_block *block)
{
    for (uint32_t i = 0; i < block->instr_count; i++) {
        if (instrument_is_barrier(block->instrs[i]))
            return true;
    }
    return false;
}

// Returns whether the instruction writes memory, or may show that other threads have.
static bool is_noisy(const struct instrument_body *body, const struct ptx_instr *instr)
{
    return (instrument_may_change(instr) && !instrument_is_barrier(instr)) ||
           (ptx_flags(instr) & PTX_FLAG_STORE && instrument_store_at(body, instr));
}

// No path may lead from such an instruction to a barrier. All barriers count, because threads may
// meet at different ones.
bool instrument_is_quiet(struct instrument_work *work, const struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    bool *seen = base_new_array(&work->scratch, bool, cfg->block_count + 1); // or to be seen
    uint32_t *stack = base_new_array(&work->scratch, uint32_t, 2 * (size_t)cfg->block_count + 1);
    uint32_t depth = 0;
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        bool noisy = false;
        for (uint32_t k = 0; k < cfg->blocks[i].instr_count; k++) {
            if (noisy && instrument_is_barrier(cfg->blocks[i].instrs[k]))
                return false;
            noisy |= is_noisy(body, cfg->blocks[i].instrs[k]);
        }
        if (noisy)
            stack[depth++] = i;
    }
    while (depth) {
        const struct ptx_block *at = &cfg->blocks[stack[--depth]];
        for (uint32_t i = 0; i < at->succ_count; i++) {
            if (seen[at->succs[i]])
                continue;
            if (has_barrier(&cfg->blocks[at->succs[i]]))
                return false;
            seen[at->succs[i]] = true;
            stack[depth++] = at->succs[i];
        }
    }
    return true;
}
