// SPDX-License-Identifier: Apache-2.0
// Names the vertices of the value flow graph, and chooses the part of it that is shown.
#include "flow.h"

#include <stdlib.h>
#include <string.h>

#include "short_names.h"
#include "units.h"

static void put_called(const struct report_data *data, const struct analyze_flow_vertex *vertex,
                       struct base_buf *out)
{
    const char *called = report_called_at(data, vertex->path);
    // A node of a graph is not what the program called there.
    const bool is_node = called && strstr(called, "Graph") && vertex->kind != ANALYZE_FLOW_GRAPH;
    if (called && !is_node)
        report_put_text(out, called);
    else
        base_buf_puts(out, analyze_flow_kind_word(vertex->kind));
}

void report_put_flow_object(const struct report_data *data,
                            const struct analyze_flow_vertex *vertex, struct base_buf *out)
{
    const struct report_object *object = report_find_object(data, vertex->object);
    if (vertex->kind == ANALYZE_FLOW_HOST)
        base_buf_puts(out, "host memory");
    else if (object && object->label)
        report_put_text(out, object->label);
    else
        base_buf_printf(out, "object %llu", (unsigned long long)vertex->object);
}

void report_put_vertex(const struct report_data *data, const struct analyze_flow_vertex *vertex,
                       struct base_buf *out)
{
    switch (vertex->kind) {
    case ANALYZE_FLOW_HOST: base_buf_puts(out, "host"); break;
    case ANALYZE_FLOW_UNKNOWN: base_buf_puts(out, "unknown work"); break;
    case ANALYZE_FLOW_ALLOCATION: report_put_flow_object(data, vertex, out); break;
    case ANALYZE_FLOW_LAUNCH:
        report_put_text(out, report_short_kernel(data, vertex->kernel));
        break;
    default: put_called(data, vertex, out); break;
    }
}

// --- What is shown -------------------------------------------------------------------------------

// Returns whether the text is the number of the vertex, from 1, or part of its name or place.
static bool matches(const struct report_data *data, size_t index, const char *text,
                    struct base_buf *name)
{
    const struct analyze_flow_vertex *vertex = &analyze_flow(data->analysis)->vertices[index];
    if (strspn(text, "0123456789") == strlen(text))
        return strtoull(text, NULL, 10) == index + 1;
    base_buf_clear(name);
    report_put_vertex(data, vertex, name);
    base_buf_putc(name, ' ');
    report_put_place(data, vertex->path, name);
    return name->text && strstr(name->text, text);
}

static enum base_code slice(const struct report_data *data, const char *text,
                            struct analyze_flow_part *part, struct base_error *error)
{
    const struct analyze_flow *flow = analyze_flow(data->analysis);
    uint32_t *vertices = calloc(flow->vertex_count + 1, sizeof(*vertices));
    struct base_buf name = {0};
    size_t count = 0;
    for (size_t i = 0; vertices && i < flow->vertex_count; i++) {
        if (part->vertices[i] && matches(data, i, text, &name))
            vertices[count++] = (uint32_t)i;
    }
    bool good = vertices && !name.failed;
    if (good && count)
        good = analyze_flow_slice(flow, vertices, count, part);
    base_buf_fini(&name);
    free(vertices);
    BASE_RETURN_IF_NO_MEMORY(!good, error);
    BASE_RETURN_IF(count == 0, error, BASE_NOT_FOUND,
                   "no vertex of the value flow graph has the number, name or place '%s'", text);
    return BASE_OK;
}

enum base_code report_choose_flow(const struct report_data *data,
                                  const struct report_flow_choice *choice,
                                  struct analyze_flow_part *part, struct base_error *error)
{
    const struct analyze_flow *flow = analyze_flow(data->analysis);
    enum base_code code = BASE_OK;
    BASE_RETURN_IF_NO_MEMORY(!analyze_flow_whole(flow, part), error);
    if (choice->slice)
        code = slice(data, choice->slice, part, error);
    // Of the two limits, the one that was not given keeps nothing.
    if (code == BASE_OK && (choice->least_bytes || choice->least_calls))
        analyze_flow_important(flow, choice->least_bytes,
                               choice->least_calls ? choice->least_calls : UINT64_MAX, part);
    return code;
}
