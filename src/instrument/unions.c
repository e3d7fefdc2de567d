// SPDX-License-Identifier: Apache-2.0
// Joins accesses of one block at different offsets from one register: if the bytes that a thread
// touches have no gap, they are marked as one, at the first access.
#include "unions.h"

#include "mark.h"

enum { MOST_BYTES = 64 }; // that are marked together

static bool can_join(const struct instrument_work *work, const struct instrument_body *body,
                     const struct instrument_probe *probe)
{
    return probe->how != HOW_NOT && probe->shape == SHAPE_FIXED && !probe->joined &&
           !probe->check_space && !probe->waits && !probe->counts_itself &&
           !probe->site->instr->guard && !body->may_exit &&
           (!work->counts || (probe->how == HOW_ROOT && probe->lanes == LANES_STEP)) &&
           probe->site->bytes <= 16 && probe->site->address->kind == PTX_OPERAND_ADDRESS &&
           probe->site->address->elements[0].kind == PTX_OPERAND_REG;
}

// Adds the access to the union if it is adjacent to it.
static bool join(struct instrument_probe *run, const struct instrument_probe *other)
{
    int64_t from = other->site->address->offset - run->site->address->offset;
    int64_t to = from + (int64_t)other->site->bytes;
    if (from > (int64_t)run->behind || -to > (int64_t)run->before)
        return false;
    int64_t before = -from > (int64_t)run->before ? -from : (int64_t)run->before;
    int64_t behind = to > (int64_t)run->behind ? to : (int64_t)run->behind;
    if (before + behind > MOST_BYTES)
        return false;
    run->before = (uint32_t)before;
    run->behind = (uint32_t)behind;
    return true;
}

// Adds the accesses of the block that follow the first one, probe i. Returns false if none was
// added.
static bool grow(const struct instrument_work *work, struct instrument_body *body, uint32_t i,
                 uint32_t value)
{
    const struct ptx_ssa *ssa = body->facts->ssa;
    struct instrument_probe *run = &body->probes[i];
    bool grown = false;
    for (uint32_t k = i + 1;
         k < body->probe_count && body->probes[k].site->block == run->site->block; k++) {
        struct instrument_probe *other = &body->probes[k];
        if (!can_join(work, body, other) || other->how != run->how || other->root != run->root ||
            ptx_ssa_value(ssa, other->site->instr, &other->site->address->elements[0]) != value ||
            !join(run, other))
            continue;
        other->joined = true;
        other->next = run->next;
        run->next = k + 1;
        grown = true;
    }
    return grown;
}

// Counts: returns whether accesses of one size touch every byte between the lanes of a warp once.
// Otherwise they are separated again.
static void keep_tiles_only(const struct instrument_work *work, struct instrument_body *body,
                            struct instrument_probe *run)
{
    uint32_t bytes = 0;
    bool alike = true;
    for (const struct instrument_probe *each = run;; each = &body->probes[each->next - 1]) {
        bytes += each->site->bytes;
        alike &= each->site->bytes == run->site->bytes && each->step == run->step &&
                 each->lanes == run->lanes;
        if (!each->next)
            break;
    }
    if (alike && bytes == run->before + run->behind && instrument_is_run(work, body, run))
        return;
    struct instrument_probe *each = run;
    for (uint32_t next = run->next; next; next = each->next) {
        each->next = 0;
        each = &body->probes[next - 1];
        each->joined = false;
    }
    run->before = 0;
    run->behind = run->site->bytes;
}

void instrument_plan_unions(const struct instrument_work *work, struct instrument_body *body)
{
    for (uint32_t i = 0; i < body->probe_count; i++) {
        const struct instrument_probe *run = &body->probes[i];
        if (!can_join(work, body, run))
            continue;
        uint32_t value =
            ptx_ssa_value(body->facts->ssa, run->site->instr, &run->site->address->elements[0]);
        while (value != PTX_NO_VALUE && grow(work, body, i, value))
            ;
        if (work->counts && run->next)
            keep_tiles_only(work, body, &body->probes[i]);
    }
}
