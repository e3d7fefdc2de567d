// SPDX-License-Identifier: Apache-2.0
// Requests on local memory. Its words of 4 bytes are interleaved: those that the lanes of a warp
// have at one offset lie side by side and are a line. What a request takes therefore follows from
// the offsets alone, wherever the warp's memory is:
//
//     place in the warp's memory = (offset / 4 * 32 + lane) * 4 + offset % 4
//
// Lanes that have one offset take four sectors for each word, the fewest that are possible.
#include "local.h"

#include "fill.h"
#include "lanes.h"
#include "plan.h"

enum { WORD_BYTES = 4, SECTORS_OF_LINE = PTX_LINE_BYTES / PTX_SECTOR_BYTES };

bool instrument_is_local(const struct ptx_site *site)
{
    enum { MOST_BYTES = 32 };
    return site->reachable && site->actual_space == PTX_SPACE_LOCAL && site->bytes &&
           site->bytes <= MOST_BYTES && !(site->bytes & (site->bytes - 1)) &&
           instrument_has_address(site->address);
}

// The offset of memory that a thread allocates on its stack depends on what it allocated before,
// which dependencies do not tell: only variables count.
struct instrument_form *instrument_local_form(struct instrument_work *work,
                                              const struct instrument_body *body,
                                              const struct ptx_site *site)
{
    const struct ptx_root *root = ptx_origin_only(&site->origin);
    if (!root || root->kind != PTX_ROOT_VAR || root->var->space != PTX_SPACE_LOCAL ||
        site->deps & (PTX_DEP_ANY_LANE | PTX_DEP_MEMORY | PTX_DEP_BLOCK) ||
        instrument_lanes_may_meet(body->facts, site))
        return NULL;
    return base_new(work->arena, struct instrument_form);
}

struct instrument_cost instrument_local_cost(uint32_t bytes)
{
    const uint32_t words = bytes < WORD_BYTES ? 1 : bytes / WORD_BYTES;
    return (struct instrument_cost){
        .taken = words * SECTORS_OF_LINE, .needed = words * SECTORS_OF_LINE, .lines = words};
}

void instrument_emit_local_offset(struct base_buf *out, const struct ptx_site *site)
{
    if (site->space == PTX_SPACE_GENERIC)
        base_buf_puts(out, "cvta.to.local.u64 %glint$a, %glint$a;\n");
}

void instrument_emit_local_function(const struct instrument_work *work, struct base_buf *out)
{
    FILL(out, local_function, NUMBER(match, instrument_has_match(work)));
}
