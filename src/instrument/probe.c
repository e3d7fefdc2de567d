// SPDX-License-Identifier: Apache-2.0
// Writes the code of one site's probe, which stands at its instruction in a scope of its own:
// whether the instruction is executed, its address, and then what the level needs.
#include "probe.h"

#include <stddef.h>
#include <stdio.h>

#include "bounds.h"
#include "fill.h"
#include "flags.h"
#include "groups.h"
#include "hoist.h"
#include "lookup.h"
#include "mark.h"
#include "tally.h"

void instrument_emit_address(struct base_buf *out, const struct ptx_operand *address,
                             const char *into, uint32_t number, int64_t offset)
{
    const struct ptx_operand *base =
        address->kind == PTX_OPERAND_ADDRESS ? &address->elements[0] : address;
    bool narrow =
        base->kind == PTX_OPERAND_REG && ptx_type_info((enum ptx_type)base->reg->type)->bits == 32;
    struct ptx_operand plain = *base;
    char name[32];
    if (number == INSTRUMENT_NONE)
        snprintf(name, sizeof(name), "%s", into);
    else
        snprintf(name, sizeof(name), "%s%u", into, number);
    plain.flags &= (uint8_t)~PTX_OPERAND_OFFSET;
    base_buf_printf(out, "%s %s, ", narrow ? "cvt.u64.u32" : "mov.b64", name);
    ptx_print_operand(&plain, out);
    base_buf_puts(out, ";\n");
    if (address->kind == PTX_OPERAND_ADDRESS)
        offset += address->offset;
    if (offset)
        base_buf_printf(out, "add.s64 %s, %s, %lld;\n", name, name, (long long)offset);
}

void instrument_emit_unless(struct base_buf *out, const struct ptx_instr *instr, uint32_t past)
{
    if (instr->guard)
        base_buf_printf(out, "%s%s bra $glint$%u;\n", instr->guard_negated ? "@" : "@!",
                        instr->guard->name, past);
}

void instrument_emit_space_check(struct instrument_work *work, uint32_t past)
{
    FILL(&work->out, space_check, STRING(cluster, work->clusters ? "::cluster" : ""),
         NUMBER(past, past), NUMBER(param_addresses, work->param_addresses));
}

void instrument_emit_size(struct instrument_work *work, const struct instrument_probe *probe,
                          uint32_t past)
{
    struct base_buf *out = &work->out;
    const struct ptx_instr *instr = probe->site->instr;
    const struct ptx_operand *operand = &instr->operands[probe->size];
    if (operand->kind == PTX_OPERAND_REG && operand->reg->type == PTX_PRED) {
        base_buf_puts(out, operand->flags & PTX_OPERAND_NOT ? "@!" : "@");
        base_buf_printf(out, "%s bra $glint$%u;\n", operand->reg->name, past);
        operand = &instr->operands[2];
    }
    base_buf_puts(out, "mov.b32 %glint$r0, ");
    ptx_print_operand(operand, out);
    base_buf_printf(out,
                    ";\nsetp.eq.u32 %%glint$p0, %%glint$r0, 0;\n"
                    "@%%glint$p0 bra $glint$%u;\n",
                    past);
}

// --- Objects -------------------------------------------------------------------------------------

static void emit_touch(struct instrument_work *work, const struct instrument_body *body,
                       uint32_t kind)
{
    work->helpers |= HELPER_TOUCH;
    FILL(&work->out, touch, NUMBER(kind, kind), NUMBER(known, work->labels),
         NUMBER(kernel, body->kernel != NULL));
    work->labels++;
}

static void emit_object(struct instrument_work *work, const struct instrument_body *body,
                        const struct instrument_probe *probe, uint32_t past)
{
    if (probe->shape == SHAPE_SIZED)
        instrument_emit_size(work, probe, past);
    if (probe->how == HOW_ROOT) {
        if (probe->flag != INSTRUMENT_NONE)
            instrument_emit_flag(work, probe->flag);
        if (probe->bounded && !probe->walks)
            instrument_emit_bounds(work, probe);
        return;
    }
    instrument_emit_address(&work->out, probe->site->address, "%glint$a", INSTRUMENT_NONE, 0);
    if (probe->shape == SHAPE_MAPPED)
        base_buf_puts(&work->out, "ld.b64 %glint$a, [%glint$a];\n");
    if (probe->check_space)
        instrument_emit_space_check(work, past);
    for (uint32_t kind = 0; kind < 2; kind++) {
        if (instrument_kinds(probe->site) & 1u << kind)
            emit_touch(work, body, kind);
    }
}

// --- Elements ------------------------------------------------------------------------------------

// Looks up an access at the address in %glint$a, of %glint$r0 bytes.
static void emit_access(struct instrument_work *work, const struct instrument_body *body,
                        uint32_t kinds, uint32_t root)
{
    const size_t bits = root == INSTRUMENT_NONE
                            ? 0
                            : instrument_slot_offset(root) + offsetof(struct instrument_slot, bits);
    work->helpers |= HELPER_ACCESS;
    FILL(&work->out, access, NUMBER(kernel, body->kernel != NULL), NUMBER(bits, bits),
         NUMBER(what, instrument_access_word(root, kinds, 0)));
}

void instrument_emit_slow(struct instrument_work *work, const struct instrument_body *body,
                          const struct instrument_probe *probe)
{
    for (const struct instrument_probe *each = probe; each; each = instrument_next(body, each)) {
        instrument_emit_address(&work->out, each->site->address, "%glint$a", INSTRUMENT_NONE, 0);
        for (uint32_t at = 0; at < each->site->bytes; at += 16) {
            if (at)
                base_buf_puts(&work->out, "add.u64 %glint$a, %glint$a, 16;\n");
            base_buf_printf(&work->out, "mov.u32 %%glint$r0, %u;\n",
                            each->site->bytes < 16 ? each->site->bytes : 16);
            emit_access(work, body, instrument_kinds(each->site),
                        probe->how == HOW_ROOT ? probe->root : INSTRUMENT_NONE);
        }
    }
}

static void emit_element(struct instrument_work *work, const struct instrument_body *body,
                         const struct instrument_probe *probe, uint32_t past)
{
    struct base_buf *out = &work->out;
    const struct ptx_site *site = probe->site;
    if (probe->counts_itself)
        instrument_emit_tally(work, body, probe->tally);
    if (instrument_in_group(probe) && !probe->check_space) {
        instrument_emit_group(work, body, probe);
        return;
    }
    instrument_emit_address(out, site->address, "%glint$a", INSTRUMENT_NONE, 0);
    if (probe->check_space)
        instrument_emit_space_check(work, past);
    if (probe->shape == SHAPE_SIZED) {
        instrument_emit_size(work, probe, past);
        emit_access(work, body, instrument_kinds(site), INSTRUMENT_NONE);
    } else if (instrument_in_group(probe)) {
        instrument_emit_group(work, body, probe);
    } else if (probe->how == HOW_LOOKUP && site->bytes <= 16) {
        instrument_emit_lookup(work, body, probe);
    } else {
        instrument_emit_slow(work, body, probe);
    }
}

void instrument_emit_probe(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const struct ptx_instr *instr = probe->site->instr;
    if (probe->how == HOW_NOT || probe->joined || probe->held ||
        (!work->elements && probe->how == HOW_ROOT && probe->flag == INSTRUMENT_NONE &&
         (!probe->bounded || probe->walks)))
        return;
    if (probe->waits) {
        instrument_emit_waiting(work, probe);
        return;
    }
    uint32_t past = work->labels++;
    PUT(out, probe_registers);
    instrument_emit_unless(out, instr, past);
    if (work->elements)
        emit_element(work, body, probe, past);
    else
        emit_object(work, body, probe, past);
    base_buf_printf(out, "$glint$%u:\n}\n", past);
}
