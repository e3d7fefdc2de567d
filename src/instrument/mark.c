// SPDX-License-Identifier: Apache-2.0
// The text that sets the bits, or counts up the counters, of the elements that an access of 1 to 16
// aligned bytes touches: they lie in one word. Words are looked at first where many threads mark
// the same, through the cache: bits are only ever set, so an old copy costs an operation too much
// and nothing else.
//
// Lanes of a warp help each other where what they do turns out to fit: lanes whose elements lie in
// one word make one operation of it, and a whole warp that touches one run of bytes marks words
// instead of elements. Nothing is taken for granted: the lanes compare their addresses.
//
// Registers of the probe's scope: %glint$a the address; below, r0 shift, d1 element, d2 the word's
// address, r2 the access's bits in it, r3 the same from bit 0 on, r4 the lanes that are here.
#include <stddef.h>

#include "work.h"

static void emit_field(struct base_buf *out, const struct instrument_fields *slot, const char *type,
                       const char *into, size_t offset)
{
    base_buf_printf(out, "%s.%s %s, [%s+%zu];\n", slot->from, type, into, slot->base,
                    slot->offset + offset);
}

// %glint$d1 is the element, %glint$r3 the access's bits from the lowest on.
static void emit_counts(struct base_buf *out, const struct instrument_fields *slot, uint32_t bytes)
{
    emit_field(out, slot, "u64", "%glint$d2", offsetof(struct instrument_slot, counts));
    base_buf_puts(out, "shl.b64 %glint$d1, %glint$d1, 2;\n"
                       "add.u64 %glint$d2, %glint$d2, %glint$d1;\n");
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
    emit_field(out, slot, "u64", "%glint$d1", offsetof(struct instrument_slot, base));
    emit_field(out, slot, "u32", "%glint$r0", offsetof(struct instrument_slot, shift));
    emit_field(out, slot, "u64", "%glint$d2", offsetof(struct instrument_slot, bits));
    if (bytes > 4)
        emit_field(out, slot, "u32", "%glint$r3",
                   bytes <= 8 ? offsetof(struct instrument_slot, ones8)
                              : offsetof(struct instrument_slot, ones16));
    else
        base_buf_puts(out, "mov.u32 %glint$r3, 1;\n");
    base_buf_puts(out, "sub.u64 %glint$d1, %glint$a, %glint$d1;\n"
                       "shr.u64 %glint$d1, %glint$d1, %glint$r0;\n"
                       "shr.u64 %glint$d3, %glint$d1, 3;\n"
                       "and.b64 %glint$d3, %glint$d3, -4;\n"
                       "add.u64 %glint$d2, %glint$d2, %glint$d3;\n");
    if (work->counts)
        base_buf_puts(out, "mov.u32 %glint$r2, 0x80000000;\n");
    else
        base_buf_puts(out, "cvt.u32.u64 %glint$r1, %glint$d1;\n"
                           "and.b32 %glint$r1, %glint$r1, 31;\n"
                           "shl.b32 %glint$r2, %glint$r3, %glint$r1;\n");
}

// Sets the bits of %glint$r2 where some are not set.
static void emit_or(struct base_buf *out)
{
    base_buf_puts(out, "ld.global.u32 %glint$r1, [%glint$d2];\n"
                       "and.b32 %glint$r1, %glint$r1, %glint$r2;\n"
                       "setp.ne.u32 %glint$p1, %glint$r1, %glint$r2;\n"
                       "@%glint$p1 red.global.or.b32 [%glint$d2], %glint$r2;\n");
}

void instrument_emit_mark(struct instrument_work *work, const struct instrument_fields *slot,
                          uint32_t bytes)
{
    struct base_buf *out = &work->out;
    uint32_t apart = work->labels++, done = work->labels++;
    emit_place(work, slot, bytes);
    // One word for all lanes: the last of them does it. Words of one object whose addresses are the
    // same in their low 32 bits are the same, there being no memory large enough for others.
    base_buf_printf(out, "activemask.b32 %%glint$r4;\n"
                         "bfind.u32 %%glint$r5, %%glint$r4;\n"
                         "cvt.u32.u64 %%glint$r6, %%glint$d2;\n"
                         "shfl.sync.idx.b32 %%glint$r7, %%glint$r6, %%glint$r5, 31, %%glint$r4;\n"
                         "setp.eq.u32 %%glint$p1, %%glint$r6, %%glint$r7;\n");
    if (!work->counts && work->sm < 80)
        base_buf_puts(out, "shfl.sync.idx.b32 %glint$r7, %glint$r2, %glint$r5, 31, %glint$r4;\n"
                           "setp.eq.and.u32 %glint$p1, %glint$r2, %glint$r7, %glint$p1;\n");
    base_buf_printf(out,
                    "vote.sync.all.pred %%glint$p1, %%glint$p1, %%glint$r4;\n"
                    "@!%%glint$p1 bra $glint$%u;\n",
                    apart);
    if (!work->counts && work->sm >= 80)
        base_buf_puts(out, "redux.sync.or.b32 %glint$r2, %glint$r2, %glint$r4;\n");
    base_buf_printf(out,
                    "mov.u32 %%glint$r6, %%laneid;\n"
                    "setp.ne.u32 %%glint$p1, %%glint$r6, %%glint$r5;\n"
                    "@%%glint$p1 bra $glint$%u;\n"
                    "$glint$%u:\n",
                    done, apart);
    emit_or(out);
    base_buf_printf(out, "$glint$%u:\n", done);
    if (work->counts)
        emit_counts(out, slot, bytes);
}

// Where the whole warp is here and its lanes touch one run of bytes in the slot's object, marks it
// and goes on at `done`; else runs on with nothing done. %glint$p0 says that the lane's address is
// outside the object.
void instrument_emit_run(struct instrument_work *work, const struct instrument_fields *slot,
                         uint32_t bytes, bool check, uint32_t done)
{
    struct base_buf *out = &work->out;
    uint32_t no = work->labels++;
    char high[32] = "%glint$r1";
    base_buf_printf(out,
                    "activemask.b32 %%glint$r4;\n"
                    "setp.ne.u32 %%glint$p1, %%glint$r4, -1;\n"
                    "@%%glint$p1 bra $glint$%u;\n",
                    no);
    // Offsets have 32 bits where the object has fewer bytes than that.
    emit_field(out, slot, "u32", high, offsetof(struct instrument_slot, bytes) + 4);
    emit_field(out, slot, "u64", "%glint$d1", offsetof(struct instrument_slot, base));
    base_buf_printf(out,
                    "setp.eq.u32 %%glint$p1, %%glint$r1, 0;\n"
                    "sub.u64 %%glint$d1, %%glint$a, %%glint$d1;\n"
                    "cvt.u32.u64 %%glint$r5, %%glint$d1;\n"
                    "shfl.sync.idx.b32 %%glint$r6, %%glint$r5, 0, 31, -1;\n"
                    "mov.u32 %%glint$r7, %%laneid;\n"
                    "mad.lo.u32 %%glint$r8, %%glint$r7, %u, %%glint$r6;\n"
                    "setp.eq.and.u32 %%glint$p1, %%glint$r5, %%glint$r8, %%glint$p1;\n"
                    "and.pred %%glint$p1, %%glint$p1, !%%glint$p0;\n"
                    "vote.sync.all.pred %%glint$p1, %%glint$p1, -1;\n"
                    "@!%%glint$p1 bra $glint$%u;\n",
                    bytes, no);
    // r5 and r6 become the first and the last element, r7 the lane's word, r9 the last word.
    emit_field(out, slot, "u32", "%glint$r0", offsetof(struct instrument_slot, shift));
    emit_field(out, slot, "u64", "%glint$d2", offsetof(struct instrument_slot, bits));
    if (work->counts)
        base_buf_printf(out,
                        "mov.u32 %%glint$r1, 1;\n"
                        "shl.b32 %%glint$r1, %%glint$r1, %%glint$r0;\n"
                        "sub.u32 %%glint$r2, %%glint$r1, 1;\n"
                        "and.b32 %%glint$r3, %%glint$r6, %%glint$r2;\n"
                        "shr.u32 %%glint$r1, %%glint$r1, %u;\n"
                        "max.u32 %%glint$r1, %%glint$r1, 1;\n",
                        (unsigned)__builtin_ctz(bytes));
    base_buf_printf(out,
                    "shr.u32 %%glint$r5, %%glint$r6, %%glint$r0;\n"
                    "add.u32 %%glint$r6, %%glint$r6, %u;\n"
                    "shr.u32 %%glint$r6, %%glint$r6, %%glint$r0;\n"
                    "shr.u32 %%glint$r8, %%glint$r5, 5;\n"
                    "shr.u32 %%glint$r9, %%glint$r6, 5;\n"
                    "add.u32 %%glint$r7, %%glint$r7, %%glint$r8;\n"
                    "mad.wide.u32 %%glint$d2, %%glint$r7, 4, %%glint$d2;\n",
                    32 * bytes - 1);
    if (work->counts) {
        // Whole words are counted; others by their elements, and the words say so.
        uint32_t whole = work->labels++;
        base_buf_printf(out,
                        "not.b32 %%glint$r6, %%glint$r6;\n"
                        "or.b32 %%glint$r6, %%glint$r6, %%glint$r5;\n"
                        "and.b32 %%glint$r6, %%glint$r6, 31;\n"
                        "or.b32 %%glint$r6, %%glint$r6, %%glint$r3;\n"
                        "setp.eq.u32 %%glint$p1, %%glint$r6, 0;\n"
                        "setp.le.u32 %%glint$p2, %%glint$r7, %%glint$r9;\n"
                        "@%%glint$p1 bra $glint$%u;\n"
                        "@!%%glint$p2 bra $glint$%u;\n"
                        "mov.u32 %%glint$r2, 0x80000000;\n",
                        whole, work->labels);
        emit_or(out);
        base_buf_printf(out, "$glint$%u:\n", work->labels++);
        emit_place(work, slot, bytes);
        emit_counts(out, slot, bytes);
        base_buf_printf(out,
                        "bra $glint$%u;\n"
                        "$glint$%u:\n"
                        "@%%glint$p2 red.global.add.u32 [%%glint$d2], %%glint$r1;\n"
                        "bra $glint$%u;\n"
                        "$glint$%u:\n",
                        done, whole, done, no);
        return;
    }
    base_buf_printf(out,
                    "setp.gt.u32 %%glint$p1, %%glint$r7, %%glint$r9;\n"
                    "@%%glint$p1 bra $glint$%u;\n"
                    "mov.u32 %%glint$r2, -1;\n"
                    "setp.eq.u32 %%glint$p1, %%glint$r7, %%glint$r8;\n"
                    "and.b32 %%glint$r5, %%glint$r5, 31;\n"
                    "@%%glint$p1 shl.b32 %%glint$r2, %%glint$r2, %%glint$r5;\n"
                    "setp.eq.u32 %%glint$p1, %%glint$r7, %%glint$r9;\n"
                    "not.b32 %%glint$r6, %%glint$r6;\n"
                    "and.b32 %%glint$r6, %%glint$r6, 31;\n"
                    "mov.u32 %%glint$r1, -1;\n"
                    "@%%glint$p1 shr.u32 %%glint$r1, %%glint$r1, %%glint$r6;\n"
                    "and.b32 %%glint$r2, %%glint$r2, %%glint$r1;\n",
                    done);
    if (check)
        emit_or(out);
    else
        base_buf_puts(out, "setp.eq.u32 %glint$p1, %glint$r2, -1;\n"
                           "@%glint$p1 st.global.u32 [%glint$d2], %glint$r2;\n"
                           "@!%glint$p1 red.global.or.b32 [%glint$d2], %glint$r2;\n");
    base_buf_printf(out,
                    "bra $glint$%u;\n"
                    "$glint$%u:\n",
                    done, no);
}

// Counts of one address that all lanes have: one lane adds for all, and goes on at `done` with the
// others.
void instrument_emit_shared(struct instrument_work *work, const struct instrument_fields *slot,
                            uint32_t bytes, uint32_t done)
{
    struct base_buf *out = &work->out;
    uint32_t no = work->labels++;
    emit_place(work, slot, bytes);
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
    base_buf_printf(out, "popc.b32 %%glint$r4, %%glint$r4;\n"
                         "mad.lo.u64 %%glint$d2, %%glint$d1, 4, %%glint$d2;\n"
                         "popc.b32 %%glint$r3, %%glint$r3;\n"
                         "red.global.add.u32 [%%glint$d2], %%glint$r4;\n");
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
