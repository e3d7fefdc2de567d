// SPDX-License-Identifier: Apache-2.0
// Object level: accesses whose address changes by a fixed step from round to round of their loop
// are not compared in the loop. If the first and the last address lie in an object, all addresses
// between them do. So the first is compared where the loop is entered, the last where it is left,
// and an address that does not change only where the loop is entered.
//
// Only 64-bit additions of values that the loop does not change qualify. Such an address can only
// return to an object that it left by passing through the whole address space, most of which is
// unmapped, and a launch that accesses unmapped memory fails. Every round must execute the access
// before it can leave the loop, so that every round that began accessed its address. Then the
// loop's register determines both addresses, and the loop keeps nothing.
#include "walks.h"

#include "bounds.h"
#include "left.h"

enum { MOST_DEPTH = 64, MOST_TIMES = 16, MOST_PLACES = 64, MOST_CONSTANT = 1 << 30 };

// Decomposes the result of an instruction that adds values which the loop does not change to
// another value. Returns that value, or PTX_NO_VALUE, and adds the rest to the sum.
static uint32_t take_apart(struct instrument_work *work, const struct instrument_body *body,
                           uint32_t loop, const struct ptx_value *value, struct instrument_sum *sum)
{
    const struct ptx_ssa *ssa = body->facts->ssa;
    const struct ptx_cfg *cfg = body->facts->cfg;
    const struct ptx_instr *instr = value->instr;
    if (value->kind != PTX_VALUE_DEF || instr->guard || value->previous != PTX_NO_VALUE)
        return PTX_NO_VALUE;
    const enum ptx_op op = ptx_op(instr);
    const struct ptx_operand *from = &instr->operands[1], *by = &instr->operands[2];
    if (op == PTX_OP_MOV || op == PTX_OP_CVTA)
        return from->kind == PTX_OPERAND_REG && !from->select ? ptx_ssa_value(ssa, instr, from)
                                                              : PTX_NO_VALUE;
    const struct ptx_type_info *type = ptx_type_info((enum ptx_type)instr->form->types[0]);
    if ((op != PTX_OP_ADD && op != PTX_OP_SUB) || type->bits != 64 ||
        (type->kind != PTX_CLASS_SIGNED && type->kind != PTX_CLASS_UNSIGNED))
        return PTX_NO_VALUE;
    uint32_t added = ptx_ssa_value(ssa, instr, by);
    if (op == PTX_OP_ADD && added != PTX_NO_VALUE &&
        ptx_loop_contains(cfg, loop, ssa->values[added].block)) {
        by = from;
        from = &instr->operands[2];
        added = ptx_ssa_value(ssa, instr, by);
    }
    if (from->kind != PTX_OPERAND_REG || from->select)
        return PTX_NO_VALUE;
    if (by->kind == PTX_OPERAND_INT) {
        const uint64_t constant = op == PTX_OP_ADD ? by->bits : -by->bits;
        sum->constant = (int64_t)((uint64_t)sum->constant + constant);
        return ptx_ssa_value(ssa, instr, from);
    }
    if (by->kind != PTX_OPERAND_REG || by->select || added == PTX_NO_VALUE ||
        ssa->values[added].kind == PTX_VALUE_ENTRY || by->reg->scope->depth || by->reg->vec != 1 ||
        ptx_loop_contains(cfg, loop, ssa->values[added].block))
        return PTX_NO_VALUE;
    *base_array_add(&sum->terms, &work->scratch) =
        (struct instrument_term){by->reg, op == PTX_OP_SUB};
    return ptx_ssa_value(ssa, instr, from);
}

// Follows a value back through such additions to the base of the sum. Returns whether the base is a
// value at the loop's header or from before the loop.
static bool follow(struct instrument_work *work, const struct instrument_body *body, uint32_t loop,
                   uint32_t value, struct instrument_sum *sum)
{
    const struct ptx_ssa *ssa = body->facts->ssa;
    const struct ptx_cfg *cfg = body->facts->cfg;
    for (unsigned depth = 0; depth < MOST_DEPTH && value != PTX_NO_VALUE; depth++) {
        const struct ptx_value *at = &ssa->values[value];
        sum->base = value;
        if (at->kind == PTX_VALUE_ENTRY || at->reg->scope->depth || at->reg->vec != 1 ||
            ptx_type_info((enum ptx_type)at->reg->type)->bits != 64)
            return false;
        if (!ptx_loop_contains(cfg, loop, at->block) ||
            (at->kind == PTX_VALUE_PHI && at->block == cfg->loops[loop].header))
            return true;
        value = take_apart(work, body, loop, at, sum);
    }
    return false;
}

// Returns whether code can be inserted on the edge from one block to another.
static bool has_way(const struct instrument_body *body, uint32_t from)
{
    const struct ptx_block *block = &body->facts->cfg->blocks[from];
    if (!block->instr_count)
        return false;
    const struct ptx_instr *last = block->instrs[block->instr_count - 1];
    struct ptx_call call;
    return !ptx_call_parts(last, &call) && !(ptx_flags(last) & PTX_FLAG_END) &&
           (!(ptx_flags(last) & PTX_FLAG_BRANCH) ||
            (ptx_op(last) == PTX_OP_BRA && last->operand_count == 1 &&
             last->operands[0].kind == PTX_OPERAND_LABEL &&
             !last->operands[0].label->stmt.scope->depth));
}

static bool goes_round(const struct instrument_body *body, const struct ptx_site *site)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    const struct ptx_loop *loop = &cfg->loops[site->loop];
    const struct ptx_block *header = &cfg->blocks[loop->header];
    if (!ptx_dominates(cfg, site->block, loop->last_common))
        return false;
    for (uint32_t i = 0; i < loop->block_count; i++) {
        if (cfg->blocks[loop->blocks[i]].ends)
            return false;
    }
    for (uint32_t i = 0; i < loop->exit_count; i++) {
        if (!ptx_dominates(cfg, site->block, loop->exits[i].from) ||
            !has_way(body, loop->exits[i].from))
            return false;
    }
    for (uint32_t i = 0; i < header->pred_count; i++) {
        if (!ptx_loop_contains(cfg, site->loop, header->preds[i]) &&
            !has_way(body, header->preds[i]))
            return false;
    }
    return true;
}

// Finds what a round adds to the base of the walk. Returns false if that changes.
static bool find_step(struct instrument_work *work, const struct instrument_body *body,
                      struct instrument_walk *walk)
{
    const struct ptx_ssa *ssa = body->facts->ssa;
    const struct ptx_cfg *cfg = body->facts->cfg;
    const struct ptx_value *base = &ssa->values[walk->at.base];
    walk->entered = true;
    walk->left = ptx_loop_contains(cfg, walk->loop, base->block);
    if (!walk->left)
        return true;
    uint32_t set;
    if (!instrument_find_only(body, walk->loop, base->reg, &set) || set == PTX_NO_VALUE)
        return false;
    const struct ptx_block *header = &cfg->blocks[base->block];
    for (uint32_t i = 0; i < header->pred_count; i++) {
        if (ptx_loop_contains(cfg, walk->loop, header->preds[i]) && base->arguments[i] != set)
            return false;
    }
    walk->set_in = ssa->values[set].block;
    const struct ptx_loop *loop = &cfg->loops[walk->loop];
    for (uint32_t i = 0; i < loop->exit_count; i++) {
        if (!ptx_dominates(cfg, walk->set_in, loop->exits[i].from) &&
            !ptx_dominates(cfg, loop->exits[i].from, walk->set_in))
            return false;
    }
    return follow(work, body, walk->loop, set, &walk->step) && walk->step.base == walk->at.base;
}

static bool is_plain(const struct instrument_body *body, const struct instrument_probe *probe)
{
    const struct ptx_operand *address = probe->site->address;
    return probe->shape == SHAPE_FIXED && !probe->site->instr->guard && !body->may_exit &&
           !body->facts->cfg->irreducible && address->kind == PTX_OPERAND_ADDRESS &&
           address->elements[0].kind == PTX_OPERAND_REG;
}

bool instrument_plan_walk(struct instrument_work *work, struct instrument_body *body,
                          const struct instrument_probe *probe)
{
    const struct ptx_site *site = probe->site;
    const struct ptx_operand *address = site->address;
    if (site->loop == PTX_NO_LOOP || !is_plain(body, probe) || !goes_round(body, site))
        return false;
    struct instrument_walk walk = {.loop = site->loop, .probe = probe};
    const uint32_t value = ptx_ssa_value(body->facts->ssa, site->instr, &address->elements[0]);
    if (!follow(work, body, site->loop, value, &walk.at) || !find_step(work, body, &walk))
        return false;
    walk.at.constant += address->offset;
    uint32_t only;
    if (instrument_find_only(body, site->loop, address->elements[0].reg, &only) && only == value)
        walk.own = address->elements[0].reg;
    *base_array_add(&body->walks, &work->scratch) = walk;
    return true;
}

// --- Unrolled loops ------------------------------------------------------------------------------

// Returns how often the sum contains the register.
static int64_t count_in(const struct instrument_sum *sum, const struct ptx_reg *reg)
{
    int64_t count = 0;
    for (size_t i = 0; i < sum->terms.count; i++) {
        if (sum->terms.items[i].reg == reg)
            count += sum->terms.items[i].minus ? -1 : 1;
    }
    return count;
}

// Returns whether b lies `part` of `times` parts of the step behind a.
static bool is_part(const struct instrument_walk *a, const struct instrument_walk *b, int64_t part,
                    int64_t times)
{
    const struct instrument_sum *const sums[] = {&a->at, &b->at, &a->step};
    for (unsigned i = 0; i < 3; i++) {
        if (sums[i]->constant > MOST_CONSTANT || sums[i]->constant < -MOST_CONSTANT)
            return false;
        for (size_t k = 0; k < sums[i]->terms.count; k++) {
            const struct ptx_reg *reg = sums[i]->terms.items[k].reg;
            if (times * (count_in(&b->at, reg) - count_in(&a->at, reg)) !=
                part * count_in(&a->step, reg))
                return false;
        }
    }
    return times * (b->at.constant - a->at.constant) == part * a->step.constant;
}

static struct instrument_walk *find_part(struct instrument_body *body,
                                         const struct instrument_walk *first, uint32_t part,
                                         uint32_t times)
{
    for (size_t i = 0; i < body->walks.count; i++) {
        struct instrument_walk *walk = &body->walks.items[i];
        if (walk != first && walk->entered && walk->left && walk->loop == first->loop &&
            walk->at.base == first->at.base && walk->probe->root == first->probe->root &&
            walk->probe->low == first->probe->low && walk->probe->span == first->probe->span &&
            is_part(first, walk, part, times))
            return walk;
    }
    return NULL;
}

// The accesses that unrolling made of one take turns: the first of the first round and the last of
// the last round bound all of them.
static bool join_from(struct instrument_body *body, struct instrument_walk *first, uint32_t times)
{
    struct instrument_walk *parts[MOST_TIMES] = {first};
    for (uint32_t part = 1; part < times; part++) {
        parts[part] = find_part(body, first, part, times);
        if (!parts[part])
            return false;
    }
    for (uint32_t part = 0; part < times; part++) {
        parts[part]->entered = part == 0;
        parts[part]->left = part == times - 1;
    }
    return true;
}

void instrument_join_walks(struct instrument_body *body)
{
    for (size_t i = 0; i < body->walks.count; i++) {
        struct instrument_walk *walk = &body->walks.items[i];
        for (uint32_t times = MOST_TIMES; walk->entered && walk->left && times > 1; times--) {
            if (join_from(body, walk, times))
                break;
        }
    }
}

// Removes an access that lies in the middle between two others of the same round and block: if
// those are in an object, it is too.
static bool lies_between(const struct instrument_sum *low, const struct instrument_sum *middle,
                         const struct instrument_sum *high)
{
    const struct instrument_sum *const sums[] = {low, middle, high};
    bool apart = low->constant != high->constant;
    for (unsigned i = 0; i < 3; i++) {
        if (sums[i]->constant > MOST_CONSTANT || sums[i]->constant < -MOST_CONSTANT)
            return false;
        for (size_t k = 0; k < sums[i]->terms.count; k++) {
            const struct ptx_reg *reg = sums[i]->terms.items[k].reg;
            const int64_t first = count_in(low, reg), last = count_in(high, reg);
            if (2 * count_in(middle, reg) != first + last)
                return false;
            apart |= first != last;
        }
    }
    return apart && 2 * middle->constant == low->constant + high->constant;
}

struct place {
    struct instrument_probe *probe;
    struct instrument_sum at;
    bool between;
};

static bool are_alike(const struct place *a, const struct place *b)
{
    return a->probe->root == b->probe->root && a->probe->span == b->probe->span &&
           a->at.base == b->at.base;
}

void instrument_thin_rounds(struct instrument_work *work, struct instrument_body *body)
{
    struct place places[MOST_PLACES];
    for (uint32_t i = 0; i < body->probe_count;) {
        const uint32_t block = body->probes[i].site->block;
        uint32_t count = 0;
        for (; i < body->probe_count && body->probes[i].site->block == block; i++) {
            struct instrument_probe *probe = &body->probes[i];
            const struct ptx_site *site = probe->site;
            if (count == MOST_PLACES || !probe->bounded || probe->walks ||
                site->loop == PTX_NO_LOOP || !is_plain(body, probe))
                continue;
            struct place *place = &places[count++];
            *place = (struct place){.probe = probe};
            follow(work, body, site->loop,
                   ptx_ssa_value(body->facts->ssa, site->instr, &site->address->elements[0]),
                   &place->at);
            place->at.constant += site->address->offset + probe->low;
        }
        for (uint32_t k = 0; k < count * count; k++) {
            const struct place *low = &places[k / count], *high = &places[k % count];
            for (uint32_t m = 0; low < high && are_alike(low, high) && m < count; m++) {
                if (are_alike(low, &places[m]) && lies_between(&low->at, &places[m].at, &high->at))
                    places[m].between = true;
            }
        }
        // The outermost accesses lie between no others, so they stay.
        for (uint32_t k = 0; k < count; k++)
            places[k].probe->bounded = !places[k].between;
    }
}

// --- Text ----------------------------------------------------------------------------------------

static void emit_sum(struct base_buf *out, const struct instrument_sum *sum, bool minus)
{
    for (size_t i = 0; i < sum->terms.count; i++)
        base_buf_printf(out, "%s.s64 %%glint$a, %%glint$a, %s;\n",
                        sum->terms.items[i].minus == minus ? "add" : "sub",
                        sum->terms.items[i].reg->name);
    if (sum->constant)
        base_buf_printf(out, "%s.s64 %%glint$a, %%glint$a, %lld;\n", minus ? "sub" : "add",
                        (long long)sum->constant);
}

static void emit_walk(struct instrument_work *work, const struct instrument_body *body,
                      const struct instrument_walk *walk, bool leaves, bool moved)
{
    struct base_buf *out = &work->out;
    struct instrument_sum at = walk->at;
    const struct ptx_reg *from = body->facts->ssa->values[at.base].reg;
    const bool own = leaves && walk->own;
    if (own)
        at = (struct instrument_sum){.constant = walk->probe->site->address->offset};
    at.constant += walk->probe->low;
    base_buf_printf(out, "{\n.reg .b64 %%glint$a, %%glint$d<2>;\nmov.b64 %%glint$a, %s;\n",
                    own ? walk->own->name : from->name);
    if (moved && !own)
        emit_sum(out, &walk->step, true);
    emit_sum(out, &at, false);
    instrument_emit_within(work, walk->probe);
    base_buf_puts(out, "}\n");
}

// Writes the checks for the edge from one block to another. Returns whether there are any. Writes
// nothing if `emits` is false.
static bool pass(struct instrument_work *work, const struct instrument_body *body, uint32_t from,
                 uint32_t to, bool emits)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    bool any = false;
    for (size_t i = 0; i < body->walks.count; i++) {
        const struct instrument_walk *walk = &body->walks.items[i];
        const bool leaves = ptx_loop_contains(cfg, walk->loop, from);
        if (leaves == ptx_loop_contains(cfg, walk->loop, to) ||
            !(leaves ? walk->left : walk->entered))
            continue;
        any = true;
        if (emits)
            emit_walk(work, body, walk, leaves, leaves && ptx_dominates(cfg, walk->set_in, from));
    }
    return any;
}

static const struct ptx_block *block_that_ends(const struct instrument_body *body,
                                               const struct ptx_instr *instr, uint32_t *number)
{
    *number = body->facts->cfg->block_of[instr->index];
    const struct ptx_block *block = &body->facts->cfg->blocks[*number];
    return body->walks.count && block->order != PTX_NO_BLOCK &&
                   block->instrs[block->instr_count - 1] == instr
               ? block
               : NULL;
}

bool instrument_emit_branch(struct instrument_work *work, const struct instrument_body *body,
                            const struct ptx_instr *instr)
{
    uint32_t from;
    const struct ptx_block *block = block_that_ends(body, instr, &from);
    if (!block || ptx_op(instr) != PTX_OP_BRA || !block->succ_count)
        return false;
    const uint32_t to = block->succs[0];
    if (!pass(work, body, from, to, false))
        return false;
    if (!instr->guard) {
        pass(work, body, from, to, true);
        return false;
    }
    // The checks for the edge to the label are written at the end of the function.
    const uint32_t label = work->labels++;
    base_buf_printf(&work->out, "%s%s %s $glint$%u;\n", instr->guard_negated ? "@!" : "@",
                    instr->guard->name, instr->form->text, label);
    struct base_buf text = work->out;
    work->out = work->ways;
    base_buf_printf(&work->out, "$glint$%u:\n", label);
    pass(work, body, from, to, true);
    base_buf_printf(&work->out, "bra %s;\n", instr->operands[0].label->name);
    work->ways = work->out;
    work->out = text;
    return true;
}

void instrument_emit_passing(struct instrument_work *work, const struct instrument_body *body,
                             const struct ptx_instr *instr)
{
    uint32_t from;
    const struct ptx_block *block = block_that_ends(body, instr, &from);
    const bool branches = ptx_flags(instr) & PTX_FLAG_BRANCH;
    if (block && block->succ_count && (!branches || instr->guard))
        pass(work, body, from, block->succs[block->succ_count - 1], true);
}
