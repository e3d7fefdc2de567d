// SPDX-License-Identifier: Apache-2.0
// Derives facts from the edges of a graph: the length of its longest chain of nodes, and which
// nodes come before which. Nodes are in topological order, and edges are sorted by the node that
// they lead to, so one pass over the edges answers either question.
#include <string.h>

#include "model.h"

uint32_t analyze_add_graph(struct analyze_model *model, const bool *is_api, uint32_t count)
{
    struct analyze_graph *graph = base_array_push(&model->graphs);
    if (!graph)
        return ANALYZE_NONE;
    graph->chains = base_new_array(&model->arena, struct analyze_chain, count + 1u);
    if (!graph->chains)
        return ANALYZE_NONE;
    graph->node_count = count;
    for (uint32_t i = 0; i < count; i++) {
        graph->chains[i] = (struct analyze_chain){is_api[i], is_api[i], false};
        if (is_api[i])
            graph->steps = 1;
    }
    return (uint32_t)model->graphs.count - 1;
}

bool analyze_add_edge(struct analyze_model *model, uint32_t index, uint32_t from, uint32_t to)
{
    struct analyze_graph *graph = &model->graphs.items[index];
    if (from >= to || to >= graph->node_count)
        return true; // a damaged file may have such edges
    struct analyze_edge *edge = base_array_push(&model->edges);
    if (!edge)
        return false;
    *edge = (struct analyze_edge){from, to};
    if (graph->edge_count++ == 0)
        graph->first_edge = model->edges.count - 1;
    uint32_t length = graph->chains[from].length + graph->chains[to].is_api;
    if (length > graph->chains[to].length)
        graph->chains[to].length = length;
    if (length > graph->steps)
        graph->steps = length;
    return true;
}

bool analyze_is_node_before(const struct analyze_model *model, uint32_t index, uint32_t one,
                            uint32_t other)
{
    const struct analyze_graph *graph = &model->graphs.items[index];
    const struct analyze_edge *edges = model->edges.items + graph->first_edge;
    if (one >= other || other >= graph->node_count)
        return false;
    for (uint32_t i = one; i <= other; i++)
        graph->chains[i].marked = i == other;
    for (size_t i = graph->edge_count; i-- > 0 && edges[i].to > one;) {
        if (edges[i].to <= other && edges[i].from >= one && graph->chains[edges[i].to].marked)
            graph->chains[edges[i].from].marked = true;
    }
    return graph->chains[one].marked;
}
