// SPDX-License-Identifier: Apache-2.0
// Reads what objects held at the borders of calls, which stores changed nothing, what most reads
// got, and which values loads and stores moved, into the model.
#include <stdlib.h>
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
    *place = (struct analyze_contents){call, object, kept};
    return true;
}

struct analyze_line analyze_line_of(const struct profile_kernel_site *site)
{
    const bool is_foreign = site->file && site->at_file &&
                            (strstr(site->file, "/targets/") || strstr(site->file, "/cuda/"));
    return is_foreign ? (struct analyze_line){site->at_file, site->at_line, site->at_column}
                      : (struct analyze_line){site->file, site->line, site->column};
}

static bool take_site(void *user, const struct profile_kernel_site *row)
{
    struct values_loading *loading = user;
    struct analyze_site *place = base_array_push(&loading->model->sites);
    loading->failed |= !place;
    if (!place)
        return false;
    *place = (struct analyze_site){.kernel = row->kernel,
                                   .site = row->number,
                                   .line = analyze_line_of(row),
                                   .bytes = row->bytes,
                                   .access = (uint8_t)row->access};
    return true;
}

uint32_t analyze_find_site(const struct analyze_model *model, uint32_t kernel, uint32_t site)
{
    const struct analyze_site *sites = model->sites.items;
    const size_t count = model->sites.count;
    const size_t at = base_search(0, count, i,
                                  sites[i].kernel < kernel ||
                                      (sites[i].kernel == kernel && sites[i].site < site));
    return at < count && sites[at].kernel == kernel && sites[at].site == site ? (uint32_t)at
                                                                              : ANALYZE_NONE;
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
    *place =
        (struct analyze_stored){.call = call,
                                .object = analyze_find_object(loading->model, row->object),
                                .node = row->node ? row->node - 1 : 0,
                                .kernel = row->kernel,
                                .site = row->site,
                                .bytes = row->bytes,
                                .place = analyze_find_site(loading->model, row->kernel, row->site),
                                .stores = row->stores,
                                .silent = row->silent,
                                .still = row->still};
    return true;
}

static bool take_weighed(void *user, const struct profile_weighed *row)
{
    struct values_loading *loading = user;
    const uint32_t call = analyze_find_call(loading->model, row->call);
    const uint32_t object = analyze_find_object(loading->model, row->object);
    if (call == ANALYZE_NONE || object == ANALYZE_NONE)
        return true;
    struct analyze_weighed *place = base_array_push(&loading->model->weighed);
    loading->failed |= !place;
    if (!place)
        return false;
    *place = (struct analyze_weighed){.call = call,
                                      .object = object,
                                      .offset = row->offset,
                                      .accesses = row->accesses,
                                      .value = row->value,
                                      .count = row->count};
    return true;
}

static bool take_accessed(void *user, const struct profile_accessed *row)
{
    struct values_loading *loading = user;
    const uint32_t call = analyze_find_call(loading->model, row->call);
    const uint32_t object = analyze_find_object(loading->model, row->object);
    if (call == ANALYZE_NONE || object == ANALYZE_NONE)
        return true;
    struct analyze_accessed *place = base_array_push(&loading->model->accessed);
    loading->failed |= !place;
    if (!place)
        return false;
    *place = (struct analyze_accessed){call, object, *row};
    return true;
}

static bool take_array(void *user, const struct profile_site_array *row)
{
    struct values_loading *loading = user;
    const uint32_t at = analyze_find_site(loading->model, row->kernel, row->site);
    if (at != ANALYZE_NONE)
        loading->model->sites.items[at].array = row->name;
    return true;
}

enum base_code analyze_load_values(struct analyze_model *model, struct profile *profile,
                                   struct base_error *error)
{
    struct values_loading loading = {.model = model};
    enum base_code code = profile_each_contents(profile, take_contents, &loading, error);
    if (code == BASE_OK && !loading.failed)
        code = profile_each_kernel_site(profile, take_site, &loading, error);
    if (code == BASE_OK && !loading.failed)
        code = profile_each_site_array(profile, take_array, &loading, error);
    if (code == BASE_OK && !loading.failed)
        code = profile_each_stored(profile, take_stored, &loading, error);
    if (code == BASE_OK && !loading.failed)
        code = profile_each_weighed(profile, take_weighed, &loading, error);
    if (code == BASE_OK && !loading.failed)
        code = profile_each_accessed(profile, take_accessed, &loading, error);
    return code == BASE_OK && loading.failed ? base_no_memory(error) : code;
}

bool analyze_count_contents(const struct analyze_model *model, struct analyze_contents_seen *seen)
{
    bool *is_seen = calloc(model->objects.count + 1, sizeof(*is_seen));
    if (!is_seen)
        return false;
    for (size_t i = 0; i < model->contents.count; i++)
        is_seen[model->contents.items[i].object] = true;
    for (size_t i = 0; i < model->objects.count; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (object->is_host || !object->use_count)
            continue;
        seen->used++;
        seen->seen += is_seen[i];
        seen->shared += !is_seen[i] && object->elsewhere;
    }
    free(is_seen);
    return true;
}
