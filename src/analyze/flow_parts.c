// SPDX-License-Identifier: Apache-2.0
// Chooses parts of the value flow graph: slices of vertices, and what is important.
#include <stdlib.h>
#include <string.h>

#include "analyze.h"

enum { HOST, UNKNOWN, FIRST_CALL }; // the first vertices

bool analyze_flow_whole(const struct analyze_flow *flow, struct analyze_flow_part *part)
{
    part->vertices = calloc(flow->vertex_count + 1, sizeof(*part->vertices));
    part->edges = calloc(flow->edge_count + 1, sizeof(*part->edges));
    if (!part->vertices || !part->edges)
        return false;
    memset(part->edges, true, flow->edge_count);
    for (size_t i = FIRST_CALL; i < flow->vertex_count; i++)
        part->vertices[i] = true;
    for (size_t i = 0; i < flow->edge_count; i++)
        part->vertices[flow->edges[i].from] = part->vertices[flow->edges[i].to] = true;
    return true;
}

void analyze_flow_part_fini(struct analyze_flow_part *part)
{
    free(part->vertices);
    free(part->edges);
    *part = (struct analyze_flow_part){0};
}

// --- Slices --------------------------------------------------------------------------------------

// The edges of one object, by the vertex at one of their ends.
struct adjacent {
    uint32_t *first; // by vertex: 1 + index of its first edge; 0: none
    uint32_t *next;  // by edge: 1 + index of the next edge of the same vertex
};

struct slicing {
    const struct analyze_flow *flow;
    struct adjacent leaving, entering;
    uint32_t *queue; // vertices
    bool *wanted;    // by vertex: its slice is wanted
    bool *reached;   // by vertex
    bool *kept;      // by edge
};

// Marks the edges that are on paths from the vertices in the queue, or to them if `entering`.
static void follow(struct slicing *slicing, size_t count, bool entering)
{
    const struct adjacent *edges = entering ? &slicing->entering : &slicing->leaving;
    for (size_t i = 0; i < count; i++)
        slicing->reached[slicing->queue[i]] = true;
    for (size_t at = 0; at < count; at++) {
        const uint32_t vertex = slicing->queue[at];
        if (vertex == HOST && !slicing->wanted[HOST])
            continue;
        for (uint32_t i = edges->first[vertex]; i; i = edges->next[i - 1]) {
            const struct analyze_flow_edge *edge = &slicing->flow->edges[i - 1];
            const uint32_t other = entering ? edge->from : edge->to;
            slicing->kept[i - 1] = true;
            if (!slicing->reached[other]) {
                slicing->reached[other] = true;
                slicing->queue[count++] = other;
            }
        }
    }
    for (size_t i = 0; i < count; i++)
        slicing->reached[slicing->queue[i]] = false;
}

// Puts the wanted vertices of the edges [from, to) into the queue. Returns how many they are.
static size_t find_wanted(struct slicing *slicing, size_t from, size_t to)
{
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        const uint32_t ends[] = {slicing->flow->edges[i].from, slicing->flow->edges[i].to};
        for (int k = 0; k < 2; k++) {
            if (slicing->wanted[ends[k]] && !slicing->reached[ends[k]]) {
                slicing->reached[ends[k]] = true;
                slicing->queue[count++] = ends[k];
            }
        }
    }
    return count;
}

// Adds the slices within the edges [from, to), which are all edges of one object.
static void slice_object(struct slicing *slicing, size_t from, size_t to)
{
    const struct analyze_flow_edge *edges = slicing->flow->edges;
    struct adjacent *leaving = &slicing->leaving, *entering = &slicing->entering;
    const size_t count = find_wanted(slicing, from, to);
    if (count == 0)
        return;
    for (size_t i = from; i < to; i++) {
        leaving->next[i] = leaving->first[edges[i].from];
        leaving->first[edges[i].from] = (uint32_t)i + 1;
        entering->next[i] = entering->first[edges[i].to];
        entering->first[edges[i].to] = (uint32_t)i + 1;
    }
    follow(slicing, count, false);
    follow(slicing, find_wanted(slicing, from, to), true);
    for (size_t i = from; i < to; i++)
        leaving->first[edges[i].from] = entering->first[edges[i].to] = 0;
}

bool analyze_flow_slice(const struct analyze_flow *flow, const uint32_t *vertices, size_t count,
                        struct analyze_flow_part *part)
{
    const size_t vertex_count = flow->vertex_count + 1, edge_count = flow->edge_count + 1;
    struct slicing slicing = {.flow = flow};
    // One block for all arrays of numbers.
    uint32_t *numbers = calloc(3 * vertex_count + 2 * edge_count, sizeof(*numbers));
    slicing.wanted = calloc(vertex_count, sizeof(*slicing.wanted));
    slicing.reached = calloc(vertex_count, sizeof(*slicing.reached));
    slicing.kept = calloc(edge_count, sizeof(*slicing.kept));
    const bool good = numbers && slicing.wanted && slicing.reached && slicing.kept;
    if (good) {
        slicing.queue = numbers;
        slicing.leaving = (struct adjacent){numbers + vertex_count, numbers + 3 * vertex_count};
        slicing.entering =
            (struct adjacent){numbers + 2 * vertex_count, numbers + 3 * vertex_count + edge_count};
        for (size_t i = 0; i < count; i++)
            slicing.wanted[vertices[i]] = true;
        for (size_t from = 0, to; from < flow->edge_count; from = to) {
            const uint32_t object = flow->edges[from].object;
            for (to = from; to < flow->edge_count && flow->edges[to].object == object; to++)
                continue;
            slice_object(&slicing, from, to);
        }
        memset(part->vertices, false, flow->vertex_count);
        for (size_t i = 0; i < count; i++)
            part->vertices[vertices[i]] = true;
        for (size_t i = 0; i < flow->edge_count; i++) {
            part->edges[i] &= slicing.kept[i];
            if (part->edges[i])
                part->vertices[flow->edges[i].from] = part->vertices[flow->edges[i].to] = true;
        }
    }
    free(numbers);
    free(slicing.wanted);
    free(slicing.reached);
    free(slicing.kept);
    return good;
}

// --- Importance ----------------------------------------------------------------------------------

void analyze_flow_important(const struct analyze_flow *flow, uint64_t least_bytes,
                            uint64_t least_calls, struct analyze_flow_part *part)
{
    for (size_t i = FIRST_CALL; i < flow->vertex_count; i++)
        part->vertices[i] &= flow->vertices[i].calls >= least_calls;
    part->vertices[HOST] = part->vertices[UNKNOWN] = false;
    for (size_t i = 0; i < flow->edge_count; i++) {
        part->edges[i] &= flow->edges[i].bytes >= least_bytes;
        if (part->edges[i])
            part->vertices[flow->edges[i].from] = part->vertices[flow->edges[i].to] = true;
    }
}
