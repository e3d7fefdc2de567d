// SPDX-License-Identifier: Apache-2.0
// Memory of PyTorch's tensors at a peak, of the segments from which its allocator takes them, and
// of everything else, such as the workspaces of libraries. Tensors count as device memory in use;
// their segments, whose size follows from them, do not.
#include "data.h"

void report_mark_holders(const struct report_data *data)
{
    for (size_t i = 0; i < data->objects.count; i++) {
        const struct report_object *object = &data->objects.items[i];
        struct report_object *whole =
            object->kind == PROFILE_OBJECT_TENSOR ? report_find_object(data, object->parent) : NULL;
        if (whole) {
            whole->holds_tensors = true;
            whole->counts = false;
        }
    }
}

bool report_is_outside_tensors(const struct report_object *object, const struct analyze_peak *peak)
{
    return report_is_in_peak(object, peak) && object->kind != PROFILE_OBJECT_TENSOR;
}

struct report_tensors report_tensors(const struct report_data *data,
                                     const struct analyze_peak *peak)
{
    struct report_tensors tensors = {.any = false};
    for (size_t i = 0; i < data->objects.count; i++) {
        const struct report_object *object = &data->objects.items[i];
        struct report_amount *amount = NULL;
        tensors.any |= object->kind == PROFILE_OBJECT_TENSOR;
        if (object->holds_tensors && report_is_alive(object, peak))
            amount = &tensors.segments;
        else if (report_is_in_peak(object, peak))
            amount = object->kind == PROFILE_OBJECT_TENSOR ? &tensors.blocks : &tensors.outside;
        if (amount) {
            amount->count++;
            amount->bytes += object->bytes;
        }
    }
    return tensors;
}
