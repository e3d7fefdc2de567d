// SPDX-License-Identifier: Apache-2.0
// Calls that had not returned when the program ended. Their records are written when they return,
// so only their numbers are known: numbers are given when calls begin. The model has a call for
// each that may have used all memory and all streams, so that nothing is concluded which could
// depend on it.
#include "model.h"

// A program has at most one such call per thread. In a profile with more gaps, records are missing
// for another reason.
enum { MOST_UNFINISHED = 4096 };

bool analyze_add_unfinished(struct analyze_model *model, uint64_t number)
{
    const struct analyze_call *last =
        model->calls.count ? &model->calls.items[model->calls.count - 1] : NULL;
    for (uint64_t next = last ? last->number + 1 : 1; next < number && !model->dropped; next++) {
        struct analyze_time time = {0};
        if (model->host.times.count) // calls are numbered in the order in which they start
            time.start_ns = time.end_ns =
                model->host.times.items[model->host.times.count - 1].start_ns;
        if (model->unfinished == MOST_UNFINISHED) {
            model->dropped = true;
            break;
        }
        struct analyze_call *row = base_array_push(&model->calls);
        struct analyze_time *when = row ? base_array_push(&model->host.times) : NULL;
        if (!when)
            return false;
        *when = time;
        *row = (struct analyze_call){.number = next,
                                     .touches = (uint32_t)model->touches.count,
                                     .kind = PROFILE_CALL_OTHER,
                                     .flags = ANALYZE_WORKS | ANALYZE_LAUNCHES | ANALYZE_UNSEEN |
                                              ANALYZE_ACTS | ANALYZE_UNFINISHED};
        model->unfinished++;
    }
    return true;
}
