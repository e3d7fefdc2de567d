// SPDX-License-Identifier: Apache-2.0
// Sums what the model of the caches found: see caches.h. A profile has rows of each launch, of
// which only sums are kept.
#include "caches.h"

#include <stdlib.h>

// --- The sums that a row belongs to --------------------------------------------------------------

enum about { ABOUT_KERNEL, ABOUT_OBJECT, ABOUT_PLACE };

static uint64_t *slot_of(struct analyze_caches *caches, enum about about, uint32_t kernel,
                         uint64_t object, uint32_t site)
{
    const uint64_t key[] = {about, kernel, object, site};
    return base_map_put(&caches->index, base_hash(key, sizeof(key)), NULL);
}

// Each of these returns NULL when memory ran out.
static struct analyze_cache_kernel *kernel_of(struct analyze_caches *caches, uint32_t kernel)
{
    uint64_t *slot = slot_of(caches, ABOUT_KERNEL, kernel, 0, 0);
    if (slot && *slot == 0) {
        struct analyze_cache_kernel *made = base_array_push(&caches->kernels);
        if (made)
            made->kernel = kernel;
        *slot = made ? caches->kernels.count : 0;
    }
    return slot && *slot ? &caches->kernels.items[*slot - 1] : NULL;
}

static struct analyze_cache_object *object_of(struct analyze_caches *caches, uint32_t kernel,
                                              uint64_t object)
{
    uint64_t *slot = slot_of(caches, ABOUT_OBJECT, kernel, object, 0);
    if (slot && *slot == 0) {
        struct analyze_cache_object *made = base_array_push(&caches->objects);
        if (made) {
            made->kernel = kernel;
            made->object = object;
        }
        *slot = made ? caches->objects.count : 0;
    }
    return slot && *slot ? &caches->objects.items[*slot - 1] : NULL;
}

static struct analyze_cache_place *place_of(struct analyze_caches *caches, uint32_t kernel,
                                            uint64_t object, uint32_t site)
{
    uint64_t *slot = slot_of(caches, ABOUT_PLACE, kernel, object, site);
    if (slot && *slot == 0) {
        struct analyze_cache_place *made = base_array_push(&caches->places);
        if (made) {
            made->kernel = kernel;
            made->object = object;
            made->site = site;
        }
        *slot = made ? caches->places.count : 0;
    }
    return slot && *slot ? &caches->places.items[*slot - 1] : NULL;
}

const struct analyze_cache_launch *analyze_find_cache_launch(const struct analyze_caches *caches,
                                                             uint64_t call, uint32_t node)
{
    size_t low = 0, high = caches->launches.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct analyze_cache_launch *at = &caches->launches.items[middle];
        if (at->call < call || (at->call == call && at->node < node))
            low = middle + 1;
        else
            high = middle;
    }
    const struct analyze_cache_launch *found = &caches->launches.items[low];
    return low < caches->launches.count && found->call == call && found->node == node ? found
                                                                                      : NULL;
}

// --- Adding --------------------------------------------------------------------------------------

// Of a number of sampled lines, that of all lines.
static uint64_t scaled(const struct analyze_cache_launch *launch, uint64_t number)
{
    return (uint64_t)(((unsigned __int128)number * PROFILE_CACHE_ALL + launch->share / 2) /
                      launch->share);
}

static void add_hits(struct profile_cache_hits *to, const struct profile_cache_hits *from)
{
    for (unsigned kind = 0; kind < PROFILE_CACHE_KINDS; kind++) {
        to[kind].sectors += from[kind].sectors;
        to[kind].hits += from[kind].hits;
    }
}

// Returns the error of two parts together, of which the first has `before` sectors. A rate with an
// unknown error is off by 100 points at most: the error of few sectors, such as those of an
// instruction that runs once, does not make that of all others unknown.
static double join_errors(double one, uint64_t before, double other, uint64_t added)
{
    if (!added)
        return one;
    if (!before)
        return other;
    if (one < 0 && other < 0)
        return -1;
    const double first = one < 0 ? 100 : one, second = other < 0 ? 100 : other;
    return (first * (double)before + second * (double)added) / (double)(before + added);
}

void analyze_cache_add_sum(struct analyze_cache_sum *to, const struct analyze_cache_sum *from)
{
    to->l1_error = join_errors(to->l1_error, analyze_cache_all(to->l1).sectors, from->l1_error,
                               analyze_cache_all(from->l1).sectors);
    to->l2_error = join_errors(to->l2_error, analyze_cache_all(to->l2).sectors, from->l2_error,
                               analyze_cache_all(from->l2).sectors);
    add_hits(to->l1, from->l1);
    add_hits(to->l2, from->l2);
    to->read += from->read;
    to->written += from->written;
}

static struct analyze_cache_sum sum_of(const struct analyze_cache_launch *launch,
                                       const struct profile_cache *row)
{
    struct analyze_cache_sum sum = {.read = scaled(launch, row->read),
                                    .written = scaled(launch, row->written),
                                    .l1_error = row->l1_error < 0 ? -1 : row->l1_error / 100.0,
                                    .l2_error = row->l2_error < 0 ? -1 : row->l2_error / 100.0};
    for (unsigned kind = 0; kind < PROFILE_CACHE_KINDS; kind++) {
        sum.l1[kind].sectors = scaled(launch, row->l1[kind].sectors);
        sum.l1[kind].hits = scaled(launch, row->l1[kind].hits);
        sum.l2[kind].sectors = scaled(launch, row->l2[kind].sectors);
        sum.l2[kind].hits = scaled(launch, row->l2[kind].hits);
    }
    return sum;
}

bool analyze_caches_add_launch(struct analyze_caches *caches,
                               const struct profile_cache_launch *row, uint64_t gpu_ns)
{
    if (!row->share) // not valid
        return true;
    struct analyze_cache_kernel *kernel = kernel_of(caches, row->kernel);
    struct analyze_cache_launch *launch = kernel ? base_array_push(&caches->launches) : NULL;
    if (!launch)
        return false;
    *launch = (struct analyze_cache_launch){.call = row->call,
                                            .node = row->node,
                                            .kernel = row->kernel,
                                            .share = row->share,
                                            .is_timed = gpu_ns != 0};
    if (!kernel->launches || row->records > kernel->most_records) {
        kernel->most_records = row->records;
        kernel->preset = row->preset;
        kernel->share = row->share;
        kernel->l1_bytes = row->l1_bytes;
        kernel->l2_bytes = row->l2_bytes;
        kernel->shared_bytes = row->shared_bytes;
    }
    kernel->launches++;
    kernel->records += row->records;
    kernel->lost += row->lost;
    kernel->gpu_ns += gpu_ns;
    return true;
}

// Notes in which launch the object needs most of device memory. Rows of a launch follow one
// another.
static void note_launch(struct analyze_cache_object *object, const struct profile_cache *row,
                        uint64_t sectors)
{
    if (object->last_call != row->call || object->last_node != row->node)
        object->here = 0;
    object->last_call = row->call;
    object->last_node = row->node;
    object->here += sectors;
    if (!object->call || object->here > object->most) {
        object->most = object->here;
        object->call = row->call;
    }
}

bool analyze_caches_add(struct analyze_caches *caches, const struct profile_cache *row)
{
    const struct analyze_cache_launch *launch =
        analyze_find_cache_launch(caches, row->call, row->node);
    if (!launch)
        return true;
    const struct analyze_cache_sum sum = sum_of(launch, row);
    struct analyze_cache_kernel *kernel = kernel_of(caches, launch->kernel);
    struct analyze_cache_object *object = object_of(caches, launch->kernel, row->object);
    struct analyze_cache_place *place = place_of(caches, launch->kernel, row->object, row->site);
    if (!kernel || !object || !place)
        return false;
    analyze_cache_add_sum(&kernel->sum, &sum);
    analyze_cache_add_sum(&object->sum, &sum);
    analyze_cache_add_sum(&place->sum, &sum);
    if (launch->is_timed)
        kernel->timed += analyze_cache_dram(&sum);
    note_launch(object, row, analyze_cache_dram(&sum));
    return true;
}

static void add_distances(struct analyze_cache_distances *to, bool *has,
                          const struct analyze_cache_launch *launch,
                          const struct profile_cache_reuse *row)
{
    *has = true;
    to->first += scaled(launch, row->first);
    for (unsigned i = 0; i < PROFILE_CACHE_DISTANCES; i++)
        to->sectors[i] += scaled(launch, row->sectors[i]);
}

bool analyze_caches_add_reuse(struct analyze_caches *caches, const struct profile_cache_reuse *row)
{
    const struct analyze_cache_launch *launch =
        analyze_find_cache_launch(caches, row->call, row->node);
    if (!launch || row->level < 1 || row->level > 2)
        return true;
    const unsigned level = row->level - 1;
    struct analyze_cache_kernel *kernel = kernel_of(caches, launch->kernel);
    struct analyze_cache_object *object = object_of(caches, launch->kernel, row->object);
    if (!kernel || !object)
        return false;
    add_distances(&kernel->levels[level], &kernel->has_distances[level], launch, row);
    add_distances(&object->levels[level], &object->has_distances[level], launch, row);
    return true;
}

// --- Order ---------------------------------------------------------------------------------------

static int compare(uint64_t one, uint64_t other)
{
    return one < other ? -1 : one > other;
}

static int by_number(const void *one, const void *other)
{
    return compare(((const struct analyze_cache_kernel *)one)->kernel,
                   ((const struct analyze_cache_kernel *)other)->kernel);
}

// Most sectors of device memory first, then most sectors in all.
static int by_sectors(const struct analyze_cache_sum *one, const struct analyze_cache_sum *other)
{
    const int dram = compare(analyze_cache_dram(other), analyze_cache_dram(one));
    return dram ? dram
                : compare(analyze_cache_all(other->l1).sectors, analyze_cache_all(one->l1).sectors);
}

static int by_object(const void *one, const void *other)
{
    const struct analyze_cache_object *a = one, *b = other;
    const int kernel = compare(a->kernel, b->kernel);
    return kernel ? kernel : compare(a->object, b->object);
}

static int by_worth(const void *one, const void *other)
{
    const struct analyze_cache_object *a = one, *b = other;
    const int kernel = compare(a->kernel, b->kernel);
    const int sectors = kernel ? kernel : by_sectors(&a->sum, &b->sum);
    return sectors ? sectors : by_object(one, other);
}

static int by_place(const void *one, const void *other)
{
    const struct analyze_cache_place *a = one, *b = other;
    const int kernel = compare(a->kernel, b->kernel);
    const int object = kernel ? kernel : compare(a->object, b->object);
    const int sectors = object ? object : by_sectors(&a->sum, &b->sum);
    return sectors ? sectors : compare(a->site, b->site);
}

#define SORT(array, order)                                                        \
    do {                                                                          \
        if ((array).count)                                                        \
            qsort((array).items, (array).count, sizeof((array).items[0]), order); \
    } while (0)

void analyze_caches_end(struct analyze_caches *caches)
{
    SORT(caches->kernels, by_number);
    SORT(caches->objects, by_object);
    SORT(caches->places, by_place);
    size_t at = 0;
    for (size_t i = 0; i < caches->objects.count; i++) {
        struct analyze_cache_object *object = &caches->objects.items[i];
        const struct analyze_cache_place *places = caches->places.items;
        object->first_place = at;
        while (at < caches->places.count && places[at].kernel == object->kernel &&
               places[at].object == object->object)
            at++;
        object->place_count = at - object->first_place;
    }
    SORT(caches->objects, by_worth);
    at = 0;
    for (size_t i = 0; i < caches->kernels.count; i++) {
        struct analyze_cache_kernel *kernel = &caches->kernels.items[i];
        kernel->first_object = at;
        while (at < caches->objects.count && caches->objects.items[at].kernel == kernel->kernel)
            at++;
        kernel->object_count = at - kernel->first_object;
    }
    base_map_fini(&caches->index);
}

void analyze_caches_fini(struct analyze_caches *caches)
{
    base_array_fini(&caches->kernels);
    base_array_fini(&caches->objects);
    base_array_fini(&caches->places);
    base_array_fini(&caches->launches);
    base_map_fini(&caches->index);
}

// --- Reading -------------------------------------------------------------------------------------

const struct analyze_cache_kernel *analyze_find_cache_kernel(const struct analyze_caches *caches,
                                                             uint32_t kernel)
{
    const struct analyze_cache_kernel key = {.kernel = kernel};
    return caches->kernels.count
               ? bsearch(&key, caches->kernels.items, caches->kernels.count, sizeof(key), by_number)
               : NULL;
}

struct profile_cache_hits analyze_cache_all(const struct profile_cache_hits *kinds)
{
    struct profile_cache_hits all = {0};
    for (unsigned kind = 0; kind < PROFILE_CACHE_KINDS; kind++) {
        all.sectors += kinds[kind].sectors;
        all.hits += kinds[kind].hits;
    }
    return all;
}

double analyze_cache_rate(struct profile_cache_hits hits)
{
    return hits.sectors ? (double)hits.hits / (double)hits.sectors : -1;
}

uint64_t analyze_cache_dram(const struct analyze_cache_sum *sum)
{
    return sum->read + sum->written;
}

uint64_t analyze_cache_reused(const struct analyze_cache_distances *distances)
{
    uint64_t reused = 0;
    for (unsigned i = 0; i < PROFILE_CACHE_DISTANCES; i++)
        reused += distances->sectors[i];
    return reused;
}

uint64_t analyze_cache_hits(const struct analyze_cache_distances *distances, uint64_t lines)
{
    uint64_t hits = lines ? distances->sectors[0] : 0;
    for (unsigned i = 1; i < PROFILE_CACHE_DISTANCES; i++) {
        const uint64_t least = (uint64_t)1 << (i - 1); // of the distances, and how many there are
        if (lines <= least)
            break;
        const uint64_t caught = lines - least < least ? lines - least : least;
        hits += (uint64_t)((unsigned __int128)distances->sectors[i] * caught / least);
    }
    return hits;
}
