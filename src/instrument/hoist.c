// SPDX-License-Identifier: Apache-2.0
// Accesses whose address changes by a fixed step from round to round of their loop are not marked
// in the loop. The loop only keeps the address of the last access, unless it is known where the
// loop is left (left.c), and counts the rounds. One call marks everything where the loop is left.
// The rounds are counted and not computed, so it does not matter why a loop ends. Static analysis
// contributes the step, and that every round executes the access.
//
// Steps that are added in 64 bits are certain (steps.c). Others are only correct if 32-bit parts of
// the address do not wrap around, which would change it by a multiple of 2^32. So the loop also
// keeps the high half of the address in the first round, which is compared afterwards.
#include "hoist.h"

#include <stddef.h>
#include <stdlib.h>

#include "fill.h"
#include "left.h"
#include "probe.h"
#include "steps.h"

// Splits the form of an address into the step per round and a rest that does not change. Returns
// false if that is impossible.
static bool find_step(struct instrument_work *work, const struct instrument_body *body,
                      const struct ptx_site *site, struct ptx_linear *step)
{
    const struct ptx_affine *affine = body->facts->affine;
    struct ptx_linear rest = site->form;
    rest.terms = base_new_array(&work->scratch, struct ptx_term, site->form.term_count);
    rest.term_count = 0;
    *step = (struct ptx_linear){0};
    step->terms = base_new_array(&work->scratch, struct ptx_term, site->form.term_count);
    for (uint16_t i = 0; i < site->form.term_count; i++) {
        struct ptx_term term = site->form.terms[i];
        uint8_t kept = 0, counters = 0;
        for (uint8_t k = 0; k < term.symbol_count; k++) {
            const struct ptx_symbol *symbol = &affine->symbols[term.symbols[k]];
            if (symbol->kind == PTX_SYMBOL_COUNTER && symbol->index == site->loop)
                counters++;
            else
                term.symbols[kept++] = term.symbols[k];
        }
        term.symbol_count = kept;
        if (counters > 1)
            return false;
        if (!counters)
            rest.terms[rest.term_count++] = site->form.terms[i];
        else if (!kept)
            step->constant += term.coefficient;
        else
            step->terms[step->term_count++] = term;
    }
    return ptx_form_invariant(affine, &rest, site->loop);
}

// Returns whether probes can compute the step: from constants, launch indices and sizes, and
// parameters.
static bool is_computable(const struct instrument_body *body, const struct ptx_linear *step)
{
    const struct ptx_affine *affine = body->facts->affine;
    for (uint16_t i = 0; i < step->term_count; i++) {
        for (uint8_t k = 0; k < step->terms[i].symbol_count; k++) {
            const struct ptx_symbol *symbol = &affine->symbols[step->terms[i].symbols[k]];
            if (symbol->kind == PTX_SYMBOL_PARAM) {
                const struct ptx_var *var = body->function->params[symbol->index];
                uint32_t bytes = ptx_type_bytes((enum ptx_type)var->type);
                if (var->dim_count || var->vec != 1 || (bytes != 4 && bytes != 8))
                    return false;
            } else if (symbol->kind > PTX_SYMBOL_NCTAID) {
                return false;
            }
        }
    }
    return true;
}

static bool is_small_param(const struct instrument_body *body, const struct ptx_symbol *symbol)
{
    return symbol->kind == PTX_SYMBOL_PARAM &&
           ptx_type_bytes((enum ptx_type)body->function->params[symbol->index]->type) == 4;
}

// Returns whether threads of a block that differ only in y and z execute the site equally, with the
// same addresses.
static bool is_same_in_columns(const struct instrument_body *body, const struct ptx_site *site)
{
    const uint16_t others =
        (uint16_t) ~(PTX_DEP_TID_X | PTX_DEP_CTAID_X | PTX_DEP_CTAID_Y | PTX_DEP_CTAID_Z);
    const struct ptx_uniformity *uniformity = body->facts->uniformity;
    uint16_t deps = site->deps | site->block_deps;
    for (uint32_t loop = site->loop; loop != PTX_NO_LOOP;
         loop = body->facts->cfg->loops[loop].parent)
        deps |= uniformity->exit_deps[loop] | uniformity->leave_deps[loop];
    return !(deps & others);
}

static bool can_wait(struct instrument_work *work, const struct instrument_body *body,
                     const struct instrument_probe *probe, struct ptx_linear *step)
{
    const struct ptx_site *site = probe->site;
    const struct ptx_cfg *cfg = body->facts->cfg;
    if (probe->how != HOW_ROOT || probe->shape != SHAPE_FIXED || probe->counts_itself ||
        site->bytes > 16 || site->loop == PTX_NO_LOOP || cfg->irreducible || body->may_exit ||
        site->address->kind != PTX_OPERAND_ADDRESS ||
        site->address->elements[0].kind != PTX_OPERAND_REG ||
        ptx_type_info((enum ptx_type)site->address->elements[0].reg->type)->bits != 64 ||
        !ptx_dominates(cfg, site->block, cfg->loops[site->loop].last_common))
        return false;
    return find_step(work, body, site, step) && is_computable(body, step);
}

static void add_sweep(struct instrument_work *work, struct instrument_body *body,
                      const struct instrument_probe *probe, uint32_t value, uint32_t kept,
                      uint32_t phi, const struct ptx_linear *step)
{
    const struct ptx_site *site = probe->site;
    uint32_t order = (uint32_t)body->sweeps.count;
    *base_array_add(&body->sweeps, &work->scratch) =
        (struct instrument_sweep){.order = order,
                                  .loop = site->loop,
                                  .value = value,
                                  .kept = kept,
                                  .root = probe->root,
                                  .tally = probe->tally,
                                  .access = site->access,
                                  .bytes = site->bytes,
                                  .chunk = site->bytes,
                                  .offset = site->address->offset,
                                  .form = site->form,
                                  .phi = phi,
                                  .step = *step,
                                  .times = 1,
                                  .doubted = probe->doubted,
                                  .columns = is_same_in_columns(body, site),
                                  .check = probe->check};
    struct instrument_sweep *added = &body->sweeps.items[order];
    added->form.constant -= site->address->offset;
    if (probe->left && instrument_find_left(body, site, value, &added->left_distance))
        added->left = site->address->elements[0].reg->name;
}

static int by_tally(const void *a, const void *b)
{
    const struct instrument_sweep *one = a, *other = b;
    if (one->tally != other->tally)
        return one->tally < other->tally ? -1 : 1;
    if (one->kept != other->kept)
        return one->kept < other->kept ? -1 : 1;
    return (one->order > other->order) - (one->order < other->order);
}

void instrument_plan_sweeps(struct instrument_work *work, struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    body->leaves = base_new_array(&work->scratch, bool, cfg->block_count);
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        struct ptx_linear step;
        if (!can_wait(work, body, probe, &step))
            continue;
        const struct ptx_site *site = probe->site;
        uint32_t value = ptx_ssa_value(body->facts->ssa, site->instr, &site->address->elements[0]);
        if (value == PTX_NO_VALUE)
            continue;
        uint32_t kept = PTX_NO_VALUE;
        for (size_t k = 0; k < body->sweeps.count; k++) {
            if (body->sweeps.items[k].tally == probe->tally && body->sweeps.items[k].value == value)
                kept = body->sweeps.items[k].kept;
        }
        if (kept == PTX_NO_VALUE) {
            kept = body->kept_count++;
            probe->keeps = true;
        }
        int64_t distance;
        probe->left = instrument_find_left(body, site, value, &distance);
        probe->waits = true;
        probe->kept = kept;
        uint32_t phi;
        bool wide = instrument_steps_are_wide(body, site, &phi);
        probe->doubted = !wide && (site->form.assumes_no_wrap || step.term_count);
        add_sweep(work, body, probe, value, kept, phi, &step);
        const struct ptx_loop *loop = &cfg->loops[site->loop];
        for (uint32_t k = 0; k < loop->exit_count; k++)
            body->leaves[loop->exits[k].to] = true;
    }
    instrument_join_sweeps(body);
    if (body->sweeps.count)
        qsort(body->sweeps.items, body->sweeps.count, sizeof(*body->sweeps.items), by_tally);
}

// --- Text ----------------------------------------------------------------------------------------

void instrument_emit_waiting_entry(struct instrument_work *work, const struct instrument_body *body)
{
    struct base_buf *out = &work->out;
    const struct instrument_kernel *kernel = body->kernel;
    bool *seen = base_new_array(&work->scratch, bool, kernel->tally_count);
    for (size_t i = 0; i < body->sweeps.count; i++) {
        uint32_t tally = body->sweeps.items[i].tally;
        if (!seen[tally])
            base_buf_printf(out, ".reg .b32 %%glint$k%u;\nmov.u32 %%glint$k%u, 0;\n", tally, tally);
        seen[tally] = true;
    }
    if (body->kept_count)
        base_buf_printf(out, ".reg .b64 %%glint$l<%u>;\n", body->kept_count);
    for (uint32_t i = 0; i < body->probe_count; i++) {
        if (body->probes[i].keeps && body->probes[i].doubted)
            base_buf_printf(out, ".reg .b32 %%glint$h%u;\nmov.b32 %%glint$h%u, -1;\n",
                            body->probes[i].kept, body->probes[i].kept);
    }
}

void instrument_emit_waiting(struct instrument_work *work, const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const char *name = probe->site->address->elements[0].reg->name;
    if (!probe->keeps)
        return;
    if (!probe->left)
        base_buf_printf(out, "mov.b64 %%glint$l%u, %s;\n", probe->kept, name);
    if (probe->doubted)
        FILL(out, keep_high, STRING(address, name), NUMBER(kept, probe->kept));
}

// Writes the code that sets %glint$d1 to the step.
static void emit_step(struct base_buf *out, const struct instrument_body *body,
                      const struct ptx_linear *step)
{
    static const char *const sregs[] = {"tid", "ntid", "ctaid", "nctaid"};
    base_buf_printf(out, "mov.u64 %%glint$d1, %lld;\n", (long long)step->constant);
    for (uint16_t i = 0; i < step->term_count; i++) {
        const struct ptx_term *term = &step->terms[i];
        base_buf_printf(out, "mov.u64 %%glint$d2, %lld;\n", (long long)term->coefficient);
        for (uint8_t k = 0; k < term->symbol_count; k++) {
            const struct ptx_symbol *symbol = &body->facts->affine->symbols[term->symbols[k]];
            if (symbol->kind == PTX_SYMBOL_PARAM && !is_small_param(body, symbol))
                base_buf_printf(out, "ld.param.u64 %%glint$d3, [%s];\n",
                                body->function->params[symbol->index]->name);
            else if (symbol->kind == PTX_SYMBOL_PARAM)
                base_buf_printf(out,
                                "ld.param.u32 %%glint$r1, [%s];\n"
                                "cvt.s64.s32 %%glint$d3, %%glint$r1;\n",
                                body->function->params[symbol->index]->name);
            else
                base_buf_printf(out,
                                "mov.u32 %%glint$r1, %%%s.%c;\n"
                                "cvt.u64.u32 %%glint$d3, %%glint$r1;\n",
                                sregs[symbol->kind], "xyz"[symbol->component]);
            base_buf_puts(out, "mul.lo.u64 %glint$d2, %glint$d2, %glint$d3;\n");
        }
        base_buf_puts(out, "add.u64 %glint$d1, %glint$d1, %glint$d2;\n");
    }
}

// Returns whether chunks leave no gap between elements from round to round.
static bool is_range(const struct instrument_work *work, const struct instrument_sweep *sweep)
{
    return !work->counts && !sweep->columns && sweep->bytes <= INSTRUMENT_NATURAL &&
           !sweep->step.term_count && sweep->step.constant >= 0 &&
           sweep->step.constant <= sweep->chunk;
}

// Writes the code that marks the range and goes to `past` if it lies in the span of its root's
// view. %glint$d2 is the last chunk, %glint$r1 the number of chunks.
static void emit_range(struct instrument_work *work, const struct instrument_body *body,
                       const struct instrument_sweep *sweep, uint32_t past)
{
    const uint32_t view = instrument_slot_offset(sweep->root);
    const uint32_t span = sweep->bytes <= 4 ? 0 : sweep->bytes <= 8 ? 1 : 2;
    const uint32_t full = work->labels++;
    work->helpers |= HELPER_RANGE;
    FILL(&work->out, range_call, NUMBER(step, (uint32_t)sweep->step.constant), NUMBER(view, view),
         NUMBER(last, sweep->chunk - sweep->bytes), NUMBER(span, view + 8 * span),
         NUMBER(full, full), NUMBER(bytes, sweep->bytes),
         NUMBER(shift, instrument_shift(body->kernel->roots[sweep->root].element_bytes)),
         NUMBER(look, sweep->check), NUMBER(past, past));
}

static void emit_sweep(struct instrument_work *work, const struct instrument_body *body,
                       const struct instrument_sweep *sweep)
{
    struct base_buf *out = &work->out;
    work->helpers |= HELPER_SWEEP | HELPER_ACCESS;
    emit_step(out, body, &sweep->step);
    if (sweep->left)
        base_buf_printf(out, "add.s64 %%glint$l%u, %s, %lld;\n", sweep->kept, sweep->left,
                        -(long long)sweep->left_distance);
    base_buf_printf(out,
                    "mul.lo.u32 %%glint$r1, %%glint$r0, %u;\n"
                    "add.s64 %%glint$d2, %%glint$l%u, %lld;\n",
                    sweep->times, sweep->kept, (long long)sweep->offset);
    if (sweep->doubted)
        FILL(out, check_high, NUMBER(times, sweep->times), NUMBER(kept, sweep->kept));
    const uint32_t past = work->labels++;
    if (is_range(work, sweep))
        emit_range(work, body, sweep, past);
    const uint32_t kinds = sweep->access == PTX_ACCESS_LOAD    ? 1
                           : sweep->access == PTX_ACCESS_STORE ? 2
                                                               : 3;
    FILL(out, sweep_call, NUMBER(counts, work->counts),
         NUMBER(slot, instrument_slot_offset(sweep->root)),
         NUMBER(accesses, sweep->chunk / sweep->bytes), NUMBER(bytes, sweep->bytes),
         NUMBER(word, instrument_access_word(sweep->root, kinds, sweep->bytes)),
         NUMBER(options, (sweep->columns ? 1u : 0) | (sweep->check ? 2u : 0)), NUMBER(past, past));
}

// If nothing was accessed since the last time, the code does nothing.
void instrument_emit_sweeps(struct instrument_work *work, const struct instrument_body *body,
                            uint32_t inside, uint32_t to)
{
    struct base_buf *out = &work->out;
    const struct ptx_cfg *cfg = body->facts->cfg;
    for (size_t i = 0; i < body->sweeps.count;) {
        const struct instrument_sweep *first = &body->sweeps.items[i];
        const struct ptx_loop *loop = &cfg->loops[first->loop];
        bool wanted = inside != PTX_NO_BLOCK && ptx_loop_contains(cfg, first->loop, inside);
        for (uint32_t k = 0; k < loop->exit_count && inside == PTX_NO_BLOCK; k++)
            wanted |= loop->exits[k].to == to;
        uint32_t past = work->labels++;
        if (wanted)
            FILL(out, rounds, NUMBER(tally, first->tally), NUMBER(past, past));
        size_t next = i;
        for (; next < body->sweeps.count && body->sweeps.items[next].tally == first->tally;
             next++) {
            if (wanted)
                emit_sweep(work, body, &body->sweeps.items[next]);
        }
        for (size_t k = i; k < next && wanted; k++) {
            if (body->sweeps.items[k].doubted)
                base_buf_printf(out, "mov.b32 %%glint$h%u, -1;\n", body->sweeps.items[k].kept);
        }
        if (wanted)
            base_buf_printf(out, "$glint$%u:\n}\n", past);
        i = next;
    }
}
