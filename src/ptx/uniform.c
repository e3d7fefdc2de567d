// SPDX-License-Identifier: Apache-2.0
// Computes uniformity as a fixed point over values: dependences only grow, so the iteration ends.
// Data dependences follow definitions. Control dependences enter phis (which edge was taken),
// guarded definitions, and values behind loops (how often they iterated).
#include "uniform.h"

#include <string.h>

#include "control.h"
#include "worklist.h"

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

// A value read in another block: every loop that was left in between adds what decides its end.
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

// Merges the dependences of what the instruction reads, except its guard.
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

// Returns the dependence of a value polled at that loop depth; 0 outside of loops.
static uint16_t polled_at_depth(uint32_t depth)
{
    static const uint16_t deps[] = {0, PTX_DEP_POLLED_1, PTX_DEP_POLLED_2, PTX_DEP_POLLED_3};
    return deps[depth < 3 ? depth : 3];
}

static uint16_t polled_by(const struct ptx_cfg *cfg, const struct ptx_instr *instr)
{
    uint32_t loop = cfg->blocks[cfg->block_of[instr->index]].loop;
    return loop == PTX_NO_LOOP ? 0 : polled_at_depth(cfg->loops[loop].depth);
}

// A kernel's parameters are the same in all threads. Those of a device function come from its
// caller, and results of calls are read from local parameters.
static bool reads_own_param(const struct ptx_instr *instr)
{
    const struct ptx_operand *address = &instr->operands[1];
    const struct ptx_operand *base = address->count ? &address->elements[0] : address;
    return base->kind != PTX_OPERAND_VAR || base->var->is_param;
}

// Returns what the result depends on through memory that other blocks may write, directly or
// through shared and local memory that this code wrote. Textures and .nc are read-only.
static uint16_t polled_deps(const struct ptx_uniformity *uniformity, const struct ptx_instr *instr)
{
    const uint16_t polled = polled_by(uniformity->ssa->cfg, instr);
    const enum ptx_op op = ptx_op(instr);
    switch (op) {
    case PTX_OP_UNKNOWN:
    case PTX_OP_CALL:
    case PTX_OP_SULD: return polled;
    case PTX_OP_LDMATRIX:
    case PTX_OP_WGMMA_MMA_ASYNC:
    case PTX_OP_TCGEN05_LD: return uniformity->passed_deps;
    default: break;
    }
    if (!(ptx_flags(instr) & (PTX_FLAG_LOAD | PTX_FLAG_ATOMIC)))
        return 0;
    if (op >= PTX_OP_MBARRIER_INIT && op <= PTX_OP_MBARRIER_TRY_WAIT)
        return uniformity->passed_deps;
    switch ((enum ptx_space)instr->form->space) {
    case PTX_SPACE_CONST: return 0;
    case PTX_SPACE_PARAM: return reads_own_param(instr) ? 0 : polled;
    case PTX_SPACE_SHARED:
    case PTX_SPACE_LOCAL: return uniformity->passed_deps;
    case PTX_SPACE_GLOBAL: return ptx_form_has(instr->form, PTX_MOD_NC) ? 0 : polled;
    default: return polled | uniformity->passed_deps;
    }
}

// A strong load may race: threads that read one address may get different values.
static bool is_strong(const struct ptx_instr *instr)
{
    uint16_t sem = instr->form->sem;
    return sem == PTX_MOD_VOLATILE || sem == PTX_MOD_RELAXED || sem == PTX_MOD_ACQUIRE;
}

static uint16_t load_deps(const struct ptx_uniformity *uniformity, const struct ptx_instr *instr)
{
    uint16_t race = is_strong(instr) ? PTX_DEP_THREAD : 0;
    switch ((enum ptx_space)instr->form->space) {
    case PTX_SPACE_CONST: return 0;
    case PTX_SPACE_PARAM:
        return uniformity->ssa->cfg->function->is_entry && reads_own_param(instr) ? 0
                                                                                  : PTX_DEP_CALLER;
    case PTX_SPACE_SHARED: return PTX_DEP_MEMORY | PTX_DEP_BLOCK | race;
    case PTX_SPACE_LOCAL: return PTX_DEP_MEMORY | PTX_DEP_THREAD | PTX_DEP_BLOCK;
    case PTX_SPACE_GLOBAL: return PTX_DEP_MEMORY | race;
    default: return PTX_DEP_MEMORY | PTX_DEP_THREAD | PTX_DEP_BLOCK; // generic: any space
    }
}

// The result of a vote or reduction is the same in all lanes of the group, whatever their inputs,
// unless lanes take part in different groups.
static uint16_t vote_deps(const struct ptx_uniformity *uniformity, const struct ptx_instr *instr)
{
    uint16_t put_in = ptx_operand_deps(uniformity, instr, &instr->operands[1]);
    uint16_t deps = (put_in & ~(PTX_DEP_TID | PTX_DEP_LANE | PTX_DEP_THREAD)) | PTX_DEP_WARP;
    for (uint8_t i = 2; i < instr->operand_count; i++)
        deps |= ptx_operand_deps(uniformity, instr, &instr->operands[i]);
    return deps;
}

// Returns what the result of an instruction depends on, in the threads that execute it.
static uint16_t result_deps(const struct ptx_uniformity *uniformity, const struct ptx_instr *instr)
{
    uint16_t deps = input_deps(uniformity, instr) | polled_deps(uniformity, instr);
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
        // All participating threads get the same result.
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

uint16_t ptx_block_deps(const struct ptx_uniformity *uniformity, uint32_t block)
{
    return uniformity->block_deps[block];
}

// The state of the fixed point. Items are processed in control-flow order: of every block the
// choice among its incoming edges, its phis, and its instructions.
enum item_kind { ITEM_JOIN, ITEM_PHI, ITEM_INSTR };

struct item {
    uint8_t kind;   // enum item_kind
    uint32_t index; // of the block, value or instruction
};

struct solver {
    struct ptx_uniformity *uniformity;
    const struct ptx_ssa *ssa;
    const struct ptx_cfg *cfg;
    const struct ptx_controls *controls;
    struct ptx_deciders *deciders;
    const bool *tangles;
    uint16_t tangled; // what the branches of irreducible cycles depend on
    // By block: the loops whose end its branch helps to decide.
    struct decides {
        struct decides *next;
        uint32_t loop;
        bool leaves;
    } * *decides;
    uint16_t *joins; // by block: what decides by which edge it was reached
    struct item *items;
    uint32_t item_count;
    uint32_t *phi_items, *instr_items; // item numbers by value and by instruction
    // By value: linked lists of definitions that keep it if their guard is false.
    uint32_t *kept_first, *kept_next;
    struct ptx_worklist work, all_joins;
    uint32_t *mark, *stack, stamp; // by node of the control dependences
    bool coarse;                   // a join was too large to examine
};

static const uint32_t no_item = UINT32_MAX;

static void add_item(struct solver *solver, uint32_t *number, enum item_kind kind, uint32_t index)
{
    *number = solver->item_count;
    solver->items[solver->item_count++] = (struct item){(uint8_t)kind, index};
}

static void list_items(struct solver *solver, struct base_arena *arena)
{
    const struct ptx_cfg *cfg = solver->cfg;
    const struct ptx_ssa *ssa = solver->ssa;
    uint32_t instrs = cfg->function->instr_count, unused;
    solver->items =
        base_new_array(arena, struct item, (size_t)cfg->block_count + ssa->value_count + instrs);
    solver->phi_items = base_new_array(arena, uint32_t, ssa->value_count);
    solver->instr_items = base_new_array(arena, uint32_t, instrs);
    memset(solver->instr_items, 0xFF, instrs * sizeof(*solver->instr_items));
    for (uint32_t i = 0; i < cfg->order_count; i++) {
        uint32_t b = cfg->order[i];
        const struct ptx_block *block = &cfg->blocks[b];
        if (ssa->phis[b])
            add_item(solver, &unused, ITEM_JOIN, b);
        for (const uint32_t *phi = ssa->phis[b]; phi && *phi != PTX_NO_VALUE; phi++)
            add_item(solver, &solver->phi_items[*phi], ITEM_PHI, *phi);
        for (uint32_t k = 0; k < block->instr_count; k++) {
            uint32_t index = block->instrs[k]->index;
            if (ssa->ref_start[index] < ssa->ref_start[index + 1])
                add_item(solver, &solver->instr_items[index], ITEM_INSTR, index);
        }
    }
    solver->kept_first = base_new_array(arena, uint32_t, ssa->value_count);
    solver->kept_next = base_new_array(arena, uint32_t, ssa->value_count);
    memset(solver->kept_first, 0xFF, ssa->value_count * sizeof(*solver->kept_first));
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        uint32_t kept = ssa->values[i].previous;
        if (kept == PTX_NO_VALUE)
            continue;
        solver->kept_next[i] = solver->kept_first[kept];
        solver->kept_first[kept] = i;
    }
    ptx_worklist_init(&solver->work, solver->item_count, arena);
    ptx_worklist_init(&solver->all_joins, solver->item_count, arena);
    for (uint32_t i = 0; i < solver->item_count; i++) {
        if (solver->items[i].kind == ITEM_JOIN)
            ptx_worklist_add(&solver->all_joins, i);
    }
}

static void add_instr(struct solver *solver, const struct ptx_instr *instr)
{
    if (solver->instr_items[instr->index] != no_item)
        ptx_worklist_add(&solver->work, solver->instr_items[instr->index]);
}

// Adds the users of the value to the worklist, or only those outside a loop.
static void add_users(struct solver *solver, uint32_t value, uint32_t outside)
{
    const struct ptx_ssa *ssa = solver->ssa;
    const struct ptx_cfg *cfg = solver->cfg;
    for (uint32_t i = 0; i < ssa->values[value].use_count; i++) {
        const struct ptx_use *use = &ssa->values[value].uses[i];
        uint32_t block =
            use->instr ? cfg->block_of[use->instr->index] : ssa->values[use->phi].block;
        if (outside != PTX_NO_LOOP && ptx_loop_contains(cfg, outside, block))
            continue;
        if (use->instr)
            add_instr(solver, use->instr);
        else
            ptx_worklist_add(&solver->work, solver->phi_items[use->phi]);
    }
    for (uint32_t i = solver->kept_first[value]; i != PTX_NO_VALUE; i = solver->kept_next[i])
        add_instr(solver, ssa->values[i].instr);
}

static bool grow(uint16_t *deps, uint16_t more)
{
    bool changed = (*deps | more) != *deps;
    *deps |= more;
    return changed;
}

static void set_deps(struct solver *solver, uint32_t value, uint16_t deps)
{
    if (grow(&solver->uniformity->deps[value], deps))
        add_users(solver, value, PTX_NO_LOOP);
}

// Threads leave a loop at different times, so values computed in it differ behind it.
static void loop_changed(struct solver *solver, uint32_t index)
{
    const struct ptx_loop *loop = &solver->cfg->loops[index];
    for (uint32_t i = 0; i < loop->block_count; i++) {
        const struct ptx_block *block = &solver->cfg->blocks[loop->blocks[i]];
        const uint32_t *phi = solver->ssa->phis[loop->blocks[i]];
        for (; phi && *phi != PTX_NO_VALUE; phi++)
            add_users(solver, *phi, index);
        for (uint32_t k = 0; k < block->instr_count; k++) {
            uint32_t at = solver->ssa->ref_start[block->instrs[k]->index];
            for (; at < solver->ssa->ref_start[block->instrs[k]->index + 1]; at++) {
                if (solver->ssa->refs[at].is_def)
                    add_users(solver, solver->ssa->refs[at].value, index);
            }
        }
    }
}

static void branch_changed(struct solver *solver, uint32_t block)
{
    struct ptx_uniformity *uniformity = solver->uniformity;
    uint16_t deps = uniformity->branch_deps[block];
    if (solver->tangles && solver->tangles[block])
        solver->tangled |= deps;
    ptx_worklist_add_all(&solver->work, &solver->all_joins);
    for (const struct decides *at = solver->decides[block]; at; at = at->next) {
        grow(&uniformity->exit_deps[at->loop], deps);
        if (at->leaves && grow(&uniformity->leave_deps[at->loop], deps))
            loop_changed(solver, at->loop);
    }
}

// Merges the dependences of the branches that decide whether a block is reached, as far as these
// are dominated by another block. Visits at most so many.
enum { MOST_CONTROLS = 4096 };

static uint16_t way_deps(struct solver *solver, uint32_t from, uint32_t above)
{
    const struct ptx_cfg *cfg = solver->cfg;
    const struct ptx_uniformity *uniformity = solver->uniformity;
    const struct ptx_controls *controls = solver->controls;
    uint16_t deps = uniformity->branch_deps[from];
    uint32_t depth = 0, looked = 0;
    if (solver->mark[from] == solver->stamp)
        return 0;
    solver->mark[from] = solver->stamp;
    solver->stack[depth++] = from;
    while (depth) {
        uint32_t node = solver->stack[--depth];
        for (uint32_t k = controls->start[node]; k < controls->start[node + 1]; k++) {
            uint32_t branch = controls->branches[k];
            if (looked++ == MOST_CONTROLS) {
                solver->coarse = true;
                return deps | uniformity->block_deps[from];
            }
            uint32_t block =
                branch < cfg->block_count ? branch : cfg->loops[branch - cfg->block_count].header;
            if (solver->mark[branch] == solver->stamp || !ptx_dominates(cfg, above, block))
                continue;
            solver->mark[branch] = solver->stamp;
            deps |= uniformity->branch_deps[branch];
            solver->stack[depth++] = branch;
        }
    }
    return deps;
}

// Computes what decides by which edge control reached a join: the branches between its immediate
// dominator and itself. At a loop's header the choice between entering and iterating depends on
// time, not on threads; only a choice among several latches or several entries counts.
static uint16_t join_deps(struct solver *solver, uint32_t join)
{
    const struct ptx_cfg *cfg = solver->cfg;
    const struct ptx_block *block = &cfg->blocks[join];
    uint32_t loop = block->loop;
    bool header = loop != PTX_NO_LOOP && cfg->loops[loop].header == join;
    uint32_t ways[2] = {0, 0}; // entries, latches
    for (uint32_t i = 0; i < block->pred_count; i++) {
        uint32_t pred = block->preds[i];
        if (cfg->blocks[pred].order != PTX_NO_BLOCK)
            ways[header && ptx_loop_contains(cfg, loop, pred)]++;
    }
    uint16_t deps = solver->tangles && solver->tangles[join] ? solver->tangled : 0;
    solver->stamp++;
    for (uint32_t i = 0; i < block->pred_count; i++) {
        uint32_t pred = block->preds[i];
        bool back = header && ptx_loop_contains(cfg, loop, pred);
        if (cfg->blocks[pred].order != PTX_NO_BLOCK && ways[back] > 1)
            deps |= way_deps(solver, pred, back ? join : block->idom);
    }
    return deps;
}

// Returns whether the edges into a phi's block that are a choice have different values: at a
// header, the entries among themselves and the latches among themselves.
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

static void solve_join(struct solver *solver, uint32_t block)
{
    if (!grow(&solver->joins[block], join_deps(solver, block)))
        return;
    for (const uint32_t *phi = solver->ssa->phis[block]; *phi != PTX_NO_VALUE; phi++)
        ptx_worklist_add(&solver->work, solver->phi_items[*phi]);
}

static void solve_phi(struct solver *solver, uint32_t index)
{
    const struct ptx_value *phi = &solver->ssa->values[index];
    uint16_t deps = 0;
    for (uint32_t i = 0; i < solver->cfg->blocks[phi->block].pred_count; i++) {
        if (phi->arguments[i] != PTX_NO_VALUE)
            deps |= ptx_value_deps(solver->uniformity, phi->arguments[i], phi->block);
    }
    if (solver->joins[phi->block] &&
        (is_choice(solver->cfg, phi) || (solver->tangles && solver->tangles[phi->block])))
        deps |= solver->joins[phi->block];
    set_deps(solver, index, deps);
}

static void solve_instr(struct solver *solver, const struct ptx_instr *instr)
{
    const struct ptx_ssa *ssa = solver->ssa;
    uint32_t b = solver->cfg->block_of[instr->index];
    const struct ptx_block *block = &solver->cfg->blocks[b];
    uint16_t deps = 0;
    bool known = false;
    for (uint32_t i = ssa->ref_start[instr->index]; i < ssa->ref_start[instr->index + 1]; i++) {
        if (!ssa->refs[i].is_def)
            continue;
        if (!known)
            deps = result_deps(solver->uniformity, instr) | guard_deps(solver->uniformity, instr);
        known = true;
        uint32_t kept = ssa->values[ssa->refs[i].value].previous;
        set_deps(solver, ssa->refs[i].value,
                 kept == PTX_NO_VALUE ? deps : deps | ptx_value_deps(solver->uniformity, kept, b));
    }
    if (instr == block->instrs[block->instr_count - 1] && block->succ_count + block->ends > 1 &&
        grow(&solver->uniformity->branch_deps[b],
             input_deps(solver->uniformity, instr) | guard_deps(solver->uniformity, instr)))
        branch_changed(solver, b);
}

static void solve_items(struct solver *solver, const struct ptx_instr *const *instrs)
{
    uint32_t number;
    while (ptx_worklist_take(&solver->work, &number)) {
        const struct item *item = &solver->items[number];
        switch ((enum item_kind)item->kind) {
        case ITEM_JOIN: solve_join(solver, item->index); break;
        case ITEM_PHI: solve_phi(solver, item->index); break;
        case ITEM_INSTR: solve_instr(solver, instrs[item->index]); break;
        }
    }
}

static bool solve_node(struct solver *solver, uint32_t node)
{
    struct ptx_uniformity *uniformity = solver->uniformity;
    bool changed = false;
    for (uint32_t k = solver->controls->start[node]; k < solver->controls->start[node + 1]; k++) {
        uint32_t branch = solver->controls->branches[k];
        changed |= grow(&uniformity->block_deps[node],
                        uniformity->branch_deps[branch] | uniformity->block_deps[branch]);
    }
    return changed;
}

// Derives the dependences of blocks from those of branches and loops.
static bool solve_blocks(struct solver *solver)
{
    const struct ptx_cfg *cfg = solver->cfg;
    uint16_t *block_deps = solver->uniformity->block_deps;
    bool any = false;
    for (bool changed = true; changed; any |= changed) {
        changed = false;
        for (uint32_t i = 0; i < cfg->loop_count; i++) {
            const struct ptx_loop *loop = &cfg->loops[i];
            changed |= solve_node(solver, cfg->block_count + i);
            // Every iteration of the enclosing loops counts.
            for (uint32_t k = 0; k < loop->block_count; k++)
                changed |= grow(&block_deps[loop->blocks[k]], solver->uniformity->exit_deps[i]);
        }
        for (uint32_t i = 0; i < cfg->order_count; i++) {
            uint32_t block = cfg->order[i];
            changed |= solve_node(solver, block);
            changed |= solver->tangles && solver->tangles[block] &&
                       grow(&block_deps[block], solver->tangled);
        }
    }
    return any;
}

// Returns which polled values the instruction may write into shared or local memory. A copy and a
// call may write what they read themselves.
static uint16_t written_deps(const struct ptx_uniformity *uniformity, const struct ptx_instr *instr)
{
    const struct ptx_cfg *cfg = uniformity->ssa->cfg;
    const uint16_t flags = ptx_flags(instr);
    const bool unknown = ptx_op(instr) == PTX_OP_UNKNOWN;
    const bool copies = unknown || flags & (PTX_FLAG_LOAD | PTX_FLAG_CALL);
    if (!unknown && !(flags & (PTX_FLAG_STORE | PTX_FLAG_ATOMIC | PTX_FLAG_CALL)))
        return 0;
    if (instr->form->space == PTX_SPACE_PARAM ||
        (instr->form->space == PTX_SPACE_GLOBAL && !(flags & PTX_FLAG_ASYNC)))
        return 0;
    uint16_t deps = input_deps(uniformity, instr) | guard_deps(uniformity, instr) |
                    uniformity->block_deps[cfg->block_of[instr->index]];
    return (deps | (copies ? polled_by(cfg, instr) : 0)) & PTX_DEP_POLLED;
}

// Returns whether shared or local memory may hold more polled values than was known so far.
static bool solve_passed(struct ptx_uniformity *uniformity)
{
    const struct ptx_cfg *cfg = uniformity->ssa->cfg;
    uint16_t deps = 0;
    for (uint32_t i = 0; i < cfg->order_count; i++) {
        const struct ptx_block *block = &cfg->blocks[cfg->order[i]];
        for (uint32_t k = 0; k < block->instr_count; k++)
            deps |= written_deps(uniformity, block->instrs[k]);
    }
    return grow(&uniformity->passed_deps, deps);
}

bool ptx_loop_may_wait(const struct ptx_uniformity *uniformity, uint32_t loop)
{
    // Values read in the loop are read at its depth or deeper.
    uint16_t inside = PTX_DEP_POLLED;
    for (uint32_t depth = 1; depth < uniformity->ssa->cfg->loops[loop].depth; depth++)
        inside &= (uint16_t) ~(depth < 3 ? polled_at_depth(depth) : 0);
    return uniformity->exit_deps[loop] & inside;
}

static void find_decides(struct solver *solver, struct base_arena *arena)
{
    const struct ptx_cfg *cfg = solver->cfg;
    solver->decides = base_new_array(arena, struct decides *, cfg->block_count);
    for (uint32_t i = 0; i < cfg->loop_count; i++) {
        for (uint32_t k = 0; k < solver->deciders[i].count; k++) {
            uint32_t block = solver->deciders[i].blocks[k];
            if (block >= cfg->block_count)
                continue;
            struct decides *entry = base_new(arena, struct decides);
            *entry =
                (struct decides){solver->decides[block], i, k < solver->deciders[i].leave_count};
            solver->decides[block] = entry;
        }
    }
}

struct ptx_uniformity *ptx_uniformity_build(const struct ptx_ssa *ssa, struct base_arena *arena)
{
    struct ptx_uniformity *uniformity = base_new(arena, struct ptx_uniformity);
    const struct ptx_cfg *cfg = ssa->cfg;
    size_t nodes = (size_t)cfg->block_count + cfg->loop_count;
    uniformity->ssa = ssa;
    uniformity->deps = base_new_array(arena, uint16_t, ssa->value_count);
    uniformity->exit_deps = base_new_array(arena, uint16_t, cfg->loop_count);
    uniformity->leave_deps = base_new_array(arena, uint16_t, cfg->loop_count);
    uniformity->block_deps = base_new_array(arena, uint16_t, nodes);
    uniformity->branch_deps = base_new_array(arena, uint16_t, nodes);
    struct solver solver = {.uniformity = uniformity, .ssa = ssa, .cfg = cfg};
    solver.controls = ptx_controls_find(cfg, arena);
    solver.deciders = ptx_deciders_find(cfg, solver.controls, arena);
    solver.tangles = ptx_tangles_find(cfg, arena);
    solver.joins = base_new_array(arena, uint16_t, cfg->block_count);
    solver.mark = base_new_array(arena, uint32_t, nodes);
    solver.stack = base_new_array(arena, uint32_t, nodes);
    find_decides(&solver, arena);
    list_items(&solver, arena);
    const struct ptx_instr **instrs =
        base_new_array(arena, const struct ptx_instr *, cfg->function->instr_count);
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        for (uint32_t i = 0; i < cfg->blocks[b].instr_count; i++)
            instrs[cfg->blocks[b].instrs[i]->index] = cfg->blocks[b].instrs[i];
    }
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        if (ssa->values[i].kind == PTX_VALUE_ENTRY && !cfg->function->is_entry)
            uniformity->deps[i] = PTX_DEP_CALLER;
    }
    do {
        for (uint32_t i = 0; i < solver.item_count; i++)
            ptx_worklist_add(&solver.work, i);
        do {
            solve_items(&solver, instrs);
            // A join that was too large to examine depends on everything that its blocks depend on.
            if (solve_blocks(&solver) && solver.coarse)
                ptx_worklist_add_all(&solver.work, &solver.all_joins);
        } while (solver.work.count);
    } while (solve_passed(uniformity));
    return uniformity;
}
