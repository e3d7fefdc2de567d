// SPDX-License-Identifier: Apache-2.0
// Finds until when an object's memory is needed. With several streams, calls do not run in the
// order of their numbers, so it is needed until every object whose use starts later surely starts
// after its last use. The clock of a stream, taken as the minimum over all later starts, never
// decreases, so the end is found by binary search.
#include "horizon.h"

#include <stdlib.h>

bool analyze_horizon_init(struct analyze_horizon *horizon, const struct analyze_model *model,
                          const struct analyze_clocks *clocks, const bool *starts)
{
    *horizon = (struct analyze_horizon){.model = model, .clocks = clocks};
    horizon->calls = calloc(model->calls.count + 1, sizeof(*horizon->calls));
    for (uint32_t i = 0; horizon->calls && i < model->calls.count; i++) {
        if (starts[i])
            horizon->calls[horizon->count++] = i;
    }
    return horizon->calls != NULL;
}

bool analyze_horizon_of_objects(struct analyze_horizon *horizon, const struct analyze_model *model,
                                const struct analyze_clocks *clocks)
{
    *horizon = (struct analyze_horizon){.model = model};
    bool *starts = calloc(model->calls.count + 1, sizeof(*starts));
    for (size_t i = 0; starts && i < model->objects.count; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (object->first != ANALYZE_NONE)
            starts[object->first] = true;
        if (object->needed != ANALYZE_NONE)
            starts[object->needed] = true;
    }
    const bool good = starts && analyze_horizon_init(horizon, model, clocks, starts);
    free(starts);
    return good;
}

void analyze_horizon_fini(struct analyze_horizon *horizon)
{
    for (size_t i = 0; i < horizon->least.count; i++)
        free(horizon->least.items[i]);
    base_array_fini(&horizon->least);
    base_map_fini(&horizon->streams);
    free(horizon->calls);
    horizon->calls = NULL;
}

// Returns, for the stream, the minimum of clocks from each call on; NULL when memory ran out.
static const uint32_t *clocks_of(struct analyze_horizon *horizon, uint32_t stream)
{
    uint64_t *slot = base_map_put(&horizon->streams, stream, NULL);
    if (slot && *slot)
        return horizon->least.items[*slot - 1];
    uint32_t **made = slot ? base_array_push(&horizon->least) : NULL;
    uint32_t *least = made ? calloc(horizon->count + 1, sizeof(*least)) : NULL;
    if (!least)
        return NULL;
    *made = least;
    *slot = horizon->least.count;
    least[horizon->count] = UINT32_MAX;
    for (size_t i = horizon->count; i-- > 0;) {
        uint32_t clock =
            analyze_clock_at(horizon->model, horizon->clocks, horizon->calls[i], stream);
        least[i] = clock < least[i + 1] ? clock : least[i + 1];
    }
    return least;
}

bool analyze_needed_until(struct analyze_horizon *horizon, uint32_t last, uint32_t end,
                          uint32_t *until)
{
    const uint32_t *least = clocks_of(horizon, horizon->model->calls.items[last].stream);
    const size_t next = least ? base_search(0, horizon->count, i, least[i] <= last) : 0;
    const uint32_t after = next > 0 ? horizon->calls[next - 1] + 1 : 0;
    *until = after > last ? after : last + 1;
    *until = *until < end ? *until : end;
    return least != NULL;
}
