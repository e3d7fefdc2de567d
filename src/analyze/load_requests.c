// SPDX-License-Identifier: Apache-2.0
// Reads what requests of warps took at each instruction of a launch into the model, and how many
// multiprocessors could serve them.
#include "model.h"

struct requests_loading {
    struct analyze_model *model;
    bool failed; // memory ran out
};

static bool take_device(void *user, const struct profile_device *row)
{
    struct analyze_model *model = ((struct requests_loading *)user)->model;
    if (row->multiprocessors > model->multiprocessors)
        model->multiprocessors = row->multiprocessors;
    return true;
}

static bool take_requests(void *user, const struct profile_requests *row)
{
    struct requests_loading *loading = user;
    struct analyze_model *model = loading->model;
    const uint32_t call = analyze_find_call(model, row->call);
    if (call == ANALYZE_NONE || row->local) // no pattern is about local memory
        return true;
    struct analyze_requests *place = base_array_push(&model->requests);
    loading->failed |= !place;
    if (!place)
        return false;
    *place = (struct analyze_requests){
        .call = call,
        .object = row->shared ? ANALYZE_NONE : analyze_find_object(model, row->object),
        .node = row->node ? row->node - 1 : 0,
        .kernel = row->kernel,
        .site = row->site,
        .place = analyze_find_site(model, row->kernel, row->site),
        .requests = row->requests,
        .taken = row->taken,
        .needed = row->needed,
        .stride = row->stride,
        .has_stride = row->has_stride,
        .shared = row->shared};
    return true;
}

enum base_code analyze_load_requests(struct analyze_model *model, struct profile *profile,
                                     struct base_error *error)
{
    struct requests_loading loading = {.model = model};
    enum base_code code = profile_each_device(profile, take_device, &loading, error);
    if (code == BASE_OK)
        code = profile_each_requests(profile, take_requests, &loading, error);
    return code == BASE_OK && loading.failed ? base_no_memory(error) : code;
}
