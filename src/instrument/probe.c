// SPDX-License-Identifier: Apache-2.0
// The text of one site's probe, which stands at its instruction, in a scope of its own: whether the
// instruction is executed, its address, and then what the level asks for.
#include <stddef.h>
#include <stdio.h>

#include "work.h"

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

void instrument_emit_table(struct base_buf *out, const struct instrument_body *body,
                           const char *into)
{
    if (body->kernel)
        base_buf_printf(out, "ld.param.u64 %s, [glint$context+%zu];\n", into,
                        offsetof(struct instrument_context, table));
    else
        base_buf_printf(out, "ld.param.u64 %s, [glint$table];\n", into);
}

// Past the label where the address is in a space that has no objects.
static void emit_space_check(struct instrument_work *work, uint32_t past)
{
    struct base_buf *out = &work->out;
    static const char *const spaces[] = {"shared", "local", "const"};
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
        base_buf_printf(out,
                        "isspacep.%s%s %%glint$p0, %%glint$a;\n"
                        "@%%glint$p0 bra $glint$%u;\n",
                        spaces[i], i == 0 && work->clusters ? "::cluster" : "", past);
    if (work->param_addresses)
        base_buf_printf(out,
                        "isspacep.param::entry %%glint$p0, %%glint$a;\n"
                        "@%%glint$p0 bra $glint$%u;\n",
                        past);
}

// The bytes that an instruction of no fixed size touches, into %glint$r0; past the label where
// there are none.
static void emit_size(struct instrument_work *work, const struct instrument_probe *probe,
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
    struct base_buf *out = &work->out;
    uint32_t known = work->labels++;
    work->helpers |= HELPER_TOUCH;
    base_buf_printf(out,
                    "sub.u64 %%glint$d0, %%glint$a, %%glint$f%u;\n"
                    "setp.lt.u64 %%glint$p0, %%glint$d0, %%glint$x%u;\n"
                    "@%%glint$p0 bra $glint$%u;\n",
                    kind, kind, known);
    instrument_emit_table(out, body, "%glint$d0");
    base_buf_printf(out,
                    "{\n.param .b64 glint$1;\n.param .b64 glint$2;\n.param .b32 glint$3;\n"
                    ".param .align 8 .b8 glint$0[16];\n"
                    "st.param.b64 [glint$1], %%glint$d0;\n"
                    "st.param.b64 [glint$2], %%glint$a;\n"
                    "st.param.b32 [glint$3], %u;\n"
                    "call (glint$0), glint$touch, (glint$1, glint$2, glint$3);\n"
                    "ld.param.b64 %%glint$f%u, [glint$0];\n"
                    "ld.param.b64 %%glint$x%u, [glint$0+8];\n}\n"
                    "$glint$%u:\n",
                    kind, kind, kind, known);
}

static void emit_object(struct instrument_work *work, const struct instrument_body *body,
                        const struct instrument_probe *probe, uint32_t past)
{
    if (probe->shape == SHAPE_SIZED)
        emit_size(work, probe, past);
    if (probe->how == HOW_ROOT) {
        if (probe->flag != INSTRUMENT_NONE)
            instrument_emit_flag(work, probe->flag);
        if (probe->bounded && !probe->walks)
            instrument_emit_bounds(work, probe);
        return;
    }
    instrument_emit_address(&work->out, probe->site->address, "%glint$a", INSTRUMENT_NONE, 0);
    if (probe->check_space)
        emit_space_check(work, past);
    for (uint32_t kind = 0; kind < 2; kind++) {
        if (instrument_kinds(probe->site) & 1u << kind)
            emit_touch(work, body, kind);
    }
}

// --- Elements ------------------------------------------------------------------------------------

// An access that is looked up: %glint$a has its address, %glint$r0 its bytes.
static void emit_access(struct instrument_work *work, const struct instrument_body *body,
                        uint32_t kinds, uint32_t root)
{
    struct base_buf *out = &work->out;
    work->helpers |= HELPER_ACCESS;
    base_buf_puts(out, "{\n.param .b64 glint$1;\n.param .b64 glint$2;\n.param .b64 glint$3;\n"
                       ".param .b32 glint$4;\n.param .b32 glint$5;\n.param .b32 glint$6;\n");
    instrument_emit_table(out, body, "%glint$d0");
    base_buf_puts(out, "st.param.b64 [glint$1], %glint$d0;\n"
                       "st.param.b64 [glint$2], %glint$a;\n");
    if (root == INSTRUMENT_NONE)
        base_buf_puts(out, "st.param.b64 [glint$3], 0;\n");
    else
        base_buf_printf(out,
                        "ld.param.u64 %%glint$d0, [glint$context+%zu];\n"
                        "st.param.b64 [glint$3], %%glint$d0;\n",
                        instrument_slot_offset(root) + offsetof(struct instrument_slot, bits));
    base_buf_printf(out,
                    "st.param.b32 [glint$4], %%glint$r0;\n"
                    "st.param.b32 [glint$5], %u;\n"
                    "st.param.b32 [glint$6], 1;\n"
                    "call glint$access, (glint$1, glint$2, glint$3, glint$4, glint$5, glint$6);\n"
                    "}\n",
                    instrument_access_word(root, kinds, 0));
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
        emit_space_check(work, past);
    if (probe->shape == SHAPE_SIZED) {
        emit_size(work, probe, past);
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
    base_buf_puts(out, "{\n.reg .pred %glint$p<3>;\n.reg .b32 %glint$r<8>;\n"
                       ".reg .b64 %glint$a, %glint$d<5>;\n");
    if (instr->guard)
        base_buf_printf(out, "%s%s bra $glint$%u;\n", instr->guard_negated ? "@" : "@!",
                        instr->guard->name, past);
    if (work->elements)
        emit_element(work, body, probe, past);
    else
        emit_object(work, body, probe, past);
    base_buf_printf(out, "$glint$%u:\n}\n", past);
}
