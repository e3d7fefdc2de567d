// SPDX-License-Identifier: Apache-2.0
// non-uniform-access (definition 3.9): a launch touches some elements of an object much more often
// than others: the coefficient of variation of the counts is above a threshold. The hottest ranges
// are candidates for shared memory. Launches of one kernel on one object are one finding, with the
// numbers of the most uneven.
#include "analyses.h"

static bool is_of_device(const struct analyze_object *object)
{
    return !object->is_host && object->kind != PROFILE_OBJECT_IMPORTED &&
           object->kind != PROFILE_OBJECT_OTHER;
}

void analyze_non_uniform_access(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    struct base_map found = {0}; // key of object and kernel to index + 1 of the finding
    for (size_t i = 0; i < model->counted.count && !run->failed; i++) {
        const struct analyze_counted *row = &model->counted.items[i];
        const struct analyze_object *object = &model->objects.items[row->object];
        if (row->variation * 100 <= run->thresholds->variation_percent || !is_of_device(object))
            continue;
        uint64_t key = analyze_uneven_key(row->object, row->kernel);
        const uint64_t *most = base_map_get(&model->most_uneven, key);
        uint64_t *slot = base_map_put(&found, key, NULL);
        run->failed |= !slot;
        if (!slot)
            break;
        struct analyze_finding *finding;
        if (*slot) {
            finding = &run->findings.items[*slot - 1];
            finding->times++;
        } else {
            finding = analyze_add_finding(run, ANALYZE_NON_UNIFORM_ACCESS, row->object, row->call,
                                          object->call);
            if (!finding)
                break;
            *slot = run->findings.count;
            finding->kernel = row->kernel;
        }
        if (row->variation > finding->variation) {
            const struct analyze_call *call = &model->calls.items[row->call];
            finding->variation = row->variation;
            finding->call = call->number;
            finding->path = call->path;
            finding->counts = most ? model->counts.items[*most - 1] : NULL;
        }
    }
    base_map_fini(&found);
}
