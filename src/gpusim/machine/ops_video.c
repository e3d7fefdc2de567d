// SPDX-License-Identifier: Apache-2.0
// Implements the video instructions: translates modifiers and selectors for numbers/video.h, and
// calls it lane by lane. The instructions are rare, so nothing here is optimized.
#include <string.h>

#include "families.h"
#include "gpusim/numbers/video.h"
#include "ops.h"

static enum sim_step video_scalar(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct num_video *form = op->extra;
    const lane_u32 *a = source(warp, op->a), *b = source(warp, op->b), *c = source(warp, op->c);
    lane_u32 *out = target(warp, op->d);
    OVER_LANES(lane_u32, out, (void)0, num_video_scalar(form, a[i], b[i], c[i]));
    return STEP_NEXT;
}

static enum sim_step video_lanes(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct num_video *form = op->extra;
    const lane_u32 *a = source(warp, op->a), *b = source(warp, op->b), *c = source(warp, op->c);
    lane_u32 *out = target(warp, op->d);
    OVER_LANES(lane_u32, out, (void)0, num_video_lanes(form, a[i], b[i], c[i]));
    return STEP_NEXT;
}

static enum sim_step video_mad(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct num_vmad *form = op->extra;
    const lane_u32 *a = source(warp, op->a), *b = source(warp, op->b), *c = source(warp, op->c);
    lane_u32 *out = target(warp, op->d);
    OVER_LANES(lane_u32, out, (void)0, num_vmad(form, a[i], b[i], c[i]));
    return STEP_NEXT;
}

// --- Choice --------------------------------------------------------------------------------------

static bool part_of(const struct ptx_operand *operand, uint8_t *part)
{
    switch (operand->select) {
    case 0: *part = NUM_PART_ALL; return true;
    case PTX_MOD_SEL_B0: *part = NUM_PART_B0; return true;
    case (uint16_t)PTX_B1: *part = NUM_PART_B1; return true;
    case (uint16_t)PTX_B2: *part = NUM_PART_B2; return true;
    case PTX_MOD_SEL_B3: *part = NUM_PART_B3; return true;
    case PTX_MOD_SEL_H0: *part = NUM_PART_H0; return true;
    case PTX_MOD_SEL_H1: *part = NUM_PART_H1; return true;
    default: return false;
    }
}

// A selector picks lanes here, not components of a vector, so it is removed before decoding.
static slot source_of(struct sim_decoder *decoder, const struct ptx_instr *instr,
                      const struct ptx_operand *operand)
{
    struct ptx_operand whole = *operand;
    whole.select = 0;
    return sim_decode_typed(decoder, instr, &whole, PTX_B32);
}

static slot target_of(struct sim_decoder *decoder, const struct ptx_instr *instr)
{
    struct ptx_operand whole = instr->operands[0];
    whole.select = 0;
    return sim_decode_register(decoder, instr, &whole);
}

static bool type_of(enum ptx_type type, bool *is_signed)
{
    *is_signed = type == PTX_S32;
    return type == PTX_S32 || type == PTX_U32;
}

static uint8_t relation_of(const struct ptx_form *form)
{
    switch (form->cmp) {
    case PTX_MOD_EQ: return NUM_CMP_EQ;
    case PTX_MOD_NE: return NUM_CMP_NE;
    case PTX_MOD_LT: return NUM_CMP_LT;
    case PTX_MOD_LE: return NUM_CMP_LE;
    case PTX_MOD_GT: return NUM_CMP_GT;
    default: return NUM_CMP_GE;
    }
}

// Selector digits start with the highest lane. *order has one nibble per lane and starts with the
// lowest.
static bool lanes_of(const struct ptx_operand *operand, unsigned lanes, uint16_t own,
                     uint16_t *order)
{
    char text[8];
    *order = own;
    if (!operand->select)
        return true;
    ptx_select_name(operand->select, text);
    if (text[0] != (lanes == 2 ? 'h' : 'b') || !text[1])
        return false;
    *order = 0;
    for (unsigned i = 0; i < lanes; i++) {
        char digit = text[lanes - i];
        if (digit < '0' || digit >= (char)('0' + 2 * lanes))
            return false;
        *order |= (uint16_t)((digit - '0') << 4 * i);
    }
    return text[lanes + 1] == 0;
}

// Decodes which lanes of the result are written: .h0, .h10, .b210 and so on.
static bool mask_of(const struct ptx_operand *operand, unsigned lanes, uint8_t *mask)
{
    char text[8];
    *mask = (uint8_t)((1u << lanes) - 1);
    if (!operand->select)
        return true;
    ptx_select_name(operand->select, text);
    if (text[0] != (lanes == 2 ? 'h' : 'b'))
        return false;
    *mask = 0;
    for (const char *digit = text + 1; *digit; digit++) {
        if (*digit < '0' || *digit >= (char)('0' + lanes))
            return false;
        *mask |= (uint8_t)(1u << (*digit - '0'));
    }
    return *mask != 0;
}

static bool has_negation(const struct ptx_instr *instr)
{
    for (uint8_t i = 0; i < instr->operand_count; i++) {
        if (instr->operands[i].flags & PTX_OPERAND_NEGATED)
            return true;
    }
    return false;
}

// These instructions come from old GPUs. An H200 runs instruction sequences instead, which deviate
// from the manual if types are mixed. Only forms whose results are known exactly are accepted.
static bool scalar_is_exact(const struct num_video *video)
{
    bool orders = video->second == NUM_SECOND_MIN || video->second == NUM_SECOND_MAX;
    bool all_unsigned = !video->d_signed && !video->a_signed && !video->b_signed;
    if (video->op == NUM_VSET)
        return !orders || video->a_signed == video->b_signed;
    if (video->op == NUM_VSHL || video->op == NUM_VSHR)
        return !video->saturate && (!orders || all_unsigned);
    if (video->a_signed == video->b_signed && video->a_signed == video->d_signed)
        return true;
    return !orders && (!video->saturate || video->a_signed == video->b_signed ||
                       (video->d_signed && video->a_signed));
}

static bool mad_is_exact(const struct num_vmad *mad, bool d_signed)
{
    if ((!mad->saturate && !mad->scale) || (mad->a_signed && mad->b_signed))
        return true;
    return !mad->saturate && !mad->plus_one && !mad->negate_product && !mad->negate_c &&
           !mad->a_signed && mad->b_signed == d_signed && mad->a == NUM_PART_ALL &&
           mad->b == NUM_PART_ALL;
}

static _Noreturn void refuse_video(struct sim_decoder *decoder, const struct ptx_instr *instr)
{
    sim_decode_refuse(decoder, instr, "a video instruction whose result is not known exactly");
}

static bool choose_scalar(struct sim_decoder *decoder, const struct ptx_instr *instr,
                          struct sim_uop *op, struct num_video *video)
{
    const struct ptx_operand *operands = instr->operands;
    if (!part_of(&operands[0], &video->d) || !part_of(&operands[1], &video->a) ||
        !part_of(&operands[2], &video->b))
        return false;
    // The third source is for a secondary operation, or fills the rest of d.
    bool third = instr->operand_count > 3;
    if (third != (video->second != NUM_SECOND_NONE || video->d != NUM_PART_ALL) ||
        (video->second != NUM_SECOND_NONE && video->d != NUM_PART_ALL))
        return false;
    if (!scalar_is_exact(video))
        refuse_video(decoder, instr);
    op->c =
        third ? source_of(decoder, instr, &operands[3]) : sim_decode_constant(decoder, 0, NARROW);
    op->run = video_scalar;
    return true;
}

static bool choose_lanes(struct sim_decoder *decoder, const struct ptx_instr *instr,
                         struct sim_uop *op, struct num_video *video)
{
    const struct ptx_operand *operands = instr->operands;
    bool pair = video->lanes == 2;
    if (!mask_of(&operands[0], video->lanes, &video->mask) ||
        !lanes_of(&operands[1], video->lanes, pair ? 0x10 : 0x3210, &video->a_lanes) ||
        !lanes_of(&operands[2], video->lanes, pair ? 0x32 : 0x7654, &video->b_lanes) ||
        video->second > NUM_SECOND_ADD || instr->operand_count != 4)
        return false;
    op->c = source_of(decoder, instr, &operands[3]);
    op->run = video_lanes;
    return true;
}

static bool choose_mad(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    const struct ptx_operand *operands = instr->operands;
    struct num_vmad *mad = base_new(decoder->arena, struct num_vmad);
    bool d_signed;
    if (form->type_count != 3 || instr->operand_count != 4 ||
        !type_of((enum ptx_type)form->types[0], &d_signed) ||
        !type_of((enum ptx_type)form->types[1], &mad->a_signed) ||
        !type_of((enum ptx_type)form->types[2], &mad->b_signed) ||
        !part_of(&operands[1], &mad->a) || !part_of(&operands[2], &mad->b) || operands[0].select ||
        operands[3].select)
        return false;
    mad->saturate = ptx_form_has(form, PTX_MOD_SAT);
    mad->scale = strstr(form->text, ".shr15") ? 15 : strstr(form->text, ".shr7") ? 7 : 0;
    mad->plus_one = strstr(form->text, ".po") != NULL;
    mad->negate_product = (operands[1].flags ^ operands[2].flags) & PTX_OPERAND_NEGATED;
    mad->negate_c = operands[3].flags & PTX_OPERAND_NEGATED;
    if (!mad_is_exact(mad, d_signed))
        refuse_video(decoder, instr);
    op->d = target_of(decoder, instr);
    op->a = source_of(decoder, instr, &operands[1]);
    op->b = source_of(decoder, instr, &operands[2]);
    op->c = source_of(decoder, instr, &operands[3]);
    op->extra = mad;
    op->run = video_mad;
    return true;
}

struct row {
    uint16_t op;
    uint8_t kind, lanes;
};

static const struct row *row_of(enum ptx_op op)
{
    static const struct row rows[] = {
        {PTX_OP_VADD, NUM_VADD, 1},          {PTX_OP_VADD2, NUM_VADD, 2},
        {PTX_OP_VADD4, NUM_VADD, 4},         {PTX_OP_VSUB, NUM_VSUB, 1},
        {PTX_OP_VSUB2, NUM_VSUB, 2},         {PTX_OP_VSUB4, NUM_VSUB, 4},
        {PTX_OP_VABSDIFF, NUM_VABSDIFF, 1},  {PTX_OP_VABSDIFF2, NUM_VABSDIFF, 2},
        {PTX_OP_VABSDIFF4, NUM_VABSDIFF, 4}, {PTX_OP_VMIN, NUM_VMIN, 1},
        {PTX_OP_VMIN2, NUM_VMIN, 2},         {PTX_OP_VMIN4, NUM_VMIN, 4},
        {PTX_OP_VMAX, NUM_VMAX, 1},          {PTX_OP_VMAX2, NUM_VMAX, 2},
        {PTX_OP_VMAX4, NUM_VMAX, 4},         {PTX_OP_VAVRG2, NUM_VAVRG, 2},
        {PTX_OP_VAVRG4, NUM_VAVRG, 4},       {PTX_OP_VSHL, NUM_VSHL, 1},
        {PTX_OP_VSHR, NUM_VSHR, 1},          {PTX_OP_VSET, NUM_VSET, 1},
        {PTX_OP_VSET2, NUM_VSET, 2},         {PTX_OP_VSET4, NUM_VSET, 4},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].op == op)
            return &rows[i];
    }
    return NULL;
}

bool sim_choose_video(struct sim_decoder *decoder, const struct ptx_instr *instr,
                      struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    if (ptx_op(instr) == PTX_OP_VMAD)
        return choose_mad(decoder, instr, op);
    const struct row *row = row_of(ptx_op(instr));
    if (!row || has_negation(instr))
        return false;
    struct num_video *video = base_new(decoder->arena, struct num_video);
    bool sets = row->kind == NUM_VSET;
    unsigned at = sets ? 0 : 1; // vset does not specify the result's type
    if (form->type_count != at + 2 || instr->operand_count < 3 ||
        (!sets && !type_of((enum ptx_type)form->types[0], &video->d_signed)) ||
        !type_of((enum ptx_type)form->types[at], &video->a_signed) ||
        !type_of((enum ptx_type)form->types[at + 1], &video->b_signed) || (sets && !form->cmp))
        return false;
    video->op = row->kind;
    video->cmp = relation_of(form);
    video->lanes = row->lanes;
    video->saturate = ptx_form_has(form, PTX_MOD_SAT);
    video->wrap = ptx_form_has(form, PTX_MOD_WRAP);
    video->second = (uint8_t)(ptx_form_has(form, PTX_MOD_ADD)   ? NUM_SECOND_ADD
                              : ptx_form_has(form, PTX_MOD_MIN) ? NUM_SECOND_MIN
                              : ptx_form_has(form, PTX_MOD_MAX) ? NUM_SECOND_MAX
                                                                : NUM_SECOND_NONE);
    op->extra = video;
    bool good = row->lanes == 1 ? choose_scalar(decoder, instr, op, video)
                                : choose_lanes(decoder, instr, op, video);
    if (!good)
        return false;
    op->d = target_of(decoder, instr);
    op->a = source_of(decoder, instr, &instr->operands[1]);
    op->b = source_of(decoder, instr, &instr->operands[2]);
    return true;
}
