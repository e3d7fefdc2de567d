// SPDX-License-Identifier: Apache-2.0
// Writes memory in use over calls, by kind, for all objects, including those that are not in the
// page. Each change is a point. If there are too many, each interval keeps its highest and lowest
// point.
#include <stdlib.h>

#include "html.h"

struct change {
    uint64_t call;
    int64_t bytes;
    uint8_t kind;
};

struct point {
    uint64_t call, total;
    uint64_t kinds[PROFILE_OBJECT_KINDS];
};

static int by_call(const void *one, const void *other)
{
    const struct change *a = one, *b = other;
    if (a->call != b->call)
        return a->call < b->call ? -1 : 1;
    return 0;
}

static size_t take_changes(const struct report_data *data, struct change *changes)
{
    size_t count = 0;
    for (size_t i = 0; i < data->objects.count; i++) {
        const struct report_object *object = &data->objects.items[i];
        if (!object->counts)
            continue;
        int64_t bytes = object->bytes < INT64_MAX ? (int64_t)object->bytes : INT64_MAX;
        changes[count++] = (struct change){object->call, bytes, object->kind};
        if (object->end != ANALYZE_NEVER)
            changes[count++] = (struct change){object->end, -bytes, object->kind};
    }
    if (count)
        qsort(changes, count, sizeof(*changes), by_call);
    return count;
}

struct usage {
    struct point now, highest, lowest; // highest, lowest: of the current interval
    BASE_ARRAY(struct point) points;
    bool failed;
};

static void add_point(struct usage *usage, const struct point *point)
{
    if (usage->points.count && usage->points.items[usage->points.count - 1].call == point->call)
        return;
    struct point *row = base_array_push(&usage->points);
    usage->failed |= !row;
    if (row)
        *row = *point;
}

// Ends an interval: adds its highest and lowest point in the order of calls.
static void end_stretch(struct usage *usage)
{
    const bool rises = usage->lowest.call < usage->highest.call;
    add_point(usage, rises ? &usage->lowest : &usage->highest);
    add_point(usage, rises ? &usage->highest : &usage->lowest);
}

static void walk(struct usage *usage, const struct change *changes, size_t count, size_t stretch)
{
    size_t in_stretch = 0;
    for (size_t i = 0; i < count && !usage->failed; i++) {
        struct point *now = &usage->now;
        now->call = changes[i].call;
        now->kinds[changes[i].kind] += (uint64_t)changes[i].bytes;
        now->total += (uint64_t)changes[i].bytes;
        if (i + 1 < count && changes[i + 1].call == now->call)
            continue; // all changes by one call are one change
        if (in_stretch == 0)
            usage->highest = usage->lowest = *now;
        if (now->total > usage->highest.total)
            usage->highest = *now;
        if (now->total < usage->lowest.total)
            usage->lowest = *now;
        if (++in_stretch >= stretch || i + 1 == count) {
            end_stretch(usage);
            in_stretch = 0;
        }
    }
    if (count && !usage->failed)
        add_point(usage, &usage->now);
}

static void put(struct page *page, const struct usage *usage)
{
    const struct point *points = usage->points.items;
    const size_t count = usage->points.count;
    struct page_section section;
    struct base_json *json = &section.json;
    page_begin(&section, true);
    PAGE_COLUMN(json, "call", struct point, points, count,
                row->call - (at ? row[-1].call : 0)); // difference to the point before
    base_json_key(json, "kinds");
    base_json_begin_object(json);
    for (int kind = 0; kind < PROFILE_OBJECT_KINDS; kind++) {
        bool used = false;
        for (size_t i = 0; i < count; i++)
            used |= points[i].kinds[kind] != 0;
        if (used)
            PAGE_COLUMN(json, profile_object_kind_word((enum profile_object_kind)kind),
                        struct point, points, count, row->kinds[kind]);
    }
    base_json_end_object(json);
    page_end(page, &section, "usage", PAGE_USAGE_BYTES);
}

void page_put_usage(struct page *page)
{
    const struct report_data *data = page->data;
    struct change *changes =
        page->failed ? NULL : calloc(2 * data->objects.count + 1, sizeof(*changes));
    page->failed |= !changes;
    if (!changes)
        return;
    const size_t count = take_changes(data, changes);
    bool done = false;
    for (size_t stretch = 1; !done && !page->failed; stretch = stretch == 1 ? 4 : stretch * 2) {
        struct usage usage = {0};
        size_t before = page->left;
        if (count / stretch > PAGE_USAGE_BYTES / 10)
            continue; // too many points to fit
        walk(&usage, changes, count, stretch);
        page->failed |= usage.failed;
        if (!page->failed)
            put(page, &usage);
        done = page->left < before;
        if (done && stretch > 1)
            page_omit(page, "changes of memory in use", usage.points.count, count,
                      "the highest and the lowest of each interval: no peak is missing");
        base_array_fini(&usage.points);
    }
    free(changes);
}
