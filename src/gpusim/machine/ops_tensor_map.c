// SPDX-License-Identifier: Apache-2.0
// Implements changes of tensor maps by kernels: tensormap.replace, which sets a member of a map in
// shared or global memory, and tensormap.cp_fenceproxy, which copies a map from shared to global
// memory. A map is an object of 128 bytes, which both access as a whole.
#include <string.h>

#include "access.h"
#include "ops.h"
#include "tensor.h"
#include "warp.h"

enum map_member {
    MEMBER_ADDRESS,
    MEMBER_RANK,
    MEMBER_BOX,
    MEMBER_SIZE,
    MEMBER_STRIDE,
    MEMBER_STEP,
    MEMBER_TYPE,
    MEMBER_INTERLEAVE,
    MEMBER_SWIZZLE,
    MEMBER_FILL,
    MEMBERS,
};

static const struct {
    const char *name;
    bool is_wide, is_array; // an array: a number says which dimension
} members[MEMBERS] = {
    [MEMBER_ADDRESS] = {".global_address.", true, false},
    [MEMBER_RANK] = {".rank.", false, false},
    [MEMBER_BOX] = {".box_dim.", false, true},
    [MEMBER_SIZE] = {".global_dim.", false, true},
    [MEMBER_STRIDE] = {".global_stride.", true, true},
    [MEMBER_STEP] = {".element_stride.", false, true},
    [MEMBER_TYPE] = {".elemtype.", false, false},
    [MEMBER_INTERLEAVE] = {".interleave_layout.", false, false},
    [MEMBER_SWIZZLE] = {".swizzle_mode.", false, false},
    [MEMBER_FILL] = {".fill_mode.", false, false},
};

// Returns whether the value is possible. Copies check what depends on several members.
static bool set_member(struct sim_tensor_map *map, enum map_member member, unsigned dimension,
                       uint64_t value)
{
    static const uint8_t slices[] = {0, 16, 32};
    switch (member) {
    case MEMBER_ADDRESS: map->address = value; return value % 16 == 0;
    case MEMBER_RANK: map->rank = (uint8_t)(value + 1); return value < SIM_TENSOR_RANK;
    case MEMBER_BOX: map->box[dimension] = (uint16_t)value; return value - 1 < 256;
    case MEMBER_SIZE: map->size[dimension] = (uint32_t)value; return true;
    case MEMBER_STRIDE:
        if (dimension >= SIM_TENSOR_RANK - 1)
            return false;
        map->stride[dimension] = value;
        return value % 16 == 0 && value >> 40 == 0;
    case MEMBER_STEP: map->step[dimension] = (uint8_t)value; return value - 1 < 8;
    case MEMBER_TYPE: map->type = (uint8_t)value; return value < SIM_TENSOR_TYPES;
    case MEMBER_INTERLEAVE:
        if (value >= sizeof(slices))
            return false;
        map->interleave = slices[value];
        return true;
    case MEMBER_SWIZZLE: map->swizzle = (uint8_t)value; return value <= SIM_SWIZZLE_128;
    default: map->fills_nan = value != 0; return value <= 1;
    }
}

static bool replace_in(struct sim_warp *warp, const struct sim_uop *op, int lane, unsigned char *at)
{
    struct sim_tensor_map map;
    const enum map_member member = (enum map_member)op->mode;
    const uint64_t value = members[member].is_wide ? ((const lane_u64 *)source(warp, op->b))[lane]
                                                   : ((const lane_u32 *)source(warp, op->b))[lane];
    memcpy(&map, at, sizeof(map));
    if (map.magic != SIM_TENSOR_MAGIC) {
        sim_warp_fault(warp, op, SIM_FAULT_INSTRUCTION, lane,
                       "a change of a tensor map where there is none");
        return false;
    }
    if (map.mode != SIM_TENSOR_TILED || !set_member(&map, member, op->count, value)) {
        sim_warp_fault(warp, op, SIM_FAULT_INSTRUCTION, lane,
                       "a tensor map cannot have the value 0x%llx here", (unsigned long long)value);
        return false;
    }
    memcpy(at, &map, sizeof(map));
    return true;
}

static enum sim_step replace(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_access access;
    if (!sim_access_lanes(warp, op, SIM_TENSOR_MAP_BYTES, ACCESS_STORE, &access))
        return STEP_STOP;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        if (!replace_in(warp, op, lane, access.pointer[lane]))
            return STEP_STOP;
    }
    return STEP_NEXT;
}

// op->extra is the source. The warp copies once.
static enum sim_step copy_map(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_access from, to;
    if (!sim_warp_together(warp, op, ALL_LANES))
        return STEP_STOP;
    const uint32_t all = warp->mask;
    const int lane = __builtin_ctz(all);
    sim_warp_set_mask(warp, 1u << lane);
    const bool good = sim_access_lanes(warp, op->extra, SIM_TENSOR_MAP_BYTES, ACCESS_LOAD, &from) &&
                      sim_access_lanes(warp, op, SIM_TENSOR_MAP_BYTES, ACCESS_STORE, &to);
    if (good)
        memmove(to.pointer[lane], from.pointer[lane], SIM_TENSOR_MAP_BYTES);
    sim_warp_set_mask(warp, all);
    return good ? sim_warp_apart(warp) : STEP_STOP;
}

static bool choose_replace(struct sim_decoder *decoder, const struct ptx_instr *instr,
                           struct sim_uop *op)
{
    const struct ptx_operand *operands = instr->operands;
    unsigned member = 0;
    while (member < MEMBERS && !strstr(instr->form->text, members[member].name))
        member++;
    if (member == MEMBERS || instr->operand_count != (members[member].is_array ? 3 : 2))
        return false;
    op->mode = (uint8_t)member;
    if (members[member].is_array) {
        if (operands[1].kind != PTX_OPERAND_INT || operands[1].bits >= SIM_TENSOR_RANK)
            return false;
        op->count = (uint8_t)operands[1].bits;
    }
    op->space = instr->form->space;
    sim_decode_address(decoder, instr, &operands[0], op);
    op->b = sim_decode_typed(decoder, instr, &operands[instr->operand_count - 1],
                             members[member].is_wide ? PTX_U64 : PTX_U32);
    op->run = replace;
    return true;
}

static bool choose_copy(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op)
{
    const struct ptx_operand *operands = instr->operands;
    struct sim_uop *from = base_new(decoder->arena, struct sim_uop);
    if (instr->operand_count != 3 || operands[2].kind != PTX_OPERAND_INT ||
        operands[2].bits != SIM_TENSOR_MAP_BYTES)
        return false;
    *from = *op;
    op->space = PTX_SPACE_GLOBAL;
    from->space = PTX_SPACE_SHARED;
    sim_decode_address(decoder, instr, &operands[0], op);
    sim_decode_address(decoder, instr, &operands[1], from);
    op->extra = from;
    op->run = copy_map;
    return true;
}

bool sim_tensor_choose_map(struct sim_decoder *decoder, const struct ptx_instr *instr,
                           struct sim_uop *op)
{
    switch (ptx_op(instr)) {
    case PTX_OP_TENSORMAP_REPLACE: return choose_replace(decoder, instr, op);
    case PTX_OP_TENSORMAP_CP_FENCEPROXY: return choose_copy(decoder, instr, op);
    default: return false;
    }
}
