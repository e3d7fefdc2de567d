// SPDX-License-Identifier: Apache-2.0
// Finds the memory sites of a function from its facts.
#include "sites.h"

#include <string.h>

#include "forms.h"

enum { BARRIER_BYTES = 8 }; // of an mbarrier object

const char *ptx_access_name(enum ptx_access access)
{
    return access == PTX_ACCESS_LOAD ? "load" : access == PTX_ACCESS_STORE ? "store" : "atomic";
}

const char *ptx_site_class_name(enum ptx_site_class kind)
{
    static const char *const names[] = {"uniform", "affine", "computed", "indirect"};
    return names[kind];
}

// Returns the bytes that one thread moves; a warp-wide matrix load moves a share that does not
// belong to one address.
static uint32_t site_bytes(const struct ptx_instr *instr)
{
    const struct ptx_form *form = instr->form;
    switch (ptx_op(instr)) {
    case PTX_OP_CP_ASYNC:
    case PTX_OP_CP_ASYNC_BULK:
    case PTX_OP_CP_REDUCE_ASYNC_BULK:
        return instr->operand_count > 2 && instr->operands[2].kind == PTX_OPERAND_INT
                   ? (uint32_t)instr->operands[2].bits
                   : 0;
    case PTX_OP_LDMATRIX:
    case PTX_OP_STMATRIX: return 16; // a row of eight 16-bit elements for each address
    case PTX_OP_WMMA_LOAD:
    case PTX_OP_WMMA_STORE:
    case PTX_OP_CP_ASYNC_BULK_TENSOR:
    case PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR:
    case PTX_OP_TENSORMAP_REPLACE:
    case PTX_OP_TENSORMAP_CP_FENCEPROXY:
    case PTX_OP_ST_BULK: return 0;
    default: break;
    }
    if (!form->type_count)
        return ptx_flags(instr) & PTX_FLAG_SYNC ? BARRIER_BYTES : 0;
    // A reduction with several types names the type in memory first, except mbarrier with .b64.
    return ptx_type_bytes((enum ptx_type)form->types[0]) * form->vec;
}

// The rows of eight 16-bit elements of one, two or four matrices are named by the first 8, 16 or 32
// lanes.
static uint32_t address_lanes(const struct ptx_instr *instr)
{
    const struct ptx_form *form = instr->form;
    if (ptx_op(instr) != PTX_OP_LDMATRIX && ptx_op(instr) != PTX_OP_STMATRIX)
        return UINT32_MAX;
    if (!ptx_form_has(form, PTX_MOD_M8N8))
        return 0;
    return ptx_form_has(form, PTX_MOD_X4)   ? UINT32_MAX
           : ptx_form_has(form, PTX_MOD_X2) ? 0xffff
           : ptx_form_has(form, PTX_MOD_X1) ? 0xff
                                            : 0;
}

// Returns whether the only unknowns of a form are indices, parameters, variables and counters, or
// values that are the same for all threads of a block. Behind its loop, a counter differs between
// threads that left at different times.
static bool is_affine(const struct ptx_facts *facts, const struct ptx_linear *form, uint32_t block)
{
    const uint16_t unlike = PTX_DEP_ANY_THREAD | PTX_DEP_MEMORY;
    for (uint16_t i = 0; i < form->term_count; i++) {
        for (uint8_t k = 0; k < form->terms[i].symbol_count; k++) {
            const struct ptx_symbol *symbol = &facts->affine->symbols[form->terms[i].symbols[k]];
            if (symbol->kind == PTX_SYMBOL_VALUE &&
                (symbol->index == PTX_NO_VALUE ||
                 ptx_value_deps(facts->uniformity, symbol->index, block) & unlike))
                return false;
            if (symbol->kind == PTX_SYMBOL_COUNTER &&
                !ptx_loop_contains(facts->cfg, symbol->index, block) &&
                facts->uniformity->leave_deps[symbol->index] & unlike)
                return false;
        }
    }
    return true;
}

static enum ptx_site_class classify(const struct ptx_facts *facts, const struct ptx_site *site)
{
    if (!(site->deps & PTX_DEP_ANY_THREAD))
        return PTX_SITE_UNIFORM;
    if (is_affine(facts, &site->form, site->block))
        return PTX_SITE_AFFINE;
    return site->deps & (PTX_DEP_MEMORY | PTX_DEP_CALLER) ? PTX_SITE_INDIRECT : PTX_SITE_COMPUTED;
}

static void fill(struct ptx_facts *facts, struct ptx_site *site, struct ptx_instr *instr,
                 const struct ptx_operand *address, enum ptx_access access, enum ptx_space space)
{
    const struct ptx_cfg *cfg = facts->cfg;
    site->instr = instr;
    site->address = address;
    site->access = (uint8_t)access;
    site->space = (uint8_t)space;
    site->block = cfg->block_of[instr->index];
    site->reachable = cfg->blocks[site->block].order != PTX_NO_BLOCK;
    site->origin = ptx_operand_origin(facts->provenance, instr, address);
    site->actual_space =
        (uint8_t)(space != PTX_SPACE_GENERIC ? space : ptx_origin_space(&site->origin));
    site->bytes = site_bytes(instr);
    site->lanes = address_lanes(instr);
    site->type = ptx_access_type(facts->usage, instr);
    site->form = ptx_operand_form(facts->affine, instr, address);
    site->deps = ptx_operand_deps(facts->uniformity, instr, address);
    site->block_deps = ptx_block_deps(facts->uniformity, site->block);
    site->loop = cfg->blocks[site->block].loop;
    site->loop_depth = site->loop == PTX_NO_LOOP ? 0 : cfg->loops[site->loop].depth;
    site->loop_invariant = site->loop != PTX_NO_LOOP && !instr->guard &&
                           ptx_form_invariant(facts->affine, &site->form, site->loop) &&
                           ptx_dominates(cfg, site->block, cfg->loops[site->loop].last_common);
    site->kind = (uint8_t)classify(facts, site);
}

// Finds address operands in text order: the destination of a copy precedes its source. An address
// without brackets (a[1]) counts if the table says that it is an address.
static uint32_t find_addresses(const struct ptx_instr *instr, const struct ptx_operand *out[2])
{
    uint32_t count = 0;
    for (uint8_t i = 0; i < instr->operand_count && count < 2; i++) {
        const struct ptx_operand *operand = &instr->operands[i];
        if (operand->kind == PTX_OPERAND_ADDRESS ||
            (operand->kind == PTX_OPERAND_VAR && ptx_op_cell(ptx_op(instr), i).role == 'a'))
            out[count++] = operand;
    }
    return count;
}

static bool is_copy(const struct ptx_instr *instr)
{
    uint16_t flags = ptx_flags(instr);
    return (flags & PTX_FLAG_LOAD) && (flags & (PTX_FLAG_STORE | PTX_FLAG_ATOMIC));
}

// A loaded value is known to be a pointer if an address comes from that load.
static void mark_pointers(struct ptx_site *sites, uint32_t count, uint32_t address_bits)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint8_t k = 0; k < sites[i].origin.count; k++) {
            const struct ptx_root *root = &sites[i].origin.roots[k];
            if (root->kind != PTX_ROOT_LOAD)
                continue;
            // Sites are in text order and so in order of their instructions' indices.
            const size_t at = base_search(0, count, j, sites[j].instr->index < root->instr->index);
            if (at < count && sites[at].instr == root->instr) {
                sites[at].type.type = address_bits == 32 ? PTX_U32 : PTX_U64;
                sites[at].type.is_pointer = true;
                sites[at].type.is_sure = true;
            }
        }
    }
}

enum base_code ptx_sites_find(struct ptx_facts *facts, struct ptx_site **sites, uint32_t *count,
                              struct base_error *error)
{
    BASE_ARRAY(struct ptx_site) found = {0};
    jmp_buf escape;
    facts->arena.escape = &escape;
    if (setjmp(escape)) {
        facts->arena.escape = NULL;
        return base_no_memory_while(error, "listing the sites of %s", facts->function->name);
    }
    for (struct ptx_stmt *stmt = facts->function->first; stmt; stmt = stmt->next) {
        struct ptx_instr *instr = ptx_stmt_instr(stmt);
        if (!instr || !(ptx_flags(instr) & PTX_FLAG_MEMORY) ||
            (instr->form->space == PTX_SPACE_PARAM && !is_copy(instr)))
            continue;
        const struct ptx_operand *addresses[2];
        uint32_t address_count = find_addresses(instr, addresses);
        if (!address_count)
            continue;
        uint16_t flags = ptx_flags(instr);
        enum ptx_access access = flags & PTX_FLAG_ATOMIC  ? PTX_ACCESS_ATOMIC
                                 : flags & PTX_FLAG_STORE ? PTX_ACCESS_STORE
                                                          : PTX_ACCESS_LOAD;
        fill(facts, base_array_add(&found, &facts->arena), instr, addresses[0], access,
             (enum ptx_space)instr->form->space);
        if (is_copy(instr) && address_count == 2)
            fill(facts, base_array_add(&found, &facts->arena), instr, addresses[1], PTX_ACCESS_LOAD,
                 (enum ptx_space)instr->form->space2);
    }
    facts->arena.escape = NULL;
    mark_pointers(found.items, (uint32_t)found.count, facts->function->module->address_size);
    *sites = found.items;
    *count = (uint32_t)found.count;
    return BASE_OK;
}

// Returns the barrier of a bulk copy, which follows its size; NULL if it has none.
static const struct ptx_operand *find_barrier(const struct ptx_instr *instr)
{
    enum { BARRIER = 3 };
    if (ptx_op(instr) != PTX_OP_CP_ASYNC_BULK && ptx_op(instr) != PTX_OP_CP_REDUCE_ASYNC_BULK)
        return NULL;
    return instr->operand_count > BARRIER && instr->operands[BARRIER].kind == PTX_OPERAND_ADDRESS
               ? &instr->operands[BARRIER]
               : NULL;
}

enum base_code ptx_barrier_sites_find(struct ptx_facts *facts, struct ptx_site **sites,
                                      uint32_t *count, struct base_error *error)
{
    BASE_ARRAY(struct ptx_site) found = {0};
    jmp_buf escape;
    facts->arena.escape = &escape;
    if (setjmp(escape)) {
        facts->arena.escape = NULL;
        return base_no_memory_while(error, "listing the barriers of %s", facts->function->name);
    }
    for (struct ptx_stmt *stmt = facts->function->first; stmt; stmt = stmt->next) {
        struct ptx_instr *instr = ptx_stmt_instr(stmt);
        const struct ptx_operand *barrier = instr ? find_barrier(instr) : NULL;
        if (!barrier)
            continue;
        struct ptx_site *site = base_array_add(&found, &facts->arena);
        fill(facts, site, instr, barrier, PTX_ACCESS_ATOMIC, PTX_SPACE_SHARED);
        site->bytes = BARRIER_BYTES;
        site->type = (struct ptx_access_type){.type = PTX_B64, .count = 1, .is_sure = true};
    }
    facts->arena.escape = NULL;
    *sites = found.items;
    *count = (uint32_t)found.count;
    return BASE_OK;
}
