// SPDX-License-Identifier: Apache-2.0
// Implements ldmatrix, stmatrix and movmatrix for matrices of 8 by 8 halves that a warp holds
// together. Other elements and shapes are refused.
#include "ops_matrix.h"

#include <string.h>

#include "access.h"
#include "ops.h"
#include "warp.h"

// Up to four matrices, one below the other. Lane i provides the address of row i.
typedef uint16_t rows[LANES][8];

// A lane holds two adjacent elements of row lane / 4; if transposed, of column lane / 4.
static uint16_t *half_of(rows matrix, unsigned first_row, unsigned lane, unsigned half,
                         bool flipped)
{
    unsigned outer = lane / 4, inner = lane % 4 * 2 + half;
    return flipped ? &matrix[first_row + inner][outer] : &matrix[first_row + outer][inner];
}

static void halves_to_register(struct sim_warp *warp, slot to, rows in, unsigned first_row,
                               bool flipped)
{
    if (to == NO_SLOT)
        return;
    lane_u32 *out = target(warp, to);
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        out[lane] = *half_of(in, first_row, lane, 0, flipped) |
                    (uint32_t)*half_of(in, first_row, lane, 1, flipped) << 16;
    }
}

static void halves_from_register(const struct sim_warp *warp, slot from, rows out,
                                 unsigned first_row, bool flipped)
{
    const lane_u32 *in = source(warp, from);
    for (unsigned lane = 0; lane < LANES; lane++) {
        *half_of(out, first_row, lane, 0, flipped) = (uint16_t)in[lane];
        *half_of(out, first_row, lane, 1, flipped) = (uint16_t)(in[lane] >> 16);
    }
}

// Accesses memory only with the lanes that provide a row's address. Returns false if the launch has
// failed.
static bool reach_rows(struct sim_warp *warp, const struct sim_uop *op, enum sim_access_kind kind,
                       struct sim_access *access, uint32_t *lanes)
{
    uint32_t all = warp->mask;
    *lanes = all & (uint32_t)((UINT64_C(1) << 8 * op->count) - 1);
    sim_warp_set_mask(warp, *lanes);
    bool good = !*lanes || sim_access_lanes(warp, op, sizeof(uint16_t[8]), kind, access);
    sim_warp_set_mask(warp, all);
    return good;
}

static enum sim_step load_rows(struct sim_warp *warp, const struct sim_uop *op)
{
    if (!sim_warp_together(warp, op, ALL_LANES))
        return STEP_STOP;
    struct sim_access access;
    uint32_t lanes;
    rows in = {{0}};
    if (!reach_rows(warp, op, ACCESS_LOAD, &access, &lanes))
        return STEP_STOP;
    for (uint32_t left = lanes; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        memcpy(in[i], access.pointer[i], sizeof(in[i]));
    }
    for (unsigned i = 0; i < op->count; i++)
        halves_to_register(warp, op->list[i], in, 8 * i, op->mode);
    return sim_warp_apart(warp);
}

static enum sim_step store_rows(struct sim_warp *warp, const struct sim_uop *op)
{
    if (!sim_warp_together(warp, op, ALL_LANES))
        return STEP_STOP;
    struct sim_access access;
    uint32_t lanes;
    rows out;
    for (unsigned i = 0; i < op->count; i++)
        halves_from_register(warp, op->list[i], out, 8 * i, op->mode);
    if (!reach_rows(warp, op, ACCESS_STORE, &access, &lanes))
        return STEP_STOP;
    for (uint32_t left = lanes; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        memcpy(access.pointer[i], out[i], sizeof(out[i]));
    }
    return sim_warp_apart(warp);
}

static enum sim_step transpose(struct sim_warp *warp, const struct sim_uop *op)
{
    if (!sim_warp_together(warp, op, ALL_LANES))
        return STEP_STOP;
    rows matrix;
    halves_from_register(warp, op->a, matrix, 0, false);
    halves_to_register(warp, op->d, matrix, 0, true);
    return sim_warp_apart(warp);
}

// --- Choice --------------------------------------------------------------------------------------

const slot *sim_matrix_registers(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                 const struct ptx_operand *operand, bool is_target, unsigned *count)
{
    bool vector = operand->kind == PTX_OPERAND_VECTOR;
    *count = vector ? operand->count : 1;
    slot *list = base_new_array(decoder->arena, slot, *count);
    for (unsigned i = 0; i < *count; i++) {
        const struct ptx_operand *item = vector ? &operand->elements[i] : operand;
        list[i] = is_target ? sim_decode_target(decoder, instr, item)
                            : sim_decode_register(decoder, instr, item);
        if (item->kind == PTX_OPERAND_REG && (item->reg->type == PTX_PRED || item->reg->vec > 1))
            sim_decode_refuse(decoder, instr, "a fragment in registers of this kind");
    }
    return list;
}

bool sim_matrix_fits(const struct ptx_operand *operand, unsigned lane_bytes)
{
    bool vector = operand->kind == PTX_OPERAND_VECTOR;
    for (unsigned i = 0; i < (vector ? operand->count : 1); i++) {
        const struct ptx_operand *item = vector ? &operand->elements[i] : operand;
        if (item->kind == PTX_OPERAND_REG &&
            sim_decode_lane_bytes((enum ptx_type)item->reg->type) != lane_bytes)
            return false;
    }
    return true;
}

bool sim_matrix_choose_rows(struct sim_decoder *decoder, const struct ptx_instr *instr,
                            struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    if (ptx_op(instr) == PTX_OP_MOVMATRIX) {
        if (!ptx_form_has(form, PTX_MOD_TRANS) || form->types[0] != PTX_B16)
            return false;
        op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
        op->a = sim_decode_register(decoder, instr, &instr->operands[1]);
        op->run = transpose;
        return true;
    }
    bool is_load = ptx_op(instr) == PTX_OP_LDMATRIX;
    unsigned count, wanted = ptx_form_has(form, PTX_MOD_X4)   ? 4
                             : ptx_form_has(form, PTX_MOD_X2) ? 2
                                                              : 1;
    if (!ptx_form_has(form, PTX_MOD_M8N8) || form->types[0] != PTX_B16)
        return false;
    op->list =
        sim_matrix_registers(decoder, instr, &instr->operands[is_load ? 0 : 1], is_load, &count);
    if (count != wanted)
        return false;
    sim_decode_address(decoder, instr, &instr->operands[is_load ? 1 : 0], op);
    op->count = (uint8_t)count;
    op->mode = ptx_form_has(form, PTX_MOD_TRANS);
    op->run = is_load ? load_rows : store_rows;
    return true;
}
