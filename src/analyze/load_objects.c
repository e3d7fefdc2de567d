// SPDX-License-Identifier: Apache-2.0
// Reads objects, and finds those of which it is unknown what touched them.
#include <assert.h>

#include "loading.h"

// Host memory is not on the device. Imported memory counts for the process that exported it. Module
// globals come with the code and cannot be freed. Parts are already counted in their pool, which
// the program has sized. The size of PyTorch's segments follows from its tensors, so tensors count.
bool analyze_counts(enum profile_object_kind kind, uint64_t parent)
{
    switch (kind) {
    case PROFILE_OBJECT_DEVICE:
    case PROFILE_OBJECT_PITCHED:
    case PROFILE_OBJECT_ARRAY:
    case PROFILE_OBJECT_MANAGED:
    case PROFILE_OBJECT_POOL:
    case PROFILE_OBJECT_MAPPING:
    case PROFILE_OBJECT_GRAPH:
    case PROFILE_OBJECT_HEAP: return parent == 0;
    case PROFILE_OBJECT_TENSOR: return true;
    default: return false;
    }
}

static bool is_host(enum profile_object_kind kind)
{
    return kind == PROFILE_OBJECT_PINNED || kind == PROFILE_OBJECT_REGISTERED;
}

// Probes do not see textures and surfaces. Calls do not show the host's accesses to managed memory,
// nor accesses by other processes. Memory that a graph allocates has a new life in each launch.
static bool is_elsewhere(enum profile_object_kind kind)
{
    return kind == PROFILE_OBJECT_ARRAY || kind == PROFILE_OBJECT_MANAGED ||
           kind == PROFILE_OBJECT_IMPORTED || kind == PROFILE_OBJECT_GRAPH ||
           kind == PROFILE_OBJECT_OTHER;
}

static bool take_object(void *user, const struct profile_object *object)
{
    struct analyze_loading *loading = user;
    struct analyze_model *model = loading->model;
    const struct analyze_listener *listener = loading->listener;
    struct analyze_object *row = base_array_push(&model->objects);
    struct analyze_loading_numbers *numbers = row ? base_array_push(&loading->numbers) : NULL;
    loading->failed |= !numbers || model->objects.count >= ANALYZE_NONE;
    if (loading->failed)
        return false;
    *numbers = (struct analyze_loading_numbers){object->call, object->end_call, object->parent};
    const uint64_t last = object->end_call > object->call ? object->end_call : object->call;
    if (last > loading->last_call)
        loading->last_call = last;
    *row = (struct analyze_object){.name = object->name,
                                   .number = object->number,
                                   .address = object->address,
                                   .bytes = object->bytes,
                                   .device = object->device,
                                   .kind = (uint8_t)object->kind,
                                   .counts = analyze_counts(object->kind, object->parent),
                                   .has_end = object->has_end,
                                   .is_host = is_host(object->kind),
                                   .elsewhere = is_elsewhere(object->kind),
                                   .is_addressed = object->kind == PROFILE_OBJECT_GLOBAL};
    if (object->kind == PROFILE_OBJECT_PITCHED && object->pitch > object->width_bytes) {
        row->pitch = object->pitch;
        row->padding = object->pitch - object->width_bytes;
    }
    loading->failed |=
        !analyze_beyond_add(&loading->beyond, object, (uint32_t)(model->objects.count - 1));
    if (listener)
        loading->ended |= !listener->object(listener->user, object);
    return !loading->ended;
}

static void resolve_objects(struct analyze_loading *loading)
{
    struct analyze_model *model = loading->model;
    const struct analyze_loading_numbers *numbers = loading->numbers.items;
    for (size_t i = 0; i < model->objects.count; i++) {
        struct analyze_object *object = &model->objects.items[i];
        assert(numbers); // there is one for each object
        object->call = analyze_find_call(model, numbers[i].call);
        model->dropped |= numbers[i].call && object->call == ANALYZE_NONE;
        object->end = object->has_end ? analyze_find_call(model, numbers[i].end) : ANALYZE_NONE;
        model->dropped |= object->has_end && numbers[i].end && object->end == ANALYZE_NONE;
        object->of_library =
            object->call != ANALYZE_NONE &&
            base_map_get(&model->of_libraries, model->calls.items[object->call].path);
        object->parent = analyze_find_object(model, numbers[i].parent);
        if (object->parent != ANALYZE_NONE) {
            struct analyze_object *whole = &model->objects.items[object->parent];
            whole->has_parts = true;
            if (object->kind == PROFILE_OBJECT_TENSOR) {
                whole->is_segment = true;
                whole->counts = false;
            }
            object->is_host |= whole->is_host;
            object->elsewhere |= whole->elsewhere;
        }
        if (object->is_host && object->call != ANALYZE_NONE)
            model->calls.items[object->call].flags |= ANALYZE_HOST_MEMORY;
        if (object->is_host && object->end != ANALYZE_NONE)
            model->calls.items[object->end].flags |= ANALYZE_HOST_MEMORY;
    }
}

// A resized part becomes a new part that keeps the contents, so neither part has all accesses to
// that memory. Returns false when memory ran out.
static bool blur_resized(struct analyze_model *model)
{
    struct base_map last = {0}; // address to index + 1 of the last part there
    bool good = true;
    for (size_t i = 0; i < model->objects.count && good; i++) {
        struct analyze_object *part = &model->objects.items[i];
        if (part->parent == ANALYZE_NONE)
            continue;
        uint64_t *slot = base_map_put(&last, part->address, NULL);
        struct analyze_object *before = slot && *slot ? &model->objects.items[*slot - 1] : NULL;
        if (before && part->call != ANALYZE_NONE && before->end == part->call)
            before->blurred = part->blurred = true;
        if (slot)
            *slot = i + 1;
        good = slot != NULL;
    }
    base_map_fini(&last);
    return good;
}

// A copy or set names only the part in which it begins. If it extends beyond that part, or begins
// between parts, it touches parts that it does not name.
static void blur_pools(struct analyze_model *model)
{
    for (size_t i = 0; i < model->touches.count; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        struct analyze_object *object = &model->objects.items[touch->object];
        if (touch->is_kernel)
            continue;
        if (object->has_parts)
            object->blurred = true;
        else if (object->parent != ANALYZE_NONE && touch->beyond)
            model->objects.items[object->parent].blurred = true;
    }
    for (size_t i = 0; i < model->objects.count; i++) {
        struct analyze_object *part = &model->objects.items[i];
        if (part->parent != ANALYZE_NONE)
            part->blurred |= model->objects.items[part->parent].blurred;
    }
}

enum base_code analyze_load_objects(struct analyze_loading *loading, struct profile *profile,
                                    struct base_error *error)
{
    return profile_each_object(profile, take_object, loading, error);
}

void analyze_load_objects_end(struct analyze_loading *loading)
{
    resolve_objects(loading);
    blur_pools(loading->model);
    loading->failed |= !blur_resized(loading->model);
}
