// SPDX-License-Identifier: Apache-2.0
// What a program tells glint through include/glint/glint.h: names of objects, and parts of them.
#include <errno.h>

#include "inject/core/object_records.h"
#include "inject/core/parts.h"
#include "inject/inject.h"

int glint_v1_name(const void *address, const char *name)
{
    const uint64_t at = (uint64_t)(uintptr_t)address;
    struct object object;
    int error = errno, result = -1;
    if (name && state_on() &&
        (objects_find(&state.objects, OBJECTS_PARTS, at, &object) ||
         objects_find(&state.objects, OBJECTS_MEMORY, at, &object) ||
         objects_find_array(&state.objects, at, &object))) {
        object_name(object.number, name);
        result = 0;
    }
    errno = error;
    return result;
}

int glint_v1_suballoc(const void *address, uint64_t bytes)
{
    struct part_call told;
    const int error = errno;
    if (!state_on())
        return -1;
    part_call_begin(&told, HOOK_glint_suballoc, UNWIND_CALLER);
    const bool good = part_begin(&told, (uint64_t)(uintptr_t)address, bytes, 0);
    part_call_end(&told);
    errno = error;
    return good ? 0 : -1;
}

int glint_v1_subfree(const void *address)
{
    struct part_call told;
    const int error = errno;
    if (!state_on())
        return -1;
    part_call_begin(&told, HOOK_glint_subfree, UNWIND_CALLER);
    const bool good = part_end(&told, (uint64_t)(uintptr_t)address);
    part_call_end(&told);
    errno = error;
    return good ? 0 : -1;
}
