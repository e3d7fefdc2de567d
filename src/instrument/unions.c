// SPDX-License-Identifier: Apache-2.0
// Accesses of one block at different offsets from one register, which a warp does as runs of bytes:
// where the runs overlap or touch, they are marked as one, with the first of them.
#include "work.h"

static bool can_join(const struct instrument_work *work, const struct instrument_body *body,
                     const struct instrument_probe *probe)
{
    return probe->how == HOW_ROOT && probe->shape == SHAPE_FIXED && probe->guess == GUESS_RUN &&
           !probe->waits && !probe->counts_itself && !body->may_exit && !work->counts &&
           probe->site->address->kind == PTX_OPERAND_ADDRESS &&
           probe->site->address->elements[0].kind == PTX_OPERAND_REG;
}

// Takes the access into the run, where it touches it.
static bool join(struct instrument_probe *run, const struct instrument_probe *other)
{
    int64_t reach = 31 * (int64_t)run->site->bytes;
    int64_t from = other->site->address->offset - run->site->address->offset;
    int64_t to = from + (int64_t)other->site->bytes;
    if (from > (int64_t)run->behind + reach || -to > (int64_t)run->before + reach)
        return false;
    if (-from > (int64_t)run->before)
        run->before = (uint32_t)-from;
    if (to > (int64_t)run->behind)
        run->behind = (uint32_t)to;
    return true;
}

// True where some byte between the first and the last that one lane touches is not touched.
static bool has_gaps(const struct instrument_body *body, const struct instrument_probe *run)
{
    int64_t at = -(int64_t)run->before;
    while (at < (int64_t)run->behind) {
        int64_t reached = at;
        for (const struct instrument_probe *each = run; each;
             each = each->next ? &body->probes[each->next - 1] : NULL) {
            int64_t from = each->site->address->offset - run->site->address->offset;
            if (from <= reached && from + (int64_t)each->site->bytes > reached)
                reached = from + (int64_t)each->site->bytes;
        }
        if (reached == at)
            return true;
        at = reached;
    }
    return false;
}

void instrument_plan_unions(struct instrument_work *work, struct instrument_body *body)
{
    const struct ptx_ssa *ssa = body->facts->ssa;
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *run = &body->probes[i], *last = run;
        if (run->joined || !can_join(work, body, run))
            continue;
        uint32_t value = ptx_ssa_value(ssa, run->site->instr, &run->site->address->elements[0]);
        for (uint32_t k = i + 1;
             k < body->probe_count && body->probes[k].site->block == run->site->block; k++) {
            struct instrument_probe *other = &body->probes[k];
            if (other->joined || !can_join(work, body, other) || other->root != run->root ||
                other->site->bytes != run->site->bytes ||
                ptx_ssa_value(ssa, other->site->instr, &other->site->address->elements[0]) !=
                    value ||
                !join(run, other))
                continue;
            other->joined = true;
            last->next = k + 1;
            last = other;
        }
        run->gaps = has_gaps(body, run);
    }
}
