// SPDX-License-Identifier: Apache-2.0
// The objects of a profile: reading them, finding them, and when they were used.
#include "data_loading.h"

bool report_take_object(void *user, const struct profile_object *object)
{
    struct report_loading *loading = user;
    struct report_object *row = base_array_push(&loading->data->objects);
    loading->failed |= !row;
    if (row)
        *row = (struct report_object){.name = object->name,
                                      .number = object->number,
                                      .address = object->address,
                                      .bytes = object->bytes,
                                      .call = object->call,
                                      .end = object->has_end && object->end_call ? object->end_call
                                                                                 : ANALYZE_NEVER,
                                      .parent = object->parent,
                                      .device = object->device,
                                      .stream = object->stream,
                                      .kind = (uint8_t)object->kind,
                                      .name_source = (uint8_t)object->name_source,
                                      .counts = analyze_counts(object->kind, object->parent)};
    return row != NULL;
}

bool report_is_alive(const struct report_object *object, const struct analyze_peak *peak)
{
    return object->call <= peak->start && object->end > peak->start &&
           (!peak->device || peak->device == object->device);
}

bool report_is_in_peak(const struct report_object *object, const struct analyze_peak *peak)
{
    return object->counts && report_is_alive(object, peak);
}

int report_device_of(const struct report_data *data, const struct report_object *object)
{
    const bool is_host = object->kind == PROFILE_OBJECT_PINNED ||
                         object->kind == PROFILE_OBJECT_REGISTERED ||
                         object->kind == PROFILE_OBJECT_MANAGED;
    return data->devices.count > 1 && object->device && !is_host ? (int)object->device - 1 : -1;
}

bool report_is_in_highest(const struct report_data *data, const struct report_object *object)
{
    for (size_t i = 0; i < data->peak_count && data->peaks[i].rank == 1; i++)
        if (report_is_in_peak(object, &data->peaks[i]))
            return true;
    return false;
}

// Objects are in the order of their numbers, usually without gaps.
struct report_object *report_find_object(const struct report_data *data, uint64_t number)
{
    struct report_object *objects = data->objects.items;
    const size_t count = data->objects.count;
    if (count && number >= objects[0].number && number - objects[0].number < count &&
        objects[number - objects[0].number].number == number)
        return &objects[number - objects[0].number];
    const size_t at = base_search(0, count, i, objects[i].number < number);
    return at < count && objects[at].number == number ? &objects[at] : NULL;
}

void report_touch(struct report_object *object, uint64_t call)
{
    if (!object->first_access || call < object->first_access)
        object->first_access = call;
    if (call > object->last_access)
        object->last_access = call;
}

void report_touch_number(const struct report_data *data, uint64_t number, uint64_t call)
{
    struct report_object *object = number ? report_find_object(data, number) : NULL;
    if (object)
        report_touch(object, call);
}

void report_touch_reached(const struct report_data *data)
{
    size_t count;
    const struct analyze_reached *reached = analyze_reached(data->analysis, &count);
    for (size_t i = 0; i < count; i++)
        report_touch_number(data, reached[i].object, reached[i].call);
}
