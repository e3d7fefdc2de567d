// SPDX-License-Identifier: Apache-2.0
// overallocation (definition 3.8): kernels touch fewer than so many per cent of an object's
// elements, and what they do not touch is not too fragmented (equation 1) to be left out. The fix
// allocates the largest untouched piece no more. How fragmented it is only maps tell; without them
// a finding promises nothing. Of a pool, as many bytes count as touched as are in parts at once;
// the fix makes it as small as its parts can be laid out.
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

// How large a pool must be for all its parts, by a layout that was found.
static bool find_height(const struct analyze_model *model, const struct analyze_object *pool,
                        uint64_t *height)
{
    struct analyze_block *blocks = calloc(pool->part_count, sizeof(*blocks));
    size_t count = 0;
    uint64_t least;
    for (uint32_t i = 0; blocks && i < pool->part_count; i++) {
        const struct analyze_object *part =
            &model->objects.items[model->parts[pool->first_part + i]];
        uint32_t from = analyze_begin(part), to = analyze_end(model, part);
        if (from < to)
            blocks[count++] = (struct analyze_block){from, to, part->bytes, pool->device};
    }
    bool good = blocks && analyze_pack(blocks, count, height, &least);
    free(blocks);
    return good;
}

// A pool has slack where fewer bytes than it has are in parts at once.
static void consider_pool(struct analyze_run *run, uint32_t index)
{
    const struct analyze_model *model = run->model;
    const struct analyze_object *pool = &model->objects.items[index];
    uint32_t call;
    uint64_t height, most = analyze_replay_parts_peak(run->replay, index, &call);
    if ((unsigned __int128)most * 100 >=
        (unsigned __int128)pool->bytes * run->thresholds->touched_percent)
        return;
    run->failed |= !find_height(model, pool, &height);
    if (run->failed || height >= pool->bytes)
        return;
    struct analyze_finding finding =
        analyze_begin_finding(run, ANALYZE_OVERALLOCATION, index, pool->call, call);
    finding.is_pool = true;
    finding.elements = pool->bytes;
    finding.touched = most;
    finding.element_bytes = 1;
    finding.bytes = height;
    analyze_add_shorter(run, &finding, pool, analyze_begin(pool), analyze_end(model, pool),
                        pool->bytes - height);
}

void analyze_overallocation(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    for (uint32_t i = 0; i < model->objects.count && !run->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        struct analyze_map sum = {0};
        if (analyze_is_pool(object))
            consider_pool(run, i);
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
}
