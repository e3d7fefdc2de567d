// SPDX-License-Identifier: Apache-2.0
// Counts how often threads execute each access, in one register for each class of blocks that
// execute equally often: at element level all accesses of roots, with values also how often each
// store of a root changed nothing, and of atomic operations, how often the warp's instruction
// changed nothing in the same sector, with requests, how often a block was executed by whole
// warps, and what some of them took, and with shared memory, how often blocks are that access words
// known to the launch. The registers, of 32 bits, are added up when threads leave. Blocks outside
// of loops only need a bit, which is set until the thread executes the block, as most threads do,
// and a store outside of loops one that is set if it changed nothing.
#include "tally.h"

#include <string.h>

#include "fill.h"
#include "flags.h"
#include "masks.h"
#include "requests.h"
#include "spans.h"
#include "word_sites.h"

// A search that takes more steps is abandoned, and the block gets a tally of its own.
enum { STEPS_MOST = 4096 };

// Returns whether a path leads from the block back to itself without the other block, or the search
// is abandoned.
static bool returns_without(const struct ptx_cfg *cfg, uint32_t block, uint32_t other,
                            uint32_t *seen, uint32_t mark, uint32_t *stack)
{
    uint32_t depth = 0, steps = 0;
    stack[depth++] = block;
    while (depth) {
        const struct ptx_block *at = &cfg->blocks[stack[--depth]];
        for (uint32_t i = 0; i < at->succ_count; i++) {
            uint32_t to = at->succs[i];
            if (to == block || ++steps > STEPS_MOST)
                return true;
            if (to == other || seen[to] == mark)
                continue;
            seen[to] = mark;
            stack[depth++] = to;
        }
    }
    return false;
}

// Returns, for each block, the first block that executes equally often in every thread. Two blocks
// do if the one dominates the other, the other post-dominates the one, both are in the same loop,
// and the one is not reached again before the other. Then the other follows the one each time, and
// does not execute again without it: only a loop that does not contain the one could lead there.
static uint32_t *find_classes(struct instrument_work *work, const struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    uint32_t *class = base_new_array(&work->scratch, uint32_t, cfg->block_count);
    uint32_t *seen = base_new_array(&work->scratch, uint32_t, cfg->block_count);
    uint32_t *stack = base_new_array(&work->scratch, uint32_t, cfg->block_count);
    for (uint32_t i = 0; i < cfg->block_count; i++)
        class[i] = i;
    for (uint32_t i = 0; i < cfg->order_count && !cfg->irreducible; i++) {
        uint32_t block = cfg->order[i], at = cfg->blocks[block].idom;
        while (at != PTX_NO_BLOCK && (cfg->blocks[at].loop != cfg->blocks[block].loop ||
                                      !ptx_postdominates(cfg, block, at)))
            at = cfg->blocks[at].idom;
        if (at != PTX_NO_BLOCK && !returns_without(cfg, at, block, seen, i + 1, stack))
            class[block] = class[at];
    }
    return class;
}

static bool is_bit(const struct instrument_body *body, uint32_t tally)
{
    return body->from_one[tally] || body->once[tally];
}

static bool is_register(const struct instrument_body *body, uint32_t tally)
{
    return !is_bit(body, tally) && body->split[tally] != SPLIT_REST;
}

// Finds where tallies are initialised. At element level the ends of loops read them, too.
static void find_starts(struct instrument_work *work, struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    const uint32_t count = body->kernel->tally_count;
    struct instrument_uses *uses =
        base_new_array(&work->scratch, struct instrument_uses, count + 1);
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        if (body->tally_at[i])
            instrument_add_use(body, &uses[body->tally_at[i] - 1], i);
        if (body->words_at && body->words_at[i])
            instrument_add_use(body, &uses[body->words_at[i] - 1], i);
    }
    for (size_t i = 0; i < body->points.count; i++) {
        const struct instrument_point *point = &body->points.items[i];
        const uint32_t block = cfg->block_of[point->instr->index];
        if (point->whole)
            instrument_add_use(body, &uses[point->whole - 1], block);
        for (uint32_t k = point->from; k < point->end; k++) {
            if (body->probes[k].sums)
                instrument_add_use(body, &uses[body->probes[k].requests], block);
        }
    }
    for (uint32_t i = 0; i < body->probe_count; i++) {
        const struct instrument_probe *probe = &body->probes[i];
        const uint32_t tallies[] = {probe->tally, probe->silent, probe->still,
                                    probe->offset ? probe->times : INSTRUMENT_NONE};
        for (uint32_t k = 0; k < 4; k++) {
            if (tallies[k] != INSTRUMENT_NONE)
                instrument_add_use(body, &uses[tallies[k]], probe->site->block);
        }
    }
    body->tally_from = base_new_array(&work->scratch, uint32_t, count + 1);
    for (uint32_t i = 0; i < count; i++)
        body->tally_from[i] = work->elements ? PTX_NO_BLOCK : instrument_find_start(body, &uses[i]);
}

void instrument_place_tallies(struct instrument_work *work, struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    struct instrument_kernel *kernel = body->kernel;
    uint32_t *class = find_classes(work, body);
    uint32_t *tally_of = base_new_array(&work->scratch, uint32_t, cfg->block_count);
    body->tally_at = base_new_array(&work->scratch, uint32_t, cfg->block_count);
    // Five and those of requests for each probe, one for each flag, and that of counts.
    const size_t most =
        (size_t)body->probe_count * (5 + INSTRUMENT_SHARED_TALLIES) + kernel->flag_count + 1;
    body->from_one = base_new_array(&work->scratch, bool, most);
    body->once = base_new_array(&work->scratch, bool, most);
    body->by_thread = base_new_array(&work->scratch, uint32_t, most);
    body->split = base_new_array(&work->scratch, uint8_t, most);
    body->split_count = 0;
    for (uint32_t i = 0; i < body->probe_count && (work->elements || work->values); i++) {
        struct instrument_probe *probe = &body->probes[i];
        uint32_t block = probe->site->block;
        if (probe->how != HOW_ROOT || (!work->elements && !probe->examined))
            continue;
        // If a call may end the thread, instructions of one block need not execute equally often.
        if (probe->site->instr->guard || body->may_exit) {
            probe->tally = kernel->tally_count++;
            probe->counts_itself = true;
        } else if (class[block] != cfg->order[0]) {
            uint32_t *tally = &tally_of[class[block]];
            if (!*tally) {
                *tally = ++kernel->tally_count;
                body->tally_at[block] = *tally;
            }
            probe->tally = *tally - 1;
        }
        // Outside of loops most threads execute a block once.
        if (probe->tally != INSTRUMENT_NONE && !body->may_exit && !cfg->irreducible &&
            cfg->blocks[block].loop == PTX_NO_LOOP)
            body->from_one[probe->tally] = probe->from_one = true;
    }
    if (!work->elements && work->values)
        instrument_count_flags(work, body, class, tally_of);
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        if (probe->how != HOW_ROOT || !probe->examined)
            continue;
        const bool is_once =
            !cfg->irreducible && cfg->blocks[probe->site->block].loop == PTX_NO_LOOP;
        probe->silent = kernel->tally_count++;
        body->once[probe->silent] = is_once;
        if (probe->site->access != PTX_ACCESS_ATOMIC || !instrument_has_match(work))
            continue;
        probe->still = kernel->tally_count++;
        body->once[probe->still] = is_once;
    }
    if (work->requests)
        instrument_place_requests(work, body);
    if (work->words)
        instrument_place_word_tallies(work, body, class);
    if (kernel->made)
        kernel->made = ++kernel->tally_count;
    body->counted = kernel->tally_count;
    body->bit_of = base_new_array(&work->scratch, uint32_t, kernel->tally_count + 1);
    for (uint32_t i = 0; i < kernel->tally_count; i++) {
        if (is_bit(body, i))
            body->bit_of[i] = body->bit_count++;
    }
    find_starts(work, body);
}

void instrument_size_tallies(const struct instrument_body *body)
{
    body->kernel->tally_row_bytes = (body->kernel->tally_count * 8 + 127) / 128 * 128;
}

void instrument_emit_tally(struct instrument_work *work, const struct instrument_body *body,
                           uint32_t tally)
{
    const uint32_t word = is_bit(body, tally) ? body->bit_of[tally] / 32 : 0;
    const uint32_t bit = is_bit(body, tally) ? 1u << body->bit_of[tally] % 32 : 0;
    if (body->from_one[tally])
        base_buf_printf(&work->out, "and.b32 %%glint$y%u, %%glint$y%u, %u;\n", word, word, ~bit);
    else if (body->once[tally])
        base_buf_printf(&work->out, "or.b32 %%glint$y%u, %%glint$y%u, %u;\n", word, word, bit);
    else
        base_buf_printf(&work->out, "add.u32 %%glint$n%u, %%glint$n%u, 1;\n", tally, tally);
}

void instrument_emit_no_tallies_in(struct instrument_work *work, const struct instrument_body *body,
                                   uint32_t block)
{
    for (uint32_t i = 0; body->tally_from && i < body->counted; i++) {
        if (is_register(body, i) && body->tally_from[i] == block)
            base_buf_printf(&work->out, "mov.b32 %%glint$n%u, 0;\n", i);
    }
}

void instrument_emit_no_tallies(struct instrument_work *work, const struct instrument_body *body)
{
    instrument_emit_no_tallies_in(work, body, PTX_NO_BLOCK);
    uint32_t *words = base_new_array(&work->scratch, uint32_t, body->bit_count / 32 + 1);
    for (uint32_t i = 0; i < body->counted; i++) {
        if (body->from_one[i] && !(work->regular && instrument_is_led(body, i)))
            words[body->bit_of[i] / 32] |= 1u << body->bit_of[i] % 32;
    }
    for (uint32_t i = 0; i < body->bit_count; i += 32)
        base_buf_printf(&work->out, "mov.b32 %%glint$y%u, %u;\n", i / 32, words[i / 32]);
}

// Sets %glint$d1 to the sum of a tally over the active threads.
static void emit_sum(struct instrument_work *work, uint32_t tally)
{
    const uint32_t next = work->labels, past = work->labels + 1;
    work->labels += 2;
    if (work->sm >= 80)
        FILL(&work->out, tally_sum, NUMBER(tally, tally));
    else
        FILL(&work->out, tally_sum_by_bits, NUMBER(tally, tally), NUMBER(next, next),
             NUMBER(past, past));
}

// Adds what the thread has counted to the tallies that each thread of a block has.
static void emit_by_thread(struct instrument_work *work, const struct instrument_body *body)
{
    struct base_buf *out = &work->out;
    uint32_t next = 1;
    if (!body->kernel->thread_tallies)
        return;
    PUT(out, tallies_thread);
    for (uint32_t i = 0; i < body->counted; i++) {
        if (!body->by_thread[i])
            continue;
        for (; next < body->by_thread[i]; next++)
            base_buf_puts(out, "add.u64 %glint$d0, %glint$d0, %glint$d2;\n");
        FILL(out, tally_thread, NUMBER(tally, i), NUMBER(bits, is_bit(body, i)),
             NUMBER(word, is_bit(body, i) ? body->bit_of[i] / 32 : 0),
             NUMBER(bit, is_bit(body, i) ? 1u << body->bit_of[i] % 32 : 0));
    }
}

// Writes the code that adds a tally of the active threads to that in memory.
static void emit_added(struct instrument_work *work, const struct instrument_body *body,
                       uint32_t tally)
{
    struct base_buf *out = &work->out;
    if (body->by_thread[tally])
        return;
    if (body->split[tally]) {
        if (body->split[tally] == SPLIT_REGISTER)
            FILL(out, tally_split, NUMBER(tally, tally), NUMBER(offset, tally * 8));
        return;
    }
    if (is_bit(body, tally))
        FILL(out, tally_bits, NUMBER(word, body->bit_of[tally] / 32),
             NUMBER(bit, 1u << body->bit_of[tally] % 32), NUMBER(once, body->once[tally]));
    else
        emit_sum(work, tally);
    base_buf_printf(out,
                    "setp.ne.and.u64 %%glint$p1, %%glint$d1, 0, %%glint$p0;\n"
                    "@%%glint$p1 red.global.add.u64 [%%glint$d0+%u], %%glint$d1;\n",
                    tally * 8);
}

void instrument_emit_tallies(struct instrument_work *work, const struct instrument_body *body)
{
    struct base_buf *out = &work->out;
    const struct instrument_kernel *kernel = body->kernel;
    if (!kernel || !body->counted)
        return;
    uint32_t past = work->labels++;
    if (work->regular)
        instrument_emit_loop_masks(work, body);
    PUT(out, tallies_registers);
    // Mostly there is nothing to add.
    for (uint32_t i = 0; i < body->counted; i++) {
        if (is_register(body, i))
            base_buf_printf(out, "or.b32 %%glint$r1, %%glint$r1, %%glint$n%u;\n", i);
    }
    for (uint32_t i = 0; i < body->bit_count; i += 32)
        base_buf_printf(out, "or.b32 %%glint$r1, %%glint$r1, %%glint$y%u;\n", i / 32);
    FILL(out, tallies_row, NUMBER(past, past), NUMBER(row_bytes, kernel->tally_row_bytes),
         NUMBER(left, kernel->left_counted), NUMBER(regular, work->regular));
    if (kernel->left_counted) {
        base_buf_puts(out, "@%glint$left ");
        instrument_emit_tally(work, body, kernel->left_counted - 1);
    }
    for (uint32_t i = 0; i < body->counted; i++)
        emit_added(work, body, i);
    emit_by_thread(work, body);
    base_buf_printf(out, "$glint$%u:\n}\n", past);
}
