// SPDX-License-Identifier: Apache-2.0
// The text that counts what accesses of roots touch, where counts are asked for: see mark.c, whose
// registers these are. Where a whole warp that is a piece of a row touches whole words, its first
// lanes count these. Else each lane counts its elements; glint$count puts lanes together that have
// the same one.
#include "fill.h"
#include "mark.h"

// Whole words of a whole warp: goes on at the label.
static void emit_whole_words(struct base_buf *out, const struct member *member, uint32_t next)
{
    const uint32_t elements = own_elements(member);
    FILL(out, whole_words, NUMBER(elements, elements), NUMBER(view, member->slot),
         NUMBER(next, next));
}

// The word of element %glint$i has counters of its elements: says so where nobody has, and where
// the predicate holds.
static void emit_apart(struct base_buf *out, const struct member *member, const char *predicate)
{
    FILL(out, apart, NUMBER(k, member->k), STRING(predicate, predicate));
}

// The address of the counter of element %glint$i, into %glint$x.
static void emit_counter(struct base_buf *out, const struct member *member)
{
    FILL(out, counter, NUMBER(view, member->slot));
}

// A run, each lane its elements. They begin in a word, or come to the next, in few of the lanes.
static void emit_counted_run(struct base_buf *out, const struct member *member, uint32_t next)
{
    const uint32_t elements = own_elements(member);
    instrument_emit_element(out, member);
    emit_whole_words(out, member, next);
    instrument_emit_word(out, member, NULL);
    FILL(out, at_word, NUMBER(elements, elements));
    emit_apart(out, member, "%glint$p2");
    if (member->probe->next) {
        // Of elements that are not one access's, the last may be in the next word.
        FILL(out, last_word, NUMBER(elements, elements), NUMBER(view, member->slot),
             NUMBER(k, member->k));
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
    const uint32_t size = 1u << member->shift, some = work->labels++, next = work->labels++;
    const uint32_t log = (uint32_t)__builtin_ctz(member->probe->site->bytes);
    FILL(out, tile, NUMBER(some, some), NUMBER(k, member->k), NUMBER(step, member->probe->step),
         NUMBER(run, run_bytes(member)), NUMBER(shift, member->shift), NUMBER(size, size),
         NUMBER(next, next), NUMBER(log, log), NUMBER(view, member->slot));
    instrument_emit_word(out, member, NULL);
    PUT(out, tile_at_word);
    emit_apart(out, member, "%glint$p2");
    emit_counter(out, member);
    FILL(out, tile_alone, NUMBER(next, next), NUMBER(some, some), NUMBER(k, member->k),
         NUMBER(size, size), NUMBER(width, member->width), NUMBER(log, log));
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
    FILL(out, count_call, NUMBER(k, member->k), NUMBER(elements, own_elements(member)));
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
