// SPDX-License-Identifier: Apache-2.0
// Accessed values: combines what the registers of threads hold over the launch. All numbers only
// grow, so most lanes find that memory already holds more, and write nothing. Short kernels are
// bound by the number of instructions until a lane knows that.
//
// A set of numbers has one bit for each.
#include "combine.h"

#include "fill.h"

enum { ENTRY = sizeof(struct instrument_accessed_words) };
_Static_assert(2 * INSTRUMENT_MOST_NUMBERS <= 32, "r3 has two bits for each number");

void instrument_emit_accessed_registers(struct instrument_work *work,
                                        const struct instrument_body *body)
{
    for (uint32_t i = 0; body->kernel && i < body->kernel->accessed_count; i++) {
        base_buf_printf(&work->out,
                        body->spans[i].wide
                            ? ".reg .b64 %%glint$wide_any%u, %%glint$wide_none%u, "
                              "%%glint$wide_most%u;\n"
                            : ".reg .b32 %%glint$any%u, %%glint$none%u, %%glint$most%u;\n",
                        i, i, i);
        if (body->spans[i].early)
            base_buf_printf(&work->out,
                            ".reg .b32 %%glint$seen_any%u, %%glint$seen_none%u, "
                            "%%glint$seen_most%u;\n",
                            i, i, i);
    }
}

// --- Where registers are needed ------------------------------------------------------------------

// Return the numbers whose registers are initialised in that block, and those that are combined
// with memory there.
static uint32_t from_there(const struct instrument_body *body, uint32_t block)
{
    uint32_t set = 0;
    for (uint32_t i = 0; body->kernel && i < body->kernel->accessed_count; i++)
        set |= body->spans[i].from == block ? 1u << i : 0;
    return set;
}

static uint32_t to_there(const struct instrument_body *body, uint32_t block, bool behind)
{
    uint32_t set = 0;
    for (uint32_t i = 0; body->kernel && i < body->kernel->accessed_count; i++)
        set |= body->spans[i].to == block && body->spans[i].behind == behind ? 1u << i : 0;
    return set;
}

static uint32_t early_of(const struct instrument_body *body, uint32_t set)
{
    uint32_t early = 0;
    for (uint32_t i = 0; i < body->kernel->accessed_count; i++)
        early |= body->spans[i].early ? set & 1u << i : 0;
    return early;
}

// Loads what memory holds, for those of a set that are looked at early.
static void emit_early(struct instrument_work *work, const struct instrument_body *body,
                       uint32_t set)
{
    struct base_buf *out = &work->out;
    if (!set)
        return;
    PUT(out, early_start);
    FILL(out, accessed_row, NUMBER(row_bytes, body->kernel->accessed_row_bytes));
    for (uint32_t i = 0; i < body->kernel->accessed_count; i++) {
        if (set >> i & 1)
            FILL(out, early_word, NUMBER(number, i), NUMBER(offset, i * ENTRY));
    }
    base_buf_puts(out, "}\n");
}

// Returns the first load of the block that is observed, or NULL.
static const struct instrument_probe *first_load(const struct instrument_body *body, uint32_t block)
{
    for (uint32_t i = 0; i < body->probe_count; i++) {
        const struct instrument_probe *probe = &body->probes[i];
        if (probe->observed && probe->site->block == block &&
            probe->site->access == PTX_ACCESS_LOAD)
            return probe;
    }
    return NULL;
}

// --- Combining with memory -----------------------------------------------------------------------

// Initialises the registers of a set of numbers.
static void emit_nothing(struct instrument_work *work, const struct instrument_body *body,
                         uint32_t set)
{
    for (uint32_t i = 0; i < body->kernel->accessed_count; i++) {
        if (set >> i & 1 && body->spans[i].wide)
            FILL(&work->out, nothing_wide, NUMBER(number, i));
        else if (set >> i & 1)
            FILL(&work->out, nothing_word, NUMBER(number, i));
    }
}

// Loads what memory holds of a number, in the given way.
static void emit_load(struct instrument_work *work, const struct instrument_body *body, uint32_t i,
                      const char *way)
{
    if (body->spans[i].wide)
        FILL(&work->out, load_wide, NUMBER(offset, i * ENTRY), STRING(way, way));
    else
        FILL(&work->out, load_word, NUMBER(offset, i * ENTRY), STRING(way, way));
}

// Goes to `past` if the registers change nothing in memory, as far as the cache knows.
static void emit_look(struct instrument_work *work, const struct instrument_body *body,
                      uint32_t set, uint32_t past)
{
    struct base_buf *out = &work->out;
    PUT(out, look_start);
    for (uint32_t i = 0; i < body->kernel->accessed_count; i++) {
        if (!(set >> i & 1))
            continue;
        if (body->spans[i].early)
            FILL(out, seen_word, NUMBER(number, i));
        else
            emit_load(work, body, i, "");
        if (body->spans[i].wide)
            FILL(out, look_wide, NUMBER(number, i));
        else
            FILL(out, look_word, NUMBER(number, i));
    }
    FILL(out, look_end, NUMBER(past, past));
}

// Combines the registers of a warp's active lanes, and lets the first of them continue.
static void emit_combined(struct instrument_work *work, const struct instrument_body *body,
                          uint32_t set, uint32_t past)
{
    struct base_buf *out = &work->out;
    PUT(out, combine_start);
    for (uint32_t i = 0; i < body->kernel->accessed_count; i++) {
        if (set >> i & 1 && body->spans[i].wide)
            FILL(out, combine_wide, NUMBER(number, i));
        else if (set >> i & 1)
            FILL(out, combine_word, NUMBER(number, i));
    }
    FILL(out, combined, NUMBER(past, past));
}

// Changes what memory holds. The cache may show what it held long ago, so it is looked at again.
static void emit_changes(struct instrument_work *work, const struct instrument_body *body,
                         uint32_t set)
{
    struct base_buf *out = &work->out;
    PUT(out, change_start);
    for (uint32_t i = 0; i < body->kernel->accessed_count; i++) {
        if (!(set >> i & 1))
            continue;
        emit_load(work, body, i, ".volatile");
        if (body->spans[i].wide)
            FILL(out, change_wide, NUMBER(number, i), NUMBER(bit, 1u << 2 * i),
                 NUMBER(twice, 2u << 2 * i));
        else
            FILL(out, change_word, NUMBER(number, i), NUMBER(bit, 1u << 2 * i),
                 NUMBER(twice, 2u << 2 * i));
    }
    for (uint32_t i = 0; i < body->kernel->accessed_count; i++) {
        if (!(set >> i & 1))
            continue;
        FILL(out, report_start, NUMBER(bit, 1u << 2 * i), NUMBER(twice, 2u << 2 * i));
        if (body->spans[i].wide)
            FILL(out, report_wide, NUMBER(number, i), NUMBER(offset, i * ENTRY));
        else
            FILL(out, report_word, NUMBER(number, i), NUMBER(offset, i * ENTRY));
    }
}

// Combines the registers of a set of numbers with what is in memory.
static void emit_accessed(struct instrument_work *work, const struct instrument_body *body,
                          uint32_t set)
{
    struct base_buf *out = &work->out;
    const uint32_t row_bytes = body->kernel->accessed_row_bytes;
    const bool early = early_of(body, set) == set;
    if (!set)
        return;
    const uint32_t past = work->labels++;
    PUT(out, accessed_start);
    if (!early)
        FILL(out, accessed_row, NUMBER(row_bytes, row_bytes));
    emit_look(work, body, set, past);
    if (early)
        FILL(out, accessed_row, NUMBER(row_bytes, row_bytes));
    if (work->sm >= 80)
        emit_combined(work, body, set, past);
    emit_changes(work, body, set);
    base_buf_printf(out, "$glint$%u:\n}\n", past);
}

void instrument_emit_nothing_accessed(struct instrument_work *work,
                                      const struct instrument_body *body)
{
    emit_nothing(work, body, from_there(body, PTX_NO_BLOCK));
}

void instrument_emit_seen(struct instrument_work *work, const struct instrument_body *body,
                          const struct instrument_probe *probe)
{
    const uint32_t block = probe->site->block;
    if (probe == first_load(body, block))
        emit_early(work, body, early_of(body, from_there(body, block)));
}

void instrument_emit_accessed(struct instrument_work *work, const struct instrument_body *body,
                              uint32_t block)
{
    if (body->kernel && body->kernel->accessed_count &&
        (block == PTX_NO_BLOCK || body->observes[block]))
        emit_accessed(work, body, to_there(body, PTX_NO_BLOCK, false));
}

void instrument_emit_accessed_in(struct instrument_work *work, const struct instrument_body *body,
                                 uint32_t block)
{
    const uint32_t from = from_there(body, block);
    if (!body->spans)
        return;
    emit_accessed(work, body, to_there(body, block, false));
    emit_nothing(work, body, from);
    if (!first_load(body, block)) // else behind it, so that it need not wait
        emit_early(work, body, early_of(body, from));
}

void instrument_emit_accessed_at(struct instrument_work *work, const struct instrument_body *body,
                                 const struct ptx_instr *instr, bool behind)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    const uint32_t block = cfg->block_of[instr->index];
    const bool leaves = (ptx_flags(instr) & (PTX_FLAG_BRANCH | PTX_FLAG_END)) != 0;
    if (body->spans && leaves != behind &&
        instr == cfg->blocks[block].instrs[cfg->blocks[block].instr_count - 1])
        emit_accessed(work, body, to_there(body, block, true));
}
