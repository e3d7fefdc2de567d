// SPDX-License-Identifier: Apache-2.0
// The text that marks the elements that an access of 1 to 16 aligned bytes touches: they lie in one
// word. It stands at every access, so it is kept short: one way for what the analysis expects, and
// glint$access for the rest.
//
// Where many threads mark the same words, they look first, through the cache: bits are only ever
// set, so an old copy costs an operation too much and nothing else. Lanes of a warp help each other
// where what they do turns out to fit. Nothing is taken for granted there: they compare their
// addresses.
//
// Registers of the probe's scope: a the address, d0 its distance from the slot's base, p0 whether
// it is in the object; then d1 the element, d2 the word's address, r2 the access's bits in it, r3
// the same from bit 0 on.
#include <stddef.h>

#include "work.h"

static void emit_field(struct base_buf *out, const struct instrument_fields *slot, const char *type,
                       const char *into, size_t offset)
{
    base_buf_printf(out, "%s.%s %s, [%s+%zu];\n", slot->from, type, into, slot->base,
                    slot->offset + offset);
}

// Adds to the counters of the access's elements.
static void emit_counts(struct base_buf *out, const struct instrument_fields *slot, uint32_t bytes)
{
    emit_field(out, slot, "u64", "%glint$d2", offsetof(struct instrument_slot, counts));
    base_buf_puts(out, "mad.lo.u64 %glint$d2, %glint$d1, 4, %glint$d2;\n");
    if (bytes <= 4) {
        base_buf_puts(out, "red.global.add.u32 [%glint$d2], 1;\n");
        return;
    }
    // Two neighbours are one operation of 64 bits.
    base_buf_puts(out, "setp.eq.u32 %glint$p1, %glint$r3, 1;\n"
                       "@%glint$p1 red.global.add.u32 [%glint$d2], 1;\n"
                       "mov.u64 %glint$d3, 4294967297;\n"
                       "@!%glint$p1 red.global.add.u64 [%glint$d2], %glint$d3;\n");
    if (bytes > 8)
        base_buf_puts(out, "setp.eq.u32 %glint$p1, %glint$r3, 15;\n"
                           "@%glint$p1 red.global.add.u64 [%glint$d2+8], %glint$d3;\n");
}

// Element, word and bits of the access.
static void emit_place(struct instrument_work *work, const struct instrument_fields *slot,
                       uint32_t bytes)
{
    struct base_buf *out = &work->out;
    emit_field(out, slot, "u32", "%glint$r0", offsetof(struct instrument_slot, shift));
    emit_field(out, slot, "u64", "%glint$d2", offsetof(struct instrument_slot, bits));
    if (bytes > 4)
        emit_field(out, slot, "u32", "%glint$r3",
                   bytes <= 8 ? offsetof(struct instrument_slot, ones8)
                              : offsetof(struct instrument_slot, ones16));
    base_buf_puts(out, "shr.u64 %glint$d1, %glint$d0, %glint$r0;\n"
                       "shr.u64 %glint$d3, %glint$d1, 5;\n"
                       "cvt.u32.u64 %glint$r1, %glint$d3;\n"
                       "mad.wide.u32 %glint$d2, %glint$r1, 4, %glint$d2;\n");
    if (work->counts)
        base_buf_puts(out, "mov.u32 %glint$r2, 0x80000000;\n");
    else
        base_buf_printf(out,
                        "cvt.u32.u64 %%glint$r1, %%glint$d1;\n"
                        "shf.l.wrap.b32 %%glint$r2, 0, %s, %%glint$r1;\n",
                        bytes > 4 ? "%glint$r3" : "1");
}

// Sets the bits of %glint$r2 where some are not set.
static void emit_or(struct base_buf *out)
{
    base_buf_puts(out, "ld.global.u32 %glint$r1, [%glint$d2];\n"
                       "and.b32 %glint$r1, %glint$r1, %glint$r2;\n"
                       "setp.ne.u32 %glint$p1, %glint$r1, %glint$r2;\n"
                       "@%glint$p1 red.global.or.b32 [%glint$d2], %glint$r2;\n");
}

// Bits: where all lanes that are here have one word, one of them sets the bits of all. Words of one
// object whose addresses are the same in their low 32 bits are the same, there being no memory
// large enough for others.
static void emit_joined(struct instrument_work *work)
{
    struct base_buf *out = &work->out;
    base_buf_puts(out, "activemask.b32 %glint$r4;\n"
                       "bfind.u32 %glint$r5, %glint$r4;\n"
                       "cvt.u32.u64 %glint$r6, %glint$d2;\n"
                       "shfl.sync.idx.b32 %glint$r7, %glint$r6, %glint$r5, 31, %glint$r4;\n"
                       "setp.eq.u32 %glint$p1, %glint$r6, %glint$r7;\n"
                       "vote.sync.all.pred %glint$p1, %glint$p1, %glint$r4;\n"
                       "redux.sync.or.b32 %glint$r7, %glint$r2, %glint$r4;\n"
                       "mov.u32 %glint$r6, %laneid;\n"
                       "setp.ne.and.u32 %glint$p2, %glint$r6, %glint$r5, %glint$p1;\n"
                       "@%glint$p1 mov.u32 %glint$r2, %glint$r7;\n"
                       "@%glint$p2 mov.u32 %glint$r2, 0;\n");
}

// Counts: where all lanes that are here have one element, one of them adds for all, and all go on
// at `done`.
static void emit_counts_of_one(struct instrument_work *work, const struct instrument_fields *slot,
                               uint32_t bytes, uint32_t done)
{
    struct base_buf *out = &work->out;
    uint32_t no = work->labels++;
    base_buf_printf(out,
                    "activemask.b32 %%glint$r4;\n"
                    "bfind.u32 %%glint$r5, %%glint$r4;\n"
                    "cvt.u32.u64 %%glint$r6, %%glint$d1;\n"
                    "shfl.sync.idx.b32 %%glint$r7, %%glint$r6, %%glint$r5, 31, %%glint$r4;\n"
                    "setp.eq.u32 %%glint$p1, %%glint$r6, %%glint$r7;\n"
                    "vote.sync.all.pred %%glint$p1, %%glint$p1, %%glint$r4;\n"
                    "@!%%glint$p1 bra $glint$%u;\n"
                    "mov.u32 %%glint$r6, %%laneid;\n"
                    "setp.ne.u32 %%glint$p1, %%glint$r6, %%glint$r5;\n"
                    "@%%glint$p1 bra $glint$%u;\n",
                    no, done);
    emit_or(out);
    emit_field(out, slot, "u64", "%glint$d2", offsetof(struct instrument_slot, counts));
    base_buf_puts(out, "popc.b32 %glint$r4, %glint$r4;\n"
                       "mad.lo.u64 %glint$d2, %glint$d1, 4, %glint$d2;\n"
                       "red.global.add.u32 [%glint$d2], %glint$r4;\n");
    if (bytes > 4)
        base_buf_puts(out, "popc.b32 %glint$r3, %glint$r3;\n");
    for (uint32_t i = 1; i < bytes / 4; i++)
        base_buf_printf(out,
                        "setp.gt.u32 %%glint$p1, %%glint$r3, %u;\n"
                        "@%%glint$p1 red.global.add.u32 [%%glint$d2+%u], %%glint$r4;\n",
                        i, i * 4);
    base_buf_printf(out,
                    "bra $glint$%u;\n"
                    "$glint$%u:\n",
                    done, no);
}

void instrument_emit_mark(struct instrument_work *work, const struct instrument_fields *slot,
                          uint32_t bytes, enum instrument_guess guess, uint32_t done)
{
    emit_place(work, slot, bytes);
    if (work->counts && guess == GUESS_ONE)
        emit_counts_of_one(work, slot, bytes, done);
    if (!work->counts && guess == GUESS_NEAR && work->sm >= 80)
        emit_joined(work);
    emit_or(&work->out);
    if (work->counts)
        emit_counts(&work->out, slot, bytes);
}

void instrument_emit_run(struct instrument_work *work, const struct instrument_fields *slot,
                         const struct instrument_probe *probe, uint32_t shift, uint32_t no,
                         uint32_t done)
{
    struct base_buf *out = &work->out;
    uint32_t bytes = probe->site->bytes, odd = work->labels++;
    bool is_union = probe->before || probe->behind > bytes;
    // Each lane's address less its place in the run: the same for all.
    base_buf_printf(out,
                    "activemask.b32 %%glint$r4;\n"
                    "setp.ne.u32 %%glint$p1, %%glint$r4, -1;\n"
                    "@%%glint$p1 bra $glint$%u;\n"
                    "mov.u32 %%glint$r5, %%laneid;\n"
                    "mad.wide.s32 %%glint$d4, %%glint$r5, -%u, %%glint$d0;\n"
                    "mov.b64 {%%glint$r1, %%glint$r2}, %%glint$d4;\n"
                    "shfl.sync.idx.b32 %%glint$r3, %%glint$r1, 0, 31, -1;\n"
                    "shfl.sync.idx.b32 %%glint$r4, %%glint$r2, 0, 31, -1;\n"
                    "setp.eq.and.u32 %%glint$p1, %%glint$r1, %%glint$r3, %%glint$p0;\n"
                    "setp.eq.and.u32 %%glint$p1, %%glint$r2, %%glint$r4, %%glint$p1;\n"
                    "vote.sync.all.pred %%glint$p1, %%glint$p1, -1;\n"
                    "@!%%glint$p1 bra $glint$%u;\n",
                    no, bytes, no);
    emit_field(out, slot, "u32", "%glint$r0", offsetof(struct instrument_slot, shift));
    // Whole words, where elements are as large as expected.
    uint32_t words = bytes >> shift;
    if (words && !(is_union && !work->counts)) {
        emit_field(out, slot, "u64", "%glint$d2", offsetof(struct instrument_slot, bits));
        base_buf_printf(out,
                        "and.b32 %%glint$r1, %%glint$r1, %u;\n"
                        "xor.b32 %%glint$r2, %%glint$r0, %u;\n"
                        "or.b32 %%glint$r1, %%glint$r1, %%glint$r2;\n"
                        "setp.ne.u32 %%glint$p1, %%glint$r1, 0;\n"
                        "@%%glint$p1 bra $glint$%u;\n"
                        "shr.u64 %%glint$d3, %%glint$d4, %u;\n"
                        "add.u64 %%glint$d2, %%glint$d2, %%glint$d3;\n"
                        "mad.wide.u32 %%glint$d2, %%glint$r5, 4, %%glint$d2;\n"
                        "setp.lt.u32 %%glint$p1, %%glint$r5, %u;\n",
                        32 * bytes - 1, shift, work->counts ? no : odd, shift + 3, words);
        base_buf_puts(out, work->counts   ? "@%glint$p1 red.global.add.u32 [%glint$d2], 1;\n"
                           : probe->check ? "mov.u32 %glint$r2, -1;\n"
                                            "@%glint$p1 ld.global.u32 %glint$r2, [%glint$d2];\n"
                                            "setp.ne.u32 %glint$p1, %glint$r2, -1;\n"
                                            "@%glint$p1 st.global.u32 [%glint$d2], -1;\n"
                                          : "@%glint$p1 st.global.u32 [%glint$d2], -1;\n");
        base_buf_printf(out, "bra $glint$%u;\n", done);
    }
    base_buf_printf(out, "$glint$%u:\n", odd);
    if (work->counts) {
        base_buf_printf(out, "bra $glint$%u;\n", no);
        return;
    }
    if (probe->before)
        base_buf_printf(out, "sub.u64 %%glint$d4, %%glint$d4, %u;\n", probe->before);
    base_buf_printf(out, "mov.u32 %%glint$r1, %u;\n",
                    (31 * bytes + probe->behind + probe->before) | (probe->check ? 0 : 1u << 31));
}

void instrument_emit_marks(struct instrument_work *work, const struct instrument_fields *slot,
                           uint32_t done)
{
    struct base_buf *out = &work->out;
    work->helpers |= HELPER_MARK;
    emit_field(out, slot, "u64", "%glint$d2", offsetof(struct instrument_slot, bits));
    emit_field(out, slot, "u32", "%glint$r0", offsetof(struct instrument_slot, shift));
    base_buf_printf(out,
                    "{\n.param .b64 glint$1;\n.param .b64 glint$2;\n.param .b32 glint$3;\n"
                    ".param .b32 glint$4;\n"
                    "st.param.b64 [glint$1], %%glint$d2;\n"
                    "st.param.b64 [glint$2], %%glint$d4;\n"
                    "st.param.b32 [glint$3], %%glint$r0;\n"
                    "st.param.b32 [glint$4], %%glint$r1;\n"
                    "call glint$mark, (glint$1, glint$2, glint$3, glint$4);\n}\n"
                    "bra $glint$%u;\n",
                    done);
}
