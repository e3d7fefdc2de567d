// SPDX-License-Identifier: Apache-2.0
// Writes the value flow graph for the page: the edges of most bytes with their vertices, and then
// other vertices, as far as a browser can lay them out.
#include <stdlib.h>

#include "flow.h"
#include "html.h"
#include "json_members.h"

enum { MOST_VERTICES = 2000, MOST_EDGES = 5000 };

// Flags of an edge in the page.
enum { FLOW_WRITE = 1, FLOW_BOUND = 2, FLOW_UNCERTAIN = 4 };

struct flow_choice {
    const struct analyze_flow *flow;
    uint32_t *by_bytes;  // edges, largest first
    uint32_t *numbers;   // by vertex: 1 + its index in the page; 0: not there
    bool *edges;         // by edge: it is in the page
    size_t vertex_count; // of the page
    size_t edge_count;
};

static int by_bytes(const void *one, const void *other, void *user)
{
    const struct analyze_flow_edge *edges = user;
    const uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    if (edges[a].bytes != edges[b].bytes)
        return edges[a].bytes > edges[b].bytes ? -1 : 1;
    return a < b ? -1 : a > b;
}

// Adds a vertex unless it is there.
static void keep_vertex(struct flow_choice *choice, uint32_t vertex)
{
    choice->vertex_count += !choice->numbers[vertex];
    choice->numbers[vertex] = 1;
}

// An edge comes with both its vertices and the one that allocated its object.
static void choose_edges(struct flow_choice *choice)
{
    const struct analyze_flow *flow = choice->flow;
    for (size_t i = 0; i < flow->edge_count; i++)
        choice->by_bytes[i] = (uint32_t)i;
    if (flow->edge_count)
        qsort_r(choice->by_bytes, flow->edge_count, sizeof(*choice->by_bytes), by_bytes,
                flow->edges);
    for (size_t i = 0; i < flow->edge_count && choice->edge_count < MOST_EDGES; i++) {
        const struct analyze_flow_edge *edge = &flow->edges[choice->by_bytes[i]];
        const uint32_t ends[] = {edge->from, edge->to, edge->object};
        size_t more = 0;
        for (int k = 0; k < 3; k++)
            more += !choice->numbers[ends[k]];
        if (choice->vertex_count + more > MOST_VERTICES)
            continue;
        for (int k = 0; k < 3; k++)
            keep_vertex(choice, ends[k]);
        choice->edges[choice->by_bytes[i]] = true;
        choice->edge_count++;
    }
    for (uint32_t i = 2; i < flow->vertex_count && choice->vertex_count < MOST_VERTICES; i++)
        keep_vertex(choice, i);
    // Vertices keep their order.
    uint32_t next = 0;
    for (size_t i = 0; i < flow->vertex_count; i++)
        choice->numbers[i] = choice->numbers[i] ? ++next : 0;
}

// --- Columns -------------------------------------------------------------------------------------

// Returns the number of the text in the buffer, which it clears; 0 if it is empty.
static uint32_t text_of(struct page *page, struct base_buf *text)
{
    const char *kept =
        text->length ? base_alloc_text(&page->arena, text->text, text->length) : NULL;
    page->failed |= text->failed || (text->length && !kept);
    base_buf_clear(text);
    return page_text(page, kept);
}

static void put_texts(struct page *page, struct base_json *json, const struct flow_choice *choice,
                      const char *key, bool is_place)
{
    struct base_buf text = {0};
    base_json_key(json, key);
    base_json_begin_array(json);
    for (size_t i = 0; i < choice->flow->vertex_count; i++) {
        const struct analyze_flow_vertex *vertex = &choice->flow->vertices[i];
        if (!choice->numbers[i])
            continue;
        if (is_place)
            report_put_place_beside(page->data, vertex->path, 0, &text);
        else
            report_put_vertex(page->data, vertex, &text);
        base_json_u64(json, text_of(page, &text));
    }
    base_json_end_array(json);
    base_buf_fini(&text);
}

// Writes a column of the rows that are in the page.
#define CHOSEN_COLUMN(key, type, rows, count, is_chosen, value) \
    do {                                                        \
        base_json_key(json, key);                               \
        base_json_begin_array(json);                            \
        for (size_t at = 0; at < (count); at++) {               \
            const type *row = &(rows)[at];                      \
            if (is_chosen)                                      \
                base_json_u64(json, value);                     \
        }                                                       \
        base_json_end_array(json);                              \
    } while (0)

static void put_vertices(struct page *page, struct base_json *json,
                         const struct flow_choice *choice)
{
    const struct analyze_flow *flow = choice->flow;
    base_json_key(json, "vertices");
    base_json_begin_object(json);
#define COLUMN(key, value)                                                             \
    CHOSEN_COLUMN(key, struct analyze_flow_vertex, flow->vertices, flow->vertex_count, \
                  choice->numbers[at], value)
    COLUMN("id", (uint64_t)(row - flow->vertices) + 1);
    COLUMN("kind", row->kind);
    put_texts(page, json, choice, "name", false);
    put_texts(page, json, choice, "place", true);
    COLUMN("path", row->path);
    COLUMN("call", row->call);
    COLUMN("object", row->object);
    COLUMN("calls", row->calls);
    COLUMN("unknown", row->unknown_calls);
    COLUMN("bytes", row->bytes);
    COLUMN("gpu_ns", row->gpu_ns);
#undef COLUMN
    base_json_end_object(json);
}

static void put_edges(struct base_json *json, const struct flow_choice *choice)
{
    const struct analyze_flow *flow = choice->flow;
    base_json_key(json, "edges");
    base_json_begin_object(json);
#define COLUMN(key, value)                                                                         \
    CHOSEN_COLUMN(key, struct analyze_flow_edge, flow->edges, flow->edge_count, choice->edges[at], \
                  value)
    COLUMN("from", choice->numbers[row->from] - 1);
    COLUMN("to", choice->numbers[row->to] - 1);
    COLUMN("object", choice->numbers[row->object] - 1);
    COLUMN("flags", (row->is_write ? FLOW_WRITE : 0u) | (row->is_bound ? FLOW_BOUND : 0u) |
                        (row->is_uncertain ? FLOW_UNCERTAIN : 0u));
    COLUMN("times", row->times);
    COLUMN("bytes", row->bytes);
    COLUMN("compared", row->compared_bytes);
    COLUMN("redundant", row->redundant_bytes);
#undef COLUMN
    base_json_end_object(json);
}

static void put_flow(struct page *page, const struct flow_choice *choice)
{
    struct page_section section;
    struct base_json *json = &section.json;
    page_begin(&section, true);
    put_vertices(page, json, choice);
    put_edges(json, choice);
    base_json_key(json, "kinds");
    base_json_begin_array(json);
    for (int i = 0; i < ANALYZE_FLOW_KINDS; i++)
        base_json_string(json, analyze_flow_kind_word((enum analyze_flow_kind)i));
    base_json_end_array(json);
    report_json_number(json, "redundant_percent", choice->flow->redundant_percent);
    page->failed |= !page_end(page, &section, "flow", PAGE_FLOW_BYTES);
}

void page_put_flow(struct page *page)
{
    const struct analyze_flow *flow = analyze_flow(page->data->analysis);
    struct flow_choice choice = {.flow = flow};
    if (page->failed)
        return;
    choice.by_bytes = calloc(flow->edge_count + 1, sizeof(*choice.by_bytes));
    choice.numbers = calloc(flow->vertex_count + 1, sizeof(*choice.numbers));
    choice.edges = calloc(flow->edge_count + 1, sizeof(*choice.edges));
    page->failed |= !choice.by_bytes || !choice.numbers || !choice.edges;
    if (!page->failed) {
        choose_edges(&choice);
        put_flow(page, &choice);
        page_omit(page, "edges of the value flow graph", choice.edge_count, flow->edge_count,
                  "those of most bytes");
        for (size_t i = 0; i < flow->vertex_count; i++) {
            if (choice.numbers[i])
                page_want_path(page, flow->vertices[i].path, 1);
        }
    }
    free(choice.by_bytes);
    free(choice.numbers);
    free(choice.edges);
}
