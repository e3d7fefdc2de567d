// SPDX-License-Identifier: Apache-2.0
// Forms groups: accesses of one block that are marked at the last of them. Checking whether the
// whole warp is active, and branching to the slow path, is then done once for all. The registers of
// a member's address must still be unchanged there.
#include "groups.h"

#include "mark.h"

// Names of an inner scope are not known behind it.
static bool can_wait(const struct instrument_body *body, const struct instrument_probe *probe)
{
    return instrument_in_group(probe) && !probe->joined && !probe->site->instr->guard &&
           !probe->check_space && !probe->counts_itself && !body->may_exit &&
           !probe->site->instr->stmt.scope->depth;
}

const struct ptx_reg *instrument_address_reg(const struct instrument_probe *probe)
{
    const struct ptx_operand *address = probe->site->address;
    const struct ptx_operand *base =
        address->kind == PTX_OPERAND_ADDRESS ? &address->elements[0] : address;
    return base->kind == PTX_OPERAND_REG ? base->reg : NULL;
}

bool instrument_sets(const struct instrument_body *body, const struct ptx_instr *instr,
                     const struct ptx_reg *reg)
{
    const struct ptx_ssa *ssa = body->facts->ssa;
    for (uint32_t i = ssa->ref_start[instr->index]; reg && i < ssa->ref_start[instr->index + 1];
         i++) {
        const struct ptx_ref *ref = &ssa->refs[i];
        if (ref->is_def && (ref->value == PTX_NO_VALUE || ssa->values[ref->value].reg == reg))
            return true;
    }
    return false;
}

bool instrument_sets_address(const struct instrument_body *body, const struct ptx_instr *instr,
                             const struct instrument_probe *last)
{
    for (const struct instrument_probe *each = last; each; each = instrument_previous(body, each)) {
        if (instrument_sets(body, instr, instrument_address_reg(each)) ||
            instrument_sets(body, instr, each->site->instr->guard))
            return true;
    }
    return false;
}

static bool goes_with_all(const struct instrument_work *work, const struct instrument_body *body,
                          const struct instrument_probe *last, const struct instrument_probe *probe)
{
    for (const struct instrument_probe *each = last; each; each = instrument_previous(body, each)) {
        if (!instrument_go_together(work, body, each, probe))
            return false;
    }
    return true;
}

bool instrument_is_border(const struct ptx_instr *instr)
{
    return ptx_flags(instr) & (PTX_FLAG_CALL | PTX_FLAG_BRANCH | PTX_FLAG_END | PTX_FLAG_SYNC);
}

// A group that may still grow, given by its last member.
struct open {
    uint32_t last, count;
};
enum { OPEN_MOST = 4 };

// Adds the probe to the first open group that accepts it, or opens a group.
static void put(const struct instrument_work *work, struct instrument_body *body, uint32_t number,
                struct open *open)
{
    struct instrument_probe *probe = &body->probes[number];
    for (uint32_t i = 0; i < OPEN_MOST; i++) {
        if (open[i].count && open[i].count < INSTRUMENT_GROUP_MOST &&
            goes_with_all(work, body, &body->probes[open[i].last], probe)) {
            probe->with = open[i].last + 1;
            body->probes[open[i].last].held = true;
            open[i] = (struct open){number, open[i].count + 1};
            return;
        }
    }
    for (uint32_t i = OPEN_MOST - 1; i > 0; i--)
        open[i] = open[i - 1];
    open[0] = (struct open){number, 1};
}

void instrument_plan_groups(const struct instrument_work *work, struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    uint32_t next = 0;
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        const struct ptx_block *block = &cfg->blocks[b];
        struct open open[OPEN_MOST] = {{0}};
        for (uint32_t k = 0; k < block->instr_count; k++) {
            const struct ptx_instr *instr = block->instrs[k];
            bool border = instrument_is_border(instr);
            while (next < body->probe_count && body->probes[next].site->instr->index < instr->index)
                next++;
            for (; next < body->probe_count && body->probes[next].site->instr == instr; next++) {
                if (can_wait(body, &body->probes[next]))
                    put(work, body, next, open);
            }
            for (uint32_t i = 0; i < OPEN_MOST; i++) {
                if (open[i].count &&
                    (border || instrument_sets_address(body, instr, &body->probes[open[i].last])))
                    open[i].count = 0;
            }
        }
    }
}
