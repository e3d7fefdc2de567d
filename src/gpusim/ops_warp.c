// SPDX-License-Identifier: Apache-2.0
// Instructions of several lanes of a warp: shuffles, votes, matches, reductions, warp barriers.
// With .sync they wait until the lanes of their member mask are there.
#include "ops.h"

// The member mask, which is the same in all lanes that execute; without one, those that are active.
static uint32_t members(const struct warp *warp, slot at)
{
    return at == NO_SLOT ? warp->mask
                         : ((const lane_u32 *)source(warp, at))[__builtin_ctz(warp->mask)];
}

enum shuffle { SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_BFLY, SHUFFLE_IDX };

static enum step shuffle(struct warp *warp, const struct uop *op)
{
    if (!warp_together(warp, op, members(warp, op->e)))
        return STEP_STOP;
    const lane_u32 *in = source(warp, op->a), *by = source(warp, op->b),
                   *limits = source(warp, op->c);
    uint32_t result[LANES], good = 0;
    for (int i = 0; i < LANES; i++) {
        uint32_t lane = (uint32_t)i, offset = by[i] & 31, clamp = limits[i] & 31;
        uint32_t segment = limits[i] >> 8 & 31;
        uint32_t most = (lane & segment) | (clamp & ~segment), least = lane & segment;
        uint32_t from;
        bool valid;
        switch ((enum shuffle)op->mode) {
        case SHUFFLE_UP:
            from = lane - offset;
            valid = (int32_t)from >= (int32_t)most;
            break;
        case SHUFFLE_DOWN:
            from = lane + offset;
            valid = from <= most;
            break;
        case SHUFFLE_BFLY:
            from = lane ^ offset;
            valid = from <= most;
            break;
        default:
            from = least | (offset & ~segment);
            valid = from <= most;
            break;
        }
        if (!valid)
            from = lane;
        result[i] = in[from & 31];
        good |= (uint32_t)valid << i;
    }
    if (op->d != NO_SLOT) {
        lane_u32 *out = target(warp, op->d);
        OVER_LANES(lane_u32, out, (void)0, result[i]);
    }
    if (op->target)
        set_predicate(warp, op->target - 1, good);
    return warp_apart(warp);
}

enum vote { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };

static enum step vote(struct warp *warp, const struct uop *op)
{
    uint32_t wanted = members(warp, op->b);
    if (!warp_together(warp, op, wanted))
        return STEP_STOP;
    uint32_t bits = predicate(warp, op->a), here = warp->mask & wanted;
    bits = (op->flags ? ~bits : bits) & here;
    if (op->mode == VOTE_BALLOT) {
        lane_u32 *out = target(warp, op->d);
        OVER_LANES(lane_u32, out, (void)0, bits);
    } else {
        bool yes = op->mode == VOTE_ALL   ? bits == here
                   : op->mode == VOTE_ANY ? bits != 0
                                          : bits == 0 || bits == here;
        set_predicate(warp, op->d, yes ? UINT32_MAX : 0);
    }
    return warp_apart(warp);
}

static enum step active_mask(struct warp *warp, const struct uop *op)
{
    lane_u32 *out = target(warp, op->d);
    uint32_t mask = warp->mask;
    OVER_LANES(lane_u32, out, (void)0, mask);
    return STEP_NEXT;
}

static enum step elect(struct warp *warp, const struct uop *op)
{
    uint32_t wanted = members(warp, op->a);
    if (!warp_together(warp, op, wanted))
        return STEP_STOP;
    uint32_t leader = (uint32_t)__builtin_ctz(warp->mask & wanted);
    if (op->d != NO_SLOT) {
        lane_u32 *out = target(warp, op->d);
        OVER_LANES(lane_u32, out, (void)0, leader);
    }
    if (op->target)
        set_predicate(warp, op->target - 1, 1u << leader);
    return warp_apart(warp);
}

static enum step match(struct warp *warp, const struct uop *op)
{
    uint32_t wanted = members(warp, op->b);
    if (!warp_together(warp, op, wanted))
        return STEP_STOP;
    uint32_t here = warp->mask & wanted, result[LANES], same = 0;
    bool all = true;
    const void *in = source(warp, op->a);
    for (int i = 0; i < LANES; i++) {
        result[i] = 0;
        for (int k = 0; k < LANES; k++) {
            bool equal = op->bytes == WIDE ? ((const lane_u64 *)in)[i] == ((const lane_u64 *)in)[k]
                                           : ((const lane_u32 *)in)[i] == ((const lane_u32 *)in)[k];
            result[i] |= (uint32_t)(equal && here >> k & 1) << k;
        }
        if (here >> i & 1) {
            all &= result[i] == here;
            same |= 1u << i;
        }
    }
    lane_u32 *out = op->d == NO_SLOT ? NULL : target(warp, op->d);
    if (out && op->mode)
        OVER_LANES(lane_u32, out, (void)0, all ? here : 0);
    else if (out)
        OVER_LANES(lane_u32, out, (void)0, result[i]);
    if (op->target)
        set_predicate(warp, op->target - 1, all ? UINT32_MAX : 0);
    return warp_apart(warp);
}

static enum step reduce(struct warp *warp, const struct uop *op)
{
    uint32_t wanted = members(warp, op->b);
    if (!warp_together(warp, op, wanted))
        return STEP_STOP;
    const lane_u32 *in = source(warp, op->a);
    uint32_t here = warp->mask & wanted, total = 0;
    bool first = true, is_signed = op->flags;
    for (uint32_t left = here; left; left &= left - 1) {
        uint32_t value = in[__builtin_ctz(left)];
        if (first) {
            total = value;
            first = false;
            continue;
        }
        bool less = is_signed ? (int32_t)value < (int32_t)total : value < total;
        switch (op->target) {
        case PTX_MOD_ADD: total += value; break;
        case PTX_MOD_MIN: total = less ? value : total; break;
        case PTX_MOD_MAX: total = less || value == total ? total : value; break;
        case PTX_MOD_AND: total &= value; break;
        case PTX_MOD_OR: total |= value; break;
        default: total ^= value; break;
        }
    }
    lane_u32 *out = target(warp, op->d);
    OVER_LANES(lane_u32, out, (void)0, total);
    return warp_apart(warp);
}

static enum step warp_barrier(struct warp *warp, const struct uop *op)
{
    return warp_together(warp, op, members(warp, op->a)) ? warp_apart(warp) : STEP_STOP;
}

// d or d|p
static void decode_pair(struct decoder *decoder, const struct ptx_instr *instr, struct uop *op)
{
    const struct ptx_operand *to = &instr->operands[0];
    op->target = 0;
    if (to->kind == PTX_OPERAND_PAIR) {
        slot second = decode_target(decoder, instr, &to->elements[1]);
        op->d = decode_target(decoder, instr, &to->elements[0]);
        op->target = second == NO_SLOT ? 0 : second + 1;
    } else {
        op->d = decode_target(decoder, instr, to);
    }
}

bool choose_warp(struct decoder *decoder, const struct ptx_instr *instr, struct uop *op)
{
    const struct ptx_form *form = instr->form;
    enum ptx_type type = (enum ptx_type)form->types[0];
    switch (ptx_op(instr)) {
    case PTX_OP_SHFL:
        decode_pair(decoder, instr, op);
        op->a = decode_typed(decoder, instr, &instr->operands[1], PTX_B32);
        op->b = decode_typed(decoder, instr, &instr->operands[2], PTX_U32);
        op->c = decode_typed(decoder, instr, &instr->operands[3], PTX_U32);
        if (instr->operand_count > 4)
            op->e = decode_typed(decoder, instr, &instr->operands[4], PTX_U32);
        op->mode = (uint8_t)(ptx_form_has(form, PTX_MOD_UP)     ? SHUFFLE_UP
                             : ptx_form_has(form, PTX_MOD_DOWN) ? SHUFFLE_DOWN
                             : ptx_form_has(form, PTX_MOD_BFLY) ? SHUFFLE_BFLY
                                                                : SHUFFLE_IDX);
        op->run = shuffle;
        return true;
    case PTX_OP_VOTE: {
        bool negated;
        op->d = decode_register(decoder, instr, &instr->operands[0]);
        op->a = decode_predicate(decoder, instr, &instr->operands[1], &negated);
        op->flags = negated;
        if (instr->operand_count > 2)
            op->b = decode_typed(decoder, instr, &instr->operands[2], PTX_U32);
        op->mode = (uint8_t)(ptx_form_has(form, PTX_MOD_ALL)   ? VOTE_ALL
                             : ptx_form_has(form, PTX_MOD_ANY) ? VOTE_ANY
                             : ptx_form_has(form, PTX_MOD_UNI) ? VOTE_UNI
                                                               : VOTE_BALLOT);
        op->run = vote;
        return true;
    }
    case PTX_OP_ACTIVEMASK:
        op->d = decode_register(decoder, instr, &instr->operands[0]);
        op->run = active_mask;
        return true;
    case PTX_OP_ELECT:
        decode_pair(decoder, instr, op);
        op->a = decode_typed(decoder, instr, &instr->operands[1], PTX_U32);
        op->run = elect;
        return true;
    case PTX_OP_MATCH:
        decode_pair(decoder, instr, op);
        op->a = decode_typed(decoder, instr, &instr->operands[1], type);
        op->b = decode_typed(decoder, instr, &instr->operands[2], PTX_U32);
        op->bytes = (uint8_t)decode_lane_bytes(type);
        op->mode = ptx_form_has(form, PTX_MOD_ALL);
        op->run = match;
        return true;
    case PTX_OP_REDUX:
        if (type != PTX_U32 && type != PTX_S32 && type != PTX_B32)
            return false;
        op->d = decode_register(decoder, instr, &instr->operands[0]);
        op->a = decode_typed(decoder, instr, &instr->operands[1], type);
        op->b = decode_typed(decoder, instr, &instr->operands[2], PTX_U32);
        op->target = form->operation;
        op->flags = type == PTX_S32;
        op->run = reduce;
        return true;
    case PTX_OP_BAR_WARP_SYNC:
        op->a = decode_typed(decoder, instr, &instr->operands[0], PTX_U32);
        op->run = warp_barrier;
        return true;
    default: return false;
    }
}
