// SPDX-License-Identifier: Apache-2.0
// Element level: how often threads pass each access, counted in registers, one for each class of
// blocks that run equally often, and added up when threads leave. For blocks in no loop a bit is
// enough: it is set until the thread comes by, which most do.
#include <string.h>

#include "work.h"

// A search that takes more steps than this is given up: the block gets a tally of its own.
enum { STEPS_MOST = 4096 };

// True where some way leads from the block back to it without passing the other, or where that
// would take too long to tell.
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

// For each block the first one that runs just as often in every thread. One block dominates
// another, which post-dominates it, in the same loop, and is not reached again before the other is:
// then the one is followed by the other each time, and the other does not run again without the one
// because only a loop that does not hold the one could lead there.
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

void instrument_place_tallies(struct instrument_work *work, struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    struct instrument_kernel *kernel = body->kernel;
    uint32_t *class = find_classes(work, body);
    uint32_t *tally_of = base_new_array(&work->scratch, uint32_t, cfg->block_count);
    body->tally_at = base_new_array(&work->scratch, uint32_t, cfg->block_count);
    body->from_one = base_new_array(&work->scratch, bool, body->probe_count);
    for (uint32_t i = 0; i < body->probe_count; i++) {
        struct instrument_probe *probe = &body->probes[i];
        uint32_t block = probe->site->block;
        if (probe->how != HOW_ROOT)
            continue;
        // Where a call may end the thread, instructions of one block need not run equally often.
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
        // Outside of loops most threads come by just once.
        if (probe->tally != INSTRUMENT_NONE && !body->may_exit && !cfg->irreducible &&
            cfg->blocks[block].loop == PTX_NO_LOOP)
            body->from_one[probe->tally] = probe->from_one = true;
    }
    body->bit_of = base_new_array(&work->scratch, uint32_t, kernel->tally_count + 1);
    for (uint32_t i = 0; i < kernel->tally_count; i++) {
        if (body->from_one[i])
            body->bit_of[i] = body->bit_count++;
    }
    kernel->tally_row_bytes = (kernel->tally_count * 8 + 127) / 128 * 128;
}

void instrument_emit_tally(struct instrument_work *work, const struct instrument_body *body,
                           uint32_t tally)
{
    if (body->from_one[tally])
        base_buf_printf(&work->out, "and.b32 %%glint$y%u, %%glint$y%u, %u;\n",
                        body->bit_of[tally] / 32, body->bit_of[tally] / 32,
                        ~(1u << body->bit_of[tally] % 32));
    else
        base_buf_printf(&work->out, "add.u32 %%glint$n%u, %%glint$n%u, 1;\n", tally, tally);
}

void instrument_emit_no_tallies(struct instrument_work *work, const struct instrument_body *body)
{
    for (uint32_t i = 0; i < body->kernel->tally_count; i++) {
        if (!body->from_one[i])
            base_buf_printf(&work->out, "mov.b32 %%glint$n%u, 0;\n", i);
    }
    for (uint32_t i = 0; i < body->bit_count; i += 32) {
        const uint32_t left = body->bit_count - i;
        base_buf_printf(&work->out, "mov.b32 %%glint$y%u, %u;\n", i / 32,
                        left < 32 ? (1u << left) - 1 : UINT32_MAX);
    }
}

// The sum of one counter over the threads that are here, into %glint$d1. Halves of 16 bits are
// summed apart, so that nothing overflows.
static void emit_sum(struct instrument_work *work, uint32_t tally)
{
    struct base_buf *out = &work->out;
    uint32_t label = work->labels;
    work->labels += 2;
    if (work->sm >= 80) {
        base_buf_printf(out,
                        "and.b32 %%glint$r1, %%glint$n%u, 65535;\n"
                        "shr.u32 %%glint$r2, %%glint$n%u, 16;\n"
                        "redux.sync.add.u32 %%glint$r1, %%glint$r1, %%glint$r0;\n"
                        "redux.sync.add.u32 %%glint$r2, %%glint$r2, %%glint$r0;\n"
                        "mul.wide.u32 %%glint$d1, %%glint$r2, 65536;\n"
                        "cvt.u64.u32 %%glint$d2, %%glint$r1;\n"
                        "add.u64 %%glint$d1, %%glint$d1, %%glint$d2;\n",
                        tally, tally);
        return;
    }
    // Bit by bit, up to the highest that any thread has set.
    base_buf_printf(out,
                    "mov.u64 %%glint$d1, 0;\n"
                    "mov.u32 %%glint$r1, %%glint$n%u;\n"
                    "mov.u32 %%glint$r2, 0;\n"
                    "$glint$%u:\n"
                    ".pragma \"nounroll\";\n"
                    "setp.ne.u32 %%glint$p1, %%glint$r1, 0;\n"
                    "vote.sync.any.pred %%glint$p2, %%glint$p1, %%glint$r0;\n"
                    "@!%%glint$p2 bra $glint$%u;\n"
                    "and.b32 %%glint$r3, %%glint$r1, 1;\n"
                    "setp.ne.u32 %%glint$p1, %%glint$r3, 0;\n"
                    "vote.sync.ballot.b32 %%glint$r3, %%glint$p1, %%glint$r0;\n"
                    "popc.b32 %%glint$r3, %%glint$r3;\n"
                    "cvt.u64.u32 %%glint$d2, %%glint$r3;\n"
                    "shl.b64 %%glint$d2, %%glint$d2, %%glint$r2;\n"
                    "add.u64 %%glint$d1, %%glint$d1, %%glint$d2;\n"
                    "shr.u32 %%glint$r1, %%glint$r1, 1;\n"
                    "add.u32 %%glint$r2, %%glint$r2, 1;\n"
                    "bra $glint$%u;\n"
                    "$glint$%u:\n",
                    tally, label, label + 1, label, label + 1);
}

// The same of one that each thread is expected to have: less by those that did not come by.
static void emit_deviation(struct base_buf *out, uint32_t bit)
{
    base_buf_printf(out,
                    "and.b32 %%glint$r1, %%glint$y%u, %u;\n"
                    "setp.ne.u32 %%glint$p1, %%glint$r1, 0;\n"
                    "vote.sync.ballot.b32 %%glint$r1, %%glint$p1, %%glint$r0;\n"
                    "popc.b32 %%glint$r1, %%glint$r1;\n"
                    "cvt.u64.u32 %%glint$d1, %%glint$r1;\n"
                    "neg.s64 %%glint$d1, %%glint$d1;\n",
                    bit / 32, 1u << bit % 32);
}

void instrument_emit_tallies(struct instrument_work *work, const struct instrument_body *body)
{
    struct base_buf *out = &work->out;
    const struct instrument_kernel *kernel = body->kernel;
    if (!kernel || !kernel->tally_count)
        return;
    uint32_t past = work->labels++;
    base_buf_puts(out, "{\n.reg .pred %glint$p<3>;\n.reg .b32 %glint$r<4>;\n"
                       ".reg .b64 %glint$d<3>;\n"
                       "activemask.b32 %glint$r0;\n"
                       "mov.u32 %glint$r1, 0;\n");
    // Most often there is nothing to tell.
    for (uint32_t i = 0; i < kernel->tally_count; i++) {
        if (!body->from_one[i])
            base_buf_printf(out, "or.b32 %%glint$r1, %%glint$r1, %%glint$n%u;\n", i);
    }
    for (uint32_t i = 0; i < body->bit_count; i += 32)
        base_buf_printf(out, "or.b32 %%glint$r1, %%glint$r1, %%glint$y%u;\n", i / 32);
    base_buf_printf(out,
                    "setp.ne.u32 %%glint$p0, %%glint$r1, 0;\n"
                    "vote.sync.any.pred %%glint$p0, %%glint$p0, %%glint$r0;\n"
                    "@!%%glint$p0 bra $glint$%u;\n"
                    "mov.u32 %%glint$r1, %%lanemask_lt;\n"
                    "and.b32 %%glint$r1, %%glint$r1, %%glint$r0;\n"
                    "setp.eq.u32 %%glint$p0, %%glint$r1, 0;\n"
                    "mov.u32 %%glint$r1, %%smid;\n"
                    "and.b32 %%glint$r1, %%glint$r1, %u;\n"
                    "ld.param.u64 %%glint$d0, [glint$context+%zu];\n"
                    "mad.wide.u32 %%glint$d0, %%glint$r1, %u, %%glint$d0;\n",
                    past, INSTRUMENT_TALLY_ROWS - 1, offsetof(struct instrument_context, tallies),
                    kernel->tally_row_bytes);
    for (uint32_t i = 0; i < kernel->tally_count; i++) {
        if (body->from_one[i])
            emit_deviation(out, body->bit_of[i]);
        else
            emit_sum(work, i);
        base_buf_printf(out,
                        "setp.ne.and.u64 %%glint$p1, %%glint$d1, 0, %%glint$p0;\n"
                        "@%%glint$p1 red.global.add.u64 [%%glint$d0+%u], %%glint$d1;\n",
                        i * 8);
    }
    base_buf_printf(out, "$glint$%u:\n}\n", past);
}
_Static_assert((INSTRUMENT_TALLY_ROWS & (INSTRUMENT_TALLY_ROWS - 1)) == 0, "taken by a mask");
