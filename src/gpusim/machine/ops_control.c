// SPDX-License-Identifier: Apache-2.0
// Implements branches, calls, exits and the barriers of a block.
#include <string.h>

#include "builtins.h"
#include "families.h"
#include "frame.h"
#include "module.h"
#include "ops.h"
#include "warp.h"

static enum sim_step branch(struct sim_warp *warp, const struct sim_uop *op)
{
    (void)op;
    warp->path->pc = op->target;
    return STEP_JUMP;
}

static enum sim_step branch_if(struct sim_warp *warp, const struct sim_uop *op)
{
    const uint32_t bits = predicate(warp, op->a);
    struct sim_path *path = warp->path;
    const uint32_t taken = path->mask & (op->mode ? ~bits : bits);
    if (taken && taken != path->mask)
        return sim_warp_branch(warp, op, taken, op->target, path->pc + 1);
    path->pc = taken ? op->target : path->pc + 1;
    return STEP_JUMP;
}

// brx.idx. Lanes with the same index branch together, one index at a time. Lanes whose guard is
// false continue first.
static enum sim_step branch_indexed(struct sim_warp *warp, const struct sim_uop *op)
{
    if (op->b != NO_SLOT) {
        uint32_t bits = predicate(warp, op->b);
        uint32_t stay = warp->path->mask & (op->mode ? bits : ~bits);
        if (stay)
            return sim_warp_branch(warp, op, stay, warp->path->pc + 1, warp->path->pc);
    }
    const lane_u32 *in = source(warp, op->a);
    int first = __builtin_ctz(warp->mask);
    uint32_t index = in[first], same = 0;
    for (int i = 0; i < LANES; i++)
        same |= (uint32_t)(in[i] == index) << i;
    same &= warp->mask;
    if (index >= (uint64_t)op->offset)
        return sim_warp_fault(warp, op, SIM_FAULT_PC, first, "index %u of a table of %lld branches",
                              index, (long long)op->offset);
    // Lanes with another index execute the same instruction again.
    return sim_warp_branch(warp, op, same, op->list[index], warp->path->pc);
}

static enum sim_step run_return(struct sim_warp *warp, const struct sim_uop *op)
{
    (void)op;
    return sim_warp_return(warp);
}

static enum sim_step run_exit(struct sim_warp *warp, const struct sim_uop *op)
{
    (void)op;
    return sim_warp_exit_lanes(warp, warp->mask);
}

static enum sim_step run_trap(struct sim_warp *warp, const struct sim_uop *op)
{
    return sim_warp_fault(warp, op, SIM_FAULT_TRAP, __builtin_ctz(warp->mask), "trap");
}

// There is no debugger, so brkpt ends the kernel like a trap.
static enum sim_step run_breakpoint(struct sim_warp *warp, const struct sim_uop *op)
{
    return sim_warp_fault(warp, op, SIM_FAULT_TRAP, __builtin_ctz(warp->mask), "brkpt");
}

// A sleeping path lets others run.
static enum sim_step give_way(struct sim_warp *warp, const struct sim_uop *op)
{
    (void)op;
    warp->path->pc++;
    warp->block->gave_way = true;
    return STEP_STOP;
}

// --- Calls ---------------------------------------------------------------------------------------

static enum sim_step call_direct(struct sim_warp *warp, const struct sim_uop *op)
{
    return sim_warp_call_some(warp, op, warp->mask, warp->path->pc + 1,
                              ((const struct sim_call_plan *)op->extra)->code);
}

static enum sim_step call_builtin(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct sim_call_plan *plan = op->extra;
    struct sim_frame *frame = warp->path->frame;
    sim_frame_store_params(frame, plan->given, plan->given_count, warp->mask);
    enum sim_step step = sim_builtin_run(warp, op, plan->builtin);
    if (step == STEP_NEXT)
        sim_frame_load_params(frame, &plan->taken, plan->taken.bytes != 0, warp->mask);
    return step;
}

// A call by address. Lanes that call the same function go together; the others wait for their turn.
static enum sim_step call_indirect(struct sim_warp *warp, const struct sim_uop *op)
{
    const lane_u64 *in = source(warp, op->a);
    int first = __builtin_ctz(warp->mask);
    uint64_t address = in[first];
    uint32_t same = 0;
    for (int i = 0; i < LANES; i++)
        same |= (uint32_t)(in[i] == address) << i;
    same &= warp->mask;
    const struct sim_module *module = warp->block->launch->request->kernel->module;
    const struct sim_code *code = NULL;
    for (size_t i = 0; i < module->code_count && !code; i++)
        code = module->codes[i]->identity == address ? module->codes[i] : NULL;
    if (!code)
        return sim_warp_fault(warp, op, SIM_FAULT_ADDRESS, first,
                              "call to 0x%llx, which is not a function",
                              (unsigned long long)address);
    return sim_warp_call_some(warp, op, same, warp->path->pc, code);
}

// Returns the declaration of the called function, or its prototype; NULL if there is none.
static const struct ptx_function *signature_of(const struct ptx_call *call)
{
    if (call->target->kind == PTX_OPERAND_FUNCTION)
        return call->target->function;
    const struct ptx_label *label = call->candidates && call->candidates->kind == PTX_OPERAND_LABEL
                                        ? call->candidates->label
                                        : NULL;
    if (label && label->kind == PTX_LABEL_PROTOTYPE)
        return label->prototype;
    return label && label->kind == PTX_LABEL_CALL_TARGETS && label->target_count
               ? label->targets[0].function
               : NULL;
}

// Reserves a place among the caller's parameters for a register or number that is passed as
// `formal`.
static struct sim_passed pass(struct sim_decoder *decoder, const struct ptx_instr *instr,
                              const struct ptx_operand *operand, const struct ptx_var *formal,
                              bool is_result)
{
    struct sim_code *code = decoder->code;
    enum ptx_type type = (enum ptx_type)formal->type;
    unsigned bytes = ptx_type_bytes(type);
    if (formal->dim_count || formal->vec > 1 || type == PTX_PRED)
        sim_decode_refuse(decoder, instr, "a call that passes a register as an array or predicate");
    unsigned lane_bytes = operand->kind == PTX_OPERAND_REG
                              ? sim_decode_lane_bytes((enum ptx_type)operand->reg->type)
                              : sim_decode_lane_bytes(type);
    if (lane_bytes < bytes || (operand->kind == PTX_OPERAND_REG &&
                               (operand->reg->type == PTX_PRED || operand->reg->vec > 1)))
        sim_decode_refuse(decoder, instr, "a call that passes a register of another size");
    struct sim_passed passed = {
        .reg = is_result ? sim_decode_register(decoder, instr, operand)
                         : sim_decode_typed(decoder, instr, operand, type),
        .offset = decoder->passed_to,
        .bytes = (uint8_t)bytes,
        .lane_bytes = (uint8_t)lane_bytes,
    };
    decoder->passed_to += WIDEST;
    if (decoder->passed_to > code->param_bytes)
        code->param_bytes = decoder->passed_to;
    return passed;
}

static void plan_arguments(struct sim_decoder *decoder, const struct ptx_instr *instr,
                           const struct ptx_call *call, struct sim_call_plan *plan)
{
    uint32_t count = call->arguments ? call->arguments->count : 0;
    const struct ptx_function *signature = signature_of(call);
    struct sim_param *arguments = base_new_array(decoder->arena, struct sim_param, count);
    struct sim_passed *given = base_new_array(decoder->arena, struct sim_passed, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct ptx_operand *argument = &call->arguments->elements[i];
        if (argument->kind == PTX_OPERAND_VAR) {
            uint64_t at;
            if (sim_decode_kernel_param(decoder, argument))
                sim_decode_refuse(decoder, instr, "a call that passes on a kernel's parameter");
            sim_decode_variable(decoder, instr, argument->var, &at);
            arguments[i] = (struct sim_param){(uint32_t)at, (uint32_t)argument->var->size_bytes};
            continue;
        }
        if (!signature || i >= signature->param_count)
            sim_decode_refuse(decoder, instr, "a call whose parameters are not known");
        // sim_decode_refuse does not return.
        // cppcheck-suppress nullPointerRedundantCheck
        struct sim_passed passed = pass(decoder, instr, argument, signature->params[i], false);
        arguments[i] = (struct sim_param){passed.offset, passed.bytes};
        given[plan->given_count++] = passed;
    }
    plan->arguments = arguments;
    plan->argument_count = count;
    plan->given = given;
}

static void plan_result(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        const struct ptx_call *call, struct sim_call_plan *plan)
{
    const struct ptx_function *signature = signature_of(call);
    if (!call->returns || !call->returns->count)
        return;
    const struct ptx_operand *result = &call->returns->elements[0];
    if (call->returns->count > 1)
        sim_decode_refuse(decoder, instr, "a call with several results");
    if (result->kind == PTX_OPERAND_SINK)
        return;
    if (result->kind == PTX_OPERAND_VAR) {
        uint64_t at;
        if (sim_decode_kernel_param(decoder, result))
            sim_decode_refuse(decoder, instr, "a kernel's parameters cannot be written");
        sim_decode_variable(decoder, instr, result->var, &at);
        plan->result_offset = (uint32_t)at;
        plan->result_bytes = (uint32_t)result->var->size_bytes;
        return;
    }
    if (!signature || !signature->return_count)
        sim_decode_refuse(decoder, instr, "a call whose result is not known");
    // cppcheck-suppress nullPointerRedundantCheck
    plan->taken = pass(decoder, instr, result, signature->returns[0], true);
    plan->result_offset = plan->taken.offset;
    plan->result_bytes = plan->taken.bytes;
}

static bool choose_call(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op)
{
    struct ptx_call call;
    if (!ptx_call_parts(instr, &call))
        return false;
    struct sim_call_plan *plan = base_new(decoder->arena, struct sim_call_plan);
    decoder->passed_to = decoder->passed_from;
    plan_arguments(decoder, instr, &call, plan);
    plan_result(decoder, instr, &call, plan);
    op->extra = plan;
    if (call.target->kind == PTX_OPERAND_FUNCTION) {
        const char *name = call.target->function->name;
        plan->code = sim_module_code(decoder->module, name);
        plan->builtin = plan->code ? 0 : sim_builtin_find(name);
        if (!plan->code && !plan->builtin)
            sim_decode_refuse_name(decoder, instr, name, "a function that no module defines");
        op->run = plan->code ? call_direct : call_builtin;
        return true;
    }
    op->a = sim_decode_register(decoder, instr, call.target);
    op->run = call_indirect;
    return true;
}

// --- Barriers ------------------------------------------------------------------------------------

static void release_barrier(struct sim_block *block, unsigned id)
{
    struct sim_barrier *barrier = &block->barriers[id];
    if (barrier->expected ? barrier->arrived + barrier->absent < barrier->expected
                          : barrier->arrived < block->live_threads)
        return;
    for (uint32_t w = 0; w < block->warp_count; w++) {
        struct sim_warp *warp = &block->warps[w];
        warp->came[id] = 0;
        for (uint32_t p = 0; p < warp->path_count; p++) {
            struct sim_path *path = warp_path(warp, p);
            if (path->state != PATH_BARRIER || path->barrier != id)
                continue;
            path->state = PATH_READY;
            path->released = true;
            path->result = barrier->count;
            path->all = barrier->all;
            path->any = barrier->any;
        }
    }
    block->progressed = true;
    if (block->warp_count > 1)
        block->warp_turn = 0;
    memset(barrier, 0, sizeof(*barrier));
}

// A barrier counts whole warps. Once all live lanes of a warp have arrived, its ended and missing
// lanes count as well.
static void count_absent(struct sim_warp *warp, unsigned id)
{
    uint32_t came = warp->came[id];
    if (!came || (warp->live & ~came))
        return;
    warp->block->barriers[id].absent += (uint32_t)__builtin_popcount(~(warp->live | came));
    warp->came[id] = 0; // the warp may arrive again, by bar.arrive
}

void sim_warp_left_barrier(struct sim_warp *warp, unsigned id)
{
    count_absent(warp, id);
    release_barrier(warp->block, id);
}

enum { BARRIER_ARRIVE = 1, BARRIER_RED = 2, RED_AND = 4, RED_OR = 8, RED_POPC = 16, RED_NOT = 32 };

static enum sim_step barrier_result(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_path *path = warp->path;
    path->released = false;
    if (op->mode & RED_POPC) {
        lane_u32 *out = target(warp, op->d);
        uint32_t count = path->result;
        OVER_LANES(lane_u32, out, (void)0, count);
    } else if (op->mode & BARRIER_RED) {
        bool yes = op->mode & RED_AND ? path->all : path->any;
        set_predicate(warp, op->d, yes ? UINT32_MAX : 0);
    }
    return STEP_NEXT;
}

static enum sim_step run_barrier(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_path *path = warp->path;
    struct sim_block *block = warp->block;
    if (path->released)
        return barrier_result(warp, op);
    int first = __builtin_ctz(warp->mask);
    uint32_t id = ((const lane_u32 *)source(warp, op->a))[first];
    uint32_t threads = op->b == NO_SLOT ? 0 : ((const lane_u32 *)source(warp, op->b))[first];
    if (id >= BARRIERS)
        return sim_warp_fault(warp, op, SIM_FAULT_INSTRUCTION, first,
                              "barrier %u does not exist: a block has %d", id, BARRIERS);
    struct sim_barrier *barrier = &block->barriers[id];
    if (!barrier->arrived)
        *barrier = (struct sim_barrier){.expected = threads, .all = 1};
    barrier->arrived += (uint32_t)__builtin_popcount(warp->mask);
    if (barrier->expected) {
        warp->came[id] |= warp->mask;
        count_absent(warp, id);
    }
    if (op->mode & BARRIER_RED) {
        uint32_t bits = predicate(warp, op->c);
        bits = (op->mode & RED_NOT ? ~bits : bits) & warp->mask;
        barrier->count += (uint32_t)__builtin_popcount(bits);
        barrier->all &= bits == warp->mask;
        barrier->any |= bits != 0;
    }
    if (op->mode & BARRIER_ARRIVE) {
        release_barrier(block, id);
        return STEP_NEXT;
    }
    if (!sim_warp_part(warp, op))
        return STEP_STOP;
    path->state = PATH_BARRIER;
    path->barrier = (uint8_t)id;
    release_barrier(block, id);
    // If this path was the last to arrive, it is already released and continues in its next turn.
    return STEP_STOP;
}

static bool choose_barrier(struct sim_decoder *decoder, const struct ptx_instr *instr,
                           struct sim_uop *op)
{
    uint8_t at = 0;
    switch (ptx_op(instr)) {
    case PTX_OP_BAR_SYNC:
    case PTX_OP_BAR_CTA_SYNC:
    case PTX_OP_BARRIER_SYNC:
    case PTX_OP_BARRIER_CTA_SYNC: break;
    case PTX_OP_BAR_ARRIVE:
    case PTX_OP_BAR_CTA_ARRIVE:
    case PTX_OP_BARRIER_ARRIVE:
    case PTX_OP_BARRIER_CTA_ARRIVE: op->mode = BARRIER_ARRIVE; break;
    case PTX_OP_BAR_RED:
    case PTX_OP_BAR_CTA_RED:
    case PTX_OP_BARRIER_RED:
    case PTX_OP_BARRIER_CTA_RED: {
        bool negated;
        op->mode = BARRIER_RED;
        op->mode |= ptx_form_has(instr->form, PTX_MOD_POPC)  ? RED_POPC
                    : ptx_form_has(instr->form, PTX_MOD_AND) ? RED_AND
                                                             : RED_OR;
        op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
        op->c = sim_decode_predicate(decoder, instr, &instr->operands[instr->operand_count - 1],
                                     &negated);
        op->mode |= negated ? RED_NOT : 0;
        at = 1;
        break;
    }
    default: return false;
    }
    uint8_t last = op->mode & BARRIER_RED ? instr->operand_count - 1 : instr->operand_count;
    op->a = sim_decode_typed(decoder, instr, &instr->operands[at], PTX_U32);
    if (at + 1 < last)
        op->b = sim_decode_typed(decoder, instr, &instr->operands[at + 1], PTX_U32);
    op->run = run_barrier;
    return true;
}

bool sim_choose_control(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op)
{
    switch (ptx_op(instr)) {
    case PTX_OP_BRA:
        op->run = branch;
        if (instr->guard) {
            op->a = (op->guard & ~GUARD_NEGATED) - 1;
            op->mode = instr->guard_negated;
            op->guard = 0;
            op->run = branch_if;
        }
        return true;
    case PTX_OP_BRX_IDX:
        if (instr->guard) {
            op->b = (op->guard & ~GUARD_NEGATED) - 1;
            op->mode = instr->guard_negated;
            op->guard = 0;
        }
        op->a = sim_decode_typed(decoder, instr, &instr->operands[0], PTX_U32);
        op->run = branch_indexed;
        return true;
    case PTX_OP_RET: op->run = run_return; return true;
    case PTX_OP_EXIT: op->run = run_exit; return true;
    case PTX_OP_TRAP: op->run = run_trap; return true;
    case PTX_OP_BRKPT: op->run = run_breakpoint; return true;
    case PTX_OP_NANOSLEEP: op->run = give_way; return true;
    case PTX_OP_CALL: return choose_call(decoder, instr, op);
    default: return choose_barrier(decoder, instr, op);
    }
}
