// SPDX-License-Identifier: Apache-2.0
// Implements the stack beyond a frame's .local variables (stacksave, stackrestore, alloca), and
// instructions that take the address of a .local variable or parameter by name. A parameter's
// address is a host pointer, the same in .param and in generic space.
#include "families.h"
#include "ops.h"
#include "warp.h"

static void put(struct sim_warp *warp, const struct sim_uop *op, int lane, uint64_t value)
{
    if (op->bytes == WIDE)
        ((lane_u64 *)target(warp, op->d))[lane] = value;
    else
        ((lane_u32 *)target(warp, op->d))[lane] = (uint32_t)value;
}

static uint64_t get(const struct sim_warp *warp, const struct sim_uop *op, int lane)
{
    return op->bytes == WIDE ? ((const lane_u64 *)source(warp, op->a))[lane]
                             : ((const lane_u32 *)source(warp, op->a))[lane];
}

// --- The stack -----------------------------------------------------------------------------------

// The start of the unused part of the lane's stack, as an address in .local space.
static uint64_t top(const struct sim_frame *frame, int lane)
{
    return (uint64_t)frame->local_offset + frame->code->local_bytes + frame->allocated[lane];
}

static enum sim_step save(struct sim_warp *warp, const struct sim_uop *op)
{
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        put(warp, op, i, top(warp->path->frame, i));
    }
    return STEP_NEXT;
}

static enum sim_step restore(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_frame *frame = warp->path->frame;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        uint64_t to = get(warp, op, i), bottom = top(frame, i) - frame->allocated[i];
        if (to < bottom || to > top(frame, i))
            return sim_warp_fault(warp, op, SIM_FAULT_STACK, i,
                                  "0x%llx was not returned by stacksave in this function",
                                  (unsigned long long)to);
        frame->allocated[i] = (uint32_t)(to - bottom);
    }
    return STEP_NEXT;
}

static enum sim_step allocate(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_frame *frame = warp->path->frame;
    uint32_t stack = warp->block->launch->local_bytes;
    uint64_t align = (uint64_t)op->offset;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        uint64_t bytes = get(warp, op, i), from = top(frame, i);
        uint64_t at = (from + align - 1) / align * align;
        if (at > stack || stack - at < bytes)
            return sim_warp_fault(warp, op, SIM_FAULT_STACK, i,
                                  "the stack of %u bytes overflows in an alloca of %llu", stack,
                                  (unsigned long long)bytes);
        frame->allocated[i] += (uint32_t)(at + bytes - from);
        put(warp, op, i, at);
    }
    return STEP_NEXT;
}

static bool choose_allocation(struct sim_decoder *decoder, const struct ptx_instr *instr,
                              struct sim_uop *op)
{
    enum ptx_type type = (enum ptx_type)instr->form->types[0];
    if (instr->form->type_count != 1)
        return false;
    op->bytes = (uint8_t)sim_decode_lane_bytes(type);
    if (op->bytes > WIDE)
        return false;
    decoder->code->allocates = true;
    switch (ptx_op(instr)) {
    case PTX_OP_STACKSAVE:
        op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
        op->run = save;
        return true;
    case PTX_OP_STACKRESTORE:
        op->a = sim_decode_typed(decoder, instr, &instr->operands[0], type);
        op->run = restore;
        return true;
    default: break;
    }
    op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
    op->a = sim_decode_typed(decoder, instr, &instr->operands[1], type);
    op->offset = 8;
    if (instr->operand_count > 2) {
        if (instr->operands[2].kind != PTX_OPERAND_INT || !instr->operands[2].bits ||
            instr->operands[2].bits > 4096)
            return false;
        op->offset = (int64_t)instr->operands[2].bits;
    }
    op->run = allocate;
    return true;
}

// --- Addresses by name ---------------------------------------------------------------------------

// cvta.local of a variable: a host pointer into the lane's stack.
static enum sim_step generic_local(struct sim_warp *warp, const struct sim_uop *op)
{
    uint64_t at =
        (uint64_t)(uintptr_t)warp->local + (uint64_t)op->offset + warp->path->frame->local_offset;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        put(warp, op, i, at + (uint64_t)i * warp->block->launch->local_bytes);
    }
    return STEP_NEXT;
}

static enum sim_step address_kernel_param(struct sim_warp *warp, const struct sim_uop *op)
{
    uint64_t at = (uint64_t)(uintptr_t)warp->block->launch->params + (uint64_t)op->offset;
    for (uint32_t left = warp->mask; left; left &= left - 1)
        put(warp, op, __builtin_ctz(left), at);
    return STEP_NEXT;
}

static enum sim_step address_frame_param(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct sim_frame *frame = warp->path->frame;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        put(warp, op, i,
            (uint64_t)(uintptr_t)frame->params + (uint64_t)i * frame->code->param_bytes +
                (uint64_t)op->offset);
    }
    return STEP_NEXT;
}

static enum sim_step copy_64(struct sim_warp *warp, const struct sim_uop *op)
{
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        put(warp, op, i, get(warp, op, i));
    }
    return STEP_NEXT;
}

static bool choose_name(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op)
{
    const struct ptx_operand *to = &instr->operands[0], *from = &instr->operands[1];
    bool converts = ptx_op(instr) == PTX_OP_CVTA;
    if (to->kind != PTX_OPERAND_REG || to->reg->vec > 1)
        return false;
    op->bytes = (uint8_t)sim_decode_lane_bytes((enum ptx_type)to->reg->type);
    if (converts && instr->form->space == PTX_SPACE_PARAM && from->kind == PTX_OPERAND_REG &&
        op->bytes == WIDE && sim_decode_lane_bytes((enum ptx_type)from->reg->type) == WIDE) {
        op->d = sim_decode_register(decoder, instr, to);
        op->a = sim_decode_register(decoder, instr, from);
        op->run = copy_64;
        return true;
    }
    if (from->kind != PTX_OPERAND_VAR ||
        (from->var->space != PTX_SPACE_LOCAL && from->var->space != PTX_SPACE_PARAM))
        return false;
    bool param = from->var->space == PTX_SPACE_PARAM;
    // sim_choose_move() handles mov of a .local variable's address.
    if (!converts && !param)
        return false;
    if (op->bytes != WIDE || ptx_form_has(instr->form, PTX_MOD_TO) ||
        (converts && instr->form->space != from->var->space))
        return false;
    uint64_t value;
    sim_decode_variable(decoder, instr, from->var, &value);
    op->d = sim_decode_register(decoder, instr, to);
    op->offset = (int64_t)value + sim_decode_var_offset(from);
    op->run = !param                                   ? generic_local
              : sim_decode_kernel_param(decoder, from) ? address_kernel_param
                                                       : address_frame_param;
    return true;
}

bool sim_choose_stack(struct sim_decoder *decoder, const struct ptx_instr *instr,
                      struct sim_uop *op)
{
    switch (ptx_op(instr)) {
    case PTX_OP_STACKSAVE:
    case PTX_OP_STACKRESTORE:
    case PTX_OP_ALLOCA: return choose_allocation(decoder, instr, op);
    case PTX_OP_MOV:
    case PTX_OP_CVTA: return choose_name(decoder, instr, op);
    default: return false;
    }
}
