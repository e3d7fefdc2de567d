// SPDX-License-Identifier: Apache-2.0
// Finds what the lanes of a warp certainly do together at an access: all use one address, or the
// address grows by a fixed step from lane to lane. One lane can then mark for all of them.
//
// The step is that of tid.x. It is the step from lane to lane if the warp is a piece of a row,
// which the launch states (INSTRUMENT_ROWS), and if 32-bit parts of the address do not wrap around:
// a run that wrapped would not lie in an object of less than 4 GiB, which the launch states too.
#include "lanes.h"

// Returns whether lanes in different rounds of a loop may be active together. They are in the same
// round unless a shuffle, a vote or a call that only some lanes reach brings others together.
static bool meet_in_other_rounds(const struct ptx_facts *facts)
{
    const struct ptx_cfg *cfg = facts->cfg;
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        const struct ptx_block *block = &cfg->blocks[i];
        if (block->loop == PTX_NO_LOOP ||
            !(ptx_block_deps(facts->uniformity, i) & PTX_DEP_ANY_LANE))
            continue;
        for (uint32_t k = 0; k < block->instr_count; k++) {
            enum ptx_op op = ptx_op(block->instrs[k]);
            if (op == PTX_OP_SHFL || op == PTX_OP_VOTE || op == PTX_OP_MATCH ||
                op == PTX_OP_REDUX || op == PTX_OP_BAR_WARP_SYNC ||
                ptx_flags(block->instrs[k]) & PTX_FLAG_CALL)
                return true;
        }
    }
    return false;
}

// Finds the step from lane to lane in a row. Returns false if there is none.
static bool find_step(const struct ptx_facts *facts, const struct ptx_site *site, int64_t *step)
{
    static const struct ptx_block_size unknown;
    struct ptx_stride stride;
    return ptx_site_stride(facts, site, &unknown, &stride) &&
           !__builtin_add_overflow(stride.x, stride.lane, step);
}

bool instrument_lane_step(const struct instrument_body *body, const struct ptx_site *site,
                          int64_t *step)
{
    return !instrument_lanes_may_meet(body->facts, site) && find_step(body->facts, site, step);
}

bool instrument_lanes_may_meet(const struct ptx_facts *facts, const struct ptx_site *site)
{
    return facts->cfg->irreducible || (site->loop != PTX_NO_LOOP && meet_in_other_rounds(facts));
}

void instrument_plan_lanes(struct instrument_body *body)
{
    const struct ptx_facts *facts = body->facts;
    bool apart = facts->cfg->irreducible || meet_in_other_rounds(facts);
    uint16_t all = 0;
    for (uint32_t i = 0; i < body->probe_count; i++)
        all |= body->probes[i].how == HOW_ROOT ? body->probes[i].site->deps : 0;
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        const struct ptx_site *site = probe->site;
        int64_t step;
        probe->behind = site->bytes;
        // If other accesses depend on more indices than this one, many threads touch the same
        // elements here.
        probe->check = (site->loop != PTX_NO_LOOP && !(site->deps & PTX_DEP_CTAID_X)) ||
                       all & ~site->deps & (PTX_DEP_CTAID | PTX_DEP_TID_Y | PTX_DEP_TID_Z);
        if (probe->how != HOW_ROOT || probe->shape != SHAPE_FIXED || site->bytes > 16 ||
            (apart && site->loop != PTX_NO_LOOP))
            continue;
        if (!(site->deps & (PTX_DEP_ANY_LANE | PTX_DEP_MEMORY | PTX_DEP_BLOCK))) {
            probe->lanes = LANES_ONE;
        } else if (find_step(facts, site, &step) && step >= 0 && step <= INSTRUMENT_MOST_STEP) {
            probe->lanes = LANES_STEP;
            probe->step = (uint32_t)step;
        }
    }
}
