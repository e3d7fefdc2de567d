// SPDX-License-Identifier: Apache-2.0
// The text that marks the elements that accesses touch. It stands at every access, so it is kept
// short, and glint$access does what is left.
//
// Where many threads mark the same words, they look first, through the cache: bits are only ever
// set, so an old copy costs an operation too much and nothing else.
//
// Registers of the probe's scope: a the address, d0 its distance from the slot's base, p0 whether
// it is in the object; then d1 the element, d2 the word's address, r2 the access's bits in it, r3
// the same from bit 0 on. Of the clone: full, whether a whole warp is here that is a piece of a
// row; lane.
#include <stddef.h>

#include "work.h"

static void emit_field(struct base_buf *out, const struct instrument_fields *slot, const char *type,
                       const char *into, size_t offset)
{
    if (slot->from)
        base_buf_printf(out, "%s.%s %s, [%s+%zu];\n", slot->from, type, into, slot->base,
                        slot->offset + offset);
    else
        base_buf_printf(out, "mov.%s %s, %s;\n", type, into,
                        offset == offsetof(struct instrument_slot, bits) ? "%glint$bits"
                                                                         : "%glint$shift");
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

void instrument_emit_range(struct instrument_work *work, const struct instrument_fields *slot)
{
    struct base_buf *out = &work->out;
    emit_field(out, slot, "u64", "%glint$d1", offsetof(struct instrument_slot, base));
    emit_field(out, slot, "u32", "%glint$r0", offsetof(struct instrument_slot, lead));
    emit_field(out, slot, "u64", "%glint$d2", offsetof(struct instrument_slot, bytes));
    // What lies before the object has a distance below 0.
    base_buf_puts(out, "sub.u64 %glint$d0, %glint$a, %glint$d1;\n"
                       "cvt.u64.u32 %glint$d1, %glint$r0;\n"
                       "setp.ge.s64 %glint$p0, %glint$d0, %glint$d1;\n"
                       "cvt.u64.u32 %glint$d1, %glint$r6;\n"
                       "add.u64 %glint$d1, %glint$d1, %glint$d0;\n"
                       "setp.lt.and.u64 %glint$p0, %glint$d1, %glint$d2, %glint$p0;\n");
}

void instrument_emit_mark(struct instrument_work *work, const struct instrument_fields *slot,
                          uint32_t bytes)
{
    emit_place(work, slot, bytes);
    emit_or(&work->out);
    if (work->counts)
        emit_counts(&work->out, slot, bytes);
}

void instrument_emit_run(struct instrument_work *work, const struct instrument_fields *slot,
                         uint32_t most, enum instrument_look look)
{
    struct base_buf *out = &work->out;
    emit_field(out, slot, "u32", "%glint$r0", offsetof(struct instrument_slot, shift));
    emit_field(out, slot, "u64", "%glint$d2", offsetof(struct instrument_slot, bits));
    base_buf_puts(out, "shr.u64 %glint$d3, %glint$d0, %glint$r0;\n"
                       "cvt.u32.u64 %glint$r1, %glint$d3;\n"
                       "shf.l.wrap.b32 %glint$r3, 0, -1, %glint$r1;\n"
                       "shr.u64 %glint$d3, %glint$d1, %glint$r0;\n"
                       "cvt.u32.u64 %glint$r2, %glint$d3;\n"
                       "shf.l.wrap.b32 %glint$r4, -1, 1, %glint$r2;\n"
                       "add.u32 %glint$r0, %glint$r0, 5;\n"
                       "shr.u64 %glint$d3, %glint$d0, %glint$r0;\n"
                       "cvt.u32.u64 %glint$r1, %glint$d3;\n"
                       "shr.u64 %glint$d3, %glint$d1, %glint$r0;\n"
                       "cvt.u32.u64 %glint$r2, %glint$d3;\n"
                       "mad.wide.u32 %glint$d3, %glint$r1, 4, %glint$d2;\n"
                       "setp.ne.u32 %glint$p1, %glint$r1, %glint$r2;\n"
                       "@!%glint$p1 and.b32 %glint$r3, %glint$r3, %glint$r4;\n");
    // The first word, and the last where it is another.
    if (look != LOOK_ALWAYS)
        base_buf_puts(out, "mov.u32 %glint$r5, 0;\n");
    if (look != LOOK_NEVER)
        base_buf_printf(out, "%sld.global.u32 %%glint$r5, [%%glint$d3];\n",
                        look == LOOK_ALWAYS ? "" : "@!%glint$full ");
    base_buf_puts(out, "and.b32 %glint$r5, %glint$r5, %glint$r3;\n"
                       "setp.ne.u32 %glint$p0, %glint$r5, %glint$r3;\n"
                       "@%glint$p0 red.global.or.b32 [%glint$d3], %glint$r3;\n"
                       "mad.wide.u32 %glint$d2, %glint$r2, 4, %glint$d2;\n"
                       "@%glint$p1 red.global.or.b32 [%glint$d2], %glint$r4;\n");
    // Those between; an element has 4 bytes at least.
    for (uint32_t i = 1; i < ((most + 2) / 4 + 31) / 32; i++)
        base_buf_printf(out,
                        "add.u32 %%glint$r1, %%glint$r1, 1;\n"
                        "setp.lt.u32 %%glint$p0, %%glint$r1, %%glint$r2;\n"
                        "@%%glint$p0 st.global.u32 [%%glint$d3+%u], -1;\n",
                        4 * i);
}

void instrument_emit_whole_words(struct instrument_work *work, const struct instrument_fields *slot,
                                 uint32_t bytes, uint32_t shift, uint32_t apart, uint32_t done)
{
    struct base_buf *out = &work->out;
    uint32_t words = bytes >> shift, no = work->labels++, odd = work->labels++;
    if (!words)
        return;
    base_buf_printf(out,
                    "@!%%glint$full bra $glint$%u;\n"
                    "mov.u32 %%glint$r6, %u;\n"
                    "mov.b64 %%glint$d4, %%glint$a;\n"
                    "mad.wide.s32 %%glint$a, %%glint$lane, -%u, %%glint$a;\n",
                    no, 32 * bytes - 1, bytes);
    instrument_emit_range(work, slot);
    emit_field(out, slot, "u32", "%glint$r0", offsetof(struct instrument_slot, shift));
    emit_field(out, slot, "u64", "%glint$d2", offsetof(struct instrument_slot, bits));
    base_buf_printf(out,
                    "mov.b64 %%glint$a, %%glint$d4;\n"
                    "@!%%glint$p0 bra $glint$%u;\n"
                    "cvt.u32.u64 %%glint$r1, %%glint$d0;\n"
                    "and.b32 %%glint$r1, %%glint$r1, %u;\n"
                    "xor.b32 %%glint$r0, %%glint$r0, %u;\n"
                    "or.b32 %%glint$r1, %%glint$r1, %%glint$r0;\n"
                    "setp.ne.u32 %%glint$p0, %%glint$r1, 0;\n"
                    "@%%glint$p0 bra $glint$%u;\n"
                    "shr.u64 %%glint$d0, %%glint$d0, %u;\n"
                    "add.u64 %%glint$d2, %%glint$d2, %%glint$d0;\n"
                    "mad.wide.u32 %%glint$d2, %%glint$lane, 4, %%glint$d2;\n"
                    "setp.lt.u32 %%glint$p1, %%glint$lane, %u;\n"
                    "@%%glint$p1 red.global.add.u32 [%%glint$d2], 1;\n"
                    "bra $glint$%u;\n"
                    "$glint$%u:\n"
                    "mad.wide.u32 %%glint$d0, %%glint$lane, %u, %%glint$d0;\n"
                    "bra $glint$%u;\n"
                    "$glint$%u:\n",
                    no, 32 * bytes - 1, shift, odd, shift + 3, words, done, odd, bytes, apart, no);
}

void instrument_emit_count_of_all(struct instrument_work *work,
                                  const struct instrument_fields *slot, uint32_t bytes)
{
    struct base_buf *out = &work->out;
    emit_place(work, slot, bytes);
    emit_or(out);
    emit_field(out, slot, "u64", "%glint$d2", offsetof(struct instrument_slot, counts));
    base_buf_puts(out, "mad.lo.u64 %glint$d2, %glint$d1, 4, %glint$d2;\n"
                       "red.global.add.u32 [%glint$d2], %glint$r4;\n");
    if (bytes > 4)
        base_buf_puts(out, "popc.b32 %glint$r3, %glint$r3;\n");
    for (uint32_t i = 1; i < bytes / 4; i++)
        base_buf_printf(out,
                        "setp.gt.u32 %%glint$p1, %%glint$r3, %u;\n"
                        "@%%glint$p1 red.global.add.u32 [%%glint$d2+%u], %%glint$r4;\n",
                        i, i * 4);
}
