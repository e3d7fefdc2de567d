// SPDX-License-Identifier: Apache-2.0
// overallocation (definition 3.8): kernels touch fewer than so many per cent of an object's
// elements, and what they do not touch is not too fragmented (equation 1) to be left out. Of a
// pool, what none of its parts ever covered counts as untouched. The fix allocates the largest
// untouched piece no more. How fragmented it is only maps tell; without them a finding promises
// nothing.
#include <stdlib.h>

#include "analyses.h"

static const struct analyze_map *map_of(const struct analyze_model *model, uint32_t object)
{
    size_t low = 0, high = model->maps.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (model->maps.items[middle].object < object)
            low = middle + 1;
        else
            high = middle;
    }
    return low < model->maps.count && model->maps.items[low].object == object
               ? &model->maps.items[low]
               : NULL;
}

// Sums up what launches told of the object. False where they did not tell all.
static bool sum_touched(const struct analyze_model *model, const struct analyze_object *object,
                        struct analyze_map *sum)
{
    for (uint32_t u = 0; u < object->use_count; u++) {
        const struct analyze_touch *touch =
            &model->touches.items[model->uses[object->first_use + u]];
        if (!touch->is_kernel)
            continue;
        if (touch->element_bytes == 0 || touch->new_elements == PROFILE_UNKNOWN ||
            (sum->element_bytes && sum->element_bytes != touch->element_bytes))
            return false;
        sum->element_bytes = touch->element_bytes;
        sum->touched += touch->new_elements;
    }
    if (sum->element_bytes == 0)
        return false;
    sum->elements = object->bytes / sum->element_bytes + (object->bytes % sum->element_bytes != 0);
    return true;
}

static void consider(struct analyze_run *run, uint32_t index, const struct analyze_map *map,
                     bool has_fragmentation)
{
    const struct analyze_model *model = run->model;
    const struct analyze_object *object = &model->objects.items[index];
    const struct analyze_thresholds *thresholds = run->thresholds;
    if (map->touched >= map->elements ||
        (unsigned __int128)map->touched * 100 >=
            (unsigned __int128)map->elements * thresholds->touched_percent)
        return;
    uint64_t untouched = map->elements - map->touched;
    double fragmentation = 1.0 - (double)map->largest_count / (double)untouched;
    if (has_fragmentation && fragmentation * 100 >= thresholds->fragmentation_percent)
        return;
    struct analyze_finding finding =
        analyze_begin_finding(run, ANALYZE_OVERALLOCATION, index, object->call, ANALYZE_NONE);
    uint64_t spared = 0;
    finding.elements = map->elements;
    finding.touched = map->touched;
    finding.element_bytes = map->element_bytes;
    finding.is_pool = object->has_parts;
    if (has_fragmentation) {
        finding.has_fragmentation = true;
        finding.fragmentation = fragmentation;
        finding.largest_first = map->largest_first;
        finding.largest_count = map->largest_count;
        // The last element may be cut short by the object's end.
        uint64_t start = map->largest_first * map->element_bytes;
        spared = map->largest_count * map->element_bytes;
        if (spared > object->bytes - start)
            spared = object->bytes - start;
    }
    finding.bytes = object->bytes - spared;
    analyze_add_shorter(run, &finding, object, analyze_begin(object), analyze_end(model, object),
                        spared);
}

// --- Pools ---------------------------------------------------------------------------------------

struct extent {
    uint64_t start, end;
    uint32_t pool;
};

static int by_start(const void *one, const void *other)
{
    const struct extent *a = one, *b = other;
    if (a->pool != b->pool)
        return a->pool < b->pool ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

static void add_gap(struct analyze_map *map, uint64_t from, uint64_t to)
{
    if (to > from && to - from > map->largest_count) {
        map->largest_first = from;
        map->largest_count = to - from;
    }
}

static void consider_pools(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    struct extent *extents = calloc(model->objects.count + 1, sizeof(*extents));
    size_t count = 0;
    run->failed |= !extents;
    for (size_t i = 0; extents && i < model->objects.count; i++) {
        const struct analyze_object *part = &model->objects.items[i];
        if (part->parent == ANALYZE_NONE)
            continue;
        const struct analyze_object *pool = &model->objects.items[part->parent];
        uint64_t start = part->address - pool->address;
        if (part->address >= pool->address && start < pool->bytes &&
            part->bytes <= pool->bytes - start)
            extents[count++] = (struct extent){start, start + part->bytes, part->parent};
    }
    if (count)
        qsort(extents, count, sizeof(*extents), by_start);
    for (size_t i = 0, next; i < count && !run->failed; i = next) {
        const struct analyze_object *pool = &model->objects.items[extents[i].pool];
        struct analyze_map map = {.element_bytes = 1, .elements = pool->bytes};
        uint64_t covered = 0; // up to here
        for (next = i; next < count && extents[next].pool == extents[i].pool; next++) {
            add_gap(&map, covered, extents[next].start);
            uint64_t from = extents[next].start > covered ? extents[next].start : covered;
            if (extents[next].end > from) {
                map.touched += extents[next].end - from;
                covered = extents[next].end;
            }
        }
        add_gap(&map, covered, pool->bytes);
        // What the program uses beside its parts is not known piece by piece.
        if (pool->counts && pool->use_count == 0 && !pool->elsewhere)
            consider(run, extents[i].pool, &map, true);
    }
    free(extents);
}

void analyze_overallocation(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    for (uint32_t i = 0; i < model->objects.count && !run->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        struct analyze_map sum = {0};
        if (!analyze_is_subject(object) || object->first == ANALYZE_NONE ||
            !sum_touched(model, object, &sum) ||
            analyze_first_unseen(model, object, analyze_begin(object),
                                 analyze_end(model, object)) != ANALYZE_NONE)
            continue;
        const struct analyze_map *map = map_of(model, i);
        // Both tell the same; a map that does not is of another part of the object's life.
        bool agree = map && map->element_bytes == sum.element_bytes && map->touched == sum.touched;
        consider(run, i, agree ? map : &sum, agree);
    }
    consider_pools(run);
}
