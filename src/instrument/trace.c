// SPDX-License-Identifier: Apache-2.0
// Which lines of global memory warps reach: see trace.h.
//
// Of all lines, those are looked at whose hash is at most the launch's limit, which a lane finds
// out by one multiplication. The first of the lanes of a request that are in such a line writes a
// record with the line's sectors (probes/trace.ptx). Accesses of a basic block are tested together
// (trace_runs.h). Records are kept by *level*: half of all lines
// are of level 0, a quarter of level 1, and so on. So a launch that makes more records than there
// is room for still has all those of fewer lines, and needs no second try.
//
// A record says how many basic blocks its thread had executed, and of which site it is, which order
// the records of a warp. Where each block ran, since when, and how much it executed is written down
// once for a block. How warps take turns is up to the model of caches: probes would disturb it.
#include "trace.h"

#include "fill.h"
#include "plan.h"
#include "probe.h"
#include "trace_runs.h"

// --- Which kernels -------------------------------------------------------------------------------

static bool is_traceable(const struct instrument_probe *probe)
{
    const struct ptx_site *site = probe->site;
    switch (ptx_op(site->instr)) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
    case PTX_OP_ST:
    case PTX_OP_ATOM:
    case PTX_OP_RED: break;
    case PTX_OP_CP_ASYNC:
        if (site->actual_space != PTX_SPACE_GLOBAL)
            return false;
        break;
    default: return false;
    }
    return probe->shape == SHAPE_FIXED && site->bytes && site->bytes <= PTX_SECTOR_BYTES &&
           instrument_has_address(site->address);
}

static void find_callees(struct instrument_work *work, const struct instrument_body *body)
{
    const char **untraced = &body->kernel->untraced;
    for (uint32_t i = 0; i < body->callee_count && !*untraced; i++) {
        const struct instrument_body *callee = &work->bodies[body->callees[i]];
        if (callee->touches)
            instrument_add_reason(work, untraced, "accesses in %s, which it calls",
                                  callee->function->name);
    }
    if (!*untraced && body->calls_outside)
        instrument_add_reason(work, untraced, "accesses in %s, which it calls",
                              body->calls_outside);
    if (!*untraced && body->textures)
        instrument_add_reason(work, untraced, "reads through textures");
}

void instrument_plan_trace(struct instrument_work *work, struct instrument_body *body)
{
    struct instrument_kernel *kernel = body->kernel;
    uint32_t number = 0;
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        if (probe->how == HOW_NOT)
            continue;
        probe->traced = ++number;
        if (!kernel->untraced && !is_traceable(probe))
            instrument_add_reason(work, &kernel->untraced, "%s at line %u of the PTX",
                                  probe->site->instr->form->text, probe->site->instr->stmt.line);
    }
    find_callees(work, body);
    if (!kernel->untraced && number > INSTRUMENT_TRACED_SITES)
        instrument_add_reason(work, &kernel->untraced, "more than %d instructions",
                              INSTRUMENT_TRACED_SITES);
    if (number && !kernel->untraced && !instrument_has_match(work))
        instrument_add_reason(work, &kernel->untraced, "code for GPUs before sm_70");
    kernel->traces = number && !kernel->untraced;
    if (kernel->traces)
        instrument_plan_trace_runs(body);
}

// --- Code ----------------------------------------------------------------------------------------

bool instrument_traces(const struct instrument_work *work, const struct instrument_body *body)
{
    return body->kernel && body->kernel->traces && !work->light;
}

void instrument_emit_trace_registers(struct instrument_work *work,
                                     const struct instrument_body *body)
{
    if (instrument_traces(work, body))
        base_buf_puts(&work->out, ".reg .b32 %glint$steps;\n");
}

void instrument_emit_trace_entry(struct instrument_work *work, const struct instrument_body *body)
{
    if (!instrument_traces(work, body))
        return;
    FILL(&work->out, trace_entry, NUMBER(past, work->labels));
    work->labels++;
}

void instrument_emit_trace_step(struct instrument_work *work, const struct instrument_body *body)
{
    if (instrument_traces(work, body))
        PUT(&work->out, trace_step);
}

static void emit_own(struct instrument_work *work, const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const struct ptx_site *site = probe->site;
    const uint32_t past = work->labels++;
    PUT(out, trace_registers);
    instrument_emit_unless(out, site->instr, past);
    instrument_emit_address(out, site->address, "%glint$a", INSTRUMENT_NONE, 0);
    if (probe->check_space)
        instrument_emit_space_check(work, past);
    FILL(out, trace_test, NUMBER(past, past));
    FILL(out, trace_record, NUMBER(past, past), NUMBER(stores, site->access == PTX_ACCESS_STORE),
         NUMBER(full, PTX_SECTOR_BYTES / site->bytes),
         NUMBER(where, (uint64_t)probe->traced << INSTRUMENT_TRACED_SITE_AT));
    base_buf_printf(out, "$glint$%u:\n}\n", past);
}

// Most threads leave after the tests of all members.
static void emit_run(struct instrument_work *work, const struct instrument_trace_run *run)
{
    struct base_buf *out = &work->out;
    const uint32_t past = work->labels++;
    PUT(out, trace_registers);
    for (uint32_t i = 0; i < run->test_count; i++) {
        instrument_emit_address(out, run->tests[i]->site->address, "%glint$a", INSTRUMENT_NONE, 0);
        FILL(out, trace_also, NUMBER(first, !i));
    }
    FILL(out, trace_skip, NUMBER(past, past));
    for (uint32_t i = 0; i < run->count; i++)
        emit_own(work, run->members[i]);
    base_buf_printf(out, "$glint$%u:\n}\n", past);
}

void instrument_emit_trace(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *probe)
{
    if (!probe->traced || probe->traced_later || !instrument_traces(work, body))
        return;
    if (!probe->traced_with) {
        emit_own(work, probe);
        return;
    }
    struct instrument_trace_run run;
    instrument_find_trace_run(body, probe, &run);
    emit_run(work, &run);
}

void instrument_emit_trace_end(struct instrument_work *work, const struct instrument_body *body)
{
    if (!instrument_traces(work, body))
        return;
    FILL(&work->out, trace_end, NUMBER(past, work->labels));
    work->labels++;
}
