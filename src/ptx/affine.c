// SPDX-License-Identifier: Apache-2.0
// Computes the affine forms of values in one pass in reverse post-order: the operands of a value
// are known when it is reached, except around a loop, where phis are recognised as counters by
// their step. A form that becomes too large, or an operation that is not affine, becomes a symbol.
#include "affine.h"

#include <string.h>

#include "forms.h"

// A form under construction, with room for all terms.
struct draft {
    int64_t constant;
    struct ptx_term terms[PTX_FORM_TERMS];
    uint16_t count;
    bool assumes_no_wrap;
    bool failed; // too many terms or symbols, or a coefficient beyond 64 bits
};

static uint32_t symbol_hash(const struct ptx_symbol *symbol)
{
    uint64_t key = (uint64_t)symbol->kind << 40 ^ (uint64_t)symbol->component << 32 ^
                   symbol->index ^ (uint64_t)symbol->offset << 13 ^ (uintptr_t)symbol->var;
    return (uint32_t)base_hash(&key, sizeof(key));
}

static void grow_buckets(struct ptx_affine *affine)
{
    uint32_t count = affine->bucket_count ? affine->bucket_count * 4 : 64;
    uint32_t *buckets = base_new_array(affine->arena, uint32_t, count);
    for (uint32_t i = 0; i < affine->symbol_count; i++) {
        struct ptx_symbol *symbol = &affine->symbols[i];
        uint32_t *bucket = &buckets[symbol_hash(symbol) & (count - 1)];
        symbol->next = *bucket;
        *bucket = i + 1;
    }
    affine->buckets = buckets;
    affine->bucket_count = count;
}

// Returns the number of a symbol; equal symbols have the same number.
static uint32_t intern(struct ptx_affine *affine, struct ptx_symbol symbol)
{
    if (affine->symbol_count >= affine->bucket_count)
        grow_buckets(affine);
    uint32_t *bucket = &affine->buckets[symbol_hash(&symbol) & (affine->bucket_count - 1)];
    for (uint32_t i = *bucket; i; i = affine->symbols[i - 1].next) {
        const struct ptx_symbol *have = &affine->symbols[i - 1];
        if (have->kind == symbol.kind && have->component == symbol.component &&
            have->index == symbol.index && have->offset == symbol.offset && have->var == symbol.var)
            return i - 1;
    }
    size_t count = affine->symbol_count;
    base_array_grow((void *)&affine->symbols, &count, &affine->symbol_capacity,
                    sizeof(*affine->symbols), affine->arena);
    symbol.next = *bucket;
    affine->symbols[affine->symbol_count] = symbol;
    *bucket = ++affine->symbol_count;
    return affine->symbol_count - 1;
}

static int compare_symbols(const struct ptx_term *a, const struct ptx_term *b)
{
    if (a->symbol_count != b->symbol_count)
        return a->symbol_count < b->symbol_count ? -1 : 1;
    return memcmp(a->symbols, b->symbols, a->symbol_count * sizeof(a->symbols[0]));
}

// Coefficients are computed modulo 2^64, as addresses are.
static void add_term(struct draft *draft, const struct ptx_term *term, int64_t factor)
{
    int64_t coefficient = (int64_t)((uint64_t)term->coefficient * (uint64_t)factor);
    for (uint16_t i = 0; i < draft->count; i++) {
        if (compare_symbols(&draft->terms[i], term) == 0) {
            draft->terms[i].coefficient =
                (int64_t)((uint64_t)draft->terms[i].coefficient + (uint64_t)coefficient);
            if (draft->terms[i].coefficient == 0)
                draft->terms[i] = draft->terms[--draft->count];
            return;
        }
    }
    if (coefficient == 0)
        return;
    if (draft->count == PTX_FORM_TERMS) {
        draft->failed = true;
        return;
    }
    draft->terms[draft->count] = *term;
    draft->terms[draft->count++].coefficient = coefficient;
}

static void add_form(struct draft *draft, const struct ptx_linear *form, int64_t factor)
{
    draft->constant =
        (int64_t)((uint64_t)draft->constant + (uint64_t)form->constant * (uint64_t)factor);
    draft->assumes_no_wrap |= form->assumes_no_wrap;
    for (uint16_t i = 0; i < form->term_count && !draft->failed; i++)
        add_term(draft, &form->terms[i], factor);
}

static void multiply_terms(struct draft *draft, const struct ptx_term *a, const struct ptx_term *b)
{
    struct ptx_term product = {0};
    if (a->symbol_count + b->symbol_count > PTX_TERM_SYMBOLS) {
        draft->failed = true;
        return;
    }
    uint8_t i = 0, k = 0;
    while (i < a->symbol_count || k < b->symbol_count) {
        bool from_a =
            k == b->symbol_count || (i < a->symbol_count && a->symbols[i] <= b->symbols[k]);
        product.symbols[product.symbol_count++] = from_a ? a->symbols[i++] : b->symbols[k++];
    }
    product.coefficient = a->coefficient;
    add_term(draft, &product, b->coefficient);
}

static void add_product(struct draft *draft, const struct ptx_linear *a, const struct ptx_linear *b)
{
    add_form(draft, a, b->constant);
    draft->assumes_no_wrap |= b->assumes_no_wrap;
    for (uint16_t k = 0; k < b->term_count; k++) {
        add_term(draft, &b->terms[k], a->constant);
        for (uint16_t i = 0; i < a->term_count && !draft->failed; i++)
            multiply_terms(draft, &a->terms[i], &b->terms[k]);
    }
}

// Reduces numbers to the width of the register; those of 32 and 16 bits are taken as signed: tid.x
// + 4294967295 is tid.x - 1.
static int64_t cut_number(int64_t number, unsigned bits)
{
    return bits == 32 ? (int32_t)number : bits == 16 ? (int16_t)number : number;
}

static void cut(struct draft *draft, unsigned bits)
{
    draft->constant = cut_number(draft->constant, bits);
    uint16_t kept = 0;
    for (uint16_t i = 0; i < draft->count; i++) {
        draft->terms[kept] = draft->terms[i];
        draft->terms[kept].coefficient = cut_number(draft->terms[i].coefficient, bits);
        kept += draft->terms[kept].coefficient != 0;
    }
    draft->count = kept;
}

static struct ptx_linear finish(struct ptx_affine *affine, const struct draft *draft)
{
    struct ptx_linear form = {.constant = draft->constant,
                              .assumes_no_wrap = draft->assumes_no_wrap};
    form.term_count = draft->count;
    form.terms = base_new_array(affine->arena, struct ptx_term, draft->count);
    memcpy(form.terms, draft->terms, draft->count * sizeof(*form.terms));
    return form;
}

static struct ptx_linear of_constant(int64_t constant)
{
    return (struct ptx_linear){.constant = constant};
}

static struct ptx_linear of_symbol(struct ptx_affine *affine, struct ptx_symbol symbol)
{
    struct ptx_linear form = {.term_count = 1};
    form.terms = base_new(affine->arena, struct ptx_term);
    form.terms[0] = (struct ptx_term){1, {intern(affine, symbol)}, 1};
    return form;
}

static struct ptx_linear of_value(struct ptx_affine *affine, uint32_t value)
{
    return of_symbol(affine, (struct ptx_symbol){.kind = PTX_SYMBOL_VALUE, .index = value});
}

struct ptx_linear ptx_form_subtract(struct ptx_affine *affine, const struct ptx_linear *a,
                                    const struct ptx_linear *b, bool *fits)
{
    struct draft draft = {0};
    add_form(&draft, a, 1);
    add_form(&draft, b, -1);
    *fits = !draft.failed;
    return finish(affine, &draft);
}

static bool of_sreg(struct ptx_affine *affine, const struct ptx_operand *operand,
                    struct ptx_linear *form)
{
    enum ptx_symbol_kind kind;
    switch (operand->sreg) {
    case PTX_SREG_ID_TID: kind = PTX_SYMBOL_TID; break;
    case PTX_SREG_ID_NTID: kind = PTX_SYMBOL_NTID; break;
    case PTX_SREG_ID_CTAID: kind = PTX_SYMBOL_CTAID; break;
    case PTX_SREG_ID_NCTAID: kind = PTX_SYMBOL_NCTAID; break;
    case PTX_SREG_ID_LANEID: kind = PTX_SYMBOL_LANEID; break;
    default: return false;
    }
    uint8_t component = operand->select == PTX_MOD_Y ? 1 : operand->select == PTX_MOD_Z ? 2 : 0;
    if (kind != PTX_SYMBOL_LANEID && operand->select != PTX_MOD_X && component == 0)
        return false;
    *form = of_symbol(affine, (struct ptx_symbol){.kind = (uint8_t)kind, .component = component});
    return true;
}

// Returns the bytes per element of a[i].
static int64_t element_bytes(const struct ptx_var *var)
{
    return (int64_t)ptx_type_bytes((enum ptx_type)var->type) * var->vec;
}

// Returns false if nothing but the operand itself is known.
static bool form_of(struct ptx_affine *affine, const struct ptx_instr *instr,
                    const struct ptx_operand *operand, struct ptx_linear *form)
{
    switch ((enum ptx_operand_kind)operand->kind) {
    case PTX_OPERAND_REG: {
        uint32_t value = ptx_ssa_value(affine->ssa, instr, operand);
        if (value == PTX_NO_VALUE || operand->select)
            return false;
        *form = affine->forms[value];
        return true;
    }
    case PTX_OPERAND_INT: *form = of_constant((int64_t)operand->bits); return true;
    case PTX_OPERAND_SREG: return of_sreg(affine, operand, form);
    case PTX_OPERAND_VAR:
        *form = of_symbol(affine, (struct ptx_symbol){.kind = PTX_SYMBOL_VAR, .var = operand->var});
        form->constant =
            operand->flags & PTX_OPERAND_INDEXED
                ? (int64_t)((uint64_t)operand->offset * (uint64_t)element_bytes(operand->var))
                : operand->offset;
        return true;
    case PTX_OPERAND_ADDRESS:
        if (operand->flags & PTX_OPERAND_INDEXED ||
            !form_of(affine, instr, &operand->elements[0], form))
            return false;
        form->constant = (int64_t)((uint64_t)form->constant + (uint64_t)operand->offset);
        return true;
    default: return false;
    }
}

struct ptx_linear ptx_operand_form(struct ptx_affine *affine, const struct ptx_instr *instr,
                                   const struct ptx_operand *operand)
{
    struct ptx_linear form;
    if (form_of(affine, instr, operand, &form))
        return form;
    return of_value(affine, PTX_NO_VALUE);
}

static bool is_constant(const struct ptx_linear *form)
{
    return form->term_count == 0;
}

// Returns whether a 32-bit value is certainly the same when it is sign-extended and zero-extended:
// launch indices and sizes, and small constants.
static bool surely_small(const struct ptx_affine *affine, const struct ptx_linear *form)
{
    if (is_constant(form))
        return form->constant >= 0 && form->constant <= INT32_MAX;
    return form->constant == 0 && form->term_count == 1 && form->terms[0].coefficient == 1 &&
           form->terms[0].symbol_count == 1 &&
           affine->symbols[form->terms[0].symbols[0]].kind <= PTX_SYMBOL_LANEID;
}

int64_t ptx_constant_as(int64_t constant, enum ptx_type type)
{
    const struct ptx_type_info *info = ptx_type_info(type);
    if (info->bits == 32)
        return info->kind == PTX_CLASS_SIGNED ? (int32_t)constant : (int64_t)(uint32_t)constant;
    if (info->bits == 16)
        return info->kind == PTX_CLASS_SIGNED ? (int16_t)constant : (int64_t)(uint16_t)constant;
    return constant;
}

static struct ptx_linear widened(struct ptx_affine *affine, struct ptx_linear form,
                                 enum ptx_type from)
{
    if (is_constant(&form))
        return of_constant(ptx_constant_as(form.constant, from));
    if (!surely_small(affine, &form))
        form.assumes_no_wrap = true;
    return form;
}

// Returns the number of low bits that are zero in every value of the form.
static unsigned trailing_zeros(const struct ptx_linear *form)
{
    uint64_t all = (uint64_t)form->constant;
    for (uint16_t i = 0; i < form->term_count; i++)
        all |= (uint64_t)form->terms[i].coefficient;
    return all ? (unsigned)__builtin_ctzll(all) : 64;
}

// Computes the forms of the operands that an integer instruction reads. Returns false if one is
// unknown.
static bool sources(struct ptx_affine *affine, const struct ptx_instr *instr,
                    struct ptx_linear *forms, unsigned count)
{
    if (instr->operand_count < count + 1)
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (!form_of(affine, instr, &instr->operands[i + 1], &forms[i]))
            return false;
    }
    return true;
}

static bool is_integer(const struct ptx_form *form)
{
    unsigned kind = ptx_type_info((enum ptx_type)form->types[0])->kind;
    return form->type_count &&
           (kind == PTX_CLASS_BITS || kind == PTX_CLASS_SIGNED || kind == PTX_CLASS_UNSIGNED);
}

// Handles ld.param of a kernel, which is a symbol.
static bool param_form(struct ptx_affine *affine, const struct ptx_instr *instr,
                       struct ptx_linear *form)
{
    const struct ptx_operand *address = &instr->operands[1];
    if (instr->form->space != PTX_SPACE_PARAM || address->kind != PTX_OPERAND_ADDRESS ||
        address->elements[0].kind != PTX_OPERAND_VAR || !affine->ssa->cfg->function->is_entry)
        return false;
    const struct ptx_var *var = address->elements[0].var;
    if (!ptx_is_parameter(affine->ssa->cfg->function, var) || address->offset < 0 ||
        address->offset > UINT32_MAX || instr->operands[0].kind != PTX_OPERAND_REG)
        return false;
    *form = of_symbol(affine, (struct ptx_symbol){.kind = PTX_SYMBOL_PARAM,
                                                  .index = var->index,
                                                  .offset = (uint32_t)address->offset});
    return true;
}

static bool multiply_form(struct ptx_affine *affine, const struct ptx_instr *instr,
                          struct draft *draft)
{
    bool wide = ptx_form_has(instr->form, PTX_MOD_WIDE);
    enum ptx_type type = (enum ptx_type)instr->form->types[0];
    bool mad = ptx_op(instr) == PTX_OP_MAD;
    struct ptx_linear forms[3];
    if ((!wide && !ptx_form_has(instr->form, PTX_MOD_LO)) ||
        !sources(affine, instr, forms, mad ? 3 : 2))
        return false;
    for (int i = 0; wide && i < 2; i++)
        forms[i] = widened(affine, forms[i], type);
    if (mad)
        add_form(draft, &forms[2], 1);
    add_product(draft, &forms[0], &forms[1]);
    return true;
}

static bool convert_form(struct ptx_affine *affine, const struct ptx_instr *instr,
                         struct draft *draft)
{
    const struct ptx_form *form = instr->form;
    struct ptx_linear source;
    if (form->type_count < 2 || instr->operands[0].kind != PTX_OPERAND_REG ||
        !sources(affine, instr, &source, 1) || ptx_form_has(form, PTX_MOD_SAT))
        return false;
    const struct ptx_type_info *to = ptx_type_info((enum ptx_type)form->types[0]);
    const struct ptx_type_info *from = ptx_type_info((enum ptx_type)form->types[1]);
    if (from->kind == PTX_CLASS_FLOAT || to->kind == PTX_CLASS_FLOAT || from->bits < 32)
        return false;
    // A register may be wider than the type; how it is filled then is not modelled.
    if (ptx_type_info((enum ptx_type)instr->operands[0].reg->type)->bits > to->bits)
        return false;
    if (to->bits > from->bits)
        source = widened(affine, source, (enum ptx_type)form->types[1]);
    else if (to->bits < from->bits && to->bits < 32)
        return false;
    add_form(draft, &source, 1);
    return true;
}

// Computes the form of an instruction's result. Returns false if it is not affine.
static bool instr_form(struct ptx_affine *affine, const struct ptx_instr *instr,
                       struct ptx_linear *out)
{
    const struct ptx_form *form = instr->form;
    struct draft draft = {0};
    struct ptx_linear in[2];
    if (!is_integer(form) || ptx_form_has(form, PTX_MOD_CC) || ptx_form_has(form, PTX_MOD_SAT))
        return false;
    if (ptx_type_info((enum ptx_type)form->types[0])->packed > 1)
        return false;
    switch (ptx_op(instr)) {
    case PTX_OP_LD: return param_form(affine, instr, out);
    case PTX_OP_MOV:
    case PTX_OP_CVTA:
        if (instr->operands[0].kind != PTX_OPERAND_REG || !sources(affine, instr, in, 1))
            return false;
        add_form(&draft, &in[0], 1);
        break;
    case PTX_OP_CVT:
        if (!convert_form(affine, instr, &draft))
            return false;
        break;
    case PTX_OP_ADD:
    case PTX_OP_SUB:
        if (!sources(affine, instr, in, 2))
            return false;
        add_form(&draft, &in[0], 1);
        add_form(&draft, &in[1], ptx_op(instr) == PTX_OP_ADD ? 1 : -1);
        break;
    case PTX_OP_NEG:
        if (!sources(affine, instr, in, 1))
            return false;
        add_form(&draft, &in[0], -1);
        break;
    case PTX_OP_SHL:
        if (!sources(affine, instr, in, 2) || !is_constant(&in[1]) || in[1].constant < 0 ||
            in[1].constant >= ptx_type_info((enum ptx_type)form->types[0])->bits)
            return false;
        add_form(&draft, &in[0], (int64_t)(UINT64_C(1) << in[1].constant));
        break;
    case PTX_OP_OR:
        // The or of bits that do not overlap equals their sum.
        if (!sources(affine, instr, in, 2) || !is_constant(&in[1]) || in[1].constant < 0 ||
            (trailing_zeros(&in[0]) < 63 && in[1].constant >> trailing_zeros(&in[0])))
            return false;
        add_form(&draft, &in[0], 1);
        add_form(&draft, &in[1], 1);
        break;
    case PTX_OP_MUL:
    case PTX_OP_MAD:
        if (!multiply_form(affine, instr, &draft))
            return false;
        break;
    default: return false;
    }
    if (draft.failed)
        return false;
    unsigned bits = ptx_type_info((enum ptx_type)form->types[0])->bits;
    cut(&draft, ptx_form_has(form, PTX_MOD_WIDE) ? 2 * bits : bits);
    *out = finish(affine, &draft);
    return true;
}

static bool same_form(const struct ptx_linear *a, const struct ptx_linear *b)
{
    struct draft draft = {0};
    add_form(&draft, a, 1);
    add_form(&draft, b, -1);
    return !draft.failed && draft.count == 0 && draft.constant == 0;
}

// Computes the form of a value that is computed inside the loop from values that do not change in
// it, before the pass reaches it. Returns false if it depends on a phi that is not processed yet.
static bool settle(struct ptx_affine *affine, uint32_t index, bool *done, unsigned depth)
{
    const struct ptx_ssa *ssa = affine->ssa;
    if (index == PTX_NO_VALUE || done[index])
        return index != PTX_NO_VALUE;
    const struct ptx_value *value = &ssa->values[index];
    if (value->kind != PTX_VALUE_DEF || value->previous != PTX_NO_VALUE || depth == 0 ||
        value->operand != &value->instr->operands[0])
        return false;
    const struct ptx_instr *instr = value->instr;
    for (uint32_t i = ssa->ref_start[instr->index]; i < ssa->ref_start[instr->index + 1]; i++) {
        if (!ssa->refs[i].is_def && !settle(affine, ssa->refs[i].value, done, depth - 1))
            return false;
    }
    struct ptx_linear form;
    if (!instr_form(affine, instr, &form))
        return false;
    affine->forms[index] = form;
    return done[index] = true;
}

// Returns whether the operand does not change in the loop, and then sets *form.
static bool is_fixed(struct ptx_affine *affine, const struct ptx_instr *instr,
                     const struct ptx_operand *operand, uint32_t loop, bool *done,
                     struct ptx_linear *form)
{
    if (operand->kind == PTX_OPERAND_REG &&
        !settle(affine, ptx_ssa_value(affine->ssa, instr, operand), done, 8))
        return false;
    return form_of(affine, instr, operand, form) && ptx_form_invariant(affine, form, loop);
}

// Computes the sum of steps from the phi to the value of the next iteration: a chain of additions
// of values that do not change in the loop. Returns false if it is not such a chain.
static bool find_step(struct ptx_affine *affine, uint32_t phi, uint32_t back, uint32_t loop,
                      bool *done, struct draft *step)
{
    const struct ptx_ssa *ssa = affine->ssa;
    for (uint32_t at = back, guard = 0; guard < 256; guard++) {
        if (at == phi)
            return !step->failed;
        if (at == PTX_NO_VALUE)
            return false;
        const struct ptx_value *value = &ssa->values[at];
        if (value->kind != PTX_VALUE_DEF || value->previous != PTX_NO_VALUE ||
            !ptx_loop_contains(ssa->cfg, loop, value->block))
            return false;
        const struct ptx_instr *instr = value->instr;
        enum ptx_op op = ptx_op(instr);
        if (!is_integer(instr->form) || ptx_form_has(instr->form, PTX_MOD_CC) ||
            ptx_form_has(instr->form, PTX_MOD_SAT) || instr->operands[0].kind != PTX_OPERAND_REG ||
            ptx_type_info((enum ptx_type)instr->form->types[0])->packed > 1)
            return false;
        if (op == PTX_OP_MOV) {
            at = ptx_ssa_value(ssa, instr, &instr->operands[1]);
            continue;
        }
        if (op != PTX_OP_ADD && op != PTX_OP_SUB)
            return false;
        struct ptx_linear by;
        unsigned moving = 1;
        if (!is_fixed(affine, instr, &instr->operands[2], loop, done, &by)) {
            moving = 2;
            if (op == PTX_OP_SUB || !is_fixed(affine, instr, &instr->operands[1], loop, done, &by))
                return false;
        }
        add_form(step, &by, op == PTX_OP_ADD ? 1 : -1);
        at = instr->operands[moving].kind == PTX_OPERAND_REG
                 ? ptx_ssa_value(ssa, instr, &instr->operands[moving])
                 : PTX_NO_VALUE;
    }
    return false;
}

static struct ptx_linear phi_form(struct ptx_affine *affine, uint32_t index, bool *done)
{
    const struct ptx_ssa *ssa = affine->ssa;
    const struct ptx_value *phi = &ssa->values[index];
    const struct ptx_block *block = &ssa->cfg->blocks[phi->block];
    uint32_t loop = block->loop;
    bool header = loop != PTX_NO_LOOP && ssa->cfg->loops[loop].header == phi->block;
    uint32_t entry = PTX_NO_VALUE, back = PTX_NO_VALUE;
    bool one_entry = true, one_back = true, assumes_no_wrap = false;
    for (uint32_t i = 0; i < block->pred_count; i++) {
        uint32_t argument = phi->arguments[i];
        if (argument == PTX_NO_VALUE)
            continue;
        bool round = header && ptx_loop_contains(ssa->cfg, loop, block->preds[i]);
        assumes_no_wrap |= !round && affine->forms[argument].assumes_no_wrap;
        uint32_t *slot = round ? &back : &entry;
        if (*slot != PTX_NO_VALUE && *slot != argument) {
            // The edges into the block may still have equal forms.
            bool same = !round && done[*slot] && done[argument] &&
                        same_form(&affine->forms[*slot], &affine->forms[argument]);
            *(round ? &one_back : &one_entry) &= same;
        }
        *slot = argument;
    }
    struct draft draft = {0}, step = {0};
    if (entry == PTX_NO_VALUE || !one_entry || !one_back || !done[entry])
        return of_value(affine, index);
    if (!header) {
        struct ptx_linear form = affine->forms[entry];
        form.assumes_no_wrap = assumes_no_wrap;
        return form;
    }
    if (back == PTX_NO_VALUE || !find_step(affine, index, back, loop, done, &step))
        return of_value(affine, index);
    struct ptx_linear counter =
        of_symbol(affine, (struct ptx_symbol){.kind = PTX_SYMBOL_COUNTER, .index = loop});
    struct ptx_linear by = finish(affine, &step);
    add_form(&draft, &affine->forms[entry], 1);
    add_product(&draft, &counter, &by);
    draft.assumes_no_wrap |= assumes_no_wrap;
    cut(&draft, ptx_type_info((enum ptx_type)phi->reg->type)->bits);
    return draft.failed ? of_value(affine, index) : finish(affine, &draft);
}

struct ptx_affine *ptx_affine_build(const struct ptx_ssa *ssa, struct base_arena *arena)
{
    struct ptx_affine *affine = base_new(arena, struct ptx_affine);
    const struct ptx_cfg *cfg = ssa->cfg;
    affine->ssa = ssa;
    affine->arena = arena;
    affine->forms = base_new_array(arena, struct ptx_linear, ssa->value_count);
    bool *done = base_new_array(arena, bool, ssa->value_count);
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        if (ssa->values[i].kind == PTX_VALUE_ENTRY) {
            affine->forms[i] = of_value(affine, i);
            done[i] = true;
        }
    }
    for (uint32_t b = 0; b < cfg->order_count; b++) {
        uint32_t index = cfg->order[b];
        for (uint32_t *phi = ssa->phis[index]; phi && *phi != PTX_NO_VALUE; phi++) {
            affine->forms[*phi] = phi_form(affine, *phi, done);
            done[*phi] = true;
        }
        const struct ptx_block *block = &cfg->blocks[index];
        for (uint32_t i = 0; i < block->instr_count; i++) {
            struct ptx_instr *instr = block->instrs[i];
            for (uint32_t k = ssa->ref_start[instr->index]; k < ssa->ref_start[instr->index + 1];
                 k++) {
                const struct ptx_ref *ref = &ssa->refs[k];
                if (!ref->is_def)
                    continue;
                struct ptx_linear *form = &affine->forms[ref->value];
                if (ssa->values[ref->value].previous != PTX_NO_VALUE ||
                    ref->operand != &instr->operands[0] || !instr_form(affine, instr, form))
                    *form = of_value(affine, ref->value);
                done[ref->value] = true;
            }
        }
    }
    affine->trips = base_new_array(arena, struct ptx_trip, cfg->loop_count);
    ptx_affine_find_trips(affine);
    return affine;
}
