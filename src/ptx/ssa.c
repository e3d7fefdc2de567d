// SPDX-License-Identifier: Apache-2.0
// Builds SSA form beside the IR by Cytron's construction: phis at iterated dominance frontiers for
// registers that live across blocks, then a walk of the dominator tree that assigns the newest
// value to every use. A guarded definition selects between the new value and the previous one.
#include "ssa.h"

#include <string.h>

enum ptx_role ptx_operand_role(const struct ptx_instr *instr, uint8_t operand)
{
    if (instr->operands[operand].kind == PTX_OPERAND_ADDRESS)
        return PTX_ROLE_USE;
    enum ptx_op op = ptx_op(instr);
    if (op == PTX_OP_CALL) {
        struct ptx_call call;
        return ptx_call_parts(instr, &call) && call.returns == &instr->operands[operand]
                   ? PTX_ROLE_DEF
                   : PTX_ROLE_USE;
    }
    // An unknown opcode is assumed to set its first operand and to read it.
    if (op == PTX_OP_UNKNOWN)
        return operand == 0 ? PTX_ROLE_BOTH : PTX_ROLE_USE;
    switch (ptx_op_cell(op, operand).role) {
    case 'd': return PTX_ROLE_DEF;
    case 'b': return PTX_ROLE_BOTH;
    default: return PTX_ROLE_USE;
    }
}

// Calls visit for each register operand of the instruction, uses before definitions.
typedef void (*visitor)(void *context, struct ptx_instr *instr, const struct ptx_operand *operand,
                        bool is_def, bool is_address);

static void visit_operand(struct ptx_instr *instr, const struct ptx_operand *operand, bool is_def,
                          bool is_address, visitor visit, void *context)
{
    if (operand->kind == PTX_OPERAND_REG) {
        visit(context, instr, operand, is_def, is_address);
    } else if (operand->kind >= PTX_OPERAND_ADDRESS && operand->kind <= PTX_OPERAND_PAIR) {
        for (uint16_t i = 0; i < operand->count; i++)
            visit_operand(instr, &operand->elements[i], is_def,
                          is_address || operand->kind == PTX_OPERAND_ADDRESS, visit, context);
    }
}

static void visit_instr(struct ptx_instr *instr, visitor visit, void *context)
{
    for (int defs = 0; defs < 2; defs++) {
        for (uint8_t i = 0; i < instr->operand_count; i++) {
            enum ptx_role role = ptx_operand_role(instr, i);
            if (role == PTX_ROLE_BOTH || (role == PTX_ROLE_DEF) == defs)
                visit_operand(instr, &instr->operands[i], defs, false, visit, context);
        }
        if (!defs && instr->guard)
            visit(context, instr, NULL, false, false);
    }
}

// The value of a register before a change, to be restored.
struct undo {
    uint32_t reg, value;
};

struct builder {
    struct ptx_ssa *ssa;
    const struct ptx_cfg *cfg;
    struct base_arena *arena;
    uint32_t reg_count;
    uint32_t ref_total;
    // Registers that are used in a block before being set there, and therefore live across blocks.
    bool *global;
    uint32_t *set_in; // by register: 1 + the block that set it last
    uint32_t block;
    // Linked lists of the blocks that set a register.
    struct def_block {
        struct def_block *next;
        uint32_t block;
    } * *def_blocks;
    BASE_ARRAY(struct ptx_value) values;
    uint32_t *current; // by register, while renaming; PTX_NO_VALUE: the value at entry
    uint32_t *entry;   // by register: the value at entry, once it is needed
    BASE_ARRAY(struct undo) undo;
};

static struct ptx_reg *ref_reg(const struct ptx_instr *instr, const struct ptx_operand *operand)
{
    return operand ? operand->reg : instr->guard;
}

static void survey(void *context, struct ptx_instr *instr, const struct ptx_operand *operand,
                   bool is_def, bool is_address)
{
    (void)is_address;
    struct builder *builder = context;
    uint32_t reg = ref_reg(instr, operand)->id;
    builder->ref_total++;
    if (!is_def || instr->guard || operand->select) {
        if (builder->set_in[reg] != builder->block + 1)
            builder->global[reg] = true;
    }
    if (is_def && builder->set_in[reg] != builder->block + 1) {
        builder->set_in[reg] = builder->block + 1;
        struct def_block *entry = base_new(builder->arena, struct def_block);
        entry->block = builder->block;
        entry->next = builder->def_blocks[reg];
        builder->def_blocks[reg] = entry;
    }
}

static uint32_t new_value(struct builder *builder, enum ptx_value_kind kind, struct ptx_reg *reg,
                          uint32_t block)
{
    struct ptx_value *value = base_array_add(&builder->values, builder->arena);
    value->kind = (uint8_t)kind;
    value->reg = reg;
    value->block = block;
    value->previous = PTX_NO_VALUE;
    return (uint32_t)builder->values.count - 1;
}

// Dominance frontiers: that of a block is blocks[start[block]] to blocks[start[block + 1] - 1].
struct frontiers {
    uint32_t *start, *blocks;
};

// A join is in the frontier of every block from each predecessor up to the immediate dominator.
// Walks there once to count and once to store.
static void climb(const struct ptx_cfg *cfg, uint32_t *fill, uint32_t *mark, uint32_t *blocks)
{
    memset(mark, 0xFF, cfg->block_count * sizeof(*mark));
    for (uint32_t i = 0; i < cfg->order_count; i++) {
        uint32_t join = cfg->order[i];
        const struct ptx_block *block = &cfg->blocks[join];
        for (uint32_t k = 0; block->pred_count > 1 && k < block->pred_count; k++) {
            uint32_t runner = block->preds[k];
            if (cfg->blocks[runner].order == PTX_NO_BLOCK)
                continue;
            // Up to where the walk from another predecessor has been.
            for (; runner != block->idom && mark[runner] != join;
                 runner = cfg->blocks[runner].idom) {
                mark[runner] = join;
                if (blocks)
                    blocks[fill[runner]] = join;
                fill[runner]++;
            }
        }
    }
}

static struct frontiers find_frontiers(const struct ptx_cfg *cfg, struct base_arena *arena)
{
    struct frontiers frontiers;
    uint32_t *fill = base_new_array(arena, uint32_t, cfg->block_count);
    uint32_t *mark = base_new_array(arena, uint32_t, cfg->block_count);
    frontiers.start = base_new_array(arena, uint32_t, (size_t)cfg->block_count + 1);
    climb(cfg, fill, mark, NULL);
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        if (__builtin_add_overflow(frontiers.start[i], fill[i], &frontiers.start[i + 1]))
            base_alloc(arena, SIZE_MAX); // exceeds any memory: takes the escape
        fill[i] = frontiers.start[i];
    }
    frontiers.blocks = base_new_array(arena, uint32_t, frontiers.start[cfg->block_count]);
    climb(cfg, fill, mark, frontiers.blocks);
    return frontiers;
}

struct phi_list {
    struct phi_list *next;
    uint32_t value;
};

static void place_phis(struct builder *builder, struct phi_list **lists)
{
    const struct ptx_cfg *cfg = builder->cfg;
    struct frontiers frontiers = find_frontiers(cfg, builder->arena);
    uint32_t *has_phi = base_new_array(builder->arena, uint32_t, cfg->block_count);
    uint32_t *queued = base_new_array(builder->arena, uint32_t, cfg->block_count);
    uint32_t *work = base_new_array(builder->arena, uint32_t, cfg->block_count);
    for (uint32_t reg = 0; reg < builder->reg_count; reg++) {
        if (!builder->global[reg])
            continue;
        uint32_t count = 0, stamp = reg + 1;
        for (struct def_block *def = builder->def_blocks[reg]; def; def = def->next) {
            queued[def->block] = stamp;
            work[count++] = def->block;
        }
        while (count) {
            uint32_t at = work[--count];
            for (uint32_t i = frontiers.start[at]; i < frontiers.start[at + 1]; i++) {
                uint32_t block = frontiers.blocks[i];
                if (has_phi[block] == stamp)
                    continue;
                has_phi[block] = stamp;
                struct phi_list *entry = base_new(builder->arena, struct phi_list);
                entry->value = new_value(builder, PTX_VALUE_PHI, cfg->function->regs[reg], block);
                builder->values.items[entry->value].arguments =
                    base_new_array(builder->arena, uint32_t, cfg->blocks[block].pred_count);
                for (uint32_t k = 0; k < cfg->blocks[block].pred_count; k++)
                    builder->values.items[entry->value].arguments[k] = PTX_NO_VALUE;
                entry->next = lists[block];
                lists[block] = entry;
                if (queued[block] != stamp) {
                    queued[block] = stamp;
                    work[count++] = block;
                }
            }
        }
    }
}

static uint32_t current_value(struct builder *builder, struct ptx_reg *reg)
{
    if (builder->current[reg->id] != PTX_NO_VALUE)
        return builder->current[reg->id];
    if (builder->entry[reg->id] == PTX_NO_VALUE)
        builder->entry[reg->id] = new_value(builder, PTX_VALUE_ENTRY, reg, 0);
    return builder->entry[reg->id];
}

static void set_current(struct builder *builder, uint32_t reg, uint32_t value)
{
    *base_array_add(&builder->undo, builder->arena) = (struct undo){reg, builder->current[reg]};
    builder->current[reg] = value;
}

static void rename_ref(void *context, struct ptx_instr *instr, const struct ptx_operand *operand,
                       bool is_def, bool is_address)
{
    struct builder *builder = context;
    struct ptx_reg *reg = ref_reg(instr, operand);
    struct ptx_ref *ref = &builder->ssa->refs[builder->ref_total++];
    ref->operand = operand;
    ref->is_def = is_def;
    ref->is_address = is_address;
    if (!is_def) {
        ref->value = current_value(builder, reg);
        return;
    }
    uint32_t before = instr->guard || operand->select ? current_value(builder, reg) : PTX_NO_VALUE;
    ref->value = new_value(builder, PTX_VALUE_DEF, reg, builder->block);
    struct ptx_value *value = &builder->values.items[ref->value];
    value->instr = instr;
    value->operand = operand;
    value->previous = before;
    set_current(builder, reg->id, ref->value);
}

// Sets the arguments that the phis of a successor get from this block.
static void feed_phis(struct builder *builder, struct phi_list **lists, uint32_t from)
{
    const struct ptx_block *block = &builder->cfg->blocks[from];
    for (uint32_t i = 0; i < block->succ_count; i++) {
        const struct ptx_block *succ = &builder->cfg->blocks[block->succs[i]];
        if (!lists[block->succs[i]])
            continue;
        // preds is sorted and has no duplicates.
        const size_t argument = base_search(0, succ->pred_count, k, succ->preds[k] < from);
        for (struct phi_list *phi = lists[block->succs[i]]; phi; phi = phi->next) {
            uint32_t value = current_value(builder, builder->values.items[phi->value].reg);
            builder->values.items[phi->value].arguments[argument] = value;
        }
    }
}

// Walks the dominator tree. Changes of `current` in a block are undone behind its subtree.
// References are stored in the order of instruction indices, because a block's instructions are
// consecutive: ref_total is set to the block's first reference before its instructions are visited.
static void rename(struct builder *builder, struct phi_list **lists, const uint32_t *ref_start)
{
    const struct ptx_cfg *cfg = builder->cfg;
    struct base_arena *arena = builder->arena;
    uint32_t *child = base_new_array(arena, uint32_t, cfg->block_count);
    uint32_t *sibling = base_new_array(arena, uint32_t, cfg->block_count);
    memset(child, 0xFF, cfg->block_count * sizeof(*child));
    for (uint32_t i = cfg->order_count; i-- > 1;) {
        uint32_t block = cfg->order[i], parent = cfg->blocks[block].idom;
        sibling[block] = child[parent];
        child[parent] = block;
    }
    size_t *undo_mark = base_new_array(arena, size_t, cfg->block_count);
    uint32_t *stack = base_new_array(arena, uint32_t, cfg->block_count);
    bool *entered = base_new_array(arena, bool, cfg->block_count);
    uint32_t depth = 0;
    stack[depth++] = cfg->order[0];
    sibling[cfg->order[0]] = PTX_NO_BLOCK;
    while (depth) {
        uint32_t at = stack[depth - 1];
        if (entered[at]) {
            while (builder->undo.count > undo_mark[at]) {
                const struct undo *last = &builder->undo.items[--builder->undo.count];
                // NOLINTNEXTLINE(*NullDereference): counted items exist
                builder->current[last->reg] = last->value;
            }
            depth--;
            if (sibling[at] != PTX_NO_BLOCK)
                stack[depth++] = sibling[at];
            continue;
        }
        entered[at] = true;
        undo_mark[at] = builder->undo.count;
        const struct ptx_block *block = &cfg->blocks[at];
        builder->block = at;
        for (struct phi_list *phi = lists[at]; phi; phi = phi->next)
            set_current(builder, builder->values.items[phi->value].reg->id, phi->value);
        for (uint32_t i = 0; i < block->instr_count; i++) {
            builder->ref_total = ref_start[block->instrs[i]->index];
            visit_instr(block->instrs[i], rename_ref, builder);
        }
        feed_phis(builder, lists, at);
        if (child[at] != PTX_NO_BLOCK)
            stack[depth++] = child[at];
    }
}

static void mark_live(bool *live, uint32_t *stack, uint32_t *depth, uint32_t value)
{
    if (value == PTX_NO_VALUE || live[value])
        return;
    live[value] = true;
    stack[(*depth)++] = value;
}

// Marks the values that are read, directly or through phis. All definitions count as read: only
// phis that nothing reads are removed, since they would connect unrelated values.
static bool *find_live(const struct builder *builder)
{
    const struct ptx_ssa *ssa = builder->ssa;
    size_t count = builder->values.count;
    const struct ptx_value *values = builder->values.items;
    bool *live = base_new_array(builder->arena, bool, count);
    uint32_t *stack = base_new_array(builder->arena, uint32_t, count);
    uint32_t depth = 0, refs = ssa->ref_start[builder->cfg->function->instr_count];
    for (uint32_t i = 0; i < count; i++) {
        if (values[i].kind == PTX_VALUE_DEF)
            mark_live(live, stack, &depth, i);
    }
    for (uint32_t i = 0; i < refs; i++)
        mark_live(live, stack, &depth, ssa->refs[i].value);
    while (depth) {
        const struct ptx_value *value = &values[stack[--depth]];
        mark_live(live, stack, &depth, value->previous);
        uint32_t count_in = value->arguments ? builder->cfg->blocks[value->block].pred_count : 0;
        for (uint32_t k = 0; k < count_in; k++)
            mark_live(live, stack, &depth, value->arguments[k]);
    }
    return live;
}

// Removes unread phis and renumbers the others in control-flow order, so that an analysis that
// visits values once mostly finds its operands done.
static void renumber(struct builder *builder, struct phi_list **lists)
{
    struct ptx_ssa *ssa = builder->ssa;
    const struct ptx_cfg *cfg = builder->cfg;
    const bool *live = find_live(builder);
    size_t count = builder->values.count;
    struct ptx_value *old = builder->values.items;
    uint32_t *number = base_new_array(builder->arena, uint32_t, count);
    uint32_t refs = ssa->ref_start[cfg->function->instr_count], next = 0;
    for (uint32_t i = 0; i < count; i++) {
        number[i] = PTX_NO_VALUE;
        if (old[i].kind == PTX_VALUE_ENTRY && live[i])
            number[i] = next++;
    }
    for (uint32_t b = 0; b < cfg->order_count; b++) {
        const struct ptx_block *block = &cfg->blocks[cfg->order[b]];
        struct phi_list **slot = &lists[cfg->order[b]];
        while (*slot) {
            if (!live[(*slot)->value]) {
                *slot = (*slot)->next;
                continue;
            }
            number[(*slot)->value] = next;
            (*slot)->value = next++;
            slot = &(*slot)->next;
        }
        for (uint32_t i = 0; i < block->instr_count; i++) {
            uint32_t index = block->instrs[i]->index;
            for (uint32_t k = ssa->ref_start[index]; k < ssa->ref_start[index + 1]; k++) {
                if (ssa->refs[k].is_def)
                    number[ssa->refs[k].value] = next++;
            }
        }
    }
    ssa->values = base_new_array(builder->arena, struct ptx_value, next);
    ssa->value_count = next;
    for (uint32_t i = 0; i < count; i++) {
        if (number[i] == PTX_NO_VALUE)
            continue;
        struct ptx_value *value = &ssa->values[number[i]];
        *value = old[i];
        if (value->previous != PTX_NO_VALUE)
            value->previous = number[value->previous];
        for (uint32_t k = 0; value->arguments && k < cfg->blocks[value->block].pred_count; k++) {
            if (value->arguments[k] != PTX_NO_VALUE)
                value->arguments[k] = number[value->arguments[k]];
        }
    }
    for (uint32_t i = 0; i < refs; i++) {
        if (ssa->refs[i].value != PTX_NO_VALUE)
            ssa->refs[i].value = number[ssa->refs[i].value];
    }
}

static void collect_uses(struct ptx_ssa *ssa, struct base_arena *arena)
{
    const struct ptx_function *function = ssa->cfg->function;
    uint32_t refs = ssa->ref_start[function->instr_count];
    for (uint32_t i = 0; i < refs; i++) {
        if (!ssa->refs[i].is_def && ssa->refs[i].value != PTX_NO_VALUE)
            ssa->values[ssa->refs[i].value].use_count++;
    }
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        const struct ptx_value *value = &ssa->values[i];
        for (uint32_t k = 0; value->arguments && k < ssa->cfg->blocks[value->block].pred_count;
             k++) {
            if (value->arguments[k] != PTX_NO_VALUE)
                ssa->values[value->arguments[k]].use_count++;
        }
    }
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        ssa->values[i].uses = base_new_array(arena, struct ptx_use, ssa->values[i].use_count);
        ssa->values[i].use_count = 0;
    }
    for (uint32_t b = 0; b < ssa->cfg->block_count; b++) {
        for (uint32_t i = 0; i < ssa->cfg->blocks[b].instr_count; i++) {
            struct ptx_instr *instr = ssa->cfg->blocks[b].instrs[i];
            for (uint32_t k = ssa->ref_start[instr->index]; k < ssa->ref_start[instr->index + 1];
                 k++) {
                const struct ptx_ref *ref = &ssa->refs[k];
                if (ref->is_def || ref->value == PTX_NO_VALUE)
                    continue;
                struct ptx_value *value = &ssa->values[ref->value];
                value->uses[value->use_count++] =
                    (struct ptx_use){instr, ref->operand, PTX_NO_VALUE};
            }
        }
    }
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        const struct ptx_value *phi = &ssa->values[i];
        for (uint32_t k = 0; phi->arguments && k < ssa->cfg->blocks[phi->block].pred_count; k++) {
            if (phi->arguments[k] == PTX_NO_VALUE)
                continue;
            struct ptx_value *value = &ssa->values[phi->arguments[k]];
            value->uses[value->use_count++] = (struct ptx_use){NULL, NULL, i};
        }
    }
}

struct ptx_ssa *ptx_ssa_build(const struct ptx_cfg *cfg, struct base_arena *arena)
{
    struct ptx_ssa *ssa = base_new(arena, struct ptx_ssa);
    struct ptx_function *function = cfg->function;
    struct builder builder = {.ssa = ssa, .cfg = cfg, .arena = arena};
    ssa->cfg = cfg;
    builder.reg_count = (uint32_t)function->reg_count;
    builder.global = base_new_array(arena, bool, builder.reg_count);
    builder.set_in = base_new_array(arena, uint32_t, builder.reg_count);
    builder.def_blocks = base_new_array(arena, struct def_block *, builder.reg_count);
    builder.current = base_new_array(arena, uint32_t, builder.reg_count);
    builder.entry = base_new_array(arena, uint32_t, builder.reg_count);
    memset(builder.current, 0xFF, builder.reg_count * sizeof(*builder.current));
    memset(builder.entry, 0xFF, builder.reg_count * sizeof(*builder.entry));
    ssa->ref_start = base_new_array(arena, uint32_t, (size_t)function->instr_count + 1);
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        builder.block = b;
        for (uint32_t i = 0; i < cfg->blocks[b].instr_count; i++) {
            struct ptx_instr *instr = cfg->blocks[b].instrs[i];
            ssa->ref_start[instr->index] = builder.ref_total;
            visit_instr(instr, survey, &builder);
        }
    }
    uint32_t refs = builder.ref_total;
    ssa->ref_start[function->instr_count] = refs;
    ssa->refs = base_new_array(arena, struct ptx_ref, refs);
    for (uint32_t i = 0; i < refs; i++)
        ssa->refs[i].value = PTX_NO_VALUE;
    struct phi_list **lists = base_new_array(arena, struct phi_list *, cfg->block_count);
    place_phis(&builder, lists);
    rename(&builder, lists, ssa->ref_start);
    renumber(&builder, lists);
    ssa->phis = base_new_array(arena, uint32_t *, cfg->block_count);
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        uint32_t count = 0;
        for (struct phi_list *phi = lists[b]; phi; phi = phi->next)
            count++;
        if (!count)
            continue;
        ssa->phis[b] = base_new_array(arena, uint32_t, (size_t)count + 1);
        uint32_t at = 0;
        for (struct phi_list *phi = lists[b]; phi; phi = phi->next)
            ssa->phis[b][at++] = phi->value;
        ssa->phis[b][at] = PTX_NO_VALUE;
    }
    collect_uses(ssa, arena);
    return ssa;
}

uint32_t ptx_ssa_value(const struct ptx_ssa *ssa, const struct ptx_instr *instr,
                       const struct ptx_operand *operand)
{
    for (uint32_t i = ssa->ref_start[instr->index]; i < ssa->ref_start[instr->index + 1]; i++) {
        if (ssa->refs[i].operand == operand)
            return ssa->refs[i].value;
    }
    return PTX_NO_VALUE;
}

uint32_t ptx_ssa_origin(const struct ptx_ssa *ssa, uint32_t value)
{
    for (uint32_t steps = 0; value != PTX_NO_VALUE && steps < ssa->value_count; steps++) {
        const struct ptx_value *at = &ssa->values[value];
        if (at->kind != PTX_VALUE_DEF || at->previous != PTX_NO_VALUE ||
            ptx_op(at->instr) != PTX_OP_MOV || at->instr->operands[0].kind != PTX_OPERAND_REG ||
            at->instr->operands[1].kind != PTX_OPERAND_REG || at->instr->operands[1].select)
            return value;
        value = ptx_ssa_value(ssa, at->instr, &at->instr->operands[1]);
    }
    return value;
}
