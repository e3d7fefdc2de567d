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
#include "masks.h"
#include "plan.h"
#include "points.h"
#include "probe.h"
#include "regular.h"
#include "tally.h"

// The first target that has redux.sync.
enum { SM_REDUX = 80 };

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

bool instrument_has_requests(const struct instrument_probe *probe)
{
    return is_request(probe->site) &&
           (is_global(probe) || is_shared(probe->site) || instrument_is_local(probe->site));
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

// Returns the tally of whole warps at a point.
static uint32_t whole_of(struct instrument_body *body, struct instrument_point *point)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    const struct ptx_block *block = &cfg->blocks[cfg->block_of[point->instr->index]];
    if (!point->whole) {
        point->whole = ++body->kernel->tally_count;
        // Outside of loops most threads come by once, in a whole warp.
        body->from_one[point->whole - 1] =
            !body->may_exit && !cfg->irreducible && block->loop == PTX_NO_LOOP;
    }
    return point->whole - 1;
}

static uint32_t tallies_of(const struct instrument_probe *probe)
{
    return is_shared(probe->site) ? INSTRUMENT_SHARED_TALLIES : INSTRUMENT_REQUEST_TALLIES;
}

// Returns whether the wavefronts of the site's requests are counted where they are made.
static bool has_rounds(const struct instrument_probe *probe)
{
    return !probe->form && is_shared(probe->site) && probe->site->bytes <= PTX_BANK_BYTES;
}

// Lets warps sum up in a register what their requests take at sites in loops whose addresses come
// from memory. A kernel has registers for few such sites, and outside of loops adding them up at
// the end takes longer.
static void find_sums(const struct instrument_work *work, struct instrument_body *body)
{
    enum { MOST = 2 };
    const struct ptx_cfg *cfg = body->facts->cfg;
    uint32_t found = 0;
    for (uint32_t i = 0; i < body->probe_count && work->sm >= SM_REDUX; i++) {
        struct instrument_probe *probe = &body->probes[i];
        if (!instrument_has_requests(probe) || !has_rounds(probe) ||
            !(probe->site->deps & PTX_DEP_MEMORY) ||
            cfg->blocks[probe->site->block].loop == PTX_NO_LOOP || found++ >= MOST)
            continue;
        probe->sums = true;
        probe->requests = body->kernel->tally_count;
        body->kernel->tally_count += INSTRUMENT_SHARED_TALLIES;
        body->split[probe->requests] = SPLIT_REGISTER;
        for (uint32_t k = 1; k < INSTRUMENT_SHARED_TALLIES; k++)
            body->split[probe->requests + k] = SPLIT_REST;
        body->split_count++;
    }
}

void instrument_place_requests(struct instrument_work *work, struct instrument_body *body)
{
    struct ptx_arrays arrays = {0};
    if (ptx_arrays_find(body->facts, body->probe_count ? body->probes[0].site : NULL,
                        body->probe_count, &arrays, work->error) != BASE_OK)
        longjmp(work->escape, 1);
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        if (!instrument_has_requests(probe))
            continue;
        probe->named = is_shared(probe->site) ? arrays.places[i].array : NULL;
        probe->form = instrument_is_local(probe->site)
                          ? instrument_local_form(work, body, probe->site)
                          : instrument_form_of(work, body, probe);
    }
    instrument_find_points(work, body);
    for (size_t i = 0; i < body->points.count; i++) {
        struct instrument_point *point = &body->points.items[i];
        for (uint32_t k = point->from; k < point->end; k++) {
            struct instrument_probe *each = &body->probes[k];
            if (!each->form)
                continue;
            each->whole = whole_of(body, point);
            find_span(body, each);
        }
    }
    find_sums(work, body);
}

void instrument_plan_requests(struct instrument_body *body)
{
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        if (!instrument_has_requests(probe) || probe->sums)
            continue;
        probe->requests = body->kernel->tally_count;
        body->kernel->tally_count += tallies_of(probe);
        if (probe->excess != INSTRUMENT_NONE)
            probe->excess = body->kernel->tally_count++;
    }
}

void instrument_emit_saved(struct instrument_work *work, const struct instrument_probe *probe)
{
    if (probe->saved != INSTRUMENT_NONE && !(work->regular && probe->masked))
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

// Writes the code that counts the wavefronts of a whole warp, and goes past what follows.
static void emit_rounds(struct instrument_work *work, const struct instrument_body *body,
                        const struct instrument_probe *probe, uint32_t past)
{
    struct base_buf *out = &work->out;
    const uint32_t slow = work->labels++, next = work->labels++, counted = work->labels++;
    PUT(out, rounds_registers);
    FILL(out, request_rounds, NUMBER(next, next), NUMBER(slow, slow), NUMBER(counted, counted),
         NUMBER(redux, work->sm >= SM_REDUX), NUMBER(apart, !(probe->site->deps & PTX_DEP_MEMORY)));
    if (probe->sums)
        FILL(out, rounds_to_register, NUMBER(tally, probe->requests),
             NUMBER(row_bytes, body->kernel->tally_row_bytes), NUMBER(offset, probe->requests * 8),
             NUMBER(past, past), NUMBER(slow, slow));
    else
        FILL(out, rounds_to_memory, NUMBER(row_bytes, body->kernel->tally_row_bytes),
             NUMBER(offset, probe->requests * 8), NUMBER(past, past), NUMBER(slow, slow));
}

static void emit_call(struct instrument_work *work, const struct instrument_body *body,
                      const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const bool local = instrument_is_local(probe->site);
    work->helpers |= HELPER_REQUEST | (local ? HELPER_LOCAL : 0);
    FILL(out, request_call,
         STRING(request, local              ? "glint$local"
                         : is_global(probe) ? "glint$request"
                                            : "glint$wavefronts"),
         NUMBER(offset, probe->requests * 8), NUMBER(row_bytes, body->kernel->tally_row_bytes),
         NUMBER(bytes, probe->site->bytes), NUMBER(loads, probe->site->access == PTX_ACCESS_LOAD));
}

// Writes the code that counts the request of the lanes that are here.
static void emit_request(struct instrument_work *work, const struct instrument_body *body,
                         const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const uint32_t past = work->labels++;
    PUT(out, request_registers);
    instrument_emit_unless(out, probe->site->instr, past);
    emit_address(out, probe);
    if (instrument_is_local(probe->site))
        instrument_emit_local_offset(out, probe->site);
    // A call would take longer. Where it is rare, code is short instead.
    if (has_rounds(probe))
        emit_rounds(work, body, probe, past);
    if (!probe->sums)
        emit_call(work, body, probe);
    if (has_rounds(probe))
        base_buf_puts(out, "}\n");
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

static int64_t kind_offset(bool shared)
{
    return shared ? sizeof(uint32_t) : 0;
}

// Writes the code for sites on one kind of memory that have a form. It does nothing if a whole
// warp is here and the launch wants such warps only to be counted.
static void emit_kind(struct instrument_work *work, const struct instrument_body *body,
                      const struct instrument_point *point, bool shared)
{
    struct base_buf *out = &work->out;
    const uint32_t past = work->labels++, apart = work->labels++, rest = work->labels++;
    const struct instrument_probe *probe;
    bool dense = false;
    FILL(out, whole_kind, NUMBER(kind, kind_offset(shared)), NUMBER(past, past));
    FOR_SITES(probe, ALL)
    dense |= probe->excess != INSTRUMENT_NONE;
    if (dense) {
        FILL(out, whole_dense, NUMBER(other, apart));
        FOR_SITES(probe, THAT_ARE_DENSE)
        emit_excess(work, body, probe);
        base_buf_printf(out, "bra.uni $glint$%u;\n$glint$%u:\n", rest, apart);
        FOR_SITES(probe, THAT_ARE_DENSE)
        emit_request(work, body, probe);
        base_buf_printf(out, "$glint$%u:\n", rest);
    }
    FOR_SITES(probe, THAT_ARE_NOT)
    emit_request(work, body, probe);
    base_buf_printf(out, "$glint$%u:\n", past);
}

static bool has_kind(const struct instrument_body *body, const struct instrument_point *point,
                     bool shared)
{
    uint32_t i = point->from;
    return next_of(body, point, shared, ALL, &i) != NULL;
}

static bool has_guard(const struct instrument_body *body, const struct instrument_point *point)
{
    bool has = false;
    for (uint32_t i = point->from; i < point->end; i++)
        has |= body->probes[i].form && body->probes[i].site->instr->guard;
    return has;
}

// Writes the code that finds out whether a whole warp made all requests of the point, and counts
// it. It then goes to the label if the launch wants no more.
static void emit_whole(struct instrument_work *work, const struct instrument_body *body,
                       const struct instrument_point *point, uint32_t past)
{
    struct base_buf *out = &work->out;
    const uint32_t part = work->labels++;
    const bool votes = point->ran || has_guard(body, point);
    FILL(out, whole_warp, NUMBER(votes, votes), NUMBER(ran, point->ran), NUMBER(part, part));
    for (uint32_t i = point->from; i < point->end; i++) {
        const struct ptx_instr *instr = body->probes[i].site->instr;
        if (body->probes[i].form && instr->guard)
            FILL(out, whole_guard, STRING(predicate, instr->guard->name),
                 NUMBER(negated, instr->guard_negated));
    }
    if (votes)
        FILL(out, whole_vote, NUMBER(part, part));
    base_buf_puts(out, "@%glint$whole ");
    instrument_emit_tally(work, body, point->whole - 1);
    PUT(out, whole_only);
    for (int shared = 0; shared < 2; shared++) {
        if (has_kind(body, point, shared))
            FILL(out, whole_only_kind, NUMBER(kind, kind_offset(shared)));
    }
    base_buf_printf(out, "@%%glint$only bra.uni $glint$%u;\n", past);
}

static void emit_opening(struct instrument_work *work, const struct instrument_point *point)
{
    PUT(&work->out, point_registers);
    if (point->ran)
        FILL(&work->out, point_did, NUMBER(word, (point->ran - 1) / 32),
             NUMBER(bit, (int64_t)1 << (point->ran - 1) % 32));
}

// Writes the code for sites of the point that have no form. Lanes that did not execute them go to
// the label.
static void emit_formless(struct instrument_work *work, const struct instrument_body *body,
                          const struct instrument_point *point, uint32_t past)
{
    if (point->ran)
        base_buf_printf(&work->out, "@!%%glint$did bra $glint$%u;\n", past);
    for (uint32_t i = point->from; i < point->end; i++) {
        const struct instrument_probe *probe = &body->probes[i];
        if (probe->requests != INSTRUMENT_NONE && !probe->form)
            emit_request(work, body, probe);
    }
}

static void emit_point(struct instrument_work *work, const struct instrument_body *body,
                       const struct instrument_point *point)
{
    struct base_buf *out = &work->out;
    const uint32_t rest = work->labels++, past = work->labels++;
    emit_opening(work, point);
    if (point->whole) {
        emit_whole(work, body, point, rest);
        if (point->ran)
            base_buf_printf(out, "@!%%glint$did bra $glint$%u;\n", rest);
        for (int shared = 0; shared < 2; shared++) {
            if (has_kind(body, point, shared))
                emit_kind(work, body, point, shared);
        }
        base_buf_printf(out, "$glint$%u:\n", rest);
    }
    emit_formless(work, body, point, past);
    base_buf_printf(out, "$glint$%u:\n}\n", past);
}

// Writes the code of a point in the regular clone.
static void emit_masked(struct instrument_work *work, const struct instrument_body *body,
                        const struct instrument_point *point)
{
    const uint32_t past = work->labels++;
    bool formless = false;
    for (uint32_t i = point->from; i < point->end; i++)
        formless |= body->probes[i].requests != INSTRUMENT_NONE && !body->probes[i].form;
    if (formless) {
        emit_opening(work, point);
        emit_formless(work, body, point, past);
        base_buf_printf(&work->out, "$glint$%u:\n}\n", past);
    }
    instrument_emit_mask(work, body, point);
}

void instrument_emit_requests(struct instrument_work *work, const struct instrument_body *body,
                              const struct ptx_instr *instr, bool behind, bool only, size_t *next)
{
    for (; *next < body->points.count; ++*next) {
        const struct instrument_point *point = &body->points.items[*next];
        if (point->instr != instr || point->behind != behind)
            return;
        if (only)
            instrument_emit_tally(work, body, point->whole - 1);
        else if (work->regular && point->masked)
            emit_masked(work, body, point);
        else
            emit_point(work, body, point);
    }
}

void instrument_emit_request_functions(const struct instrument_work *work, struct base_buf *out)
{
    const bool match = instrument_has_match(work);
    if (!match)
        PUT(out, match_function);
    FILL(out, request_function, NUMBER(match, match));
    FILL(out, wavefronts_function, NUMBER(match, match), NUMBER(redux, work->sm >= SM_REDUX));
}
