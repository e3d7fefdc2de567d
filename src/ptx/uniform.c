// SPDX-License-Identifier: Apache-2.0
// Uniformity as a fixed point over values: dependences only grow, so iteration ends. Data flows
// along definitions; control flows into phis (which way was taken), into guarded definitions, and
// out of loops (how often they ran).
#include "uniform.h"

#include <string.h>

static uint16_t sreg_deps(enum ptx_sreg sreg, uint16_t select)
{
    unsigned component = select == PTX_MOD_X   ? 0
                         : select == PTX_MOD_Y ? 1
                         : select == PTX_MOD_Z ? 2
                                               : 3;
    static const uint16_t tid[] = {PTX_DEP_TID_X, PTX_DEP_TID_Y, PTX_DEP_TID_Z, PTX_DEP_TID};
    static const uint16_t ctaid[] = {PTX_DEP_CTAID_X, PTX_DEP_CTAID_Y, PTX_DEP_CTAID_Z,
                                     PTX_DEP_CTAID};
    switch ((enum ptx_sreg_dependence)ptx_sreg_info(sreg)->dependence) {
    case PTX_SREG_NONE: return 0;
    case PTX_SREG_TID: return tid[component];
    case PTX_SREG_LANE: return PTX_DEP_LANE;
    case PTX_SREG_WARP: return PTX_DEP_WARP;
    case PTX_SREG_CTAID: return ctaid[component];
    case PTX_SREG_MACHINE: return PTX_DEP_MACHINE;
    }
    return PTX_DEP_MACHINE;
}

// A value seen from another block: every loop that was left on the way adds what decided its end.
static uint16_t deps_at(const struct ptx_uniformity *uniformity, uint32_t value, uint32_t block)
{
    const struct ptx_cfg *cfg = uniformity->ssa->cfg;
    uint16_t deps = uniformity->deps[value];
    uint32_t loop = cfg->blocks[uniformity->ssa->values[value].block].loop;
    for (; loop != PTX_NO_LOOP; loop = cfg->loops[loop].parent) {
        if (!ptx_loop_contains(cfg, loop, block))
            deps |= uniformity->exit_deps[loop];
    }
    return deps;
}

uint16_t ptx_operand_deps(const struct ptx_uniformity *uniformity, const struct ptx_instr *instr,
                          const struct ptx_operand *operand)
{
    const struct ptx_ssa *ssa = uniformity->ssa;
    uint16_t deps = 0;
    switch ((enum ptx_operand_kind)operand->kind) {
    case PTX_OPERAND_REG: {
        uint32_t value = ptx_ssa_value(ssa, instr, operand);
        return value == PTX_NO_VALUE ? 0
                                     : deps_at(uniformity, value, ssa->cfg->block_of[instr->index]);
    }
    case PTX_OPERAND_SREG: return sreg_deps(operand->sreg, operand->select);
    case PTX_OPERAND_NAME: return PTX_DEP_MACHINE;
    case PTX_OPERAND_ADDRESS:
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_LIST:
    case PTX_OPERAND_PAIR:
        for (uint16_t i = 0; i < operand->count; i++)
            deps |= ptx_operand_deps(uniformity, instr, &operand->elements[i]);
        return deps;
    default: return 0;
    }
}

// Joins what the instruction reads, its guard included.
static uint16_t input_deps(const struct ptx_uniformity *uniformity, const struct ptx_instr *instr)
{
    const struct ptx_ssa *ssa = uniformity->ssa;
    uint16_t deps = 0;
    for (uint8_t i = 0; i < instr->operand_count; i++) {
        if (ptx_operand_role(instr, i) != PTX_ROLE_DEF)
            deps |= ptx_operand_deps(uniformity, instr, &instr->operands[i]);
    }
    if (instr->guard) {
        uint32_t guard = ptx_ssa_value(ssa, instr, NULL);
        if (guard != PTX_NO_VALUE)
            deps |= deps_at(uniformity, guard, ssa->cfg->block_of[instr->index]);
    }
    return deps;
}

static uint16_t load_deps(const struct ptx_uniformity *uniformity, const struct ptx_instr *instr)
{
    const struct ptx_operand *address = &instr->operands[1];
    switch ((enum ptx_space)instr->form->space) {
    case PTX_SPACE_CONST: return 0;
    case PTX_SPACE_PARAM: {
        // A kernel's parameters are the same everywhere; a device function's come from its caller,
        // and so do the results of calls, which are read from local parameters.
        const struct ptx_operand *base = address->count ? &address->elements[0] : address;
        bool own = base->kind != PTX_OPERAND_VAR || base->var->is_param;
        return uniformity->ssa->cfg->function->is_entry && own ? 0 : PTX_DEP_CALLER;
    }
    case PTX_SPACE_SHARED: return PTX_DEP_MEMORY | PTX_DEP_BLOCK;
    case PTX_SPACE_LOCAL: return PTX_DEP_MEMORY | PTX_DEP_THREAD | PTX_DEP_BLOCK;
    case PTX_SPACE_GLOBAL: return PTX_DEP_MEMORY;
    default: return PTX_DEP_MEMORY | PTX_DEP_THREAD | PTX_DEP_BLOCK; // generic: may be any of them
    }
}

static uint16_t def_deps(const struct ptx_uniformity *uniformity, const struct ptx_value *value)
{
    const struct ptx_instr *instr = value->instr;
    uint16_t deps = input_deps(uniformity, instr);
    if (value->previous != PTX_NO_VALUE)
        deps |= deps_at(uniformity, value->previous, value->block);
    switch (ptx_op(instr)) {
    case PTX_OP_LD:
    case PTX_OP_LDU: return deps | load_deps(uniformity, instr);
    case PTX_OP_TEX:
    case PTX_OP_TLD4:
    case PTX_OP_SULD: return deps | PTX_DEP_MEMORY;
    case PTX_OP_SHFL:
    case PTX_OP_MOVMATRIX:
    case PTX_OP_ELECT: return deps | PTX_DEP_LANE;
    case PTX_OP_MATCH:
        return (deps & PTX_DEP_ANY_THREAD) ? deps | PTX_DEP_LANE : deps | PTX_DEP_WARP;
    case PTX_OP_VOTE:
    case PTX_OP_REDUX:
        // One result for the warp, whatever its lanes put in.
        return (deps & ~(PTX_DEP_TID | PTX_DEP_LANE | PTX_DEP_THREAD)) | PTX_DEP_WARP;
    case PTX_OP_ACTIVEMASK: return PTX_DEP_WARP | PTX_DEP_MACHINE;
    case PTX_OP_BAR_RED:
    case PTX_OP_BAR_CTA_RED:
    case PTX_OP_BARRIER_RED:
    case PTX_OP_BARRIER_CTA_RED:
        // One result for all threads that take part.
        return (deps & ~PTX_DEP_ANY_THREAD) | ((deps & PTX_DEP_ANY_THREAD) ? PTX_DEP_BLOCK : 0);
    case PTX_OP_WMMA_LOAD:
    case PTX_OP_WMMA_MMA:
    case PTX_OP_MMA:
    case PTX_OP_LDMATRIX: return deps | PTX_DEP_LANE | PTX_DEP_MEMORY;
    case PTX_OP_CALL: return deps | PTX_DEP_CALLER | PTX_DEP_MEMORY;
    case PTX_OP_UNKNOWN: return deps | PTX_DEP_MACHINE | PTX_DEP_MEMORY;
    default: break;
    }
    uint16_t flags = ptx_flags(instr);
    if (flags & PTX_FLAG_ATOMIC)
        deps |= PTX_DEP_MEMORY | PTX_DEP_THREAD | PTX_DEP_BLOCK;
    else if (flags & (PTX_FLAG_LOAD | PTX_FLAG_STORE))
        deps |= PTX_DEP_MEMORY | PTX_DEP_THREAD;
    return deps;
}

// What decides which way a block is left; 0 where there is only one.
static uint16_t branch_deps(const struct ptx_uniformity *uniformity, uint32_t block)
{
    const struct ptx_block *at = &uniformity->ssa->cfg->blocks[block];
    if (!at->instr_count || at->succ_count + at->ends < 2)
        return 0;
    return input_deps(uniformity, at->instrs[at->instr_count - 1]);
}

// All ways from the block lead through some other block before they lead through the join: its
// branch cannot choose the way into the join.
static bool rejoins_before(const struct ptx_cfg *cfg, uint32_t block, uint32_t join)
{
    uint32_t after = cfg->blocks[block].ipdom;
    return after != PTX_NO_BLOCK && after != join && ptx_postdominates(cfg, join, after);
}

struct walk {
    uint32_t *stack;
    uint32_t *mark;
    uint32_t stamp;
};

// Joins what the branches between `stop` and the join depend on, walking back from one way in.
static uint16_t ways_deps(const struct ptx_uniformity *uniformity, uint32_t join, uint32_t from,
                          uint32_t stop, struct walk *walk)
{
    const struct ptx_cfg *cfg = uniformity->ssa->cfg;
    uint16_t deps = 0;
    uint32_t depth = 0;
    if (walk->mark[from] == walk->stamp)
        return 0;
    walk->mark[from] = walk->stamp;
    walk->stack[depth++] = from;
    while (depth) {
        uint32_t at = walk->stack[--depth];
        if (!rejoins_before(cfg, at, join))
            deps |= branch_deps(uniformity, at);
        if (at == stop)
            continue;
        const struct ptx_block *block = &cfg->blocks[at];
        for (uint32_t i = 0; i < block->pred_count; i++) {
            uint32_t pred = block->preds[i];
            if (walk->mark[pred] != walk->stamp && cfg->blocks[pred].order != PTX_NO_BLOCK) {
                walk->mark[pred] = walk->stamp;
                walk->stack[depth++] = pred;
            }
        }
    }
    return deps;
}

// Which way control came to a join: the branches between its immediate dominator and itself. At a
// loop's header the choice between entering and going round is a matter of time, not of threads;
// only a choice among several latches, or among several entries, counts.
static uint16_t join_deps(const struct ptx_uniformity *uniformity, uint32_t join, struct walk *walk)
{
    const struct ptx_cfg *cfg = uniformity->ssa->cfg;
    const struct ptx_block *block = &cfg->blocks[join];
    uint32_t loop = block->loop;
    bool header = loop != PTX_NO_LOOP && cfg->loops[loop].header == join;
    uint32_t latches = header ? cfg->loops[loop].latch_count : 0;
    uint16_t deps = 0;
    walk->stamp++;
    for (uint32_t i = 0; i < block->pred_count; i++) {
        uint32_t pred = block->preds[i];
        if (cfg->blocks[pred].order == PTX_NO_BLOCK)
            continue;
        bool back = header && ptx_loop_contains(cfg, loop, pred);
        if (back ? latches > 1 : block->pred_count - latches > 1)
            deps |= ways_deps(uniformity, join, pred, back ? join : block->idom, walk);
    }
    return deps;
}

uint16_t ptx_block_deps(const struct ptx_uniformity *uniformity, uint32_t block)
{
    const struct ptx_cfg *cfg = uniformity->ssa->cfg;
    uint16_t deps = 0;
    for (uint32_t at = cfg->blocks[block].idom, below = block; at != PTX_NO_BLOCK;
         below = at, at = cfg->blocks[at].idom) {
        if (!ptx_postdominates(cfg, below, at))
            deps |= branch_deps(uniformity, at);
    }
    return deps;
}

static uint16_t value_deps(const struct ptx_uniformity *uniformity, const struct ptx_value *value,
                           const uint16_t *joins)
{
    const struct ptx_ssa *ssa = uniformity->ssa;
    uint16_t deps = 0;
    switch ((enum ptx_value_kind)value->kind) {
    case PTX_VALUE_ENTRY: return ssa->cfg->function->is_entry ? 0 : PTX_DEP_CALLER;
    case PTX_VALUE_DEF: return def_deps(uniformity, value);
    case PTX_VALUE_PHI: break;
    }
    const struct ptx_block *block = &ssa->cfg->blocks[value->block];
    bool same = true;
    for (uint32_t i = 0; i < block->pred_count; i++) {
        if (value->arguments[i] == PTX_NO_VALUE)
            continue;
        deps |= deps_at(uniformity, value->arguments[i], value->block);
        same &= value->arguments[i] == value->arguments[0];
    }
    return same ? deps : deps | joins[value->block];
}

struct ptx_uniformity *ptx_uniformity_build(const struct ptx_ssa *ssa, struct base_arena *arena)
{
    struct ptx_uniformity *uniformity = base_new(arena, struct ptx_uniformity);
    const struct ptx_cfg *cfg = ssa->cfg;
    uniformity->ssa = ssa;
    uniformity->deps = base_new_array(arena, uint16_t, ssa->value_count);
    uniformity->exit_deps = base_new_array(arena, uint16_t, cfg->loop_count);
    struct walk walk = {.stack = base_new_array(arena, uint32_t, cfg->block_count),
                        .mark = base_new_array(arena, uint32_t, cfg->block_count)};
    uint16_t *joins = base_new_array(arena, uint16_t, cfg->block_count);
    // Values are made in dominator-tree order, so that few passes are needed.
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < cfg->order_count; i++) {
            uint32_t block = cfg->order[i];
            if (!ssa->phis[block])
                continue;
            uint16_t deps = joins[block] | join_deps(uniformity, block, &walk);
            changed |= deps != joins[block];
            joins[block] = deps;
        }
        for (uint32_t i = 0; i < ssa->value_count; i++) {
            uint16_t deps = uniformity->deps[i] | value_deps(uniformity, &ssa->values[i], joins);
            changed |= deps != uniformity->deps[i];
            uniformity->deps[i] = deps;
        }
        for (uint32_t i = 0; i < cfg->loop_count; i++) {
            uint16_t deps = uniformity->exit_deps[i];
            for (uint32_t k = 0; k < cfg->loops[i].exit_count; k++)
                deps |= branch_deps(uniformity, cfg->loops[i].exits[k].from);
            changed |= deps != uniformity->exit_deps[i];
            uniformity->exit_deps[i] = deps;
        }
    }
    return uniformity;
}
