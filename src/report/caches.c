// SPDX-License-Identifier: Apache-2.0
// Makes rows of reports of what the model of the caches found: see caches.h.
#include "caches.h"

#include <stdlib.h>
#include <string.h>

// --- Objects -------------------------------------------------------------------------------------

// Equal names have equal pointers, because a profile holds each text once.
static uint64_t key_of(const struct report_object *object)
{
    const bool is_named = object && object->name && object->name[0];
    const uint64_t key[] = {object != NULL, is_named ? (uint64_t)(uintptr_t)object->name : 0,
                            object ? object->path : 0, object ? object->kind : 0,
                            object && !is_named && !object->path ? object->number : 0};
    return base_hash(key, sizeof(key));
}

static void add_to_row(struct report_cache_row *row, const struct analyze_cache_object *object)
{
    row->objects++;
    analyze_cache_add_sum(&row->sum, &object->sum);
    for (unsigned level = 0; level < 2; level++) {
        const struct analyze_cache_distances *from = &object->levels[level];
        row->has_distances[level] |= object->has_distances[level];
        row->levels[level].first += from->first;
        for (unsigned i = 0; i < PROFILE_CACHE_DISTANCES; i++)
            row->levels[level].sectors[i] += from->sectors[i];
    }
}

static int by_traffic(const void *one, const void *other)
{
    const struct report_cache_row *a = one, *b = other;
    const uint64_t x = analyze_cache_dram(&a->sum), y = analyze_cache_dram(&b->sum);
    if (x != y)
        return x > y ? -1 : 1;
    const uint64_t i = a->first ? a->first->number : 0, k = b->first ? b->first->number : 0;
    return i < k ? -1 : i > k;
}

bool report_cache_rows(const struct report_data *data, const struct analyze_cache_kernel *kernel,
                       struct report_cache_rows *rows)
{
    const struct analyze_caches *caches = analyze_caches(data->analysis);
    struct base_map known = {0}; // key to index + 1
    bool good = true;
    for (size_t i = 0; i < kernel->object_count && good; i++) {
        const struct analyze_cache_object *object =
            &caches->objects.items[kernel->first_object + i];
        const struct report_object *first = report_find_object(data, object->object);
        uint64_t *slot = base_map_put(&known, key_of(first), NULL);
        if (slot && *slot == 0) {
            struct report_cache_row *made = base_array_push(&rows->list);
            if (made)
                made->first = first;
            *slot = made ? rows->list.count : 0;
        }
        good = slot && *slot;
        if (good)
            add_to_row(&rows->list.items[*slot - 1], object);
    }
    base_map_fini(&known);
    if (rows->list.items)
        qsort(rows->list.items, rows->list.count, sizeof(rows->list.items[0]), by_traffic);
    return good;
}

struct profile_cache_hits report_cache_writes(const struct profile_cache_hits *kinds)
{
    const struct profile_cache_hits *store = &kinds[PROFILE_SITE_STORE];
    const struct profile_cache_hits *atomic = &kinds[PROFILE_SITE_ATOMIC];
    return (struct profile_cache_hits){store->sectors + atomic->sectors,
                                       store->hits + atomic->hits};
}

// --- Kernels -------------------------------------------------------------------------------------

struct weighing {
    const struct report_data *data;
    bool by_time;
};

static const struct report_kernel *row_of(const struct report_data *data, uint32_t kernel)
{
    const uint64_t *index = base_map_get(&data->kernels, kernel);
    return index && *index ? &data->kernel_rows.items[*index - 1] : NULL;
}

static uint64_t weight_of(const struct weighing *weighing,
                          const struct analyze_cache_kernel *kernel)
{
    const struct report_kernel *row = row_of(weighing->data, kernel->kernel);
    if (!weighing->by_time)
        return analyze_cache_dram(&kernel->sum);
    return row ? row->sum.total_ns : 0;
}

static int by_weight(const void *one, const void *other, void *weighing)
{
    const struct analyze_cache_kernel *a = *(const struct analyze_cache_kernel *const *)one;
    const struct analyze_cache_kernel *b = *(const struct analyze_cache_kernel *const *)other;
    const uint64_t x = weight_of(weighing, a), y = weight_of(weighing, b);
    if (x != y)
        return x > y ? -1 : 1;
    return a->kernel < b->kernel ? -1 : a->kernel > b->kernel;
}

bool report_cache_kernels(const struct report_data *data, const char *name,
                          struct report_cache_kernels *kernels)
{
    const struct analyze_caches *caches = analyze_caches(data->analysis);
    struct weighing weighing = {.data = data};
    uint64_t all = 0;
    for (size_t i = 0; i < data->kernel_rows.count; i++)
        all += data->kernel_rows.items[i].sum.total_ns;
    weighing.by_time = all && !analyze_is_simulated(data->analysis);
    for (size_t i = 0; i < caches->kernels.count && !weighing.by_time; i++)
        all = (i ? all : 0) + analyze_cache_dram(&caches->kernels.items[i].sum);
    for (size_t i = 0; i < caches->kernels.count; i++) {
        const struct analyze_cache_kernel *kernel = &caches->kernels.items[i];
        const struct report_kernel *row = row_of(data, kernel->kernel);
        const bool is_wanted = name ? row && row->name && strstr(row->name, name)
                                    : weight_of(&weighing, kernel) * 100 >= all;
        if (!is_wanted) {
            kernels->left_out += !name;
            continue;
        }
        const struct analyze_cache_kernel **made = base_array_push(&kernels->list);
        if (!made)
            return false;
        *made = kernel;
    }
    if (kernels->list.items)
        qsort_r(kernels->list.items, kernels->list.count, sizeof(kernels->list.items[0]), by_weight,
                &weighing);
    return true;
}
