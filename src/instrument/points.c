// SPDX-License-Identifier: Apache-2.0
// Where requests are counted. Counting takes branches and calls, around which the compiler moves
// nothing. So requests are not counted where they are made, but as far behind that as possible:
// behind the last block that follows in the same round of the same loop. A bit says whether the
// thread executed the block that made them. A small block between two others stays one that the
// compiler can execute under a predicate, and loads of several such blocks can be made at once.
//
// Lanes that made a request together are together again where it is counted, because that block
// follows on all paths. Those that are together there must not have made it one after the other:
// paths that lead to the block that made it have met before.
#include "points.h"

#include <stdlib.h>

#include "groups.h"
#include "probe.h"
#include "requests.h"

// --- Within a block ------------------------------------------------------------------------------

static bool is_terminator(const struct ptx_instr *instr)
{
    return ptx_flags(instr) & (PTX_FLAG_BRANCH | PTX_FLAG_END);
}

// Lets addresses of these probes be saved that the instruction changes. Returns whether requests
// must be counted before the instruction: it changes a guard. If a call may end the thread, each is
// counted where it is made.
static bool ends_point(struct instrument_body *body, const struct instrument_point *open,
                       const struct ptx_instr *instr)
{
    bool ends = false;
    for (uint32_t i = open->from; i < open->end; i++) {
        struct instrument_probe *probe = &body->probes[i];
        if (!instrument_has_requests(probe))
            continue;
        ends |= body->may_exit || instrument_sets(body, instr, probe->site->instr->guard);
        if (probe->saved == INSTRUMENT_NONE &&
            instrument_sets(body, instr, instrument_address_reg(probe)))
            probe->saved = body->saved_count++;
    }
    return ends;
}

static bool is_needed(const struct instrument_body *body, const struct instrument_point *point)
{
    bool any = false;
    for (uint32_t i = point->from; i < point->end; i++)
        any |= instrument_has_requests(&body->probes[i]);
    return any;
}

static void add_point(struct instrument_work *work, struct instrument_body *body,
                      struct instrument_point *open, const struct ptx_instr *instr, bool behind)
{
    open->instr = instr;
    open->behind = behind;
    if (is_needed(body, open))
        *base_array_add(&body->points, &work->scratch) = *open;
    open->from = open->end;
}

// --- Behind a block ------------------------------------------------------------------------------

// What is moved out of blocks is limited, as it keeps registers.
enum { MOST_MOVED = 16 };

// What the walk through the blocks needs.
struct mover {
    struct instrument_work *work;
    struct instrument_body *body;
    uint32_t *seen, *stack, marks; // blocks of a search
    uint32_t *moved;               // by block: requests that are counted behind it
    uint32_t *aside;               // by block: blocks that may be skipped on the way to it
    uint8_t *definitions;          // by register: how many there are, at most 2
};

static bool has_call(const struct ptx_block *block)
{
    for (uint32_t i = 0; i < block->instr_count; i++) {
        if (ptx_flags(block->instrs[i]) & PTX_FLAG_CALL)
            return true;
    }
    return false;
}

// Returns whether all paths from one block to another, which post-dominates it, stay in its loop,
// enter no other, and call nothing.
static bool is_simple(struct mover *mover, uint32_t from, uint32_t to)
{
    const struct ptx_cfg *cfg = mover->body->facts->cfg;
    const uint32_t mark = ++mover->marks;
    uint32_t depth = 0;
    mover->stack[depth++] = from;
    mover->seen[from] = mark;
    while (depth) {
        const struct ptx_block *at = &cfg->blocks[mover->stack[--depth]];
        for (uint32_t i = 0; i < at->succ_count; i++) {
            const uint32_t next = at->succs[i];
            if (cfg->blocks[next].loop != cfg->blocks[from].loop || has_call(&cfg->blocks[next]))
                return false;
            if (next == to || mover->seen[next] == mark)
                continue;
            mover->seen[next] = mark;
            mover->stack[depth++] = next;
        }
    }
    return true;
}

// Returns the last block that follows in the same round of the block's loop.
static uint32_t last_behind(struct mover *mover, uint32_t block)
{
    const struct ptx_cfg *cfg = mover->body->facts->cfg;
    uint32_t at = block;
    for (;;) {
        const uint32_t next = cfg->blocks[at].ipdom;
        if (next == PTX_NO_BLOCK || ptx_dominates(cfg, next, at) || !is_simple(mover, at, next))
            return at;
        at = next;
    }
}

// Returns the nearest block that dominates both, or PTX_NO_BLOCK if lanes that come from there may
// execute the first block one after the other. Lanes that went different ways, or left a loop in
// different rounds, are together again where all of these ways meet.
static uint32_t common_dominator(const struct ptx_cfg *cfg, uint32_t one, uint32_t other)
{
    while (!ptx_dominates(cfg, one, other)) {
        const struct ptx_block *block = &cfg->blocks[one];
        const uint32_t loop = cfg->blocks[block->idom].loop;
        const bool leaves = loop != PTX_NO_LOOP && !ptx_loop_contains(cfg, loop, one);
        if ((block->pred_count > 1 || leaves) && !ptx_postdominates(cfg, one, block->idom))
            return PTX_NO_BLOCK;
        one = block->idom;
    }
    return one;
}

// Returns whether the register may have another value behind a block that follows the one in which
// the site is: it has several definitions.
static bool may_change(const struct mover *mover, const struct ptx_reg *reg)
{
    return reg && mover->definitions[reg->id] > 1;
}

static void count_definitions(struct mover *mover)
{
    const struct ptx_ssa *ssa = mover->body->facts->ssa;
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        const struct ptx_value *value = &ssa->values[i];
        if (value->kind == PTX_VALUE_DEF && value->reg && mover->definitions[value->reg->id] < 2)
            mover->definitions[value->reg->id]++;
    }
}

// Moves the last point of a block to the end of another block.
static void move(struct mover *mover, struct instrument_point *point, uint32_t to)
{
    struct instrument_body *body = mover->body;
    const struct ptx_cfg *cfg = body->facts->cfg;
    const uint32_t block = cfg->block_of[point->instr->index];
    const struct ptx_block *last = &cfg->blocks[to];
    const uint32_t from = common_dominator(cfg, block, to);
    uint32_t count = 0;
    if (!last->instr_count || from == PTX_NO_BLOCK)
        return;
    for (uint32_t i = point->from; i < point->end; i++) {
        if (!instrument_has_requests(&body->probes[i]))
            continue;
        count++;
        // Without a form a call is needed anyway.
        if (body->probes[i].site->instr->guard || !body->probes[i].form)
            return;
    }
    if (mover->moved[to] + count > MOST_MOVED)
        return;
    mover->moved[to] += count;
    for (uint32_t i = point->from; i < point->end; i++) {
        struct instrument_probe *probe = &body->probes[i];
        if (instrument_has_requests(probe) && probe->saved == INSTRUMENT_NONE &&
            may_change(mover, instrument_address_reg(probe)))
            probe->saved = body->saved_count++;
    }
    point->instr = last->instrs[last->instr_count - 1];
    point->behind = !is_terminator(point->instr);
    if (from == block)
        return;
    *base_array_add(&body->ran, &mover->work->scratch) = (struct instrument_ran){block, from};
    point->ran = (uint32_t)body->ran.count;
}

// Returns the block behind which the requests of the point can be counted: its own if they must be
// counted in it.
static uint32_t place_of(struct mover *mover, const struct instrument_point *point)
{
    const struct ptx_cfg *cfg = mover->body->facts->cfg;
    const uint32_t number = cfg->block_of[point->instr->index];
    const struct ptx_block *block = &cfg->blocks[number];
    if (point->instr != block->instrs[block->instr_count - 1] ||
        point->behind == is_terminator(point->instr) || block->order == PTX_NO_BLOCK)
        return number;
    return last_behind(mover, number);
}

// Moves points out of blocks. A single block that may be skipped has nothing to gain from that.
static void move_points(struct mover *mover)
{
    struct instrument_body *body = mover->body;
    const struct ptx_cfg *cfg = body->facts->cfg;
    uint32_t *places = base_new_array(&mover->work->scratch, uint32_t, body->points.count + 1);
    for (size_t i = 0; i < body->points.count; i++) {
        const struct instrument_point *point = &body->points.items[i];
        places[i] = place_of(mover, point);
        mover->aside[places[i]] +=
            !ptx_dominates(cfg, cfg->block_of[point->instr->index], places[i]);
    }
    for (size_t i = 0; i < body->points.count; i++) {
        struct instrument_point *point = &body->points.items[i];
        if (places[i] != cfg->block_of[point->instr->index] && mover->aside[places[i]] > 1)
            move(mover, point, places[i]);
    }
}

// --- All -----------------------------------------------------------------------------------------

// Names of an inner scope are not known behind it. Returns whether requests of the instruction must
// be counted right behind it: its guard may be such a name.
static bool is_inner(struct instrument_body *body, const struct ptx_instr *instr, uint32_t from,
                     uint32_t end)
{
    for (uint32_t i = from; i < end && instr->stmt.scope->depth; i++) {
        struct instrument_probe *probe = &body->probes[i];
        if (instrument_has_requests(probe) && probe->saved == INSTRUMENT_NONE)
            probe->saved = body->saved_count++;
    }
    return from < end && instr->stmt.scope->depth && instr->guard;
}

// Divides a block at points. *probe is the first probe that is not in an earlier block.
static void find_in_block(struct mover *mover, uint32_t number, uint32_t *probe)
{
    struct instrument_body *body = mover->body;
    const struct ptx_block *block = &body->facts->cfg->blocks[number];
    struct instrument_point open = {.from = *probe, .end = *probe};
    for (uint32_t i = 0; i < block->instr_count; i++) {
        const struct ptx_instr *instr = block->instrs[i];
        const bool is_last = i + 1 == block->instr_count;
        const uint32_t first = *probe;
        while (*probe < body->probe_count && body->probes[*probe].site->instr == instr)
            open.end = ++*probe;
        if (ends_point(body, &open, instr) || (is_last && is_terminator(instr)))
            add_point(mover->work, body, &open, instr, false);
        else if (is_inner(body, instr, first, *probe) || is_last)
            add_point(mover->work, body, &open, instr, true);
    }
}

static int compare_points(const void *one, const void *other)
{
    const struct instrument_point *a = one, *b = other;
    const uint64_t first = (uint64_t)a->instr->index << 33 | (uint64_t)a->behind << 32 | a->from;
    const uint64_t second = (uint64_t)b->instr->index << 33 | (uint64_t)b->behind << 32 | b->from;
    return (first > second) - (first < second);
}

void instrument_find_points(struct instrument_work *work, struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    struct mover mover = {
        .work = work,
        .body = body,
        .seen = base_new_array(&work->scratch, uint32_t, cfg->block_count),
        .stack = base_new_array(&work->scratch, uint32_t, cfg->block_count),
        .moved = base_new_array(&work->scratch, uint32_t, cfg->block_count),
        .aside = base_new_array(&work->scratch, uint32_t, cfg->block_count),
        .definitions = base_new_array(&work->scratch, uint8_t, body->function->reg_count + 1),
    };
    count_definitions(&mover);
    uint32_t probe = 0;
    for (uint32_t i = 0; i < cfg->block_count; i++)
        find_in_block(&mover, i, &probe);
    if (!body->may_exit && !cfg->irreducible)
        move_points(&mover);
    if (body->points.count)
        qsort(body->points.items, body->points.count, sizeof(body->points.items[0]),
              compare_points);
}

// --- Code ----------------------------------------------------------------------------------------

void instrument_emit_point_registers(struct instrument_work *work,
                                     const struct instrument_body *body)
{
    if (body->ran.count)
        base_buf_printf(&work->out, ".reg .b32 %%glint$ran<%u>;\n",
                        (uint32_t)(body->ran.count / 32 + 1));
}

void instrument_emit_nothing_ran(struct instrument_work *work, const struct instrument_body *body)
{
    for (uint32_t i = 0; i < body->ran.count; i += 32)
        base_buf_printf(&work->out, "mov.b32 %%glint$ran%u, 0;\n", i / 32);
}

void instrument_emit_ran(struct instrument_work *work, const struct instrument_body *body,
                         uint32_t block)
{
    const bool repeats = body->facts->cfg->blocks[block].loop != PTX_NO_LOOP;
    for (uint32_t i = 0; i < body->ran.count; i += 32) {
        uint32_t set = 0, cleared = 0;
        for (uint32_t k = i; k < body->ran.count && k < i + 32; k++) {
            set |= body->ran.items[k].block == block ? 1u << k % 32 : 0;
            cleared |= body->ran.items[k].from == block ? 1u << k % 32 : 0;
        }
        if (cleared && repeats)
            base_buf_printf(&work->out, "and.b32 %%glint$ran%u, %%glint$ran%u, %u;\n", i / 32,
                            i / 32, ~cleared);
        if (set)
            base_buf_printf(&work->out, "or.b32 %%glint$ran%u, %%glint$ran%u, %u;\n", i / 32,
                            i / 32, set);
    }
}
