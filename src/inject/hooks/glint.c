// SPDX-License-Identifier: Apache-2.0
// What a program announces through include/glint/glint.h: names of objects, and parts of them.
#include <errno.h>

#include "inject/core/object_records.h"
#include "inject/core/parts.h"
#include "inject/inject.h"

int glint_v1_name(const void *address, const char *name)
{
    const uint64_t at = (uint64_t)(uintptr_t)address;
    struct core_object object;
    int error = errno, result = -1;
    if (name && core_on() &&
        (core_objects_find(&core_state.objects, OBJECTS_PARTS, at, &object) ||
         core_objects_find(&core_state.objects, OBJECTS_MEMORY, at, &object) ||
         core_objects_find_array(&core_state.objects, at, &object))) {
        core_object_name(object.number, name);
        result = 0;
    }
    errno = error;
    return result;
}

int glint_v1_suballoc(const void *address, uint64_t bytes)
{
    struct core_part_call reported;
    const int error = errno;
    if (!core_on())
        return -1;
    core_part_call_begin(&reported, HOOK_glint_suballoc, UNWIND_CALLER);
    const bool good = core_part_begin(&reported, (uint64_t)(uintptr_t)address, bytes, 0);
    core_part_call_end(&reported);
    errno = error;
    return good ? 0 : -1;
}

int glint_v1_subfree(const void *address)
{
    struct core_part_call reported;
    const int error = errno;
    if (!core_on())
        return -1;
    core_part_call_begin(&reported, HOOK_glint_subfree, UNWIND_CALLER);
    const bool good = core_part_end(&reported, (uint64_t)(uintptr_t)address);
    core_part_call_end(&reported);
    errno = error;
    return good ? 0 : -1;
}
