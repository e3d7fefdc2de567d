// SPDX-License-Identifier: Apache-2.0
// Finds objects that caches could serve better: see misses.h. Only loads from device memory count
// as savings. Data that is used once must be loaded once, whatever caches do; so at most those
// loads are saved that are neither the first of a sector in a launch nor hits.
#include "misses.h"

enum {
    MOST_ERROR_POINTS = 10, // by sampling: less exact rates are unknown
    MOST_LOST_PERCENT = 1,  // of a kernel's records
    // Warps take at least so many percent of the sectors that they need where the layout is to
    // blame, as for poor-coalescing.
    LAYOUT_PERCENT = 150,
    REQUESTS_PERCENT = 10, // by which requests and modelled accesses may differ
    // Another order is only suggested for data that is used again at a regular distance: of all
    // uses at an eighth of that distance or more, so many percent are at about this distance.
    // Accesses at random places have 50.
    PEAK_PERCENT = 60,
    PEAK_PLACES = 3, // an eighth
};

// What an instruction does with the objects of a name.
struct part {
    uint32_t miss;          // index
    uint64_t missed, read;  // sectors that L2 did not have, and that memory delivered for them
    uint64_t taken, needed; // by its requests; 0: unknown
};

struct missing {
    struct analyze_run *run;
    BASE_ARRAY(struct analyze_miss) misses; // of one kernel, those with most sectors first
    struct base_map index;                  // key of an object to index + 1
    BASE_ARRAY(struct part) parts;
    struct base_map part_index; // index of a miss and number of a site to index + 1
};

// --- Objects -------------------------------------------------------------------------------------

static void add_distances(struct analyze_miss *miss, const struct analyze_cache_object *object)
{
    for (unsigned level = 0; level < 2; level++) {
        const struct analyze_cache_distances *from = &object->levels[level];
        struct analyze_cache_distances *to = &miss->levels[level];
        miss->has_distances[level] &= object->has_distances[level];
        to->first += from->first;
        for (unsigned i = 0; i < PROFILE_CACHE_DISTANCES; i++)
            to->sectors[i] += from->sectors[i];
    }
}

static struct analyze_miss begin_miss(const struct analyze_model *model,
                                      const struct analyze_cache_kernel *kernel,
                                      const struct analyze_cache_object *object, uint32_t index,
                                      uint64_t key)
{
    const struct analyze_cache_place *most = &model->caches.places.items[object->first_place];
    return (struct analyze_miss){.kernel = kernel,
                                 .object = index,
                                 .call = object->call,
                                 .place = object->place_count
                                              ? analyze_find_site(model, kernel->kernel, most->site)
                                              : ANALYZE_NONE,
                                 .has_distances = {true, true},
                                 .key = key};
}

static uint64_t key_of_part(uint64_t miss, uint32_t site)
{
    return miss << 32 | site;
}

// Adds what an instruction does with an object. Returns false when memory ran out.
static bool add_place(struct missing *missing, uint32_t miss,
                      const struct analyze_cache_place *place)
{
    uint64_t *slot = base_map_put(&missing->part_index, key_of_part(miss, place->site), NULL);
    if (slot && *slot == 0) {
        struct part *made = base_array_push(&missing->parts);
        if (made)
            *made = (struct part){.miss = miss};
        *slot = made ? missing->parts.count : 0;
    }
    if (!slot || *slot == 0)
        return false;
    const struct profile_cache_hits l2 = analyze_cache_all(place->sum.l2);
    missing->parts.items[*slot - 1].missed += l2.sectors - l2.hits;
    missing->parts.items[*slot - 1].read += place->sum.read;
    return true;
}

// Adds an object to those of its name. Returns false when memory ran out.
static bool add_object(struct missing *missing, const struct analyze_cache_kernel *kernel,
                       const struct analyze_cache_object *object)
{
    const struct analyze_model *model = missing->run->model;
    const uint32_t index =
        object->object ? analyze_find_object(model, object->object) : ANALYZE_NONE;
    if (index == ANALYZE_NONE || model->objects.items[index].is_host)
        return true;
    const uint64_t key = analyze_key_of_object(missing->run, &model->objects.items[index]);
    uint64_t *slot = base_map_put(&missing->index, key, NULL);
    if (slot && *slot == 0) {
        struct analyze_miss *made = base_array_push(&missing->misses);
        if (made)
            *made = begin_miss(model, kernel, object, index, key);
        *slot = made ? missing->misses.count : 0;
    }
    if (!slot || *slot == 0)
        return false;
    struct analyze_miss *miss = &missing->misses.items[*slot - 1];
    analyze_cache_add_sum(&miss->sum, &object->sum);
    add_distances(miss, object);
    const struct analyze_cache_place *places = &model->caches.places.items[object->first_place];
    for (size_t i = 0; i < object->place_count; i++) {
        if (!add_place(missing, (uint32_t)*slot - 1, &places[i]))
            return false;
    }
    return true;
}

// Adds up what the requests of modelled launches of the kernel took.
static void add_requests(struct missing *missing, const struct analyze_cache_kernel *kernel)
{
    const struct analyze_model *model = missing->run->model;
    for (size_t i = 0; i < model->requests.count; i++) {
        const struct analyze_requests *row = &model->requests.items[i];
        const struct analyze_call *call = &model->calls.items[row->call];
        const uint32_t node = call->kind == PROFILE_CALL_GRAPH_LAUNCH ? row->node + 1 : 0;
        if (row->shared || row->kernel != kernel->kernel || row->object == ANALYZE_NONE ||
            !analyze_find_cache_launch(&model->caches, call->number, node))
            continue;
        const uint64_t *slot =
            base_map_get(&missing->index,
                         analyze_key_of_object(missing->run, &model->objects.items[row->object]));
        if (!slot)
            continue;
        missing->misses.items[*slot - 1].taken += row->taken;
        missing->misses.items[*slot - 1].needed += row->needed;
        const uint64_t *part =
            base_map_get(&missing->part_index, key_of_part(*slot - 1, row->site));
        if (!part)
            continue;
        missing->parts.items[*part - 1].taken += row->taken;
        missing->parts.items[*part - 1].needed += row->needed;
    }
}

// --- Remedies ------------------------------------------------------------------------------------

static uint64_t least_of(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

// Returns how many sectors memory delivers that were in use in the launch before.
static uint64_t avoidable(const struct analyze_miss *miss)
{
    const struct analyze_cache_distances *l2 = &miss->levels[1];
    const uint64_t again = miss->sum.read - least_of(miss->sum.read, l2->first);
    return least_of(again, analyze_cache_reused(l2));
}

// Returns how many sectors memory delivers with another layout: of those that the requests of an
// instruction take and L2 does not have, as many as these requests need, but each of those that are
// in use at least once. What caches have now they have then, because the same data has fewer lines.
static uint64_t delivered_by_layout(const struct missing *missing, size_t miss)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < missing->parts.count; i++) {
        const struct part *part = &missing->parts.items[i];
        if (part->miss != miss)
            continue;
        const uint64_t least =
            part->taken ? (uint64_t)((unsigned __int128)part->missed * part->needed / part->taken)
                        : part->read;
        sum += least_of(part->read, least);
    }
    const uint64_t first = missing->misses.items[miss].levels[1].first;
    return sum > first ? sum : first;
}

static uint64_t saved_by_layout(const struct missing *missing, size_t index)
{
    const struct analyze_miss *miss = &missing->misses.items[index];
    const uint64_t asked = analyze_cache_all(miss->sum.l1).sectors;
    const uint64_t differ = asked > miss->taken ? asked - miss->taken : miss->taken - asked;
    const bool is_known = miss->taken && differ * 100 <= asked * REQUESTS_PERCENT;
    if (!is_known || miss->taken * 100 <= miss->needed * LAYOUT_PERCENT)
        return 0;
    return miss->sum.read - least_of(miss->sum.read, delivered_by_layout(missing, index));
}

static uint64_t gained(const struct analyze_cache_distances *distances, uint64_t bytes)
{
    const uint64_t lines = bytes / PROFILE_CACHE_LINE_BYTES;
    return analyze_cache_hits(distances, 2 * lines) - analyze_cache_hits(distances, lines);
}

// What L1 serves in addition saves as much as L2 now needs of memory for it.
static uint64_t saved_by_size(const struct analyze_miss *miss, bool *in_l1)
{
    const uint64_t asked = analyze_cache_all(miss->sum.l2).sectors;
    const uint64_t read = least_of(miss->sum.read, asked);
    const uint64_t by_l2 = gained(&miss->levels[1], miss->kernel->l2_bytes);
    const uint64_t more =
        miss->has_distances[0] ? gained(&miss->levels[0], miss->kernel->l1_bytes) : 0;
    const uint64_t by_l1 = asked ? (uint64_t)((unsigned __int128)more * read / asked) : 0;
    *in_l1 = by_l1 > by_l2;
    return least_of(*in_l1 ? by_l1 : by_l2, avoidable(miss));
}

// Returns whether most uses beyond L2 are at about the same distance.
static bool is_regular(const struct analyze_cache_distances *distances, uint64_t lines)
{
    unsigned first = 1, peak = 0;
    uint64_t most = 0, around = 0;
    while (first + 1 < PROFILE_CACHE_DISTANCES && lines >> first)
        first++;
    for (unsigned i = first; i + 1 < PROFILE_CACHE_DISTANCES; i++) {
        const uint64_t here = distances->sectors[i] + distances->sectors[i + 1];
        if (here > most) {
            most = here;
            peak = i;
        }
    }
    for (unsigned i = peak > PEAK_PLACES ? peak - PEAK_PLACES : 0; i < PROFILE_CACHE_DISTANCES; i++)
        around += distances->sectors[i];
    return most && most * 100 >= around * PEAK_PERCENT;
}

static uint64_t saved_by_order(const struct analyze_miss *miss)
{
    const struct analyze_cache_distances *l2 = &miss->levels[1];
    const uint64_t lines = miss->kernel->l2_bytes / PROFILE_CACHE_LINE_BYTES;
    const uint64_t far = analyze_cache_reused(l2) - analyze_cache_hits(l2, lines);
    return is_regular(l2, lines) ? least_of(far, avoidable(miss)) : 0;
}

// A remedy is one that avoids at least half of what can be avoided.
static void choose(struct missing *missing, size_t index, uint32_t saved_percent)
{
    struct analyze_miss *miss = &missing->misses.items[index];
    const uint64_t half = (avoidable(miss) + 1) / 2;
    const uint64_t part = analyze_cache_dram(&miss->sum) * saved_percent / 100;
    const uint64_t least = half > part ? half : part;
    bool in_l1;
    const uint64_t layout = saved_by_layout(missing, index), size = saved_by_size(miss, &in_l1),
                   order = saved_by_order(miss);
    if (layout && layout >= least) {
        miss->remedy = ANALYZE_MISS_LAYOUT;
        miss->saved = layout;
    } else if (size && size >= least) {
        miss->remedy = ANALYZE_MISS_SIZE;
        miss->saved = size;
        miss->in_l1 = in_l1;
    } else if (order && order >= least) {
        miss->remedy = ANALYZE_MISS_ORDER;
        miss->saved = order;
    }
}

static bool is_known(const struct analyze_miss *miss)
{
    return miss->has_distances[1] && miss->sum.l1_error >= 0 && miss->sum.l2_error >= 0 &&
           miss->sum.l1_error <= MOST_ERROR_POINTS && miss->sum.l2_error <= MOST_ERROR_POINTS;
}

// Returns whether sectors of the object are used more than once.
static bool is_used_again(const struct analyze_miss *miss)
{
    return analyze_cache_all(miss->sum.l1).sectors > miss->levels[1].first && avoidable(miss);
}

static void walk_kernel(struct missing *missing, const struct analyze_cache_kernel *kernel,
                        uint32_t least_percent, uint32_t saved_percent, analyze_take_miss *take)
{
    struct analyze_run *run = missing->run;
    const struct analyze_caches *caches = &run->model->caches;
    const uint64_t all = analyze_cache_dram(&kernel->sum);
    missing->misses.count = missing->parts.count = 0;
    base_map_fini(&missing->index);
    base_map_fini(&missing->part_index);
    for (size_t i = 0; i < kernel->object_count && !run->failed; i++)
        run->failed |=
            !add_object(missing, kernel, &caches->objects.items[kernel->first_object + i]);
    if (!run->failed)
        add_requests(missing, kernel);
    for (size_t i = 0; i < missing->misses.count && !run->failed; i++) {
        struct analyze_miss *miss = &missing->misses.items[i];
        const uint64_t own = analyze_cache_dram(&miss->sum);
        if (!own || own * 100 < all * least_percent || !is_known(miss) || !is_used_again(miss))
            continue;
        choose(missing, i, saved_percent);
        if (miss->remedy != ANALYZE_MISS_NONE)
            take(run, miss);
    }
}

void analyze_walk_misses(struct analyze_run *run, uint32_t least_percent, uint32_t saved_percent,
                         analyze_take_miss *take)
{
    struct missing missing = {.run = run};
    const struct analyze_caches *caches = &run->model->caches;
    for (size_t i = 0; i < caches->kernels.count && !run->failed; i++) {
        const struct analyze_cache_kernel *kernel = &caches->kernels.items[i];
        if (kernel->lost * 100 <= kernel->records * MOST_LOST_PERCENT)
            walk_kernel(&missing, kernel, least_percent, saved_percent, take);
    }
    base_array_fini(&missing.misses);
    base_map_fini(&missing.index);
    base_array_fini(&missing.parts);
    base_map_fini(&missing.part_index);
}
