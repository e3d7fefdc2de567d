// SPDX-License-Identifier: Apache-2.0
// The text for an access whose address comes from no root: the entry at hand first, then the table.
// What a thread moves in the entry at hand is added up in registers, and told when it goes over to
// another or ends.
//
// Registers of the clone: e the number of the entry at hand, f its first byte and x how many it has
// from there on, bits, counts, shift and ahead as in its slot and view, m0 and m1 the bytes read
// and written. Of the probe's scope: a the address, d0 its distance from f, d1 that of the last
// byte.
#include <stddef.h>

#include "work.h"

// Whether all of an access is in the entry at hand: p0.
static void emit_at_hand(struct base_buf *out, uint32_t width)
{
    base_buf_printf(out,
                    "sub.u64 %%glint$d0, %%glint$a, %%glint$f;\n"
                    "add.u64 %%glint$d1, %%glint$d0, %u;\n"
                    "setp.lt.u64 %%glint$p0, %%glint$d0, %%glint$x;\n"
                    "setp.lt.and.u64 %%glint$p0, %%glint$d1, %%glint$x, %%glint$p0;\n",
                    width - 1);
}

static void emit_enter(struct instrument_work *work, const struct instrument_body *body)
{
    struct base_buf *out = &work->out;
    work->helpers |= HELPER_ENTER | HELPER_LEAVE;
    instrument_emit_table(out, body, "%glint$d0");
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
                       "ld.param.b64 %glint$f, [glint$0+8];\n"
                       "ld.param.b64 %glint$x, [glint$0+16];\n"
                       "ld.param.b64 %glint$bits, [glint$0+24];\n"
                       "ld.param.b32 %glint$shift, [glint$0+40];\n"
                       "ld.param.b32 %glint$before, [glint$0+44];\n");
    if (work->counts)
        base_buf_puts(out, "ld.param.b64 %glint$counts, [glint$0+32];\n");
    base_buf_puts(out, "}\nmov.u64 %glint$m0, 0;\nmov.u64 %glint$m1, 0;\n");
}

// The first element into r1, and the last into r2, where it can be another.
static void emit_elements(struct base_buf *out, bool many)
{
    base_buf_puts(out, "cvt.u64.u32 %glint$d2, %glint$before;\n"
                       "add.u64 %glint$d0, %glint$d0, %glint$d2;\n"
                       "shr.u64 %glint$d0, %glint$d0, %glint$shift;\n"
                       "cvt.u32.u64 %glint$r1, %glint$d0;\n");
    if (many)
        base_buf_puts(out, "add.u64 %glint$d1, %glint$d1, %glint$d2;\n"
                           "shr.u64 %glint$d1, %glint$d1, %glint$shift;\n"
                           "cvt.u32.u64 %glint$r2, %glint$d1;\n");
    base_buf_puts(out, "shr.u64 %glint$d0, %glint$d0, 5;\n"
                       "shl.b64 %glint$d0, %glint$d0, 2;\n"
                       "add.u64 %glint$d0, %glint$d0, %glint$bits;\n");
}

// The bits from the first element's on, up to the last one's, of which some may be in the next
// word. Who follows pointers seldom comes to a place again: no need to look.
static void emit_bits(struct base_buf *out, bool many, bool look)
{
    if (many)
        base_buf_puts(out, "sub.u32 %glint$r2, %glint$r2, %glint$r1;\n"
                           "shl.b32 %glint$r2, -2, %glint$r2;\n"
                           "not.b32 %glint$r2, %glint$r2;\n"
                           "shf.l.wrap.b32 %glint$r3, 0, %glint$r2, %glint$r1;\n"
                           "shf.l.wrap.b32 %glint$r2, %glint$r2, 0, %glint$r1;\n"
                           "setp.ne.u32 %glint$p1, %glint$r2, 0;\n"
                           "@%glint$p1 red.global.or.b32 [%glint$d0+4], %glint$r2;\n");
    else
        base_buf_puts(out, "shf.l.wrap.b32 %glint$r3, 0, 1, %glint$r1;\n");
    if (look)
        base_buf_puts(out, "ld.global.u32 %glint$r2, [%glint$d0];\n"
                           "not.b32 %glint$r2, %glint$r2;\n"
                           "and.b32 %glint$r2, %glint$r2, %glint$r3;\n"
                           "setp.ne.u32 %glint$p1, %glint$r2, 0;\n"
                           "@%glint$p1 red.global.or.b32 [%glint$d0], %glint$r3;\n");
    else
        base_buf_puts(out, "red.global.or.b32 [%glint$d0], %glint$r3;\n");
}

// The elements of one access lie in one word: they are four at most.
static void emit_counts(struct base_buf *out, uint32_t bytes)
{
    base_buf_puts(out, "ld.global.u32 %glint$r3, [%glint$d0];\n"
                       "setp.ge.s32 %glint$p1, %glint$r3, 0;\n"
                       "@%glint$p1 red.global.or.b32 [%glint$d0], 0x80000000;\n"
                       "mad.wide.u32 %glint$d0, %glint$r1, 4, %glint$counts;\n"
                       "red.global.add.u32 [%glint$d0], 1;\n");
    if (bytes > 4)
        base_buf_puts(out, "sub.u32 %glint$r2, %glint$r2, %glint$r1;\n");
    for (uint32_t i = 1; i < bytes / 4; i++)
        base_buf_printf(out,
                        "setp.ge.u32 %%glint$p1, %%glint$r2, %u;\n"
                        "@%%glint$p1 red.global.add.u32 [%%glint$d0+%u], 1;\n",
                        i, 4 * i);
}

void instrument_emit_lookup(struct instrument_work *work, const struct instrument_body *body,
                            const struct instrument_probe *probe)
{
    struct base_buf *out = &work->out;
    const uint32_t inside = work->labels++, slow = work->labels++, done = work->labels++;
    const uint32_t width = probe->before + probe->behind;
    const bool many = width > 4;
    if (probe->before)
        base_buf_printf(out, "sub.u64 %%glint$a, %%glint$a, %u;\n", probe->before);
    emit_at_hand(out, width);
    base_buf_printf(out, "@%%glint$p0 bra $glint$%u;\n", inside);
    emit_enter(work, body);
    emit_at_hand(out, width);
    base_buf_printf(out, "@!%%glint$p0 bra $glint$%u;\n$glint$%u:\n", slow, inside);
    emit_elements(out, many);
    if (work->counts)
        emit_counts(out, width);
    else
        emit_bits(out, many, probe->site->kind != PTX_SITE_INDIRECT);
    for (uint32_t kind = 0; kind < 2; kind++) {
        uint32_t moved = 0;
        for (const struct instrument_probe *each = probe; each; each = instrument_next(body, each))
            moved += instrument_kinds(each->site) & 1u << kind ? each->site->bytes : 0;
        if (moved)
            base_buf_printf(out, "add.u64 %%glint$m%u, %%glint$m%u, %u;\n", kind, kind, moved);
    }
    base_buf_printf(out, "bra $glint$%u;\n$glint$%u:\n", done, slow);
    instrument_emit_slow(work, body, probe);
    base_buf_printf(out, "$glint$%u:\n", done);
}

void instrument_emit_leave(struct instrument_work *work, const struct instrument_body *body)
{
    struct base_buf *out = &work->out;
    if (!work->elements || !body->looks_up)
        return;
    work->helpers |= HELPER_LEAVE;
    base_buf_puts(out, "{\n.reg .b64 %glint$d0;\n");
    instrument_emit_table(out, body, "%glint$d0");
    base_buf_puts(out, ".param .b64 glint$1;\n.param .b64 glint$2;\n.param .b64 glint$3;\n"
                       ".param .b64 glint$4;\n"
                       "st.param.b64 [glint$1], %glint$d0;\n"
                       "st.param.b64 [glint$2], %glint$e;\n"
                       "st.param.b64 [glint$3], %glint$m0;\n"
                       "st.param.b64 [glint$4], %glint$m1;\n"
                       "call glint$leave, (glint$1, glint$2, glint$3, glint$4);\n}\n");
}
