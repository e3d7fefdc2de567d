// SPDX-License-Identifier: Apache-2.0
// Writes the value flow graph as JSON.
#include "flow.h"
#include "json_members.h"

// Writes a member with the text in the buffer, or null if it is empty, and clears the buffer.
static void put_text(struct base_json *json, struct base_str name, struct base_buf *text)
{
    base_json_name(json, name);
    if (text->length)
        base_json_string(json, text->text);
    else
        base_json_null(json);
    base_buf_clear(text);
}

static void put_vertex(struct base_json *json, const struct report_data *data, size_t index,
                       struct base_buf *text)
{
    const struct analyze_flow_vertex *vertex = &analyze_flow(data->analysis)->vertices[index];
    base_json_begin_object(json);
    report_json_number(json, "id", index + 1);
    report_json_string(json, "kind", analyze_flow_kind_word(vertex->kind));
    report_put_vertex(data, vertex, text);
    put_text(json, BASE_JSON_NAME("name"), text);
    report_put_place(data, vertex->path, text);
    put_text(json, BASE_JSON_NAME("place"), text);
    report_json_number_or_null(json, "path", vertex->path, vertex->path);
    report_json_number_or_null(json, "kernel_id", vertex->kernel, vertex->kernel);
    report_json_number_or_null(json, "first_call", vertex->call, vertex->call);
    report_json_number_or_null(json, "first_object", vertex->object, vertex->object);
    report_json_number(json, "calls", vertex->calls);
    report_json_number(json, "unknown_calls", vertex->unknown_calls);
    report_json_number_or_null(json, "bytes", vertex->bytes,
                               vertex->kind == ANALYZE_FLOW_ALLOCATION);
    report_json_number_or_null(json, "gpu_ns", vertex->gpu_ns, vertex->gpu_ns);
    base_json_end_object(json);
}

static void put_edge(struct base_json *json, const struct analyze_flow_edge *edge)
{
    base_json_begin_object(json);
    report_json_number(json, "from", edge->from + 1u);
    report_json_number(json, "to", edge->to + 1u);
    report_json_number(json, "object", edge->object + 1u);
    report_json_string(json, "access", edge->is_write ? "write" : "read");
    report_json_number(json, "times", edge->times);
    report_json_number(json, "bytes", edge->bytes);
    report_json_bool(json, "bytes_at_most", edge->is_bound);
    report_json_bool(json, "uncertain", edge->is_uncertain);
    report_json_number_or_null(json, "compared_bytes", edge->compared_bytes, edge->compared_bytes);
    report_json_number_or_null(json, "redundant_bytes", edge->redundant_bytes,
                               edge->compared_bytes);
    base_json_end_object(json);
}

bool report_json_flow(struct base_json *json, const struct report_data *data)
{
    const struct analyze_flow *flow = analyze_flow(data->analysis);
    struct base_buf text = {0};
    report_json_key(json, "value_flow");
    base_json_begin_object(json);
    report_json_bool(json, "incomplete", analyze_is_incomplete(data->analysis));
    report_json_key(json, "vertices");
    base_json_begin_array(json);
    for (size_t i = 0; i < flow->vertex_count; i++)
        put_vertex(json, data, i, &text);
    base_json_end_array(json);
    report_json_key(json, "edges");
    base_json_begin_array(json);
    for (size_t i = 0; i < flow->edge_count; i++)
        put_edge(json, &flow->edges[i]);
    base_json_end_array(json);
    base_json_end_object(json);
    const bool good = !text.failed;
    base_buf_fini(&text);
    return good;
}
