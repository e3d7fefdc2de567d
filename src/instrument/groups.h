// SPDX-License-Identifier: Apache-2.0
// Element level: accesses of a block that are marked at one place. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_GROUPS_H
#define GLINT_INSTRUMENT_GROUPS_H

#include "work.h"

enum { INSTRUMENT_GROUP_MOST = 4 };

// Decides which accesses of a block are marked where the last of them is; sets `with` and `held` of
// probes.
void instrument_plan_groups(const struct instrument_work *work, struct instrument_body *body);

// Returns the register that the address of a site is in, or NULL.
const struct ptx_reg *instrument_address_reg(const struct instrument_probe *probe);

// Returns whether the instruction may set the register; false for NULL.
bool instrument_sets(const struct instrument_body *body, const struct ptx_instr *instr,
                     const struct ptx_reg *reg);

// Returns whether the instruction sets a register that an address or guard of the group uses. The
// group is given by its last probe.
bool instrument_sets_address(const struct instrument_body *body, const struct ptx_instr *instr,
                             const struct instrument_probe *last);

// Returns whether lanes may diverge, or wait for each other, at the instruction: no probe is
// delayed past it.
bool instrument_is_border(const struct ptx_instr *instr);

// Returns whether the probe can be a member of a group.
static inline bool instrument_in_group(const struct instrument_probe *probe)
{
    return probe->how == HOW_ROOT && probe->shape == SHAPE_FIXED && probe->site->bytes <= 16 &&
           !probe->waits;
}

#endif
