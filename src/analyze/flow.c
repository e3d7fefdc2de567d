// SPDX-License-Identifier: Apache-2.0
// Builds the value flow graph in one pass over the calls, which keeps for each object the vertex
// that wrote it last. Calls are taken in the order in which the program made them. For the accesses
// to one object that is also the order of the GPU, unless the program has a race: order.c gives
// every call that conflicts with an earlier one a higher order. flow_parts.c chooses parts of the
// graph.
#include <assert.h>
#include <stdlib.h>

#include "model.h"

enum { HOST, UNKNOWN }; // the first two vertices

// The last writer of an object. A time is 1 + the index of a call; 0: before the first call.
struct last_write {
    uint32_t vertex, time;
};

struct flowing {
    const struct analyze_model *model;
    struct base_map vertex_index, edge_index; // hash of what is merged to index + 1
    BASE_ARRAY(struct analyze_flow_vertex) vertices;
    BASE_ARRAY(struct analyze_flow_edge) edges;
    uint32_t *made_by;                 // by object: the vertex that allocated it
    struct last_write *last;           // by object
    uint32_t *first_made;              // by call: 1 + index of the first object that it made
    uint32_t *next_made;               // by object: 1 + index of the next object of the same call
    uint32_t cut;                      // time of the last call that may have written any object
    bool shared;                       // other processes may have written any object
    size_t next_contents, next_stored; // indices in model->contents and model->stores
    bool failed;                       // memory ran out
};

const char *analyze_flow_kind_word(enum analyze_flow_kind kind)
{
    static const char *const words[ANALYZE_FLOW_KINDS] = {"host", "unknown", "allocation", "copy",
                                                          "set",  "launch",  "graph",      "other"};
    return kind < ANALYZE_FLOW_KINDS ? words[kind] : "?";
}

// --- Vertices and edges --------------------------------------------------------------------------

// Returns the vertex for what has this key, and adds it if there is none. `name` distinguishes
// vertices without a call path. When memory ran out it returns HOST.
static uint32_t vertex_of(struct flowing *flow, enum analyze_flow_kind kind, uint32_t path,
                          uint32_t kernel, uint64_t name)
{
    const uint64_t key[] = {kind, path, kernel, name};
    uint64_t *slot = base_map_put(&flow->vertex_index, base_hash(key, sizeof(key)), NULL);
    if (slot && *slot == 0) {
        struct analyze_flow_vertex *row = base_array_push(&flow->vertices);
        if (row) {
            *row = (struct analyze_flow_vertex){.kind = kind, .path = path, .kernel = kernel};
            *slot = flow->vertices.count;
        }
    }
    flow->failed |= !slot || *slot == 0;
    return flow->failed ? HOST : (uint32_t)*slot - 1;
}

// Counts a call of the vertex.
static void count_call(struct flowing *flow, uint32_t vertex, const struct analyze_call *call,
                       bool is_unknown)
{
    if (flow->failed)
        return;
    struct analyze_flow_vertex *row = &flow->vertices.items[vertex];
    row->call = row->call ? row->call : call->number;
    row->calls++;
    row->unknown_calls += is_unknown;
    // The time of a graph launch is that of all its nodes.
    if (call->kind != PROFILE_CALL_GRAPH_LAUNCH || row->kind == ANALYZE_FLOW_GRAPH)
        row->gpu_ns += call->gpu_ns;
}

// Adds an occurrence of an edge; `edge` has what is to be added.
static void add_edge(struct flowing *flow, const struct analyze_flow_edge *edge)
{
    const uint32_t key[] = {edge->from, edge->to, edge->object, edge->is_write};
    if (flow->failed)
        return;
    uint64_t *slot = base_map_put(&flow->edge_index, base_hash(key, sizeof(key)), NULL);
    if (slot && *slot == 0) {
        struct analyze_flow_edge *row = base_array_push(&flow->edges);
        if (row) {
            *row = (struct analyze_flow_edge){.from = edge->from,
                                              .to = edge->to,
                                              .object = edge->object,
                                              .is_write = edge->is_write};
            *slot = flow->edges.count;
        }
    }
    flow->failed |= !slot || *slot == 0;
    if (flow->failed)
        return;
    struct analyze_flow_edge *row = &flow->edges.items[*slot - 1];
    row->is_bound |= edge->is_bound;
    row->is_uncertain |= edge->is_uncertain;
    row->times++;
    row->bytes += edge->bytes;
    row->compared_bytes += edge->compared_bytes;
    row->redundant_bytes += edge->redundant_bytes;
}

// --- Objects -------------------------------------------------------------------------------------

static bool list_made(struct flowing *flow)
{
    const struct analyze_model *model = flow->model;
    flow->made_by = calloc(model->objects.count + 1, sizeof(*flow->made_by));
    flow->last = calloc(model->objects.count + 1, sizeof(*flow->last));
    flow->next_made = calloc(model->objects.count + 1, sizeof(*flow->next_made));
    flow->first_made = calloc(model->calls.count + 1, sizeof(*flow->first_made));
    if (!flow->made_by || !flow->last || !flow->next_made || !flow->first_made)
        return false;
    for (uint32_t i = (uint32_t)model->objects.count; i-- > 0;) {
        const uint32_t call = model->objects.items[i].call;
        if (call != ANALYZE_NONE) {
            flow->next_made[i] = flow->first_made[call];
            flow->first_made[call] = i + 1;
        }
    }
    return true;
}

// Adds an object. Host memory belongs to the host. What managed memory holds before a kernel writes
// it comes from the host, if from anywhere.
static void make_object(struct flowing *flow, uint32_t index)
{
    const struct analyze_object *object = &flow->model->objects.items[index];
    const struct analyze_call *call =
        object->call == ANALYZE_NONE ? NULL : &flow->model->calls.items[object->call];
    const uint32_t path = call ? call->path : 0;
    uint32_t vertex = HOST;
    if (!object->is_host) {
        // Equal names have equal pointers, because a profile holds each text once.
        vertex = vertex_of(flow, ANALYZE_FLOW_ALLOCATION, path, 0,
                           path ? 0 : (uint64_t)(uintptr_t)object->name);
        if (flow->failed)
            return;
        struct analyze_flow_vertex *row = &flow->vertices.items[vertex];
        row->call = row->call || !call ? row->call : call->number;
        row->object = row->object ? row->object : object->number;
        row->calls++;
        row->bytes += object->bytes;
    }
    flow->made_by[index] = vertex;
    flow->last[index] = (struct last_write){object->kind == PROFILE_OBJECT_MANAGED ? HOST : vertex,
                                            object->call == ANALYZE_NONE ? 0 : object->call + 1};
}

// --- Accesses ------------------------------------------------------------------------------------

// One call, or one node of a graph that the call launches.
struct step {
    uint32_t call, node;
    uint32_t first, end; // its touches
    uint32_t vertex;
    bool is_host_copy;
};

static enum analyze_flow_kind kind_of(const struct analyze_call *call,
                                      const struct analyze_touch *touch)
{
    switch (call->kind) {
    case PROFILE_CALL_COPY: return ANALYZE_FLOW_COPY;
    case PROFILE_CALL_SET: return ANALYZE_FLOW_SET;
    case PROFILE_CALL_LAUNCH: return ANALYZE_FLOW_LAUNCH;
    case PROFILE_CALL_GRAPH_LAUNCH:
        if (!touch)
            return ANALYZE_FLOW_GRAPH;
        if (touch->is_kernel)
            return ANALYZE_FLOW_LAUNCH;
        return touch->maker == ANALYZE_MADE_BY_SET ? ANALYZE_FLOW_SET : ANALYZE_FLOW_COPY;
    default: return ANALYZE_FLOW_OTHER;
    }
}

// Sets how many bytes of its object a touch accesses. The elements of a launch are those that it
// reads or writes, so if it does both, each number is a bound.
static void set_bytes(const struct analyze_model *model, const struct analyze_touch *touch,
                      struct analyze_flow_edge *edge)
{
    const uint64_t whole = model->objects.items[touch->object].bytes;
    edge->bytes = whole;
    edge->is_bound = true;
    if (!touch->is_kernel && touch->rows) {
        edge->bytes = touch->rows * touch->row_bytes;
        edge->is_bound = false;
    } else if (touch->is_kernel && touch->element_bytes && touch->elements != PROFILE_UNKNOWN) {
        edge->bytes = touch->elements * touch->element_bytes;
        edge->is_bound = touch->how == (ANALYZE_READ | ANALYZE_WRITE);
    }
    edge->bytes = edge->bytes < whole ? edge->bytes : whole;
}

// Goes to the first rows of the step or of a later one: steps and rows are in the order of calls,
// stores also in that of nodes.
static void skip_values(struct flowing *flow, const struct step *step)
{
    const struct analyze_model *model = flow->model;
    while (flow->next_contents < model->contents.count &&
           model->contents.items[flow->next_contents].call < step->call)
        flow->next_contents++;
    while (flow->next_stored < model->stores.count &&
           (model->stores.items[flow->next_stored].call < step->call ||
            (model->stores.items[flow->next_stored].call == step->call &&
             model->stores.items[flow->next_stored].node < step->node)))
        flow->next_stored++;
}

// Returns what was found about the contents of the object after the step's call wrote it; NULL if
// nothing was.
static const struct profile_contents *written_by(const struct flowing *flow,
                                                 const struct step *step, uint32_t object)
{
    const struct analyze_contents *rows = flow->model->contents.items;
    const size_t count = flow->model->contents.count;
    for (size_t i = flow->next_contents; i < count && rows[i].call == step->call; i++) {
        if (rows[i].object == object && rows[i].row->kind == PROFILE_CONTENTS_WRITTEN)
            return rows[i].row;
    }
    return NULL;
}

// Adds up the stores of a launch to the object. Atomic operations are no plain writes.
static void add_stores(const struct flowing *flow, const struct step *step, uint32_t object,
                       struct analyze_flow_edge *edge)
{
    const struct analyze_stored *rows = flow->model->stores.items;
    const size_t count = flow->model->stores.count;
    for (size_t i = flow->next_stored;
         i < count && rows[i].call == step->call && rows[i].node == step->node; i++) {
        const bool is_atomic = rows[i].place != ANALYZE_NONE &&
                               analyze_is_atomic(&flow->model->sites.items[rows[i].place]);
        if (rows[i].object == object && !is_atomic) {
            edge->compared_bytes += rows[i].stores * rows[i].bytes;
            edge->redundant_bytes += rows[i].silent * rows[i].bytes;
        }
    }
}

// Returns whether another node of the step's graph writes the object, too.
static bool is_shared(const struct flowing *flow, const struct step *step, uint32_t object)
{
    const struct analyze_touch *touches = flow->model->touches.items;
    const uint32_t end = analyze_touches_end(flow->model, step->call);
    for (uint32_t i = flow->model->calls.items[step->call].touches; i < end; i++) {
        if (touches[i].object == object && touches[i].how & ANALYZE_WRITE &&
            touches[i].node != step->node)
            return true;
    }
    return false;
}

// Sets how many of the bytes that the step wrote to the object were compared with those before, and
// how many were the same; and limits them to those of the pieces that were written. Nothing is
// known if the contents before were not, or if other work may have written the object at the same
// time.
static void set_compared(const struct flowing *flow, const struct step *step,
                         const struct analyze_touch *touch, struct analyze_flow_edge *edge)
{
    const struct profile_contents *row = written_by(flow, step, touch->object);
    if (row && row->bytes < edge->bytes) // it describes all pieces that the call wrote
        edge->bytes = row->bytes;
    const bool is_good = row && !row->fresh_pieces && !(row->flags & PROFILE_CONTENTS_CONCURRENT);
    if (touch->is_kernel && is_good) {
        add_stores(flow, step, touch->object, edge);
    } else if (is_good && flow->model->calls.items[step->call].kind != PROFILE_CALL_GRAPH_LAUNCH) {
        edge->compared_bytes = row->moved_bytes;
        edge->redundant_bytes = row->same_bytes;
    } else if (is_good && !is_shared(flow, step, touch->object)) {
        // The row is about whole pieces.
        const uint64_t changed = row->moved_bytes - row->same_bytes;
        edge->compared_bytes = edge->bytes;
        edge->redundant_bytes = edge->bytes > changed ? edge->bytes - changed : 0;
    }
}

// Adds the edges of a touch of host memory. For copies the other end does that.
static void touch_host(struct flowing *flow, const struct step *step,
                       const struct analyze_touch *touch, const struct analyze_flow_edge *common)
{
    struct analyze_flow_edge edge = *common;
    if (!touch->is_kernel)
        return;
    if (touch->how & ANALYZE_READ) {
        edge.from = HOST;
        edge.to = step->vertex;
        add_edge(flow, &edge);
    }
    if (touch->how & ANALYZE_WRITE) {
        edge.from = step->vertex;
        edge.to = HOST;
        edge.is_write = true;
        add_edge(flow, &edge);
    }
}

static void touch_object(struct flowing *flow, const struct step *step,
                         const struct analyze_touch *touch)
{
    const struct analyze_object *object = &flow->model->objects.items[touch->object];
    const struct last_write *last = &flow->last[touch->object];
    struct analyze_flow_edge edge = {.from = last->time < flow->cut ? UNKNOWN : last->vertex,
                                     .to = step->vertex,
                                     .object = flow->made_by[touch->object],
                                     .is_uncertain =
                                         object->elsewhere || object->blurred || flow->shared};
    set_bytes(flow->model, touch, &edge);
    if (object->is_host) {
        touch_host(flow, step, touch, &edge);
        return;
    }
    if (touch->how & ANALYZE_READ)
        add_edge(flow, &edge);
    if (touch->how & ANALYZE_WRITE) {
        struct analyze_flow_edge written = edge;
        written.is_write = true;
        set_compared(flow, step, touch, &written);
        add_edge(flow, &written);
    }
    if (step->is_host_copy) {
        edge.is_write = touch->how & ANALYZE_READ;
        edge.is_uncertain = false;
        edge.from = edge.is_write ? step->vertex : HOST;
        edge.to = edge.is_write ? HOST : step->vertex;
        add_edge(flow, &edge);
    }
}

// Everything that a step uses was written before it, so last writers change after all its edges.
static void take_step(struct flowing *flow, const struct step *step)
{
    const struct analyze_touch *touches = flow->model->touches.items;
    skip_values(flow, step);
    for (uint32_t i = step->first; i < step->end; i++)
        touch_object(flow, step, &touches[i]);
    for (uint32_t i = step->first; i < step->end; i++) {
        if (touches[i].how & ANALYZE_WRITE)
            flow->last[touches[i].object] = (struct last_write){step->vertex, step->call + 1};
    }
}

static bool has_host_end(const struct flowing *flow, const struct analyze_call *call,
                         const struct step *step)
{
    const struct analyze_touch *touches = flow->model->touches.items;
    bool host_end = call->kind == PROFILE_CALL_COPY && call->flags & ANALYZE_HOST_END;
    for (uint32_t i = step->first; i < step->end; i++)
        host_end |= touches[i].maker == ANALYZE_MADE_BY_HOST_COPY ||
                    flow->model->objects.items[touches[i].object].is_host;
    return host_end && !(step->first < step->end && touches[step->first].is_kernel);
}

// --- Calls ---------------------------------------------------------------------------------------

static void take_known(struct flowing *flow, uint32_t index)
{
    const struct analyze_model *model = flow->model;
    const struct analyze_call *call = &model->calls.items[index];
    const struct analyze_touch *touches = model->touches.items;
    const uint32_t end = analyze_touches_end(model, index);
    uint32_t next = call->touches;
    assert(touches || next == end);
    do {
        const struct analyze_touch *touch = next < end ? &touches[next] : NULL;
        struct step step = {.call = index, .node = touch ? touch->node : 0, .first = next};
        while (next < end && touches[next].node == step.node)
            next++;
        step.end = next;
        step.is_host_copy = has_host_end(flow, call, &step);
        step.vertex = vertex_of(flow, kind_of(call, touch), call->path,
                                touch && touch->is_kernel ? touch->kernel : call->kernel, 0);
        count_call(flow, step.vertex, call, false);
        if (!flow->failed)
            take_step(flow, &step);
    } while (next < end && !flow->failed);
}

static void take_call(struct flowing *flow, uint32_t index)
{
    const struct analyze_model *model = flow->model;
    const struct analyze_call *call = &model->calls.items[index];
    // A call that a graph captured does nothing itself, but may own memory of the graph.
    for (uint32_t i = flow->first_made[index]; i && !flow->failed; i = flow->next_made[i - 1])
        make_object(flow, i - 1);
    if (!(call->flags & ANALYZE_WORKS))
        return;
    flow->shared |= call->flags & ANALYZE_SHARES;
    const bool works = call->kind >= PROFILE_CALL_COPY && call->kind <= PROFILE_CALL_GRAPH_LAUNCH;
    if (call->flags & (ANALYZE_UNSEEN | ANALYZE_BATCH)) {
        uint32_t vertex = vertex_of(flow, kind_of(call, NULL), call->path, call->kernel, 0);
        count_call(flow, vertex, call, true);
        flow->cut = index + 1;
    } else if (works || call->touches < analyze_touches_end(model, index)) {
        take_known(flow, index);
    }
}

// Stores the edges by object. Edges of one object keep their order.
static bool sort_edges(const struct flowing *flow, struct analyze_flow *result)
{
    const size_t vertices = flow->vertices.count, edges = flow->edges.count;
    struct analyze_flow_edge *sorted = calloc(edges + 1, sizeof(*sorted));
    size_t *next = calloc(vertices + 1, sizeof(*next));
    if (sorted && next) {
        for (size_t i = 0; i < edges; i++)
            next[flow->edges.items[i].object + 1]++;
        for (size_t i = 0; i < vertices; i++)
            next[i + 1] += next[i];
        for (size_t i = 0; i < edges; i++)
            sorted[next[flow->edges.items[i].object]++] = flow->edges.items[i];
        result->edges = sorted;
        result->edge_count = edges;
        sorted = NULL;
    }
    free(sorted);
    free(next);
    return result->edges != NULL;
}

bool analyze_build_flow(const struct analyze_model *model, struct analyze_flow *flow)
{
    struct flowing flowing = {.model = model};
    *flow = (struct analyze_flow){0};
    vertex_of(&flowing, ANALYZE_FLOW_HOST, 0, 0, 0);
    vertex_of(&flowing, ANALYZE_FLOW_UNKNOWN, 0, 0, 0);
    flowing.failed |= !list_made(&flowing);
    for (uint32_t i = 0; i < model->objects.count && !flowing.failed; i++) {
        if (model->objects.items[i].call == ANALYZE_NONE)
            make_object(&flowing, i);
    }
    for (uint32_t i = 0; i < model->calls.count && !flowing.failed; i++)
        take_call(&flowing, i);
    flowing.failed = flowing.failed || !sort_edges(&flowing, flow);
    if (!flowing.failed) {
        flow->vertices = flowing.vertices.items;
        flow->vertex_count = flowing.vertices.count;
    } else {
        base_array_fini(&flowing.vertices);
    }
    base_array_fini(&flowing.edges);
    base_map_fini(&flowing.vertex_index);
    base_map_fini(&flowing.edge_index);
    free(flowing.made_by);
    free(flowing.last);
    free(flowing.first_made);
    free(flowing.next_made);
    return !flowing.failed;
}

void analyze_flow_fini(struct analyze_flow *flow)
{
    free(flow->vertices);
    free(flow->edges);
    *flow = (struct analyze_flow){0};
}
