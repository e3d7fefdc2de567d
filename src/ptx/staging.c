// SPDX-License-Identifier: Apache-2.0
// Finds fills and drains as a fixed point: the loads whose results a value can hold unchanged. The
// set of a value only grows and has a bound, so the computation ends.
#include "staging.h"

#include "flow.h"

const char *ptx_staging_name(enum ptx_staging_kind kind)
{
    static const char *const names[] = {"none", "fill", "drain"};
    return names[kind];
}

// What a value can hold. The empty set is a constant.
struct contents {
    uint32_t loads[PTX_STAGING_SOURCES]; // sites, ascending
    uint8_t count;
    bool more;           // there are more loads
    bool global, shared; // where loads read
    bool other;          // it can also hold something else
};

struct search {
    const struct ptx_facts *facts;
    const struct ptx_site *sites;
    uint32_t site_count;
    struct contents *values;
};

static void add_load(struct contents *to, uint32_t load)
{
    uint8_t at = 0;
    while (at < to->count && to->loads[at] < load)
        at++;
    if (at < to->count && to->loads[at] == load)
        return;
    if (to->count == PTX_STAGING_SOURCES) {
        to->more = true;
        return;
    }
    for (uint8_t i = to->count++; i > at; i--)
        to->loads[i] = to->loads[i - 1];
    to->loads[at] = load;
}

// Returns whether that changed the set.
static bool join(struct contents *to, const struct contents *from)
{
    const struct contents before = *to;
    for (uint8_t i = 0; i < from->count; i++)
        add_load(to, from->loads[i]);
    to->more |= from->more;
    to->global |= from->global;
    to->shared |= from->shared;
    to->other |= from->other;
    return to->count != before.count || to->more != before.more || to->global != before.global ||
           to->shared != before.shared || to->other != before.other;
}

static void add_operand(const struct search *search, const struct ptx_instr *instr,
                        const struct ptx_operand *operand, struct contents *to)
{
    switch ((enum ptx_operand_kind)operand->kind) {
    case PTX_OPERAND_INT:
    case PTX_OPERAND_F32:
    case PTX_OPERAND_F64: return;
    case PTX_OPERAND_REG: {
        const uint32_t value = ptx_ssa_value(search->facts->ssa, instr, operand);
        if (value == PTX_NO_VALUE)
            to->other = true;
        else
            join(to, &search->values[value]);
        return;
    }
    default: to->other = true; return;
    }
}

// Adds a register, a constant, or the elements of a vector of these.
static void add_data(const struct search *search, const struct ptx_instr *instr,
                     const struct ptx_operand *operand, struct contents *to)
{
    if (operand->kind != PTX_OPERAND_VECTOR) {
        add_operand(search, instr, operand, to);
        return;
    }
    for (uint16_t i = 0; i < operand->count; i++)
        add_operand(search, instr, &operand->elements[i], to);
}

// Adds the data operands from `first` to `last`.
static void add_sources(const struct search *search, const struct ptx_instr *instr, unsigned first,
                        unsigned last, struct contents *to)
{
    for (unsigned i = first; i <= last && i < instr->operand_count; i++)
        add_data(search, instr, &instr->operands[i], to);
}

// Returns the site of an instruction that has only one.
static uint32_t site_of(const struct search *search, const struct ptx_instr *instr)
{
    const struct ptx_site *sites = search->sites;
    const size_t at = base_search(0, search->site_count, i, sites[i].instr->index < instr->index);
    return at < search->site_count && sites[at].instr == instr ? (uint32_t)at : UINT32_MAX;
}

static void add_loaded(const struct search *search, const struct ptx_instr *instr,
                       struct contents *to)
{
    const uint32_t load = site_of(search, instr);
    const uint8_t space = load == UINT32_MAX ? PTX_SPACE_GENERIC : search->sites[load].actual_space;
    if (space != PTX_SPACE_GLOBAL && space != PTX_SPACE_SHARED) {
        to->other = true;
        return;
    }
    add_load(to, load);
    to->global |= space == PTX_SPACE_GLOBAL;
    to->shared |= space == PTX_SPACE_SHARED;
}

// A kernel's parameters are constants of a launch; those of a device function can be anything, and
// so can results of calls.
static bool is_kernel_param(const struct search *search, const struct ptx_instr *instr)
{
    const struct ptx_function *function = search->facts->function;
    const struct ptx_var *var = ptx_param_read(instr);
    return var && function->is_entry && ptx_is_parameter(function, var);
}

// Returns whether a cvt changes the type and nothing else.
static bool is_conversion(const struct ptx_form *form)
{
    return form->type_count >= 2 && !ptx_form_has(form, PTX_MOD_RELU) &&
           !(form->types[0] == form->types[1] &&
             ptx_type_info((enum ptx_type)form->types[0])->kind == PTX_CLASS_FLOAT);
}

static void add_result(const struct search *search, const struct ptx_instr *instr,
                       struct contents *to)
{
    switch (ptx_op(instr)) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
        if (!is_kernel_param(search, instr))
            add_loaded(search, instr, to);
        return;
    case PTX_OP_LDMATRIX:
    case PTX_OP_WMMA_LOAD: add_loaded(search, instr, to); return;
    case PTX_OP_MOV:
    case PTX_OP_CVTA: add_sources(search, instr, 1, 1, to); return;
    case PTX_OP_CVT:
        if (is_conversion(instr->form))
            add_sources(search, instr, 1, 3, to);
        else
            to->other = true;
        return;
    case PTX_OP_CVT_PACK: add_sources(search, instr, 1, 3, to); return;
    case PTX_OP_SELP:
    case PTX_OP_SLCT: add_sources(search, instr, 1, 2, to); return;
    case PTX_OP_PRMT:
        add_sources(search, instr, 1, 2, to);
        to->other |= instr->operand_count < 4 || instr->operands[3].kind != PTX_OPERAND_INT;
        return;
    default: to->other = true; return;
    }
}

static struct contents value_contents(const struct search *search, const struct ptx_value *value)
{
    const struct ptx_cfg *cfg = search->facts->cfg;
    struct contents found = {0};
    switch ((enum ptx_value_kind)value->kind) {
    case PTX_VALUE_ENTRY: found.other = !search->facts->function->is_entry; return found;
    case PTX_VALUE_DEF:
        add_result(search, value->instr, &found);
        if (value->previous != PTX_NO_VALUE)
            join(&found, &search->values[value->previous]);
        return found;
    case PTX_VALUE_PHI: break;
    }
    for (uint32_t i = 0; i < cfg->blocks[value->block].pred_count; i++) {
        if (value->arguments[i] != PTX_NO_VALUE)
            join(&found, &search->values[value->arguments[i]]);
    }
    return found;
}

static void find_contents(struct search *search, struct base_arena *arena)
{
    const struct ptx_ssa *ssa = search->facts->ssa;
    struct ptx_flow flow;
    search->values = base_new_array(arena, struct contents, ssa->value_count);
    ptx_flow_init(&flow, ssa, arena);
    for (uint32_t value; ptx_flow_take(&flow, &value);) {
        const struct contents now = value_contents(search, &ssa->values[value]);
        if (join(&search->values[value], &now))
            ptx_flow_changed(&flow, value);
    }
}

// Returns what the site of a store brings to memory.
static struct contents stored(const struct search *search, uint32_t index)
{
    const struct ptx_instr *instr = search->sites[index].instr;
    struct contents found = {0};
    switch (ptx_op(instr)) {
    case PTX_OP_ST:
    case PTX_OP_ST_ASYNC:
    case PTX_OP_STMATRIX:
    case PTX_OP_WMMA_STORE: add_sources(search, instr, 1, 1, &found); break;
    default:
        // The second site of a copy is its source.
        if (index + 1 < search->site_count && search->sites[index + 1].instr == instr) {
            const uint8_t space = search->sites[index + 1].actual_space;
            add_load(&found, index + 1);
            found.global = space == PTX_SPACE_GLOBAL;
            found.shared = space == PTX_SPACE_SHARED;
        }
        break;
    }
    return found;
}

static struct ptx_staging site_staging(const struct search *search, uint32_t index)
{
    const struct ptx_site *site = &search->sites[index];
    struct ptx_staging staging = {0};
    if (site->access != PTX_ACCESS_STORE || !site->reachable)
        return staging;
    const struct contents found = stored(search, index);
    if (found.other || found.global == found.shared)
        return staging;
    if (found.global && site->actual_space == PTX_SPACE_SHARED)
        staging.kind = PTX_STAGING_FILL;
    else if (found.shared && site->actual_space == PTX_SPACE_GLOBAL)
        staging.kind = PTX_STAGING_DRAIN;
    else
        return staging;
    staging.more = found.more;
    staging.source_count = found.count;
    for (uint8_t i = 0; i < found.count; i++)
        staging.sources[i] = found.loads[i];
    return staging;
}

enum base_code ptx_staging_find(struct ptx_facts *facts, const struct ptx_site *sites,
                                uint32_t site_count, struct ptx_staging **stagings,
                                struct base_error *error)
{
    struct search search = {.facts = facts, .sites = sites, .site_count = site_count};
    jmp_buf escape;
    facts->arena.escape = &escape;
    if (setjmp(escape)) {
        facts->arena.escape = NULL;
        return base_no_memory_while(error, "finding what %s brings to shared memory",
                                    facts->function->name);
    }
    find_contents(&search, &facts->arena);
    struct ptx_staging *found = base_new_array(&facts->arena, struct ptx_staging, site_count);
    facts->arena.escape = NULL;
    for (uint32_t i = 0; i < site_count; i++)
        found[i] = site_staging(&search, i);
    *stagings = found;
    return BASE_OK;
}
