// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the value flow graph: models, and checks of edges and vertices.
#ifndef GLINT_TESTS_ANALYZE_FLOWS_H
#define GLINT_TESTS_ANALYZE_FLOWS_H

#include "models.h"

enum { N = 4096 };
enum { HOST, UNKNOWN }; // the first two vertices

struct flow_test {
    struct analyze_model model;
    struct analyze_flow flow;
    struct analyze_flow_part part;
};

static inline void build(struct flow_test *test)
{
    assert_true(analyze_build_flow(&test->model, &test->flow));
    assert_true(analyze_flow_whole(&test->flow, &test->part));
}

static inline void finish(struct flow_test *test)
{
    analyze_flow_part_fini(&test->part);
    analyze_flow_fini(&test->flow);
    analyze_model_fini(&test->model);
}

// Writes the edges of the part that were chosen, "1>3 B w 4096", each on a line. Vertices are the
// numbers of their first calls; the host is "host", unknown work "?".
static inline void put_vertex(struct base_buf *out, const struct flow_test *test, uint32_t vertex)
{
    if (vertex <= UNKNOWN)
        base_buf_puts(out, vertex == HOST ? "host" : "?");
    else
        base_buf_printf(out, "%llu", (unsigned long long)test->flow.vertices[vertex].call);
}

static inline void check_edges(const struct flow_test *test, const char *expected)
{
    struct base_buf out = {0};
    for (size_t i = 0; i < test->flow.edge_count; i++) {
        const struct analyze_flow_edge *edge = &test->flow.edges[i];
        if (!test->part.edges[i])
            continue;
        assert_true(test->part.vertices[edge->from] && test->part.vertices[edge->to]);
        put_vertex(&out, test, edge->from);
        base_buf_putc(&out, '>');
        put_vertex(&out, test, edge->to);
        base_buf_puts(&out, " of ");
        put_vertex(&out, test, edge->object);
        base_buf_printf(&out, " %s %llux %s%llu%s", edge->is_write ? "write" : "read",
                        (unsigned long long)edge->times, edge->is_bound ? "<=" : "",
                        (unsigned long long)edge->bytes, edge->is_uncertain ? " uncertain" : "");
        if (edge->compared_bytes)
            base_buf_printf(&out, " same %llu/%llu", (unsigned long long)edge->redundant_bytes,
                            (unsigned long long)edge->compared_bytes);
        base_buf_putc(&out, '\n');
    }
    assert_string_equal(out.text ? out.text : "", expected);
    base_buf_fini(&out);
}

// Checks the vertices of the part: their kinds and first calls.
static inline void check_vertices(const struct flow_test *test, const char *expected)
{
    struct base_buf out = {0};
    for (size_t i = 0; i < test->flow.vertex_count; i++) {
        const struct analyze_flow_vertex *vertex = &test->flow.vertices[i];
        if (test->part.vertices[i])
            base_buf_printf(&out, "%s%s %llu x%llu", out.length ? ", " : "",
                            analyze_flow_kind_word(vertex->kind), (unsigned long long)vertex->call,
                            (unsigned long long)vertex->calls);
    }
    assert_string_equal(out.text ? out.text : "", expected);
    base_buf_fini(&out);
}

// Returns the vertex whose first call has that number.
static inline uint32_t vertex_at(const struct flow_test *test, uint64_t call)
{
    for (uint32_t i = 0; i < test->flow.vertex_count; i++) {
        if (test->flow.vertices[i].call == call && i > UNKNOWN)
            return i;
    }
    fail_msg("no vertex of call %llu", (unsigned long long)call);
    return 0;
}

static inline void slice(struct flow_test *test, uint64_t call)
{
    const uint32_t vertex = vertex_at(test, call);
    assert_true(analyze_flow_slice(&test->flow, &vertex, 1, &test->part));
}

// Adds an access of the last launch to this many elements of 4 bytes.
static inline struct analyze_touch *uses_elements(struct analyze_model *model, uint32_t object,
                                                  unsigned how, uint64_t elements)
{
    struct analyze_touch *row = uses(model, object, how);
    row->elements = elements;
    row->element_bytes = 4;
    return row;
}

// Records what the last call left in the object. Returns the row.
static inline struct profile_contents *contents(struct analyze_model *model, uint32_t object,
                                                uint64_t moved, uint64_t same)
{
    struct analyze_contents *place = base_array_push(&model->contents);
    struct profile_contents *row = base_new(&model->arena, struct profile_contents);
    assert_true(place && row);
    *row = (struct profile_contents){
        .kind = PROFILE_CONTENTS_WRITTEN, .bytes = moved, .moved_bytes = moved, .same_bytes = same};
    *place = (struct analyze_contents){(uint32_t)model->calls.count - 1, object, row};
    return row;
}

// Records the stores of one site of a kernel, each of 4 bytes.
static inline void stores(struct analyze_model *model, uint32_t node, uint32_t object,
                          uint64_t bytes, uint64_t silent_bytes)
{
    struct analyze_stored *row = base_array_push(&model->stores);
    assert_non_null(row);
    *row = (struct analyze_stored){.call = (uint32_t)model->calls.count - 1,
                                   .object = object,
                                   .node = node,
                                   .site = (uint32_t)model->stores.count,
                                   .place = ANALYZE_NONE,
                                   .bytes = 4,
                                   .stores = bytes / 4,
                                   .silent = silent_bytes / 4};
}

// Makes the last stores those of an atomic operation.
static inline void add_atomic_site(struct analyze_model *model)
{
    struct analyze_site *site = base_array_push(&model->sites);
    assert_non_null(site);
    *site = (struct analyze_site){.access = PROFILE_SITE_ATOMIC};
    model->stores.items[model->stores.count - 1].place = (uint32_t)model->sites.count - 1;
}

// Figure 3 of the paper: lines 1 to 7 are calls 1 to 7.
static inline void make_figure(struct flow_test *test)
{
    *test = (struct flow_test){0};
    model_begin(&test->model);
    const uint32_t a = allocate(&test->model, 4 * N), b = allocate(&test->model, 4 * N);
    set(&test->model, a, 0, 4 * N);
    set(&test->model, b, 0, 4 * N);
    launch(&test->model, LEGACY, 1); // writes zeros over zeros
    uses_elements(&test->model, a, ANALYZE_WRITE, N);
    contents(&test->model, a, 4 * N, 4 * N);
    stores(&test->model, 0, a, 4 * N, 4 * N);
    launch(&test->model, LEGACY, 1);
    uses_elements(&test->model, b, ANALYZE_WRITE, N / 2);
    contents(&test->model, b, 2 * N, 2 * N);
    stores(&test->model, 0, b, 2 * N, 2 * N);
    launch(&test->model, LEGACY, 2);
    uses_elements(&test->model, a, ANALYZE_READ, N);
    uses_elements(&test->model, b, ANALYZE_WRITE, N);
    contents(&test->model, b, 4 * N, 0);
    stores(&test->model, 0, b, 4 * N, N);
    build(test);
}

#endif
