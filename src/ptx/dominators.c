// SPDX-License-Identifier: Apache-2.0
// Computes dominators and post-dominators by Lengauer and Tarjan's algorithm ("A Fast Algorithm for
// Finding Dominators in a Flowgraph") with simple path compression. The shorter iteration of
// Cooper, Harvey and Kennedy takes minutes on long lists of branch targets. Post-dominators are
// dominators of the reversed graph from a virtual end. Blocks that never reach an end, as in an
// infinite loop, get an edge to it, so that every block has a post-dominator.
#include <string.h>

#include "cfg.h"

// The state of Lengauer and Tarjan's algorithm. Nodes are numbered from 0 in depth-first order from
// the root. Arrays are indexed by that number, except `number` and `preds`.
struct tarjan {
    const uint32_t *pred_start, *preds; // by node
    uint32_t *node, *number, *parent, reached;
    uint32_t *semi, *label, *ancestor, *dom;
    uint32_t *bucket, *next; // linked lists of the nodes whose semidominator it is
    uint32_t *stack;
};

static void walk_down(struct tarjan *at, uint32_t count, uint32_t root, struct base_arena *arena)
{
    // Derive successors from predecessors.
    uint32_t edges = at->pred_start[count];
    uint32_t *start = base_new_array(arena, uint32_t, (size_t)count + 1);
    uint32_t *succs = base_new_array(arena, uint32_t, edges);
    uint32_t *fill = base_new_array(arena, uint32_t, (size_t)count + 1);
    for (uint32_t i = 0; i < edges; i++)
        start[at->preds[i] + 1]++;
    for (uint32_t i = 0; i < count; i++)
        fill[i + 1] = start[i + 1] += start[i];
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = at->pred_start[i]; k < at->pred_start[i + 1]; k++)
            succs[fill[at->preds[k]]++] = i;
    }
    memcpy(fill, start, count * sizeof(*fill)); // from here on: the next successor to visit
    memset(at->number, 0xFF, count * sizeof(*at->number));
    uint32_t depth = 0;
    at->number[root] = 0;
    at->node[at->reached++] = root;
    at->stack[depth++] = root;
    while (depth) {
        uint32_t from = at->stack[depth - 1];
        if (fill[from] == start[from + 1]) {
            depth--;
            continue;
        }
        uint32_t to = succs[fill[from]++];
        if (at->number[to] != PTX_NO_BLOCK)
            continue;
        at->number[to] = at->reached;
        at->parent[at->reached] = at->number[from];
        at->node[at->reached++] = to;
        at->stack[depth++] = to;
    }
}

// Returns the node with the lowest semidominator between this one and the root of its tree, without
// the root; compresses the path.
static uint32_t find_lowest(struct tarjan *at, uint32_t v)
{
    uint32_t depth = 0;
    if (at->ancestor[v] == PTX_NO_BLOCK)
        return v;
    for (uint32_t up = v; at->ancestor[at->ancestor[up]] != PTX_NO_BLOCK; up = at->ancestor[up])
        at->stack[depth++] = up;
    while (depth) {
        uint32_t low = at->stack[--depth], above = at->ancestor[low];
        if (at->semi[at->label[above]] < at->semi[at->label[low]])
            at->label[low] = at->label[above];
        at->ancestor[low] = at->ancestor[above];
    }
    return at->label[v];
}

void ptx_dominators(uint32_t count, uint32_t root, const uint32_t *pred_start,
                    const uint32_t *preds, uint32_t *idom, struct base_arena *arena)
{
    struct tarjan at = {.pred_start = pred_start, .preds = preds};
    uint32_t **const arrays[] = {&at.node,     &at.number, &at.parent, &at.semi, &at.label,
                                 &at.ancestor, &at.dom,    &at.bucket, &at.next, &at.stack};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        *arrays[i] = base_new_array(arena, uint32_t, count);
    walk_down(&at, count, root, arena);
    memset(at.ancestor, 0xFF, count * sizeof(*at.ancestor));
    memset(at.bucket, 0xFF, count * sizeof(*at.bucket));
    for (uint32_t i = 0; i < at.reached; i++)
        at.semi[i] = at.label[i] = i;
    for (uint32_t w = at.reached; w-- > 1;) {
        uint32_t node = at.node[w], parent = at.parent[w];
        for (uint32_t k = pred_start[node]; k < pred_start[node + 1]; k++) {
            uint32_t v = at.number[preds[k]];
            if (v == PTX_NO_BLOCK)
                continue;
            uint32_t low = at.semi[find_lowest(&at, v)];
            at.semi[w] = low < at.semi[w] ? low : at.semi[w];
        }
        at.next[w] = at.bucket[at.semi[w]];
        at.bucket[at.semi[w]] = w;
        at.ancestor[w] = parent;
        for (uint32_t v = at.bucket[parent]; v != PTX_NO_BLOCK; v = at.next[v]) {
            uint32_t low = find_lowest(&at, v);
            at.dom[v] = at.semi[low] < at.semi[v] ? low : parent;
        }
        at.bucket[parent] = PTX_NO_BLOCK;
    }
    memset(idom, 0xFF, count * sizeof(*idom));
    for (uint32_t w = 1; w < at.reached; w++) {
        if (at.dom[w] != at.semi[w])
            at.dom[w] = at.dom[at.dom[w]];
        idom[at.node[w]] = at.node[at.dom[w]];
    }
}

// The nodes of a tree in pre-order: the nodes below a node are those from first to last.
struct span {
    uint32_t first, last;
};

// `order` lists parents before their children. Nodes that it does not list are below none.
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
    uint32_t *start = base_new_array(arena, uint32_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++)
        edges += cfg->blocks[i].pred_count;
    uint32_t *preds = base_new_array(arena, uint32_t, edges);
    for (uint32_t i = 0, at = 0; i < count; i++) {
        start[i] = at;
        memcpy(preds + at, cfg->blocks[i].preds, cfg->blocks[i].pred_count * sizeof(*preds));
        start[i + 1] = at += cfg->blocks[i].pred_count;
    }
    uint32_t *idom = base_new_array(arena, uint32_t, count);
    ptx_dominators(count, 0, start, preds, idom, arena);
    struct span *spans = number_tree(count, cfg->order, cfg->order_count, idom, arena);
    for (uint32_t i = 0; i < count; i++) {
        cfg->blocks[i].idom = idom[i];
        cfg->blocks[i].dom_first = spans[i].first;
        cfg->blocks[i].dom_last = spans[i].last;
    }
}

// The reversed graph, in which node `count` is the virtual end.
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
    for (uint32_t i = 0; i < graph.posted; i++)
        order[i] = graph.post[graph.posted - 1 - i];
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
    ptx_dominators(count + 1, end, start, preds, idom, arena);
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
