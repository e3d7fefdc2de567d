// SPDX-License-Identifier: Apache-2.0
// Finds the functions of a module and what calls what, from the text alone: which functions must be
// cloned so that every access of a kernel is seen, and which calls may end the thread.
#include "calls.h"

#include <stdlib.h>
#include <string.h>

#include "children.h"
#include "heap.h"
#include "spare.h"

struct instrument_body *instrument_body_of(const struct instrument_work *work, const char *name)
{
    const uint64_t *at = base_map_get_str(&work->by_name, base_str(name));
    return at ? &work->bodies[*at - 1] : NULL;
}

static bool begins_with_any(const char *name, const char *const *with, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(name, with[i], strlen(with[i])) == 0)
            return true;
    }
    return false;
}

#define BEGINS_WITH_ANY(name, list) \
    begins_with_any((name), (list), sizeof(list) / sizeof((list)[0]))

// Returns the name of a function of the device runtime without its prefix: "LaunchDeviceV2" for
// "cudaLaunchDeviceV2" and "__cudaCDP2LaunchDeviceV2". NULL if it has no such prefix.
static const char *device_runtime(const char *name)
{
    static const char *const prefixes[] = {"__cudaCDP2", "cudaCDP2", "__cudaCDP", "cudaCDP",
                                           "cuda"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return name + strlen(prefixes[i]);
    }
    return NULL;
}

bool instrument_launches(const char *name)
{
    const char *what = device_runtime(name);
    return what && (strncmp(what, "Launch", 6) == 0 || strncmp(what, "GraphLaunch", 11) == 0);
}

// Returns whether the function is one of the driver or the device runtime that accesses no object.
// Functions of the device runtime that copy, fill, allocate or launch are not among them.
static bool is_known(const char *name)
{
    static const char *const known[] = {"vprintf", "malloc", "free",
                                        "__cuda_syscall_aligned_malloc", "__assertfail"};
    static const char *const of_runtime[] = {
        "GetParameterBuffer", "GetLastError", "PeekAtLastError",
        "GetError",           "GetDevice",    "DeviceGet",
        "DeviceSynchronize",  "StreamCreate", "StreamDestroy",
        "StreamWait",         "Event",        "FuncGetAttributes",
        "Occupancy",          "RuntimeGet",   "GetCurrentGraphExec"};
    const char *what = device_runtime(name);
    return what ? BEGINS_WITH_ANY(what, of_runtime) : BEGINS_WITH_ANY(name, known);
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

// Returns whether the instruction changes something that is not memory of an object: a surface, or
// the program itself. It may also be unknown what it does. Discarded memory holds anything, and
// multimem instructions write memory of other GPUs.
static bool has_other_effects(const struct ptx_instr *instr)
{
    switch (ptx_op(instr)) {
    case PTX_OP_UNKNOWN:
    case PTX_OP_SUST:
    case PTX_OP_SURED:
    case PTX_OP_TRAP:
    case PTX_OP_BRKPT:
    case PTX_OP_PMEVENT:
    case PTX_OP_DISCARD:
    case PTX_OP_MULTIMEM_ST:
    case PTX_OP_MULTIMEM_RED:
    case PTX_OP_MULTIMEM_CP_ASYNC_BULK:
    case PTX_OP_MULTIMEM_CP_REDUCE: return true;
    default: return false;
    }
}

static void take(struct instrument_work *work, const struct ptx_function *function)
{
    struct instrument_body *body = instrument_body_of(work, function->name);
    if (body)
        body->is_taken = true;
}

// Marks the functions whose addresses the code or a variable holds: pointers refer to no others.
static void find_taken(struct instrument_work *work)
{
    for (const struct ptx_item *item = work->ptx->first; item; item = item->next) {
        if (item->kind != PTX_ITEM_VAR)
            continue;
        for (uint64_t i = 0; i < item->var->init_count; i++) {
            if (item->var->init[i].kind == PTX_INIT_FUNCTION)
                take(work, item->var->init[i].function);
        }
    }
    for (uint32_t i = 0; i < work->body_count; i++) {
        for (struct ptx_stmt *stmt = work->bodies[i].function->first; stmt; stmt = stmt->next) {
            const struct ptx_instr *instr = ptx_stmt_instr(stmt);
            for (uint8_t k = 0; instr && ptx_op(instr) != PTX_OP_CALL && k < instr->operand_count;
                 k++) {
                if (instr->operands[k].kind == PTX_OPERAND_FUNCTION)
                    take(work, instr->operands[k].function);
            }
        }
    }
}

static bool same_params(struct ptx_var *const *a, uint32_t count, struct ptx_var *const *b,
                        uint32_t other_count)
{
    if (count != other_count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (a[i]->size_bytes != b[i]->size_bytes || a[i]->space != b[i]->space)
            return false;
    }
    return true;
}

bool instrument_may_lead_to(const struct instrument_body *body, const struct ptx_call *call)
{
    const struct ptx_function *function = body->function;
    if (!body->is_taken || !call->candidates || call->candidates->kind != PTX_OPERAND_LABEL)
        return false;
    const struct ptx_label *label = call->candidates->label;
    for (uint32_t i = 0; i < label->target_count; i++) {
        if (label->targets[i].kind == PTX_OPERAND_FUNCTION &&
            strcmp(label->targets[i].function->name, function->name) == 0)
            return true;
    }
    const struct ptx_function *prototype = label->prototype;
    return label->kind == PTX_LABEL_PROTOTYPE && prototype &&
           same_params(function->params, function->param_count, prototype->params,
                       prototype->param_count) &&
           same_params(function->returns, function->return_count, prototype->returns,
                       prototype->return_count);
}

struct callees {
    uint32_t *items;
    size_t count, capacity;
};

static void add_callee(struct instrument_work *work, struct callees *callees, uint32_t index)
{
    for (size_t k = 0; k < callees->count; k++) {
        if (callees->items[k] == index)
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
        body->other_effects |= has_other_effects(instr);
        body->reads_sizes |= instrument_reads_sizes(instr);
        body->textures |= ptx_op(instr) == PTX_OP_TEX || ptx_op(instr) == PTX_OP_TLD4;
        body->tensors |= ptx_op(instr) == PTX_OP_CP_ASYNC_BULK_TENSOR ||
                         ptx_op(instr) == PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR;
        if (!ptx_call_parts(instr, &call))
            continue;
        if (call.target->kind != PTX_OPERAND_FUNCTION) {
            body->calls_any = body->other_effects = true; // the text need not define it
            for (uint32_t i = 0; i < work->body_count; i++) {
                if (instrument_may_lead_to(&work->bodies[i], &call))
                    add_callee(work, &callees, i);
            }
            continue;
        }
        const struct instrument_body *callee =
            instrument_body_of(work, call.target->function->name);
        if (!callee) {
            body->other_effects = true; // it prints or allocates, for example
            if (instrument_is_heap(work, call.target->function)) {
                instrument_note_heap(work, call.target->function);
                body->allocates = true;
            }
            if (instrument_launches(call.target->function->name)) {
                if (!body->children.count)
                    body->launches = call.target->function->name;
            } else if (!is_known(call.target->function->name))
                body->calls_outside = call.target->function->name;
            continue;
        }
        add_callee(work, &callees, (uint32_t)(callee - work->bodies));
    }
    for (size_t i = 0; i < body->children.count; i++)
        add_callee(work, &callees, body->children.items[i]);
    body->callees = callees.items;
    body->callee_count = (uint32_t)callees.count;
    body->touches = body->has_memory || body->allocates;
}

// Propagates the properties of callees to their callers until nothing changes.
static void spread(struct instrument_work *work)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = work->body_count; i-- > 0;) {
            struct instrument_body *body = &work->bodies[i];
            for (uint32_t k = 0; k < body->callee_count; k++) {
                const struct instrument_body *callee = &work->bodies[body->callees[k]];
                bool touches = body->touches || callee->touches;
                bool may_exit =
                    body->may_exit || (!callee->is_child && (callee->has_exit || callee->may_exit));
                const char *outside =
                    body->calls_outside ? body->calls_outside : callee->calls_outside;
                const char *launches = body->launches ? body->launches : callee->launches;
                const bool allocates = body->allocates || callee->allocates;
                const bool textures = body->textures || callee->textures;
                const bool tensors = body->tensors || callee->tensors;
                const bool calls_any = body->calls_any || callee->calls_any;
                const bool other_effects = body->other_effects || callee->other_effects;
                const bool reads_sizes = body->reads_sizes || callee->reads_sizes;
                changed |= touches != body->touches || may_exit != body->may_exit ||
                           outside != body->calls_outside || allocates != body->allocates ||
                           launches != body->launches || textures != body->textures ||
                           tensors != body->tensors || calls_any != body->calls_any ||
                           other_effects != body->other_effects || reads_sizes != body->reads_sizes;
                body->reads_sizes = reads_sizes;
                body->other_effects = other_effects;
                body->calls_any = calls_any;
                body->launches = launches;
                body->textures = textures;
                body->tensors = tensors;
                body->touches = touches;
                body->allocates = allocates;
                body->may_exit = may_exit;
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
    instrument_find_children(work);
    for (uint32_t i = 0; i < work->body_count; i++)
        look_at(work, &work->bodies[i]);
    spread(work);
}
