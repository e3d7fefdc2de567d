// SPDX-License-Identifier: Apache-2.0
// Reads what the model of the caches found into the model of the profile.
#include "model.h"

struct caches_loading {
    struct analyze_model *model;
    bool failed; // memory ran out
};

// The time of a node of a graph is not that of its call, and counts as unknown.
static bool take_launch(void *user, const struct profile_cache_launch *row)
{
    struct caches_loading *loading = user;
    struct analyze_model *model = loading->model;
    const uint32_t call = analyze_find_call(model, row->call);
    const bool is_timed = call != ANALYZE_NONE && !row->node && !model->simulated;
    loading->failed |= !analyze_caches_add_launch(&model->caches, row,
                                                  is_timed ? model->calls.items[call].gpu_ns : 0);
    return !loading->failed;
}

static bool take_cache(void *user, const struct profile_cache *row)
{
    struct caches_loading *loading = user;
    loading->failed |= !analyze_caches_add(&loading->model->caches, row);
    return !loading->failed;
}

static bool take_reuse(void *user, const struct profile_cache_reuse *row)
{
    struct caches_loading *loading = user;
    loading->failed |= !analyze_caches_add_reuse(&loading->model->caches, row);
    return !loading->failed;
}

enum base_code analyze_load_caches(struct analyze_model *model, struct profile *profile,
                                   struct base_error *error)
{
    struct caches_loading loading = {.model = model};
    enum base_code code = profile_each_cache_launch(profile, take_launch, &loading, error);
    if (code == BASE_OK)
        code = profile_each_cache(profile, take_cache, &loading, error);
    if (code == BASE_OK)
        code = profile_each_cache_reuse(profile, take_reuse, &loading, error);
    analyze_caches_end(&model->caches);
    return code == BASE_OK && loading.failed ? base_no_memory(error) : code;
}
