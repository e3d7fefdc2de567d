// SPDX-License-Identifier: Apache-2.0
// Builds basic blocks and edges. A block ends behind a branch or an instruction that ends the
// thread, and before a label that is the target of a branch.
#include "cfg.h"

#include <string.h>

bool ptx_call_parts(const struct ptx_instr *instr, struct ptx_call *call)
{
    memset(call, 0, sizeof(*call));
    if (ptx_op(instr) != PTX_OP_CALL)
        return false;
    uint8_t at = 0;
    if (at < instr->operand_count && instr->operands[at].kind == PTX_OPERAND_LIST)
        call->returns = &instr->operands[at++];
    if (at == instr->operand_count)
        return false;
    call->target = &instr->operands[at++];
    if (at < instr->operand_count && instr->operands[at].kind == PTX_OPERAND_LIST)
        call->arguments = &instr->operands[at++];
    if (at < instr->operand_count)
        call->candidates = &instr->operands[at];
    return true;
}

uint32_t ptx_cfg_block_of_label(const struct ptx_cfg *cfg, const struct ptx_label *label)
{
    const struct ptx_stmt *stmt = &label->stmt;
    while (stmt && stmt->kind != PTX_STMT_INSTR)
        stmt = stmt->next;
    return stmt ? cfg->block_of[((const struct ptx_instr *)stmt)->index] : cfg->block_count - 1;
}

static bool ends_block(const struct ptx_instr *instr)
{
    return ptx_flags(instr) & (PTX_FLAG_BRANCH | PTX_FLAG_END);
}

// An instruction begins a block if it is the first of the function, follows a branch, or follows a
// label that is a branch target. Other labels, such as those of debug information, do not divide
// blocks.
static bool mark_targets(struct ptx_function *function, struct base_map *targets)
{
    for (struct ptx_stmt *stmt = function->first; stmt; stmt = stmt->next) {
        const struct ptx_instr *instr = ptx_stmt_instr(stmt);
        if (!instr || !(ptx_flags(instr) & PTX_FLAG_BRANCH))
            continue;
        const struct ptx_operand *last = &instr->operands[instr->operand_count - 1];
        if (last->kind != PTX_OPERAND_LABEL)
            continue;
        const struct ptx_label *label = last->label;
        if (label->kind == PTX_LABEL_CODE) {
            if (!base_map_put(targets, (uintptr_t)label, NULL))
                return false;
            continue;
        }
        for (uint32_t i = 0; i < label->target_count; i++) {
            if (label->targets[i].kind == PTX_OPERAND_LABEL &&
                !base_map_put(targets, (uintptr_t)label->targets[i].label, NULL))
                return false;
        }
    }
    return true;
}

// Walks the body twice: to count blocks and to fill them. The value of a label in the map becomes
// the number of its block.
static void cut_blocks(struct ptx_cfg *cfg, struct base_map *targets, struct base_arena *arena)
{
    struct ptx_function *function = cfg->function;
    struct ptx_instr **all = base_new_array(arena, struct ptx_instr *, function->instr_count);
    cfg->block_of = base_new_array(arena, uint32_t, function->instr_count);
    BASE_ARRAY(uint32_t) starts = {0};
    bool fresh = true;
    uint32_t next = 0;
    for (struct ptx_stmt *stmt = function->first; stmt; stmt = stmt->next) {
        if (stmt->kind == PTX_STMT_LABEL) {
            uint64_t *target = base_map_get(targets, (uintptr_t)stmt);
            if (!target)
                continue;
            fresh = true;
            // A loop that begins at the first instruction needs a predecessor: an empty block.
            if (!starts.count)
                *base_array_add(&starts, arena) = 0;
            // Several labels in a row, or a label at the very end, share a block.
            if (starts.count == 1 || starts.items[starts.count - 1] != next)
                *base_array_add(&starts, arena) = next;
            *target = starts.count - 1;
            continue;
        }
        struct ptx_instr *instr = ptx_stmt_instr(stmt);
        if (!instr)
            continue;
        if (fresh && (!starts.count || starts.items[starts.count - 1] != next))
            *base_array_add(&starts, arena) = next;
        fresh = ends_block(instr);
        all[next] = instr;
        cfg->block_of[next++] = (uint32_t)starts.count - 1;
    }
    if (!starts.count)
        *base_array_add(&starts, arena) = 0;
    cfg->block_count = (uint32_t)starts.count;
    cfg->blocks = base_new_array(arena, struct ptx_block, starts.count);
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        uint32_t end = i + 1 < cfg->block_count ? starts.items[i + 1] : next;
        cfg->blocks[i].instrs = all + starts.items[i];
        cfg->blocks[i].instr_count = end - starts.items[i];
    }
}

// `mark` holds for each block 1 + the last block of which it is a successor: lists of targets may
// be long.
static void add_succ(struct ptx_block *block, uint32_t from, uint32_t to, uint32_t *mark)
{
    if (mark[to] == from + 1)
        return;
    mark[to] = from + 1;
    block->succs[block->succ_count++] = to;
}

static void find_succs(struct ptx_cfg *cfg, uint32_t index, const struct base_map *targets,
                       uint32_t *mark, struct base_arena *arena)
{
    struct ptx_block *block = &cfg->blocks[index];
    const struct ptx_instr *last =
        block->instr_count ? block->instrs[block->instr_count - 1] : NULL;
    bool has_next = index + 1 < cfg->block_count;
    if (!last || !ends_block(last)) {
        block->succs = base_new_array(arena, uint32_t, 1);
        if (has_next)
            add_succ(block, index, index + 1, mark);
        block->ends = !has_next;
        return;
    }
    if (ptx_flags(last) & PTX_FLAG_END) {
        block->ends = true;
        block->succs = base_new_array(arena, uint32_t, 1);
    } else {
        const struct ptx_operand *where = &last->operands[last->operand_count - 1];
        const struct ptx_label *label = where->kind == PTX_OPERAND_LABEL ? where->label : NULL;
        uint32_t count = label && label->kind != PTX_LABEL_CODE ? label->target_count : 1;
        block->succs = base_new_array(arena, uint32_t, (size_t)count + 1);
        for (uint32_t i = 0; label && i < count; i++) {
            const struct ptx_label *to = label->kind == PTX_LABEL_CODE ? label
                                         : label->targets[i].kind == PTX_OPERAND_LABEL
                                             ? label->targets[i].label
                                             : NULL;
            const uint64_t *at = to ? base_map_get(targets, (uintptr_t)to) : NULL;
            if (at)
                add_succ(block, index, (uint32_t)*at, mark);
        }
    }
    if (last->guard && has_next)
        add_succ(block, index, index + 1, mark);
    else if (last->guard)
        block->ends = true;
}

static void find_preds(struct ptx_cfg *cfg, struct base_arena *arena)
{
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        for (uint32_t k = 0; k < cfg->blocks[i].succ_count; k++)
            cfg->blocks[cfg->blocks[i].succs[k]].pred_count++;
    }
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        cfg->blocks[i].preds = base_new_array(arena, uint32_t, cfg->blocks[i].pred_count);
        cfg->blocks[i].pred_count = 0;
    }
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        for (uint32_t k = 0; k < cfg->blocks[i].succ_count; k++) {
            struct ptx_block *succ = &cfg->blocks[cfg->blocks[i].succs[k]];
            succ->preds[succ->pred_count++] = i;
        }
    }
}

// The search has an explicit stack, since bodies can be long chains of blocks.
static void find_order(struct ptx_cfg *cfg, struct base_arena *arena)
{
    uint32_t count = cfg->block_count;
    uint32_t *stack = base_new_array(arena, uint32_t, count);
    uint32_t *next = base_new_array(arena, uint32_t, count);
    bool *seen = base_new_array(arena, bool, count);
    uint32_t *post = base_new_array(arena, uint32_t, count);
    uint32_t depth = 0, done = 0;
    stack[depth++] = 0;
    seen[0] = true;
    while (depth) {
        uint32_t at = stack[depth - 1];
        const struct ptx_block *block = &cfg->blocks[at];
        if (next[at] < block->succ_count) {
            uint32_t to = block->succs[next[at]++];
            if (!seen[to]) {
                seen[to] = true;
                stack[depth++] = to;
            }
        } else {
            post[done++] = at;
            depth--;
        }
    }
    cfg->order = base_new_array(arena, uint32_t, done);
    cfg->order_count = done;
    for (uint32_t i = 0; i < count; i++)
        cfg->blocks[i].order = PTX_NO_BLOCK;
    for (uint32_t i = 0; i < done; i++) {
        cfg->order[i] = post[done - 1 - i];
        cfg->blocks[cfg->order[i]].order = i;
    }
}

struct ptx_cfg *ptx_cfg_build(struct ptx_function *function, struct base_arena *arena)
{
    struct ptx_cfg *cfg = base_new(arena, struct ptx_cfg);
    cfg->function = function;
    ptx_function_number(function);
    // The map is on the heap, so a jump to arena->escape would leak it. The escape is therefore
    // caught here and passed on.
    struct base_map targets = {0};
    jmp_buf *outer = arena->escape;
    jmp_buf here;
    arena->escape = &here;
    if (setjmp(here)) {
        base_map_fini(&targets);
        arena->escape = outer;
        longjmp(*outer, 1);
    }
    if (!mark_targets(function, &targets))
        longjmp(here, 1);
    cut_blocks(cfg, &targets, arena);
    uint32_t *mark = base_new_array(arena, uint32_t, cfg->block_count);
    for (uint32_t i = 0; i < cfg->block_count; i++)
        find_succs(cfg, i, &targets, mark, arena);
    base_map_fini(&targets);
    arena->escape = outer;
    find_preds(cfg, arena);
    find_order(cfg, arena);
    ptx_cfg_find_dominators(cfg, arena);
    ptx_cfg_find_loops(cfg, arena);
    return cfg;
}
