// SPDX-License-Identifier: Apache-2.0
// Implements barriers in memory (mbarrier), bulk copies and bulk reductions. Copies complete at
// once and report their bytes to the barrier at once, so waiting for groups of copies does nothing.
// A lane whose wait fails lets others run.
//
// A barrier is a word of 64 bits whose layout is private to this file. It holds the arrivals that
// each phase expects, those still pending, the bytes still to come, and the phase. The state that
// arrive returns is the word before the arrival.
#include <string.h>

#include "access.h"
#include "async.h"
#include "cluster.h"
#include "families.h"
#include "mbarrier.h"
#include "ops.h"
#include "warp.h"

enum { COUNT_BITS = 20, BYTES_BITS = 21, PHASE_BITS = 3, MOST_COUNT = (1 << COUNT_BITS) - 1 };

struct mbarrier_state {
    uint32_t expected, pending; // arrivals
    int32_t bytes; // still to come; negative if bytes arrived before they were announced
    uint32_t phase;
};

static struct mbarrier_state unpack(uint64_t word)
{
    uint64_t bytes = word >> 2 * COUNT_BITS & ((1u << BYTES_BITS) - 1);
    return (struct mbarrier_state){
        .expected = (uint32_t)(word & MOST_COUNT),
        .pending = (uint32_t)(word >> COUNT_BITS & MOST_COUNT),
        .bytes = (int32_t)(bytes << (32 - BYTES_BITS)) >> (32 - BYTES_BITS),
        .phase = (uint32_t)(word >> (2 * COUNT_BITS + BYTES_BITS)),
    };
}

static uint64_t pack(struct mbarrier_state state)
{
    uint64_t bytes = (uint32_t)state.bytes & ((1u << BYTES_BITS) - 1);
    uint64_t phase = state.phase & ((1u << PHASE_BITS) - 1);
    return state.expected | (uint64_t)state.pending << COUNT_BITS | bytes << 2 * COUNT_BITS |
           phase << (2 * COUNT_BITS + BYTES_BITS);
}

static uint64_t complete_if_done(struct mbarrier_state state)
{
    if (!state.pending && !state.bytes) {
        state.pending = state.expected;
        state.phase++;
    }
    return pack(state);
}

// Adds bytes to come, or subtracts them. Returns false if a barrier cannot count that many.
static bool add_bytes(struct mbarrier_state *state, int64_t bytes)
{
    int64_t sum = state->bytes + bytes;
    state->bytes = (int32_t)sum;
    return sum >= -MOST_COUNT && sum <= MOST_COUNT;
}

static enum sim_step too_many(struct sim_warp *warp, const struct sim_uop *op, int lane)
{
    return sim_warp_fault(warp, op, SIM_FAULT_INSTRUCTION, lane,
                          "an mbarrier that waits for more than %d bytes", MOST_COUNT);
}

static uint64_t load_word(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

static void store_word(unsigned char *at, uint64_t word)
{
    memcpy(at, &word, sizeof(word));
}

bool sim_mbarrier_complete(struct sim_warp *warp, const struct sim_uop *op, int lane,
                           unsigned char *word, uint32_t bytes)
{
    struct mbarrier_state state = unpack(load_word(word));
    if (!add_bytes(&state, -(int64_t)bytes)) {
        too_many(warp, op, lane);
        return false;
    }
    store_word(word, complete_if_done(state));
    return true;
}

// --- mbarrier ------------------------------------------------------------------------------------

enum { DROPS = 1, EXPECTS = 2, INCREASES = 4 }; // op->mode of arrive

static enum sim_step init(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_access access;
    const lane_u32 *counts = source(warp, op->b);
    if (!sim_access_lanes(warp, op, 8, ACCESS_STORE, &access))
        return STEP_STOP;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        if (!counts[i] || counts[i] > MOST_COUNT)
            return sim_warp_fault(warp, op, SIM_FAULT_INSTRUCTION, i,
                                  "an mbarrier for %u arrivals: 1 to %d are possible", counts[i],
                                  MOST_COUNT);
        store_word(access.pointer[i],
                   pack((struct mbarrier_state){.expected = counts[i], .pending = counts[i]}));
    }
    return STEP_NEXT;
}

static enum sim_step invalidate(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_access access;
    if (!sim_access_lanes(warp, op, 8, ACCESS_STORE, &access))
        return STEP_STOP;
    for (uint32_t left = warp->mask; left; left &= left - 1)
        store_word(access.pointer[__builtin_ctz(left)], 0);
    return STEP_NEXT;
}

static enum sim_step arrive(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_access access;
    const lane_u32 *operand = op->b == NO_SLOT ? NULL : source(warp, op->b);
    if (!sim_access_lanes(warp, op, 8, ACCESS_ATOMIC, &access))
        return STEP_STOP;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        uint64_t before = load_word(access.pointer[i]);
        struct mbarrier_state state = unpack(before);
        uint32_t count = operand && !(op->mode & EXPECTS) ? operand[i] : 1;
        if (operand && op->mode & EXPECTS && !add_bytes(&state, operand[i]))
            return too_many(warp, op, i);
        if (op->mode & INCREASES)
            state.pending += count;
        if (count > state.pending || (op->mode & DROPS && count > state.expected))
            return sim_warp_fault(warp, op, SIM_FAULT_INSTRUCTION, i,
                                  "%u arrivals at an mbarrier that waits for %u", count,
                                  state.pending);
        state.pending -= count;
        state.expected -= op->mode & DROPS ? count : 0;
        store_word(access.pointer[i], complete_if_done(state));
        if (op->d != NO_SLOT)
            ((lane_u64 *)target(warp, op->d))[i] = before;
    }
    return STEP_NEXT;
}

// expect_tx, or complete_tx if op->mode is set.
static enum sim_step transact(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_access access;
    const lane_u32 *bytes = source(warp, op->b);
    if (!sim_access_lanes(warp, op, 8, ACCESS_ATOMIC, &access))
        return STEP_STOP;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        struct mbarrier_state state = unpack(load_word(access.pointer[i]));
        if (!add_bytes(&state, op->mode ? -(int64_t)bytes[i] : bytes[i]))
            return too_many(warp, op, i);
        store_word(access.pointer[i], op->mode ? complete_if_done(state) : pack(state));
    }
    return STEP_NEXT;
}

// test_wait and try_wait. Neither of them blocks here.
static enum sim_step test(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_access access;
    uint32_t done = 0;
    if (!sim_access_lanes(warp, op, 8, ACCESS_LOAD, &access))
        return STEP_STOP;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        uint32_t phase = unpack(load_word(access.pointer[i])).phase;
        bool over = op->mode ? ((const lane_u32 *)source(warp, op->b))[i] % 2 != phase % 2
                             : unpack(((const lane_u64 *)source(warp, op->b))[i]).phase != phase;
        done |= (uint32_t)over << i;
    }
    set_predicate(warp, op->d, done);
    if (done == warp->mask)
        return STEP_NEXT;
    warp->path->pc++;
    warp->block->gave_way = true;
    return STEP_STOP;
}

static enum sim_step pending_count(struct sim_warp *warp, const struct sim_uop *op)
{
    const lane_u64 *words = source(warp, op->a);
    lane_u32 *out = target(warp, op->d);
    OVER_LANES(lane_u32, out, (void)0, words[i] >> COUNT_BITS & MOST_COUNT);
    return STEP_NEXT;
}

static enum sim_step nothing(struct sim_warp *warp, const struct sim_uop *op)
{
    (void)warp;
    (void)op;
    return STEP_NEXT;
}

static bool choose_barrier(struct sim_decoder *decoder, const struct ptx_instr *instr,
                           struct sim_uop *op)
{
    const struct ptx_operand *operands = instr->operands;
    uint8_t count = instr->operand_count, at = 0;
    switch (ptx_op(instr)) {
    case PTX_OP_MBARRIER_INIT:
        op->b = sim_decode_typed(decoder, instr, &operands[1], PTX_U32);
        op->run = init;
        break;
    case PTX_OP_MBARRIER_INVAL: op->run = invalidate; break;
    case PTX_OP_MBARRIER_EXPECT_TX:
    case PTX_OP_MBARRIER_COMPLETE_TX:
        op->b = sim_decode_typed(decoder, instr, &operands[1], PTX_U32);
        op->mode = ptx_op(instr) == PTX_OP_MBARRIER_COMPLETE_TX;
        op->run = transact;
        break;
    case PTX_OP_MBARRIER_ARRIVE:
    case PTX_OP_MBARRIER_ARRIVE_DROP:
        // The destination may be omitted if the barrier is in a cluster.
        at = operands[0].kind != PTX_OPERAND_ADDRESS;
        if (at)
            op->d = sim_decode_target(decoder, instr, &operands[0]);
        op->mode = ptx_op(instr) == PTX_OP_MBARRIER_ARRIVE_DROP ? DROPS : 0;
        op->mode |= strstr(instr->form->text, ".expect_tx") ? EXPECTS : 0;
        if (count > at + 1)
            op->b = sim_decode_typed(decoder, instr, &operands[at + 1], PTX_U32);
        else if (op->mode & EXPECTS)
            return false;
        op->run = arrive;
        break;
    case PTX_OP_MBARRIER_TEST_WAIT:
    case PTX_OP_MBARRIER_TRY_WAIT:
        at = 1;
        op->d = sim_decode_target(decoder, instr, &operands[0]);
        op->mode = ptx_form_has(instr->form, PTX_MOD_PARITY);
        op->b = sim_decode_typed(decoder, instr, &operands[2], op->mode ? PTX_U32 : PTX_B64);
        op->run = test;
        break;
    case PTX_OP_CP_ASYNC_MBARRIER_ARRIVE:
        op->mode = ptx_form_has(instr->form, PTX_MOD_NOINC) ? 0 : INCREASES;
        op->run = arrive;
        break;
    default: return false;
    }
    op->space = instr->form->space;
    sim_decode_address(decoder, instr, &operands[at], op);
    return true;
}

// --- Bulk copies ---------------------------------------------------------------------------------

struct bulk {
    struct sim_uop to, from, barrier, reduction; // the first three only for places
    slot blocks; // of multicast: a bit for each rank in the cluster; NO_SLOT: no multicast
    bool has_barrier, reduces;
};

// Finds the bytes of the lane, in the block with the rank at the same place as in its own.
static bool place_word(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                       enum sim_access_kind kind, int lane, int rank, unsigned char **out)
{
    struct sim_access access;
    sim_access_addresses(warp, op, access.address);
    if (rank != AS_GIVEN)
        // cppcheck-suppress uninitvar // sim_access_addresses fills them all
        access.address[lane] = sim_cluster_place((uint32_t)rank, access.address[lane]);
    if (!sim_access_given(warp, op, bytes, kind, &access))
        return false;
    *out = access.pointer[lane];
    return true;
}

static bool place(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                  enum sim_access_kind kind, int lane, int rank, unsigned char **out)
{
    struct sim_access access;
    sim_access_addresses(warp, op, access.address);
    if (!place_word(warp, op, bytes, kind, lane, rank, out))
        return false;
    // cppcheck-suppress uninitvar
    if (access.address[lane] % 16) {
        sim_warp_fault(warp, op, SIM_FAULT_MISALIGNED, lane,
                       "address 0x%llx is not a multiple of 16",
                       (unsigned long long)access.address[lane]);
        return false;
    }
    return true;
}

static bool place_target(struct sim_warp *warp, const struct bulk *bulk, uint32_t bytes, int lane,
                         int rank, unsigned char **to)
{
    return !bytes || place(warp, &bulk->to, bytes, bulk->reduces ? ACCESS_ATOMIC : ACCESS_STORE,
                           lane, rank, to);
}

bool sim_async_complete(struct sim_warp *warp, const struct sim_uop *op,
                        const struct sim_uop *barrier, int lane, int rank, uint32_t bytes)
{
    unsigned char *word;
    return place_word(warp, barrier, 8, ACCESS_ATOMIC, lane, rank, &word) &&
           sim_mbarrier_complete(warp, op, lane, word, bytes);
}

// Writes the bytes and reports them to the barrier.
static bool deliver(struct sim_warp *warp, const struct sim_uop *op, int lane, int rank,
                    unsigned char *to, const unsigned char *from, uint32_t bytes)
{
    const struct bulk *bulk = op->extra;
    if (bytes && bulk->reduces)
        sim_atomic_reduce(&bulk->reduction, to, from, bytes, bulk->to.space == PTX_SPACE_GLOBAL);
    else if (bytes)
        memmove(to, from, bytes);
    return !bulk->has_barrier || sim_async_complete(warp, op, &bulk->barrier, lane, rank, bytes);
}

static bool copy_lane(struct sim_warp *warp, const struct sim_uop *op, int lane, uint32_t bytes)
{
    const struct bulk *bulk = op->extra;
    const bool multicast = bulk->blocks != NO_SLOT;
    unsigned char *to = NULL, *from = NULL;
    if (bytes % 16) {
        sim_warp_fault(warp, op, SIM_FAULT_MISALIGNED, lane,
                       "a bulk copy of %u bytes, not a multiple of 16", bytes);
        return false;
    }
    if (!multicast && !place_target(warp, bulk, bytes, lane, AS_GIVEN, &to))
        return false;
    if (bytes && !place(warp, &bulk->from, bytes, ACCESS_LOAD, lane, AS_GIVEN, &from))
        return false;
    if (!multicast)
        return deliver(warp, op, lane, AS_GIVEN, to, from, bytes);
    const uint32_t blocks = ((const lane_u32 *)source(warp, bulk->blocks))[lane] & UINT16_MAX;
    for (uint32_t left = blocks; left; left &= left - 1) {
        const int rank = __builtin_ctz(left);
        if (!place_target(warp, bulk, bytes, lane, rank, &to) ||
            !deliver(warp, op, lane, rank, to, from, bytes))
            return false;
    }
    return true;
}

static enum sim_step copy_bulk(struct sim_warp *warp, const struct sim_uop *op)
{
    const lane_u32 *sizes = source(warp, op->b);
    uint32_t all = warp->mask;
    bool good = true;
    for (uint32_t left = all; left && good; left &= left - 1) {
        int i = __builtin_ctz(left);
        sim_warp_set_mask(warp, 1u << i);
        good = copy_lane(warp, op, i, sizes[i]);
    }
    sim_warp_set_mask(warp, all);
    return good ? STEP_NEXT : STEP_STOP;
}

// Returns false for reductions that sim_atomic_reduce() does not support.
static bool choose_reduction(const struct ptx_form *form, struct sim_uop *op)
{
    enum ptx_type type = (enum ptx_type)form->types[0];
    bool is_float = ptx_type_info(type)->kind == PTX_CLASS_FLOAT;
    if (form->type_count != 1 || !form->operation || ptx_type_info(type)->packed > 1 ||
        (is_float && form->operation != PTX_MOD_ADD))
        return false;
    op->target = form->operation;
    op->mode = (uint8_t)type;
    op->bytes = (uint8_t)ptx_type_bytes(type);
    return op->bytes == 2 ? is_float : op->bytes == 4 || op->bytes == 8;
}

static bool choose_bulk(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    const struct ptx_operand *operands = instr->operands;
    struct bulk *bulk = base_new(decoder->arena, struct bulk);
    bulk->reduces = ptx_op(instr) == PTX_OP_CP_REDUCE_ASYNC_BULK;
    bulk->has_barrier = strstr(form->text, ".mbarrier::complete_tx::bytes") != NULL;
    bool known = (form->space == PTX_SPACE_SHARED || form->space == PTX_SPACE_GLOBAL) &&
                 (form->space2 == PTX_SPACE_SHARED || form->space2 == PTX_SPACE_GLOBAL);
    const bool multicast = ptx_form_has(form, PTX_MOD_MULTICAST_CLUSTER);
    if (!known || strstr(form->text, ".cp_mask") || strstr(form->text, ".ignore_oob") ||
        (bulk->has_barrier && instr->operand_count < 4 + multicast) ||
        (multicast && (!bulk->has_barrier || bulk->reduces || form->space2 == PTX_SPACE_SHARED)) ||
        bulk->has_barrier == (strstr(form->text, ".bulk_group") != NULL) ||
        (bulk->reduces && !choose_reduction(form, &bulk->reduction)))
        return false;
    bulk->to = bulk->from = bulk->barrier = *op;
    bulk->to.space = form->space;
    bulk->from.space = form->space2;
    bulk->barrier.space = PTX_SPACE_SHARED;
    sim_decode_address(decoder, instr, &operands[0], &bulk->to);
    sim_decode_address(decoder, instr, &operands[1], &bulk->from);
    if (bulk->has_barrier)
        sim_decode_address(decoder, instr, &operands[3], &bulk->barrier);
    if (form->space == PTX_SPACE_SHARED)
        bulk->from.flags &= (uint8_t)~ADDRESS_CLUSTER; // it describes the destination
    bulk->blocks = multicast ? sim_decode_typed(decoder, instr, &operands[4], PTX_U16) : NO_SLOT;
    op->b = sim_decode_typed(decoder, instr, &operands[2], PTX_U32);
    op->extra = bulk;
    op->run = copy_bulk;
    return true;
}

// Creates a cache policy. All policies are equal, because no caches are simulated.
static enum sim_step create_policy(struct sim_warp *warp, const struct sim_uop *op)
{
    lane_u64 *out = target(warp, op->d);
    OVER_LANES(lane_u64, out, (void)0, 0);
    return STEP_NEXT;
}

bool sim_choose_async(struct sim_decoder *decoder, const struct ptx_instr *instr,
                      struct sim_uop *op)
{
    switch (ptx_op(instr)) {
    case PTX_OP_CP_ASYNC_BULK:
    case PTX_OP_CP_REDUCE_ASYNC_BULK: return choose_bulk(decoder, instr, op);
    case PTX_OP_CP_ASYNC_BULK_COMMIT_GROUP:
    case PTX_OP_CP_ASYNC_BULK_WAIT_GROUP:
    case PTX_OP_CP_ASYNC_BULK_PREFETCH: op->run = nothing; return true;
    case PTX_OP_CREATEPOLICY:
        op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
        op->run = create_policy;
        return sim_decode_lane_bytes((enum ptx_type)instr->operands[0].reg->type) == WIDE;
    case PTX_OP_MBARRIER_PENDING_COUNT:
        op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
        op->a = sim_decode_typed(decoder, instr, &instr->operands[1], PTX_B64);
        op->run = pending_count;
        return true;
    default: return choose_barrier(decoder, instr, op);
    }
}
