// SPDX-License-Identifier: Apache-2.0
// Plans each memory instruction of a function: whether it is probed, from which root its address
// comes, and which bytes it touches.
#include "plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "accesses.h"
#include "aims.h"
#include "children.h"
#include "lanes.h"
#include "layouts.h"
#include "stores.h"
#include "waits.h"

void instrument_add_reason(struct instrument_work *work, const char **reason, const char *format,
                           ...)
{
    char text[512];
    int start = 0;
    if (*reason)
        start = snprintf(text, sizeof(text), "%.250s; ", *reason);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + start, sizeof(text) - (size_t)start, format, arguments);
    va_end(arguments);
    if (*reason && strstr(*reason, text + start))
        return;
    *reason = base_alloc_text(work->arena, text, strlen(text));
}

// Computes the offsets of parameters as the driver does.
static uint32_t param_align(const struct ptx_var *var)
{
    uint32_t natural = ptx_type_bytes((enum ptx_type)var->type) * var->vec;
    return var->align > natural ? var->align : natural;
}

static uint32_t params_end(const struct ptx_function *function, uint32_t count)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t align = param_align(function->params[i]);
        end = (end + align - 1) / align * align + (uint32_t)function->params[i]->size_bytes;
    }
    return end;
}

uint32_t instrument_params_end(const struct ptx_function *function)
{
    return params_end(function, function->param_count);
}

uint32_t instrument_param_offset(const struct ptx_function *function, uint32_t index)
{
    uint32_t align = param_align(function->params[index]);
    return (params_end(function, index) + align - 1) / align * align;
}

static void plan_params(struct instrument_work *work, const struct ptx_function *function,
                        struct instrument_kernel *kernel)
{
    struct instrument_param *params =
        base_new_array(work->arena, struct instrument_param, function->param_count);
    for (uint32_t i = 0; i < function->param_count; i++)
        params[i] = (struct instrument_param){instrument_param_offset(function, i),
                                              (uint32_t)function->params[i]->size_bytes};
    kernel->params = params;
    kernel->param_count = function->param_count;
}

// Returns the size of the smallest scalar that the site moves.
static uint32_t scalar_bytes(const struct ptx_site *site)
{
    const struct ptx_type_info *info = ptx_type_info((enum ptx_type)site->type.type);
    uint32_t bytes = info->bits / 8u / (info->packed ? info->packed : 1);
    if (!bytes)
        bytes = 1;
    return site->type.type == PTX_TYPE_NONE ? 4 : bytes;
}

static bool same_root(const struct instrument_root *a, const struct instrument_root *b)
{
    return a->kind == b->kind && a->offset == b->offset &&
           (a->kind == INSTRUMENT_ROOT_PARAM || strcmp(a->variable, b->variable) == 0);
}

struct roots {
    struct instrument_root *items;
    size_t count, capacity;
};

// Returns whether bytes that memory holds are added to the address: they may be the distance to
// another object. An index is multiplied by the size of elements, unless they are bytes.
static bool has_loaded_distance(const struct instrument_body *body, const struct ptx_site *site)
{
    const struct ptx_affine *affine = body->facts->affine;
    bool found = false;
    for (uint16_t i = 0; site->bytes != 1 && i < site->form.term_count; i++) {
        const struct ptx_term *term = &site->form.terms[i];
        const struct ptx_symbol *symbol = &affine->symbols[term->symbols[0]];
        if (term->symbol_count != 1 || symbol->kind != PTX_SYMBOL_VALUE ||
            (term->coefficient != 1 && term->coefficient != -1))
            continue;
        const struct ptx_value *value = &body->facts->ssa->values[symbol->index];
        found |= value->kind == PTX_VALUE_DEF && ptx_op(value->instr) == PTX_OP_LD &&
                 ptx_type_info((enum ptx_type)value->reg->type)->bits == 64;
    }
    return found;
}

// Returns the root from which the site's address certainly comes; INSTRUMENT_NONE if there is none.
static uint32_t find_root(struct instrument_work *work, const struct instrument_body *body,
                          const struct ptx_site *site, struct roots *roots)
{
    const struct ptx_root *only = ptx_origin_only(&site->origin);
    struct instrument_root root = {.element_bytes = scalar_bytes(site)};
    if (!only || !body->kernel || (!work->elements && has_loaded_distance(body, site)))
        return INSTRUMENT_NONE;
    if (only->kind == PTX_ROOT_PARAM && only->index < body->function->param_count) {
        root.kind = INSTRUMENT_ROOT_PARAM;
        root.offset = instrument_param_offset(body->function, only->index) + only->offset;
    } else if (only->kind == PTX_ROOT_VAR && only->var->space == PTX_SPACE_GLOBAL) {
        root.kind = INSTRUMENT_ROOT_VARIABLE;
        root.variable = base_alloc_text(work->arena, only->var->name, strlen(only->var->name));
    } else {
        return INSTRUMENT_NONE;
    }
    for (size_t i = 0; i < roots->count; i++) {
        struct instrument_root *have = &roots->items[i];
        if (!same_root(have, &root))
            continue;
        if (root.element_bytes < have->element_bytes)
            have->element_bytes = root.element_bytes;
        return (uint32_t)i;
    }
    *base_array_add(roots, work->arena) = root;
    return (uint32_t)roots->count - 1;
}

bool instrument_has_address(const struct ptx_operand *address)
{
    if (address->kind == PTX_OPERAND_VAR)
        return true;
    if (address->kind != PTX_OPERAND_ADDRESS || address->flags & PTX_OPERAND_INDEXED ||
        address->count != 1)
        return false;
    const struct ptx_operand *base = &address->elements[0];
    return base->kind == PTX_OPERAND_REG || base->kind == PTX_OPERAND_VAR ||
           base->kind == PTX_OPERAND_INT;
}

static bool is_power(uint32_t bytes)
{
    return bytes && !(bytes & (bytes - 1)) && bytes <= 32;
}

// Determines which bytes the instruction touches. Returns false if they are unknown.
static bool find_shape(const struct instrument_work *work, const struct ptx_site *site,
                       struct instrument_probe *probe)
{
    const struct ptx_instr *instr = site->instr;
    switch (ptx_op(instr)) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
    case PTX_OP_ST:
    case PTX_OP_ATOM:
    case PTX_OP_RED: return is_power(site->bytes);
    case PTX_OP_CP_ASYNC:
        // Behind the size comes the number of bytes that are read, or a predicate under which none
        // are.
        if (instr->operand_count > (ptx_form_has(instr->form, PTX_MOD_L2_CACHE_HINT) ? 4 : 3) &&
            !(instr->operands[3].kind == PTX_OPERAND_INT && instr->operands[3].bits == site->bytes))
            probe->shape = SHAPE_SIZED;
        probe->size = 3;
        return is_power(site->bytes) && site->bytes <= 16;
    case PTX_OP_CP_ASYNC_BULK:
    case PTX_OP_CP_REDUCE_ASYNC_BULK:
        probe->shape = SHAPE_SIZED;
        probe->size = 2;
        return instr->operand_count > 2;
    case PTX_OP_WMMA_LOAD:
    case PTX_OP_WMMA_STORE: return !work->elements;
    default: return false;
    }
}

// Returns whether the site is a tensor in global memory, of which only the object is to be found.
static bool is_mapped(const struct instrument_work *work, const struct ptx_site *site)
{
    const enum ptx_op op = ptx_op(site->instr);
    return (op == PTX_OP_CP_ASYNC_BULK_TENSOR || op == PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR) &&
           work->request->maps && work->request->facts == INSTRUMENT_OBJECTS &&
           site->address->kind == PTX_OPERAND_ADDRESS && site->address->count == 2 &&
           site->address->elements[0].kind == PTX_OPERAND_REG;
}

// Returns whether the instruction only accesses shared memory, whatever kind of address it has.
static bool is_for_shared(const struct ptx_instr *instr)
{
    enum ptx_op op = ptx_op(instr);
    return op == PTX_OP_LDMATRIX || op == PTX_OP_STMATRIX || op == PTX_OP_ST_BULK ||
           op == PTX_OP_ST_ASYNC || op == PTX_OP_RED_ASYNC || op == PTX_OP_TCGEN05_ALLOC ||
           op == PTX_OP_CLUSTERLAUNCHCONTROL_TRY_CANCEL || op == PTX_OP_CP_ASYNC_MBARRIER_ARRIVE ||
           (op >= PTX_OP_MBARRIER_INIT && op <= PTX_OP_MBARRIER_TRY_WAIT);
}

struct instrument_probe instrument_no_probe(const struct ptx_site *site)
{
    return (struct instrument_probe){.site = site,
                                     .root = INSTRUMENT_NONE,
                                     .flag = INSTRUMENT_NONE,
                                     .tally = INSTRUMENT_NONE,
                                     .silent = INSTRUMENT_NONE,
                                     .still = INSTRUMENT_NONE,
                                     .place = INSTRUMENT_NONE,
                                     .requests = INSTRUMENT_NONE,
                                     .times = INSTRUMENT_NONE,
                                     .whole = INSTRUMENT_NONE,
                                     .excess = INSTRUMENT_NONE,
                                     .saved = INSTRUMENT_NONE};
}

static void plan_site(struct instrument_work *work, struct instrument_body *body,
                      const struct ptx_site *site, struct instrument_probe *probe,
                      struct roots *roots)
{
    *probe = instrument_no_probe(site);
    if (!site->reachable || instrument_is_buffer(body, site->address) ||
        is_for_shared(site->instr) ||
        (site->actual_space != PTX_SPACE_GLOBAL && site->actual_space != PTX_SPACE_GENERIC))
        return;
    if (is_mapped(work, site)) {
        probe->shape = SHAPE_MAPPED;
        probe->how = HOW_LOOKUP;
        body->looks_up = true;
        return;
    }
    if (!instrument_has_address(site->address) || !find_shape(work, site, probe)) {
        if (!body->why_not)
            instrument_add_reason(work, &body->why_not,
                                  "unsupported instruction %s at line %u of the PTX",
                                  site->instr->form->text, site->instr->stmt.line);
        return;
    }
    probe->check_space = site->actual_space == PTX_SPACE_GENERIC;
    // The number of executions does not determine the bytes of an access of variable size.
    bool rooted = !probe->check_space && (probe->shape == SHAPE_FIXED || !work->elements);
    probe->root = rooted ? find_root(work, body, site, roots) : INSTRUMENT_NONE;
    probe->how = probe->root == INSTRUMENT_NONE ? HOW_LOOKUP : HOW_ROOT;
    body->looks_up |= probe->how == HOW_LOOKUP;
}

// Finds what prevents a clone regardless of accesses.
static void refuse(struct instrument_work *work, struct instrument_body *body)
{
    for (struct ptx_stmt *stmt = body->function->first; stmt; stmt = stmt->next) {
        const struct ptx_instr *instr = ptx_stmt_instr(stmt);
        if (instr && ptx_op(instr) == PTX_OP_UNKNOWN && !body->why_not)
            instrument_add_reason(work, &body->why_not,
                                  "unknown instruction %s at line %u of the PTX", instr->form->text,
                                  stmt->line);
        if (stmt->kind == PTX_STMT_VAR) {
            const struct ptx_var *var = ((const struct ptx_var_stmt *)stmt)->var;
            if ((var->space == PTX_SPACE_GLOBAL || var->space == PTX_SPACE_CONST) && !body->why_not)
                instrument_add_reason(work, &body->why_not,
                                      "the function declares the variable %s itself", var->name);
        }
    }
}

void instrument_plan(struct instrument_work *work, struct instrument_body *body)
{
    struct ptx_site *sites;
    uint32_t count;
    struct roots roots = {0};
    if (ptx_facts_create(body->function, work->request->limit_bytes, &body->facts, work->error) !=
            BASE_OK ||
        ptx_sites_find(body->facts, &sites, &count, work->error) != BASE_OK)
        longjmp(work->escape, 1);
    body->probes = base_new_array(&work->scratch, struct instrument_probe, count);
    body->probe_count = count;
    for (uint32_t i = 0; i < count; i++)
        plan_site(work, body, &sites[i], &body->probes[i], &roots);
    instrument_plan_lanes(body);
    instrument_find_waits(body);
    refuse(work, body);
    if (work->values)
        instrument_plan_stores(work, body);
    struct instrument_kernel *kernel = body->kernel;
    if (!kernel)
        return;
    kernel->roots = roots.items;
    kernel->root_count = (uint32_t)roots.count;
    if (work->request->facts & INSTRUMENT_VALUES)
        instrument_find_layouts(work, body, sites, count);
    instrument_plan_aims(work, body);
    if (work->accessed)
        instrument_plan_accesses(work, body);
    plan_params(work, body->function, kernel);
    uint32_t end = params_end(body->function, body->function->param_count);
    kernel->context_offset = (end + 7) / 8 * 8;
    kernel->context_bytes =
        instrument_pieces_offset(work, kernel, work->values ? kernel->root_count : 0);
    if (kernel->context_offset + kernel->context_bytes > 4096 && !body->why_not)
        instrument_add_reason(
            work, &body->why_not,
            "its parameters and the launch context take %u bytes; the limit is 4096",
            kernel->context_offset + kernel->context_bytes);
}
