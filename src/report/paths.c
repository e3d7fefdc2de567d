// SPDX-License-Identifier: Apache-2.0
// Formats call paths for callers that print their own lines, in the same form as in reports, and
// matches them with the same globs as suppressions.
#include <stdlib.h>
#include <string.h>

#include "suppress.h"
#include "units.h"

struct report_paths {
    struct report_data data; // only images and paths are loaded
    bool failed;
};

static bool take_image(void *user, const struct profile_image *image)
{
    struct report_paths *paths = user;
    uint64_t *slot = base_map_put(&paths->data.images, image->number, NULL);
    if (slot)
        *slot = (uint64_t)(uintptr_t)image->path;
    paths->failed |= !slot;
    return slot != NULL;
}

static bool take_path(void *user, const struct profile_path *path)
{
    struct report_paths *paths = user;
    paths->failed |= !report_keep_path(&paths->data, path);
    return !paths->failed;
}

enum base_code report_paths_read(struct profile *profile, const uint32_t *numbers, size_t count,
                                 struct report_paths **out, struct base_error *error)
{
    struct report_paths *paths = calloc(1, sizeof(*paths));
    *out = paths;
    BASE_RETURN_IF_NO_MEMORY(!paths, error);
    base_arena_init(&paths->data.arena, 0);
    for (size_t i = 0; i < count; i++)
        paths->failed |= numbers[i] && !base_map_put(&paths->data.paths, numbers[i], NULL);
    enum base_code code = profile_each_image(profile, take_image, paths, error);
    if (code == BASE_OK)
        code = profile_each_path(profile, take_path, paths, error);
    if (code == BASE_OK && paths->failed)
        code = base_no_memory(error);
    if (code != BASE_OK) {
        report_paths_free(paths);
        *out = NULL;
    }
    return code;
}

void report_paths_free(struct report_paths *paths)
{
    if (paths)
        report_data_fini(&paths->data);
    free(paths);
}

void report_paths_put(const struct report_paths *paths, uint32_t path, struct base_buf *out)
{
    report_put_trace(&paths->data, path, out);
}

bool report_paths_lead_through(const struct report_paths *paths, uint32_t path, const char *glob)
{
    return report_is_on_path(&paths->data, glob, path);
}
