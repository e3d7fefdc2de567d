// SPDX-License-Identifier: Apache-2.0
// Finds arrays of shared memory from the origins of addresses, and offsets from their affine forms.
// A descriptor is an address that was shifted, masked and combined with other fields, so that its
// origin is lost; for these, arrays are found whose names influence the descriptor in any way.
#include "arrays.h"

#include "flow.h"

const char *ptx_array_doubt(enum ptx_array_kind kind)
{
    static const char *const doubts[] = {
        [PTX_ARRAY_NONE] = NULL,
        [PTX_ARRAY_KNOWN] = NULL,
        [PTX_ARRAY_SEVERAL] = "one of several arrays",
        [PTX_ARRAY_UNNAMED] = "an address of unknown origin",
        [PTX_ARRAY_ANY_SPACE] = "perhaps not shared memory",
        [PTX_ARRAY_CLUSTER] = "perhaps in another block",
    };
    return doubts[kind];
}

static bool is_dynamic(const struct ptx_var *var)
{
    return var->size_bytes == 0;
}

// --- Sites ---------------------------------------------------------------------------------------

// Returns whether the instruction says that the address may lie in any block of the cluster. The
// spaces of a copy are those of its destination and of its source.
static bool names_cluster(const struct ptx_site *site)
{
    const struct ptx_form *form = site->instr->form;
    unsigned skip = site->access == PTX_ACCESS_LOAD &&
                    ptx_flags(site->instr) & (PTX_FLAG_STORE | PTX_FLAG_ATOMIC);
    for (uint8_t i = 0; i < form->mod_count; i++) {
        if (ptx_mod_kind((enum ptx_mod)form->mods[i]) == PTX_KIND_SPACE && skip-- == 0)
            return form->mods[i] == PTX_MOD_SHARED_CLUSTER;
    }
    return false;
}

static bool may_be_shared(const struct ptx_site *site)
{
    const uint16_t unknown = 1, shared = 1u << PTX_SPACE_SHARED;
    if (site->space != PTX_SPACE_GENERIC)
        return site->space == PTX_SPACE_SHARED;
    return !site->origin.spaces || site->origin.spaces & (unknown | shared);
}

// Finds the array to which all roots lead. All dynamic arrays are one.
static enum ptx_array_kind find_array(const struct ptx_origin *origin, const struct ptx_var **array)
{
    if (!origin->count || origin->many)
        return PTX_ARRAY_UNNAMED;
    for (uint8_t i = 0; i < origin->count; i++) {
        const struct ptx_root *root = &origin->roots[i];
        if (root->kind != PTX_ROOT_VAR || root->var->space != PTX_SPACE_SHARED)
            return PTX_ARRAY_UNNAMED;
    }
    *array = origin->roots[0].var;
    for (uint8_t i = 1; i < origin->count; i++) {
        if (!is_dynamic(*array) || !is_dynamic(origin->roots[i].var))
            return PTX_ARRAY_SEVERAL;
    }
    return PTX_ARRAY_KNOWN;
}

// The address of a variable is that of the own block, also where the instruction could reach
// others.
static enum ptx_array_kind classify(const struct ptx_site *site, const struct ptx_var **array)
{
    if (!may_be_shared(site))
        return PTX_ARRAY_NONE;
    if (site->origin.is_remote || ptx_form_has(site->instr->form, PTX_MOD_MULTICAST_CLUSTER))
        return PTX_ARRAY_CLUSTER;
    if (site->actual_space != PTX_SPACE_SHARED)
        return PTX_ARRAY_ANY_SPACE;
    const enum ptx_array_kind kind = find_array(&site->origin, array);
    return kind == PTX_ARRAY_UNNAMED && names_cluster(site) ? PTX_ARRAY_CLUSTER : kind;
}

// Subtracts the array's address from the form. Returns false if the rest is not known.
static bool find_offset(const struct ptx_affine *affine, const struct ptx_linear *form,
                        const struct ptx_var *array, struct base_arena *arena,
                        struct ptx_linear *offset)
{
    uint16_t own = form->term_count;
    for (uint16_t i = 0; i < form->term_count; i++) {
        const struct ptx_term *term = &form->terms[i];
        for (uint8_t k = 0; k < term->symbol_count; k++) {
            const struct ptx_symbol *symbol = &affine->symbols[term->symbols[k]];
            if (symbol->kind == PTX_SYMBOL_VALUE)
                return false;
            if (symbol->kind != PTX_SYMBOL_VAR)
                continue;
            if (own < form->term_count || symbol->var != array || term->symbol_count > 1 ||
                term->coefficient != 1)
                return false;
            own = i;
        }
    }
    if (own == form->term_count)
        return false;
    *offset = *form;
    offset->terms = base_new_array(arena, struct ptx_term, form->term_count);
    offset->term_count = 0;
    for (uint16_t i = 0; i < form->term_count; i++) {
        if (i != own)
            offset->terms[offset->term_count++] = form->terms[i];
    }
    return true;
}

static struct ptx_array_place site_place(struct ptx_facts *facts, const struct ptx_site *site)
{
    struct ptx_array_place place = {0};
    const struct ptx_var *array = NULL;
    place.kind = (uint8_t)classify(site, &array);
    if (place.kind != PTX_ARRAY_KNOWN)
        return place;
    place.array = array;
    place.dynamic = is_dynamic(array);
    place.has_offset = find_offset(facts->affine, &site->form, array, &facts->arena, &place.offset);
    return place;
}

// --- Descriptors ---------------------------------------------------------------------------------

// The arrays whose names influence a value: one, or `lost` if there are several or if a value that
// was loaded or returned may hold any.
struct influence {
    const struct ptx_var *array;
    bool lost;
};

static bool join(struct influence *to, struct influence from)
{
    const struct influence before = *to;
    to->lost |= from.lost;
    if (!to->array)
        to->array = from.array;
    else if (from.array && from.array != to->array &&
             !(is_dynamic(from.array) && is_dynamic(to->array)))
        to->lost = true;
    return to->array != before.array || to->lost != before.lost;
}

static void add_operand(const struct ptx_ssa *ssa, const struct influence *values,
                        const struct ptx_instr *instr, const struct ptx_operand *operand,
                        struct influence *to)
{
    if (operand->kind == PTX_OPERAND_VAR && operand->var->space == PTX_SPACE_SHARED) {
        join(to, (struct influence){.array = operand->var});
    } else if (operand->kind == PTX_OPERAND_REG) {
        const uint32_t value = ptx_ssa_value(ssa, instr, operand);
        if (value != PTX_NO_VALUE)
            join(to, values[value]);
    }
}

static struct influence def_influence(const struct ptx_ssa *ssa, const struct influence *values,
                                      const struct ptx_instr *instr)
{
    struct influence found = {0};
    const enum ptx_op op = ptx_op(instr);
    const struct ptx_var *param = ptx_param_read(instr);
    if (param && ssa->cfg->function->is_entry && ptx_is_parameter(ssa->cfg->function, param))
        return found; // the host knows no address of shared memory
    if (ptx_flags(instr) & (PTX_FLAG_MEMORY | PTX_FLAG_CALL) || op == PTX_OP_MAPA ||
        op == PTX_OP_UNKNOWN)
        found.lost = true;
    for (uint8_t i = 0; i < instr->operand_count && !found.lost; i++) {
        const struct ptx_operand *operand = &instr->operands[i];
        if (ptx_operand_role(instr, i) == PTX_ROLE_DEF)
            continue;
        add_operand(ssa, values, instr, operand, &found);
        for (uint16_t k = 0; operand->kind == PTX_OPERAND_VECTOR && k < operand->count; k++)
            add_operand(ssa, values, instr, &operand->elements[k], &found);
    }
    return found;
}

static struct influence value_influence(const struct ptx_ssa *ssa, const struct influence *values,
                                        const struct ptx_value *value)
{
    struct influence found = {0};
    if (value->kind == PTX_VALUE_ENTRY)
        found.lost = !ssa->cfg->function->is_entry;
    if (value->kind == PTX_VALUE_DEF)
        found = def_influence(ssa, values, value->instr);
    if (value->previous != PTX_NO_VALUE)
        join(&found, values[value->previous]);
    for (uint32_t i = 0; value->arguments && i < ssa->cfg->blocks[value->block].pred_count; i++) {
        if (value->arguments[i] != PTX_NO_VALUE)
            join(&found, values[value->arguments[i]]);
    }
    return found;
}

static const struct influence *find_influences(const struct ptx_ssa *ssa, struct base_arena *arena)
{
    struct influence *values = base_new_array(arena, struct influence, ssa->value_count);
    struct ptx_flow flow;
    ptx_flow_init(&flow, ssa, arena);
    for (uint32_t value; ptx_flow_take(&flow, &value);) {
        if (join(&values[value], value_influence(ssa, values, &ssa->values[value])))
            ptx_flow_changed(&flow, value);
    }
    return values;
}

// Returns which of operands 1 and 2 may be descriptors, as a set of positions. Operands with
// matrices in registers or in tensor memory have other kinds.
static unsigned descriptor_operands(const struct ptx_instr *instr)
{
    switch (ptx_op(instr)) {
    case PTX_OP_WGMMA_MMA_ASYNC:
    case PTX_OP_TCGEN05_MMA: return 1u << 1 | 1u << 2;
    case PTX_OP_TCGEN05_CP: return 1u << 1;
    default: return 0;
    }
}

bool ptx_has_descriptors(const struct ptx_instr *instr)
{
    return descriptor_operands(instr) != 0;
}

static void find_described(struct ptx_facts *facts, struct ptx_arrays *arrays)
{
    BASE_ARRAY(struct ptx_described) found = {0};
    const struct influence *values = NULL;
    for (struct ptx_stmt *stmt = facts->function->first; stmt; stmt = stmt->next) {
        const struct ptx_instr *instr = ptx_stmt_instr(stmt);
        const unsigned positions = instr ? descriptor_operands(instr) : 0;
        for (uint8_t i = 1; positions && i <= 2 && i < instr->operand_count; i++) {
            const struct ptx_operand *operand = &instr->operands[i];
            if (!(positions >> i & 1) || operand->kind != PTX_OPERAND_REG)
                continue;
            if (!values)
                values = find_influences(facts->ssa, &facts->arena);
            const uint32_t value = ptx_ssa_value(facts->ssa, instr, operand);
            const bool told = value != PTX_NO_VALUE && !values[value].lost;
            *base_array_add(&found, &facts->arena) =
                (struct ptx_described){instr, operand, told ? values[value].array : NULL};
        }
    }
    arrays->described = found.items;
    arrays->described_count = (uint32_t)found.count;
}

enum base_code ptx_arrays_find(struct ptx_facts *facts, const struct ptx_site *sites,
                               uint32_t site_count, struct ptx_arrays *arrays,
                               struct base_error *error)
{
    jmp_buf escape;
    facts->arena.escape = &escape;
    if (setjmp(escape)) {
        facts->arena.escape = NULL;
        return base_no_memory_while(error, "finding the arrays of %s", facts->function->name);
    }
    arrays->places = base_new_array(&facts->arena, struct ptx_array_place, site_count);
    for (uint32_t i = 0; i < site_count; i++)
        arrays->places[i] = site_place(facts, &sites[i]);
    find_described(facts, arrays);
    facts->arena.escape = NULL;
    return BASE_OK;
}
