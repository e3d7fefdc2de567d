// SPDX-License-Identifier: Apache-2.0
// Reads what blocks loaded of objects into the model.
#include "model.h"

struct reuse_loading {
    struct analyze_model *model;
    bool failed; // memory ran out
};

static bool take_reuse(void *user, const struct profile_block_reuse *row)
{
    struct reuse_loading *loading = user;
    struct analyze_model *model = loading->model;
    const uint32_t call = analyze_find_call(model, row->call);
    const uint32_t object = analyze_find_object(model, row->object);
    if (call == ANALYZE_NONE || object == ANALYZE_NONE || !row->words || !row->looked)
        return true;
    struct analyze_reuse *place = base_array_push(&model->reuse);
    loading->failed |= !place;
    if (!place)
        return false;
    *place = (struct analyze_reuse){.call = call,
                                    .object = object,
                                    .place = analyze_find_site(model, row->kernel, row->site),
                                    .row = *row};
    return true;
}

enum base_code analyze_load_reuse(struct analyze_model *model, struct profile *profile,
                                  struct base_error *error)
{
    struct reuse_loading loading = {.model = model};
    const enum base_code code = profile_each_block_reuse(profile, take_reuse, &loading, error);
    return code == BASE_OK && loading.failed ? base_no_memory(error) : code;
}
