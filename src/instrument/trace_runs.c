// SPDX-License-Identifier: Apache-2.0
// Accesses that are traced together: see trace_runs.h.
#include "trace_runs.h"

#include "groups.h"
#include "instrument.h"

// --- Which runs ----------------------------------------------------------------------------------

// Names of an inner scope are not known behind it.
static bool can_wait(const struct instrument_body *body, const struct instrument_probe *probe)
{
    return probe->traced && !probe->site->instr->guard && !body->may_exit &&
           !probe->site->instr->stmt.scope->depth;
}

// A run that may still grow; `last` is 1 + the index of its last member, or 0.
struct growing {
    uint32_t last, count;
};

static void put(struct instrument_body *body, uint32_t number, struct growing *run)
{
    if (run->last && run->count < INSTRUMENT_TRACE_RUN_MOST) {
        body->probes[number].traced_with = run->last;
        body->probes[run->last - 1].traced_later = true;
        run->count++;
    } else {
        run->count = 1;
    }
    run->last = number + 1;
}

// Returns whether the instruction sets a register that an address of the run is in.
static bool sets_address(const struct instrument_body *body, const struct ptx_instr *instr,
                         struct growing run)
{
    for (uint32_t each = run.last; each; each = body->probes[each - 1].traced_with) {
        if (instrument_sets(body, instr, instrument_address_reg(&body->probes[each - 1])))
            return true;
    }
    return false;
}

void instrument_plan_trace_runs(struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    uint32_t next = 0;
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        const struct ptx_block *block = &cfg->blocks[b];
        struct growing run = {0};
        for (uint32_t k = 0; k < block->instr_count; k++) {
            const struct ptx_instr *instr = block->instrs[k];
            while (next < body->probe_count && body->probes[next].site->instr->index < instr->index)
                next++;
            for (; next < body->probe_count && body->probes[next].site->instr == instr; next++) {
                if (can_wait(body, &body->probes[next]))
                    put(body, next, &run);
            }
            if (instrument_is_border(instr) || sets_address(body, instr, run))
                run = (struct growing){0};
        }
    }
}

// --- What is tested ------------------------------------------------------------------------------

static int64_t offset_of(const struct instrument_probe *probe)
{
    const struct ptx_operand *address = probe->site->address;
    return address->kind == PTX_OPERAND_ADDRESS ? address->offset : 0;
}

// Returns the member with the least offset from the register that is at least `from` and at most
// `to`, or, if `most` is set, the one with the greatest; NULL: there is none.
static const struct instrument_probe *find(const struct instrument_trace_run *run,
                                           const struct ptx_reg *reg, int64_t from, int64_t to,
                                           bool most)
{
    const struct instrument_probe *found = NULL;
    for (uint32_t i = 0; i < run->count; i++) {
        const struct instrument_probe *each = run->members[i];
        const int64_t offset = offset_of(each);
        if (instrument_address_reg(each) == reg && offset >= from && offset <= to &&
            (!found || (most ? offset > offset_of(found) : offset < offset_of(found))))
            found = each;
    }
    return found;
}

// What lies between two addresses that are a line apart at most is in the line of one of them.
static void add_tests(struct instrument_trace_run *run, const struct ptx_reg *reg)
{
    const struct instrument_probe *low = find(run, reg, INT64_MIN, INT64_MAX, false);
    while (low) {
        const int64_t from = offset_of(low), to = from + PTX_LINE_BYTES;
        const struct instrument_probe *high = find(run, reg, from, to, true);
        run->tests[run->test_count++] = low;
        if (offset_of(high) != from)
            run->tests[run->test_count++] = high;
        low = find(run, reg, offset_of(high) + 1, INT64_MAX, false);
    }
}

void instrument_find_trace_run(const struct instrument_body *body,
                               const struct instrument_probe *last,
                               struct instrument_trace_run *run)
{
    *run = (struct instrument_trace_run){0};
    for (const struct instrument_probe *each = last; each;
         each = each->traced_with ? &body->probes[each->traced_with - 1] : NULL)
        run->count++;
    uint32_t at = run->count;
    for (const struct instrument_probe *each = last; each;
         each = each->traced_with ? &body->probes[each->traced_with - 1] : NULL)
        run->members[--at] = each;
    for (uint32_t i = 0; i < run->count; i++) {
        const struct ptx_reg *reg = instrument_address_reg(run->members[i]);
        bool is_first = true;
        for (uint32_t k = 0; k < i && reg; k++)
            is_first &= instrument_address_reg(run->members[k]) != reg;
        if (!reg)
            run->tests[run->test_count++] = run->members[i];
        else if (is_first)
            add_tests(run, reg);
    }
}
