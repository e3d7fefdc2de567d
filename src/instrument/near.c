// SPDX-License-Identifier: Apache-2.0
// Counts without branches: see near.h. Where a launch has its counters is the same for all threads.
// Everything that may differ between lanes, which are the guard, the array and whether the access
// is in one, only chooses an address or a predicate: branches would keep the assembler from moving
// the program's instructions across the probe, and make lanes wait for each other behind it.
#include "near.h"

#include "counters.h"
#include "fill.h"
#include "probe.h"
#include "spare.h"
#include "words.h"

#define GO "@%glint$go " // lanes that access shared memory and count it

// Returns whether some lanes that execute the probe may not access shared memory.
static bool is_partial(const struct ptx_site *site)
{
    return site->instr->guard || site->space == PTX_SPACE_GENERIC || instrument_moves_matrix(site);
}

bool instrument_is_near(const struct instrument_body *body, const struct instrument_probe *probe)
{
    const struct ptx_site *site = probe->site;
    const uint32_t bytes = instrument_touched_bytes(site);
    return probe->words && !probe->described && !body->kernel->racy && !body->kernel->spare_small &&
           !instrument_may_straddle(body, probe, bytes) &&
           (bytes <= INSTRUMENT_WORD_BYTES || instrument_counter_unit(body, probe) > 1) &&
           !(probe->together && is_partial(site)); // lanes are counted
}

// Returns whether the increments that the access makes are tallied with those of other accesses of
// its block of code.
static bool is_steady(const struct instrument_body *body, const struct instrument_probe *probe)
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
        if (is_steady(body, first))
            return;
    }
    for (; probe < end && probe->site->block == first->site->block; probe++) {
        if (is_steady(body, probe))
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

// Sets %glint$to to the offset of the access behind that of all counters or, if it is counted as a
// word and can only be in one array, behind that array's. That of an access in no array leads to
// word 0. Returns the first word of that array, or 0.
static int64_t emit_choice(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *probe)
{
    const struct instrument_kernel *kernel = body->kernel;
    const uint32_t bytes = instrument_touched_bytes(probe->site);
    const bool alone = probe->array != INSTRUMENT_NONE && instrument_counter_unit(body, probe) == 1;
    const int64_t before = alone ? kernel->arrays[probe->array].first : 0;
    base_buf_printf(&work->out, "mov.u32 %%glint$to, %lld;\n",
                    (long long)-before * INSTRUMENT_WORD_BYTES);
    for (uint32_t i = 0; i < kernel->array_count; i++) {
        const struct instrument_array *array = &kernel->arrays[i];
        if ((probe->array != INSTRUMENT_NONE && probe->array != i) ||
            (array->bytes && array->bytes < bytes))
            continue;
        FILL(&work->out, near_array, STRING(array, array->name), NUMBER(dynamic, !array->bytes),
             NUMBER(last, array->bytes ? array->bytes - bytes : bytes - 1),
             NUMBER(first, (array->first - before) * INSTRUMENT_WORD_BYTES));
    }
    return before;
}

// Tallies what an access makes that other lanes may not make. One outside of all arrays counts as
// one word.
static void emit_own_made(struct instrument_work *work, const struct instrument_body *body,
                          const struct instrument_probe *probe, uint32_t words)
{
    const uint32_t tally = body->kernel->made - 1;
    const bool partial = is_partial(probe->site);
    if (!is_steady(body, probe))
        FILL(&work->out, counters_made, STRING(guard, partial ? GO : ""), NUMBER(tally, tally),
             NUMBER(count, made_by(probe, words)));
    if (words > 1)
        FILL(&work->out, near_lost, NUMBER(partial, partial), NUMBER(tally, tally),
             NUMBER(count, made_by(probe, 1) - made_by(probe, words)));
}

static void emit_spare(struct instrument_work *work, const struct instrument_body *body,
                       const struct instrument_probe *probe, const char *guard, int64_t first,
                       uint32_t past)
{
    const uint32_t words = instrument_counter_unit(body, probe), other = work->labels++;
    FILL(&work->out, near_spare, NUMBER(unit, instrument_unit_member(words)),
         NUMBER(shift, words == 4), NUMBER(other, other),
         NUMBER(partial, instrument_touched_bytes(probe->site) < INSTRUMENT_WORD_BYTES));
    instrument_emit_increments(work, body, probe, guard, first);
    base_buf_printf(&work->out, "bra $glint$%u;\n$glint$%u:\n", past, other);
}

static void emit_device(struct instrument_work *work, const struct instrument_body *body,
                        const struct instrument_probe *probe, const char *guard, int64_t first)
{
    const uint32_t words = instrument_counter_unit(body, probe);
    FILL(&work->out, near_device, NUMBER(together, probe->together));
    instrument_emit_device_increments(work, body, probe, guard, first);
    if (words > 1)
        FILL(&work->out, near_more, NUMBER(partial, guard[0] != 0)); // `in` has changed
    for (uint32_t i = 1; i < words; i++)
        instrument_emit_device_increments(work, body, probe, "@%glint$in ", i);
}

void instrument_emit_near(struct instrument_work *work, const struct instrument_body *body,
                          const struct instrument_probe *probe, uint32_t past)
{
    struct base_buf *out = &work->out;
    const struct instrument_kernel *kernel = body->kernel;
    const char *guard = probe->together || is_partial(probe->site) ? GO : "";
    const uint32_t words = instrument_counter_unit(body, probe);
    if (kernel->made && is_steady(body, probe))
        emit_made(work, body, probe);
    if (probe->offset)
        FILL(out, words_counters, NUMBER(past, past), NUMBER(known, 1));
    emit_address(work, probe->site);
    const int64_t first = emit_choice(work, body, probe);
    if (words > 1)
        PUT(out, near_found);
    if (kernel->made)
        emit_own_made(work, body, probe, words);
    if (probe->together)
        PUT(out, near_once);
    if (kernel->spare_word)
        emit_spare(work, body, probe, guard, first, past);
    if (!probe->offset)
        FILL(out, words_counters, NUMBER(past, past), NUMBER(known, 0));
    emit_device(work, body, probe, guard, first);
}

void instrument_emit_near_registers(struct instrument_work *work,
                                    const struct instrument_body *body)
{
    if (body->kernel && body->kernel->spare_word)
        base_buf_puts(&work->out, ".reg .b32 %glint$spared;\n");
}

void instrument_emit_near_entry(struct instrument_work *work, const struct instrument_body *body)
{
    if (body->kernel->spare_word)
        FILL(&work->out, near_entry, STRING(spare, INSTRUMENT_SPARE));
}
