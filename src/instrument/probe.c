// SPDX-License-Identifier: Apache-2.0
// The text of one site's probe, which stands at its instruction, in a scope of its own: whether the
// instruction is executed, its address, and then what the level asks for.
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

static void emit_object(struct instrument_work *work, const struct instrument_body *body,
                        const struct instrument_probe *probe, uint32_t past)
{
    if (probe->shape == SHAPE_SIZED)
        emit_size(work, probe, past);
    if (probe->how == HOW_ROOT) {
        instrument_emit_flag(work, probe->flag);
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

// An access that is looked up: %glint$a has its address, %glint$r0 its bytes. `count` lanes have
// one such, `step` bytes apart.
static void emit_access(struct instrument_work *work, const struct instrument_body *body,
                        uint32_t kinds, uint32_t root, uint32_t step, const char *count)
{
    struct base_buf *out = &work->out;
    work->helpers |= HELPER_ACCESS;
    base_buf_puts(out, "{\n.param .b64 glint$1;\n.param .b64 glint$2;\n.param .b64 glint$3;\n"
                       ".param .b32 glint$4;\n.param .b32 glint$5;\n.param .b32 glint$6;\n");
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
                    "st.param.b32 [glint$5], %u;\n"
                    "st.param.b32 [glint$6], %s;\n"
                    "call glint$access, (glint$1, glint$2, glint$3, glint$4, glint$5, glint$6);\n"
                    "}\n",
                    instrument_access_word(root, kinds, step), count);
}

// The way for what is not in the slot's object: all accesses that are marked here, each by itself.
static void emit_slow(struct instrument_work *work, const struct instrument_body *body,
                      const struct instrument_probe *probe, const char *count)
{
    int64_t at = probe->site->address->offset - (int64_t)probe->before;
    for (const struct instrument_probe *each = probe; each;
         each = each->next ? &body->probes[each->next - 1] : NULL) {
        uint32_t bytes = each->site->bytes < 16 ? each->site->bytes : 16;
        if (each->site->address->offset != at)
            base_buf_printf(&work->out, "add.s64 %%glint$a, %%glint$a, %lld;\n",
                            (long long)(each->site->address->offset - at));
        at = each->site->address->offset;
        base_buf_printf(&work->out, "mov.u32 %%glint$r0, %u;\n", bytes);
        emit_access(work, body, kinds_of(each->site), probe->root, probe->step, count);
    }
}

// A whole warp, as it takes to mark for all lanes by a step: %glint$full; and %glint$skip for all
// but its first lane. Holds for the rest of the block: who comes to its begin comes to its end.
static void emit_full(struct instrument_work *work, const struct instrument_body *body,
                      const struct instrument_probe *probe)
{
    bool once = !probe->site->instr->guard && !body->may_exit;
    if (once && work->full_block == probe->site->block + 1)
        return;
    work->full_block = once ? probe->site->block + 1 : 0;
    base_buf_printf(&work->out,
                    "activemask.b32 %%glint$r4;\n"
                    "ld.param.u32 %%glint$r5, [glint$context+%zu];\n"
                    "and.b32 %%glint$r5, %%glint$r5, %d;\n"
                    "setp.ne.u32 %%glint$full, %%glint$r5, 0;\n"
                    "setp.eq.and.u32 %%glint$full, %%glint$r4, -1, %%glint$full;\n"
                    "setp.ne.and.u32 %%glint$skip, %%glint$lane, 0, %%glint$full;\n",
                    offsetof(struct instrument_context, options), INSTRUMENT_ROWS);
}

// Past the label but for the first of the lanes that are here; r4 becomes their number.
static void emit_election(struct base_buf *out, uint32_t past)
{
    base_buf_printf(out,
                    "activemask.b32 %%glint$r4;\n"
                    "mov.u32 %%glint$r5, %%lanemask_lt;\n"
                    "and.b32 %%glint$r5, %%glint$r5, %%glint$r4;\n"
                    "setp.ne.u32 %%glint$p1, %%glint$r5, 0;\n"
                    "@%%glint$p1 bra $glint$%u;\n"
                    "popc.b32 %%glint$r4, %%glint$r4;\n",
                    past);
}

// Bits of all that a thread touches here, or of all that its warp does.
static void emit_bits(struct instrument_work *work, const struct instrument_body *body,
                      const struct instrument_probe *probe, const struct instrument_fields *slot,
                      uint32_t bytes, uint32_t done)
{
    struct base_buf *out = &work->out;
    uint32_t slow = work->labels++;
    uint32_t width = bytes < probe->site->bytes ? bytes : probe->before + probe->behind;
    // No element fits between what two lanes touch.
    bool leads = probe->lanes == LANES_STEP && probe->step < width + 4;
    uint32_t most = width + (leads ? 31 * probe->step : 0);
    const char *count = "1";
    if (leads) {
        emit_full(work, body, probe);
        base_buf_printf(out,
                        "@%%glint$skip bra $glint$%u;\n"
                        "selp.u32 %%glint$r6, %u, %u, %%glint$full;\n",
                        done, most - 1, width - 1);
    } else if (probe->lanes == LANES_ONE) {
        emit_election(out, done);
        base_buf_puts(out, "mov.u32 %glint$r7, %glint$r4;\n");
        count = "%glint$r7";
    }
    if (!leads)
        base_buf_printf(out, "mov.u32 %%glint$r6, %u;\n", width - 1);
    if (probe->before)
        base_buf_printf(out, "sub.u64 %%glint$a, %%glint$a, %u;\n", probe->before);
    instrument_emit_range(work, slot);
    base_buf_printf(out, "@!%%glint$p0 bra $glint$%u;\n", slow);
    if (leads || probe->next)
        instrument_emit_run(work, slot, most,
                            leads && !probe->check && probe->step ? LOOK_ALONE : LOOK_ALWAYS);
    else
        instrument_emit_mark(work, slot, bytes);
    base_buf_printf(out, "bra $glint$%u;\n$glint$%u:\n", done, slow);
    if (leads) {
        base_buf_puts(out, "selp.u32 %glint$r7, 32, 1, %glint$full;\n");
        count = "%glint$r7";
    }
    emit_slow(work, body, probe, count);
}

static void emit_counted(struct instrument_work *work, const struct instrument_body *body,
                         const struct instrument_probe *probe, const struct instrument_fields *slot,
                         uint32_t bytes, uint32_t done)
{
    struct base_buf *out = &work->out;
    uint32_t slow = work->labels++, alone = work->labels++;
    uint32_t element = body->kernel->roots[probe->root].element_bytes;
    bool steps = probe->lanes == LANES_STEP && bytes == probe->site->bytes;
    if (steps && (!probe->step || probe->step == bytes))
        emit_full(work, body, probe);
    if (steps && probe->step == bytes)
        instrument_emit_whole_words(
            work, slot, bytes, element <= 4 ? 2 : (uint32_t)__builtin_ctz(element), alone, done);
    base_buf_printf(out, "mov.u32 %%glint$r6, %u;\n", bytes - 1);
    instrument_emit_range(work, slot);
    base_buf_printf(out, "@!%%glint$p0 bra $glint$%u;\n", slow);
    if (probe->lanes == LANES_ONE) {
        emit_election(out, done);
        instrument_emit_count_of_all(work, slot, bytes);
    } else if (steps && !probe->step) {
        base_buf_printf(out,
                        "@!%%glint$full bra $glint$%u;\n"
                        "@%%glint$skip bra $glint$%u;\n"
                        "mov.u32 %%glint$r4, 32;\n",
                        alone, done);
        instrument_emit_count_of_all(work, slot, bytes);
        base_buf_printf(out, "bra $glint$%u;\n$glint$%u:\n", done, alone);
        instrument_emit_mark(work, slot, bytes);
    } else {
        base_buf_printf(out, "$glint$%u:\n", alone);
        instrument_emit_mark(work, slot, bytes);
    }
    base_buf_printf(out, "bra $glint$%u;\n$glint$%u:\n", done, slow);
    emit_slow(work, body, probe, "1");
}

static void emit_rooted(struct instrument_work *work, const struct instrument_body *body,
                        const struct instrument_probe *probe, uint32_t bytes)
{
    struct instrument_fields slot = {"ld.param", "glint$context",
                                     instrument_slot_offset(probe->root)};
    uint32_t done = work->labels++;
    if (work->counts)
        emit_counted(work, body, probe, &slot, bytes, done);
    else
        emit_bits(work, body, probe, &slot, bytes, done);
    base_buf_printf(&work->out, "$glint$%u:\n", done);
}

// Whether all of an access is in the entry at hand: p0; d0 and d1 are the distances of its first
// and last byte from the object's first.
static void emit_at_hand(struct base_buf *out, uint32_t width)
{
    base_buf_printf(out,
                    "sub.u64 %%glint$d0, %%glint$a, %%glint$f;\n"
                    "add.u64 %%glint$d1, %%glint$d0, %u;\n"
                    "setp.lt.u64 %%glint$p0, %%glint$d0, %%glint$x;\n"
                    "setp.lt.and.u64 %%glint$p0, %%glint$d1, %%glint$x, %%glint$p0;\n",
                    width - 1);
}

// An address of no root: the entry at hand first, then the table.
static void emit_looked_up(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *probe, uint32_t bytes)
{
    struct base_buf *out = &work->out;
    uint32_t inside = new_label(work), slow = new_label(work), done = new_label(work);
    uint32_t width = bytes < probe->site->bytes ? bytes : probe->before + probe->behind;
    work->helpers |= HELPER_ENTER | HELPER_LEAVE;
    if (probe->before)
        base_buf_printf(out, "sub.u64 %%glint$a, %%glint$a, %u;\n", probe->before);
    emit_at_hand(out, width);
    base_buf_printf(out, "@%%glint$p0 bra $glint$%u;\n", inside);
    emit_table(out, body, "%glint$d0");
    base_buf_puts(out, "{\n.param .b64 glint$1;\n.param .b64 glint$2;\n.param .b64 glint$3;\n"
                       ".param .b64 glint$4;\n.param .b64 glint$5;\n"
                       ".param .align 8 .b8 glint$0[48];\n"
                       "st.param.b64 [glint$1], %glint$d0;\n"
                       "st.param.b64 [glint$2], %glint$a;\n"
                       "st.param.b64 [glint$3], %glint$e;\n"
                       "st.param.b64 [glint$4], %glint$m0;\n"
                       "st.param.b64 [glint$5], %glint$m1;\n"
                       "call (glint$0), glint$enter, (glint$1, glint$2, glint$3, glint$4, "
                       "glint$5);\n"
                       "ld.param.b64 %glint$e, [glint$0];\n"
                       "ld.param.b64 %glint$f, [glint$0+16];\n"
                       "ld.param.b64 %glint$x, [glint$0+24];\n");
    base_buf_puts(out, work->counts ? "ld.param.b64 %glint$s, [glint$0+8];\n}\n"
                                    : "ld.param.b64 %glint$bits, [glint$0+32];\n"
                                      "ld.param.b32 %glint$shift, [glint$0+40];\n"
                                      "ld.param.b32 %glint$before, [glint$0+44];\n}\n");
    base_buf_puts(out, "mov.u64 %glint$m0, 0;\nmov.u64 %glint$m1, 0;\n");
    emit_at_hand(out, width);
    base_buf_printf(out, "@!%%glint$p0 bra $glint$%u;\n$glint$%u:\n", slow, inside);
    if (work->counts) {
        struct instrument_fields slot = {"ld.global", "%glint$s", 0};
        base_buf_printf(out,
                        "ld.global.u64 %%glint$d0, [%%glint$s+%zu];\n"
                        "sub.u64 %%glint$d0, %%glint$a, %%glint$d0;\n",
                        offsetof(struct instrument_slot, base));
        instrument_emit_mark(work, &slot, bytes);
    } else {
        struct instrument_fields slot = {0};
        base_buf_puts(out, "cvt.u64.u32 %glint$d2, %glint$before;\n"
                           "add.u64 %glint$d0, %glint$d0, %glint$d2;\n"
                           "add.u64 %glint$d1, %glint$d1, %glint$d2;\n");
        // Who follows pointers seldom comes to a place again.
        instrument_emit_run(work, &slot, width,
                            probe->site->kind == PTX_SITE_INDIRECT ? LOOK_NEVER : LOOK_ALWAYS);
    }
    for (uint32_t kind = 0; kind < 2; kind++) {
        uint32_t moved = 0;
        for (const struct instrument_probe *each = probe; each;
             each = each->next ? &body->probes[each->next - 1] : NULL)
            moved += kinds_of(each->site) & 1u << kind
                         ? each->site->bytes < 16 ? each->site->bytes : 16
                         : 0;
        if (moved)
            base_buf_printf(out, "add.u64 %%glint$m%u, %%glint$m%u, %u;\n", kind, kind, moved);
    }
    base_buf_printf(out, "bra $glint$%u;\n$glint$%u:\n", done, slow);
    emit_slow(work, body, probe, "1");
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
        emit_access(work, body, kinds_of(site), INSTRUMENT_NONE, 0, "1");
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
        instrument_emit_waiting(work, probe);
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
