// SPDX-License-Identifier: Apache-2.0
// Finds the synchronizations that check for errors. A kernel that fails makes every later call
// fail, so the first result that the program looks at after a launch is the one by which it learns
// of the failure.
#include <stdlib.h>

#include "sync.h"

static bool launches(const struct analyze_call *call)
{
    return call->flags & ANALYZE_WORKS &&
           (call->kind == PROFILE_CALL_LAUNCH || call->kind == PROFILE_CALL_GRAPH_LAUNCH);
}

bool analyze_find_checks(struct analyze_waits *waits)
{
    const struct analyze_model *model = waits->model;
    bool *pending = calloc(waits->context_count + 1, sizeof(*pending)); // by context: a launch is
    size_t next = 0;
    for (uint32_t i = 0; pending && i < model->calls.count; i++) {
        const struct analyze_call *call = &model->calls.items[i];
        struct analyze_wait *wait = next < waits->waits.count && waits->waits.items[next].call == i
                                        ? &waits->waits.items[next++]
                                        : NULL;
        const uint32_t context = wait             ? wait->context
                                 : launches(call) ? analyze_work_of(waits, i).context
                                                  : ANALYZE_NONE;
        if (context == ANALYZE_NONE)
            continue;
        if (!wait) {
            pending[context] = true;
            continue;
        }
        wait->checks = pending[context] && call->kind == PROFILE_CALL_SYNC &&
                       analyze_result_use(model, call->path) == PROFILE_RESULT_LOOKED_AT;
        // A wait for one stream leaves the others, whose launches may have failed.
        if (wait->checks && wait->stream == ANALYZE_NONE && !wait->is_event)
            pending[context] = false;
    }
    const bool good = pending != NULL;
    free(pending);
    return good;
}
