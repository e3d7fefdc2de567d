// SPDX-License-Identifier: Apache-2.0
// Decides which kernels access the same memory in every launch that has the same parameters: those
// whose branches, guards and addresses depend on nothing but parameters, the sizes of grid and
// blocks, and the indices of threads and blocks. What they load may only end up in what they store.
// If the code does not prove it, the answer is no.
#include "repeats.h"

// What addresses and control flow may depend on. Lanes are left out: what a shuffle returns in
// lanes that nobody answers is undefined, and may be different every time.
enum { ALLOWED = PTX_DEP_TID | PTX_DEP_CTAID };

static bool is_fixed(uint16_t deps)
{
    return !(deps & ~(uint16_t)ALLOWED);
}

// Returns whether the function does what the dependences of its values do not cover.
static bool is_doubtful(const struct instrument_body *body)
{
    const struct ptx_function *function = body->function;
    return !function->is_entry || body->is_child || body->facts->cfg->irreducible ||
           body->callee_count || body->calls_any || body->calls_outside || body->launches ||
           body->other_effects || body->allocates || body->textures || body->tensors ||
           ptx_function_attr(function, ".reqnctapercluster") ||
           ptx_function_attr(function, ".explicitcluster");
}

// Returns whether another launch of the same size may read something else in the register, as far
// as dependences do not say it.
static bool is_of_launch(enum ptx_sreg sreg)
{
    if (sreg == PTX_SREG_ID_TID || sreg == PTX_SREG_ID_NTID || sreg == PTX_SREG_ID_CTAID ||
        sreg == PTX_SREG_ID_NCTAID)
        return false;
    const enum ptx_sreg_dependence dependence = ptx_sreg_info(sreg)->dependence;
    return dependence == PTX_SREG_NONE || dependence == PTX_SREG_CTAID;
}

static bool reads_launch(const struct ptx_operand *operand)
{
    if (operand->kind == PTX_OPERAND_SREG)
        return is_of_launch(operand->sreg);
    switch ((enum ptx_operand_kind)operand->kind) {
    case PTX_OPERAND_ADDRESS:
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_LIST:
    case PTX_OPERAND_PAIR: break;
    default: return false;
    }
    for (uint16_t i = 0; i < operand->count; i++) {
        if (reads_launch(&operand->elements[i]))
            return true;
    }
    return false;
}

// Returns whether some register may be read that has no value yet.
static bool reads_undefined(const struct ptx_ssa *ssa)
{
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        const struct ptx_value *value = &ssa->values[i];
        const bool keeps = value->kind == PTX_VALUE_DEF && value->previous != PTX_NO_VALUE;
        if ((value->kind == PTX_VALUE_ENTRY && value->use_count) ||
            (keeps && ssa->values[value->previous].kind == PTX_VALUE_ENTRY))
            return true;
    }
    return false;
}

static bool is_guard_fixed(const struct ptx_uniformity *uniformity, const struct ptx_instr *instr)
{
    const struct ptx_ssa *ssa = uniformity->ssa;
    const uint32_t guard = instr->guard ? ptx_ssa_value(ssa, instr, NULL) : PTX_NO_VALUE;
    return guard == PTX_NO_VALUE ||
           is_fixed(ptx_value_deps(uniformity, guard, ssa->cfg->block_of[instr->index]));
}

// Returns whether the instruction is one whose operands say what it does to memory, if it does
// anything. Constants are no parameters: the program may write them between two launches.
static bool is_plain(const struct ptx_instr *instr)
{
    switch (ptx_op(instr)) {
    case PTX_OP_LD:
    case PTX_OP_LDU: return instr->form->space != PTX_SPACE_CONST;
    case PTX_OP_ST:
    case PTX_OP_ATOM:
    case PTX_OP_RED:
    case PTX_OP_CP_ASYNC: return true;
    case PTX_OP_UNKNOWN: return false;
    default:
        return !(ptx_flags(instr) &
                 (PTX_FLAG_MEMORY | PTX_FLAG_ASYNC | PTX_FLAG_TEXTURE | PTX_FLAG_CALL));
    }
}

// Returns whether the instruction does the same in every launch, as far as it accesses memory or
// decides where threads go. What asynchronous copies move is an operand, too.
static bool is_instr_fixed(const struct ptx_uniformity *uniformity, const struct ptx_instr *instr)
{
    const uint16_t flags = ptx_flags(instr);
    const bool acts = flags & (PTX_FLAG_MEMORY | PTX_FLAG_ASYNC | PTX_FLAG_END | PTX_FLAG_BRANCH |
                               PTX_FLAG_SYNC | PTX_FLAG_EFFECT);
    if (!is_plain(instr) || (acts && !is_guard_fixed(uniformity, instr)))
        return false;
    for (uint8_t i = 0; i < instr->operand_count; i++) {
        const struct ptx_operand *operand = &instr->operands[i];
        const bool decides = operand->kind == PTX_OPERAND_ADDRESS || flags & PTX_FLAG_ASYNC;
        if (reads_launch(operand) ||
            (acts && decides && !is_fixed(ptx_operand_deps(uniformity, instr, operand))))
            return false;
    }
    return true;
}

bool instrument_repeats(const struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    const struct ptx_uniformity *uniformity = body->facts->uniformity;
    if (is_doubtful(body) || reads_undefined(uniformity->ssa))
        return false;
    for (uint32_t i = 0; i < cfg->order_count; i++) {
        const struct ptx_block *block = &cfg->blocks[cfg->order[i]];
        if (!is_fixed(uniformity->branch_deps[cfg->order[i]]))
            return false;
        for (uint32_t k = 0; k < block->instr_count; k++) {
            if (!is_instr_fixed(uniformity, block->instrs[k]))
                return false;
        }
    }
    return true;
}
