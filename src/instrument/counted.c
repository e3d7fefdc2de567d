// SPDX-License-Identifier: Apache-2.0
// Writes the code that counts what accesses of roots touch (probes/counted.ptx); its registers are
// those of mark.c. If a whole warp that is a piece of a row touches whole words, its first lanes
// count these. Otherwise each lane counts its elements, and glint$count combines lanes that have
// the same one.
#include "fill.h"
#include "mark.h"

// Counts whole words of a whole warp, which continues at the label.
static void emit_whole_words(struct base_buf *out, const struct instrument_member *member,
                             uint32_t next)
{
    const uint32_t elements = instrument_own_elements(member);
    FILL(out, whole_words, NUMBER(elements, elements), NUMBER(view, member->slot),
         NUMBER(next, next));
}

// Says in the word of element %glint$i that its elements have counters, if the predicate holds and
// no thread has said so before.
static void emit_apart(struct base_buf *out, const struct instrument_member *member,
                       const char *predicate)
{
    FILL(out, apart, NUMBER(k, member->k), STRING(predicate, predicate));
}

// Sets %glint$x to the address of the counter of element %glint$i.
static void emit_counter(struct base_buf *out, const struct instrument_member *member)
{
    FILL(out, counter, NUMBER(view, member->slot));
}

// Counts a run lane by lane. Few lanes have elements that begin in a word or reach into the next.
static void emit_counted_run(struct base_buf *out, const struct instrument_member *member,
                             uint32_t next)
{
    const uint32_t elements = instrument_own_elements(member);
    instrument_emit_element(out, member);
    emit_whole_words(out, member, next);
    instrument_emit_word(out, member, NULL);
    FILL(out, at_word, NUMBER(elements, elements));
    emit_apart(out, member, "%glint$p2");
    if (member->probe->next) {
        // The elements of several accesses may reach into the next word.
        FILL(out, last_word, NUMBER(elements, elements), NUMBER(view, member->slot),
             NUMBER(k, member->k));
        emit_apart(out, member, "%glint$p2");
    }
    emit_counter(out, member);
    if (elements > 1 && !member->probe->next) {
        // One 64-bit operation counts two neighbouring elements.
        base_buf_puts(out, "mov.u64 %glint$a, 4294967297;\n");
        for (uint32_t i = 0; i < elements; i += 2)
            base_buf_printf(out, "red.global.add.u64 [%%glint$x+%u], %%glint$a;\n", 4 * i);
        return;
    }
    for (uint32_t i = 0; i < elements; i++)
        base_buf_printf(out, "red.global.add.u32 [%%glint$x+%u], 1;\n", 4 * i);
}

// Counts accesses that are smaller than elements and that together touch every byte of a run once.
// An element is touched by as many accesses as fit into its part of the run. In a whole warp each
// lane takes one element; otherwise each lane takes the two elements that it may touch.
static void emit_counted_tile(struct instrument_work *work, const struct instrument_member *member)
{
    struct base_buf *out = &work->out;
    const uint32_t size = 1u << member->shift, some = work->labels++, next = work->labels++;
    const uint32_t log = (uint32_t)__builtin_ctz(member->probe->site->bytes);
    FILL(out, tile, NUMBER(some, some), NUMBER(k, member->k), NUMBER(step, member->probe->step),
         NUMBER(run, instrument_run_bytes(member)), NUMBER(shift, member->shift),
         NUMBER(size, size), NUMBER(next, next), NUMBER(log, log), NUMBER(view, member->slot));
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

// Counts an access of lanes that may or may not touch the same elements.
static void emit_counted_lane(struct instrument_work *work, const struct instrument_member *member)
{
    struct base_buf *out = &work->out;
    work->helpers |= HELPER_COUNT;
    instrument_emit_element(out, member);
    instrument_emit_word(out, member, NULL);
    emit_counter(out, member);
    FILL(out, count_call, NUMBER(k, member->k), NUMBER(elements, instrument_own_elements(member)));
}

void instrument_emit_counted(struct instrument_work *work, const struct instrument_member *member)
{
    const uint32_t next = work->labels++;
    switch (member->class) {
    case CLASS_RUN: emit_counted_run(&work->out, member, next); break;
    case CLASS_SPAN: emit_counted_tile(work, member); break;
    default: emit_counted_lane(work, member); break;
    }
    base_buf_printf(&work->out, "$glint$%u:\n", next);
}
