// SPDX-License-Identifier: Apache-2.0
// Writes the value flow graph in the language of Graphviz, as the ValueExpert paper draws it:
// rectangles for allocations, circles for copies and sets, ovals for kernels. The wider an edge,
// the more bytes it stands for. Writes are red if many of their bytes were the same before, green
// if few, and grey if that is unknown; reads are dashed.
#include "flow.h"
#include "suppress.h"
#include "units.h"

struct dot {
    const struct report_data *data;
    const struct analyze_flow *flow;
    struct base_buf out, text; // text: a buffer for the next label
    uint64_t most_bytes;       // of an edge that is shown
};

// Writes `text` as a quoted string and clears it. Newlines are breaks of centered lines.
static void put_quoted(struct dot *dot)
{
    base_buf_putc(&dot->out, '"');
    for (const char *next = dot->text.text; next && *next; next++) {
        if (*next == '\n') {
            base_buf_puts(&dot->out, "\\n");
            continue;
        }
        if (*next == '"' || *next == '\\')
            base_buf_putc(&dot->out, '\\');
        base_buf_putc(&dot->out, *next);
    }
    base_buf_putc(&dot->out, '"');
    dot->out.failed |= dot->text.failed;
    base_buf_clear(&dot->text);
}

static void put_count(struct base_buf *out, uint64_t count, const char *noun)
{
    base_buf_printf(out, "%llu %s%s", (unsigned long long)count, noun, count == 1 ? "" : "s");
}

// --- Vertices ------------------------------------------------------------------------------------

static const char *shape_of(enum analyze_flow_kind kind)
{
    switch (kind) {
    case ANALYZE_FLOW_ALLOCATION: return "box";
    case ANALYZE_FLOW_COPY:
    case ANALYZE_FLOW_SET: return "circle";
    case ANALYZE_FLOW_HOST: return "house";
    case ANALYZE_FLOW_UNKNOWN: return "diamond";
    default: return "ellipse";
    }
}

static void put_vertex(struct dot *dot, size_t index)
{
    const struct analyze_flow_vertex *vertex = &dot->flow->vertices[index];
    struct base_buf *text = &dot->text;
    base_buf_printf(text, "%zu ", index + 1);
    report_put_vertex(dot->data, vertex, text);
    if (report_place(dot->data, vertex->path)) {
        base_buf_putc(text, '\n');
        report_put_place_beside(dot->data, vertex->path, 0, text);
    }
    if (vertex->kind == ANALYZE_FLOW_ALLOCATION) {
        base_buf_putc(text, '\n');
        if (vertex->calls > 1) {
            put_count(text, vertex->calls, "object");
            base_buf_puts(text, ", ");
        }
        report_put_bytes(text, vertex->bytes);
    } else if (vertex->calls > 1) {
        base_buf_putc(text, '\n');
        put_count(text, vertex->calls, "call");
    }
    if (vertex->unknown_calls)
        base_buf_puts(text, "\naccesses unknown");
    base_buf_printf(&dot->out, "  v%zu [shape=%s, label=", index + 1, shape_of(vertex->kind));
    put_quoted(dot);
    if (vertex->unknown_calls || vertex->kind == ANALYZE_FLOW_UNKNOWN)
        base_buf_puts(&dot->out, ", style=dashed");
    report_put_trace(dot->data, vertex->path, text);
    if (text->length) {
        base_buf_puts(&dot->out, ", tooltip=");
        put_quoted(dot);
    }
    base_buf_puts(&dot->out, "];\n");
}

// --- Edges ---------------------------------------------------------------------------------------

static unsigned bits_of(uint64_t value)
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

// The widest edge has a width of 8. Each quarter of its bytes is one narrower.
static unsigned width_of(const struct dot *dot, uint64_t bytes)
{
    const unsigned narrower = (bits_of(dot->most_bytes) - bits_of(bytes)) / 2;
    return narrower < 7 ? 8 - narrower : 1;
}

static const char *colour_of(const struct dot *dot, const struct analyze_flow_edge *edge)
{
    if (!edge->is_write || edge->compared_bytes == 0)
        return "#8a8a8a";
    const unsigned __int128 part = (unsigned __int128)edge->redundant_bytes * 100;
    if (part < (unsigned __int128)edge->compared_bytes * dot->flow->redundant_percent)
        return "#2e8b57";
    return part < (unsigned __int128)edge->compared_bytes * 67 ? "#e07b6a" : "#c62828";
}

static void put_edge(struct dot *dot, const struct analyze_flow_edge *edge)
{
    struct base_buf *text = &dot->text;
    report_put_flow_object(dot->data, &dot->flow->vertices[edge->object], text);
    base_buf_printf(text, "\n%s %s", edge->is_write ? "write" : "read",
                    edge->is_bound ? "at most " : "");
    report_put_bytes(text, edge->bytes);
    if (edge->times > 1)
        base_buf_printf(text, " in %llu", (unsigned long long)edge->times);
    if (edge->compared_bytes) {
        base_buf_putc(text, '\n');
        report_put_share(text, edge->redundant_bytes, edge->compared_bytes);
        base_buf_puts(text, " redundant");
    }
    base_buf_printf(&dot->out, "  v%u -> v%u [label=", edge->from + 1, edge->to + 1);
    put_quoted(dot);
    base_buf_printf(&dot->out, ", penwidth=%u, color=\"%s\"", width_of(dot, edge->bytes),
                    colour_of(dot, edge));
    if (!edge->is_write)
        base_buf_puts(&dot->out, ", style=dashed");
    if (edge->is_uncertain)
        base_buf_puts(&dot->out, ", arrowhead=open");
    base_buf_puts(&dot->out, "];\n");
}

// --- The graph -----------------------------------------------------------------------------------

// Writes what there is and clears it.
static bool flush(struct dot *dot, report_write *write, void *user)
{
    const bool good =
        !dot->out.failed && (dot->out.length == 0 || write(user, dot->out.text, dot->out.length));
    base_buf_clear(&dot->out);
    return good;
}

static bool put_graph(struct dot *dot, const struct analyze_flow_part *part, report_write *write,
                      void *user)
{
    bool good = true;
    for (size_t i = 0; i < dot->flow->edge_count; i++) {
        if (part->edges[i] && dot->flow->edges[i].bytes > dot->most_bytes)
            dot->most_bytes = dot->flow->edges[i].bytes;
    }
    base_buf_puts(&dot->out, "digraph \"value flow\" {\n"
                             "  node [fontname=\"sans-serif\", fontsize=10];\n"
                             "  edge [fontname=\"sans-serif\", fontsize=9];\n");
    for (size_t i = 0; i < dot->flow->vertex_count && good; i++) {
        if (part->vertices[i])
            put_vertex(dot, i);
        good = flush(dot, write, user);
    }
    for (size_t i = 0; i < dot->flow->edge_count && good; i++) {
        if (part->edges[i])
            put_edge(dot, &dot->flow->edges[i]);
        good = flush(dot, write, user);
    }
    base_buf_puts(&dot->out, "}\n");
    return good && flush(dot, write, user) && !dot->text.failed;
}

enum base_code report_dot(struct profile *profile, const struct report_rules *rules,
                          const struct report_flow_choice *choice, report_write *write, void *user,
                          struct base_error *error)
{
    struct report_data data = {.wants_flow = true};
    struct analyze_flow_part part = {0};
    struct dot dot = {.data = &data};
    enum base_code code = report_data_load_by(&data, profile, rules, error);
    if (code == BASE_OK)
        code = report_choose_flow(&data, choice, &part, error);
    if (code == BASE_OK) {
        dot.flow = analyze_flow(data.analysis);
        if (!put_graph(&dot, &part, write, user))
            code = dot.out.failed || dot.text.failed
                       ? base_no_memory(error)
                       : base_fail(error, BASE_IO, "the output could not be written");
    }
    base_buf_fini(&dot.out);
    base_buf_fini(&dot.text);
    analyze_flow_part_fini(&part);
    report_data_fini(&data);
    return code;
}
