// SPDX-License-Identifier: Apache-2.0
// Reads what objects held at the borders of calls, and which stores changed nothing, into the
// model.
#include <string.h>

#include "model.h"

struct values_loading {
    struct analyze_model *model;
    bool failed; // memory ran out
};

// Copies a row into the arena, without the fields that it does not have.
static const struct profile_contents *keep(struct values_loading *loading,
                                           const struct profile_contents *row)
{
    const size_t bytes =
        offsetof(struct profile_contents, fields) + row->field_count * sizeof(row->fields[0]);
    void *kept = base_alloc(&loading->model->arena, bytes);
    if (kept)
        memcpy(kept, row, bytes);
    return kept;
}

static bool take_contents(void *user, const struct profile_contents *row)
{
    struct values_loading *loading = user;
    struct analyze_model *model = loading->model;
    const uint32_t call = analyze_find_call(model, row->call);
    const uint32_t object = analyze_find_object(model, row->object);
    if (call == ANALYZE_NONE || object == ANALYZE_NONE || row->kind == PROFILE_CONTENTS_OTHER)
        return true;
    struct analyze_contents *place = base_array_push(&model->contents);
    const struct profile_contents *kept = place ? keep(loading, row) : NULL;
    loading->failed |= !kept;
    if (!kept)
        return false;
    *place = (struct analyze_contents){call, object, row->node ? row->node - 1 : 0, kept};
    return true;
}

static bool take_stored(void *user, const struct profile_stored *row)
{
    struct values_loading *loading = user;
    const uint32_t call = analyze_find_call(loading->model, row->call);
    if (call == ANALYZE_NONE)
        return true;
    struct analyze_stored *place = base_array_push(&loading->model->stores);
    loading->failed |= !place;
    if (!place)
        return false;
    *place = (struct analyze_stored){.call = call,
                                     .object = analyze_find_object(loading->model, row->object),
                                     .node = row->node ? row->node - 1 : 0,
                                     .kernel = row->kernel,
                                     .site = row->site,
                                     .bytes = row->bytes,
                                     .stores = row->stores,
                                     .silent = row->silent};
    return true;
}

enum base_code analyze_load_values(struct analyze_model *model, struct profile *profile,
                                   struct base_error *error)
{
    struct values_loading loading = {.model = model};
    enum base_code code = profile_each_contents(profile, take_contents, &loading, error);
    if (code == BASE_OK && !loading.failed)
        code = profile_each_stored(profile, take_stored, &loading, error);
    return code == BASE_OK && loading.failed ? base_no_memory(error) : code;
}
