// SPDX-License-Identifier: Apache-2.0
// Reads which elements of objects were accessed, and how unevenly.
#include <assert.h>
#include <stdlib.h>

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
    *row = (struct analyze_counted){call, object, kernel, profile_counts_variation(counts),
                                    counts->sum};
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

// --- Elements that copies read -------------------------------------------------------------------

enum { MOST_ROWS = 4096 }; // a copy of more rows counts as reading what is between them, too

static int by_start(const void *one, const void *other)
{
    const struct analyze_loading_read *a = one, *b = other;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

static void add_read(struct analyze_loading *loading, uint32_t object, uint64_t start,
                     uint64_t bytes)
{
    struct analyze_loading_read *row = bytes ? base_array_push(&loading->reads) : NULL;
    loading->failed |= bytes && !row;
    if (row)
        *row = (struct analyze_loading_read){object, start, start + bytes};
}

// The driver chose the pitch of an object, so the padding behind its rows counts as used.
static void add_padding(struct analyze_loading *loading, uint32_t object)
{
    const struct analyze_object *row = &loading->model->objects.items[object];
    const uint64_t rows = row->padding ? row->bytes / row->pitch : 0;
    if (rows > MOST_ROWS)
        add_read(loading, object, 0, row->bytes);
    for (uint64_t k = 0; k < rows && rows <= MOST_ROWS && !loading->failed; k++)
        add_read(loading, object, (k + 1) * row->pitch - row->padding, row->padding);
}

// Lists what copies read, and padding, sorted and without overlaps.
static void list_reads(struct analyze_loading *loading)
{
    const struct analyze_model *model = loading->model;
    for (uint32_t i = 0; i < model->objects.count && !loading->failed; i++)
        add_padding(loading, i);
    for (size_t i = 0; i < model->touches.count && !loading->failed; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        if (touch->is_kernel || !(touch->how & ANALYZE_READ))
            continue;
        const uint32_t rows = touch->rows ? touch->rows : 1;
        if (rows > MOST_ROWS)
            add_read(loading, touch->object, touch->offset,
                     touch->row_bytes + (rows - 1) * touch->pitch);
        for (uint32_t k = 0; k < rows && rows <= MOST_ROWS && !loading->failed; k++)
            add_read(loading, touch->object, touch->offset + k * touch->pitch, touch->row_bytes);
    }
    if (loading->failed || !loading->reads.count)
        return;
    qsort(loading->reads.items, loading->reads.count, sizeof(*loading->reads.items), by_start);
    size_t last = 0;
    for (size_t i = 1; i < loading->reads.count; i++) {
        struct analyze_loading_read *one = &loading->reads.items[last],
                                    *next = &loading->reads.items[i];
        if (one->object == next->object && next->start <= one->end)
            one->end = next->end > one->end ? next->end : one->end;
        else
            loading->reads.items[++last] = *next;
    }
    loading->reads.count = last + 1;
}

// --- Maps ----------------------------------------------------------------------------------------

static void add_unused(struct analyze_map *map, uint64_t first, uint64_t count)
{
    map->unused += count;
    if (count > map->largest_count) {
        map->largest_first = first;
        map->largest_count = count;
    }
}

// Ends a run of elements that kernels do not touch. Those that copies read are used.
static void end_run(struct analyze_loading *loading, struct analyze_map *map)
{
    uint64_t at = loading->run_first;
    const uint64_t end = at + loading->run_count, bytes = map->element_bytes;
    const struct analyze_loading_read *reads = loading->reads.items;
    size_t next = base_search(0, loading->reads.count, i,
                              reads[i].object < map->object ||
                                  (reads[i].object == map->object && reads[i].end <= at * bytes));
    loading->run_count = 0;
    for (; at < end && next < loading->reads.count && reads[next].object == map->object &&
           reads[next].start < end * bytes;
         next++) {
        const uint64_t first = reads[next].start / bytes,
                       after = (reads[next].end + bytes - 1) / bytes;
        if (first > at)
            add_unused(map, at, first - at);
        at = after > at ? after : at;
    }
    if (at < end)
        add_unused(map, at, end - at);
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
    list_reads(loading);
    if (analyze_loading_goes_on(loading, code))
        code = profile_each_map(profile, take_map, loading, error);
    if (code == BASE_OK && !loading->failed)
        end_map(loading);
    base_array_fini(&loading->reads);
    return code;
}
