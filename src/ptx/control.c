// SPDX-License-Identifier: Apache-2.0
// Control dependence by post-dominators (Ferrante, Ottenstein and Warren), of a graph without
// loops: a branch back to a header leads to a node where the loop's rounds end, and that leads to
// wherever the loop can be left for. So what a round may leave out counts as conditional though
// another round comes, and what follows a loop does not count as conditional on it.
#include "control.h"

#include <string.h>

// Nodes: blocks, then loops, then the function's end.
struct graph {
    const struct ptx_cfg *cfg;
    uint32_t count; // without the end
    uint32_t *succ_start, *succs;
    uint32_t *pred_start, *preds;
};

// Where an edge leads: the end of a round where it goes back.
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

static void find_preds(struct graph *graph, struct base_arena *arena)
{
    uint32_t total = graph->succ_start[graph->count];
    graph->pred_start = base_new_array(arena, uint32_t, (size_t)graph->count + 2);
    graph->preds = base_new_array(arena, uint32_t, total);
    uint32_t *fill = base_new_array(arena, uint32_t, (size_t)graph->count + 1);
    for (uint32_t i = 0; i < total; i++)
        graph->pred_start[graph->succs[i] + 1]++;
    for (uint32_t i = 0; i <= graph->count; i++)
        graph->pred_start[i + 1] += graph->pred_start[i];
    for (uint32_t i = 0; i < graph->count; i++) {
        for (uint32_t k = graph->succ_start[i]; k < graph->succ_start[i + 1]; k++) {
            uint32_t to = graph->succs[k];
            graph->preds[graph->pred_start[to] + fill[to]++] = i;
        }
    }
}

struct walk {
    bool *seen;
    uint32_t *stack, *next, *post;
    uint32_t posted;
};

static void walk_back(const struct graph *graph, struct walk *walk, uint32_t root)
{
    uint32_t depth = 0;
    walk->seen[root] = true;
    walk->stack[depth++] = root;
    while (depth) {
        uint32_t at = walk->stack[depth - 1];
        if (graph->pred_start[at] + walk->next[at] < graph->pred_start[at + 1]) {
            uint32_t to = graph->preds[graph->pred_start[at] + walk->next[at]++];
            if (!walk->seen[to]) {
                walk->seen[to] = true;
                walk->stack[depth++] = to;
            }
        } else {
            walk->post[walk->posted++] = at;
            depth--;
        }
    }
}

// Immediate post-dominators. A cycle with two entries may be without end: what cannot reach it is
// given none, and is taken to decide nothing.
static uint32_t *find_postdominators(const struct graph *graph, struct base_arena *arena)
{
    uint32_t nodes = graph->count + 1, end = graph->count;
    struct walk walk = {.seen = base_new_array(arena, bool, nodes),
                        .stack = base_new_array(arena, uint32_t, nodes),
                        .next = base_new_array(arena, uint32_t, nodes),
                        .post = base_new_array(arena, uint32_t, nodes)};
    walk_back(graph, &walk, end);
    uint32_t *order = base_new_array(arena, uint32_t, nodes);
    uint32_t *position = base_new_array(arena, uint32_t, nodes);
    uint32_t *ipdom = base_new_array(arena, uint32_t, nodes);
    memset(position, 0xFF, nodes * sizeof(*position));
    for (uint32_t i = 0; i < walk.posted; i++) {
        order[i] = walk.post[walk.posted - 1 - i];
        position[order[i]] = i;
    }
    ptx_dominators(nodes, order, walk.posted, position, graph->succ_start, graph->succs, ipdom);
    return ipdom;
}

struct ptx_control **ptx_controls_find(const struct ptx_cfg *cfg, struct base_arena *arena)
{
    struct graph graph = {.cfg = cfg, .count = cfg->block_count + cfg->loop_count};
    find_succs(&graph, arena);
    find_preds(&graph, arena);
    const uint32_t *ipdom = find_postdominators(&graph, arena);
    struct ptx_control **controls = base_new_array(arena, struct ptx_control *, graph.count);
    for (uint32_t node = 0; node < graph.count; node++) {
        if (node < cfg->block_count && cfg->blocks[node].order == PTX_NO_BLOCK)
            continue;
        for (uint32_t k = graph.succ_start[node]; k < graph.succ_start[node + 1]; k++) {
            uint32_t at = graph.succs[k];
            while (at != ipdom[node] && at < graph.count &&
                   !(controls[at] && controls[at]->branch == node)) {
                struct ptx_control *control = base_new(arena, struct ptx_control);
                *control = (struct ptx_control){controls[at], node};
                controls[at] = control;
                at = ipdom[at];
            }
        }
    }
    return controls;
}

// An edge between blocks that are left, within a round.
static bool is_left(const struct ptx_cfg *cfg, const bool *left, uint32_t from, uint32_t to)
{
    return left[from] && left[to] && edge_target(cfg, from, to) == to;
}

// Takes away what nothing is left before, or nothing behind, until only tangles are left.
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
            // Forwards and backwards in turn, so that long chains go in one pass.
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
