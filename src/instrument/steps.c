// SPDX-License-Identifier: Apache-2.0
// Steps of addresses from round to round of a loop: decides whether they are certainly what the
// affine form says, and joins the steps of unrolled loops, each of which is a part of one.
#include "steps.h"

enum { MOST_DEPTH = 32, MOST_TIMES = 16 };

static bool is_wide(const struct ptx_value *value)
{
    return ptx_type_info((enum ptx_type)value->reg->type)->bits == 64;
}

// Returns whether the value is a 32-bit parameter.
static bool is_small_param(const struct ptx_facts *facts, uint32_t index)
{
    if (index == PTX_NO_VALUE)
        return false;
    const struct ptx_linear *form = &facts->affine->forms[index];
    if (form->constant || form->term_count != 1 || form->terms[0].coefficient != 1 ||
        form->terms[0].symbol_count != 1)
        return false;
    const struct ptx_symbol *symbol = &facts->affine->symbols[form->terms[0].symbols[0]];
    return symbol->kind == PTX_SYMBOL_PARAM &&
           ptx_type_bytes((enum ptx_type)facts->function->params[symbol->index]->type) == 4;
}

// Returns whether the form of the addend is exact if 32-bit parameters are signed.
static bool is_exact(const struct ptx_facts *facts, uint32_t index, unsigned depth)
{
    const struct ptx_value *value = &facts->ssa->values[index];
    if (!facts->affine->forms[index].assumes_no_wrap)
        return true;
    if (!depth || value->kind != PTX_VALUE_DEF || value->instr->guard || !is_wide(value))
        return false;
    const struct ptx_instr *instr = value->instr;
    uint32_t source = ptx_ssa_value(facts->ssa, instr, &instr->operands[1]);
    switch (ptx_op(instr)) {
    case PTX_OP_MUL:
        return ptx_form_has(instr->form, PTX_MOD_WIDE) &&
               ptx_type_info((enum ptx_type)instr->form->types[0])->kind == PTX_CLASS_SIGNED &&
               instr->operands[2].kind == PTX_OPERAND_INT && is_small_param(facts, source);
    case PTX_OP_CVT:
        return ptx_type_info((enum ptx_type)instr->form->types[1])->kind == PTX_CLASS_SIGNED &&
               is_small_param(facts, source);
    case PTX_OP_SHL:
        return instr->operands[2].kind == PTX_OPERAND_INT && source != PTX_NO_VALUE &&
               is_exact(facts, source, depth - 1);
    default: return false;
    }
}

// Follows 64-bit additions from a value to the phi at the loop's header. `at` is that phi, or
// PTX_NO_VALUE while it is unknown. What is added before it is the same in all rounds; *apart
// becomes true if its form is not exact.
static bool leads_to_phi(const struct ptx_facts *facts, uint32_t index, uint32_t loop, uint32_t *at,
                         bool *apart, unsigned depth)
{
    const struct ptx_cfg *cfg = facts->cfg;
    const struct ptx_value *value = index == PTX_NO_VALUE ? NULL : &facts->ssa->values[index];
    bool within = *at != PTX_NO_VALUE; // of the loop's body
    if (!value || !depth || !is_wide(value))
        return false;
    if (index == *at)
        return true;
    if (value->kind == PTX_VALUE_PHI) {
        const struct ptx_block *block = &cfg->blocks[value->block];
        if (within || cfg->loops[loop].header != value->block)
            return false;
        *at = index;
        for (uint32_t i = 0; i < block->pred_count; i++) {
            if (ptx_loop_contains(cfg, loop, block->preds[i]) &&
                !leads_to_phi(facts, value->arguments[i], loop, at, apart, depth - 1))
                return false;
        }
        return true;
    }
    if (value->kind != PTX_VALUE_DEF || value->instr->guard ||
        !ptx_loop_contains(cfg, loop, value->block))
        return false;
    const struct ptx_instr *instr = value->instr;
    enum ptx_op op = ptx_op(instr);
    if (op == PTX_OP_MOV || op == PTX_OP_CVTA)
        return leads_to_phi(facts, ptx_ssa_value(facts->ssa, instr, &instr->operands[1]), loop, at,
                            apart, depth - 1);
    if (op != PTX_OP_ADD && op != PTX_OP_SUB)
        return false;
    // One operand leads to the phi, the other does not change.
    for (unsigned i = 1; i <= (op == PTX_OP_ADD ? 2 : 1); i++) {
        const struct ptx_operand *other = &instr->operands[3 - i];
        uint32_t added = ptx_ssa_value(facts->ssa, instr, other);
        bool fixed = added == PTX_NO_VALUE
                         ? other->kind == PTX_OPERAND_INT
                         : !ptx_loop_contains(cfg, loop, facts->ssa->values[added].block);
        bool exact = fixed && (added == PTX_NO_VALUE || is_exact(facts, added, depth));
        if (!fixed || (within && !exact))
            continue;
        *apart |= !exact;
        return leads_to_phi(facts, ptx_ssa_value(facts->ssa, instr, &instr->operands[i]), loop, at,
                            apart, depth - 1);
    }
    return false;
}

bool instrument_steps_are_wide(const struct instrument_body *body, const struct ptx_site *site,
                               uint32_t *phi)
{
    bool apart = false;
    uint32_t value = ptx_ssa_value(body->facts->ssa, site->instr, &site->address->elements[0]);
    *phi = PTX_NO_VALUE;
    bool leads = leads_to_phi(body->facts, value, site->loop, phi, &apart, MOST_DEPTH);
    if (!leads || apart)
        *phi = PTX_NO_VALUE;
    return leads;
}

// --- Unrolled loops ------------------------------------------------------------------------------

// Returns whether a * m equals b * n.
static bool same_multiples(const struct ptx_linear *a, int64_t m, const struct ptx_linear *b,
                           int64_t n)
{
    if (a->constant * m != b->constant * n || a->term_count != b->term_count)
        return false;
    for (uint16_t i = 0; i < a->term_count; i++) {
        const struct ptx_term *one = &a->terms[i], *other = &b->terms[i];
        bool same = one->coefficient * m == other->coefficient * n &&
                    one->symbol_count == other->symbol_count;
        for (uint8_t k = 0; same && k < one->symbol_count; k++)
            same = one->symbols[k] == other->symbols[k];
        if (!same)
            return false;
    }
    return true;
}

static bool are_alike(const struct instrument_sweep *a, const struct instrument_sweep *b)
{
    bool sure = a->doubted ? b->doubted : a->phi != PTX_NO_VALUE && a->phi == b->phi;
    return sure && a->root == b->root && a->tally == b->tally && a->access == b->access &&
           a->bytes == b->bytes && a->chunk == b->chunk && a->columns == b->columns &&
           a->check == b->check && same_multiples(&a->step, 1, &b->step, 1);
}

// Computes the distance from a to b.
static bool find_distance(const struct instrument_body *body, const struct instrument_sweep *a,
                          const struct instrument_sweep *b, struct ptx_linear *distance)
{
    bool fits = true;
    *distance = ptx_form_subtract(body->facts->affine, &b->form, &a->form, &fits);
    distance->constant += b->offset - a->offset;
    return fits;
}

// Returns the sweep that lies `part` of `times` steps behind the first; PTX_NO_VALUE if there is
// none.
static uint32_t find_part(const struct instrument_body *body, uint32_t first, uint32_t part,
                          uint32_t times)
{
    const struct instrument_sweep *sweeps = body->sweeps.items;
    for (uint32_t i = 0; i < body->sweeps.count; i++) {
        struct ptx_linear distance;
        if (i != first && sweeps[i].times && are_alike(&sweeps[first], &sweeps[i]) &&
            find_distance(body, &sweeps[first], &sweeps[i], &distance) &&
            same_multiples(&distance, times, &sweeps[first].step, part))
            return i;
    }
    return PTX_NO_VALUE;
}

static bool join_from(struct instrument_body *body, uint32_t first, uint32_t times)
{
    struct instrument_sweep *sweeps = body->sweeps.items;
    uint32_t parts[MOST_TIMES];
    struct ptx_linear step;
    for (uint32_t part = 1; part < times; part++) {
        parts[part] = find_part(body, first, part, times);
        if (parts[part] == PTX_NO_VALUE)
            return false;
    }
    find_distance(body, &sweeps[first], &sweeps[parts[1]], &step);
    // The last access of a round represents all of them.
    for (uint32_t part = 1; part < times; part++)
        sweeps[parts[part]].times = 0;
    struct instrument_sweep *last = &sweeps[parts[times - 1]];
    sweeps[first].times = 0;
    last->times = times;
    last->step = step;
    return true;
}

static void join_rounds(struct instrument_body *body)
{
    const struct instrument_sweep *sweeps = body->sweeps.items;
    for (uint32_t i = 0; i < body->sweeps.count; i++) {
        if (sweeps[i].times != 1 || (!sweeps[i].step.term_count && !sweeps[i].step.constant))
            continue;
        for (uint32_t times = MOST_TIMES; times > 1; times--) {
            if (join_from(body, i, times))
                break;
        }
    }
}

// Joins b to a if one follows the other in each round.
static bool join_chunks(struct instrument_sweep *a, const struct instrument_sweep *b)
{
    if (!a->times || a->times != b->times || a->tally != b->tally || a->value != b->value ||
        a->root != b->root || a->access != b->access || a->bytes != b->bytes ||
        !same_multiples(&a->step, 1, &b->step, 1))
        return false;
    bool behind = b->offset == a->offset + (int64_t)a->chunk;
    bool before = b->offset + (int64_t)b->chunk == a->offset;
    if (!behind && !before)
        return false;
    a->chunk += b->chunk;
    a->offset = before ? b->offset : a->offset;
    return true;
}

void instrument_join_sweeps(struct instrument_body *body)
{
    struct instrument_sweep *sweeps = body->sweeps.items;
    join_rounds(body);
    for (size_t i = 0; i < body->sweeps.count; i++) {
        for (size_t k = 0; k < body->sweeps.count;) {
            bool joined = k != i && join_chunks(&sweeps[i], &sweeps[k]);
            if (joined)
                sweeps[k].times = 0;
            k = joined ? 0 : k + 1; // the joined sweep may be adjacent to others
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < body->sweeps.count; i++) {
        if (sweeps[i].times)
            sweeps[kept++] = sweeps[i];
    }
    body->sweeps.count = kept;
}
