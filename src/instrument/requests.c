// SPDX-License-Identifier: Apache-2.0
// Requests of warps: see requests.h. Where the launch knows what whole warps take (regular.c), they
// are only counted, and so are those whose lanes are side by side, but for the sectors and lines
// that the place of the first lane adds. All other requests are counted one by one: the
// lanes find out how many of their addresses are in different sectors and lines, or how many words
// one bank of shared memory has to deliver, and the first of them adds that to the site's tallies,
// which are in memory. All this is done at few points of a block, behind the instructions, which
// need not wait for it.
#include "requests.h"

#include "fill.h"
#include "groups.h"
#include "lanes.h"
#include "local.h"
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
           !ptx_form_has(site->instr->form, PTX_MOD_SHARED_CLUSTER) && !site->origin.is_remote &&
           site->bytes && site->bytes <= MOST_BYTES && !(site->bytes & (site->bytes - 1)) &&
           instrument_has_address(site->address);
}

static bool is_counted(const struct instrument_probe *probe)
{
    return is_request(probe->site) &&
           (is_global(probe) || is_shared(probe->site) || instrument_is_local(probe->site));
}

static bool is_terminator(const struct ptx_instr *instr)
{
    return ptx_flags(instr) & (PTX_FLAG_BRANCH | PTX_FLAG_END);
}

// Lets addresses of these probes be saved that the instruction changes. Returns whether requests
// must be counted before the instruction: it changes a guard. If a call may end the thread, each is
// counted where it is made.
static bool ends_point(struct instrument_body *body, const struct instrument_point *open,
                       const struct ptx_instr *instr)
{
    bool ends = false;
    for (uint32_t i = open->from; i < open->end; i++) {
        struct instrument_probe *probe = &body->probes[i];
        if (!is_counted(probe))
            continue;
        ends |= body->may_exit || instrument_sets(body, instr, probe->site->instr->guard);
        if (probe->saved == INSTRUMENT_NONE &&
            instrument_sets(body, instr, instrument_address_reg(probe)))
            probe->saved = body->saved_count++;
    }
    return ends;
}

static void add_point(struct instrument_work *work, struct instrument_body *body,
                      struct instrument_point *open, const struct ptx_instr *instr, bool behind)
{
    bool any = false;
    for (uint32_t i = open->from; i < open->end; i++)
        any |= is_counted(&body->probes[i]);
    open->instr = instr;
    open->behind = behind;
    if (any)
        *base_array_add(&body->points, &work->scratch) = *open;
    open->from = open->end;
}

// Divides a block at points. *probe is the first probe that is not in an earlier block.
static void find_points(struct instrument_work *work, struct instrument_body *body,
                        const struct ptx_block *block, uint32_t *probe)
{
    struct instrument_point open = {.from = *probe, .end = *probe};
    for (uint32_t i = 0; i < block->instr_count; i++) {
        const struct ptx_instr *instr = block->instrs[i];
        const bool is_last = i + 1 == block->instr_count;
        while (*probe < body->probe_count && body->probes[*probe].site->instr == instr)
            open.end = ++*probe;
        if (ends_point(body, &open, instr) || (is_last && is_terminator(instr)))
            add_point(work, body, &open, instr, false);
        else if (is_last)
            add_point(work, body, &open, instr, true);
    }
}

// Finds sites on global memory whose lanes reach one span without a gap, in a warp that is a piece
// of a row.
static void find_span(struct instrument_body *body, struct instrument_probe *probe)
{
    const uint32_t bytes = probe->site->bytes;
    int64_t step;
    if (!is_global(probe) || !instrument_lane_step(body, probe->site, &step) || step < bytes ||
        step > PTX_SECTOR_BYTES)
        return;
    probe->warp_span = (uint32_t)step * (PTX_WARP_LANES - 1) + bytes;
    probe->excess = 0; // its tally comes later
}

// Returns the tally of whole warps at a point, for one kind of memory. Local memory goes with
// shared memory.
static uint32_t whole_of(struct instrument_body *body, struct instrument_point *point, bool shared)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    const struct ptx_block *block = &cfg->blocks[cfg->block_of[point->instr->index]];
    if (!point->whole[shared]) {
        point->whole[shared] = ++body->kernel->tally_count;
        body->once[point->whole[shared] - 1] = block->loop == PTX_NO_LOOP;
    }
    return point->whole[shared] - 1;
}

static uint32_t tallies_of(const struct instrument_probe *probe)
{
    return is_shared(probe->site) ? INSTRUMENT_SHARED_TALLIES : INSTRUMENT_REQUEST_TALLIES;
}

void instrument_place_requests(struct instrument_work *work, struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    uint32_t probe = 0;
    for (uint32_t i = 0; i < cfg->block_count; i++)
        find_points(work, body, &cfg->blocks[i], &probe);
    for (size_t i = 0; i < body->points.count; i++) {
        struct instrument_point *point = &body->points.items[i];
        for (uint32_t k = point->from; k < point->end; k++) {
            struct instrument_probe *each = &body->probes[k];
            each->form = !is_counted(each) ? NULL
                         : instrument_is_local(each->site)
                             ? instrument_local_form(work, body, each->site)
                             : instrument_form_of(work, body, each);
            if (!each->form)
                continue;
            each->whole = whole_of(body, point, !is_global(each));
            find_span(body, each);
        }
    }
}

void instrument_plan_requests(struct instrument_body *body)
{
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        if (!is_counted(probe))
            continue;
        probe->requests = body->kernel->tally_count;
        body->kernel->tally_count += tallies_of(probe);
        if (probe->excess != INSTRUMENT_NONE)
            probe->excess = body->kernel->tally_count++;
    }
}

void instrument_emit_saved(struct instrument_work *work, const struct instrument_probe *probe)
{
    if (probe->saved != INSTRUMENT_NONE)
        instrument_emit_address(&work->out, probe->site->address, "%glint$saved", probe->saved, 0);
}

// Sets %glint$a to the address that the site had.
static void emit_address(struct base_buf *out, const struct instrument_probe *probe)
{
    if (probe->saved == INSTRUMENT_NONE)
        instrument_emit_address(out, probe->site->address, "%glint$a", INSTRUMENT_NONE, 0);
    else
        base_buf_printf(out, "mov.b64 %%glint$a, %%glint$saved%u;\n", probe->saved);
}

static void emit_call(struct instrument_work *work, const struct instrument_body *body,
                      const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const uint32_t past = work->labels++;
    const bool local = instrument_is_local(probe->site);
    work->helpers |= HELPER_REQUEST | (local ? HELPER_LOCAL : 0);
    PUT(out, request_registers);
    instrument_emit_unless(out, probe->site->instr, past);
    emit_address(out, probe);
    if (local)
        instrument_emit_local_offset(out, probe->site);
    FILL(out, request_call,
         STRING(request, local              ? "glint$local"
                         : is_global(probe) ? "glint$request"
                                            : "glint$wavefronts"),
         NUMBER(offset, probe->requests * 8), NUMBER(row_bytes, body->kernel->tally_row_bytes),
         NUMBER(bytes, probe->site->bytes), NUMBER(loads, probe->site->access == PTX_ACCESS_LOAD));
    base_buf_printf(out, "$glint$%u:\n}\n", past);
}

// Writes the code by which the first lane of a whole warp adds what the warp's place costs.
static void emit_excess(struct instrument_work *work, const struct instrument_body *body,
                        const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const uint32_t past = work->labels++;
    PUT(out, request_registers);
    emit_address(out, probe);
    FILL(out, request_excess, NUMBER(span, probe->warp_span),
         NUMBER(sectors, (probe->warp_span + PTX_SECTOR_BYTES - 1) / PTX_SECTOR_BYTES),
         NUMBER(lines, (probe->warp_span + PTX_LINE_BYTES - 1) / PTX_LINE_BYTES),
         NUMBER(offset, probe->excess * 8), NUMBER(row_bytes, body->kernel->tally_row_bytes),
         NUMBER(past, past));
    base_buf_printf(out, "$glint$%u:\n}\n", past);
}

// Which of the sites that have a form at a point.
enum which { THAT_ARE_DENSE, THAT_ARE_NOT, ALL };

static const struct instrument_probe *next_of(const struct instrument_body *body,
                                              const struct instrument_point *point, bool shared,
                                              enum which which, uint32_t *i)
{
    while (*i < point->end) {
        const struct instrument_probe *probe = &body->probes[(*i)++];
        const bool dense = probe->excess != INSTRUMENT_NONE;
        if (probe->form && is_global(probe) != shared &&
            (which == ALL || dense == (which == THAT_ARE_DENSE)))
            return probe;
    }
    return NULL;
}
#define FOR_SITES(probe, which) \
    for (uint32_t at_ = point->from; (probe = next_of(body, point, shared, which, &at_));)

// Writes the code for sites that have a form, on one kind of memory.
static void emit_wholes(struct instrument_work *work, const struct instrument_body *body,
                        const struct instrument_point *point, bool shared)
{
    struct base_buf *out = &work->out;
    const uint32_t past = work->labels++, apart = work->labels++, rest = work->labels++;
    const struct instrument_probe *probe;
    bool dense = false;
    FILL(out, whole_warp, NUMBER(kind, shared ? (int64_t)sizeof(uint32_t) : 0));
    FOR_SITES(probe, ALL)
    {
        const struct ptx_instr *instr = probe->site->instr;
        dense |= probe->excess != INSTRUMENT_NONE;
        if (instr->guard)
            FILL(out, whole_guard, STRING(predicate, instr->guard->name),
                 NUMBER(negated, instr->guard_negated));
    }
    base_buf_puts(out, dense ? "@%glint$either " : "@%glint$whole ");
    instrument_emit_tally(work, body, point->whole[shared] - 1);
    base_buf_printf(out, "@%%glint$whole bra.uni $glint$%u;\n", past);
    if (dense) {
        base_buf_printf(out, "@!%%glint$either bra.uni $glint$%u;\n", apart);
        FOR_SITES(probe, THAT_ARE_DENSE)
        emit_excess(work, body, probe);
        base_buf_printf(out, "bra.uni $glint$%u;\n$glint$%u:\n", rest, apart);
        FOR_SITES(probe, THAT_ARE_DENSE)
        emit_call(work, body, probe);
        base_buf_printf(out, "$glint$%u:\n", rest);
    }
    FOR_SITES(probe, THAT_ARE_NOT)
    emit_call(work, body, probe);
    base_buf_printf(out, "$glint$%u:\n}\n", past);
}

void instrument_emit_requests(struct instrument_work *work, const struct instrument_body *body,
                              const struct ptx_instr *instr, bool behind, size_t *next)
{
    if (*next == body->points.count || body->points.items[*next].instr != instr ||
        body->points.items[*next].behind != behind)
        return;
    const struct instrument_point *point = &body->points.items[(*next)++];
    for (int shared = 0; shared < 2; shared++) {
        if (point->whole[shared])
            emit_wholes(work, body, point, shared);
    }
    for (uint32_t i = point->from; i < point->end; i++) {
        const struct instrument_probe *probe = &body->probes[i];
        if (probe->requests != INSTRUMENT_NONE && !probe->form)
            emit_call(work, body, probe);
    }
}

void instrument_emit_request_functions(const struct instrument_work *work, struct base_buf *out)
{
    const bool match = instrument_has_match(work);
    if (!match)
        PUT(out, match_function);
    FILL(out, request_function, NUMBER(match, match));
    FILL(out, wavefronts_function, NUMBER(match, match), NUMBER(redux, work->sm >= 80));
}
