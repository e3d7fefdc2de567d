// SPDX-License-Identifier: Apache-2.0
// Computes provenance as a fixed point: the set of roots of a value only grows. The sum of an
// address and a number has the roots of the address. Which of two operands is the address follows
// from their other uses: only addresses are converted between spaces.
#include "provenance.h"

#include <string.h>

#include "computed.h"
#include "flow.h"

#define SPACE_BIT(space) ((uint16_t)(1u << (space)))

bool ptx_same_root(const struct ptx_root *a, const struct ptx_root *b)
{
    return a->kind == b->kind && a->index == b->index && a->offset == b->offset &&
           a->var == b->var && a->instr == b->instr;
}

static void join(struct ptx_origin *into, const struct ptx_origin *from)
{
    into->many |= from->many;
    into->spaces |= from->spaces;
    into->is_pointer |= from->is_pointer;
    into->is_remote |= from->is_remote;
    for (uint8_t i = 0; i < from->count; i++) {
        uint8_t k = 0;
        while (k < into->count && !ptx_same_root(&into->roots[k], &from->roots[i]))
            k++;
        if (k < into->count)
            continue;
        if (into->count == PTX_ORIGIN_ROOTS)
            into->many = true;
        else
            into->roots[into->count++] = from->roots[i];
    }
}

static struct ptx_origin single(struct ptx_root root, uint16_t spaces, bool is_pointer)
{
    struct ptx_origin origin = {.count = 1, .is_pointer = is_pointer, .spaces = spaces};
    origin.roots[0] = root;
    return origin;
}

// Handles the sum of an address and a number. If both have roots, the one that is certainly an
// address is used.
static struct ptx_origin sum(const struct ptx_origin *a, const struct ptx_origin *b)
{
    if (!b->count || (a->is_pointer && !b->is_pointer))
        return *a;
    if (!a->count || (b->is_pointer && !a->is_pointer))
        return *b;
    struct ptx_origin both = *a;
    join(&both, b);
    return both;
}

struct ptx_origin ptx_operand_origin(const struct ptx_provenance *provenance,
                                     const struct ptx_instr *instr,
                                     const struct ptx_operand *operand)
{
    switch ((enum ptx_operand_kind)operand->kind) {
    case PTX_OPERAND_REG: {
        uint32_t value = ptx_ssa_value(provenance->ssa, instr, operand);
        if (value != PTX_NO_VALUE)
            return provenance->origins[value];
        break;
    }
    case PTX_OPERAND_VAR:
        return single((struct ptx_root){.kind = PTX_ROOT_VAR, .var = operand->var},
                      SPACE_BIT(operand->var->space), true);
    case PTX_OPERAND_ADDRESS:
        if (operand->count)
            return ptx_operand_origin(provenance, instr, &operand->elements[0]);
        break;
    default: break;
    }
    return (struct ptx_origin){0};
}

static bool is_address_wide(const struct ptx_provenance *provenance, enum ptx_type type)
{
    const struct ptx_type_info *info = ptx_type_info(type);
    return info->bits == provenance->ssa->cfg->function->module->address_size &&
           info->kind != PTX_CLASS_FLOAT && info->packed == 1;
}

// Finds, for every instruction that reads a local parameter, the call whose result it holds: the
// nearest preceding one in the text.
static bool find_calls(const struct ptx_cfg *cfg, struct base_map *newest,
                       const struct ptx_instr **calls)
{
    for (struct ptx_stmt *stmt = cfg->function->first; stmt; stmt = stmt->next) {
        const struct ptx_instr *instr = ptx_stmt_instr(stmt);
        struct ptx_call call;
        if (!instr)
            continue;
        const struct ptx_var *var = ptx_param_read(instr);
        const uint64_t *found = var ? base_map_get(newest, (uintptr_t)var) : NULL;
        if (found)
            calls[instr->index] = (const struct ptx_instr *)(uintptr_t)*found;
        if (!ptx_call_parts(instr, &call) || !call.returns)
            continue;
        for (uint16_t i = 0; i < call.returns->count; i++) {
            if (call.returns->elements[i].kind != PTX_OPERAND_VAR)
                continue;
            uint64_t *slot = base_map_put(newest, (uintptr_t)call.returns->elements[i].var, NULL);
            if (!slot)
                return false;
            *slot = (uintptr_t)instr;
        }
    }
    return true;
}

// Returns the index of the operand among the elements of a vector; 0 if there is none.
static uint32_t element_of(const struct ptx_instr *instr, const struct ptx_operand *operand)
{
    const struct ptx_operand *vector = &instr->operands[0];
    if (vector->kind == PTX_OPERAND_VECTOR && operand >= vector->elements &&
        operand < vector->elements + vector->count)
        return (uint32_t)(operand - vector->elements);
    return 0;
}

static struct ptx_origin load_origin(const struct ptx_provenance *provenance,
                                     const struct ptx_instr *instr, const struct ptx_operand *into)
{
    struct ptx_origin none = {0};
    const struct ptx_function *function = provenance->ssa->cfg->function;
    if (!is_address_wide(provenance, (enum ptx_type)instr->form->types[0]))
        return none;
    const struct ptx_var *var = ptx_param_read(instr);
    if (!var)
        return single((struct ptx_root){.kind = PTX_ROOT_LOAD, .instr = instr}, PTX_UNKNOWN_SPACE,
                      false);
    if (!var->is_param) {
        const struct ptx_instr *call = provenance->calls[instr->index];
        return single((struct ptx_root){.kind = PTX_ROOT_CALL, .instr = call ? call : instr},
                      PTX_UNKNOWN_SPACE, false);
    }
    if (!ptx_is_parameter(function, var))
        return none;
    // What the host passes to a kernel can only point into memory that the host can address, unless
    // the parameter states a space.
    const struct ptx_operand *address = &instr->operands[1];
    uint64_t offset = (uint64_t)address->offset;
    if (address->kind == PTX_OPERAND_VAR && address->flags & PTX_OPERAND_INDEXED)
        offset *= (uint64_t)ptx_type_bytes((enum ptx_type)var->type) * var->vec;
    offset +=
        (uint64_t)element_of(instr, into) * ptx_type_bytes((enum ptx_type)instr->form->types[0]);
    struct ptx_root root = {
        .kind = PTX_ROOT_PARAM, .index = var->index, .offset = (uint32_t)offset};
    uint16_t spaces = var->is_ptr && var->ptr_space != PTX_SPACE_GENERIC ? SPACE_BIT(var->ptr_space)
                      : function->is_entry ? SPACE_BIT(PTX_SPACE_GLOBAL)
                                           : PTX_UNKNOWN_SPACE;
    return single(root, spaces, provenance->param_is_pointer[var->index]);
}

static struct ptx_origin join_sources(const struct ptx_provenance *provenance,
                                      const struct ptx_instr *instr, unsigned first, unsigned last)
{
    struct ptx_origin origin = {0};
    for (unsigned i = first; i <= last && i < instr->operand_count; i++) {
        struct ptx_origin source = ptx_operand_origin(provenance, instr, &instr->operands[i]);
        join(&origin, &source);
    }
    return origin;
}

// Handles an address some bits of which are set or cleared. Constants may round it down, or set low
// bits. Anything else may make another address of it: a tag may be removed, or one half replaced.
static struct ptx_origin bits_origin(const struct ptx_provenance *provenance,
                                     const struct ptx_instr *instr)
{
    enum { LOW_BITS = 12 };
    const struct ptx_operand *with = &instr->operands[2];
    struct ptx_origin a = ptx_operand_origin(provenance, instr, &instr->operands[1]);
    const uint16_t blocks = SPACE_BIT(PTX_SPACE_SHARED) | SPACE_BIT(PTX_SPACE_LOCAL);
    if (!a.count || (a.spaces && !(a.spaces & ~blocks)) ||
        !is_address_wide(provenance, (enum ptx_type)instr->form->types[0]))
        return a;
    if (with->kind == PTX_OPERAND_INT) {
        const uint64_t kept = ptx_op(instr) == PTX_OP_AND ? ~with->bits : with->bits;
        if (!(kept >> LOW_BITS))
            return a;
    }
    return single((struct ptx_root){.kind = PTX_ROOT_OTHER, .instr = instr}, PTX_UNKNOWN_SPACE,
                  false);
}

static struct ptx_origin def_origin(const struct ptx_provenance *provenance,
                                    const struct ptx_value *value)
{
    const struct ptx_instr *instr = value->instr;
    struct ptx_origin a, b;
    const struct ptx_form *form = instr->form;
    unsigned kind = ptx_type_info((enum ptx_type)form->types[0])->kind;
    if (kind == PTX_CLASS_FLOAT || kind == PTX_CLASS_PREDICATE)
        return (struct ptx_origin){0};
    switch (ptx_op(instr)) {
    case PTX_OP_LD:
    case PTX_OP_LDU: return load_origin(provenance, instr, value->operand);
    case PTX_OP_ATOM:
        if (!is_address_wide(provenance, (enum ptx_type)form->types[0]))
            return (struct ptx_origin){0};
        return single((struct ptx_root){.kind = PTX_ROOT_LOAD, .instr = instr}, PTX_UNKNOWN_SPACE,
                      false);
    case PTX_OP_MOV:
        if (instr->operands[0].kind == PTX_OPERAND_VECTOR ||
            instr->operands[1].kind == PTX_OPERAND_VECTOR) {
            a = (struct ptx_origin){0};
            for (uint16_t i = 0; i < instr->operands[1].count; i++) {
                b = ptx_operand_origin(provenance, instr, &instr->operands[1].elements[i]);
                join(&a, &b);
            }
            if (instr->operands[1].kind == PTX_OPERAND_REG)
                a = ptx_operand_origin(provenance, instr, &instr->operands[1]);
            // An address that is combined from halves may be any address.
            if (a.count)
                a = single((struct ptx_root){.kind = PTX_ROOT_OTHER, .instr = instr},
                           PTX_UNKNOWN_SPACE, false);
            return a;
        }
        return ptx_operand_origin(provenance, instr, &instr->operands[1]);
    case PTX_OP_CVTA:
        a = ptx_operand_origin(provenance, instr, &instr->operands[1]);
        a.is_pointer = true;
        a.spaces = SPACE_BIT(form->space);
        return a;
    case PTX_OP_CVT:
    case PTX_OP_SHFL: return ptx_operand_origin(provenance, instr, &instr->operands[1]);
    case PTX_OP_AND:
    case PTX_OP_OR: return bits_origin(provenance, instr);
    case PTX_OP_MAPA:
        a = ptx_operand_origin(provenance, instr, &instr->operands[1]);
        a.is_remote = true;
        return a;
    case PTX_OP_ADD:
        a = ptx_operand_origin(provenance, instr, &instr->operands[1]);
        b = ptx_operand_origin(provenance, instr, &instr->operands[2]);
        return sum(&a, &b);
    case PTX_OP_SUB: {
        a = ptx_operand_origin(provenance, instr, &instr->operands[1]);
        b = ptx_operand_origin(provenance, instr, &instr->operands[2]);
        // The difference of two addresses is a number.
        if (a.is_pointer && b.is_pointer)
            memset(&a, 0, sizeof(a));
        return a;
    }
    case PTX_OP_MAD: return ptx_operand_origin(provenance, instr, &instr->operands[3]);
    case PTX_OP_SELP:
    case PTX_OP_MIN:
    case PTX_OP_MAX:
    case PTX_OP_SLCT: return join_sources(provenance, instr, 1, 2);
    case PTX_OP_CALL:
        return single((struct ptx_root){.kind = PTX_ROOT_CALL, .instr = instr}, PTX_UNKNOWN_SPACE,
                      false);
    case PTX_OP_ALLOCA:
        return single((struct ptx_root){.kind = PTX_ROOT_OTHER, .instr = instr},
                      SPACE_BIT(PTX_SPACE_LOCAL), true);
    case PTX_OP_UNKNOWN:
        return single((struct ptx_root){.kind = PTX_ROOT_OTHER, .instr = instr}, PTX_UNKNOWN_SPACE,
                      false);
    default: return (struct ptx_origin){0};
    }
}

static struct ptx_origin entry_origin(const struct ptx_provenance *provenance,
                                      const struct ptx_value *value)
{
    const struct ptx_function *function = provenance->ssa->cfg->function;
    for (uint32_t i = 0; i < function->param_count; i++) {
        if (function->params[i]->reg == value->reg &&
            is_address_wide(provenance, (enum ptx_type)value->reg->type))
            return single((struct ptx_root){.kind = PTX_ROOT_PARAM, .index = i}, PTX_UNKNOWN_SPACE,
                          false);
    }
    return (struct ptx_origin){0};
}

static struct ptx_origin value_origin(const struct ptx_provenance *provenance,
                                      const struct ptx_value *value)
{
    const struct ptx_ssa *ssa = provenance->ssa;
    struct ptx_origin origin = {0};
    switch ((enum ptx_value_kind)value->kind) {
    case PTX_VALUE_ENTRY: return entry_origin(provenance, value);
    case PTX_VALUE_DEF:
        origin = def_origin(provenance, value);
        if (value->previous != PTX_NO_VALUE)
            join(&origin, &provenance->origins[value->previous]);
        return origin;
    case PTX_VALUE_PHI: break;
    }
    for (uint32_t i = 0; i < ssa->cfg->blocks[value->block].pred_count; i++) {
        if (value->arguments[i] != PTX_NO_VALUE)
            join(&origin, &provenance->origins[value->arguments[i]]);
    }
    return origin;
}

// A parameter is certainly a pointer if its declaration says so, or if its loaded value is
// converted to a space or dereferenced.
static void find_pointers(struct ptx_provenance *provenance)
{
    const struct ptx_ssa *ssa = provenance->ssa;
    const struct ptx_function *function = ssa->cfg->function;
    for (uint32_t i = 0; i < function->param_count; i++)
        provenance->param_is_pointer[i] = function->params[i]->is_ptr;
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        const struct ptx_value *value = &ssa->values[i];
        const struct ptx_var *var =
            value->kind == PTX_VALUE_DEF ? ptx_param_read(value->instr) : NULL;
        if (!var || !ptx_is_parameter(function, var))
            continue;
        for (uint32_t k = 0; k < value->use_count; k++) {
            const struct ptx_instr *user = value->uses[k].instr;
            const struct ptx_operand *operand = value->uses[k].operand;
            if (!user || !operand)
                continue;
            bool converted = ptx_op(user) == PTX_OP_CVTA;
            bool dereferenced = user->operand_count && !converted;
            if (dereferenced) {
                dereferenced = false;
                for (uint8_t o = 0; o < user->operand_count; o++)
                    dereferenced |= user->operands[o].kind == PTX_OPERAND_ADDRESS &&
                                    user->operands[o].elements == operand;
            }
            provenance->param_is_pointer[var->index] |= converted || dereferenced;
        }
    }
}

// Merges the origins of all values until nothing changes.
static void iterate(struct ptx_provenance *provenance, struct base_arena *arena)
{
    const struct ptx_ssa *ssa = provenance->ssa;
    struct ptx_flow flow;
    ptx_flow_init(&flow, ssa, arena);
    for (uint32_t value; ptx_flow_take(&flow, &value);) {
        struct ptx_origin *at = &provenance->origins[value];
        struct ptx_origin now = value_origin(provenance, &ssa->values[value]);
        uint8_t count = at->count;
        uint16_t spaces = at->spaces;
        bool many = at->many, is_pointer = at->is_pointer, is_remote = at->is_remote;
        join(at, &now);
        if (at->count != count || at->many != many || at->spaces != spaces ||
            at->is_pointer != is_pointer || at->is_remote != is_remote)
            ptx_flow_changed(&flow, value);
    }
}

struct ptx_provenance *ptx_provenance_build(const struct ptx_ssa *ssa, struct base_arena *arena)
{
    struct ptx_provenance *provenance = base_new(arena, struct ptx_provenance);
    const struct ptx_cfg *cfg = ssa->cfg;
    provenance->ssa = ssa;
    provenance->origins = base_new_array(arena, struct ptx_origin, ssa->value_count);
    provenance->param_is_pointer = base_new_array(arena, bool, cfg->function->param_count);
    provenance->calls = base_new_array(arena, const struct ptx_instr *, cfg->function->instr_count);
    struct base_map newest = {0};
    bool found = find_calls(cfg, &newest, provenance->calls);
    base_map_fini(&newest);
    if (!found)
        longjmp(*arena->escape, 1);
    find_pointers(provenance);
    iterate(provenance, arena);
    // It may have become known which side of a sum is the address only after its roots were merged,
    // so they are computed again.
    for (uint32_t i = 0; i < ssa->value_count; i++)
        provenance->origins[i] =
            (struct ptx_origin){.is_pointer = provenance->origins[i].is_pointer};
    iterate(provenance, arena);
    ptx_find_computed(provenance);
    return provenance;
}

const struct ptx_root *ptx_origin_only(const struct ptx_origin *origin)
{
    return origin->count == 1 && !origin->many && !origin->computed &&
                   origin->roots[0].kind != PTX_ROOT_OTHER
               ? &origin->roots[0]
               : NULL;
}

enum ptx_space ptx_origin_space(const struct ptx_origin *origin)
{
    for (unsigned space = 1; space < PTX_SPACE_COUNT; space++) {
        if (origin->spaces == SPACE_BIT(space))
            return (enum ptx_space)space;
    }
    return PTX_SPACE_GENERIC;
}
