// SPDX-License-Identifier: Apache-2.0
// The text that sets the bits, and counts up the counters, of the elements that one access of 1 to
// 16 aligned bytes touches: they lie in one word. The word is looked at first, through the cache:
// bits are only ever set, so an old copy costs an operation too much and nothing else.
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

void instrument_emit_mark(struct instrument_work *work, const struct instrument_fields *slot,
                          const char *address, uint32_t bytes)
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
    base_buf_printf(out,
                    "sub.u64 %%glint$d1, %s, %%glint$d1;\n"
                    "shr.u64 %%glint$d1, %%glint$d1, %%glint$r0;\n"
                    "shr.u64 %%glint$d3, %%glint$d1, 3;\n"
                    "and.b64 %%glint$d3, %%glint$d3, -4;\n"
                    "add.u64 %%glint$d2, %%glint$d2, %%glint$d3;\n",
                    address);
    if (work->counts)
        base_buf_puts(out, "mov.u32 %glint$r2, 0x80000000;\n");
    else
        base_buf_puts(out, "cvt.u32.u64 %glint$r1, %glint$d1;\n"
                           "and.b32 %glint$r1, %glint$r1, 31;\n"
                           "shl.b32 %glint$r2, %glint$r3, %glint$r1;\n");
    base_buf_puts(out, "ld.global.u32 %glint$r1, [%glint$d2];\n"
                       "and.b32 %glint$r1, %glint$r1, %glint$r2;\n"
                       "setp.ne.u32 %glint$p1, %glint$r1, %glint$r2;\n"
                       "@%glint$p1 red.global.or.b32 [%glint$d2], %glint$r2;\n");
    if (work->counts)
        emit_counts(out, slot, bytes);
}
