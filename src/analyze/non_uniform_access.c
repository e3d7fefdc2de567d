// SPDX-License-Identifier: Apache-2.0
// non-uniform-access (definition 3.9): a launch touches some elements of an object much more often
// than others: the coefficient of variation of the counts is above a threshold. The hottest ranges
// are candidates for shared memory. Launches of one kernel on one object are one finding, with the
// numbers of the most uneven.
#include <assert.h>

#include "analyses.h"

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
    finding.variation = uneven->variation;
    finding.counts = most ? model->counts.items[*most - 1] : NULL;
    analyze_add_finding(run, &finding);
}

void analyze_non_uniform_access(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    BASE_ARRAY(struct uneven) rows = {0};
    struct base_map found = {0}; // key of object and kernel to index + 1 in rows
    for (size_t i = 0; i < model->counted.count && !run->failed; i++) {
        const struct analyze_counted *row = &model->counted.items[i];
        if (model->calls.items[row->call].flags & ANALYZE_UNSEEN || // it touched more than is told
            row->variation * 100 <= run->thresholds->variation_percent ||
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
