// SPDX-License-Identifier: Apache-2.0
// The text that counts what accesses of roots touch, where counts are asked for: see mark.c, whose
// registers these are. Where a whole warp that is a piece of a row touches whole words, its first
// lanes count these. Else each lane counts its elements; glint$count puts lanes together that have
// the same one.
#include "mark.h"

// Whole words of a whole warp: goes on at the label.
static void emit_whole_words(struct base_buf *out, const struct member *member, uint32_t next)
{
    const uint32_t elements = own_elements(member);
    base_buf_printf(out,
                    "mad.lo.s32 %%glint$n, %%glint$lane, -%u, %%glint$i;\n"
                    "and.b32 %%glint$t, %%glint$n, 31;\n"
                    "setp.eq.and.u32 %%glint$p1, %%glint$t, 0, %%glint$full;\n"
                    "shr.u32 %%glint$n, %%glint$n, 5;\n"
                    "add.u32 %%glint$n, %%glint$n, %%glint$lane;\n"
                    "ld.param.u64 %%glint$x, [glint$context+%u];\n"
                    "mad.wide.u32 %%glint$x, %%glint$n, 4, %%glint$x;\n"
                    "setp.lt.and.u32 %%glint$p2, %%glint$lane, %u, %%glint$p1;\n"
                    "@%%glint$p2 red.global.add.u32 [%%glint$x], 1;\n"
                    "@%%glint$p1 bra $glint$%u;\n",
                    elements, VIEW(member, slot.bits), elements, next);
}

// The word of element %glint$i has counters of its elements: says so where nobody has, and where
// the predicate holds.
static void emit_apart(struct base_buf *out, const struct member *member, const char *predicate)
{
    base_buf_printf(out,
                    "mov.u32 %%glint$v%u, -1;\n"
                    "@%s ld.global.u32 %%glint$v%u, [%%glint$w%u];\n"
                    "setp.ge.s32 %%glint$p1, %%glint$v%u, 0;\n"
                    "@%%glint$p1 red.global.or.b32 [%%glint$w%u], 0x80000000;\n",
                    member->k, predicate, member->k, member->k, member->k, member->k);
}

// The address of the counter of element %glint$i, into %glint$x.
static void emit_counter(struct base_buf *out, const struct member *member)
{
    base_buf_printf(out,
                    "ld.param.u64 %%glint$x, [glint$context+%u];\n"
                    "mad.wide.u32 %%glint$x, %%glint$i, 4, %%glint$x;\n",
                    VIEW(member, slot.counts));
}

// A run, each lane its elements. They begin in a word, or come to the next, in few of the lanes.
static void emit_counted_run(struct base_buf *out, const struct member *member, uint32_t next)
{
    const uint32_t elements = own_elements(member);
    instrument_emit_element(out, member);
    emit_whole_words(out, member, next);
    instrument_emit_word(out, member, NULL);
    base_buf_printf(out,
                    "add.u32 %%glint$n, %%glint$i, %u;\n"
                    "and.b32 %%glint$n, %%glint$n, 31;\n"
                    "setp.lt.u32 %%glint$p2, %%glint$n, %u;\n"
                    "setp.eq.or.u32 %%glint$p2, %%glint$lane, 0, %%glint$p2;\n"
                    "not.pred %%glint$p1, %%glint$full;\n"
                    "or.pred %%glint$p2, %%glint$p2, %%glint$p1;\n",
                    elements - 1, elements);
    emit_apart(out, member, "%glint$p2");
    if (member->probe->next) {
        // Of elements that are not one access's, the last may be in the next word.
        base_buf_printf(out,
                        "add.u32 %%glint$n, %%glint$i, %u;\n"
                        "shr.u32 %%glint$n, %%glint$n, 5;\n"
                        "ld.param.u64 %%glint$x, [glint$context+%u];\n"
                        "mad.wide.u32 %%glint$w%u, %%glint$n, 4, %%glint$x;\n",
                        elements - 1, VIEW(member, slot.bits), member->k);
        emit_apart(out, member, "%glint$p2");
    }
    emit_counter(out, member);
    if (elements > 1 && !member->probe->next) {
        // Two neighbours are one operation of 64 bits.
        base_buf_puts(out, "mov.u64 %glint$a, 4294967297;\n");
        for (uint32_t i = 0; i < elements; i += 2)
            base_buf_printf(out, "red.global.add.u64 [%%glint$x+%u], %%glint$a;\n", 4 * i);
        return;
    }
    for (uint32_t i = 0; i < elements; i++)
        base_buf_printf(out, "red.global.add.u32 [%%glint$x+%u], 1;\n", 4 * i);
}

// Accesses that are smaller than elements and that together touch every byte of a run once: an
// element is touched by so many as there are in what it has of the run. In a whole warp the lanes
// take an element each, else each lane takes the two that it may touch.
static void emit_counted_tile(struct instrument_work *work, const struct member *member)
{
    struct base_buf *out = &work->out;
    const uint32_t size = 1u << member->shift, alone = work->labels++, next = work->labels++;
    const uint32_t log = (uint32_t)__builtin_ctz(member->probe->site->bytes);
    // The first byte, and the one behind the last, of the run; then those of the lane's element.
    base_buf_printf(out,
                    "@!%%glint$full bra $glint$%u;\n"
                    "cvt.u32.u64 %%glint$n, %%glint$o%u;\n"
                    "mad.lo.s32 %%glint$n, %%glint$lane, -%u, %%glint$n;\n"
                    "add.u32 %%glint$t, %%glint$n, %u;\n"
                    "shr.u32 %%glint$i, %%glint$n, %u;\n"
                    "add.u32 %%glint$i, %%glint$i, %%glint$lane;\n"
                    "shl.b32 %%glint$j, %%glint$i, %u;\n"
                    "max.u32 %%glint$n, %%glint$n, %%glint$j;\n"
                    "add.u32 %%glint$j, %%glint$j, %u;\n"
                    "min.u32 %%glint$t, %%glint$t, %%glint$j;\n"
                    "setp.ge.u32 %%glint$p1, %%glint$n, %%glint$t;\n"
                    "@%%glint$p1 bra $glint$%u;\n"
                    "sub.u32 %%glint$n, %%glint$t, %%glint$n;\n"
                    "shr.u32 %%glint$n, %%glint$n, %u;\n"
                    "ld.param.u32 %%glint$t, [glint$context+%u];\n"
                    "add.u32 %%glint$i, %%glint$i, %%glint$t;\n",
                    alone, member->k, member->probe->step, run_bytes(member), member->shift,
                    member->shift, size, next, log, VIEW(member, ahead));
    instrument_emit_word(out, member, NULL);
    base_buf_puts(out, "and.b32 %glint$t, %glint$i, 31;\n"
                       "setp.eq.u32 %glint$p2, %glint$t, 0;\n"
                       "setp.eq.or.u32 %glint$p2, %glint$lane, 0, %glint$p2;\n");
    emit_apart(out, member, "%glint$p2");
    emit_counter(out, member);
    base_buf_printf(out,
                    "red.global.add.u32 [%%glint$x], %%glint$n;\n"
                    "bra $glint$%u;\n$glint$%u:\n"
                    "cvt.u32.u64 %%glint$t, %%glint$o%u;\n"
                    "and.b32 %%glint$t, %%glint$t, %u;\n"
                    "sub.u32 %%glint$t, %u, %%glint$t;\n"
                    "min.u32 %%glint$j, %%glint$t, %u;\n"
                    "shr.u32 %%glint$n, %%glint$j, %u;\n"
                    "sub.u32 %%glint$j, %u, %%glint$j;\n"
                    "shr.u32 %%glint$j, %%glint$j, %u;\n",
                    next, alone, member->k, size - 1, size, member->width, log, member->width, log);
    instrument_emit_element(out, member);
    for (int i = 0; i < 2; i++) {
        instrument_emit_word(out, member, NULL);
        base_buf_printf(out, "setp.ne.u32 %%glint$p2, %s, 0;\n", i ? "%glint$j" : "%glint$n");
        emit_apart(out, member, "%glint$p2");
        emit_counter(out, member);
        base_buf_printf(out, "@%%glint$p2 red.global.add.u32 [%%glint$x], %s;\n",
                        i ? "%glint$j" : "%glint$n");
        if (i == 0)
            base_buf_puts(out, "add.u32 %glint$i, %glint$i, 1;\n");
    }
    base_buf_printf(out, "$glint$%u:\n", next);
}

// Lanes that may have anything in common, or nothing.
static void emit_counted_lane(struct instrument_work *work, const struct member *member)
{
    struct base_buf *out = &work->out;
    work->helpers |= HELPER_COUNT;
    instrument_emit_element(out, member);
    instrument_emit_word(out, member, NULL);
    emit_counter(out, member);
    base_buf_printf(out,
                    "{\n.param .b64 glint$1;\n.param .b64 glint$2;\n.param .b32 glint$3;\n"
                    "st.param.b64 [glint$1], %%glint$w%u;\n"
                    "st.param.b64 [glint$2], %%glint$x;\n"
                    "st.param.b32 [glint$3], %u;\n"
                    "call glint$count, (glint$1, glint$2, glint$3);\n}\n",
                    member->k, own_elements(member));
}

void instrument_emit_counted(struct instrument_work *work, const struct member *member)
{
    const uint32_t next = work->labels++;
    switch (member->class) {
    case CLASS_RUN: emit_counted_run(&work->out, member, next); break;
    case CLASS_SPAN: emit_counted_tile(work, member); break;
    default: emit_counted_lane(work, member); break;
    }
    base_buf_printf(&work->out, "$glint$%u:\n", next);
}
