// SPDX-License-Identifier: Apache-2.0
// Implements registers of 128 bits: moves, packing and unpacking, loads and stores, exchange and
// compare-and-swap. Such a register has 16 bytes per lane.
#include <string.h>

#include "access.h"
#include "families.h"
#include "logging.h"
#include "ops.h"

static unsigned char *lane_of(unsigned char *lanes, int lane)
{
    return lanes + (size_t)lane * WIDEST;
}

static const unsigned char *value_of(const struct sim_warp *warp, slot at, int lane)
{
    return (const unsigned char *)source(warp, at) + (size_t)lane * WIDEST;
}

static enum sim_step move(struct sim_warp *warp, const struct sim_uop *op)
{
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        memmove(lane_of(target(warp, op->d), i), value_of(warp, op->a, i), WIDEST);
    }
    return STEP_NEXT;
}

static enum sim_step pack(struct sim_warp *warp, const struct sim_uop *op)
{
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        for (unsigned k = 0; k < op->count; k++)
            memcpy(lane_of(target(warp, op->d), i) + (size_t)k * op->bytes,
                   (const unsigned char *)source(warp, op->list[k]) + (size_t)i * op->bytes,
                   op->bytes);
    }
    return STEP_NEXT;
}

static enum sim_step unpack(struct sim_warp *warp, const struct sim_uop *op)
{
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        for (unsigned k = 0; k < op->count; k++) {
            if (op->list[k] != NO_SLOT)
                memcpy((unsigned char *)target(warp, op->list[k]) + (size_t)i * op->bytes,
                       value_of(warp, op->a, i) + (size_t)k * op->bytes, op->bytes);
        }
    }
    return STEP_NEXT;
}

static enum sim_step load(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_access access;
    if (!sim_access_lanes(warp, op, WIDEST, ACCESS_LOAD, &access))
        return STEP_STOP;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        memcpy(lane_of(target(warp, op->d), i), access.pointer[i], WIDEST);
    }
    return STEP_NEXT;
}

static enum sim_step store(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_access access;
    if (!sim_access_lanes(warp, op, WIDEST, ACCESS_STORE, &access))
        return STEP_STOP;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        memcpy(access.pointer[i], value_of(warp, op->b, i), WIDEST);
    }
    return STEP_NEXT;
}

// Returns the address of a parameter of the kernel or of the running function; op->mode says which.
static unsigned char *param_of(const struct sim_warp *warp, const struct sim_uop *op, int lane)
{
    const struct sim_frame *frame = warp->path->frame;
    const unsigned char *params = op->mode
                                      ? warp->block->launch->params
                                      : frame->params + (size_t)lane * frame->code->param_bytes;
    return (unsigned char *)(uintptr_t)params + op->offset;
}

static enum sim_step load_param(struct sim_warp *warp, const struct sim_uop *op)
{
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        memcpy(lane_of(target(warp, op->d), i), param_of(warp, op, i), WIDEST);
    }
    return STEP_NEXT;
}

static enum sim_step store_param(struct sim_warp *warp, const struct sim_uop *op)
{
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        memcpy(param_of(warp, op, i), value_of(warp, op->b, i), WIDEST);
    }
    return STEP_NEXT;
}

// --- Atomics -------------------------------------------------------------------------------------

typedef unsigned __int128 __attribute__((may_alias)) wide_word;

#ifdef __x86_64__
__attribute__((target("cx16")))
#endif
static wide_word
swap_if(wide_word *at, wide_word expected, wide_word now)
{
    return __sync_val_compare_and_swap(at, expected, now);
}

static enum sim_step atomic(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_access access;
    if (!sim_access_lanes(warp, op, WIDEST, ACCESS_ATOMIC, &access))
        return STEP_STOP;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        wide_word *at = (wide_word *)(void *)access.pointer[i];
        wide_word expected, value, old;
        memcpy(&value, value_of(warp, op->b, i), WIDEST);
        if (op->c != NO_SLOT) { // compare and swap
            memcpy(&expected, &value, WIDEST);
            memcpy(&value, value_of(warp, op->c, i), WIDEST);
            old = swap_if(at, expected, value);
        } else {
            memcpy(&old, at, WIDEST);
            do {
                expected = old;
                old = swap_if(at, expected, value);
            } while (old != expected);
        }
        if (warp->block->launch->device->log) {
            bool kept = op->c != NO_SLOT && old != expected;
            sim_log_atomic(warp, i, 0, WIDEST, &old, kept ? &old : &value);
        }
        if (op->d != NO_SLOT)
            memcpy(lane_of(target(warp, op->d), i), &old, WIDEST);
    }
    return STEP_NEXT;
}

// --- Choice --------------------------------------------------------------------------------------

static bool is_wide(const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_REG && operand->reg->vec == 1 &&
           sim_decode_lane_bytes((enum ptx_type)operand->reg->type) == WIDEST;
}

static bool choose_packing(struct sim_decoder *decoder, const struct ptx_instr *instr,
                           struct sim_uop *op)
{
    bool unpacks = instr->operands[0].kind == PTX_OPERAND_VECTOR;
    const struct ptx_operand *vector = &instr->operands[unpacks ? 0 : 1];
    const struct ptx_operand *whole = &instr->operands[unpacks ? 1 : 0];
    if (!is_wide(whole) || (vector->count != 2 && vector->count != 4))
        return false;
    op->count = (uint8_t)vector->count;
    op->bytes = (uint8_t)(WIDEST / vector->count);
    slot *list = base_new_array(decoder->arena, slot, vector->count);
    for (uint16_t k = 0; k < vector->count; k++) {
        const struct ptx_operand *part = &vector->elements[k];
        if (part->kind == PTX_OPERAND_REG &&
            ptx_type_info((enum ptx_type)part->reg->type)->bits != op->bytes * 8u)
            return false;
        list[k] = unpacks
                      ? sim_decode_target(decoder, instr, part)
                      : sim_decode_typed(decoder, instr, part, op->bytes == 8 ? PTX_B64 : PTX_B32);
    }
    op->list = list;
    *(unpacks ? &op->a : &op->d) = sim_decode_register(decoder, instr, whole);
    op->run = unpacks ? unpack : pack;
    return true;
}

static bool choose_mov(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       struct sim_uop *op)
{
    if (instr->operands[0].kind == PTX_OPERAND_VECTOR ||
        instr->operands[1].kind == PTX_OPERAND_VECTOR)
        return choose_packing(decoder, instr, op);
    if (!is_wide(&instr->operands[0]) || !is_wide(&instr->operands[1]))
        return false;
    op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
    op->a = sim_decode_register(decoder, instr, &instr->operands[1]);
    op->run = move;
    return true;
}

static bool choose_access(struct sim_decoder *decoder, const struct ptx_instr *instr,
                          struct sim_uop *op)
{
    bool loads = ptx_op(instr) != PTX_OP_ST;
    const struct ptx_operand *data = &instr->operands[loads ? 0 : 1];
    const struct ptx_operand *address = &instr->operands[loads ? 1 : 0];
    if (!is_wide(data) || instr->form->vec != 1)
        return false;
    sim_decode_address(decoder, instr, address, op);
    *(loads ? &op->d : &op->b) = sim_decode_register(decoder, instr, data);
    if (op->space == PTX_SPACE_PARAM) {
        if (!(op->flags & ADDRESS_PARAM))
            sim_decode_refuse(decoder, instr,
                              "128 bits of a parameter at an address in a register");
        op->mode = sim_decode_kernel_param(decoder, address);
        if (op->mode && !loads)
            sim_decode_refuse(decoder, instr, "a kernel's parameters cannot be written");
        op->run = loads ? load_param : store_param;
    } else {
        op->run = loads ? load : store;
    }
    return true;
}

static bool choose_exchange(struct sim_decoder *decoder, const struct ptx_instr *instr,
                            struct sim_uop *op)
{
    bool compares = instr->form->operation == PTX_MOD_CAS;
    if ((!compares && instr->form->operation != PTX_MOD_EXCH) ||
        instr->operand_count < (compares ? 4 : 3) || !is_wide(&instr->operands[2]) ||
        (compares && !is_wide(&instr->operands[3])))
        return false;
    sim_decode_address(decoder, instr, &instr->operands[1], op);
    op->d = sim_decode_target(decoder, instr, &instr->operands[0]);
    op->b = sim_decode_register(decoder, instr, &instr->operands[2]);
    if (compares)
        op->c = sim_decode_register(decoder, instr, &instr->operands[3]);
    op->run = atomic;
    return true;
}

bool sim_choose_wide(struct sim_decoder *decoder, const struct ptx_instr *instr, struct sim_uop *op)
{
    if (instr->form->type_count != 1 || instr->form->types[0] != PTX_B128)
        return false;
    op->space = instr->form->space;
    switch (ptx_op(instr)) {
    case PTX_OP_MOV: return choose_mov(decoder, instr, op);
    case PTX_OP_LD:
    case PTX_OP_LDU:
    case PTX_OP_ST: return choose_access(decoder, instr, op);
    case PTX_OP_ATOM: return choose_exchange(decoder, instr, op);
    default: return false;
    }
}
