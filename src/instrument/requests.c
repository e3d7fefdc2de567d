// SPDX-License-Identifier: Apache-2.0
// Requests of warps: see requests.h. At the instruction, the lanes that execute it find out how
// many of their addresses are in different sectors and lines, or how many words one bank of shared
// memory has to deliver. The first of them adds that to the site's tallies, which are in memory.
#include "requests.h"

#include "fill.h"
#include "plan.h"
#include "probe.h"

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

void instrument_plan_requests(struct instrument_body *body)
{
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        if (!is_request(probe->site) || (!is_global(probe) && !is_shared(probe->site)))
            continue;
        probe->requests = body->kernel->tally_count;
        body->kernel->tally_count +=
            is_global(probe) ? INSTRUMENT_REQUEST_TALLIES : INSTRUMENT_SHARED_TALLIES;
    }
}

void instrument_emit_request(struct instrument_work *work, const struct instrument_body *body,
                             const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const struct ptx_instr *instr = probe->site->instr;
    if (probe->requests == INSTRUMENT_NONE)
        return;
    const uint32_t past = work->labels++;
    work->helpers |= HELPER_REQUEST;
    PUT(out, request_registers);
    instrument_emit_unless(out, instr, past);
    instrument_emit_address(out, probe->site->address, "%glint$a", INSTRUMENT_NONE, 0);
    FILL(out, request_call,
         STRING(request, is_global(probe) ? "glint$request" : "glint$wavefronts"),
         NUMBER(offset, probe->requests * 8), NUMBER(row_bytes, body->kernel->tally_row_bytes),
         NUMBER(bytes, probe->site->bytes));
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
