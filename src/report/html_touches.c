// SPDX-License-Identifier: Apache-2.0
// Collects and writes which of the page's objects calls accessed: kernels as probes recorded it,
// copies and sets with all objects that they reach, and graph launches by their nodes.
#include <stdlib.h>

#include "html_calls.h"

struct node_touch {
    uint64_t object;
    uint32_t how;
};

struct graph_row {
    uint64_t number;
    uint32_t first, count; // range in node_touches
};

struct page_touching {
    struct page *page;
    BASE_ARRAY(struct graph_row) graphs;
    BASE_ARRAY(struct node_touch) node_touches;
    struct profile_accesses *accesses;
    const struct profile_access *access;
    const struct analyze_reached *reached; // the next, of reached_count that are left
    size_t reached_count;
};

// --- Collecting ----------------------------------------------------------------------------------

static void touch(struct page_touching *touching, uint64_t object, uint64_t call, uint32_t how)
{
    struct page *page = touching->page;
    uint32_t index = object ? page_find_object(page, object) : UINT32_MAX;
    if (index == UINT32_MAX || how == 0)
        return;
    struct page_touch *row = base_array_push(&page->touches);
    page->failed |= !row;
    if (row)
        *row = (struct page_touch){index, how, call};
}

static bool take_graph(void *user, const struct profile_graph *graph)
{
    struct page_touching *touching = user;
    struct graph_row *row = base_array_push(&touching->graphs);
    touching->page->failed |= !row;
    if (!row)
        return false;
    *row = (struct graph_row){graph->number, (uint32_t)touching->node_touches.count, 0};
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct profile_node *node = &graph->nodes[i];
        struct node_touch touches[2] = {{0, PAGE_READ}, {0, PAGE_WRITE}};
        if (node->kind == PROFILE_NODE_COPY) {
            touches[0].object = node->copy.from_object;
            touches[1].object = node->copy.to_object;
        } else if (node->kind == PROFILE_NODE_SET) {
            touches[1].object = node->set.object;
        }
        for (int k = 0; k < 2; k++) {
            struct node_touch *slot =
                touches[k].object ? base_array_push(&touching->node_touches) : NULL;
            touching->page->failed |= touches[k].object && !slot;
            if (slot)
                *slot = touches[k];
        }
    }
    row->count = (uint32_t)touching->node_touches.count - row->first;
    return !touching->page->failed;
}

static void touch_graph(struct page_touching *touching, const struct profile_call *call)
{
    const size_t at =
        base_search(0, touching->graphs.count, i, touching->graphs.items[i].number < call->graph);
    if (at == touching->graphs.count || touching->graphs.items[at].number != call->graph)
        return;
    const struct graph_row *row = &touching->graphs.items[at];
    for (uint32_t i = row->first; i < row->first + row->count; i++)
        touch(touching, touching->node_touches.items[i].object, call->number,
              touching->node_touches.items[i].how);
}

void page_touching_take(struct page_touching *touching, const struct profile_call *call)
{
    const struct profile_access *access;
    while ((access = touching->access) && access->call <= call->number) {
        touch(touching, access->object, access->call,
              access->passed
                  ? PAGE_PASSED
                  : (access->read ? PAGE_READ : 0u) | (access->written ? PAGE_WRITE : 0u));
        touching->access = profile_accesses_next(touching->accesses);
    }
    for (; touching->reached_count && touching->reached->call <= call->number;
         touching->reached++, touching->reached_count--)
        touch(touching, touching->reached->object, touching->reached->call,
              (touching->reached->read ? PAGE_READ : 0u) |
                  (touching->reached->written ? PAGE_WRITE : 0u));
    if (call->result != 0 || call->flags & PROFILE_CALL_CAPTURED)
        return;
    if (call->kind == PROFILE_CALL_COPY) {
        touch(touching, call->copy.from_object, call->number, PAGE_READ);
        touch(touching, call->copy.to_object, call->number, PAGE_WRITE);
    } else if (call->kind == PROFILE_CALL_SET) {
        touch(touching, call->set.object, call->number, PAGE_WRITE);
    } else if (call->kind == PROFILE_CALL_GRAPH_LAUNCH) {
        touch_graph(touching, call);
    }
}

enum base_code page_touching_new(struct page *page, struct page_touching **touching,
                                 struct base_error *error)
{
    *touching = calloc(1, sizeof(**touching));
    if (!*touching)
        return base_no_memory(error);
    (*touching)->page = page;
    return profile_each_graph(page->profile, take_graph, *touching, error);
}

enum base_code page_touching_begin(struct page_touching *touching, struct base_error *error)
{
    struct page *page = touching->page;
    page->touches.count = 0;
    enum base_code code = profile_accesses_begin(page->profile, &touching->accesses, error);
    touching->access = profile_accesses_next(touching->accesses);
    touching->reached = analyze_reached(page->data->analysis, &touching->reached_count);
    return code;
}

enum base_code page_touching_end(struct page_touching *touching, struct base_error *error)
{
    return profile_accesses_end(touching->accesses, error);
}

void page_touching_free(struct page_touching *touching)
{
    if (!touching)
        return;
    base_array_fini(&touching->graphs);
    base_array_fini(&touching->node_touches);
    free(touching);
}

// --- The section ---------------------------------------------------------------------------------

// Sorts touches by object, keeping the order of calls. Several touches of an object by one call
// become one.
static void sort_touches(struct page *page)
{
    const size_t count = page->touches.count, objects = page->objects.count;
    const struct page_touch *from = page->touches.items;
    struct page_touch *to = malloc((count + 1) * sizeof(*to));
    size_t *next = calloc(objects + 2, sizeof(*next)), kept = 0;
    page->failed |= !to || !next;
    if (!page->failed) {
        for (size_t i = 0; i < count; i++)
            next[from[i].object + 1]++;
        for (size_t i = 0; i < objects; i++)
            next[i + 1] += next[i];
        for (size_t i = 0; i < count; i++)
            to[next[from[i].object]++] = from[i];
        for (size_t i = 0; i < count; i++) {
            if (kept && to[kept - 1].object == to[i].object && to[kept - 1].call == to[i].call)
                to[kept - 1].how |= to[i].how;
            else
                to[kept++] = to[i];
        }
        free(page->touches.items);
        page->touches.items = to;
        page->touches.capacity = count + 1;
        page->touches.count = kept;
        to = NULL;
    }
    free(to);
    free(next);
}

// Writes an array for each object. Each touch is the distance to the previous touch in calls, times
// PAGE_HOWS, plus how. A touch is left out if another one of the same kind came less than `gap`
// calls before it, unless it is the object's last.
static bool put_touches(struct page *page, uint64_t gap, size_t most_bytes, uint64_t *shown)
{
    const struct page_touch *rows = page->touches.items;
    struct page_section section;
    struct base_json *json = &section.json;
    size_t at = 0;
    *shown = 0;
    page_begin(&section, false);
    for (uint32_t object = 0; object < page->objects.count; object++) {
        uint64_t before = 0, last[PAGE_HOWS] = {0};
        base_json_begin_array(json);
        for (; at < page->touches.count && rows[at].object == object; at++) {
            const struct page_touch *row = &rows[at];
            bool is_last = at + 1 == page->touches.count || rows[at + 1].object != object;
            if (last[row->how] && row->call - last[row->how] < gap && !is_last)
                continue;
            base_json_u64(json, (row->call - before) * PAGE_HOWS + row->how);
            before = last[row->how] = row->call;
            ++*shown;
        }
        base_json_end_array(json);
    }
    return page_end(page, &section, "touches", most_bytes);
}

void page_put_touches(struct page *page, size_t most_bytes)
{
    uint64_t shown = 0;
    sort_touches(page);
    for (uint64_t gap = 1; !page->failed && !put_touches(page, gap, most_bytes, &shown); gap *= 2) {
        if (gap > page->data->calls) { // not even the first and last touches fit
            page->touches.count = 0;
            put_touches(page, 1, most_bytes, &shown);
            break;
        }
    }
    page_omit(page, "accesses", shown, page->touches.count,
              "the first of several close ones; bars and findings use all");
}
