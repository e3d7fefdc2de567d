// SPDX-License-Identifier: Apache-2.0
// non-uniform-access: a launch accesses some elements of an object much more often than others: the
// coefficient of variation of the counts exceeds a threshold. The hottest ranges are candidates for
// shared memory. Launches of one kernel on one object are one finding, with the numbers of the most
// uneven launch.
//
// Launches of a kernel may also each access a slice of their own, for example a row. The slices are
// then compared over all launches: by how often each launch accesses its slice.
#include <assert.h>
#include <math.h>

#include "analyze/analyses.h"

static const struct analyze_threshold variation_percent = {
    "variation-percent", "percent", 20, "the counts of accesses vary by more than this"};

struct hot_elements {
    double variation;                    // coefficient of variation
    const struct profile_counts *counts; // of the most uneven launch; NULL: none
    bool has_hottest;                    // the rest is known
    uint64_t first, last;                // elements of the hottest range
    uint64_t accesses, all_accesses;     // to that range, and to the object
    bool by_slices;                      // slices of several launches differ
};

static bool is_of_device(const struct analyze_object *object)
{
    return !object->is_host && object->kind != PROFILE_OBJECT_IMPORTED &&
           object->kind != PROFILE_OBJECT_OTHER;
}

struct uneven {            // launches of one kernel on one object
    uint32_t object, call; // the most uneven
    uint32_t kernel;
    uint64_t times;
    double variation;
};

static void add(struct analyze_run *run, const struct uneven *uneven)
{
    const struct analyze_model *model = run->model;
    const uint64_t *most =
        base_map_get(&model->most_uneven, analyze_uneven_key(uneven->object, uneven->kernel));
    struct analyze_finding finding =
        analyze_begin_finding(run, ANALYZE_NON_UNIFORM_ACCESS, uneven->object, uneven->call,
                              model->objects.items[uneven->object].call);
    finding.kernel = uneven->kernel;
    finding.times = uneven->times;
    finding.gain_is_unknown = true;
    struct hot_elements hot = {.variation = uneven->variation,
                               .counts = most ? model->counts.items[*most - 1] : NULL};
    if (hot.counts && hot.counts->hottest[0].elements && hot.counts->sum) {
        const struct profile_hot_range *hottest = &hot.counts->hottest[0];
        hot.has_hottest = true;
        hot.first = hottest->first;
        hot.last = hottest->first + hottest->elements - 1;
        hot.accesses = hottest->sum;
        hot.all_accesses = hot.counts->sum;
    }
    analyze_set_payload(&finding, hot);
    analyze_add_finding(run, &finding);
}

// --- Slices --------------------------------------------------------------------------------------

enum { LEAST_SLICES = 4 }; // fewer say nothing about a distribution

struct slices {            // launches of one kernel on one object
    uint32_t object, call; // the launch that accesses its slice most often
    uint32_t kernel;
    uint64_t launches, most;
    double sum, squares; // of the accesses of each launch
    bool is_disjoint;    // each launch has a slice of its own
};

// Returns whether no earlier launch has touched what this one touches of the object.
static bool is_own(const struct analyze_model *model, const struct analyze_counted *row)
{
    const uint32_t end = analyze_touches_end(model, row->call);
    for (uint32_t i = model->calls.items[row->call].touches; i < end; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        if (touch->object == row->object && touch->is_kernel)
            return touch->elements != PROFILE_UNKNOWN && touch->elements == touch->new_elements;
    }
    return false;
}

static void add_slices(struct analyze_run *run, const struct slices *slices, uint32_t most_percent)
{
    const double count = (double)slices->launches, mean = slices->sum / count;
    const double variance = slices->squares / count - mean * mean;
    const double variation = mean > 0 && variance > 0 ? sqrt(variance) / mean : 0;
    if (!slices->is_disjoint || slices->launches < LEAST_SLICES || variation * 100 <= most_percent)
        return;
    struct analyze_finding finding =
        analyze_begin_finding(run, ANALYZE_NON_UNIFORM_ACCESS, slices->object, slices->call,
                              run->model->objects.items[slices->object].call);
    finding.kernel = slices->kernel;
    finding.times = slices->launches;
    finding.gain_is_unknown = true;
    finding.aspect = 1;
    const struct hot_elements hot = {.variation = variation, .by_slices = true};
    analyze_set_payload(&finding, hot);
    analyze_add_finding(run, &finding);
}

static void find_slices(struct analyze_run *run, uint32_t most_percent)
{
    const struct analyze_model *model = run->model;
    BASE_ARRAY(struct slices) rows = {0};
    struct base_map found = {0}; // key of object and kernel to index + 1 in rows
    for (size_t i = 0; i < model->counted.count && !run->failed; i++) {
        const struct analyze_counted *row = &model->counted.items[i];
        uint64_t *slot = base_map_put(&found, analyze_uneven_key(row->object, row->kernel), NULL);
        if (slot && *slot == 0) {
            struct slices *made = base_array_push(&rows);
            if (made)
                *made = (struct slices){.object = row->object,
                                        .kernel = row->kernel,
                                        .is_disjoint =
                                            is_of_device(&model->objects.items[row->object])};
            *slot = made ? rows.count : 0;
        }
        run->failed |= !slot || *slot == 0;
        if (run->failed)
            break;
        assert(rows.items); // since the map is not empty
        struct slices *slices = &rows.items[*slot - 1];
        slices->is_disjoint &=
            !(model->calls.items[row->call].flags & ANALYZE_UNSEEN) && is_own(model, row);
        slices->launches++;
        slices->sum += (double)row->sum;
        slices->squares += (double)row->sum * (double)row->sum;
        if (row->sum > slices->most) {
            slices->most = row->sum;
            slices->call = row->call;
        }
    }
    for (size_t i = 0; i < rows.count && !run->failed; i++)
        add_slices(run, &rows.items[i], most_percent);
    base_array_fini(&rows);
    base_map_fini(&found);
}

static void find(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    const uint32_t most_percent = analyze_limit(run->thresholds, &variation_percent);
    BASE_ARRAY(struct uneven) rows = {0};
    struct base_map found = {0}; // key of object and kernel to index + 1 in rows
    for (size_t i = 0; i < model->counted.count && !run->failed; i++) {
        const struct analyze_counted *row = &model->counted.items[i];
        if (model->calls.items[row->call].flags & ANALYZE_UNSEEN || // counts are incomplete
            row->variation * 100 <= most_percent ||
            !is_of_device(&model->objects.items[row->object]))
            continue;
        uint64_t *slot = base_map_put(&found, analyze_uneven_key(row->object, row->kernel), NULL);
        if (slot && *slot == 0) {
            struct uneven *made = base_array_push(&rows);
            if (made)
                *made = (struct uneven){row->object, row->call, row->kernel, 0, row->variation};
            *slot = made ? rows.count : 0;
        }
        run->failed |= !slot || *slot == 0;
        if (run->failed)
            break;
        assert(rows.items); // since the map is not empty
        struct uneven *uneven = &rows.items[*slot - 1];
        uneven->times++;
        if (row->variation > uneven->variation) {
            uneven->variation = row->variation;
            uneven->call = row->call;
        }
    }
    for (size_t i = 0; i < rows.count && !run->failed; i++)
        add(run, &rows.items[i]);
    base_array_fini(&rows);
    base_map_fini(&found);
    if (!run->failed)
        find_slices(run, most_percent);
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    {"variation",
     "coefficient of variation of how often the touched elements are touched, or the slices",
     ANALYZE_OWN(REAL, struct hot_elements, variation)},
    {"histogram", "how many `elements` are touched at least `least` times, up to the next row",
     ANALYZE_OWN(HISTOGRAM, struct hot_elements, counts)},
    {"hottest", "the ranges touched most: `first` element, `elements`, and the `sum` of accesses",
     ANALYZE_OWN(RANGES, struct hot_elements, counts)},
    {"by_slices", "each launch touches a slice of its own, and slices of all launches are compared",
     ANALYZE_OWN(FLAG, struct hot_elements, by_slices)},
    {"has_hottest", NULL, ANALYZE_OWN(FLAG, struct hot_elements, has_hottest)},
    {"hot_first", NULL, ANALYZE_OWN(COUNT, struct hot_elements, first)},
    {"hot_last", NULL, ANALYZE_OWN(COUNT, struct hot_elements, last)},
    {"hot_accesses", NULL, ANALYZE_OWN(COUNT, struct hot_elements, accesses)},
    {"all_accesses", NULL, ANALYZE_OWN(COUNT, struct hot_elements, all_accesses)},
    {0},
};

const struct analyze_description analyze_non_uniform_access = {
    .name = "non-uniform-access",
    .title = "Some elements are accessed far more often than others",
    .definition = "A launch accesses some elements of an object far more often than others, or "
                  "launches that each access a slice of their own access some slices far more "
                  "often than others.",
    .remedy = "Keep the most accessed elements in shared memory.",
    .paper = "DrGPUM, definition 3.9",
    .needs = ANALYZE_INPUT_COUNTS,
    .survives_losses = true,
    .is_about_kernel = true,
    .roles = {[ANALYZE_CALL] = {"launched", "the launch"},
              [ANALYZE_OTHER_CALL] = {"allocated", "the allocation"}},
    .thresholds = {&variation_percent},
    .fields = fields,
    .message =
        "{if brief}{kernel} accesses some {if by_slices}slices{else}elements{end} of {object} far "
        "more often than others{else}"
        "{kernel} accesses some {if by_slices}slices{else}elements{end} of {object} far more "
        "often than others: the coefficient of variation is {variation:whole}{if "
        "by_slices} over all launches{end}"
        "{end}",
    .suggestion = "{if brief}keep the hottest {if by_slices}slices{else}elements{end} of "
                  "{object:name} in shared memory{if has_hottest}: {hot_first} to {hot_last}{end}"
                  "{else}"
                  "keep the {if by_slices}slices{else}elements{end} of {object:name} that {kernel} "
                  "accesses most often in shared "
                  "memory{if has_hottest}: elements {hot_first} to {hot_last} receive "
                  "{hot_accesses/all_accesses} of its accesses{end}"
                  "{end}",
    .find = find,
};
