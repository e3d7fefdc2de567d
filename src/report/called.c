// SPDX-License-Identifier: Apache-2.0
// Names calls by the function that the program called. If that is a function of the CUDA runtime,
// the recorder has stored it; otherwise the program called the driver function directly.
#include "data.h"

// Marks a path from which several driver functions are called, for example through a pointer.
static const uint64_t several = UINT64_MAX;

bool report_add_function(struct report_data *data, uint32_t number, const char *name)
{
    const size_t length = name ? profile_plain_length(name) : 0;
    const char *plain = name ? base_alloc_text(&data->arena, name, length) : NULL;
    uint64_t *slot = plain ? base_map_put(&data->plain_functions, number, NULL) : NULL;
    if (slot)
        *slot = (uint64_t)(uintptr_t)plain;
    return slot || !name;
}

bool report_add_caller(struct report_data *data, uint32_t path, uint32_t function)
{
    bool added = false;
    uint64_t *slot = path ? base_map_put(&data->path_functions, path, &added) : NULL;
    if (slot && added)
        *slot = function;
    else if (slot && *slot != function)
        *slot = several;
    return slot || !path;
}

bool report_add_called(struct report_data *data, const struct profile_path *path)
{
    uint64_t *slot = path->called ? base_map_put(&data->called, path->number, NULL) : NULL;
    if (slot)
        *slot = (uint64_t)(uintptr_t)path->called;
    return slot || !path->called;
}

static const char *text_at(const struct base_map *map, uint64_t key)
{
    const uint64_t *slot = base_map_get(map, key);
    return slot ? (const char *)(uintptr_t)*slot : NULL;
}

const char *report_called(const struct report_data *data, uint32_t path, uint32_t function)
{
    const char *called = text_at(&data->called, path);
    return called ? called : text_at(&data->plain_functions, function);
}

const char *report_called_at(const struct report_data *data, uint32_t path)
{
    const uint64_t *function = base_map_get(&data->path_functions, path);
    return report_called(data, path, function && *function != several ? (uint32_t)*function : 0);
}
