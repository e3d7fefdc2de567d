// SPDX-License-Identifier: Apache-2.0
// Finds what the register of an address holds where its loop is left. Mostly it changes once per
// round or not at all, and then shows the address of the last access, so that the loop need not
// keep it.
#include "left.h"

bool instrument_find_only(const struct instrument_body *body, uint32_t loop,
                          const struct ptx_reg *reg, uint32_t *value)
{
    const struct ptx_ssa *ssa = body->facts->ssa;
    const struct ptx_cfg *cfg = body->facts->cfg;
    *value = PTX_NO_VALUE;
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        const struct ptx_value *each = &ssa->values[i];
        if (each->kind != PTX_VALUE_DEF || each->reg != reg ||
            !ptx_loop_contains(cfg, loop, each->block))
            continue;
        if (*value != PTX_NO_VALUE || each->previous != PTX_NO_VALUE || each->instr->guard)
            return false;
        *value = i;
    }
    return true;
}

// Returns whether the definition adds a constant to the value, in 64 bits.
static bool adds(const struct instrument_body *body, const struct ptx_value *definition,
                 uint32_t value, int64_t *constant)
{
    const struct ptx_instr *instr = definition->instr;
    const struct ptx_operand *by = &instr->operands[2];
    if (ptx_op(instr) != PTX_OP_ADD || instr->operand_count != 3 ||
        ptx_type_info((enum ptx_type)instr->form->types[0])->bits != 64 ||
        by->kind != PTX_OPERAND_INT ||
        ptx_ssa_value(body->facts->ssa, instr, &instr->operands[1]) != value)
        return false;
    *constant = (int64_t)by->bits;
    return true;
}

bool instrument_find_left(const struct instrument_body *body, const struct ptx_site *site,
                          uint32_t value, int64_t *distance)
{
    const struct ptx_ssa *ssa = body->facts->ssa;
    const struct ptx_cfg *cfg = body->facts->cfg;
    const struct ptx_loop *loop = &cfg->loops[site->loop];
    const struct ptx_reg *reg = site->address->elements[0].reg;
    uint32_t set;
    int64_t constant = 0;
    *distance = 0;
    if (reg->scope->depth || !instrument_find_only(body, site->loop, reg, &set))
        return false;
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        if (cfg->blocks[i].ends && ptx_loop_contains(cfg, site->loop, i))
            return false;
    }
    if (set == PTX_NO_VALUE) // it does not change in the loop
        return ssa->values[value].kind != PTX_VALUE_ENTRY && ssa->values[value].reg == reg &&
               !ptx_loop_contains(cfg, site->loop, ssa->values[value].block);
    const uint32_t setting = ssa->values[set].block;
    if (!ptx_dominates(cfg, setting, loop->last_common))
        return false;
    const bool before = value == set; // it is set before the access
    if (!before &&
        (ssa->values[value].kind != PTX_VALUE_PHI || ssa->values[value].block != loop->header ||
         ssa->values[value].reg != reg || !adds(body, &ssa->values[set], value, &constant)))
        return false;
    for (uint32_t i = 0; i < loop->exit_count; i++) {
        const uint32_t from = loop->exits[i].from;
        const bool is_set = ptx_dominates(cfg, setting, from);
        const bool accessed = ptx_dominates(cfg, site->block, from);
        // What this round has not reached still holds from the round before.
        if ((!is_set && !ptx_dominates(cfg, from, setting)) ||
            (!accessed && !ptx_dominates(cfg, from, site->block)) ||
            (before ? is_set != accessed : is_set && !accessed))
            return false;
        const int64_t moved = before || (accessed && !is_set) ? 0 : constant;
        if (i && moved != *distance)
            return false;
        *distance = moved;
    }
    return true;
}
