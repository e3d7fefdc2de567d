// SPDX-License-Identifier: Apache-2.0
// Redirects calls in clones to the clones of the functions that they call, also calls by pointer,
// and precedes a call from which the thread may not return by the code that threads execute before
// they leave.
//
// Compilers put a call and its arguments into a scope, and nothing may come between them. So what
// precedes the call is written before the scope, and for a call that may reach several functions
// the scope is copied for each.
#include "led.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "children.h"
#include "clone.h"
#include "fill.h"
#include "heap.h"

// Returns whether a thread may not return from the call.
static bool may_end(const struct instrument_work *work, const struct instrument_body *body,
                    const struct ptx_call *call)
{
    if (call->target->kind != PTX_OPERAND_FUNCTION)
        return body->may_exit; // of one of the functions that it may call
    const struct instrument_body *callee = instrument_body_of(work, call->target->function->name);
    return callee && (callee->has_exit || callee->may_exit);
}

// Writes the call of a clone, which has one more argument: the address of the table.
static void emit_call_of(struct instrument_work *work, const struct instrument_body *body,
                         const struct ptx_instr *instr, const char *name)
{
    struct base_buf *out = &work->out;
    struct ptx_call call;
    uint32_t number = work->labels++;
    char guard[128] = "";
    ptx_call_parts(instr, &call);
    if (instr->guard)
        snprintf(guard, sizeof(guard), "%s%.100s ", instr->guard_negated ? "@!" : "@",
                 instr->guard->name);
    base_buf_printf(out, ".reg .b64 %%glint$c%u;\n.param .b64 glint$c%u;\n", number, number);
    if (body->kernel)
        base_buf_printf(out, "ld.param.u64 %%glint$c%u, [glint$context+%zu];\n", number,
                        offsetof(struct instrument_context, table));
    else
        base_buf_printf(out, "ld.param.u64 %%glint$c%u, [glint$table];\n", number);
    base_buf_printf(out, "%sst.param.b64 [glint$c%u], %%glint$c%u;\n%s%s ", guard, number, number,
                    guard, instr->form->text);
    if (call.returns) {
        ptx_print_operand(call.returns, out);
        base_buf_puts(out, ", ");
    }
    base_buf_printf(out, "%s" GLINT_SUFFIX ", (", name);
    for (uint16_t i = 0; call.arguments && i < call.arguments->count; i++) {
        ptx_print_operand(&call.arguments->elements[i], out);
        base_buf_puts(out, ", ");
    }
    base_buf_printf(out, "glint$c%u);\n", number);
}

// Writes the statements of a call, from one to another, with the call redirected to a clone.
static void emit_copy(struct instrument_work *work, const struct instrument_body *body,
                      const struct ptx_stmt *from, const struct ptx_stmt *to, const char *name)
{
    for (const struct ptx_stmt *stmt = from;; stmt = stmt->next) {
        const struct ptx_instr *instr =
            stmt->kind == PTX_STMT_INSTR ? (const struct ptx_instr *)stmt : NULL;
        if (instr && ptx_op(instr) == PTX_OP_CALL) {
            emit_call_of(work, body, instr, name);
        } else if (stmt->kind != PTX_STMT_LABEL) { // a prototype, which only calls by pointer need
            ptx_print_stmt(stmt, &work->out);
            base_buf_putc(&work->out, '\n');
        }
        if (stmt == to)
            return;
    }
}

// Pointers refer to the original functions, so the pointer is compared with each function that it
// may be, and the clone of that function is called. If it is none of them, control continues behind
// this code with the original call. *done becomes the label behind that call, or stays PTX_NO_BLOCK
// if there is nothing to compare with.
static void emit_by_pointer(struct instrument_work *work, const struct instrument_body *body,
                            const struct ptx_instr *instr, const struct ptx_stmt *from,
                            const struct ptx_stmt *to, uint32_t *done)
{
    struct base_buf *out = &work->out;
    struct ptx_call call;
    ptx_call_parts(instr, &call);
    for (uint32_t i = 0; i < work->body_count; i++) {
        const struct instrument_body *callee = &work->bodies[i];
        if (!callee->touches || !instrument_may_lead_to(callee, &call))
            continue;
        if (*done == PTX_NO_BLOCK)
            *done = work->labels++;
        uint32_t other = work->labels++;
        FILL(out, compare_pointer, STRING(function, callee->function->name),
             STRING(pointer, call.target->reg->name), NUMBER(other, other));
        emit_copy(work, body, from, to, callee->function->name);
        base_buf_printf(out, "bra $glint$%u;\n$glint$%u:\n", *done, other);
    }
}

// Returns the call in the scope that the statement opens, and where the scope closes. NULL if the
// scope is not straight code with one call that accesses only parameters.
static const struct ptx_instr *find_call(const struct ptx_stmt *open, const struct ptx_stmt **close)
{
    const struct ptx_instr *found = NULL;
    for (const struct ptx_stmt *stmt = open->next; stmt; stmt = stmt->next) {
        const struct ptx_instr *instr =
            stmt->kind == PTX_STMT_INSTR ? (const struct ptx_instr *)stmt : NULL;
        if (stmt->kind == PTX_STMT_CLOSE) {
            *close = stmt;
            return found;
        }
        if (stmt->kind == PTX_STMT_OPEN ||
            (stmt->kind == PTX_STMT_LABEL &&
             ((const struct ptx_label *)stmt)->kind == PTX_LABEL_CODE) ||
            (instr && (ptx_flags(instr) & (PTX_FLAG_BRANCH | PTX_FLAG_END))) ||
            (instr && (ptx_flags(instr) & PTX_FLAG_MEMORY) &&
             instr->form->space != PTX_SPACE_PARAM))
            return NULL;
        if (instr && ptx_op(instr) == PTX_OP_CALL) {
            if (found)
                return NULL;
            found = instr;
        }
    }
    return NULL;
}

const struct ptx_instr *instrument_call_of(const struct ptx_stmt *stmt,
                                           const struct ptx_stmt **close)
{
    *close = stmt;
    if (stmt->kind == PTX_STMT_OPEN)
        return find_call(stmt, close);
    const struct ptx_instr *instr = (const struct ptx_instr *)stmt;
    return stmt->kind == PTX_STMT_INSTR && ptx_op(instr) == PTX_OP_CALL ? instr : NULL;
}

void instrument_emit_before_call(struct instrument_work *work, const struct instrument_body *body,
                                 const struct ptx_stmt *stmt, struct instrument_led *led)
{
    const struct ptx_stmt *close;
    const struct ptx_instr *instr = instrument_call_of(stmt, &close);
    struct ptx_call call;
    if (!instr || &instr->stmt == led->call || !ptx_call_parts(instr, &call))
        return;
    led->call = &instr->stmt;
    led->close = NULL;
    if (body->may_exit && may_end(work, body, &call))
        instrument_emit_rest(work, body);
    if (call.target->kind == PTX_OPERAND_REG) {
        led->done = PTX_NO_BLOCK;
        emit_by_pointer(work, body, instr, stmt, close, &led->done);
        led->close = led->done == PTX_NO_BLOCK ? NULL : close;
    }
}

void instrument_emit_after_call(struct instrument_work *work, const struct ptx_stmt *stmt,
                                struct instrument_led *led)
{
    if (!led->close || stmt != led->close)
        return;
    base_buf_printf(&work->out, "$glint$%u:\n", led->done);
    led->close = NULL;
}

// Returns whether some kernel that the body launches has a clone.
static bool touches_any(const struct instrument_work *work, const struct instrument_body *body)
{
    bool any = false;
    for (size_t i = 0; i < body->children.count; i++)
        any |= work->bodies[body->children.items[i]].touches;
    return any;
}

bool instrument_emit_led(struct instrument_work *work, const struct instrument_body *body,
                         const struct ptx_instr *instr)
{
    struct ptx_call call;
    if (!ptx_call_parts(instr, &call) || call.target->kind != PTX_OPERAND_FUNCTION)
        return false;
    const struct ptx_function *function = call.target->function;
    const struct instrument_body *callee = instrument_body_of(work, function->name);
    if (callee ? !callee->touches
               : !instrument_is_heap(work, function) &&
                     !(instrument_gets_buffer(body, function) && touches_any(work, body)))
        return false;
    emit_call_of(work, body, instr, function->name);
    return true;
}
