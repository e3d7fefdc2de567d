// SPDX-License-Identifier: Apache-2.0
// Computes the peak if all findings are followed together: each object's memory is needed from its
// first use to its last, and pack.c finds a layout. There are three levels. First, only allocations
// and frees move. Second, copies and sets that only initialize an object are delayed, too. Third,
// objects that are idle at the peak are moved to the host and back (swaps.c). That costs time, so
// it is no part of the achievable peak.
//
// With several streams, calls do not run in the order of their numbers. An object's memory is
// therefore needed until every object whose use starts later surely starts after its last use. The
// clock of a stream, taken as the minimum over all later starts, never decreases, so it is found by
// binary search.
#include <stdlib.h>

#include "analyses.h"

// The calls at which some object's memory starts to be needed, in order. For each stream, `least`
// has for each of these calls the minimum of the clocks from that call on.
struct beginnings {
    uint32_t *calls;
    size_t count;
    struct base_map streams; // number to index + 1 in `least`
    BASE_ARRAY(uint32_t *) least;
};

struct packing {
    const struct analyze_run *run;
    bool delays;                      // copies and sets that initialize objects are delayed
    const struct analyze_swap *swaps; // by object, then by call
    size_t swap_count;
    struct beginnings beginnings;
    bool *wanted;                  // by call: it is among `calls`
    struct analyze_clocks *clocks; // of these calls
    BASE_ARRAY(struct analyze_block) blocks;
    bool failed; // memory ran out
};

// --- The end of an interval ----------------------------------------------------------------------

// Returns, for the stream, the minimum of clocks from each beginning on; NULL when memory ran out.
static const uint32_t *clocks_of(struct packing *packing, uint32_t stream)
{
    struct beginnings *beginnings = &packing->beginnings;
    uint64_t *slot = base_map_put(&beginnings->streams, stream, NULL);
    if (slot && *slot)
        return beginnings->least.items[*slot - 1];
    uint32_t **made = slot ? base_array_push(&beginnings->least) : NULL;
    uint32_t *least = made ? calloc(beginnings->count + 1, sizeof(*least)) : NULL;
    if (!least)
        return NULL;
    *made = least;
    *slot = beginnings->least.count;
    least[beginnings->count] = UINT32_MAX;
    for (size_t i = beginnings->count; i-- > 0;) {
        uint32_t clock =
            analyze_clock_at(packing->run->model, packing->clocks, beginnings->calls[i], stream);
        least[i] = clock < least[i + 1] ? clock : least[i + 1];
    }
    return least;
}

// Returns the end of the interval in which memory is needed whose last access is in the call
// `last`. Objects whose intervals start before that end may be accessed at the same time.
static uint32_t needed_until(struct packing *packing, uint32_t last)
{
    const struct beginnings *beginnings = &packing->beginnings;
    const uint32_t *least = clocks_of(packing, packing->run->model->calls.items[last].stream);
    packing->failed |= !least;
    const size_t next = least ? base_search(0, beginnings->count, i, least[i] <= last) : 0;
    uint32_t until = next > 0 ? beginnings->calls[next - 1] + 1 : 0;
    return until > last ? until : last + 1;
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
    struct beginnings *beginnings = &packing->beginnings;
    uint32_t first, last;
    packing->wanted = calloc(model->calls.count + 1, sizeof(*packing->wanted));
    beginnings->calls = calloc(model->calls.count + 1, sizeof(*beginnings->calls));
    packing->failed |= !packing->wanted || !beginnings->calls;
    for (size_t i = 0; i < model->objects.count && !packing->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (analyze_is_laid_out(model, object) && analyze_is_subject(object) &&
            analyze_needed_time(packing->run, object, packing->delays, &first, &last))
            packing->wanted[first] = true;
    }
    for (size_t i = 0; i < packing->swap_count && !packing->failed; i++)
        packing->wanted[packing->swaps[i].after] = true;
    for (uint32_t i = 0; i < model->calls.count && !packing->failed; i++) {
        if (packing->wanted[i])
            beginnings->calls[beginnings->count++] = i;
    }
    struct analyze_clocks *clocks = NULL;
    packing->failed = packing->failed || !analyze_set_order(model, packing->wanted, &clocks);
    packing->clocks = clocks;
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
    for (size_t i = 0; i < packing.beginnings.least.count; i++)
        free(packing.beginnings.least.items[i]);
    base_array_fini(&packing.beginnings.least);
    base_map_fini(&packing.beginnings.streams);
    base_array_fini(&packing.blocks);
    free(packing.beginnings.calls);
    free(packing.wanted);
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
            analyze_is_gain(levels->achievable - height, peak)) {
            levels->swapped = height;
            levels->swaps = swaps.rows.count;
            levels->copied_bytes = swaps.copied_bytes;
            levels->copy_ns = swaps.copy_ns;
        }
    }
    base_array_fini(&swaps.rows);
    return good;
}
