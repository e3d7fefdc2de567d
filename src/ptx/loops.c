// SPDX-License-Identifier: Apache-2.0
// Finds natural loops. A block that dominates the source of an edge back to it is a header; its
// loop has the blocks from which that edge can be reached without passing the header. All back
// edges to one header form one loop. A cycle whose entry does not dominate it is not a natural
// loop, and the graph is then marked irreducible.
#include <string.h>

#include "cfg.h"

bool ptx_loop_contains(const struct ptx_cfg *cfg, uint32_t loop, uint32_t block)
{
    uint32_t inner = cfg->blocks[block].loop;
    return inner != PTX_NO_LOOP && cfg->loops[loop].first <= cfg->loops[inner].first &&
           cfg->loops[inner].first <= cfg->loops[loop].last;
}

// Numbers the loops in pre-order of their nest.
static void number_nest(struct ptx_cfg *cfg, struct base_arena *arena)
{
    uint32_t *size = base_new_array(arena, uint32_t, cfg->loop_count);
    uint32_t *next = base_new_array(arena, uint32_t, cfg->loop_count);
    uint32_t outermost = 0;
    for (uint32_t i = cfg->loop_count; i-- > 0;) { // inner loops follow outer ones
        size[i]++;
        if (cfg->loops[i].parent != PTX_NO_LOOP)
            size[cfg->loops[i].parent] += size[i];
    }
    for (uint32_t i = 0; i < cfg->loop_count; i++) {
        struct ptx_loop *loop = &cfg->loops[i];
        uint32_t *place = loop->parent == PTX_NO_LOOP ? &outermost : &next[loop->parent];
        loop->first = *place;
        loop->last = *place + size[i] - 1;
        next[i] = loop->first + 1;
        *place += size[i];
    }
}

static bool is_back_edge(const struct ptx_cfg *cfg, uint32_t from, uint32_t to)
{
    return cfg->blocks[from].order != PTX_NO_BLOCK &&
           cfg->blocks[from].order >= cfg->blocks[to].order && ptx_dominates(cfg, to, from);
}

// Collects the blocks of the loop into the list, header first.
static uint32_t collect(const struct ptx_cfg *cfg, uint32_t header, uint32_t *mark, uint32_t stamp,
                        uint32_t *list)
{
    uint32_t count = 0;
    list[count++] = header;
    mark[header] = stamp;
    const struct ptx_block *block = &cfg->blocks[header];
    for (uint32_t i = 0; i < block->pred_count; i++) {
        uint32_t pred = block->preds[i];
        if (is_back_edge(cfg, pred, header) && mark[pred] != stamp) {
            mark[pred] = stamp;
            list[count++] = pred;
        }
    }
    for (uint32_t at = 1; at < count; at++) {
        const struct ptx_block *member = &cfg->blocks[list[at]];
        for (uint32_t i = 0; i < member->pred_count; i++) {
            uint32_t pred = member->preds[i];
            if (mark[pred] != stamp && cfg->blocks[pred].order != PTX_NO_BLOCK) {
                mark[pred] = stamp;
                list[count++] = pred;
            }
        }
    }
    return count;
}

static void describe(struct ptx_cfg *cfg, struct ptx_loop *loop, const uint32_t *mark,
                     uint32_t stamp, struct base_arena *arena)
{
    uint32_t latches = 0, exits = 0;
    for (uint32_t i = 0; i < loop->block_count; i++) {
        const struct ptx_block *block = &cfg->blocks[loop->blocks[i]];
        for (uint32_t k = 0; k < block->succ_count; k++) {
            latches += block->succs[k] == loop->header;
            exits += mark[block->succs[k]] != stamp;
        }
    }
    loop->latches = base_new_array(arena, uint32_t, latches);
    loop->exits = base_new_array(arena, struct ptx_edge, exits);
    for (uint32_t i = 0; i < loop->block_count; i++) {
        const struct ptx_block *block = &cfg->blocks[loop->blocks[i]];
        for (uint32_t k = 0; k < block->succ_count; k++) {
            if (block->succs[k] == loop->header)
                loop->latches[loop->latch_count++] = loop->blocks[i];
            if (mark[block->succs[k]] != stamp)
                loop->exits[loop->exit_count++] =
                    (struct ptx_edge){loop->blocks[i], block->succs[k]};
        }
    }
    loop->last_common = loop->latches[0];
    for (uint32_t i = 1; i < latches; i++) {
        while (!ptx_dominates(cfg, loop->last_common, loop->latches[i]))
            loop->last_common = cfg->blocks[loop->last_common].idom;
    }
    const struct ptx_block *header = &cfg->blocks[loop->header];
    uint32_t outside = PTX_NO_BLOCK, entries = 0;
    for (uint32_t i = 0; i < header->pred_count; i++) {
        if (mark[header->preds[i]] != stamp &&
            cfg->blocks[header->preds[i]].order != PTX_NO_BLOCK) {
            outside = header->preds[i];
            entries++;
        }
    }
    loop->preheader = entries == 1 && cfg->blocks[outside].succ_count == 1 ? outside : PTX_NO_BLOCK;
}

static bool is_irreducible(const struct ptx_cfg *cfg)
{
    for (uint32_t i = 0; i < cfg->order_count; i++) {
        const struct ptx_block *block = &cfg->blocks[cfg->order[i]];
        for (uint32_t k = 0; k < block->succ_count; k++) {
            uint32_t to = block->succs[k];
            if (cfg->blocks[to].order <= i && !ptx_dominates(cfg, to, cfg->order[i]))
                return true;
        }
    }
    return false;
}

void ptx_cfg_find_loops(struct ptx_cfg *cfg, struct base_arena *arena)
{
    uint32_t count = cfg->block_count;
    for (uint32_t i = 0; i < count; i++)
        cfg->blocks[i].loop = PTX_NO_LOOP;
    cfg->irreducible = is_irreducible(cfg);
    uint32_t headers = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < cfg->blocks[i].pred_count; k++) {
            if (is_back_edge(cfg, cfg->blocks[i].preds[k], i)) {
                headers++;
                break;
            }
        }
    }
    cfg->loops = base_new_array(arena, struct ptx_loop, headers);
    uint32_t *mark = base_new_array(arena, uint32_t, count);
    uint32_t *list = base_new_array(arena, uint32_t, count);
    // In reverse post-order outer headers precede inner ones, so that the innermost loop is the
    // last to claim a block.
    for (uint32_t i = 0; i < cfg->order_count; i++) {
        uint32_t header = cfg->order[i], stamp = i + 1;
        bool is_header = false;
        for (uint32_t k = 0; k < cfg->blocks[header].pred_count; k++)
            is_header |= is_back_edge(cfg, cfg->blocks[header].preds[k], header);
        if (!is_header)
            continue;
        struct ptx_loop *loop = &cfg->loops[cfg->loop_count];
        loop->header = header;
        loop->parent = cfg->blocks[header].loop;
        loop->depth = loop->parent == PTX_NO_LOOP ? 1 : cfg->loops[loop->parent].depth + 1;
        loop->block_count = collect(cfg, header, mark, stamp, list);
        loop->blocks = base_new_array(arena, uint32_t, loop->block_count);
        memcpy(loop->blocks, list, loop->block_count * sizeof(*list));
        for (uint32_t k = 0; k < loop->block_count; k++)
            cfg->blocks[loop->blocks[k]].loop = cfg->loop_count;
        describe(cfg, loop, mark, stamp, arena);
        cfg->loop_count++;
    }
    number_nest(cfg, arena);
}
