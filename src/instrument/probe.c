// SPDX-License-Identifier: Apache-2.0
// The text of one site's probe, which stands just before its instruction, in a scope of its own:
// whether the instruction is executed, its address, and then what the level asks for.
#include <stddef.h>

#include "work.h"

static uint32_t new_label(struct instrument_work *work)
{
    return work->labels++;
}

static uint32_t kinds_of(const struct ptx_site *site)
{
    return site->access == PTX_ACCESS_LOAD ? 1 : site->access == PTX_ACCESS_STORE ? 2 : 3;
}

// The address into %glint$a.
static void emit_address(struct base_buf *out, const struct ptx_operand *address)
{
    const struct ptx_operand *base =
        address->kind == PTX_OPERAND_ADDRESS ? &address->elements[0] : address;
    bool narrow =
        base->kind == PTX_OPERAND_REG && ptx_type_info((enum ptx_type)base->reg->type)->bits == 32;
    struct ptx_operand plain = *base;
    plain.flags &= (uint8_t)~PTX_OPERAND_OFFSET;
    base_buf_puts(out, narrow ? "cvt.u64.u32 %glint$a, " : "mov.b64 %glint$a, ");
    ptx_print_operand(&plain, out);
    base_buf_puts(out, ";\n");
    if (address->kind == PTX_OPERAND_ADDRESS && address->offset)
        base_buf_printf(out, "add.s64 %%glint$a, %%glint$a, %lld;\n", (long long)address->offset);
}

// Where the table is, into a register.
static void emit_table(struct base_buf *out, const struct instrument_body *body, const char *into)
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
    uint32_t known = new_label(work);
    work->helpers |= HELPER_TOUCH;
    base_buf_printf(out,
                    "sub.u64 %%glint$d0, %%glint$a, %%glint$f%u;\n"
                    "setp.lt.u64 %%glint$p0, %%glint$d0, %%glint$x%u;\n"
                    "@%%glint$p0 bra $glint$%u;\n",
                    kind, kind, known);
    emit_table(out, body, "%glint$d0");
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

void instrument_emit_flag(struct instrument_work *work, const struct instrument_body *body,
                          uint32_t flag)
{
    base_buf_printf(
        &work->out,
        "{\n.reg .pred %%glint$p0;\n.reg .b16 %%glint$h;\n.reg .b32 %%glint$r0;\n.reg .b64 "
        "%%glint$d0;\n"
        "ld.param.u64 %%glint$d0, [glint$context+%zu];\n"
        "mov.u32 %%glint$r0, %%smid;\n"
        "and.b32 %%glint$r0, %%glint$r0, %u;\n"
        "mad.wide.u32 %%glint$d0, %%glint$r0, %u, %%glint$d0;\n"
        "ld.global.u8 %%glint$h, [%%glint$d0+%u];\n"
        "setp.eq.u16 %%glint$p0, %%glint$h, 0;\n"
        "mov.u16 %%glint$h, 1;\n"
        "@%%glint$p0 st.global.u8 [%%glint$d0+%u], %%glint$h;\n}\n",
        offsetof(struct instrument_context, flags), INSTRUMENT_FLAG_ROWS - 1,
        body->kernel->flag_row_bytes, flag, flag);
}
_Static_assert((INSTRUMENT_FLAG_ROWS & (INSTRUMENT_FLAG_ROWS - 1)) == 0, "taken by a mask");

static void emit_object(struct instrument_work *work, const struct instrument_body *body,
                        const struct instrument_probe *probe, uint32_t past)
{
    if (probe->shape == SHAPE_SIZED)
        emit_size(work, probe, past);
    if (probe->how == HOW_ROOT) {
        instrument_emit_flag(work, body, probe->flag);
        return;
    }
    emit_address(&work->out, probe->site->address);
    if (probe->check_space)
        emit_space_check(work, past);
    for (uint32_t kind = 0; kind < 2; kind++) {
        if (kinds_of(probe->site) & 1u << kind)
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
                       ".param .b32 glint$4;\n.param .b32 glint$5;\n");
    emit_table(out, body, "%glint$d1");
    base_buf_puts(out, "st.param.b64 [glint$1], %glint$d1;\n"
                       "st.param.b64 [glint$2], %glint$a;\n");
    if (root == INSTRUMENT_NONE)
        base_buf_puts(out, "st.param.b64 [glint$3], 0;\n");
    else
        base_buf_printf(out,
                        "ld.param.u64 %%glint$d1, [glint$context+%zu];\n"
                        "st.param.b64 [glint$3], %%glint$d1;\n",
                        instrument_slot_offset(root) + offsetof(struct instrument_slot, base));
    base_buf_printf(out,
                    "st.param.b32 [glint$4], %%glint$r0;\n"
                    "st.param.b32 [glint$5], %d;\n"
                    "call glint$access, (glint$1, glint$2, glint$3, glint$4, glint$5);\n}\n",
                    root == INSTRUMENT_NONE ? (int)kinds - 4 : (int)(root * 4 + kinds));
}

// The way for what is not as expected: of all accesses that are marked here, each by itself.
static void emit_slow(struct instrument_work *work, const struct instrument_body *body,
                      const struct instrument_probe *probe, uint32_t bytes)
{
    int64_t at = probe->site->address->offset;
    for (const struct instrument_probe *each = probe; each;
         each = each->next ? &body->probes[each->next - 1] : NULL) {
        if (each != probe)
            base_buf_printf(&work->out, "add.s64 %%glint$a, %%glint$a, %lld;\n",
                            (long long)(each->site->address->offset - at));
        at = each->site->address->offset;
        base_buf_printf(&work->out, "mov.u32 %%glint$r0, %u;\n", bytes);
        emit_access(work, body, kinds_of(each->site), probe->root);
    }
}

static void emit_rooted(struct instrument_work *work, const struct instrument_body *body,
                        const struct instrument_probe *probe, uint32_t bytes)
{
    struct base_buf *out = &work->out;
    struct instrument_fields slot = {"ld.param", "glint$context",
                                     instrument_slot_offset(probe->root)};
    uint32_t slow = new_label(work), done = new_label(work);
    bool is_run = probe->guess == GUESS_RUN && bytes == probe->site->bytes;
    // The object begins `lead` bytes behind the base.
    base_buf_printf(out,
                    "ld.param.u64 %%glint$d0, [glint$context+%zu];\n"
                    "sub.u64 %%glint$d0, %%glint$a, %%glint$d0;\n"
                    "ld.param.u32 %%glint$r0, [glint$context+%zu];\n"
                    "cvt.u64.u32 %%glint$d2, %%glint$r0;\n"
                    "ld.param.u64 %%glint$d3, [glint$context+%zu];\n"
                    "sub.u64 %%glint$d3, %%glint$d3, %%glint$d2;\n"
                    "sub.u64 %%glint$d1, %%glint$d0, %%glint$d2;\n",
                    slot.offset + offsetof(struct instrument_slot, base),
                    slot.offset + offsetof(struct instrument_slot, lead),
                    slot.offset + offsetof(struct instrument_slot, bytes));
    if (probe->before)
        base_buf_printf(out, "sub.u64 %%glint$d1, %%glint$d1, %u;\n", probe->before);
    base_buf_puts(out, "setp.lt.u64 %glint$p0, %glint$d1, %glint$d3;\n");
    if (probe->before || probe->behind > probe->site->bytes)
        base_buf_printf(out,
                        "add.u64 %%glint$d1, %%glint$d1, %u;\n"
                        "setp.lt.and.u64 %%glint$p0, %%glint$d1, %%glint$d3, %%glint$p0;\n",
                        probe->before + probe->behind - 1);
    if (is_run) {
        uint32_t no = new_label(work), marks = new_label(work);
        uint32_t element = body->kernel->roots[probe->root].element_bytes;
        instrument_emit_run(work, &slot, probe, element <= 4 ? 2 : (uint32_t)__builtin_ctz(element),
                            no, done);
        if (work->counts) {
            base_buf_printf(out, "$glint$%u:\n", no);
        } else {
            // Each lane for itself, where it does touch all bytes of its part.
            base_buf_printf(out, "bra $glint$%u;\n$glint$%u:\n", marks, no);
            if (probe->gaps)
                base_buf_printf(out, "bra $glint$%u;\n", slow);
            else
                base_buf_printf(out,
                                "@!%%glint$p0 bra $glint$%u;\n"
                                "sub.u64 %%glint$d4, %%glint$d0, %u;\n"
                                "mov.u32 %%glint$r1, %u;\n",
                                slow, probe->before, probe->before + probe->behind);
            base_buf_printf(out, "$glint$%u:\n", marks);
            instrument_emit_marks(work, &slot, done);
        }
    }
    if (!is_run || work->counts) {
        base_buf_printf(out, "@!%%glint$p0 bra $glint$%u;\n", slow);
        instrument_emit_mark(work, &slot, bytes, (enum instrument_guess)probe->guess, done);
        base_buf_printf(out, "bra $glint$%u;\n", done);
    }
    base_buf_printf(out, "$glint$%u:\n", slow);
    emit_slow(work, body, probe, bytes);
    base_buf_printf(out, "$glint$%u:\n", done);
}

// An address of no root: the entry at hand first, then the table.
static void emit_looked_up(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *probe, uint32_t bytes)
{
    struct base_buf *out = &work->out;
    struct instrument_fields slot = {"ld.global", "%glint$s", 0};
    uint32_t inside = new_label(work), done = new_label(work), kinds = kinds_of(probe->site);
    work->helpers |= HELPER_ENTER | HELPER_LEAVE;
    base_buf_printf(out,
                    "sub.u64 %%glint$d0, %%glint$a, %%glint$f;\n"
                    "setp.lt.u64 %%glint$p0, %%glint$d0, %%glint$x;\n"
                    "@%%glint$p0 bra $glint$%u;\n",
                    inside);
    emit_table(out, body, "%glint$d0");
    base_buf_printf(out,
                    "{\n.param .b64 glint$1;\n.param .b64 glint$2;\n.param .b64 glint$3;\n"
                    ".param .b64 glint$4;\n.param .b64 glint$5;\n"
                    ".param .align 8 .b8 glint$0[32];\n"
                    "st.param.b64 [glint$1], %%glint$d0;\n"
                    "st.param.b64 [glint$2], %%glint$a;\n"
                    "st.param.b64 [glint$3], %%glint$e;\n"
                    "st.param.b64 [glint$4], %%glint$m0;\n"
                    "st.param.b64 [glint$5], %%glint$m1;\n"
                    "call (glint$0), glint$enter, (glint$1, glint$2, glint$3, glint$4, glint$5);\n"
                    "ld.param.b64 %%glint$e, [glint$0];\n"
                    "ld.param.b64 %%glint$s, [glint$0+8];\n"
                    "ld.param.b64 %%glint$f, [glint$0+16];\n"
                    "ld.param.b64 %%glint$x, [glint$0+24];\n}\n"
                    "mov.u64 %%glint$m0, 0;\nmov.u64 %%glint$m1, 0;\n"
                    "setp.eq.u64 %%glint$p0, %%glint$e, 0;\n"
                    "@%%glint$p0 bra $glint$%u;\n$glint$%u:\n",
                    done, inside);
    base_buf_printf(out,
                    "ld.global.u64 %%glint$d0, [%%glint$s+%zu];\n"
                    "sub.u64 %%glint$d0, %%glint$a, %%glint$d0;\n",
                    offsetof(struct instrument_slot, base));
    instrument_emit_mark(work, &slot, bytes, GUESS_NOTHING, done);
    for (uint32_t kind = 0; kind < 2; kind++) {
        if (kinds & 1u << kind)
            base_buf_printf(out, "add.u64 %%glint$m%u, %%glint$m%u, %u;\n", kind, kind, bytes);
    }
    base_buf_printf(out, "$glint$%u:\n", done);
}

static void emit_element(struct instrument_work *work, const struct instrument_body *body,
                         const struct instrument_probe *probe, uint32_t past)
{
    struct base_buf *out = &work->out;
    const struct ptx_site *site = probe->site;
    if (probe->counts_itself)
        base_buf_printf(out, "add.u32 %%glint$n%u, %%glint$n%u, 1;\n", probe->tally, probe->tally);
    emit_address(out, site->address);
    if (probe->check_space)
        emit_space_check(work, past);
    if (probe->shape == SHAPE_SIZED) {
        emit_size(work, probe, past);
        emit_access(work, body, kinds_of(site), INSTRUMENT_NONE);
        return;
    }
    for (uint32_t at = 0; at < site->bytes; at += 16) {
        uint32_t bytes = site->bytes < 16 ? site->bytes : 16;
        if (at)
            base_buf_puts(out, "add.u64 %glint$a, %glint$a, 16;\n");
        if (probe->how == HOW_ROOT)
            emit_rooted(work, body, probe, bytes);
        else
            emit_looked_up(work, body, probe, bytes);
    }
}

// An access that is marked where its loop is left, unless that cannot be.
static void emit_waiting(struct instrument_work *work, const struct instrument_body *body,
                         const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    if (probe->keeps)
        base_buf_printf(out, "mov.b64 %%glint$l%u, %s;\n", probe->kept,
                        probe->site->address->elements[0].reg->name);
    if (!body->doubts[probe->root].exists)
        return;
    uint32_t past = new_label(work);
    base_buf_printf(out,
                    "@!%%glint$b%u bra $glint$%u;\n"
                    "{\n.reg .b32 %%glint$r0;\n.reg .b64 %%glint$a, %%glint$d1;\n",
                    probe->root, past);
    emit_address(out, probe->site->address);
    base_buf_printf(out, "mov.u32 %%glint$r0, %u;\n", probe->site->bytes);
    emit_access(work, body, kinds_of(probe->site), probe->root);
    base_buf_printf(out, "}\n$glint$%u:\n", past);
}

void instrument_emit_leave(struct instrument_work *work, const struct instrument_body *body)
{
    struct base_buf *out = &work->out;
    if (!work->elements || !body->looks_up)
        return;
    work->helpers |= HELPER_LEAVE;
    base_buf_puts(out, "{\n.reg .b64 %glint$d0;\n");
    emit_table(out, body, "%glint$d0");
    base_buf_puts(out, ".param .b64 glint$1;\n.param .b64 glint$2;\n.param .b64 glint$3;\n"
                       ".param .b64 glint$4;\n"
                       "st.param.b64 [glint$1], %glint$d0;\n"
                       "st.param.b64 [glint$2], %glint$e;\n"
                       "st.param.b64 [glint$3], %glint$m0;\n"
                       "st.param.b64 [glint$4], %glint$m1;\n"
                       "call glint$leave, (glint$1, glint$2, glint$3, glint$4);\n}\n");
}

void instrument_emit_probe(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const struct ptx_instr *instr = probe->site->instr;
    if (probe->how == HOW_NOT || probe->joined ||
        (!work->elements && probe->how == HOW_ROOT && probe->flag == INSTRUMENT_NONE))
        return;
    if (probe->waits) {
        emit_waiting(work, body, probe);
        return;
    }
    uint32_t past = new_label(work);
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
