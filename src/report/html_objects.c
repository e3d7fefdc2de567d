// SPDX-License-Identifier: Apache-2.0
// Chooses the objects of the page and writes their columns. If there are too many objects, those of
// findings come first, then those in use at a peak, then the largest.
#include <stdlib.h>

#include "html.h"

struct candidate {
    uint32_t index;
    uint32_t rank; // lower is better
    uint64_t bytes;
};

static int by_rank(const void *one, const void *other)
{
    const struct candidate *a = one, *b = other;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static int by_index(const void *one, const void *other)
{
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return a < b ? -1 : a > b;
}

static void rank_first(const struct report_data *data, uint64_t number, struct candidate *rows)
{
    const struct report_object *object = report_find_object(data, number);
    if (object)
        rows[object - data->objects.items].rank = 0;
}

static void rank_findings(const struct page *page, struct candidate *rows)
{
    const struct report_data *data = page->data;
    for (size_t i = 0; i < page->findings; i++) {
        const struct analyze_finding *finding = analyze_finding(data->analysis, i);
        for (size_t k = 0; k < finding->object_count; k++)
            rank_first(data, finding->objects[k], rows);
        rank_first(data, finding->object, rows);
        rank_first(data, finding->other_object, rows);
    }
}

// Returns how many bytes an object takes in all columns.
static size_t row_bytes(const struct report_object *object)
{
    const struct report_use *use = &object->use;
    const uint64_t columns[] = {
        object->number,       object->bytes,
        object->call,         object->end == ANALYZE_NEVER ? 0 : object->end,
        object->first_access, object->last_access,
        object->path,         use->reads,
        use->writes,          use->passed,
        use->bytes_read,      use->bytes_written,
        use->element_bytes,   use->touched,
        use->shared,          report_elements(object)};
    size_t bytes = sizeof("99999,99,1,"); // name, kind, counted
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        bytes += page_digits(columns[i]);
    return bytes;
}

void page_keep_objects(struct page *page)
{
    const struct report_data *data = page->data;
    const size_t count = data->objects.count;
    size_t bytes = 0;
    struct candidate *rows = page->failed ? NULL : calloc(count + 1, sizeof(*rows));
    page->failed |= !rows;
    if (!rows)
        return;
    for (size_t i = 0; i < count; i++) {
        const struct report_object *object = &data->objects.items[i];
        bool in_peak = report_is_in_highest(data, object);
        rows[i] = (struct candidate){(uint32_t)i, in_peak ? 1 : 2, object->bytes};
    }
    rank_findings(page, rows);
    qsort(rows, count, sizeof(*rows), by_rank);
    for (size_t i = 0; i < count && !page->failed; i++) {
        bytes += row_bytes(&data->objects.items[rows[i].index]);
        if (bytes > PAGE_OBJECT_BYTES)
            break;
        uint32_t *slot = base_array_push(&page->objects);
        page->failed |= !slot;
        if (slot)
            *slot = rows[i].index;
    }
    free(rows);
    if (page->objects.items)
        qsort(page->objects.items, page->objects.count, sizeof(*page->objects.items), by_index);
    if (!page->failed)
        page_omit(page, "objects", page->objects.count, count,
                  "those of findings and at the peak, then the largest; the others still count as "
                  "memory in use");
}

static uint64_t call_or_0(uint64_t call)
{
    return call == ANALYZE_NEVER ? 0 : call;
}

void page_put_objects(struct page *page)
{
    const struct report_object *objects = page->data->objects.items;
    const size_t count = page->objects.count;
    const uint32_t *kept = page->objects.items;
    struct page_section section;
    struct base_json *json = &section.json;
    page_begin(&section, true);
#define COLUMN(key, value) PAGE_COLUMN(json, key, uint32_t, kept, count, (objects + *row)->value)
    COLUMN("number", number);
    base_json_key(json, "name");
    base_json_begin_array(json);
    for (size_t i = 0; i < count; i++)
        base_json_u64(json, page_text(page, objects[kept[i]].label));
    base_json_end_array(json);
    COLUMN("kind", kind);
    COLUMN("counted", counts);
    base_json_key(json, "bytes");
    base_json_begin_array(json);
    for (size_t i = 0; i < count; i++)
        base_json_u64(json, objects[kept[i]].bytes);
    base_json_end_array(json);
    COLUMN("call", call);
    PAGE_COLUMN(json, "end", uint32_t, kept, count, call_or_0((objects + *row)->end));
    COLUMN("first", first_access);
    COLUMN("last", last_access);
    COLUMN("path", path);
    COLUMN("reads", use.reads);
    COLUMN("writes", use.writes);
    COLUMN("passed", use.passed);
    COLUMN("bytes_read", use.bytes_read);
    COLUMN("bytes_written", use.bytes_written);
    COLUMN("element_bytes", use.mixed ? 0 : (objects + *row)->use.element_bytes);
    PAGE_COLUMN(json, "elements", uint32_t, kept, count, report_elements(objects + *row));
    COLUMN("touched", use.touched);
    COLUMN("shared", use.shared);
#undef COLUMN
    base_json_key(json, "kinds");
    base_json_begin_array(json);
    for (int i = 0; i < PROFILE_OBJECT_KINDS; i++)
        base_json_string(json, profile_object_kind_word((enum profile_object_kind)i));
    base_json_end_array(json);
    page->failed |= !page_end(page, &section, "objects", PAGE_OBJECT_BYTES + PAGE_ROW_BYTES);
    for (size_t i = 0; i < count; i++)
        page_want_path(page, objects[kept[i]].path, 1);
}
