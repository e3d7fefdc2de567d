// SPDX-License-Identifier: Apache-2.0
// Computes control dependence by post-dominators (Ferrante, Ottenstein and Warren) on a graph
// without loops: an edge back to a header leads to a node where the loop's iteration ends, and that
// leads to the targets of the loop's exits. So code that an iteration may skip is conditional even
// if another iteration follows, and code behind a loop is not conditional on it.
#include "control.h"

#include <string.h>

// Nodes are blocks, then loops, then the function's end.
struct graph {
    const struct ptx_cfg *cfg;
    uint32_t count; // without the end node
    uint32_t *succ_start, *succs;
};

// Returns where an edge leads: to the end of the iteration if it is a back edge.
static uint32_t edge_target(const struct ptx_cfg *cfg, uint32_t from, uint32_t to)
{
    uint32_t loop = cfg->blocks[to].loop;
    return loop != PTX_NO_LOOP && cfg->loops[loop].header == to &&
                   ptx_loop_contains(cfg, loop, from)
               ? cfg->block_count + loop
               : to;
}

static void find_succs(struct graph *graph, struct base_arena *arena)
{
    const struct ptx_cfg *cfg = graph->cfg;
    uint32_t edges = 0, end = graph->count;
    for (uint32_t i = 0; i < cfg->block_count; i++)
        edges += cfg->blocks[i].succ_count + 1;
    for (uint32_t i = 0; i < cfg->loop_count; i++)
        edges += cfg->loops[i].exit_count + 1;
    graph->succs = base_new_array(arena, uint32_t, edges);
    graph->succ_start = base_new_array(arena, uint32_t, (size_t)graph->count + 2);
    uint32_t at = 0;
    for (uint32_t i = 0; i < cfg->block_count; i++) {
        graph->succ_start[i] = at;
        for (uint32_t k = 0; k < cfg->blocks[i].succ_count; k++)
            graph->succs[at++] = edge_target(cfg, i, cfg->blocks[i].succs[k]);
        if (cfg->blocks[i].ends)
            graph->succs[at++] = end;
    }
    for (uint32_t i = 0; i < cfg->loop_count; i++) {
        const struct ptx_loop *loop = &cfg->loops[i];
        bool ends = loop->exit_count == 0;
        graph->succ_start[cfg->block_count + i] = at;
        for (uint32_t k = 0; k < loop->exit_count; k++)
            graph->succs[at++] = edge_target(cfg, loop->exits[k].from, loop->exits[k].to);
        for (uint32_t k = 0; !ends && k < loop->block_count; k++)
            ends = cfg->blocks[loop->blocks[k]].ends;
        if (ends)
            graph->succs[at++] = end;
    }
    graph->succ_start[end] = graph->succ_start[end + 1] = at;
}

// Walks up the post-dominators from the target of each edge out of a node, once to count the
// dependences and once to store them.
static void climb(const struct graph *graph, const uint32_t *ipdom, uint32_t *fill, uint32_t *mark,
                  uint32_t *branches)
{
    const struct ptx_cfg *cfg = graph->cfg;
    memset(mark, 0xFF, graph->count * sizeof(*mark));
    for (uint32_t node = 0; node < graph->count; node++) {
        if (node < cfg->block_count && cfg->blocks[node].order == PTX_NO_BLOCK)
            continue;
        for (uint32_t k = graph->succ_start[node]; k < graph->succ_start[node + 1]; k++) {
            uint32_t at = graph->succs[k];
            for (; at != ipdom[node] && at < graph->count && mark[at] != node; at = ipdom[at]) {
                mark[at] = node;
                if (branches)
                    branches[fill[at]] = node;
                fill[at]++;
            }
        }
    }
}

struct ptx_controls *ptx_controls_find(const struct ptx_cfg *cfg, struct base_arena *arena)
{
    struct graph graph = {.cfg = cfg, .count = cfg->block_count + cfg->loop_count};
    find_succs(&graph, arena);
    // Predecessors in the reversed graph are successors.
    uint32_t *ipdom = base_new_array(arena, uint32_t, (size_t)graph.count + 1);
    ptx_dominators(graph.count + 1, graph.count, graph.succ_start, graph.succs, ipdom, arena);
    struct ptx_controls *controls = base_new(arena, struct ptx_controls);
    uint32_t *fill = base_new_array(arena, uint32_t, (size_t)graph.count + 1);
    uint32_t *mark = base_new_array(arena, uint32_t, graph.count);
    controls->start = base_new_array(arena, uint32_t, (size_t)graph.count + 1);
    climb(&graph, ipdom, fill, mark, NULL);
    for (uint32_t i = 0; i < graph.count; i++) {
        if (__builtin_add_overflow(controls->start[i], fill[i], &controls->start[i + 1]))
            base_alloc(arena, SIZE_MAX); // exceeds any memory: takes the escape
        fill[i] = controls->start[i];
    }
    controls->branches = base_new_array(arena, uint32_t, controls->start[graph.count]);
    climb(&graph, ipdom, fill, mark, controls->branches);
    return controls;
}

// Returns whether a node of the control dependences lies in the loop: a block, or the end of an
// inner loop's iteration.
static bool is_member(const struct ptx_cfg *cfg, uint32_t loop, uint32_t node)
{
    if (node < cfg->block_count)
        return ptx_loop_contains(cfg, loop, node);
    return node - cfg->block_count != loop &&
           ptx_loop_contains(cfg, loop, cfg->loops[node - cfg->block_count].header);
}

struct decider_search {
    const struct ptx_cfg *cfg;
    const struct ptx_controls *controls;
    uint32_t loop;
    uint32_t *mark;
};

static void add_decider(struct decider_search *search, struct ptx_deciders *found, uint32_t node)
{
    if (search->mark[node] == search->loop + 1)
        return;
    search->mark[node] = search->loop + 1;
    found->blocks[found->count++] = node;
}

// Adds the nodes that decide whether those from `first` on are reached.
static void close_deciders(struct decider_search *search, struct ptx_deciders *found,
                           uint32_t first)
{
    for (uint32_t i = first; i < found->count; i++) {
        uint32_t node = found->blocks[i];
        for (uint32_t k = search->controls->start[node]; k < search->controls->start[node + 1];
             k++) {
            if (is_member(search->cfg, search->loop, search->controls->branches[k]))
                add_decider(search, found, search->controls->branches[k]);
        }
    }
}

struct ptx_deciders *ptx_deciders_find(const struct ptx_cfg *cfg,
                                       const struct ptx_controls *controls,
                                       struct base_arena *arena)
{
    struct ptx_deciders *deciders = base_new_array(arena, struct ptx_deciders, cfg->loop_count);
    size_t nodes = (size_t)cfg->block_count + cfg->loop_count;
    struct decider_search search = {
        .cfg = cfg, .controls = controls, .mark = base_new_array(arena, uint32_t, nodes)};
    uint32_t *list = base_new_array(arena, uint32_t, nodes);
    for (uint32_t i = 0; i < cfg->loop_count; i++) {
        const struct ptx_loop *loop = &cfg->loops[i];
        struct ptx_deciders found = {.blocks = list};
        search.loop = i;
        for (uint32_t k = 0; k < loop->exit_count; k++)
            add_decider(&search, &found, loop->exits[k].from);
        close_deciders(&search, &found, 0);
        found.leave_count = found.count;
        for (uint32_t k = 0; k < loop->block_count; k++) {
            if (cfg->blocks[loop->blocks[k]].ends)
                add_decider(&search, &found, loop->blocks[k]);
        }
        close_deciders(&search, &found, found.leave_count);
        found.blocks = base_new_array(arena, uint32_t, found.count);
        memcpy(found.blocks, list, found.count * sizeof(*list));
        deciders[i] = found;
    }
    return deciders;
}

// Returns whether the edge connects remaining blocks within an iteration.
static bool is_left(const struct ptx_cfg *cfg, const bool *left, uint32_t from, uint32_t to)
{
    return left[from] && left[to] && edge_target(cfg, from, to) == to;
}

// Removes blocks without remaining predecessors or successors until only irreducible cycles remain.
bool *ptx_tangles_find(const struct ptx_cfg *cfg, struct base_arena *arena)
{
    if (!cfg->irreducible)
        return NULL;
    bool *left = base_new_array(arena, bool, cfg->block_count);
    for (uint32_t i = 0; i < cfg->order_count; i++)
        left[cfg->order[i]] = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < cfg->order_count; i++) {
            // Alternates between both directions, so that long chains are removed in one pass.
            for (int way = 0; way < 2; way++) {
                uint32_t at = cfg->order[way ? cfg->order_count - 1 - i : i];
                const struct ptx_block *block = &cfg->blocks[at];
                uint32_t before = 0, behind = 0;
                for (uint32_t k = 0; left[at] && k < block->pred_count; k++)
                    before += is_left(cfg, left, block->preds[k], at);
                for (uint32_t k = 0; left[at] && k < block->succ_count; k++)
                    behind += is_left(cfg, left, at, block->succs[k]);
                if (left[at] && (!before || !behind)) {
                    left[at] = false;
                    changed = true;
                }
            }
        }
    }
    return left;
}
