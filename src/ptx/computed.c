// SPDX-License-Identifier: Apache-2.0
// Numbers have no roots, but code may compute an address from them: two halves, a pointer XOR a
// key. That does no harm where such a number is used alone, because an address without roots may
// point anywhere. A value that is either such a number or something with roots must not be taken
// for the latter. This pass finds these values, after the roots of all values are known.
#include "computed.h"

// A null pointer, and offsets from it, are no addresses.
enum { LEAST_ADDRESS = 4096 };

static bool is_wide(const struct ptx_value *value)
{
    return ptx_type_info((enum ptx_type)value->reg->type)->bits == 64;
}

// Returns whether an operand that is chosen may be a computed address.
static bool may_be(const struct ptx_provenance *provenance, const struct ptx_instr *instr,
                   const struct ptx_operand *operand)
{
    if (operand->kind == PTX_OPERAND_INT)
        return operand->bits >= LEAST_ADDRESS;
    if (operand->kind != PTX_OPERAND_REG)
        return false;
    const uint32_t value = ptx_ssa_value(provenance->ssa, instr, operand);
    return value != PTX_NO_VALUE && provenance->origins[value].computed;
}

// The same for an operand of a sum, which counts if it is the address.
static bool may_be_base(const struct ptx_provenance *provenance, const struct ptx_instr *instr,
                        const struct ptx_operand *operand)
{
    if (operand->kind != PTX_OPERAND_REG)
        return false;
    const uint32_t value = ptx_ssa_value(provenance->ssa, instr, operand);
    return value != PTX_NO_VALUE && provenance->origins[value].count &&
           provenance->origins[value].computed;
}

static bool is_def_computed(const struct ptx_provenance *provenance, const struct ptx_value *value,
                            const struct ptx_origin *origin)
{
    const struct ptx_instr *instr = value->instr;
    const struct ptx_operand *operands = instr->operands;
    const bool plain = operands[0].kind == PTX_OPERAND_REG && instr->operand_count > 1;
    const enum ptx_op op = ptx_op(instr);
    if (op == PTX_OP_MOV && plain &&
        (operands[1].kind == PTX_OPERAND_INT || operands[1].kind == PTX_OPERAND_REG))
        return may_be(provenance, instr, &operands[1]);
    if (!origin->count)
        return is_wide(value);
    switch (op) {
    case PTX_OP_SELP:
    case PTX_OP_MIN:
    case PTX_OP_MAX:
    case PTX_OP_SLCT:
        return may_be(provenance, instr, &operands[1]) || may_be(provenance, instr, &operands[2]);
    case PTX_OP_CVTA:
    case PTX_OP_CVT:
    case PTX_OP_SHFL:
    case PTX_OP_MAPA:
    case PTX_OP_SUB:
    case PTX_OP_AND:
    case PTX_OP_OR: return may_be_base(provenance, instr, &operands[1]);
    case PTX_OP_ADD:
        return may_be_base(provenance, instr, &operands[1]) ||
               may_be_base(provenance, instr, &operands[2]);
    case PTX_OP_MAD: return may_be_base(provenance, instr, &operands[3]);
    default: return false;
    }
}

static bool is_computed(const struct ptx_provenance *provenance, const struct ptx_value *value,
                        const struct ptx_origin *origin)
{
    const struct ptx_ssa *ssa = provenance->ssa;
    switch ((enum ptx_value_kind)value->kind) {
    case PTX_VALUE_ENTRY: return false;
    case PTX_VALUE_DEF:
        return is_def_computed(provenance, value, origin) ||
               (value->previous != PTX_NO_VALUE && provenance->origins[value->previous].computed);
    case PTX_VALUE_PHI: break;
    }
    for (uint32_t i = 0; i < ssa->cfg->blocks[value->block].pred_count; i++) {
        if (value->arguments[i] != PTX_NO_VALUE &&
            provenance->origins[value->arguments[i]].computed)
            return true;
    }
    return false;
}

void ptx_find_computed(struct ptx_provenance *provenance)
{
    const struct ptx_ssa *ssa = provenance->ssa;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < ssa->value_count; i++) {
            struct ptx_origin *origin = &provenance->origins[i];
            if (!origin->computed && is_computed(provenance, &ssa->values[i], origin))
                changed = origin->computed = true;
        }
    }
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        if (provenance->origins[i].computed && provenance->origins[i].count)
            provenance->origins[i].spaces |= PTX_UNKNOWN_SPACE;
    }
}
