// SPDX-License-Identifier: Apache-2.0
// Finds the products and sums that a GPU computes as one instruction. PTX allows that for floating
// point if neither instruction specifies a rounding, and CUDA's compiler relies on it for c - a *
// b. The results differ in the last bits, so the machine contracts exactly where NVIDIA's assembler
// does. These rules were found by compiling small kernels for sm_90 (CUDA 13.0) and counting their
// instructions:
//
// - The product has no guard and does not saturate. Both instructions flush subnormals, or neither.
// - Every use of the product, perhaps moved or negated, is a sum with another value in the same
//   region. Otherwise no sum is contracted, because no product is computed twice. A guarded
//   definition of the same register is a use, because it may leave the product as it is.
// - A sum of two products contracts the product without other uses, else its first operand.
// - A region (`part` in the code) is a basic block, or a piece of one between fences, calls,
//   instructions that expand to code with branches, and guarded instructions with effects.
// - Code compiled for debugging is not contracted.
//
// The same is done with sums of 64 bits and products of 32-bit integers, which addresses of
// elements are: their results do not differ, and the machine computes less.
//
// Two cases are not handled. In a loop that the assembler unrolls, it may contract a product with a
// sum of the next iteration. And a source of the product may be overwritten before the sum, which
// compilers do not emit.
#include <string.h>

#include "decode.h"

struct contractor {
    const struct ptx_cfg *cfg;
    const struct ptx_ssa *ssa;
    uint32_t *part;      // the region of each instruction, by instruction index
    uint32_t *set_count; // number of instructions that set it, by register id
    bool *stays;         // a guarded definition may leave it as it is, by value
    struct sim_contraction *out;
};

static bool is_arithmetic(const struct ptx_instr *instr)
{
    const struct ptx_form *form = instr->form;
    if (form->type_count != 1 || form->round || instr->operand_count != 3 ||
        instr->operands[0].kind != PTX_OPERAND_REG || instr->operands[0].select)
        return false;
    switch ((enum ptx_type)form->types[0]) {
    case PTX_F32:
    case PTX_F64:
    case PTX_F16:
    case PTX_BF16:
    case PTX_F16X2:
    case PTX_BF16X2: return true;
    default: return false;
    }
}

// Products of 32 bits, of which sums have 64.
static bool is_wide(const struct ptx_instr *product)
{
    const enum ptx_type type = (enum ptx_type)product->form->types[0];
    return ptx_op(product) == PTX_OP_MUL && ptx_form_has(product->form, PTX_MOD_WIDE) &&
           (type == PTX_U32 || type == PTX_S32) && product->operands[0].kind == PTX_OPERAND_REG;
}

static bool is_product(const struct ptx_instr *instr)
{
    return ptx_op(instr) == PTX_OP_MUL && !instr->guard &&
           (is_wide(instr) || (is_arithmetic(instr) && !ptx_form_has(instr->form, PTX_MOD_SAT)));
}

static bool is_wide_sum(const struct ptx_instr *instr)
{
    const struct ptx_form *form = instr->form;
    return ptx_op(instr) == PTX_OP_ADD && form->type_count == 1 &&
           (form->types[0] == PTX_U64 || form->types[0] == PTX_S64) && instr->operand_count == 3 &&
           !ptx_form_has(form, PTX_MOD_CC) && instr->operands[0].kind == PTX_OPERAND_REG;
}

static bool is_sum(const struct ptx_instr *instr)
{
    return is_wide_sum(instr) ||
           ((ptx_op(instr) == PTX_OP_ADD || ptx_op(instr) == PTX_OP_SUB) && is_arithmetic(instr));
}

static bool agree(const struct ptx_instr *instr, const struct ptx_instr *product)
{
    if (is_wide(product))
        return is_wide_sum(instr);
    return instr->form->types[0] == product->form->types[0] &&
           ptx_form_has(instr->form, PTX_MOD_FTZ) == ptx_form_has(product->form, PTX_MOD_FTZ);
}

// Returns whether the instruction copies or negates its operand 1, which is a product or sum, and
// nothing else.
static bool passes_on(const struct ptx_instr *instr, const struct ptx_instr *product)
{
    return !instr->guard && instr->operand_count == 2 &&
           instr->operands[0].kind == PTX_OPERAND_REG &&
           ((ptx_op(instr) == PTX_OP_NEG && !is_wide_sum(product) && agree(instr, product)) ||
            (ptx_op(instr) == PTX_OP_MOV && !instr->operands[1].select));
}

// --- Regions -------------------------------------------------------------------------------------

static bool becomes_branches(const struct ptx_instr *instr)
{
    const struct ptx_form *form = instr->form;
    enum ptx_type type = form->type_count ? (enum ptx_type)form->types[0] : PTX_U32;
    bool is_float = type == PTX_F32 || type == PTX_F64;
    switch (ptx_op(instr)) {
    case PTX_OP_DIV:
    case PTX_OP_REM:
        return is_float ? !ptx_form_has(form, PTX_MOD_APPROX) && !ptx_form_has(form, PTX_MOD_FULL)
                        : type != PTX_U32;
    case PTX_OP_RCP:
    case PTX_OP_SQRT: return !ptx_form_has(form, PTX_MOD_APPROX);
    case PTX_OP_RSQRT: return type == PTX_F64 && !ptx_form_has(form, PTX_MOD_FTZ);
    default: return false;
    }
}

static bool ends_part(const struct ptx_instr *instr)
{
    enum ptx_op op = ptx_op(instr);
    return op == PTX_OP_MEMBAR || (op == PTX_OP_FENCE && instr->form->sem) ||
           op == PTX_OP_PMEVENT || ptx_flags(instr) & PTX_FLAG_CALL || becomes_branches(instr) ||
           (instr->guard &&
            ptx_flags(instr) & (PTX_FLAG_MEMORY | PTX_FLAG_ASYNC | PTX_FLAG_TEXTURE | PTX_FLAG_END |
                                PTX_FLAG_SYNC | PTX_FLAG_EFFECT));
}

// Numbers the regions. Returns false if the function has no product at all.
static bool find_parts(struct contractor *contractor)
{
    const struct ptx_cfg *cfg = contractor->cfg;
    uint32_t part = 0;
    bool any = false;
    for (uint32_t i = 0; i < cfg->order_count; i++, part++) {
        const struct ptx_block *block = &cfg->blocks[cfg->order[i]];
        for (uint32_t k = 0; k < block->instr_count; k++) {
            const struct ptx_instr *instr = block->instrs[k];
            any |= is_product(instr);
            contractor->part[instr->index] = part;
            part += ends_part(instr);
        }
    }
    return any;
}

// --- Products ------------------------------------------------------------------------------------

// Returns the product that an operand of the sum holds, or NULL. *negations counts how often it was
// negated on the way.
static const struct ptx_instr *product_of(const struct contractor *contractor,
                                          const struct ptx_instr *sum, uint8_t operand,
                                          unsigned *negations)
{
    const struct ptx_instr *instr = sum;
    const struct ptx_operand *from = &sum->operands[operand];
    *negations = 0;
    while (from->kind == PTX_OPERAND_REG && !from->select) {
        uint32_t value = ptx_ssa_value(contractor->ssa, instr, from);
        if (value == PTX_NO_VALUE || contractor->ssa->values[value].kind != PTX_VALUE_DEF)
            return NULL;
        instr = contractor->ssa->values[value].instr;
        if (is_product(instr))
            return agree(sum, instr) ? instr : NULL;
        if (!passes_on(instr, sum))
            return NULL;
        *negations += ptx_op(instr) == PTX_OP_NEG;
        from = &instr->operands[1];
    }
    return NULL;
}

// Returns whether the product's sources are unchanged between the product and a later instruction
// of its region.
static bool sources_hold(const struct contractor *contractor, const struct ptx_instr *product,
                         const struct ptx_instr *at)
{
    for (uint8_t i = 1; i <= 2; i++) {
        const struct ptx_operand *source = &product->operands[i];
        if (source->kind != PTX_OPERAND_REG)
            continue;
        uint32_t reg = source->reg->id;
        if (contractor->set_count[reg] <= 1)
            continue;
        for (uint32_t index = product->index; index < at->index; index++) {
            const struct ptx_ssa *ssa = contractor->ssa;
            for (uint32_t r = ssa->ref_start[index]; r < ssa->ref_start[index + 1]; r++) {
                if (ssa->refs[r].is_def && ssa->refs[r].operand->reg == source->reg)
                    return false;
            }
        }
    }
    return true;
}

// Counts the sums that use the value of the product, directly or through copies and negations.
// Returns 0 if any other instruction uses it.
static uint32_t count_sums(const struct contractor *contractor, const struct ptx_instr *product,
                           const struct ptx_instr *from)
{
    uint32_t value = ptx_ssa_value(contractor->ssa, from, &from->operands[0]), count = 0;
    if (value == PTX_NO_VALUE || contractor->stays[value])
        return 0;
    const struct ptx_value *uses = &contractor->ssa->values[value];
    for (uint32_t i = 0; i < uses->use_count; i++) {
        const struct ptx_instr *user = uses->uses[i].instr;
        if (!user || contractor->part[user->index] != contractor->part[product->index])
            return 0;
        uint32_t more = 0;
        if (passes_on(user, product)) {
            more = count_sums(contractor, product, user);
        } else if (is_sum(user) && agree(user, product) && !contractor->out[user->index].product &&
                   sources_hold(contractor, product, user)) {
            unsigned ignored;
            more = product_of(contractor, user, 1, &ignored) !=
                   product_of(contractor, user, 2, &ignored);
        }
        if (!more)
            return 0;
        count += more;
    }
    return count;
}

static void contract(struct contractor *contractor, const struct ptx_instr *product,
                     const struct ptx_instr *from)
{
    uint32_t value = ptx_ssa_value(contractor->ssa, from, &from->operands[0]);
    const struct ptx_value *uses = &contractor->ssa->values[value];
    for (uint32_t i = 0; i < uses->use_count; i++) {
        const struct ptx_instr *user = uses->uses[i].instr;
        if (!is_sum(user)) {
            contract(contractor, product, user);
            continue;
        }
        unsigned negations;
        uint8_t place = product_of(contractor, user, 1, &negations) == product ? 1 : 2;
        product_of(contractor, user, place, &negations);
        bool subtracts = ptx_op(user) == PTX_OP_SUB;
        contractor->out[user->index] =
            (struct sim_contraction){.product = product,
                                     .addend = 3 - place,
                                     .negate_product = (negations & 1) ^ (subtracts && place == 2),
                                     .negate_addend = subtracts && place == 1};
    }
}

static void contract_sums(struct contractor *contractor, uint32_t most_uses)
{
    const struct ptx_cfg *cfg = contractor->cfg;
    for (uint32_t i = 0; i < cfg->order_count; i++) {
        const struct ptx_block *block = &cfg->blocks[cfg->order[i]];
        for (uint32_t k = 0; k < block->instr_count; k++) {
            const struct ptx_instr *sum = block->instrs[k];
            for (uint8_t place = 1; is_sum(sum) && place <= 2; place++) {
                unsigned ignored;
                const struct ptx_instr *product = product_of(contractor, sum, place, &ignored);
                if (!product || contractor->out[sum->index].product)
                    continue;
                const uint32_t count = count_sums(contractor, product, product);
                if (count && count <= most_uses) {
                    contract(contractor, product, product);
                    contractor->out[product->index].product = product;
                }
            }
        }
    }
}

const struct sim_contraction *sim_decode_contractions(const struct ptx_module *module,
                                                      const struct ptx_ssa *ssa,
                                                      struct base_arena *arena)
{
    const struct ptx_cfg *cfg = ssa->cfg;
    struct contractor contractor = {.cfg = cfg, .ssa = ssa};
    size_t count = 1;
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        for (uint32_t k = 0; k < cfg->blocks[b].instr_count; k++) {
            if (cfg->blocks[b].instrs[k]->index >= count)
                count = cfg->blocks[b].instrs[k]->index + (size_t)1;
        }
    }
    contractor.out = base_new_array(arena, struct sim_contraction, count);
    contractor.part = base_new_array(arena, uint32_t, count);
    contractor.set_count = base_new_array(arena, uint32_t, (size_t)cfg->function->reg_count + 1);
    if (strstr(module->target, "debug") || !find_parts(&contractor))
        return contractor.out;
    contractor.stays = base_new_array(arena, bool, (size_t)ssa->value_count + 1);
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        const struct ptx_value *value = &ssa->values[i];
        if (value->kind != PTX_VALUE_DEF)
            continue;
        contractor.set_count[value->reg->id]++;
        if (value->previous != PTX_NO_VALUE)
            contractor.stays[value->previous] = true;
    }
    contract_sums(&contractor, 1);
    contract_sums(&contractor, UINT32_MAX);
    return contractor.out;
}
