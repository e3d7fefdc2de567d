// SPDX-License-Identifier: Apache-2.0
// Collects the sites of a root. A call that passes the pointer leads to the sites of the callee's
// parameter, whose grids are added to that of the argument.
#include "touches.h"

#include <string.h>

enum { DEPTH = 4, CALLEES = 64 };

bool ptx_site_is_global(const struct ptx_site *site)
{
    return site->reachable &&
           (site->actual_space == PTX_SPACE_GLOBAL || site->actual_space == PTX_SPACE_GENERIC);
}

static bool comes_from(const struct ptx_origin *origin, const struct ptx_root *root)
{
    for (uint8_t i = 0; i < origin->count; i++) {
        if (ptx_same_root(&origin->roots[i], root))
            return true;
    }
    return false;
}

static struct ptx_grid add(struct ptx_grid a, struct ptx_grid b)
{
    return (struct ptx_grid){.constant = a.constant + b.constant,
                             .step = ptx_gcd(a.step, b.step),
                             .still = ptx_gcd(a.still, b.still),
                             .lost = a.lost || b.lost};
}

// Where in a function the root's memory begins: the root as that function names it, and how far
// its value is from the root that was asked for.
struct place {
    const struct ptx_facts *facts;
    struct ptx_root root;
    struct ptx_grid from;
    unsigned depth;
};

static void find_in(struct ptx_touches *touches, const struct ptx_site *sites, uint32_t site_count,
                    const struct place *place);

static void doubt(struct ptx_touches *touches, const char *why)
{
    if (!touches->doubt)
        touches->doubt = why;
}

// Returns the analysed function, or NULL if there are too many.
static struct ptx_callee *analyse(struct ptx_touches *touches, struct ptx_function *function)
{
    for (size_t i = 0; i < touches->callees.count; i++) {
        if (touches->callees.items[i].facts->function == function)
            return &touches->callees.items[i];
    }
    if (touches->callees.count == CALLEES)
        return NULL;
    struct ptx_callee callee;
    if (ptx_facts_create(function, touches->arena->limit_bytes, &callee.facts, touches->error) !=
        BASE_OK)
        longjmp(*touches->arena->escape, 1);
    struct ptx_callee *kept = base_array_push(&touches->callees);
    if (!kept) {
        ptx_facts_destroy(callee.facts);
        longjmp(*touches->arena->escape, 1);
    }
    *kept = (struct ptx_callee){.facts = callee.facts};
    if (ptx_sites_find(kept->facts, &kept->sites, &kept->site_count, touches->error) != BASE_OK)
        longjmp(*touches->arena->escape, 1);
    // Forms of operands are made in the memory of the facts.
    kept->facts->arena.escape = touches->arena->escape;
    return kept;
}

// Functions of the driver that do not access what their arguments point to.
static bool is_harmless(const char *name)
{
    static const char *const names[] = {"malloc", "free", "vprintf", "__assertfail"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

// Follows an argument, which holds a pointer at `offset` bytes, into the function that is called.
static void enter(struct ptx_touches *touches, const struct place *place,
                  const struct ptx_call *call, uint32_t argument, uint32_t offset,
                  struct ptx_grid grid)
{
    touches->escapes = true;
    if (call->target->kind != PTX_OPERAND_FUNCTION) {
        doubt(touches, "an indirect call receives the pointer");
        return;
    }
    const char *name = call->target->function->name;
    struct ptx_function *function = ptx_function_find(place->facts->function->module, name);
    if (is_harmless(name))
        return;
    const struct ptx_callee *callee =
        function && function->has_body && place->depth < DEPTH && argument < function->param_count
            ? analyse(touches, function)
            : NULL;
    if (!callee) {
        doubt(touches, "a function that is not analysed receives the pointer");
        return;
    }
    struct place inner = {
        .facts = callee->facts,
        .root = {.kind = PTX_ROOT_PARAM, .index = argument, .offset = offset},
        .from = add(place->from, grid),
        .depth = place->depth + 1,
    };
    // The array of callees may move while the sites are searched; the sites do not.
    const struct ptx_callee here = *callee;
    find_in(touches, here.sites, here.site_count, &inner);
}

// A function that is called may name the variable itself.
static void enter_by_name(struct ptx_touches *touches, const struct place *place,
                          const struct ptx_call *call)
{
    struct ptx_function *function =
        call->target->kind == PTX_OPERAND_FUNCTION
            ? ptx_function_find(place->facts->function->module, call->target->function->name)
            : NULL;
    struct ptx_callee *callee = function && function->has_body ? analyse(touches, function) : NULL;
    if (!callee || callee->entered == touches->round)
        return;
    callee->entered = touches->round;
    const struct ptx_callee here = *callee;
    find_in(touches, here.sites, here.site_count,
            &(struct place){.facts = here.facts, .root = place->root});
}

// Finds the next call that has the variable among its arguments, and which argument it is.
static bool call_with(const struct ptx_instr *store, const struct ptx_var *var,
                      struct ptx_call *call, uint32_t *argument)
{
    for (struct ptx_stmt *stmt = store->stmt.next; stmt; stmt = stmt->next) {
        const struct ptx_instr *instr = ptx_stmt_instr(stmt);
        if (!instr || !ptx_call_parts(instr, call) || !call->arguments)
            continue;
        for (uint16_t i = 0; i < call->arguments->count; i++) {
            const struct ptx_operand *element = &call->arguments->elements[i];
            if (element->kind == PTX_OPERAND_VAR && element->var == var) {
                *argument = i;
                return true;
            }
        }
    }
    return false;
}

// Handles a store: of the pointer to memory, or to an argument of a call.
static void follow_store(struct ptx_touches *touches, const struct place *place,
                         const struct ptx_instr *instr)
{
    const struct ptx_operand *address = &instr->operands[0], *data = &instr->operands[1];
    const uint16_t count = data->kind == PTX_OPERAND_VECTOR ? data->count : 1;
    const uint32_t bytes = ptx_type_bytes((enum ptx_type)instr->form->types[0]);
    for (uint16_t i = 0; i < count; i++) {
        const struct ptx_operand *element =
            data->kind == PTX_OPERAND_VECTOR ? &data->elements[i] : data;
        struct ptx_origin origin = ptx_operand_origin(place->facts->provenance, instr, element);
        if (!comes_from(&origin, &place->root))
            continue;
        touches->escapes = true;
        if (instr->form->space != PTX_SPACE_PARAM)
            continue;
        struct ptx_call call;
        uint32_t argument = 0;
        const struct ptx_operand *base =
            address->kind == PTX_OPERAND_ADDRESS ? &address->elements[0] : address;
        if (base->kind == PTX_OPERAND_VAR && call_with(instr, base->var, &call, &argument))
            enter(touches, place, &call, argument, (uint32_t)address->offset + i * bytes,
                  ptx_address_grid(place->facts, instr, element, &place->root));
    }
}

// Handles a call with registers or variables as arguments.
static void follow_call(struct ptx_touches *touches, const struct place *place,
                        const struct ptx_instr *instr)
{
    struct ptx_call call;
    if (!ptx_call_parts(instr, &call))
        return;
    if (place->root.kind == PTX_ROOT_VAR)
        enter_by_name(touches, place, &call);
    if (!call.arguments)
        return;
    for (uint16_t i = 0; i < call.arguments->count; i++) {
        const struct ptx_operand *element = &call.arguments->elements[i];
        if (element->kind != PTX_OPERAND_REG)
            continue;
        struct ptx_origin origin = ptx_operand_origin(place->facts->provenance, instr, element);
        if (comes_from(&origin, &place->root))
            enter(touches, place, &call, i, 0,
                  ptx_address_grid(place->facts, instr, element, &place->root));
    }
}

static void find_in(struct ptx_touches *touches, const struct ptx_site *sites, uint32_t site_count,
                    const struct place *place)
{
    const struct ptx_cfg *cfg = place->facts->cfg;
    for (uint32_t i = 0; i < site_count; i++) {
        if (!ptx_site_is_global(&sites[i]) || !comes_from(&sites[i].origin, &place->root))
            continue;
        struct ptx_grid grid =
            ptx_address_grid(place->facts, sites[i].instr, sites[i].address, &place->root);
        *base_array_add(&touches->list, touches->arena) =
            (struct ptx_touch){place->facts, &sites[i], add(place->from, grid)};
    }
    for (uint32_t b = 0; b < cfg->order_count; b++) {
        const struct ptx_block *block = &cfg->blocks[cfg->order[b]];
        for (uint32_t i = 0; i < block->instr_count; i++) {
            const struct ptx_instr *instr = block->instrs[i];
            if (ptx_op(instr) == PTX_OP_ST && instr->operand_count == 2)
                follow_store(touches, place, instr);
            else if (ptx_op(instr) == PTX_OP_CALL)
                follow_call(touches, place, instr);
        }
    }
}

void ptx_touches_find(struct ptx_touches *touches, const struct ptx_facts *facts,
                      const struct ptx_site *sites, uint32_t site_count,
                      const struct ptx_root *root)
{
    touches->list.count = 0;
    touches->doubt = NULL;
    touches->escapes = false;
    touches->round++;
    find_in(touches, sites, site_count, &(struct place){.facts = facts, .root = *root});
}

void ptx_touches_fini(struct ptx_touches *touches)
{
    for (size_t i = 0; i < touches->callees.count; i++)
        ptx_facts_destroy(touches->callees.items[i].facts);
    base_array_fini(&touches->callees);
}
