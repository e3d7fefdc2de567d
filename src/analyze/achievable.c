// SPDX-License-Identifier: Apache-2.0
// Computes the peak if all findings are followed together: each object's memory is needed from its
// first use to its last, and pack.c finds a layout. There are three levels. First, only allocations
// and frees move. Second, copies and sets that only initialize an object are delayed, too. Third,
// objects that are idle at the peak are moved to the host and back (swaps.c). That costs time, so
// it is no part of the achievable peak.
//
// With several streams, calls do not run in the order of their numbers (horizon.h).
#include <stdlib.h>

#include "analyses.h"
#include "horizon.h"

// Moving objects to the host again and again is no level of the peak that anybody wants: so many
// bytes may be copied for each byte that it saves.
enum { MOST_COPIED = 8 };

struct packing {
    const struct analyze_run *run;
    bool delays;                      // copies and sets that initialize objects are delayed
    const struct analyze_swap *swaps; // by object, then by call
    size_t swap_count;
    struct analyze_horizon horizon;
    struct analyze_clocks *clocks; // of calls at which some object's memory starts to be needed
    BASE_ARRAY(struct analyze_block) blocks;
    bool failed; // memory ran out
};

// Returns the end of the interval in which memory is needed whose last access is in the call
// `last`.
static uint32_t needed_until(struct packing *packing, uint32_t last)
{
    uint32_t until = last + 1;
    packing->failed |= !analyze_needed_until(&packing->horizon, last, UINT32_MAX, &until);
    return until;
}

// --- The interval of an object -------------------------------------------------------------------

bool analyze_needed_time(const struct analyze_run *run, const struct analyze_object *object,
                         bool delays, uint32_t *first, uint32_t *last)
{
    const struct analyze_model *model = run->model;
    if (object->is_unused)
        return false;
    uint32_t from = analyze_begin(object), to = analyze_end(model, object);
    *first = analyze_first_hidden(model, object, from, to);
    *last = analyze_last_hidden(model, object, from, to);
    for (uint32_t u = 0; u < object->use_count; u++) {
        uint32_t touch = model->uses[object->first_use + u];
        uint32_t call = model->touches.items[touch].call;
        if (run->dead[touch])
            continue;
        *first = *first == ANALYZE_NONE || call < *first ? call : *first;
        *last = *last == ANALYZE_NONE || object->last > *last ? object->last : *last;
        break;
    }
    if (delays && analyze_can_delay(object) && *first != ANALYZE_NONE && *first >= object->first &&
        *first < object->needed)
        *first = object->needed;
    return *first != ANALYZE_NONE;
}

static void add_block(struct packing *packing, const struct analyze_object *object, uint32_t from,
                      uint32_t to)
{
    const uint64_t *smaller = base_map_get(&packing->run->smaller, object->number);
    struct analyze_block *block = from < to ? base_array_push(&packing->blocks) : NULL;
    packing->failed |= from < to && !block;
    if (block)
        *block = (struct analyze_block){
            from, to, smaller && *smaller < object->bytes ? *smaller : object->bytes,
            object->device};
}

// The swaps of an object, which has the given index.
static const struct analyze_swap *swaps_of(const struct packing *packing, uint32_t index,
                                           size_t *count)
{
    const size_t first = base_search(0, packing->swap_count, i, packing->swaps[i].object < index);
    const size_t end =
        base_search(first, packing->swap_count, i, packing->swaps[i].object <= index);
    *count = end - first;
    return packing->swaps + first;
}

// Adds the blocks of an object that is needed from `first` to `last`, except while it is swapped
// out.
static void add_blocks(struct packing *packing, uint32_t index, uint32_t first, uint32_t last)
{
    const struct analyze_object *object = &packing->run->model->objects.items[index];
    size_t count;
    const struct analyze_swap *swaps = swaps_of(packing, index, &count);
    for (size_t i = 0; i < count; i++) {
        add_block(packing, object, first, needed_until(packing, swaps[i].before));
        first = swaps[i].after;
    }
    add_block(packing, object, first, needed_until(packing, last));
}

// --- All objects ---------------------------------------------------------------------------------

bool analyze_is_laid_out(const struct analyze_model *model, const struct analyze_object *object)
{
    const bool in_pool =
        object->parent != ANALYZE_NONE && analyze_is_pool(&model->objects.items[object->parent]);
    return ((object->counts && !analyze_is_pool(object)) || in_pool) && object->bytes > 0;
}

// Clocks are a result of ordering the calls, so the order is computed again for these calls.
static void take_beginnings(struct packing *packing)
{
    struct analyze_model *model = packing->run->model;
    uint32_t first, last;
    bool *wanted = calloc(model->calls.count + 1, sizeof(*wanted)); // by call
    packing->failed |= !wanted;
    for (size_t i = 0; i < model->objects.count && !packing->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (analyze_is_laid_out(model, object) && analyze_is_subject(object) &&
            analyze_needed_time(packing->run, object, packing->delays, &first, &last))
            wanted[first] = true;
    }
    for (size_t i = 0; i < packing->swap_count && !packing->failed; i++)
        wanted[packing->swaps[i].after] = true;
    struct analyze_clocks *clocks = NULL;
    packing->failed = packing->failed || !analyze_set_order(model, wanted, &clocks);
    packing->clocks = clocks;
    packing->failed =
        packing->failed || !analyze_horizon_init(&packing->horizon, model, clocks, wanted);
    free(wanted);
}

// Stores the height of the layout, and a lower bound.
static bool lay_out(struct packing packing, uint64_t *height, uint64_t *least)
{
    const struct analyze_model *model = packing.run->model;
    take_beginnings(&packing);
    for (uint32_t i = 0; i < model->objects.count && !packing.failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        uint32_t first, last;
        if (!analyze_is_laid_out(model, object))
            continue;
        if (!analyze_is_subject(object))
            add_block(&packing, object, analyze_begin(object), analyze_end(model, object));
        else if (analyze_needed_time(packing.run, object, packing.delays, &first, &last))
            add_blocks(&packing, i, first, last);
    }
    const bool good =
        !packing.failed && analyze_pack(packing.blocks.items, packing.blocks.count, height, least);
    analyze_horizon_fini(&packing.horizon);
    base_array_fini(&packing.blocks);
    analyze_clocks_free(packing.clocks);
    return good;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool analyze_achievable(const struct analyze_run *run, uint64_t peak, struct analyze_levels *levels)
{
    struct analyze_swaps swaps = {0};
    uint64_t least = 0;
    bool good = lay_out((struct packing){.run = run}, &levels->allocations, &least);
    good = good && lay_out((struct packing){.run = run, .delays = true}, &levels->achievable,
                           &levels->least);
    levels->allocations = smaller(levels->allocations, peak);
    levels->achievable = smaller(levels->achievable, levels->allocations);
    levels->least = smaller(levels->least, levels->achievable);
    levels->swapped = levels->achievable;
    good = good && analyze_find_swaps(run, &swaps);
    if (good && swaps.rows.count) {
        uint64_t height = 0;
        good = lay_out((struct packing){.run = run,
                                        .delays = true,
                                        .swaps = swaps.rows.items,
                                        .swap_count = swaps.rows.count},
                       &height, &least);
        if (good && height < levels->achievable &&
            analyze_is_gain(levels->achievable - height, peak) &&
            swaps.copied_bytes / MOST_COPIED <= levels->achievable - height) {
            levels->swapped = height;
            levels->swaps = swaps.rows.count;
            levels->copied_bytes = swaps.copied_bytes;
            levels->copy_ns = swaps.copy_ns;
        }
    }
    base_array_fini(&swaps.rows);
    return good;
}
