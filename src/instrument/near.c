// SPDX-License-Identifier: Apache-2.0
// Counts in spare shared memory: see near.h. Whether a launch counts there is the same for all
// threads. Everything else that may differ between lanes, which are the guard, the array and
// whether the access is in one, only chooses an address or a predicate: branches would keep the
// assembler from moving the program's instructions across the probe.
#include "near.h"

#include "counters.h"
#include "fill.h"
#include "probe.h"
#include "spare.h"
#include "words.h"

// Returns whether some lanes that execute the probe may not access shared memory.
static bool is_partial(const struct ptx_site *site)
{
    return site->instr->guard || site->space == PTX_SPACE_GENERIC || instrument_moves_matrix(site);
}

bool instrument_is_near(const struct instrument_body *body, const struct instrument_probe *probe)
{
    const struct ptx_site *site = probe->site;
    const uint32_t bytes = instrument_touched_bytes(site);
    return probe->words && body->kernel->spare_word && !body->kernel->racy &&
           !instrument_may_straddle(body, probe, bytes) &&
           (bytes <= INSTRUMENT_WORD_BYTES || instrument_counter_unit(body, probe) > 1) &&
           !(probe->together && is_partial(site)); // lanes are counted
}

bool instrument_is_steady(const struct instrument_body *body, const struct instrument_probe *probe)
{
    return instrument_is_near(body, probe) && !probe->offset && !is_partial(probe->site);
}

// Returns how many increments an access of so many words makes.
static int64_t made_by(const struct instrument_probe *probe, uint32_t words)
{
    return (int64_t)words * __builtin_popcount(instrument_kinds(probe->site));
}

// The first such access of a block tallies what all of them make.
static void emit_made(struct instrument_work *work, const struct instrument_body *body,
                      const struct instrument_probe *probe)
{
    const struct instrument_probe *first = probe, *end = body->probes + body->probe_count;
    int64_t made = 0;
    while (first > body->probes && first[-1].site->block == probe->site->block)
        first--;
    for (; first < probe; first++) {
        if (instrument_is_steady(body, first))
            return;
    }
    for (; probe < end && probe->site->block == first->site->block; probe++) {
        if (instrument_is_steady(body, probe))
            made += made_by(probe, instrument_counter_unit(body, probe));
    }
    FILL(&work->out, counters_made, STRING(guard, ""), NUMBER(tally, body->kernel->made - 1),
         NUMBER(count, made));
}

// Sets the predicate %glint$go of lanes that access shared memory, and %glint$at to the address.
static void emit_address(struct instrument_work *work, const struct ptx_site *site)
{
    struct base_buf *out = &work->out;
    const struct ptx_instr *instr = site->instr;
    if (instr->guard)
        base_buf_printf(out, "%s.pred %%glint$go, %s;\n", instr->guard_negated ? "not" : "mov",
                        instr->guard->name);
    else if (is_partial(site))
        base_buf_puts(out, "mov.pred %glint$go, 1;\n");
    if (instrument_moves_matrix(site) && site->lanes != UINT32_MAX)
        FILL(out, near_rows, NUMBER(lanes, __builtin_popcount(site->lanes)));
    instrument_emit_address(out, site->address, "%glint$a", INSTRUMENT_NONE, 0);
    if (site->space == PTX_SPACE_GENERIC)
        FILL(out, near_generic, NUMBER(clusters, work->clusters));
    PUT(out, words_address);
}

// Sets %glint$to to the offset of the access behind that of all counters or, if it can only be in
// one array, behind that array's; it is `none`, which is that of word 0, if it is in no array.
// Returns `none`.
static int64_t emit_choice(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *probe)
{
    const struct instrument_kernel *kernel = body->kernel;
    const uint32_t bytes = instrument_touched_bytes(probe->site);
    const bool alone = probe->array != INSTRUMENT_NONE && instrument_counter_unit(body, probe) == 1;
    const int64_t none = alone ? -(int64_t)kernel->arrays[probe->array].first * 4 : 0;
    base_buf_printf(&work->out, "mov.u32 %%glint$to, %lld;\n", (long long)none);
    for (uint32_t i = 0; i < kernel->array_count; i++) {
        const struct instrument_array *array = &kernel->arrays[i];
        if ((probe->array != INSTRUMENT_NONE && probe->array != i) ||
            (array->bytes && array->bytes < bytes))
            continue;
        FILL(&work->out, near_array, STRING(array, array->name), NUMBER(dynamic, !array->bytes),
             NUMBER(last, array->bytes ? array->bytes - bytes : bytes - 1),
             NUMBER(first, alone ? 0 : (int64_t)array->first * INSTRUMENT_WORD_BYTES));
    }
    return none;
}

// Tallies what an access makes that other lanes may not make. One outside of all arrays counts as
// one word.
static void emit_own_made(struct instrument_work *work, const struct instrument_body *body,
                          const struct instrument_probe *probe, uint32_t words)
{
    const uint32_t tally = body->kernel->made - 1;
    const bool partial = is_partial(probe->site);
    if (!instrument_is_steady(body, probe))
        FILL(&work->out, counters_made, STRING(guard, partial ? "@%glint$go " : ""),
             NUMBER(tally, tally), NUMBER(count, made_by(probe, words)));
    if (words > 1)
        FILL(&work->out, near_lost, NUMBER(partial, partial), NUMBER(tally, tally),
             NUMBER(count, made_by(probe, 1) - made_by(probe, words)));
}

void instrument_emit_near(struct instrument_work *work, const struct instrument_body *body,
                          const struct instrument_probe *probe, uint32_t past)
{
    struct base_buf *out = &work->out;
    const struct instrument_kernel *kernel = body->kernel;
    const uint32_t words = instrument_counter_unit(body, probe), other = work->labels++;
    if (instrument_is_steady(body, probe))
        emit_made(work, body, probe);
    FILL(out, near_start, NUMBER(several, kernel->spare_small), NUMBER(size, kernel->spare_word),
         NUMBER(other, other));
    emit_address(work, probe->site);
    const int64_t none = emit_choice(work, body, probe);
    FILL(out, near_place, NUMBER(unit, instrument_unit_member(words)), NUMBER(shift, words == 4),
         NUMBER(partial, instrument_touched_bytes(probe->site) < INSTRUMENT_WORD_BYTES),
         STRING(spare, INSTRUMENT_SPARE));
    emit_own_made(work, body, probe, words);
    if (probe->together)
        PUT(out, near_once);
    instrument_emit_increments(work, body, probe,
                               probe->together || is_partial(probe->site) ? "@%glint$go " : "",
                               -none / INSTRUMENT_WORD_BYTES);
    base_buf_printf(out, "bra $glint$%u;\n$glint$%u:\n", past, other);
}
