// SPDX-License-Identifier: Apache-2.0
// Counts what some blocks load of objects in global memory: see reuse.h.
//
// All blocks of a kernel mostly load alike, so a few of them show how often a block loads each word
// of an object. That takes a set of words for each block and object, which is far too much for all
// blocks. The others only test a register, which is the same in all threads of a block. Affine
// forms would say the same of some kernels without any counting, but only where neither guards nor
// branches nor bounds of loops depend on the thread; counting is exact for all, and is rare enough
// to be cheap: the launch decides whether any block is looked at.
#include "reuse.h"

#include "fill.h"
#include "plan.h"
#include "probe.h"

// --- Which sites ---------------------------------------------------------------------------------

static bool is_load(const struct ptx_site *site)
{
    return ptx_op(site->instr) == PTX_OP_LD || ptx_op(site->instr) == PTX_OP_LDU;
}

// Returns whether the instruction may wait for what other threads store, as for a flag.
static bool is_ordered(const struct ptx_site *site)
{
    const struct ptx_form *form = site->instr->form;
    return ptx_form_has(form, PTX_MOD_VOLATILE) || ptx_form_has(form, PTX_MOD_ACQUIRE) ||
           ptx_form_has(form, PTX_MOD_RELAXED) || ptx_form_has(form, PTX_MOD_MMIO);
}

static bool is_store(const struct ptx_site *site)
{
    return ptx_op(site->instr) == PTX_OP_ST || ptx_op(site->instr) == PTX_OP_ATOM ||
           ptx_op(site->instr) == PTX_OP_RED;
}

// Functions that the kernel calls do not know whether their block is looked at.
static void look_at_callees(struct instrument_work *work, const struct instrument_body *body,
                            struct instrument_kernel *kernel)
{
    for (uint32_t i = 0; i < body->callee_count && !kernel->unlooked; i++) {
        const struct instrument_body *callee = &work->bodies[body->callees[i]];
        if (callee->touches)
            instrument_add_reason(work, &kernel->unlooked, "accesses in %s, which it calls",
                                  callee->function->name);
    }
    if (!kernel->unlooked && body->calls_outside)
        instrument_add_reason(work, &kernel->unlooked, "accesses in %s, which it calls",
                              body->calls_outside);
}

void instrument_plan_reuse(struct instrument_work *work, struct instrument_body *body)
{
    struct instrument_kernel *kernel = body->kernel;
    uint32_t number = 0;
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        if (probe->how == HOW_NOT)
            continue;
        number++;
        if (is_load(probe->site) || is_store(probe->site))
            probe->looked = number;
        else if (probe->site->access != PTX_ACCESS_LOAD && !kernel->unlooked)
            instrument_add_reason(work, &kernel->unlooked, "%s at line %u of the PTX",
                                  probe->site->instr->form->text, probe->site->instr->stmt.line);
        kernel->looks |= is_load(probe->site);
        kernel->loads_ordered |= is_load(probe->site) && is_ordered(probe->site);
    }
    look_at_callees(work, body, kernel);
}

// --- Code ----------------------------------------------------------------------------------------

void instrument_emit_look_registers(struct instrument_work *work,
                                    const struct instrument_body *body)
{
    if (body->kernel && body->kernel->looks)
        base_buf_puts(&work->out, ".reg .b32 %glint$looked;\n");
}

void instrument_emit_look(struct instrument_work *work, const struct instrument_body *body)
{
    if (!body->kernel || !body->kernel->looks)
        return;
    work->helpers |= HELPER_REUSE;
    FILL(&work->out, look_entry, NUMBER(past, work->labels));
    work->labels++;
}

void instrument_emit_reuse(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const struct ptx_site *site = probe->site;
    if (!probe->looked || !body->kernel->looks)
        return;
    const uint32_t past = work->labels++;
    FILL(out, reuse_registers, NUMBER(past, past));
    instrument_emit_unless(out, site->instr, past);
    instrument_emit_address(out, site->address, "%glint$a", INSTRUMENT_NONE, 0);
    FILL(out, reuse_call,
         NUMBER(words, (site->bytes + INSTRUMENT_WORD_BYTES - 1) / INSTRUMENT_WORD_BYTES),
         NUMBER(site, is_load(site) ? probe->looked : 0));
    base_buf_printf(out, "$glint$%u:\n}\n", past);
}

void instrument_emit_reuse_functions(const struct instrument_work *work, struct base_buf *out)
{
    PUT(out, look_function);
    FILL(out, reuse_function, NUMBER(match, instrument_has_match(work)));
}

// --- In a launch ---------------------------------------------------------------------------------

enum { LEAST_BITS = 4 };

bool instrument_reuse_set(uint64_t first, uint64_t bytes, uint32_t most_bits,
                          struct instrument_reuse_set *set)
{
    const uint64_t words =
        (first + bytes - 1) / INSTRUMENT_WORD_BYTES - first / INSTRUMENT_WORD_BYTES + 1;
    uint32_t bits = LEAST_BITS;
    if (!bytes || words >= UINT32_MAX)
        return false;
    while (bits < most_bits && UINT64_C(1) << bits < 2 * words)
        bits++;
    *set = (struct instrument_reuse_set){.first = first, .bytes = bytes, .shift = 32 - bits};
    // A table must never be full. When a block has loaded `most` words, each of its threads, of
    // which there are at most 1024, may be about to add one more.
    const uint32_t room = UINT32_C(1) << bits;
    set->most = 2 * words <= room ? (uint32_t)words : room - room / 4;
    return true;
}
