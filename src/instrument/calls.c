// SPDX-License-Identifier: Apache-2.0
// The functions of a module and what calls what, from the text alone: which functions must be
// cloned so that no access of a kernel is missed, and which calls may end the thread.
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

static void look_at(struct instrument_work *work, struct instrument_body *body)
{
    BASE_ARRAY(uint32_t) callees = {0};
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
            body->calls_pointers = true;
            continue;
        }
        const struct instrument_body *callee =
            instrument_body_of(work, call.target->function->name);
        if (!callee) {
            if (!is_known(call.target->function->name))
                body->calls_outside = call.target->function->name;
            continue;
        }
        uint32_t index = (uint32_t)(callee - work->bodies);
        size_t k = 0;
        while (k < callees.count && callees.items[k] != index)
            k++;
        if (k == callees.count)
            *base_array_add(&callees, &work->scratch) = index;
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
    for (uint32_t i = 0; i < work->body_count; i++)
        look_at(work, &work->bodies[i]);
    spread(work);
}

bool instrument_is_led(const struct instrument_work *work, const struct ptx_instr *instr)
{
    struct ptx_call call;
    if (!ptx_call_parts(instr, &call) || call.target->kind != PTX_OPERAND_FUNCTION)
        return false;
    const struct instrument_body *callee = instrument_body_of(work, call.target->function->name);
    return callee && callee->touches;
}
