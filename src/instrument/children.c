// SPDX-License-Identifier: Apache-2.0
// Kernels that kernels launch by the device runtime. The host does not know of these launches, so
// such a kernel gets one more clone, which is like that of a device function: it looks up all
// addresses, in the table of the launch that the host made, whose address is a parameter behind
// those of the kernel. What it touches counts as touched by that launch, which ends when all that
// it launched has ended.
//
// A launching clone asks for the parameter buffer by a function of glint, which names the child's
// clone to the device runtime instead of the kernel, and stores the table's address in the buffer.
// That is only done if the code of a function says which kernels it launches, without dynamic
// shared memory: a program may have permitted more of that for the kernel than the clone may have.
// Otherwise the kernels that the function launches are the program's own, and nothing is known of
// what they touch.
#include "children.h"

#include <string.h>

#include "calls.h"
#include "clone.h"
#include "plan.h"

static const char buffer_function[] = "__cudaCDP2GetParameterBufferV2";
static const char launch_function[] = "__cudaCDP2LaunchDeviceV2";

enum { MOST_PARAM_BYTES = 4096 };

static bool is_buffer_function(const struct ptx_function *function)
{
    static const uint32_t bytes[] = {8, 12, 12, 4};
    if (strcmp(function->name, buffer_function) != 0 || function->has_body ||
        function->param_count != 4 || function->return_count != 1 ||
        function->returns[0]->size_bytes != 8)
        return false;
    for (uint32_t i = 0; i < 4; i++) {
        if (function->params[i]->size_bytes != bytes[i])
            return false;
    }
    return true;
}

// Returns the instruction's call of the device runtime's function, or false.
static bool is_buffer_call(const struct ptx_instr *instr, struct ptx_call *call)
{
    return instr && ptx_call_parts(instr, call) && call->target->kind == PTX_OPERAND_FUNCTION &&
           is_buffer_function(call->target->function);
}

static bool sets(const struct ptx_instr *instr, const struct ptx_reg *reg)
{
    const struct ptx_operand *first = instr->operand_count ? &instr->operands[0] : NULL;
    if (!first)
        return false;
    if (first->kind == PTX_OPERAND_REG)
        return first->reg == reg;
    for (uint16_t i = 0; (first->kind == PTX_OPERAND_VECTOR || first->kind == PTX_OPERAND_LIST ||
                          first->kind == PTX_OPERAND_PAIR) &&
                         i < first->count;
         i++) {
        if (first->elements[i].kind == PTX_OPERAND_REG && first->elements[i].reg == reg)
            return true;
    }
    return false;
}

// Returns the only instruction that sets the register, or NULL.
static const struct ptx_instr *setter(const struct ptx_function *function,
                                      const struct ptx_reg *reg)
{
    const struct ptx_instr *found = NULL;
    for (struct ptx_stmt *stmt = function->first; stmt; stmt = stmt->next) {
        const struct ptx_instr *instr = ptx_stmt_instr(stmt);
        if (!instr || !sets(instr, reg))
            continue;
        if (found)
            return NULL;
        found = instr;
    }
    return found && !found->guard ? found : NULL;
}

// Returns the variable of parameters that the instruction stores or loads as a whole, or NULL.
static const struct ptx_var *param_of(const struct ptx_instr *instr, uint32_t operand)
{
    const struct ptx_operand *address =
        instr->operand_count == 2 ? &instr->operands[operand] : NULL;
    if (!address || instr->form->space != PTX_SPACE_PARAM)
        return NULL;
    if (address->kind == PTX_OPERAND_VAR)
        return address->var;
    if (address->kind != PTX_OPERAND_ADDRESS || address->offset || address->count != 1 ||
        address->elements[0].kind != PTX_OPERAND_VAR)
        return NULL;
    return address->elements[0].var;
}

// Returns what the scope stores as the argument, before its call; NULL if that is not plain.
static const struct ptx_operand *argument_of(const struct ptx_instr *instr,
                                             const struct ptx_call *call, uint16_t index)
{
    if (!call->arguments || index >= call->arguments->count ||
        call->arguments->elements[index].kind != PTX_OPERAND_VAR)
        return NULL;
    const struct ptx_var *var = call->arguments->elements[index].var;
    for (const struct ptx_stmt *stmt = instr->stmt.prev; stmt && stmt->kind != PTX_STMT_OPEN;
         stmt = stmt->prev) {
        const struct ptx_instr *before =
            stmt->kind == PTX_STMT_INSTR ? (const struct ptx_instr *)stmt : NULL;
        if (before && ptx_op(before) == PTX_OP_ST && param_of(before, 0) == var)
            return before->guard ? NULL : &before->operands[1];
    }
    return NULL;
}

// Returns the register that gets the result of the call, or NULL.
static const struct ptx_reg *result_of(const struct ptx_instr *instr, const struct ptx_call *call)
{
    if (!call->returns || call->returns->count != 1 ||
        call->returns->elements[0].kind != PTX_OPERAND_VAR)
        return NULL;
    for (const struct ptx_stmt *stmt = instr->stmt.next; stmt && stmt->kind != PTX_STMT_CLOSE;
         stmt = stmt->next) {
        const struct ptx_instr *behind =
            stmt->kind == PTX_STMT_INSTR ? (const struct ptx_instr *)stmt : NULL;
        if (behind && ptx_op(behind) == PTX_OP_LD &&
            param_of(behind, 1) == call->returns->elements[0].var)
            return behind->operands[0].kind == PTX_OPERAND_REG ? behind->operands[0].reg : NULL;
    }
    return NULL;
}

// Where the clone of a child has the table's address among its parameters.
static uint32_t table_offset(const struct ptx_function *function)
{
    return (instrument_params_end(function) + 7) / 8 * 8;
}

// Returns the kernel that the call launches, or NULL if the code does not say it or the kernel can
// have no clone.
static struct instrument_body *launched(struct instrument_work *work,
                                        const struct instrument_body *body,
                                        const struct ptx_instr *instr, const struct ptx_call *call)
{
    const struct ptx_operand *kernel = argument_of(instr, call, 0),
                             *shared = argument_of(instr, call, 3);
    const struct ptx_reg *result = result_of(instr, call);
    if (instr->guard || !kernel || kernel->kind != PTX_OPERAND_REG || !shared ||
        shared->kind != PTX_OPERAND_INT || shared->bits || !result ||
        setter(body->function, result) == NULL)
        return NULL;
    const struct ptx_instr *from = setter(body->function, kernel->reg);
    if (!from || ptx_op(from) != PTX_OP_MOV || from->operand_count != 2 ||
        from->operands[1].kind != PTX_OPERAND_FUNCTION)
        return NULL;
    struct instrument_body *child = instrument_body_of(work, from->operands[1].function->name);
    if (!child || !child->function->is_entry ||
        !instrument_wants(work->request, child->function->name) ||
        table_offset(child->function) + 8 > MOST_PARAM_BYTES)
        return NULL;
    return child;
}

// Returns whether the function launches what its first argument, a buffer, says.
static bool launches_buffer(const char *name)
{
    const size_t length = sizeof(launch_function) - 1;
    return strncmp(name, launch_function, length) == 0 &&
           (!name[length] || strcmp(name + length, "_ptsz") == 0);
}

// Returns whether the function launches kernels only by calls that say which, and adds these to
// *children.
static bool resolve(struct instrument_work *work, struct instrument_body *body)
{
    for (struct ptx_stmt *stmt = body->function->first; stmt; stmt = stmt->next) {
        const struct ptx_instr *instr = ptx_stmt_instr(stmt);
        struct ptx_call call;
        if (!instr || !ptx_call_parts(instr, &call) || call.target->kind != PTX_OPERAND_FUNCTION)
            continue;
        const char *name = call.target->function->name;
        if (instrument_launches(name) && !launches_buffer(name))
            return false;
        if (!is_buffer_call(instr, &call)) {
            if (strncmp(name, buffer_function, sizeof(buffer_function) - 3) == 0)
                return false; // of the first version
            continue;
        }
        struct instrument_body *child = launched(work, body, instr, &call);
        if (!child)
            return false;
        *base_array_add(&body->buffers, &work->scratch) = result_of(instr, &call);
        *base_array_add(&body->children, &work->scratch) = (uint32_t)(child - work->bodies);
    }
    return true;
}

void instrument_find_children(struct instrument_work *work)
{
    const uint32_t own = work->body_count;
    uint32_t count = own;
    // The clones of device functions count nothing else.
    if (work->values || work->requests || work->words || work->trace)
        return;
    for (uint32_t i = 0; i < own; i++) {
        struct instrument_body *body = &work->bodies[i];
        if (!resolve(work, body)) {
            body->children.count = body->buffers.count = 0;
            continue;
        }
        for (size_t k = 0; k < body->children.count; k++) {
            uint32_t *inner = &work->bodies[body->children.items[k]].inner;
            *inner = *inner ? *inner : count++;
        }
    }
    if (count == own)
        return;
    struct instrument_body *all = base_new_array(&work->scratch, struct instrument_body, count);
    memcpy(all, work->bodies, own * sizeof(*all));
    for (uint32_t i = 0; i < own; i++) {
        if (!all[i].inner)
            continue;
        all[all[i].inner] = all[i];
        all[all[i].inner].is_child = true;
        all[all[i].inner].is_taken = false;
    }
    for (uint32_t i = 0; i < own; i++) {
        for (size_t k = 0; k < all[i].children.count; k++)
            all[i].children.items[k] = all[all[i].children.items[k]].inner;
    }
    work->bodies = all;
    work->body_count = count;
}

bool instrument_gets_buffer(const struct instrument_body *body, const struct ptx_function *function)
{
    return body->children.count && is_buffer_function(function);
}

bool instrument_is_buffer(const struct instrument_body *body, const struct ptx_operand *address)
{
    const struct ptx_operand *base =
        address->kind == PTX_OPERAND_ADDRESS && address->count == 1 ? &address->elements[0] : NULL;
    for (size_t i = 0; base && base->kind == PTX_OPERAND_REG && i < body->buffers.count; i++) {
        if (body->buffers.items[i] == base->reg)
            return true;
    }
    return false;
}

void instrument_limit_child(struct instrument_work *work, struct ptx_function *head)
{
    static const char *const set[] = {".maxntid", ".reqntid", ".maxnreg"};
    for (size_t i = 0; i < sizeof(set) / sizeof(set[0]); i++) {
        if (ptx_function_attr(head, set[i]))
            return;
    }
    instrument_add_attr(work, head,
                        (struct ptx_attr){.name = ".maxntid", .values = {1024, 1, 1}, .count = 3});
}

// Writes `to`, an array of 12 bytes, from `from`.
static void copy_sizes(struct base_buf *out, const char *to, const char *from)
{
    for (int i = 0; i < 3; i++)
        base_buf_printf(out, "ld.param.b32 %%s, [%s+%d]; st.param.b32 [%s+%d], %%s;\n", from, 4 * i,
                        to, 4 * i);
}

void instrument_emit_buffer_function(const struct instrument_work *work, const bool *holds,
                                     struct base_buf *out)
{
    bool any = false;
    for (uint32_t i = 0; i < work->body_count; i++)
        any |= holds[i] && work->bodies[i].is_child && work->bodies[i].cloned;
    if (!any)
        return;
    base_buf_printf(out,
                    "\n.func (.param .b64 glint$0) %s" GLINT_SUFFIX " (\n\t.param .b64 glint$1,\n"
                    "\t.param .align 4 .b8 glint$2[12],\n\t.param .align 4 .b8 glint$3[12],\n"
                    "\t.param .b32 glint$4,\n\t.param .b64 glint$5\n)\n{\n"
                    ".reg .pred %%p;\n.reg .b32 %%s, %%own;\n.reg .b64 %%asked, %%kernel, %%name, "
                    "%%at, %%buffer, %%table;\n"
                    "ld.param.b64 %%asked, [glint$1];\nmov.u64 %%kernel, %%asked;\n"
                    "mov.u64 %%at, -1;\n",
                    buffer_function);
    for (uint32_t i = 0; i < work->body_count; i++) {
        const struct instrument_body *body = &work->bodies[i];
        if (!holds[i] || !body->is_child || !body->cloned || body->failed)
            continue;
        base_buf_printf(out,
                        "mov.u64 %%name, %s;\nsetp.eq.u64 %%p, %%asked, %%name;\n"
                        "mov.u64 %%name, %s" GLINT_SUFFIX "$child;\n"
                        "selp.b64 %%kernel, %%name, %%kernel, %%p;\n"
                        "selp.b64 %%at, %u, %%at, %%p;\n",
                        body->function->name, body->function->name, table_offset(body->function));
    }
    base_buf_puts(out, "{\n.param .b64 r;\n.param .b64 k;\n.param .align 4 .b8 g[12];\n"
                       ".param .align 4 .b8 b[12];\n.param .b32 m;\n"
                       "st.param.b64 [k], %kernel;\n");
    copy_sizes(out, "g", "glint$2");
    copy_sizes(out, "b", "glint$3");
    base_buf_printf(out,
                    "ld.param.b32 %%s, [glint$4]; st.param.b32 [m], %%s;\n"
                    "call (r), %s, (k, g, b, m);\nld.param.b64 %%buffer, [r];\n}\n"
                    "setp.ne.u64 %%p, %%buffer, 0;\nsetp.ne.and.s64 %%p, %%at, -1, %%p;\n"
                    "add.u64 %%at, %%at, %%buffer;\nld.param.b64 %%table, [glint$5];\n"
                    "@%%p st.u64 [%%at], %%table;\nst.param.b64 [glint$0], %%buffer;\nret;\n}\n",
                    buffer_function);
}
