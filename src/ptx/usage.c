// SPDX-License-Identifier: Apache-2.0
// Computes access types by union-find: values connected by copies (mov, phi, selp, shuffles,
// guarded definitions) form a class. Every other instruction adds what it states about its operands
// as evidence to their classes. The type of a class is what most of the evidence states. Constants
// connect nothing: compilers use one register with a zero for counters and for sums of floats.
#include "usage.h"

#include <string.h>

struct ptx_evidence {
    uint16_t floats[PTX_TYPE_COUNT]; // number of operands of each floating-point type
    uint32_t is_signed, is_unsigned, integer, address;
    uint32_t bits; // number of operands of instructions that take any type: logic, equality
    const struct ptx_instr *packing; // a move that packs it from equal parts or unpacks it
};

static uint32_t find(const struct ptx_usage *usage, uint32_t value)
{
    while (usage->leader[value] != value) {
        usage->leader[value] = usage->leader[usage->leader[value]];
        value = usage->leader[value];
    }
    return value;
}

// Returns whether the value is an integer constant, whose bits do not show a type.
static bool is_constant(const struct ptx_usage *usage, uint32_t index)
{
    const struct ptx_value *value = &usage->ssa->values[index];
    return value->kind == PTX_VALUE_DEF && value->previous == PTX_NO_VALUE &&
           ptx_op(value->instr) == PTX_OP_MOV &&
           value->instr->operands[1].kind == PTX_OPERAND_INT &&
           ptx_type_info((enum ptx_type)value->instr->form->types[0])->kind != PTX_CLASS_FLOAT;
}

static void unite(struct ptx_usage *usage, uint32_t a, uint32_t b)
{
    if (a == PTX_NO_VALUE || b == PTX_NO_VALUE || is_constant(usage, a) || is_constant(usage, b))
        return;
    a = find(usage, a);
    b = find(usage, b);
    usage->leader[a > b ? a : b] = a > b ? b : a;
}

static bool is_copy(const struct ptx_instr *instr)
{
    switch (ptx_op(instr)) {
    case PTX_OP_MOV:
    case PTX_OP_SELP:
    case PTX_OP_SHFL: return true;
    case PTX_OP_ATOM: // exchanges: what is there is what comes there
        return ptx_type_info((enum ptx_type)instr->form->types[0])->kind == PTX_CLASS_BITS &&
               (ptx_form_has(instr->form, PTX_MOD_EXCH) || ptx_form_has(instr->form, PTX_MOD_CAS));
    default: return false;
    }
}

static uint32_t value_of(const struct ptx_usage *usage, const struct ptx_instr *instr,
                         const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_REG ? ptx_ssa_value(usage->ssa, instr, operand)
                                            : PTX_NO_VALUE;
}

// A move that packs or unpacks connects the parts to the whole instead of copying.
static void unite_copies(struct ptx_usage *usage, const struct ptx_instr *instr)
{
    uint32_t to = value_of(usage, instr, &instr->operands[0]);
    if (ptx_op(instr) == PTX_OP_SHFL && instr->operands[0].kind == PTX_OPERAND_PAIR)
        to = value_of(usage, instr, &instr->operands[0].elements[0]);
    if (ptx_op(instr) != PTX_OP_ATOM)
        unite(usage, to, value_of(usage, instr, &instr->operands[1]));
    else if (instr->operand_count > 3)
        unite(usage, to, value_of(usage, instr, &instr->operands[3]));
    if ((ptx_op(instr) == PTX_OP_SELP || ptx_op(instr) == PTX_OP_ATOM) && instr->operand_count > 2)
        unite(usage, to, value_of(usage, instr, &instr->operands[2]));
}

static void note_type(struct ptx_evidence *evidence, const struct ptx_instr *instr,
                      enum ptx_type type)
{
    const struct ptx_type_info *info = ptx_type_info(type);
    enum ptx_op op = ptx_op(instr);
    // Compilers write .s32 for any sum or product and .u32 or .b32 for any load, which at most says
    // "integer". Comparisons, divisions, extremes and conversions depend on the sign.
    bool signless =
        op == PTX_OP_ADD || op == PTX_OP_SUB || op == PTX_OP_NEG ||
        ((op == PTX_OP_MUL || op == PTX_OP_MAD) && ptx_form_has(instr->form, PTX_MOD_LO));
    bool equality =
        op == PTX_OP_SETP && (instr->form->cmp == PTX_MOD_EQ || instr->form->cmp == PTX_MOD_NE);
    if (info->kind == PTX_CLASS_FLOAT)
        evidence->floats[type] += evidence->floats[type] < UINT16_MAX;
    else if (info->kind == PTX_CLASS_PREDICATE || info->kind == PTX_CLASS_OPAQUE)
        return;
    else if (equality || info->kind == PTX_CLASS_BITS)
        evidence->bits++;
    else if (signless)
        evidence->integer++;
    else if (info->kind == PTX_CLASS_SIGNED)
        evidence->is_signed++;
    else
        evidence->is_unsigned++;
}

// Returns the type that the instruction gives to its operand at that position, or none.
static enum ptx_type stated_type(const struct ptx_instr *instr, uint8_t position)
{
    const struct ptx_form *form = instr->form;
    struct ptx_cell cell = ptx_op_cell(ptx_op(instr), position);
    if (cell.type >= '0' && cell.type <= '5') {
        unsigned index = (unsigned)(cell.type - '0');
        return index < form->type_count ? (enum ptx_type)form->types[index] : PTX_TYPE_NONE;
    }
    if (cell.type == 'w' && form->type_count && !ptx_form_has(form, PTX_MOD_WIDE))
        return (enum ptx_type)form->types[0];
    if (cell.type == 'w' && form->type_count) {
        bool is_signed = ptx_type_info((enum ptx_type)form->types[0])->kind == PTX_CLASS_SIGNED;
        bool from32 = ptx_type_info((enum ptx_type)form->types[0])->bits == 32;
        return from32 ? (is_signed ? PTX_S64 : PTX_U64) : is_signed ? PTX_S32 : PTX_U32;
    }
    return PTX_TYPE_NONE;
}

static void note_operand(struct ptx_usage *usage, const struct ptx_instr *instr,
                         const struct ptx_operand *operand, enum ptx_type type, bool in_address)
{
    if (operand->kind == PTX_OPERAND_REG) {
        uint32_t value = ptx_ssa_value(usage->ssa, instr, operand);
        if (value == PTX_NO_VALUE)
            return;
        struct ptx_evidence *evidence = &usage->evidence[find(usage, value)];
        if (in_address)
            evidence->address++;
        else if (type != PTX_TYPE_NONE)
            note_type(evidence, instr, type);
        return;
    }
    if (operand->kind < PTX_OPERAND_ADDRESS || operand->kind > PTX_OPERAND_PAIR)
        return;
    bool address = operand->kind == PTX_OPERAND_ADDRESS;
    for (uint16_t i = 0; i < operand->count; i++) {
        // Only the base of an address is an address; coordinates of textures are numbers. The
        // second element of a pair is a predicate.
        enum ptx_type inner =
            (address || (operand->kind == PTX_OPERAND_PAIR && i)) ? PTX_TYPE_NONE : type;
        note_operand(usage, instr, &operand->elements[i], inner, address && i == 0);
    }
}

// Finds {a, b} on one side of a mov and the whole on the other. Returns false if the instruction is
// not such a move.
static bool packing_parts(const struct ptx_instr *instr, const struct ptx_operand **whole,
                          const struct ptx_operand **parts)
{
    bool unpacks = instr->operands[0].kind == PTX_OPERAND_VECTOR;
    *parts = &instr->operands[!unpacks];
    *whole = &instr->operands[unpacks];
    return ptx_op(instr) == PTX_OP_MOV && (*parts)->kind == PTX_OPERAND_VECTOR;
}

static bool note_packing(struct ptx_usage *usage, const struct ptx_instr *instr)
{
    const struct ptx_operand *whole, *parts;
    if (!packing_parts(instr, &whole, &parts))
        return false;
    uint32_t value = value_of(usage, instr, whole);
    if (value != PTX_NO_VALUE)
        usage->evidence[find(usage, value)].packing = instr;
    return true;
}

static void note_instr(struct ptx_usage *usage, const struct ptx_instr *instr)
{
    enum ptx_op op = ptx_op(instr);
    if (op == PTX_OP_MOV && note_packing(usage, instr))
        return;
    if (op == PTX_OP_CVTA) {
        note_operand(usage, instr, &instr->operands[1], PTX_TYPE_NONE, true);
        uint32_t value = value_of(usage, instr, &instr->operands[1]);
        if (value != PTX_NO_VALUE)
            usage->evidence[find(usage, value)].address++;
        return;
    }
    // Copies and memory instructions only state floating-point types; atomics that compare or
    // exchange bits state none.
    bool vague = is_copy(instr) || (ptx_flags(instr) & (PTX_FLAG_LOAD | PTX_FLAG_STORE)) ||
                 (ptx_flags(instr) & PTX_FLAG_ATOMIC &&
                  ptx_type_info((enum ptx_type)instr->form->types[0])->kind == PTX_CLASS_BITS);
    for (uint8_t i = 0; i < instr->operand_count; i++) {
        enum ptx_type type = stated_type(instr, i);
        if (vague && ptx_type_info(type)->kind != PTX_CLASS_FLOAT)
            type = PTX_TYPE_NONE;
        note_operand(usage, instr, &instr->operands[i], type, false);
    }
}

struct ptx_usage *ptx_usage_build(const struct ptx_ssa *ssa, struct base_arena *arena)
{
    struct ptx_usage *usage = base_new(arena, struct ptx_usage);
    const struct ptx_cfg *cfg = ssa->cfg;
    usage->ssa = ssa;
    usage->leader = base_new_array(arena, uint32_t, ssa->value_count);
    usage->evidence = base_new_array(arena, struct ptx_evidence, ssa->value_count);
    for (uint32_t i = 0; i < ssa->value_count; i++)
        usage->leader[i] = i;
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        const struct ptx_value *value = &ssa->values[i];
        unite(usage, i, value->previous);
        for (uint32_t k = 0; value->arguments && k < cfg->blocks[value->block].pred_count; k++)
            unite(usage, i, value->arguments[k]);
        if (value->kind == PTX_VALUE_DEF && is_copy(value->instr))
            unite_copies(usage, value->instr);
    }
    for (uint32_t i = 0; i < ssa->value_count; i++)
        usage->leader[i] = find(usage, i);
    for (uint32_t b = 0; b < cfg->order_count; b++) {
        const struct ptx_block *block = &cfg->blocks[cfg->order[b]];
        for (uint32_t i = 0; i < block->instr_count; i++)
            note_instr(usage, block->instrs[i]);
    }
    return usage;
}

static enum ptx_type integer_type(unsigned bits, bool is_signed)
{
    switch (bits) {
    case 8: return is_signed ? PTX_S8 : PTX_U8;
    case 16: return is_signed ? PTX_S16 : PTX_U16;
    case 32: return is_signed ? PTX_S32 : PTX_U32;
    case 64: return is_signed ? PTX_S64 : PTX_U64;
    default: return PTX_TYPE_NONE;
    }
}

// Returns the element type of a packed type: f16 for f16x2. Returns the type itself if it is not
// packed.
static enum ptx_type element_type(enum ptx_type type, uint8_t *count)
{
    const struct ptx_type_info *info = ptx_type_info(type);
    const char *times = info->packed > 1 ? strchr(info->name, 'x') : NULL;
    enum ptx_type element =
        times ? ptx_type_find((struct base_str){info->name, (size_t)(times - info->name)})
              : PTX_TYPE_NONE;
    *count = element == PTX_TYPE_NONE ? 1 : info->packed;
    return element == PTX_TYPE_NONE ? type : element;
}

// A type that evidence leads to.
struct decision {
    enum ptx_type type; // PTX_TYPE_NONE: there is no evidence
    enum ptx_type_basis basis;
    uint8_t count; // values of that type
    bool is_pointer;
};

// Returns the type that the evidence of a class states for values of that many bits. Bits are
// integers only if nothing states another type.
static struct decision decide(const struct ptx_evidence *evidence, unsigned bits)
{
    struct decision made = {.count = 1};
    enum ptx_type best = PTX_TYPE_NONE;
    uint32_t most = 0;
    for (unsigned type = 1; type < PTX_TYPE_COUNT; type++) {
        if (evidence->floats[type] > most && ptx_type_info((enum ptx_type)type)->bits == bits) {
            most = evidence->floats[type];
            best = (enum ptx_type)type;
        }
    }
    uint32_t signs = evidence->is_signed + evidence->is_unsigned;
    uint32_t integers = signs + evidence->integer;
    if (best != PTX_TYPE_NONE && most >= integers) {
        made.type = element_type(best, &made.count);
        made.basis = PTX_BASIS_STATED;
        return made;
    }
    made.is_pointer = evidence->address > 0;
    if (made.is_pointer || integers)
        made.type =
            integer_type(bits, !made.is_pointer && evidence->is_signed >= evidence->is_unsigned);
    if (made.type != PTX_TYPE_NONE)
        made.basis = made.is_pointer || signs ? PTX_BASIS_STATED : PTX_BASIS_INTEGER;
    return made;
}

// Does the same for the parts of which a value consists; all parts must agree.
static struct decision decide_parts(const struct ptx_usage *usage, const struct ptx_instr *packing,
                                    unsigned bits)
{
    const struct ptx_operand *whole, *parts;
    struct decision agreed = {.count = 1};
    if (!packing_parts(packing, &whole, &parts) || parts->count == 0 || bits % parts->count)
        return agreed;
    for (uint16_t i = 0; i < parts->count; i++) {
        uint32_t part = value_of(usage, packing, &parts->elements[i]);
        if (part == PTX_NO_VALUE)
            continue;
        struct decision made = decide(&usage->evidence[find(usage, part)], bits / parts->count);
        if (made.type == PTX_TYPE_NONE)
            continue;
        if (agreed.type != PTX_TYPE_NONE && agreed.type != made.type)
            return (struct decision){.count = 1};
        made.is_pointer |= agreed.is_pointer;
        if (agreed.type != PTX_TYPE_NONE && agreed.basis < made.basis)
            made.basis = agreed.basis;
        made.count = (uint8_t)(parts->count * made.count);
        agreed = made;
    }
    return agreed;
}

// Does the same for a value and, if there is no evidence, for its parts.
static struct decision decide_value(const struct ptx_usage *usage, uint32_t value, unsigned bits)
{
    const struct ptx_evidence *evidence = &usage->evidence[find(usage, value)];
    struct decision made = decide(evidence, bits);
    if (made.type == PTX_TYPE_NONE && evidence->packing)
        return decide_parts(usage, evidence->packing, bits);
    if (made.type == PTX_TYPE_NONE && evidence->bits) {
        made.type = integer_type(bits, true);
        made.basis = made.type == PTX_TYPE_NONE ? PTX_BASIS_NONE : PTX_BASIS_BITS;
    }
    return made;
}

// Returns the operand that holds the data that is loaded, stored or combined.
static const struct ptx_operand *data_operand(const struct ptx_instr *instr)
{
    for (uint8_t i = 0; i < instr->operand_count; i++) {
        const struct ptx_operand *operand = &instr->operands[i];
        if (operand->kind == PTX_OPERAND_REG || operand->kind == PTX_OPERAND_VECTOR)
            return operand;
    }
    return NULL;
}

// Returns whether the type as written decides, and then sets *access, for one element.
static bool is_written(const struct ptx_instr *instr, enum ptx_type written,
                       struct ptx_access_type *access)
{
    const struct ptx_type_info *info = ptx_type_info(written);
    bool atomic = ptx_flags(instr) & PTX_FLAG_ATOMIC;
    if (info->kind == PTX_CLASS_FLOAT || (atomic && info->kind != PTX_CLASS_BITS)) {
        access->type = (uint8_t)element_type(written, &access->count);
        access->is_sure = true;
        // Compilers write .u32 for any sum of 32 bits; longer sums are unsigned in CUDA.
        access->basis = info->kind != PTX_CLASS_FLOAT && info->bits <= 32 &&
                                ptx_form_has(instr->form, PTX_MOD_ADD)
                            ? PTX_BASIS_INTEGER
                            : PTX_BASIS_STATED;
        return true;
    }
    if (info->bits != 8)
        return false;
    // Bytes are extended when they are loaded, and the type says how. Compilers write .u8 if the
    // extension is not used.
    if (info->kind != PTX_CLASS_BITS && ptx_flags(instr) & PTX_FLAG_LOAD) {
        access->is_sure = true;
        access->basis = info->kind == PTX_CLASS_SIGNED ? PTX_BASIS_STATED : PTX_BASIS_INTEGER;
    }
    return true;
}

struct ptx_access_type ptx_element_type(const struct ptx_usage *usage,
                                        const struct ptx_instr *instr, unsigned element,
                                        bool *unused)
{
    enum ptx_type written =
        (enum ptx_type)(instr->form->type_count ? instr->form->types[0] : PTX_TYPE_NONE);
    struct ptx_access_type access = {.type = (uint8_t)written, .count = 1};
    const struct ptx_operand *data = data_operand(instr);
    if (data && data->kind == PTX_OPERAND_VECTOR)
        data = element < data->count ? &data->elements[element] : NULL;
    uint32_t value = data ? value_of(usage, instr, data) : PTX_NO_VALUE;
    if (unused)
        *unused = value != PTX_NO_VALUE && ptx_flags(instr) & PTX_FLAG_LOAD &&
                  !usage->ssa->values[value].use_count;
    if (is_written(instr, written, &access) || value == PTX_NO_VALUE || is_constant(usage, value))
        return access;
    struct decision made = decide_value(usage, value, ptx_type_info(written)->bits);
    access.is_pointer = made.is_pointer;
    if (made.type != PTX_TYPE_NONE) {
        access.type = (uint8_t)made.type;
        access.count = made.count;
        access.is_sure = true;
        access.basis = (uint8_t)made.basis;
    }
    return access;
}

struct ptx_access_type ptx_access_type(const struct ptx_usage *usage, const struct ptx_instr *instr)
{
    const struct ptx_operand *data = data_operand(instr);
    const uint8_t vec = instr->form->vec;
    struct ptx_access_type agreed = ptx_element_type(usage, instr, 0, NULL);
    uint16_t elements = data && data->kind == PTX_OPERAND_VECTOR ? data->count : 1;
    for (uint16_t i = 1; i < elements; i++) {
        struct ptx_access_type element = ptx_element_type(usage, instr, i, NULL);
        element.is_pointer |= agreed.is_pointer;
        if (element.is_sure && agreed.is_sure && element.type != agreed.type) {
            agreed.type =
                (uint8_t)(instr->form->type_count ? instr->form->types[0] : PTX_TYPE_NONE);
            return (struct ptx_access_type){.type = agreed.type, .count = vec};
        }
        if (element.is_sure)
            agreed = element;
        agreed.is_pointer = element.is_pointer;
    }
    agreed.count = (uint8_t)(vec * agreed.count);
    return agreed;
}
