// SPDX-License-Identifier: Apache-2.0
// Implements moves: between registers, from special registers, of addresses, packing and unpacking,
// conversions between address spaces, and selections.
#include <string.h>
#include <time.h>

#include "cluster.h"
#include "families.h"
#include "ops.h"

UNARY(move_32, u32, u32, a)
UNARY(move_64, u64, u64, a)

static enum sim_step move_predicate(struct sim_warp *warp, const struct sim_uop *op)
{
    uint32_t bits = predicate(warp, op->a);
    set_predicate(warp, op->d, op->mode ? ~bits : bits);
    return STEP_NEXT;
}

static void spread_32(struct sim_warp *warp, slot to, uint32_t value)
{
    lane_u32 *out = target(warp, to);
    OVER_LANES(lane_u32, out, (void)0, value);
}

static void spread(struct sim_warp *warp, const struct sim_uop *op, uint64_t value)
{
    if (op->bytes == WIDE) {
        lane_u64 *out = target(warp, op->d);
        OVER_LANES(lane_u64, out, (void)0, value);
    } else {
        spread_32(warp, op->d, (uint32_t)value);
    }
}

// The address of a .local variable, which is relative to the frame.
static enum sim_step move_local(struct sim_warp *warp, const struct sim_uop *op)
{
    spread(warp, op, (uint64_t)op->offset + warp->path->frame->local_offset);
    return STEP_NEXT;
}

// The address of a .shared variable: its constant is an offset in the block's memory.
static enum sim_step move_shared(struct sim_warp *warp, const struct sim_uop *op)
{
    spread(warp, op, (uint64_t)op->offset + warp->block->window);
    return STEP_NEXT;
}

// --- Special registers ---------------------------------------------------------------------------

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static enum sim_step move_tid(struct sim_warp *warp, const struct sim_uop *op)
{
    lane_u32 *out = target(warp, op->d);
    const uint32_t *tid = warp->tid[op->mode];
    OVER_LANES(lane_u32, out, (void)0, tid[i]);
    return STEP_NEXT;
}

static enum sim_step move_lane(struct sim_warp *warp, const struct sim_uop *op)
{
    lane_u32 *out = target(warp, op->d);
    switch ((enum ptx_sreg)op->mode) {
    case PTX_SREG_ID_LANEID: OVER_LANES(lane_u32, out, (void)0, (uint32_t)i); break;
    case PTX_SREG_ID_LANEMASK_EQ: OVER_LANES(lane_u32, out, (void)0, 1u << i); break;
    case PTX_SREG_ID_LANEMASK_LT: OVER_LANES(lane_u32, out, (void)0, (1u << i) - 1); break;
    case PTX_SREG_ID_LANEMASK_LE: OVER_LANES(lane_u32, out, (void)0, (2u << i) - 1); break;
    case PTX_SREG_ID_LANEMASK_GT: OVER_LANES(lane_u32, out, (void)0, ~((2u << i) - 1)); break;
    default: OVER_LANES(lane_u32, out, (void)0, ~((1u << i) - 1)); break;
    }
    return STEP_NEXT;
}

// Special registers whose value is the same for all lanes.
static enum sim_step move_uniform(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct sim_block *block = warp->block;
    const struct sim_run *launch = block->launch;
    uint64_t value = 0;
    switch ((enum ptx_sreg)op->mode) {
    case PTX_SREG_ID_NTID: value = launch->request->block[op->count]; break;
    case PTX_SREG_ID_CTAID: value = block->index[op->count]; break;
    case PTX_SREG_ID_CLUSTERID: value = block->index[op->count] / launch->cluster[op->count]; break;
    case PTX_SREG_ID_CLUSTER_CTAID:
        value = block->index[op->count] % launch->cluster[op->count];
        break;
    case PTX_SREG_ID_CLUSTER_CTARANK: value = block->rank; break;
    case PTX_SREG_ID_NCTAID: value = launch->request->grid[op->count]; break;
    case PTX_SREG_ID_NCLUSTERID:
        value = launch->request->grid[op->count] / launch->cluster[op->count];
        break;
    case PTX_SREG_ID_CLUSTER_NCTAID: value = launch->cluster[op->count]; break;
    case PTX_SREG_ID_CLUSTER_NCTARANK: value = launch->cluster_blocks; break;
    case PTX_SREG_ID_WARPID: value = warp->index; break;
    case PTX_SREG_ID_NWARPID: value = launch->device->preset->warps_per_sm; break;
    case PTX_SREG_ID_SMID: value = block->number % launch->device->preset->sm_count; break;
    case PTX_SREG_ID_NSMID: value = launch->device->preset->sm_count; break;
    case PTX_SREG_ID_GRIDID: value = launch->request->id; break;
    case PTX_SREG_ID_CLOCK:
    case PTX_SREG_ID_CLOCK64: value = now_ns(); break;
    case PTX_SREG_ID_CLOCK_HI: value = now_ns() >> 32; break;
    case PTX_SREG_ID_GLOBALTIMER:
    case PTX_SREG_ID_GLOBALTIMER_LO: value = now_ns(); break;
    case PTX_SREG_ID_GLOBALTIMER_HI: value = now_ns() >> 32; break;
    case PTX_SREG_ID_TOTAL_SMEM_SIZE:
    case PTX_SREG_ID_AGGR_SMEM_SIZE: value = launch->shared_bytes; break;
    case PTX_SREG_ID_DYNAMIC_SMEM_SIZE: value = launch->request->dynamic_shared_bytes; break;
    // The address of the workspace of a cooperative launch, in two halves.
    case PTX_SREG_ID_ENVREG:
        value = op->count == 1   ? launch->grid_sync >> 32
                : op->count == 2 ? (uint32_t)launch->grid_sync
                                 : 0;
        break;
    default: break;
    }
    spread(warp, op, value);
    return STEP_NEXT;
}

// %is_explicit_cluster
static enum sim_step move_explicit(struct sim_warp *warp, const struct sim_uop *op)
{
    set_predicate(warp, op->d, warp->block->launch->request->cluster[0] ? UINT32_MAX : 0);
    return STEP_NEXT;
}

bool sim_decode_special(const struct ptx_operand *operand, struct sim_uop *op)
{
    unsigned component = operand->select == PTX_MOD_Y   ? 1
                         : operand->select == PTX_MOD_Z ? 2
                         : operand->select == PTX_MOD_W ? 3
                                                        : 0;
    op->mode = (uint8_t)operand->sreg;
    op->count = operand->sreg == PTX_SREG_ID_ENVREG ? (uint8_t)operand->number : (uint8_t)component;
    switch (operand->sreg) {
    case PTX_SREG_ID_TID:
        op->mode = (uint8_t)component;
        op->run = component < 3 ? move_tid : move_uniform;
        return component < 3;
    case PTX_SREG_ID_LANEID:
    case PTX_SREG_ID_LANEMASK_EQ:
    case PTX_SREG_ID_LANEMASK_LT:
    case PTX_SREG_ID_LANEMASK_LE:
    case PTX_SREG_ID_LANEMASK_GT:
    case PTX_SREG_ID_LANEMASK_GE: op->run = move_lane; return true;
    case PTX_SREG_ID_NTID:
    case PTX_SREG_ID_CTAID:
    case PTX_SREG_ID_NCTAID:
    case PTX_SREG_ID_CLUSTERID:
    case PTX_SREG_ID_NCLUSTERID:
    case PTX_SREG_ID_CLUSTER_CTAID:
    case PTX_SREG_ID_CLUSTER_NCTAID:
        if (component == 3)
            return false;
        op->run = move_uniform;
        return true;
    case PTX_SREG_ID_IS_EXPLICIT_CLUSTER: op->run = move_explicit; return true;
    // Counters and parts of shared memory that the machine does not have.
    case PTX_SREG_ID_PM:
    case PTX_SREG_ID_PM64:
    case PTX_SREG_ID_RESERVED_SMEM_BEGIN:
    case PTX_SREG_ID_RESERVED_SMEM_END:
    case PTX_SREG_ID_RESERVED_SMEM_CAP:
    case PTX_SREG_ID_RESERVED_SMEM_0:
    case PTX_SREG_UNKNOWN: return false;
    default: op->run = move_uniform; return true;
    }
}

// --- Packing -------------------------------------------------------------------------------------

static enum sim_step unpack(struct sim_warp *warp, const struct sim_uop *op)
{
    const unsigned part = op->bytes * 8u;
    const uint32_t keep = part == 32 ? UINT32_MAX : (1u << part) - 1;
    for (unsigned k = 0; k < op->count; k++) {
        if (op->list[k] == NO_SLOT)
            continue;
        lane_u32 *out = target(warp, op->list[k]);
        const unsigned shift = k * part;
        if (op->flags == WIDE) {
            const lane_u64 *whole = source(warp, op->a);
            OVER_LANES(lane_u32, out, (void)0, (uint32_t)(whole[i] >> shift) & keep);
        } else {
            const lane_u32 *whole = source(warp, op->a);
            OVER_LANES(lane_u32, out, (void)0, whole[i] >> shift & keep);
        }
    }
    return STEP_NEXT;
}

// The destination may be the register of a part, so the whole value is computed first.
static enum sim_step pack(struct sim_warp *warp, const struct sim_uop *op)
{
    const unsigned part = op->bytes * 8u;
    const uint32_t keep = part == 32 ? UINT32_MAX : (1u << part) - 1;
    if (op->flags == WIDE) {
        uint64_t whole[LANES] = {0};
        for (unsigned k = 0; k < op->count; k++) {
            const lane_u32 *in = source(warp, op->list[k]);
            for (int i = 0; i < LANES; i++)
                whole[i] |= (uint64_t)(in[i] & keep) << k * part;
        }
        lane_u64 *out = target(warp, op->d);
        OVER_LANES(lane_u64, out, (void)0, whole[i]);
    } else {
        uint32_t whole[LANES] = {0};
        for (unsigned k = 0; k < op->count; k++) {
            const lane_u32 *in = source(warp, op->list[k]);
            for (int i = 0; i < LANES; i++)
                whole[i] |= (in[i] & keep) << k * part;
        }
        lane_u32 *out = target(warp, op->d);
        OVER_LANES(lane_u32, out, (void)0, whole[i]);
    }
    return STEP_NEXT;
}

static bool choose_packing(struct sim_decoder *decoder, const struct ptx_instr *instr,
                           struct sim_uop *op)
{
    bool unpacks = instr->operands[0].kind == PTX_OPERAND_VECTOR;
    const struct ptx_operand *vector = &instr->operands[unpacks ? 0 : 1];
    unsigned bits = ptx_type_info((enum ptx_type)instr->form->types[0])->bits;
    if (bits > 64 || vector->count == 0 || instr->form->vec > 1 ||
        instr->operands[unpacks ? 1 : 0].kind == PTX_OPERAND_VECTOR)
        return false;
    op->bytes = (uint8_t)(bits / vector->count / 8);
    op->flags = (uint8_t)(bits == 64 ? WIDE : NARROW);
    op->count = (uint8_t)vector->count;
    if (op->bytes == 0 || op->bytes > 4)
        return false;
    slot *list = base_new_array(decoder->arena, slot, vector->count);
    for (uint16_t k = 0; k < vector->count; k++)
        list[k] = unpacks ? sim_decode_target(decoder, instr, &vector->elements[k])
                          : sim_decode_typed(decoder, instr, &vector->elements[k], PTX_B32);
    op->list = list;
    if (unpacks)
        op->a = sim_decode_typed(decoder, instr, &instr->operands[1],
                                 (enum ptx_type)instr->form->types[0]);
    else
        op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
    op->run = unpacks ? unpack : pack;
    return true;
}

// --- Address spaces ------------------------------------------------------------------------------

enum { TO_SPACE = 1, BY_NAME = 2 }; // op->mode of cvta

// Generic addresses are host pointers; shared ones are places in the cluster's window, local ones
// offsets from the start of the thread's memory.
static uint64_t converted(const struct sim_warp *warp, const struct sim_uop *op, int lane,
                          uint64_t value)
{
    const struct sim_block *block = warp->block;
    const uint64_t local =
        (uint64_t)(uintptr_t)warp->local + (uint64_t)lane * block->launch->local_bytes;
    if (op->space == PTX_SPACE_LOCAL)
        return op->mode & TO_SPACE ? value - local : value + local;
    if (op->space != PTX_SPACE_SHARED)
        return value;
    if (op->mode & BY_NAME)
        value += block->window;
    return op->mode & TO_SPACE ? sim_cluster_windowed(block, value)
                               : sim_cluster_generic(block, value);
}

static enum sim_step convert_address(struct sim_warp *warp, const struct sim_uop *op)
{
    for (int i = 0; i < LANES; i++) {
        if (!(warp->mask >> i & 1))
            continue;
        uint64_t value = op->flags == WIDE ? ((const lane_u64 *)source(warp, op->a))[i]
                                           : ((const lane_u32 *)source(warp, op->a))[i];
        value = converted(warp, op, i, value);
        if (op->flags == WIDE)
            ((lane_u64 *)target(warp, op->d))[i] = value;
        else
            ((lane_u32 *)target(warp, op->d))[i] = (uint32_t)value;
    }
    return STEP_NEXT;
}

static enum sim_step is_space(struct sim_warp *warp, const struct sim_uop *op)
{
    const lane_u64 *in = source(warp, op->a);
    const struct sim_block *block = warp->block;
    uint32_t bits = 0;
    for (int i = 0; i < LANES; i++) {
        const struct sim_block *holder = sim_cluster_holder(block, in[i]);
        bool shared = holder != NULL;
        bool local = warp->local && in[i] - (uint64_t)(uintptr_t)warp->local <
                                        (uint64_t)LANES * block->launch->local_bytes;
        struct gpusim_object object;
        bool constant = !shared && !local && op->space == PTX_SPACE_CONST &&
                        sim_object_find(block->launch->device, in[i], &object) &&
                        object.kind == GPUSIM_OBJECT_CONSTANT;
        bool is = op->space == PTX_SPACE_SHARED   ? shared && (op->mode || holder == block)
                  : op->space == PTX_SPACE_LOCAL  ? local
                  : op->space == PTX_SPACE_GLOBAL ? !shared && !local
                                                  : constant;
        bits |= (uint32_t)is << i;
    }
    set_predicate(warp, op->d, bits);
    return STEP_NEXT;
}

static bool choose_mov(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       struct sim_uop *op)
{
    enum ptx_type type = (enum ptx_type)instr->form->types[0];
    const struct ptx_operand *from = &instr->operands[1];
    if (instr->operands[0].kind == PTX_OPERAND_VECTOR || from->kind == PTX_OPERAND_VECTOR)
        return choose_packing(decoder, instr, op);
    op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
    op->bytes = (uint8_t)sim_decode_lane_bytes((enum ptx_type)instr->operands[0].reg->type);
    if (from->kind == PTX_OPERAND_SREG)
        return sim_decode_special(from, op);
    if (type == PTX_PRED) {
        bool negated;
        op->a = sim_decode_predicate(decoder, instr, from, &negated);
        op->mode = negated;
        op->run = move_predicate;
        return true;
    }
    if (from->kind == PTX_OPERAND_VAR &&
        (from->var->space == PTX_SPACE_LOCAL || from->var->space == PTX_SPACE_PARAM)) {
        uint64_t value;
        sim_decode_variable(decoder, instr, from->var, &value);
        if (from->var->space == PTX_SPACE_PARAM)
            sim_decode_refuse(decoder, instr, "the address of a parameter");
        op->offset = (int64_t)value + sim_decode_var_offset(from);
        op->run = move_local;
        return true;
    }
    if (op->bytes > WIDE)
        return false;
    if (from->kind == PTX_OPERAND_VAR && from->var->space == PTX_SPACE_SHARED &&
        ptx_type_info(type)->bits >= 32) {
        uint64_t value;
        sim_decode_variable(decoder, instr, from->var, &value);
        op->offset = (int64_t)value + sim_decode_var_offset(from);
        op->run = move_shared;
        return true;
    }
    op->a = sim_decode_typed(decoder, instr, from, type);
    op->run = op->bytes == WIDE ? move_64 : move_32;
    return true;
}

bool sim_choose_move(struct sim_decoder *decoder, const struct ptx_instr *instr, struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    op->space = form->space;
    switch (ptx_op(instr)) {
    case PTX_OP_MOV: return choose_mov(decoder, instr, op);
    case PTX_OP_CVTA:
        op->flags =
            (uint8_t)(ptx_type_info((enum ptx_type)form->types[0])->bits == 64 ? WIDE : NARROW);
        op->mode = ptx_form_has(form, PTX_MOD_TO) ? TO_SPACE : 0;
        op->mode |= instr->operands[1].kind == PTX_OPERAND_VAR ? BY_NAME : 0;
        op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
        if (instr->operands[1].kind == PTX_OPERAND_VAR &&
            (instr->operands[1].var->space == PTX_SPACE_LOCAL ||
             instr->operands[1].var->space == PTX_SPACE_PARAM))
            sim_decode_refuse(decoder, instr,
                              "the generic address of a local variable or parameter by name");
        op->a =
            sim_decode_typed(decoder, instr, &instr->operands[1], (enum ptx_type)form->types[0]);
        if (form->space == PTX_SPACE_PARAM)
            sim_decode_refuse(decoder, instr, "the generic address of a parameter");
        op->run = form->space == PTX_SPACE_GLOBAL || form->space == PTX_SPACE_CONST
                      ? (op->flags == WIDE ? move_64 : move_32)
                      : convert_address;
        return true;
    case PTX_OP_ISSPACEP:
        op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
        op->a = sim_decode_typed(decoder, instr, &instr->operands[1], PTX_U64);
        op->mode = ptx_form_has(form, PTX_MOD_SHARED_CLUSTER);
        op->run = is_space;
        return true;
    default: return false;
    }
}
