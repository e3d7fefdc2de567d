// SPDX-License-Identifier: Apache-2.0
// The functions of a module and what calls what, from the text alone: which functions must be
// cloned so that no access of a kernel is missed, and which calls may end the thread. What is
// called by pointer may be every function whose address the module takes.
#include <stdlib.h>
#include <string.h>

#include "work.h"

struct instrument_body *instrument_body_of(const struct instrument_work *work, const char *name)
{
    const uint64_t *at = base_map_get_str(&work->by_name, base_str(name));
    return at ? &work->bodies[*at - 1] : NULL;
}

// Functions of the driver and of the device runtime: what they touch is no object's affair, or told
// by calls of their own.
static bool is_known(const char *name)
{
    static const char *const known[] = {"vprintf",      "malloc",  "free",
                                        "__assertfail", "cudaCDP", "__cudaCDP"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strncmp(name, known[i], strlen(known[i])) == 0)
            return true;
    }
    return false;
}

static bool is_memory(const struct ptx_instr *instr)
{
    if (ptx_op(instr) == PTX_OP_UNKNOWN)
        return true;
    if (!(ptx_flags(instr) & PTX_FLAG_MEMORY))
        return false;
    const struct ptx_form *form = instr->form;
    return form->space == PTX_SPACE_GENERIC || form->space == PTX_SPACE_GLOBAL ||
           form->space2 == PTX_SPACE_GLOBAL;
}

static void take(struct instrument_work *work, const struct ptx_function *function)
{
    struct instrument_body *body = instrument_body_of(work, function->name);
    if (body)
        body->taken = true;
    else if (!is_known(function->name))
        work->takes_outside = true;
}

// Marks the functions whose addresses are taken, in code and in initial values.
static void find_taken(struct instrument_work *work)
{
    for (const struct ptx_item *item = work->ptx->first; item; item = item->next) {
        for (uint64_t i = 0; item->kind == PTX_ITEM_VAR && i < item->var->init_count; i++) {
            if (item->var->init[i].kind == PTX_INIT_FUNCTION)
                take(work, item->var->init[i].function);
        }
        // Others may hand over theirs.
        if (item->kind == PTX_ITEM_FUNCTION && item->function->linkage & PTX_LINK_EXTERN &&
            !item->function->has_body && !is_known(item->function->name))
            work->takes_outside = true;
    }
    for (uint32_t i = 0; i < work->body_count; i++) {
        for (struct ptx_stmt *stmt = work->bodies[i].function->first; stmt; stmt = stmt->next) {
            const struct ptx_instr *instr = ptx_stmt_instr(stmt);
            struct ptx_call call;
            if (!instr || ptx_call_parts(instr, &call))
                continue;
            for (uint32_t k = 0; k < instr->operand_count; k++) {
                if (instr->operands[k].kind == PTX_OPERAND_FUNCTION)
                    take(work, instr->operands[k].function);
            }
        }
    }
}

static bool same_sizes(const struct ptx_operand *list, struct ptx_var *const *vars, uint32_t count)
{
    if ((list ? list->count : 0u) != count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct ptx_operand *one = &list->elements[i];
        if (one->kind != PTX_OPERAND_VAR || one->var->size_bytes != vars[i]->size_bytes)
            return false;
    }
    return true;
}

bool instrument_may_call(const struct ptx_call *call, const struct instrument_body *body)
{
    const struct ptx_function *function = body->function;
    return body->taken && !function->is_entry &&
           same_sizes(call->arguments, function->params, function->param_count) &&
           same_sizes(call->returns, function->returns, function->return_count);
}

struct callees {
    uint32_t *items;
    size_t count, capacity;
};

static void add_callee(struct instrument_work *work, struct callees *callees,
                       const struct instrument_body *callee)
{
    const uint32_t index = (uint32_t)(callee - work->bodies);
    for (size_t i = 0; i < callees->count; i++) {
        if (callees->items[i] == index)
            return;
    }
    *base_array_add(callees, &work->scratch) = index;
}

static void look_at(struct instrument_work *work, struct instrument_body *body)
{
    struct callees callees = {0};
    for (struct ptx_stmt *stmt = body->function->first; stmt; stmt = stmt->next) {
        const struct ptx_instr *instr = ptx_stmt_instr(stmt);
        struct ptx_call call;
        if (!instr)
            continue;
        body->has_memory |= is_memory(instr);
        body->has_exit |= ptx_op(instr) == PTX_OP_EXIT;
        if (!ptx_call_parts(instr, &call))
            continue;
        if (call.target->kind != PTX_OPERAND_FUNCTION) {
            body->calls_pointers |= work->takes_outside;
            for (uint32_t i = 0; i < work->body_count; i++) {
                if (instrument_may_call(&call, &work->bodies[i]))
                    add_callee(work, &callees, &work->bodies[i]);
            }
            continue;
        }
        const char *name = call.target->function->name;
        const struct instrument_body *callee = instrument_body_of(work, name);
        if (callee)
            add_callee(work, &callees, callee);
        else if (!is_known(name))
            body->calls_outside = name;
    }
    body->callees = callees.items;
    body->callee_count = (uint32_t)callees.count;
    body->touches = body->has_memory;
}

// Takes over what callees have, until nothing changes.
static void spread(struct instrument_work *work)
{
    bool any_exit = false;
    for (uint32_t i = 0; i < work->body_count; i++)
        any_exit |= work->bodies[i].has_exit && !work->bodies[i].function->is_entry;
    for (uint32_t i = 0; i < work->body_count; i++)
        work->bodies[i].may_exit = work->bodies[i].calls_pointers && any_exit;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = work->body_count; i-- > 0;) {
            struct instrument_body *body = &work->bodies[i];
            for (uint32_t k = 0; k < body->callee_count; k++) {
                const struct instrument_body *callee = &work->bodies[body->callees[k]];
                bool touches = body->touches || callee->touches;
                bool may_exit = body->may_exit || callee->has_exit || callee->may_exit;
                bool pointers = body->calls_pointers || callee->calls_pointers;
                const char *outside =
                    body->calls_outside ? body->calls_outside : callee->calls_outside;
                changed |= touches != body->touches || may_exit != body->may_exit ||
                           pointers != body->calls_pointers || outside != body->calls_outside;
                body->touches = touches;
                body->may_exit = may_exit;
                body->calls_pointers = pointers;
                body->calls_outside = outside;
            }
        }
    }
}

void instrument_find_calls(struct instrument_work *work)
{
    BASE_ARRAY(struct instrument_body) bodies = {0};
    for (const struct ptx_item *item = work->ptx->first; item; item = item->next) {
        if (item->kind != PTX_ITEM_FUNCTION || !item->function->has_body)
            continue;
        base_array_add(&bodies, &work->scratch)->function = item->function;
        uint64_t *at = base_map_put_str(&work->by_name, base_str(item->function->name), NULL);
        if (!at)
            longjmp(work->escape, 1);
        *at = bodies.count;
    }
    work->bodies = bodies.items;
    work->body_count = (uint32_t)bodies.count;
    find_taken(work);
    for (uint32_t i = 0; i < work->body_count; i++)
        look_at(work, &work->bodies[i]);
    spread(work);
}

bool instrument_is_led(const struct instrument_work *work, const struct ptx_instr *instr)
{
    struct ptx_call call;
    if (!ptx_call_parts(instr, &call))
        return false;
    if (call.target->kind == PTX_OPERAND_FUNCTION) {
        const struct instrument_body *callee =
            instrument_body_of(work, call.target->function->name);
        return callee && callee->touches;
    }
    for (uint32_t i = 0; i < work->body_count; i++) {
        if (work->bodies[i].touches && instrument_may_call(&call, &work->bodies[i]))
            return true;
    }
    return false;
}
