// SPDX-License-Identifier: Apache-2.0
// Implements st.async and red.async, which change shared memory of the cluster and report the bytes
// to a barrier in it. They complete at once.
#include <string.h>

#include "access.h"
#include "families.h"
#include "mbarrier.h"
#include "ops.h"

struct remote {
    struct sim_uop barrier; // for sim_access_lanes()
};

// Copies the lane's values behind each other.
static void gather(const struct sim_warp *warp, const struct sim_uop *op, int lane,
                   unsigned char *out)
{
    for (unsigned k = 0; k < op->count; k++) {
        const unsigned char *lanes = source(warp, op->list[k]);
        memcpy(out + (size_t)k * op->bytes, lanes + (size_t)lane * op->bytes, op->bytes);
    }
}

static enum sim_step run_remote(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct remote *remote = op->extra;
    const bool reduces = op->target != 0;
    const uint32_t bytes = (uint32_t)op->bytes * op->count;
    struct sim_access to, barrier;
    if (!sim_access_lanes(warp, op, bytes, reduces ? ACCESS_ATOMIC : ACCESS_STORE, &to) ||
        !sim_access_lanes(warp, &remote->barrier, 8, ACCESS_ATOMIC, &barrier))
        return STEP_STOP;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        unsigned char values[32];
        gather(warp, op, i, values);
        if (reduces)
            sim_atomic_reduce(op, to.pointer[i], values, bytes, false);
        else
            memcpy(to.pointer[i], values, bytes);
        if (!sim_mbarrier_complete(warp, op, i, barrier.pointer[i], bytes))
            return STEP_STOP;
    }
    return STEP_NEXT;
}

// Returns whether red.async has the operation for the type.
static bool can_reduce(uint16_t operation, enum ptx_type type)
{
    switch (operation) {
    case PTX_MOD_INC:
    case PTX_MOD_DEC: return type == PTX_U32;
    case PTX_MOD_MIN:
    case PTX_MOD_MAX: return type == PTX_U32 || type == PTX_S32;
    case PTX_MOD_ADD: return type == PTX_U32 || type == PTX_S32 || type == PTX_U64;
    case PTX_MOD_AND:
    case PTX_MOD_OR:
    case PTX_MOD_XOR: return type == PTX_B32;
    default: return false;
    }
}

bool sim_choose_remote(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    const bool reduces = ptx_op(instr) == PTX_OP_RED_ASYNC;
    if ((!reduces && ptx_op(instr) != PTX_OP_ST_ASYNC) || !form->type_count)
        return false;
    const enum ptx_type type = (enum ptx_type)form->types[0];
    const struct ptx_operand *values = &instr->operands[1];
    const unsigned bits = ptx_type_info(type)->bits;
    // Other forms write to memory of the device, which sm_90 does not have.
    if (!strstr(form->text, ".mbarrier::complete_tx::bytes") || instr->operand_count < 3 ||
        (bits != 32 && bits != 64) || (form->space && form->space != PTX_SPACE_SHARED) ||
        (reduces && !can_reduce(form->operation, type)) ||
        (values->kind == PTX_OPERAND_VECTOR) != (form->vec > 1) ||
        (form->vec > 1 && values->count != form->vec))
        return false;
    struct remote *remote = base_new(decoder->arena, struct remote);
    slot *list = base_new_array(decoder->arena, slot, form->vec);
    for (unsigned k = 0; k < form->vec; k++)
        list[k] =
            sim_decode_typed(decoder, instr, form->vec > 1 ? &values->elements[k] : values, type);
    op->space = form->space;
    remote->barrier = *op;
    sim_decode_address(decoder, instr, &instr->operands[0], op);
    sim_decode_address(decoder, instr, &instr->operands[2], &remote->barrier);
    op->bytes = (uint8_t)(bits / 8);
    op->count = form->vec;
    op->mode = (uint8_t)type;
    op->target = reduces ? form->operation : 0;
    op->list = list;
    op->extra = remote;
    op->run = run_remote;
    return true;
}
