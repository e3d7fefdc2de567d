// SPDX-License-Identifier: Apache-2.0
// Computes trip counts of loops whose exit compares a counter with a constant step to a value that
// does not change in the loop.
#include <string.h>

#include "forms.h"

enum relation { LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, NOT_EQUAL, NO_RELATION };

static enum relation relation_of(uint16_t cmp)
{
    switch (cmp) {
    case PTX_MOD_LT:
    case PTX_MOD_LO: return LESS;
    case PTX_MOD_LE:
    case PTX_MOD_LS: return LESS_EQUAL;
    case PTX_MOD_GT:
    case PTX_MOD_HI: return GREATER;
    case PTX_MOD_GE:
    case PTX_MOD_HS: return GREATER_EQUAL;
    case PTX_MOD_NE: return NOT_EQUAL;
    default: return NO_RELATION;
    }
}

static enum relation opposite(enum relation relation)
{
    switch (relation) {
    case LESS: return GREATER_EQUAL;
    case LESS_EQUAL: return GREATER;
    case GREATER: return LESS_EQUAL;
    case GREATER_EQUAL: return LESS;
    default: return NO_RELATION;
    }
}

static enum relation mirrored(enum relation relation)
{
    switch (relation) {
    case LESS: return GREATER;
    case LESS_EQUAL: return GREATER_EQUAL;
    case GREATER: return LESS;
    case GREATER_EQUAL: return LESS_EQUAL;
    default: return relation;
    }
}

// Returns the comparison under which the loop continues, as (moving side) relation (fixed side).
static bool continue_test(struct ptx_affine *affine, uint32_t loop, const struct ptx_edge *exit,
                          struct ptx_linear *moving, struct ptx_linear *fixed,
                          enum relation *relation, enum ptx_type *type)
{
    const struct ptx_ssa *ssa = affine->ssa;
    const struct ptx_block *block = &ssa->cfg->blocks[exit->from];
    const struct ptx_instr *branch =
        block->instr_count ? block->instrs[block->instr_count - 1] : NULL;
    if (!branch || !branch->guard || ptx_op(branch) != PTX_OP_BRA || block->succ_count != 2)
        return false;
    uint32_t guard = ptx_ssa_value(ssa, branch, NULL);
    if (guard == PTX_NO_VALUE)
        return false;
    const struct ptx_value *value = &ssa->values[ptx_ssa_origin(ssa, guard)];
    if (value->kind != PTX_VALUE_DEF || value->previous != PTX_NO_VALUE ||
        ptx_op(value->instr) != PTX_OP_SETP || value->instr->operand_count != 3 ||
        value->operand != &value->instr->operands[0] ||
        ptx_type_info((enum ptx_type)value->instr->form->types[0])->kind == PTX_CLASS_FLOAT)
        return false;
    bool taken_leaves = block->succs[0] == exit->to;
    bool leave_when_true = taken_leaves != branch->guard_negated;
    *relation = relation_of(value->instr->form->cmp);
    if (value->instr->form->cmp == PTX_MOD_EQ && leave_when_true)
        *relation = NOT_EQUAL;
    else if (leave_when_true || value->instr->form->cmp == PTX_MOD_EQ)
        *relation = opposite(*relation);
    struct ptx_linear a = ptx_operand_form(affine, value->instr, &value->instr->operands[1]);
    struct ptx_linear b = ptx_operand_form(affine, value->instr, &value->instr->operands[2]);
    *type = (enum ptx_type)value->instr->form->types[0];
    if (a.term_count == 0)
        a.constant = ptx_constant_as(a.constant, *type);
    if (b.term_count == 0)
        b.constant = ptx_constant_as(b.constant, *type);
    if (ptx_form_invariant(affine, &a, loop)) {
        struct ptx_linear other = a;
        a = b;
        b = other;
        *relation = mirrored(*relation);
    }
    *moving = a;
    *fixed = b;
    return *relation != NO_RELATION && ptx_form_invariant(affine, &b, loop);
}

static void find_trip(struct ptx_affine *affine, uint32_t index, const struct ptx_edge *exit)
{
    const struct ptx_cfg *cfg = affine->ssa->cfg;
    const struct ptx_loop *loop = &cfg->loops[index];
    struct ptx_trip trip = {.exact = loop->exit_count == 1};
    struct ptx_linear moving, fixed, start;
    enum relation relation;
    enum ptx_type type;
    // The test must be executed once in every iteration.
    if (!ptx_dominates(cfg, exit->from, loop->last_common) ||
        cfg->blocks[exit->from].loop != index ||
        !continue_test(affine, index, exit, &moving, &fixed, &relation, &type))
        return;
    bool alone, fits;
    int64_t step = ptx_form_coefficient(affine, &moving, PTX_SYMBOL_COUNTER, index, &alone);
    if (!alone || step == 0 || step == INT64_MIN)
        return;
    // The value of the moving side in iteration 0, and whether nothing else in it changes.
    start = moving;
    start.terms = base_new_array(affine->arena, struct ptx_term, moving.term_count);
    start.term_count = 0;
    for (uint16_t i = 0; i < moving.term_count; i++) {
        const struct ptx_symbol *symbol = &affine->symbols[moving.terms[i].symbols[0]];
        if (moving.terms[i].symbol_count != 1 || symbol->kind != PTX_SYMBOL_COUNTER ||
            symbol->index != index)
            start.terms[start.term_count++] = moving.terms[i];
    }
    if (!ptx_form_invariant(affine, &start, index))
        return;
    if (start.term_count == 0)
        start.constant = ptx_constant_as(start.constant, type);
    bool up = relation == LESS || relation == LESS_EQUAL || (relation == NOT_EQUAL && step > 0);
    if (up != (step > 0))
        return;
    trip.numerator = up ? ptx_form_subtract(affine, &fixed, &start, &fits)
                        : ptx_form_subtract(affine, &start, &fixed, &fits);
    trip.step = up ? step : -step;
    trip.inclusive = relation == LESS_EQUAL || relation == GREATER_EQUAL;
    trip.known = fits;
    if (fits && trip.numerator.term_count == 0) {
        int64_t room = trip.numerator.constant;
        if (relation == NOT_EQUAL && (room < 0 || room % trip.step))
            return; // it would only end after the counter wraps around
        trip.is_constant = true;
        if (room < 0 || (room == 0 && !trip.inclusive))
            trip.constant = 1;
        else
            trip.constant = (trip.inclusive ? (uint64_t)(room / trip.step) + 1
                                            : ((uint64_t)room + (uint64_t)trip.step - 1) /
                                                  (uint64_t)trip.step) +
                            1;
    }
    for (uint32_t i = 0; trip.exact && i < loop->block_count; i++)
        trip.exact = !cfg->blocks[loop->blocks[i]].ends;
    affine->trips[index] = trip;
}

void ptx_affine_find_trips(struct ptx_affine *affine)
{
    const struct ptx_cfg *cfg = affine->ssa->cfg;
    for (uint32_t i = 0; i < cfg->loop_count; i++) {
        for (uint32_t k = 0; k < cfg->loops[i].exit_count && !affine->trips[i].known; k++)
            find_trip(affine, i, &cfg->loops[i].exits[k]);
    }
}
