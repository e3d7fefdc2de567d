// SPDX-License-Identifier: Apache-2.0
// non-uniform-access: a launch accesses some elements of an object much more often than others: the
// coefficient of variation of the counts exceeds a threshold. The hottest ranges are candidates for
// shared memory. Launches of one kernel on one object are one finding, with the numbers of the most
// uneven launch.
#include <assert.h>

#include "analyze/analyses.h"

static const struct analyze_threshold variation_percent = {
    "variation-percent", "percent", 20, "the counts of accesses vary by more than this"};

struct hot_elements {
    double variation;                    // coefficient of variation
    const struct profile_counts *counts; // of the most uneven launch; NULL: none
    bool has_hottest;                    // the rest is known
    uint64_t first, last;                // elements of the hottest range
    uint64_t accesses, all_accesses;     // to that range, and to the object
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
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    {"variation", "coefficient of variation of how often the touched elements are touched",
     ANALYZE_OWN(REAL, struct hot_elements, variation)},
    {"histogram", "how many `elements` are touched at least `least` times, up to the next row",
     ANALYZE_OWN(HISTOGRAM, struct hot_elements, counts)},
    {"hottest", "the ranges touched most: `first` element, `elements`, and the `sum` of accesses",
     ANALYZE_OWN(RANGES, struct hot_elements, counts)},
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
    .definition = "A launch accesses some elements of an object far more often than others.",
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
        "{if brief}{kernel} accesses some elements of {object} far more often than others{else}"
        "{kernel} accesses some elements of {object} far more often than others: the "
        "coefficient of variation is {variation:whole}"
        "{end}",
    .suggestion = "{if brief}keep the hottest elements of {object:name} in shared memory{if "
                  "has_hottest}: {hot_first} to {hot_last}{end}{else}"
                  "keep the elements of {object:name} that {kernel} accesses most often in shared "
                  "memory{if has_hottest}: elements {hot_first} to {hot_last} receive "
                  "{hot_accesses/all_accesses} of its accesses{end}"
                  "{end}",
    .find = find,
};
