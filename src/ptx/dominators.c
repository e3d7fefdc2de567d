// SPDX-License-Identifier: Apache-2.0
// Dominators and post-dominators, by the iteration of Cooper, Harvey and Kennedy ("A Simple, Fast
// Dominance Algorithm"). Post-dominators are dominators of the reversed graph from one virtual end;
// what can never reach an end (an infinite loop) gets an edge to it, so that every block has one.
#include <string.h>

#include "cfg.h"

static uint32_t meet(const uint32_t *idom, const uint32_t *position, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (position[a] > position[b])
            a = idom[a];
        while (position[b] > position[a])
            b = idom[b];
    }
    return a;
}

void ptx_dominators(uint32_t count, const uint32_t *order, uint32_t order_count,
                    const uint32_t *position, const uint32_t *pred_start, const uint32_t *preds,
                    uint32_t *idom)
{
    for (uint32_t i = 0; i < count; i++)
        idom[i] = PTX_NO_BLOCK;
    idom[order[0]] = order[0];
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 1; i < order_count; i++) {
            uint32_t node = order[i], best = PTX_NO_BLOCK;
            // From the last: what is met moves up, and many ways into one block need few steps.
            for (uint32_t k = pred_start[node + 1]; k-- > pred_start[node];) {
                uint32_t pred = preds[k];
                if (position[pred] == PTX_NO_BLOCK || idom[pred] == PTX_NO_BLOCK)
                    continue;
                best = best == PTX_NO_BLOCK ? pred : meet(idom, position, best, pred);
            }
            if (idom[node] != best) {
                idom[node] = best;
                changed = true;
            }
        }
    }
    idom[order[0]] = PTX_NO_BLOCK;
}

// The nodes of a tree in the order of a walk down it: below a node are those from first to last.
struct span {
    uint32_t first, last;
};

// order has parents before their children. What it does not list is below nothing.
static struct span *number_tree(uint32_t count, const uint32_t *order, uint32_t order_count,
                                const uint32_t *idom, struct base_arena *arena)
{
    struct span *spans = base_new_array(arena, struct span, count);
    uint32_t *size = base_new_array(arena, uint32_t, count);
    uint32_t *next = base_new_array(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        spans[i] = (struct span){PTX_NO_BLOCK, 0};
    for (uint32_t i = order_count; i-- > 0;) {
        size[order[i]]++;
        if (i)
            size[idom[order[i]]] += size[order[i]];
    }
    for (uint32_t i = 0; i < order_count; i++) {
        uint32_t node = order[i], first = i ? next[idom[node]] : 0;
        if (i)
            next[idom[node]] += size[node];
        spans[node] = (struct span){first, first + size[node] - 1};
        next[node] = first + 1;
    }
    return spans;
}

static void find_forward(struct ptx_cfg *cfg, struct base_arena *arena)
{
    uint32_t count = cfg->block_count, edges = 0;
    uint32_t *position = base_new_array(arena, uint32_t, count);
    uint32_t *start = base_new_array(arena, uint32_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++)
        edges += cfg->blocks[i].pred_count;
    uint32_t *preds = base_new_array(arena, uint32_t, edges);
    for (uint32_t i = 0, at = 0; i < count; i++) {
        position[i] = cfg->blocks[i].order;
        start[i] = at;
        memcpy(preds + at, cfg->blocks[i].preds, cfg->blocks[i].pred_count * sizeof(*preds));
        start[i + 1] = at += cfg->blocks[i].pred_count;
    }
    uint32_t *idom = base_new_array(arena, uint32_t, count);
    ptx_dominators(count, cfg->order, cfg->order_count, position, start, preds, idom);
    struct span *spans = number_tree(count, cfg->order, cfg->order_count, idom, arena);
    for (uint32_t i = 0; i < count; i++) {
        cfg->blocks[i].idom = idom[i];
        cfg->blocks[i].dom_first = spans[i].first;
        cfg->blocks[i].dom_last = spans[i].last;
    }
}

// The reversed graph: node `count` is the virtual end.
struct reversed {
    bool *leaves; // has an edge to the virtual end
    bool *seen;
    uint32_t *stack, *next, *post;
    uint32_t posted;
};

static void walk_back(const struct ptx_cfg *cfg, struct reversed *graph, uint32_t root)
{
    uint32_t depth = 0;
    graph->seen[root] = true;
    graph->stack[depth++] = root;
    while (depth) {
        uint32_t at = graph->stack[depth - 1];
        const struct ptx_block *block = &cfg->blocks[at];
        if (graph->next[at] < block->pred_count) {
            uint32_t to = block->preds[graph->next[at]++];
            if (!graph->seen[to] && cfg->blocks[to].order != PTX_NO_BLOCK) {
                graph->seen[to] = true;
                graph->stack[depth++] = to;
            }
        } else {
            graph->post[graph->posted++] = at;
            depth--;
        }
    }
}

static void find_backward(struct ptx_cfg *cfg, struct base_arena *arena)
{
    uint32_t count = cfg->block_count, end = count;
    struct reversed graph = {0};
    graph.leaves = base_new_array(arena, bool, count);
    graph.seen = base_new_array(arena, bool, count);
    graph.stack = base_new_array(arena, uint32_t, count);
    graph.next = base_new_array(arena, uint32_t, count);
    graph.post = base_new_array(arena, uint32_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (!cfg->blocks[i].ends || cfg->blocks[i].order == PTX_NO_BLOCK)
            continue;
        graph.leaves[i] = true;
        if (!graph.seen[i])
            walk_back(cfg, &graph, i);
    }
    for (uint32_t i = cfg->order_count; i-- > 0;) {
        uint32_t block = cfg->order[i];
        if (!graph.seen[block]) {
            graph.leaves[block] = true;
            walk_back(cfg, &graph, block);
        }
    }
    graph.post[graph.posted++] = end;
    uint32_t *order = base_new_array(arena, uint32_t, (size_t)count + 1);
    uint32_t *position = base_new_array(arena, uint32_t, (size_t)count + 1);
    for (uint32_t i = 0; i <= count; i++)
        position[i] = PTX_NO_BLOCK;
    for (uint32_t i = 0; i < graph.posted; i++) {
        order[i] = graph.post[graph.posted - 1 - i];
        position[order[i]] = i;
    }
    // Predecessors in the reversed graph are successors, and the virtual end.
    uint32_t edges = 0;
    for (uint32_t i = 0; i < count; i++)
        edges += cfg->blocks[i].succ_count + 1;
    uint32_t *start = base_new_array(arena, uint32_t, (size_t)count + 2);
    uint32_t *preds = base_new_array(arena, uint32_t, edges);
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        start[i] = at;
        for (uint32_t k = 0; k < cfg->blocks[i].succ_count; k++)
            preds[at++] = cfg->blocks[i].succs[k];
        if (graph.leaves[i])
            preds[at++] = end;
    }
    start[count] = start[count + 1] = at;
    uint32_t *idom = base_new_array(arena, uint32_t, (size_t)count + 1);
    ptx_dominators(count + 1, order, graph.posted, position, start, preds, idom);
    struct span *spans = number_tree(count + 1, order, graph.posted, idom, arena);
    for (uint32_t i = 0; i < count; i++) {
        cfg->blocks[i].ipdom = idom[i] == end ? PTX_NO_BLOCK : idom[i];
        cfg->blocks[i].pdom_first = spans[i].first;
        cfg->blocks[i].pdom_last = spans[i].last;
    }
}

void ptx_cfg_find_dominators(struct ptx_cfg *cfg, struct base_arena *arena)
{
    find_forward(cfg, arena);
    find_backward(cfg, arena);
}

bool ptx_dominates(const struct ptx_cfg *cfg, uint32_t above, uint32_t below)
{
    const struct ptx_block *top = &cfg->blocks[above], *bottom = &cfg->blocks[below];
    return above == below ||
           (top->order != PTX_NO_BLOCK && bottom->order != PTX_NO_BLOCK &&
            top->dom_first <= bottom->dom_first && bottom->dom_first <= top->dom_last);
}

bool ptx_postdominates(const struct ptx_cfg *cfg, uint32_t after, uint32_t before)
{
    const struct ptx_block *top = &cfg->blocks[after], *bottom = &cfg->blocks[before];
    return after == before ||
           (top->order != PTX_NO_BLOCK && bottom->order != PTX_NO_BLOCK &&
            top->pdom_first <= bottom->pdom_first && bottom->pdom_first <= top->pdom_last);
}
