// SPDX-License-Identifier: Apache-2.0
// Uniformity as a fixed point over values: dependences only grow, so iteration ends. Data flows
// along definitions; control flows into phis (which way was taken), into guarded definitions, and
// out of loops (how often they ran).
#include "uniform.h"

#include <string.h>

#include "control.h"

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
uint16_t ptx_value_deps(const struct ptx_uniformity *uniformity, uint32_t value, uint32_t block)
{
    const struct ptx_cfg *cfg = uniformity->ssa->cfg;
    uint16_t deps = uniformity->deps[value];
    uint32_t loop = cfg->blocks[uniformity->ssa->values[value].block].loop;
    for (; loop != PTX_NO_LOOP; loop = cfg->loops[loop].parent) {
        if (!ptx_loop_contains(cfg, loop, block))
            deps |= uniformity->leave_deps[loop];
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
        return value == PTX_NO_VALUE
                   ? 0
                   : ptx_value_deps(uniformity, value, ssa->cfg->block_of[instr->index]);
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

// Joins what the instruction reads, its guard excluded.
static uint16_t input_deps(const struct ptx_uniformity *uniformity, const struct ptx_instr *instr)
{
    uint16_t deps = 0;
    for (uint8_t i = 0; i < instr->operand_count; i++) {
        if (ptx_operand_role(instr, i) != PTX_ROLE_DEF)
            deps |= ptx_operand_deps(uniformity, instr, &instr->operands[i]);
    }
    return deps;
}

static uint16_t guard_deps(const struct ptx_uniformity *uniformity, const struct ptx_instr *instr)
{
    const struct ptx_ssa *ssa = uniformity->ssa;
    uint32_t guard = instr->guard ? ptx_ssa_value(ssa, instr, NULL) : PTX_NO_VALUE;
    return guard == PTX_NO_VALUE
               ? 0
               : ptx_value_deps(uniformity, guard, ssa->cfg->block_of[instr->index]);
}

// A strong load takes part in a race: threads that read one address may find different values.
static bool is_strong(const struct ptx_instr *instr)
{
    uint16_t sem = instr->form->sem;
    return sem == PTX_MOD_VOLATILE || sem == PTX_MOD_RELAXED || sem == PTX_MOD_ACQUIRE;
}

static uint16_t load_deps(const struct ptx_uniformity *uniformity, const struct ptx_instr *instr)
{
    uint16_t race = is_strong(instr) ? PTX_DEP_THREAD : 0;
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
    case PTX_SPACE_SHARED: return PTX_DEP_MEMORY | PTX_DEP_BLOCK | race;
    case PTX_SPACE_LOCAL: return PTX_DEP_MEMORY | PTX_DEP_THREAD | PTX_DEP_BLOCK;
    case PTX_SPACE_GLOBAL: return PTX_DEP_MEMORY | race;
    default: return PTX_DEP_MEMORY | PTX_DEP_THREAD | PTX_DEP_BLOCK; // generic: may be any of them
    }
}

// What a vote or reduction of a warp gives: one result for its lanes, whatever they put in, unless
// they take part in different groups.
static uint16_t vote_deps(const struct ptx_uniformity *uniformity, const struct ptx_instr *instr)
{
    uint16_t put_in = ptx_operand_deps(uniformity, instr, &instr->operands[1]);
    uint16_t deps = (put_in & ~(PTX_DEP_TID | PTX_DEP_LANE | PTX_DEP_THREAD)) | PTX_DEP_WARP;
    for (uint8_t i = 2; i < instr->operand_count; i++)
        deps |= ptx_operand_deps(uniformity, instr, &instr->operands[i]);
    return deps;
}

// What an instruction computes, in the threads that execute it.
static uint16_t result_deps(const struct ptx_uniformity *uniformity, const struct ptx_instr *instr)
{
    uint16_t deps = input_deps(uniformity, instr);
    switch (ptx_op(instr)) {
    case PTX_OP_LD:
    case PTX_OP_LDU: return deps | load_deps(uniformity, instr);
    case PTX_OP_TEX:
    case PTX_OP_TLD4:
    case PTX_OP_SULD: return deps | PTX_DEP_MEMORY;
    case PTX_OP_SHFL:
    case PTX_OP_MOVMATRIX:
    case PTX_OP_ELECT: return deps | PTX_DEP_LANE;
    case PTX_OP_MATCH: return deps | (deps & PTX_DEP_ANY_THREAD ? PTX_DEP_LANE : PTX_DEP_WARP);
    case PTX_OP_VOTE:
    case PTX_OP_REDUX: return vote_deps(uniformity, instr);
    case PTX_OP_ACTIVEMASK: return PTX_DEP_WARP | PTX_DEP_MACHINE;
    case PTX_OP_BAR_RED:
    case PTX_OP_BAR_CTA_RED:
    case PTX_OP_BARRIER_RED:
    case PTX_OP_BARRIER_CTA_RED:
        // One result for all threads that take part.
        return (deps & ~PTX_DEP_ANY_THREAD) | (deps & PTX_DEP_ANY_THREAD ? PTX_DEP_BLOCK : 0);
    case PTX_OP_WMMA_LOAD:
    case PTX_OP_WMMA_MMA:
    case PTX_OP_MMA:
    case PTX_OP_LDMATRIX: return deps | PTX_DEP_LANE | PTX_DEP_MEMORY;
    case PTX_OP_WGMMA_MMA_ASYNC:
    case PTX_OP_TCGEN05_LD: return deps | PTX_DEP_LANE | PTX_DEP_WARP | PTX_DEP_MEMORY;
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

static uint16_t def_deps(const struct ptx_uniformity *uniformity, const struct ptx_value *value)
{
    uint16_t deps = result_deps(uniformity, value->instr) | guard_deps(uniformity, value->instr);
    if (value->previous != PTX_NO_VALUE)
        deps |= ptx_value_deps(uniformity, value->previous, value->block);
    return deps;
}

static uint16_t find_branch_deps(const struct ptx_uniformity *uniformity, uint32_t block)
{
    const struct ptx_block *at = &uniformity->ssa->cfg->blocks[block];
    if (!at->instr_count || at->succ_count + at->ends < 2)
        return 0;
    const struct ptx_instr *last = at->instrs[at->instr_count - 1];
    return input_deps(uniformity, last) | guard_deps(uniformity, last);
}

// For each loop the members whose branches decide, at first or at second hand, when it is left: the
// first leave_count of them for what follows, the others by ending the thread.
struct deciders {
    uint32_t *blocks, count, leave_count;
};

// A node of the control dependences that lies in the loop: a block, or the end of an inner loop's
// rounds.
static bool is_member(const struct ptx_cfg *cfg, uint32_t loop, uint32_t node)
{
    if (node < cfg->block_count)
        return ptx_loop_contains(cfg, loop, node);
    return node - cfg->block_count != loop &&
           ptx_loop_contains(cfg, loop, cfg->loops[node - cfg->block_count].header);
}

struct decider_search {
    const struct ptx_cfg *cfg;
    struct ptx_control *const *controls;
    uint32_t loop;
    uint32_t *mark;
};

static void add_decider(struct decider_search *search, struct deciders *found, uint32_t node)
{
    if (search->mark[node] == search->loop + 1)
        return;
    search->mark[node] = search->loop + 1;
    found->blocks[found->count++] = node;
}

// Adds what decides whether those from `first` on are reached.
static void close_deciders(struct decider_search *search, struct deciders *found, uint32_t first)
{
    for (uint32_t i = first; i < found->count; i++) {
        struct ptx_control *control = search->controls[found->blocks[i]];
        for (; control; control = control->next) {
            if (is_member(search->cfg, search->loop, control->branch))
                add_decider(search, found, control->branch);
        }
    }
}

static struct deciders *find_deciders(const struct ptx_cfg *cfg,
                                      struct ptx_control *const *controls, struct base_arena *arena)
{
    struct deciders *deciders = base_new_array(arena, struct deciders, cfg->loop_count);
    size_t nodes = (size_t)cfg->block_count + cfg->loop_count;
    struct decider_search search = {
        .cfg = cfg, .controls = controls, .mark = base_new_array(arena, uint32_t, nodes)};
    uint32_t *list = base_new_array(arena, uint32_t, nodes);
    for (uint32_t i = 0; i < cfg->loop_count; i++) {
        const struct ptx_loop *loop = &cfg->loops[i];
        struct deciders found = {.blocks = list};
        search.loop = i;
        for (uint32_t k = 0; k < loop->exit_count; k++)
            add_decider(&search, &found, loop->exits[k].from);
        close_deciders(&search, &found, 0);
        found.leave_count = found.count;
        for (uint32_t k = 0; k < loop->block_count; k++) {
            if (cfg->blocks[loop->blocks[k]].ends)
                add_decider(&search, &found, loop->blocks[k]);
        }
        close_deciders(&search, &found, found.leave_count);
        found.blocks = base_new_array(arena, uint32_t, found.count);
        memcpy(found.blocks, list, found.count * sizeof(*list));
        deciders[i] = found;
    }
    return deciders;
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
        if (uniformity->branch_deps[at] && !rejoins_before(cfg, at, join))
            deps |= uniformity->branch_deps[at];
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
    return uniformity->block_deps[block];
}

// Whether the ways into a phi's block that are a choice at all bring different values: at a header,
// those from outside among themselves, and those that come round among themselves.
static bool is_choice(const struct ptx_cfg *cfg, const struct ptx_value *phi)
{
    const struct ptx_block *block = &cfg->blocks[phi->block];
    bool header = block->loop != PTX_NO_LOOP && cfg->loops[block->loop].header == phi->block;
    uint32_t seen[2] = {PTX_NO_VALUE, PTX_NO_VALUE};
    for (uint32_t i = 0; i < block->pred_count; i++) {
        if (phi->arguments[i] == PTX_NO_VALUE)
            continue;
        uint32_t *first = &seen[header && ptx_loop_contains(cfg, block->loop, block->preds[i])];
        if (*first != PTX_NO_VALUE && *first != phi->arguments[i])
            return true;
        *first = phi->arguments[i];
    }
    return false;
}

static uint16_t value_deps(const struct ptx_uniformity *uniformity, const struct ptx_value *value,
                           const uint16_t *joins)
{
    const struct ptx_cfg *cfg = uniformity->ssa->cfg;
    uint16_t deps = 0;
    switch ((enum ptx_value_kind)value->kind) {
    case PTX_VALUE_ENTRY: return cfg->function->is_entry ? 0 : PTX_DEP_CALLER;
    case PTX_VALUE_DEF: return def_deps(uniformity, value);
    case PTX_VALUE_PHI: break;
    }
    for (uint32_t i = 0; i < cfg->blocks[value->block].pred_count; i++) {
        if (value->arguments[i] != PTX_NO_VALUE)
            deps |= ptx_value_deps(uniformity, value->arguments[i], value->block);
    }
    return joins[value->block] && is_choice(cfg, value) ? deps | joins[value->block] : deps;
}

static bool grow(uint16_t *deps, uint16_t more)
{
    bool changed = (*deps | more) != *deps;
    *deps |= more;
    return changed;
}

static bool update_node(struct ptx_uniformity *uniformity, uint32_t node,
                        const struct ptx_control *control)
{
    bool changed = false;
    for (; control; control = control->next)
        changed |= grow(&uniformity->block_deps[node], uniformity->branch_deps[control->branch] |
                                                           uniformity->block_deps[control->branch]);
    return changed;
}

// What the branches of the function depend on, and what follows from that for its blocks and loops.
static bool update_branches(struct ptx_uniformity *uniformity, struct ptx_control *const *controls,
                            const struct deciders *deciders, const bool *tangles)
{
    const struct ptx_cfg *cfg = uniformity->ssa->cfg;
    bool changed = false;
    uint16_t tangled = 0;
    for (uint32_t i = 0; tangles && i < cfg->block_count; i++)
        tangled |= tangles[i] ? uniformity->branch_deps[i] : 0;
    for (uint32_t i = 0; i < cfg->order_count; i++) {
        uint32_t block = cfg->order[i];
        changed |= grow(&uniformity->branch_deps[block], find_branch_deps(uniformity, block));
        changed |= update_node(uniformity, block, controls[block]);
        changed |= tangles && tangles[block] && grow(&uniformity->block_deps[block], tangled);
        for (uint32_t loop = cfg->blocks[block].loop; loop != PTX_NO_LOOP;
             loop = cfg->loops[loop].parent)
            changed |= grow(&uniformity->block_deps[block], uniformity->exit_deps[loop]);
    }
    for (uint32_t i = 0; i < cfg->loop_count; i++) {
        changed |= update_node(uniformity, cfg->block_count + i, controls[cfg->block_count + i]);
        for (uint32_t k = 0; k < deciders[i].count; k++) {
            uint16_t deps = uniformity->branch_deps[deciders[i].blocks[k]];
            changed |= grow(&uniformity->exit_deps[i], deps);
            changed |= k < deciders[i].leave_count && grow(&uniformity->leave_deps[i], deps);
        }
    }
    return changed;
}

struct ptx_uniformity *ptx_uniformity_build(const struct ptx_ssa *ssa, struct base_arena *arena)
{
    struct ptx_uniformity *uniformity = base_new(arena, struct ptx_uniformity);
    const struct ptx_cfg *cfg = ssa->cfg;
    uniformity->ssa = ssa;
    uniformity->deps = base_new_array(arena, uint16_t, ssa->value_count);
    uniformity->exit_deps = base_new_array(arena, uint16_t, cfg->loop_count);
    uniformity->leave_deps = base_new_array(arena, uint16_t, cfg->loop_count);
    size_t nodes = (size_t)cfg->block_count + cfg->loop_count;
    uniformity->block_deps = base_new_array(arena, uint16_t, nodes);
    uniformity->branch_deps = base_new_array(arena, uint16_t, nodes);
    struct walk walk = {.stack = base_new_array(arena, uint32_t, cfg->block_count),
                        .mark = base_new_array(arena, uint32_t, cfg->block_count)};
    uint16_t *joins = base_new_array(arena, uint16_t, cfg->block_count);
    struct ptx_control **controls = ptx_controls_find(cfg, arena);
    struct deciders *deciders = find_deciders(cfg, controls, arena);
    const bool *tangles = ptx_tangles_find(cfg, arena);
    for (bool changed = true; changed;) {
        changed = false;
        // In reverse post-order, so that only what goes round loops needs another pass.
        for (uint32_t i = 0; i < ssa->value_count; i++)
            changed |= grow(&uniformity->deps[i], value_deps(uniformity, &ssa->values[i], joins));
        if (!update_branches(uniformity, controls, deciders, tangles))
            continue;
        changed = true;
        for (uint32_t i = 0; i < cfg->order_count; i++) {
            uint32_t block = cfg->order[i];
            if (ssa->phis[block])
                grow(&joins[block], join_deps(uniformity, block, &walk));
        }
    }
    return uniformity;
}
