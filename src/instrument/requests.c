// SPDX-License-Identifier: Apache-2.0
// Requests of warps: see requests.h. Where the launch knows what whole warps take (regular.c), each
// block counts the whole warps that execute it. All other requests are counted one by one: the
// lanes find out how many of their addresses are in different sectors and lines, or how many words
// one bank of shared memory has to deliver, and the first of them adds that to the site's tallies,
// which are in memory. Those of sites at which whole warps are only counted come where their block
// ends, so that one test is enough for all of them.
#include "requests.h"

#include "fill.h"
#include "groups.h"
#include "plan.h"
#include "probe.h"
#include "regular.h"
#include "tally.h"

// Bulk copies and instructions on matrices reach memory in other ways, and so does a copy to shared
// memory.
static bool is_request(const struct ptx_site *site)
{
    switch (ptx_op(site->instr)) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
    case PTX_OP_ST:
    case PTX_OP_ATOM:
    case PTX_OP_RED: return true;
    case PTX_OP_CP_ASYNC: return site->actual_space == PTX_SPACE_GLOBAL;
    default: return false;
    }
}

static bool is_global(const struct instrument_probe *probe)
{
    return probe->how != HOW_NOT && !probe->check_space && probe->shape == SHAPE_FIXED;
}

// Memory of another block of the cluster is reached in another way.
static bool is_shared(const struct ptx_site *site)
{
    enum { MOST_BYTES = 16 };
    return site->reachable && site->actual_space == PTX_SPACE_SHARED &&
           !ptx_form_has(site->instr->form, PTX_MOD_SHARED_CLUSTER) && site->bytes &&
           site->bytes <= MOST_BYTES && !(site->bytes & (site->bytes - 1)) &&
           instrument_has_address(site->address);
}

static bool is_counted(const struct instrument_probe *probe)
{
    return is_request(probe->site) && (is_global(probe) || is_shared(probe->site));
}

// Returns whether the address and the guard of the site are the same where its block ends.
static bool lasts(const struct instrument_body *body, const struct instrument_probe *probe)
{
    const struct ptx_block *block = &body->facts->cfg->blocks[probe->site->block];
    for (uint32_t i = block->instr_count;
         i-- && block->instrs[i]->index >= probe->site->instr->index;) {
        if (instrument_sets_address(body, block->instrs[i], probe))
            return false;
    }
    return true;
}

void instrument_place_wholes(struct instrument_work *work, struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    body->whole_at = base_new_array(&work->scratch, uint32_t, cfg->block_count);
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        const uint32_t block = probe->site->block;
        if (!is_counted(probe) || body->may_exit || !lasts(body, probe))
            continue;
        probe->form = instrument_form_of(work, body, probe);
        if (!probe->form)
            continue;
        if (!body->whole_at[block]) {
            body->whole_at[block] = ++body->kernel->tally_count;
            body->once[body->whole_at[block] - 1] = cfg->blocks[block].loop == PTX_NO_LOOP;
        }
        probe->whole = body->whole_at[block] - 1;
    }
}

void instrument_plan_requests(struct instrument_body *body)
{
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        if (!is_counted(probe))
            continue;
        probe->requests = body->kernel->tally_count;
        body->kernel->tally_count +=
            is_global(probe) ? INSTRUMENT_REQUEST_TALLIES : INSTRUMENT_SHARED_TALLIES;
    }
}

static void emit_call(struct instrument_work *work, const struct instrument_body *body,
                      const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const uint32_t past = work->labels++;
    work->helpers |= HELPER_REQUEST;
    PUT(out, request_registers);
    instrument_emit_unless(out, probe->site->instr, past);
    instrument_emit_address(out, probe->site->address, "%glint$a", INSTRUMENT_NONE, 0);
    FILL(out, request_call,
         STRING(request, is_global(probe) ? "glint$request" : "glint$wavefronts"),
         NUMBER(offset, probe->requests * 8), NUMBER(row_bytes, body->kernel->tally_row_bytes),
         NUMBER(bytes, probe->site->bytes), NUMBER(loads, probe->site->access == PTX_ACCESS_LOAD));
    base_buf_printf(out, "$glint$%u:\n}\n", past);
}

void instrument_emit_request(struct instrument_work *work, const struct instrument_body *body,
                             const struct instrument_probe *probe)
{
    if (probe->requests != INSTRUMENT_NONE && probe->whole == INSTRUMENT_NONE)
        emit_call(work, body, probe);
}

void instrument_emit_block_requests(struct instrument_work *work,
                                    const struct instrument_body *body, uint32_t block)
{
    struct base_buf *out = &work->out;
    if (!body->whole_at || !body->whole_at[block])
        return;
    const uint32_t tally = body->whole_at[block] - 1, past = work->labels++;
    PUT(out, whole_warp);
    for (uint32_t i = 0; i < body->probe_count; i++) {
        const struct ptx_instr *instr = body->probes[i].site->instr;
        if (body->probes[i].whole == tally && instr->guard)
            FILL(out, whole_guard, STRING(predicate, instr->guard->name),
                 NUMBER(negated, instr->guard_negated));
    }
    base_buf_puts(out, "@%glint$whole ");
    instrument_emit_tally(work, body, tally);
    base_buf_printf(out, "@%%glint$whole bra.uni $glint$%u;\n", past);
    for (uint32_t i = 0; i < body->probe_count; i++) {
        if (body->probes[i].whole == tally)
            emit_call(work, body, &body->probes[i]);
    }
    base_buf_printf(out, "$glint$%u:\n}\n", past);
}

void instrument_emit_request_functions(const struct instrument_work *work, struct base_buf *out)
{
    const bool match = instrument_has_match(work);
    if (!match)
        PUT(out, match_function);
    FILL(out, request_function, NUMBER(match, match));
    FILL(out, wavefronts_function, NUMBER(match, match));
}
