// SPDX-License-Identifier: Apache-2.0
// Reads which elements of objects were accessed, and how unevenly.
#include <assert.h>

#include "loading.h"

static bool take_counts(void *user, const struct profile_counts *counts)
{
    struct analyze_loading *loading = user;
    struct analyze_model *model = loading->model;
    uint32_t call = analyze_find_call(model, counts->call);
    uint32_t object = analyze_find_object(model, counts->object);
    if (call == ANALYZE_NONE || object == ANALYZE_NONE)
        return true;
    uint32_t kernel = model->calls.items[call].kernel;
    struct analyze_counted *row = base_array_push(&model->counted);
    uint64_t *slot = base_map_put(&model->most_uneven, analyze_uneven_key(object, kernel), NULL);
    loading->failed |= !row || !slot;
    if (loading->failed)
        return false;
    *row = (struct analyze_counted){call, object, kernel, profile_counts_variation(counts)};
    if (*slot == 0) {
        struct profile_counts **place = base_array_push(&model->counts);
        if (place)
            *place = base_new(&model->arena, struct profile_counts);
        loading->failed |= !place || !*place;
        if (loading->failed)
            return false;
        *slot = model->counts.count;
    } else if (profile_counts_variation(model->counts.items[*slot - 1]) >= row->variation) {
        return true;
    }
    *model->counts.items[*slot - 1] = *counts;
    return true;
}

static void end_run(struct analyze_loading *loading, struct analyze_map *map)
{
    if (loading->run_count > map->largest_count) {
        map->largest_first = loading->run_first;
        map->largest_count = loading->run_count;
    }
    loading->run_count = 0;
}

static void add_untouched(struct analyze_loading *loading, uint64_t first, uint64_t count)
{
    if (loading->run_count == 0)
        loading->run_first = first;
    loading->run_count += count;
}

// Ends the current map. The elements after its last piece are untouched.
static void end_map(struct analyze_loading *loading)
{
    struct analyze_model *model = loading->model;
    if (model->maps.count == 0)
        return;
    assert(model->maps.items);
    struct analyze_map *map = &model->maps.items[model->maps.count - 1];
    if (loading->map_next < map->elements)
        add_untouched(loading, loading->map_next, map->elements - loading->map_next);
    loading->map_next = map->elements;
    end_run(loading, map);
}

static bool take_map(void *user, const struct profile_map *piece)
{
    struct analyze_loading *loading = user;
    struct analyze_model *model = loading->model;
    uint32_t object = analyze_find_object(model, piece->object);
    if (piece->kind != PROFILE_MAP_TOUCHED || object == ANALYZE_NONE)
        return true;
    struct analyze_map *map = model->maps.count ? &model->maps.items[model->maps.count - 1] : NULL;
    if (!map || map->object != object) {
        end_map(loading);
        map = base_array_push(&model->maps);
        loading->failed |= !map;
        if (!map)
            return false;
        *map = (struct analyze_map){
            .object = object, .element_bytes = piece->element_bytes, .elements = piece->elements};
        loading->map_next = 0;
    }
    assert(map);
    if (piece->first > loading->map_next)
        add_untouched(loading, loading->map_next, piece->first - loading->map_next);
    loading->map_next = piece->first;
    for (size_t k = 0; k < piece->bit_bytes && loading->map_next < map->elements; k++) {
        unsigned bits = piece->bits[k];
        uint64_t left = map->elements - loading->map_next;
        unsigned width = left < 8 ? (unsigned)left : 8;
        if (bits == 0) {
            add_untouched(loading, loading->map_next, width);
        } else if (bits == 0xff && width == 8) {
            end_run(loading, map);
            map->touched += 8;
        } else {
            for (unsigned i = 0; i < width; i++) {
                if (bits >> i & 1) {
                    end_run(loading, map);
                    map->touched++;
                } else {
                    add_untouched(loading, loading->map_next + i, 1);
                }
            }
        }
        loading->map_next += width;
    }
    return true;
}

enum base_code analyze_load_elements(struct analyze_loading *loading, struct profile *profile,
                                     struct base_error *error)
{
    enum base_code code = profile_each_counts(profile, take_counts, loading, error);
    if (analyze_loading_goes_on(loading, code))
        code = profile_each_map(profile, take_map, loading, error);
    if (code == BASE_OK && !loading->failed)
        end_map(loading);
    return code;
}
