// SPDX-License-Identifier: Apache-2.0
// Where registers that a thread adds to are needed: from the last block that comes before all uses
// to the first that comes behind all of them, both outside of loops. A kernel often has phases,
// such as one loop that reads and another that writes. The registers of one phase are not kept in
// the other, where the compiler would store them to memory in each iteration. It does not find out
// by itself that a register is still zero.
#include "spans.h"

static uint32_t common_dominator(const struct ptx_cfg *cfg, uint32_t one, uint32_t other)
{
    while (one != PTX_NO_BLOCK && !ptx_dominates(cfg, one, other))
        one = cfg->blocks[one].idom;
    return one;
}

static uint32_t common_postdominator(const struct ptx_cfg *cfg, uint32_t one, uint32_t other)
{
    while (one != PTX_NO_BLOCK && !ptx_postdominates(cfg, one, other))
        one = cfg->blocks[one].ipdom;
    return one;
}

void instrument_add_use(const struct instrument_body *body, struct instrument_uses *uses,
                        uint32_t block)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    uses->several |= uses->any && (uses->from != block || uses->to != block);
    uses->from = uses->any ? common_dominator(cfg, uses->from, block) : block;
    uses->to = uses->any ? common_postdominator(cfg, uses->to, block) : block;
    uses->loops |= cfg->blocks[block].loop != PTX_NO_LOOP;
    uses->any = true;
}

// Returns the last block that dominates this one, at whose start a thread executes code once.
static uint32_t once_before(const struct ptx_cfg *cfg, uint32_t block)
{
    while (block != PTX_NO_BLOCK &&
           (cfg->blocks[block].loop != PTX_NO_LOOP || !cfg->blocks[block].instr_count))
        block = cfg->blocks[block].idom;
    return block;
}

static bool has_observed(const struct instrument_body *body, uint32_t block)
{
    for (uint32_t i = 0; i < body->probe_count; i++) {
        if (body->probes[i].observed && body->probes[i].site->block == block)
            return true;
    }
    return false;
}

// Returns whether code can stand at the end of the block.
static bool has_end(const struct ptx_block *block)
{
    return !(ptx_flags(block->instrs[block->instr_count - 1]) & PTX_FLAG_CALL);
}

// Returns the first block that post-dominates this one, in which a thread executes code once.
static uint32_t once_behind(const struct instrument_body *body, uint32_t block, bool *behind)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    for (; block != PTX_NO_BLOCK; block = cfg->blocks[block].ipdom) {
        *behind = has_observed(body, block);
        if (cfg->blocks[block].loop == PTX_NO_LOOP && cfg->blocks[block].instr_count &&
            (!*behind || has_end(&cfg->blocks[block])))
            return block;
    }
    *behind = false;
    return PTX_NO_BLOCK;
}

// Returns the last block before all uses and all ends.
static uint32_t before_ends(const struct instrument_body *body, uint32_t from, const bool *counts)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        if (cfg->blocks[i].ends && cfg->blocks[i].order != PTX_NO_BLOCK && (!counts || counts[i]))
            from = common_dominator(cfg, from, i);
    }
    return once_before(cfg, from);
}

// Returns whether a loop may lie between a block and one that post-dominates it.
static bool has_loop_between(const struct ptx_cfg *cfg, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < cfg->loop_count; i++) {
        const uint32_t header = cfg->loops[i].header;
        if (ptx_postdominates(cfg, to, header) && !ptx_postdominates(cfg, from, header))
            return true;
    }
    return false;
}

struct instrument_span instrument_find_span(const struct instrument_body *body,
                                            const struct instrument_uses *uses)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    struct instrument_span span = {.from = PTX_NO_BLOCK, .to = PTX_NO_BLOCK};
    if (!uses->any || cfg->irreducible || body->may_exit)
        return span;
    span.to = once_behind(body, uses->to, &span.behind);
    span.from = span.to == PTX_NO_BLOCK
                    ? before_ends(body, uses->from, body->observes)
                    : once_before(cfg, common_dominator(cfg, uses->from, span.to));
    span.alone = !uses->several && !uses->loops && span.to == uses->to && span.behind;
    return span;
}

void instrument_join_spans(const struct instrument_body *body)
{
    const struct ptx_cfg *cfg = body->facts->cfg;
    const uint32_t count = body->kernel->accessed_count;
    for (uint32_t i = 0; i < count; i++) {
        struct instrument_span *span = &body->spans[i];
        for (uint32_t k = 0; k < count && span->to != PTX_NO_BLOCK; k++) {
            const struct instrument_span *other = &body->spans[k];
            if (other->to == PTX_NO_BLOCK || other->to == span->to ||
                !ptx_postdominates(cfg, other->to, span->to) ||
                has_loop_between(cfg, span->to, other->to))
                continue;
            span->to = other->to;
            span->behind = other->behind;
            span->from = once_before(cfg, common_dominator(cfg, span->from, span->to));
            k = UINT32_MAX; // it may be joined with further ones
        }
        span->early = span->from != PTX_NO_BLOCK && span->from == span->to && span->behind;
    }
}

uint32_t instrument_find_start(const struct instrument_body *body,
                               const struct instrument_uses *uses)
{
    if (!uses->any || body->facts->cfg->irreducible || body->may_exit)
        return PTX_NO_BLOCK;
    return before_ends(body, uses->from, NULL);
}
