// SPDX-License-Identifier: Apache-2.0
// Implements clusters of blocks: addresses of each other's shared memory, special instructions that
// make them, and barrier.cluster.
#include "cluster.h"

#include "families.h"
#include "ops.h"
#include "warp.h"

// --- Addresses -----------------------------------------------------------------------------------

static bool holds(const struct sim_block *block, uint64_t address)
{
    return address - (uint64_t)(uintptr_t)block->shared < block->shared_bytes;
}

struct sim_block *sim_cluster_holder(const struct sim_block *block, uint64_t address)
{
    const struct sim_cluster *cluster = block->cluster;
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (holds(cluster->blocks[i], address))
            return cluster->blocks[i];
    }
    return NULL;
}

struct sim_block *sim_cluster_owner(const struct sim_block *block, uint64_t address)
{
    const struct sim_cluster *cluster = block->cluster;
    const uint64_t rank = address >> CLUSTER_WINDOW_BITS;
    return rank < cluster->count ? cluster->blocks[rank] : NULL;
}

uint64_t sim_cluster_generic(const struct sim_block *block, uint64_t address)
{
    const struct sim_block *owner = sim_cluster_owner(block, address);
    if (!owner)
        owner = block;
    return address - owner->window + (uint64_t)(uintptr_t)owner->shared;
}

uint64_t sim_cluster_windowed(const struct sim_block *block, uint64_t address)
{
    const struct sim_block *holder = sim_cluster_holder(block, address);
    if (!holder)
        holder = block;
    return address - (uint64_t)(uintptr_t)holder->shared + holder->window;
}

static uint64_t lane_address(const struct sim_warp *warp, const struct sim_uop *op, int lane)
{
    return op->flags == WIDE ? ((const lane_u64 *)source(warp, op->a))[lane]
                             : ((const lane_u32 *)source(warp, op->a))[lane];
}

// mapa. The rank of a block that the cluster does not have gives an address that is invalid.
static enum sim_step map_address(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct sim_block *block = warp->block;
    const lane_u32 *ranks = source(warp, op->b);
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        uint64_t address = lane_address(warp, op, i);
        if (!op->space)
            address = sim_cluster_windowed(block, address);
        address = sim_cluster_place(ranks[i], address);
        if (!op->space && ranks[i] < block->cluster->count)
            address = sim_cluster_generic(block, address);
        if (op->bytes == WIDE)
            ((lane_u64 *)target(warp, op->d))[i] = address;
        else
            ((lane_u32 *)target(warp, op->d))[i] = (uint32_t)address;
    }
    return STEP_NEXT;
}

// getctarank
static enum sim_step rank_of_address(struct sim_warp *warp, const struct sim_uop *op)
{
    lane_u32 *out = target(warp, op->d);
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        uint64_t address = lane_address(warp, op, i);
        if (!op->space)
            address = sim_cluster_windowed(warp->block, address);
        out[i] = (uint32_t)(address >> CLUSTER_WINDOW_BITS);
    }
    return STEP_NEXT;
}

// A variable by name is an offset in every block's memory, which getctarank has to place. mapa
// replaces the place anyway.
static enum sim_step own_rank(struct sim_warp *warp, const struct sim_uop *op)
{
    lane_u32 *out = target(warp, op->d);
    OVER_LANES(lane_u32, out, (void)0, warp->block->rank);
    return STEP_NEXT;
}

static bool choose_address(struct sim_decoder *decoder, const struct ptx_instr *instr,
                           struct sim_uop *op)
{
    const enum ptx_type type = (enum ptx_type)instr->form->types[0];
    const bool maps = ptx_op(instr) == PTX_OP_MAPA;
    const struct ptx_operand *from = &instr->operands[1];
    op->space = instr->form->space;
    op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
    op->bytes = (uint8_t)sim_decode_lane_bytes((enum ptx_type)instr->operands[0].reg->type);
    op->flags = (uint8_t)(ptx_type_info(type)->bits == 64 ? WIDE : NARROW);
    if (from->kind == PTX_OPERAND_VAR && !op->space)
        sim_decode_refuse(decoder, instr, "the generic address of a variable by name");
    op->a = sim_decode_typed(decoder, instr, from, type);
    if (maps)
        op->b = sim_decode_typed(decoder, instr, &instr->operands[2], PTX_U32);
    op->run = maps ? map_address : from->kind == PTX_OPERAND_VAR ? own_rank : rank_of_address;
    return true;
}

// --- The barrier ---------------------------------------------------------------------------------

// The warps' turns are short again. In the block that runs, they end now.
static void release_block(struct sim_block *block, bool runs)
{
    for (uint32_t w = 0; w < block->warp_count; w++) {
        struct sim_warp *warp = &block->warps[w];
        for (uint32_t p = 0; p < warp->path_count; p++) {
            struct sim_path *path = warp_path(warp, p);
            if (path->state == PATH_CLUSTER)
                path->state = PATH_READY; // it executes its wait again
        }
    }
    block->progressed = true;
    block->stuck = false;
    if (block->warp_count > 1)
        block->warp_turn = runs ? 0 : FIRST_WARP_TURN;
}

static void release(const struct sim_block *running)
{
    struct sim_cluster *cluster = running->cluster;
    if (!cluster->arrived || cluster->arrived < cluster->live_threads)
        return;
    cluster->arrived = 0;
    cluster->phase++;
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (!cluster->blocks[i]->ended)
            release_block(cluster->blocks[i], cluster->blocks[i] == running);
    }
}

// Returns the lanes of `lanes` that have arrived in the present phase.
static uint32_t here_now(const struct sim_warp *warp, uint32_t lanes)
{
    const uint32_t now = warp->block->cluster->phase % 2 ? ALL_LANES : 0;
    return lanes & warp->cluster_came & ~(warp->cluster_phase ^ now);
}

void sim_cluster_left(struct sim_warp *warp, uint32_t lanes)
{
    struct sim_cluster *cluster = warp->block->cluster;
    cluster->live_threads -= (uint32_t)__builtin_popcount(lanes);
    cluster->arrived -= (uint32_t)__builtin_popcount(here_now(warp, lanes));
    warp->cluster_came &= ~lanes;
    release(warp->block);
}

static enum sim_step cluster_arrive(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_cluster *cluster = warp->block->cluster;
    const uint32_t twice = warp->mask & warp->cluster_came;
    if (twice)
        return sim_warp_fault(warp, op, SIM_FAULT_INSTRUCTION, __builtin_ctz(twice),
                              "a second arrival at the barrier of the cluster without a wait");
    warp->cluster_came |= warp->mask;
    if (cluster->phase % 2)
        warp->cluster_phase |= warp->mask;
    else
        warp->cluster_phase &= ~warp->mask;
    cluster->arrived += (uint32_t)__builtin_popcount(warp->mask);
    release(warp->block);
    return STEP_NEXT;
}

// A path that waits executes the instruction again when the barrier is released.
static enum sim_step cluster_wait(struct sim_warp *warp, const struct sim_uop *op)
{
    const uint32_t absent = warp->mask & ~warp->cluster_came;
    if (absent)
        return sim_warp_fault(warp, op, SIM_FAULT_INSTRUCTION, __builtin_ctz(absent),
                              "a wait at the barrier of the cluster without an arrival");
    const uint32_t waiting = here_now(warp, warp->mask);
    warp->cluster_came &= ~(warp->mask & ~waiting);
    if (!waiting)
        return STEP_NEXT;
    sim_warp_set_mask(warp, waiting);
    if (sim_warp_part(warp, op))
        warp->path->state = PATH_CLUSTER;
    return STEP_STOP;
}

bool sim_choose_cluster(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op)
{
    switch (ptx_op(instr)) {
    case PTX_OP_BARRIER_CLUSTER_ARRIVE: op->run = cluster_arrive; return true;
    case PTX_OP_BARRIER_CLUSTER_WAIT: op->run = cluster_wait; return true;
    case PTX_OP_MAPA:
    case PTX_OP_GETCTARANK: return choose_address(decoder, instr, op);
    default: return false;
    }
}
