// SPDX-License-Identifier: Apache-2.0
// Requests of whole warps whose cost follows from the launch alone: their probes only count warps.
//
// The address of such an instruction is an affine form in which the thread's indices have factors
// that the launch knows. If everything else in the form moves the address by whole lines, all whole
// warps take the same sectors; where it is moved by anything, they take the same wavefronts.
//
// Forms hold if 32-bit parts of addresses do not wrap around. A warp in which they did would reach
// addresses at least 4 GiB apart.
#include "regular.h"

#include <string.h>

#include "lanes.h"
#include "plan.h"

// --- From the code -------------------------------------------------------------------------------

// Returns how many bytes of the parameter are loaded there, or 0 if loads disagree.
static uint32_t loaded_bytes(const struct instrument_body *body, const struct ptx_symbol *symbol)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        for (uint32_t k = 0; k < cfg->blocks[i].instr_count; k++) {
            const struct ptx_instr *instr = cfg->blocks[i].instrs[k];
            if (ptx_op(instr) != PTX_OP_LD || instr->form->space != PTX_SPACE_PARAM)
                continue;
            const struct ptx_operand *address = &instr->operands[1];
            if (address->kind != PTX_OPERAND_ADDRESS ||
                address->elements[0].kind != PTX_OPERAND_VAR ||
                address->elements[0].var->index != symbol->index ||
                address->offset != symbol->offset)
                continue;
            const uint32_t own = instr->operands[0].kind == PTX_OPERAND_REG
                                     ? ptx_type_bytes((enum ptx_type)instr->form->types[0])
                                     : 0;
            if (!own || (bytes && bytes != own))
                return 0;
            bytes = own;
        }
    }
    return bytes;
}

// Adds a factor that the launch knows. Returns false if it does not.
static bool add_factor(const struct instrument_body *body, const struct instrument_probe *probe,
                       const struct ptx_symbol *symbol, struct instrument_form_term *term)
{
    struct instrument_factor *factor = &term->factors[term->factor_count];
    *factor = (struct instrument_factor){.component = symbol->component};
    switch (symbol->kind) {
    case PTX_SYMBOL_NTID: factor->kind = INSTRUMENT_FACTOR_NTID; break;
    case PTX_SYMBOL_NCTAID: factor->kind = INSTRUMENT_FACTOR_NCTAID; break;
    case PTX_SYMBOL_PARAM:
        factor->kind = INSTRUMENT_FACTOR_PARAM;
        factor->offset = instrument_param_offset(body->function, symbol->index) + symbol->offset;
        factor->bytes = (uint8_t)loaded_bytes(body, symbol);
        if (factor->bytes != 4 && factor->bytes != 8)
            return false;
        break;
    case PTX_SYMBOL_VAR:
        // Moving all addresses of shared memory by words moves them to other banks, but no closer.
        if (probe->site->actual_space == PTX_SPACE_SHARED) {
            term->of = INSTRUMENT_TERM_VARIES;
            term->coefficient *= symbol->var->align >= PTX_BANK_BYTES ? PTX_BANK_BYTES : 1;
            return true;
        }
        if (probe->root == INSTRUMENT_NONE ||
            body->kernel->roots[probe->root].kind != INSTRUMENT_ROOT_VARIABLE)
            return false;
        factor->kind = INSTRUMENT_FACTOR_ROOT;
        break;
    default: return false;
    }
    term->factor_count++;
    return true;
}

static bool add_symbol(const struct instrument_body *body, const struct instrument_probe *probe,
                       const struct ptx_symbol *symbol, struct instrument_form_term *term)
{
    switch (symbol->kind) {
    case PTX_SYMBOL_TID:
    case PTX_SYMBOL_LANEID:
        if (term->of != INSTRUMENT_TERM_FIXED)
            return false;
        term->of = symbol->kind == PTX_SYMBOL_LANEID
                       ? INSTRUMENT_TERM_LANE
                       : (uint8_t)(INSTRUMENT_TERM_X + symbol->component);
        return true;
    case PTX_SYMBOL_CTAID:
    case PTX_SYMBOL_COUNTER:
    case PTX_SYMBOL_VALUE:
        if (term->of != INSTRUMENT_TERM_FIXED && term->of != INSTRUMENT_TERM_VARIES)
            return false;
        term->of = INSTRUMENT_TERM_VARIES;
        return true;
    default: return add_factor(body, probe, symbol, term);
    }
}

static bool add_term(const struct instrument_body *body, const struct instrument_probe *probe,
                     const struct ptx_term *from, struct instrument_form *form)
{
    struct instrument_form_term *term = &form->terms[form->term_count++];
    *term = (struct instrument_form_term){.coefficient = from->coefficient};
    for (uint8_t i = 0; i < from->symbol_count; i++) {
        if (!add_symbol(body, probe, &body->facts->affine->symbols[from->symbols[i]], term))
            return false;
    }
    return true;
}

bool instrument_describe_form(struct instrument_work *work, const struct instrument_body *body,
                              const struct instrument_probe *probe, const struct ptx_linear *from,
                              struct instrument_form *form)
{
    form->constant = from->constant;
    form->terms = base_new_array(work->arena, struct instrument_form_term, from->term_count);
    for (uint16_t i = 0; i < from->term_count; i++) {
        if (!add_term(body, probe, &from->terms[i], form))
            return false;
    }
    return true;
}

struct instrument_form *instrument_form_of(struct instrument_work *work,
                                           const struct instrument_body *body,
                                           const struct instrument_probe *probe)
{
    static const struct ptx_block_size row, any = {3, 3, 3};
    const struct ptx_site *site = probe->site;
    if (instrument_lanes_may_meet(body->facts, site))
        return NULL;
    struct instrument_form *form = base_new(work->arena, struct instrument_form);
    if (!(site->deps & (PTX_DEP_ANY_LANE | PTX_DEP_MEMORY | PTX_DEP_BLOCK)))
        return form; // all lanes have one address
    if (!instrument_describe_form(work, body, probe, &site->form, form))
        return NULL;
    form->rows = !ptx_site_is_even(body->facts, site, &any);
    return ptx_site_is_even(body->facts, site, &row) ? form : NULL;
}

// --- In a launch ---------------------------------------------------------------------------------

static uint64_t value_of(const struct instrument_factor *factor,
                         const struct instrument_launch *launch, uint32_t root)
{
    switch (factor->kind) {
    case INSTRUMENT_FACTOR_NTID: return launch->block[factor->component];
    case INSTRUMENT_FACTOR_NCTAID: return launch->grid[factor->component];
    case INSTRUMENT_FACTOR_ROOT: return launch->roots[root];
    default: break;
    }
    uint64_t wide = 0;
    int32_t narrow;
    if (factor->bytes == 8) {
        memcpy(&wide, launch->params + factor->offset, sizeof(wide));
        return wide;
    }
    memcpy(&narrow, launch->params + factor->offset, sizeof(narrow));
    return (uint64_t)(int64_t)narrow;
}

uint64_t instrument_term_value(const struct instrument_form_term *term,
                               const struct instrument_launch *launch, uint32_t root)
{
    uint64_t value = (uint64_t)term->coefficient;
    for (uint32_t k = 0; k < term->factor_count; k++)
        value *= value_of(&term->factors[k], launch, root);
    return value;
}

bool instrument_find_place(const struct instrument_form *form, uint32_t root,
                           const struct instrument_launch *launch, struct instrument_place *place)
{
    // Less than 4 GiB between the lanes of a warp.
    enum { MOST_STRIDE = 1 << 25 };
    *place = (struct instrument_place){.first = (uint64_t)form->constant};
    for (uint32_t i = 0; i < form->term_count; i++) {
        const struct instrument_form_term *term = &form->terms[i];
        const uint64_t value = instrument_term_value(term, launch, root);
        switch (term->of) {
        case INSTRUMENT_TERM_FIXED: place->first += value; break;
        case INSTRUMENT_TERM_VARIES: place->varies |= value; break;
        case INSTRUMENT_TERM_X: place->stride.x += (int64_t)value; break;
        case INSTRUMENT_TERM_Y: place->stride.y += (int64_t)value; break;
        case INSTRUMENT_TERM_Z: place->stride.z += (int64_t)value; break;
        default: place->stride.lane += (int64_t)value; break;
        }
    }
    const int64_t parts[] = {place->stride.x, place->stride.y, place->stride.z, place->stride.lane};
    for (int i = 0; i < 4; i++) {
        if (parts[i] >= MOST_STRIDE || parts[i] <= -MOST_STRIDE)
            return false;
    }
    return true;
}
