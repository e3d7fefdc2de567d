// SPDX-License-Identifier: Apache-2.0
// Implements instructions of several lanes of a warp: shuffles, votes, matches, reductions and warp
// barriers. With .sync they wait until all lanes of their member mask have arrived.
#include <string.h>

#include "families.h"
#include "ops.h"
#include "warp.h"

// Returns the lanes to wait for: all lanes in the member masks of the active lanes; without masks,
// the active lanes.
static uint32_t members(const struct sim_warp *warp, slot at)
{
    if (at == NO_SLOT)
        return warp->mask;
    const lane_u32 *masks = source(warp, at);
    uint32_t all = 0;
    for (int i = 0; i < LANES; i++)
        all |= masks[i] & warp->lanes[i];
    return all;
}

// Lanes with different member masks may execute an instruction together, for example the parts of a
// partition. The lanes with the same mask are a group, and groups are independent of each other.
struct group {
    uint32_t lanes;   // lanes that get the result
    uint32_t members; // lanes that contribute to it, those in the mask; never empty
};

// Removes the next group from *left.
static struct group next_group(const struct sim_warp *warp, slot at, uint32_t *left)
{
    struct group group = {*left, *left};
    if (at != NO_SLOT) {
        const lane_u32 *masks = source(warp, at);
        uint32_t mask = masks[__builtin_ctz(*left)], same = 0;
        for (int i = 0; i < LANES; i++)
            same |= (uint32_t)(masks[i] == mask) << i;
        group.lanes &= same;
        group.members = group.lanes & mask ? group.lanes & mask : group.lanes;
    }
    *left &= ~group.lanes;
    return group;
}

static void give(uint32_t *to, uint32_t lanes, uint32_t value)
{
    for (int i = 0; i < LANES; i++)
        to[i] = lanes >> i & 1 ? value : to[i];
}

enum shuffle { SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_BFLY, SHUFFLE_IDX };

// Shuffles 32 live lanes of which each has the same offset, without segments. Fills `result`, and
// returns true and the lanes with a valid source; returns false for other shuffles.
static bool shuffle_alike(const struct sim_uop *op, const lane_u32 *in, const lane_u32 *by,
                          const lane_u32 *limits, uint32_t result[LANES], uint32_t *good)
{
    const uint32_t offset = by[0] & 31, clamp = op->mode == SHUFFLE_UP ? 0 : 31;
    uint32_t apart = limits[0] ^ clamp;
    for (int i = 0; i < LANES; i++)
        apart |= (by[i] ^ by[0]) | (limits[i] ^ limits[0]);
    if (apart)
        return false;
    const uint32_t moved = LANES - offset;
    *good = ALL_LANES;
    switch ((enum shuffle)op->mode) {
    case SHUFFLE_UP:
        memcpy(result, in, offset * sizeof(*result));
        memcpy(result + offset, in, moved * sizeof(*result));
        *good <<= offset;
        return true;
    case SHUFFLE_DOWN:
        memcpy(result, in + offset, moved * sizeof(*result));
        memcpy(result + moved, in + moved, offset * sizeof(*result));
        *good >>= offset;
        return true;
    case SHUFFLE_BFLY:
        for (uint32_t i = 0; i < LANES; i++)
            result[i] = in[i ^ offset];
        return true;
    default:
        for (int i = 0; i < LANES; i++)
            result[i] = in[offset];
        return true;
    }
}

static enum sim_step shuffle(struct sim_warp *warp, const struct sim_uop *op)
{
    if (!sim_warp_together(warp, op, members(warp, op->e)))
        return STEP_STOP;
    const lane_u32 *in = source(warp, op->a), *by = source(warp, op->b),
                   *limits = source(warp, op->c);
    uint32_t result[LANES], good = 0;
    const bool done =
        (warp->mask & warp->live) == ALL_LANES && shuffle_alike(op, in, by, limits, result, &good);
    for (int i = 0; i < LANES && !done; i++) {
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
        // The value of an ended lane is undefined in PTX; an H200 reads 0.
        result[i] = warp->live >> (from & 31) & 1 ? in[from & 31] : 0;
        good |= (uint32_t)valid << i;
    }
    if (op->d != NO_SLOT) {
        lane_u32 *out = target(warp, op->d);
        OVER_LANES(lane_u32, out, (void)0, result[i]);
    }
    if (op->target)
        set_predicate(warp, op->target - 1, good);
    return sim_warp_apart(warp);
}

enum vote { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };

static enum sim_step vote(struct sim_warp *warp, const struct sim_uop *op)
{
    if (!sim_warp_together(warp, op, members(warp, op->b)))
        return STEP_STOP;
    uint32_t given = predicate(warp, op->a), yes = 0, ballots[LANES] = {0};
    given = op->flags ? ~given : given;
    for (uint32_t left = warp->mask; left;) {
        struct group group = next_group(warp, op->b, &left);
        uint32_t bits = given & group.members;
        bool agreed = op->mode == VOTE_ALL   ? bits == group.members
                      : op->mode == VOTE_ANY ? bits != 0
                                             : bits == 0 || bits == group.members;
        yes |= agreed ? group.lanes : 0;
        give(ballots, group.lanes, bits);
    }
    if (op->mode == VOTE_BALLOT) {
        lane_u32 *out = target(warp, op->d);
        OVER_LANES(lane_u32, out, (void)0, ballots[i]);
    } else {
        set_predicate(warp, op->d, yes);
    }
    return sim_warp_apart(warp);
}

static enum sim_step active_mask(struct sim_warp *warp, const struct sim_uop *op)
{
    lane_u32 *out = target(warp, op->d);
    uint32_t mask = warp->mask;
    OVER_LANES(lane_u32, out, (void)0, mask);
    return STEP_NEXT;
}

static enum sim_step elect(struct sim_warp *warp, const struct sim_uop *op)
{
    if (!sim_warp_together(warp, op, members(warp, op->a)))
        return STEP_STOP;
    uint32_t chosen = 0, leaders[LANES] = {0};
    for (uint32_t left = warp->mask; left;) {
        struct group group = next_group(warp, op->a, &left);
        uint32_t leader = (uint32_t)__builtin_ctz(group.members);
        chosen |= 1u << leader;
        give(leaders, group.lanes, leader);
    }
    if (op->d != NO_SLOT) {
        lane_u32 *out = target(warp, op->d);
        OVER_LANES(lane_u32, out, (void)0, leaders[i]);
    }
    if (op->target)
        set_predicate(warp, op->target - 1, chosen);
    return sim_warp_apart(warp);
}

static enum sim_step match(struct sim_warp *warp, const struct sim_uop *op)
{
    if (!sim_warp_together(warp, op, members(warp, op->b)))
        return STEP_STOP;
    const void *in = source(warp, op->a);
    uint32_t agreed = 0, result[LANES] = {0};
    for (uint32_t left = warp->mask; left;) {
        struct group group = next_group(warp, op->b, &left);
        bool all = true;
        for (uint32_t rest = group.lanes; rest; rest &= rest - 1) {
            int i = __builtin_ctz(rest);
            for (int k = 0; k < LANES; k++) {
                bool equal = op->bytes == WIDE
                                 ? ((const lane_u64 *)in)[i] == ((const lane_u64 *)in)[k]
                                 : ((const lane_u32 *)in)[i] == ((const lane_u32 *)in)[k];
                result[i] |= (uint32_t)(equal && group.members >> k & 1) << k;
            }
            all &= result[i] == group.members || !(group.members >> i & 1);
        }
        agreed |= all ? group.lanes : 0;
    }
    if (op->d != NO_SLOT) {
        lane_u32 *out = target(warp, op->d);
        bool of_all = op->mode; // match.all returns 0 unless all values are equal
        OVER_LANES(lane_u32, out, (void)0, of_all && !(agreed >> i & 1) ? 0 : result[i]);
    }
    if (op->target)
        set_predicate(warp, op->target - 1, agreed);
    return sim_warp_apart(warp);
}

static uint32_t total_of(const struct sim_uop *op, const lane_u32 *in, uint32_t here)
{
    uint32_t total = in[__builtin_ctz(here)];
    for (uint32_t left = here & (here - 1); left; left &= left - 1) {
        uint32_t value = in[__builtin_ctz(left)];
        bool less = op->flags ? (int32_t)value < (int32_t)total : value < total; // flags: signed
        switch (op->target) {
        case PTX_MOD_ADD: total += value; break;
        case PTX_MOD_MIN: total = less ? value : total; break;
        case PTX_MOD_MAX: total = less || value == total ? total : value; break;
        case PTX_MOD_AND: total &= value; break;
        case PTX_MOD_OR: total |= value; break;
        default: total ^= value; break;
        }
    }
    return total;
}

static enum sim_step reduce(struct sim_warp *warp, const struct sim_uop *op)
{
    if (!sim_warp_together(warp, op, members(warp, op->b)))
        return STEP_STOP;
    uint32_t totals[LANES] = {0};
    for (uint32_t left = warp->mask; left;) {
        struct group group = next_group(warp, op->b, &left);
        give(totals, group.lanes, total_of(op, source(warp, op->a), group.members));
    }
    lane_u32 *out = target(warp, op->d);
    OVER_LANES(lane_u32, out, (void)0, totals[i]);
    return sim_warp_apart(warp);
}

static enum sim_step warp_barrier(struct sim_warp *warp, const struct sim_uop *op)
{
    return sim_warp_together(warp, op, members(warp, op->a)) ? sim_warp_apart(warp) : STEP_STOP;
}

// Decodes the destinations d or d|p.
static void decode_pair(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op)
{
    const struct ptx_operand *to = &instr->operands[0];
    op->target = 0;
    if (to->kind == PTX_OPERAND_PAIR) {
        slot second = sim_decode_target(decoder, instr, &to->elements[1]);
        op->d = sim_decode_target(decoder, instr, &to->elements[0]);
        op->target = second == NO_SLOT ? 0 : second + 1;
    } else {
        op->d = sim_decode_target(decoder, instr, to);
    }
}

bool sim_choose_warp(struct sim_decoder *decoder, const struct ptx_instr *instr, struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    enum ptx_type type = (enum ptx_type)form->types[0];
    switch (ptx_op(instr)) {
    case PTX_OP_SHFL:
        decode_pair(decoder, instr, op);
        op->a = sim_decode_typed(decoder, instr, &instr->operands[1], PTX_B32);
        op->b = sim_decode_typed(decoder, instr, &instr->operands[2], PTX_U32);
        op->c = sim_decode_typed(decoder, instr, &instr->operands[3], PTX_U32);
        if (instr->operand_count > 4)
            op->e = sim_decode_typed(decoder, instr, &instr->operands[4], PTX_U32);
        op->mode = (uint8_t)(ptx_form_has(form, PTX_MOD_UP)     ? SHUFFLE_UP
                             : ptx_form_has(form, PTX_MOD_DOWN) ? SHUFFLE_DOWN
                             : ptx_form_has(form, PTX_MOD_BFLY) ? SHUFFLE_BFLY
                                                                : SHUFFLE_IDX);
        op->run = shuffle;
        return true;
    case PTX_OP_VOTE: {
        bool negated;
        op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
        op->a = sim_decode_predicate(decoder, instr, &instr->operands[1], &negated);
        op->flags = negated;
        if (instr->operand_count > 2)
            op->b = sim_decode_typed(decoder, instr, &instr->operands[2], PTX_U32);
        op->mode = (uint8_t)(ptx_form_has(form, PTX_MOD_ALL)   ? VOTE_ALL
                             : ptx_form_has(form, PTX_MOD_ANY) ? VOTE_ANY
                             : ptx_form_has(form, PTX_MOD_UNI) ? VOTE_UNI
                                                               : VOTE_BALLOT);
        op->run = vote;
        return true;
    }
    case PTX_OP_ACTIVEMASK:
        op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
        op->run = active_mask;
        return true;
    case PTX_OP_ELECT:
        decode_pair(decoder, instr, op);
        op->a = sim_decode_typed(decoder, instr, &instr->operands[1], PTX_U32);
        op->run = elect;
        return true;
    case PTX_OP_MATCH:
        decode_pair(decoder, instr, op);
        op->a = sim_decode_typed(decoder, instr, &instr->operands[1], type);
        op->b = sim_decode_typed(decoder, instr, &instr->operands[2], PTX_U32);
        op->bytes = (uint8_t)sim_decode_lane_bytes(type);
        op->mode = ptx_form_has(form, PTX_MOD_ALL);
        op->run = match;
        return true;
    case PTX_OP_REDUX:
        if (type != PTX_U32 && type != PTX_S32 && type != PTX_B32)
            return false;
        op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
        op->a = sim_decode_typed(decoder, instr, &instr->operands[1], type);
        op->b = sim_decode_typed(decoder, instr, &instr->operands[2], PTX_U32);
        op->target = form->operation;
        op->flags = type == PTX_S32;
        op->run = reduce;
        return true;
    case PTX_OP_BAR_WARP_SYNC:
        op->a = sim_decode_typed(decoder, instr, &instr->operands[0], PTX_U32);
        op->run = warp_barrier;
        return true;
    default: return false;
    }
}
