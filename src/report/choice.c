// SPDX-License-Identifier: Apache-2.0
// Checks the names that a user chose findings by. A name that nothing has is an error, because an
// empty report would look like a program without waste.
#include "choice.h"

#include <stdlib.h>
#include <string.h>

#include "short_names.h"

// Fails with the name that was probably meant. Takes the array.
static enum base_code fail_unknown(const char *what, const char *part, const char **names,
                                   size_t count, struct base_error *error)
{
    const char *nearest = base_nearest(part, names, count);
    base_fail(error, BASE_NOT_FOUND, "no %s has '%.60s' in its name%s%.60s%s", what, part,
              nearest ? " (did you mean '" : "", nearest ? nearest : "", nearest ? "'?)" : "");
    free(names);
    return BASE_NOT_FOUND;
}

static enum base_code check_object(const struct report_data *data, const char *part,
                                   struct base_error *error)
{
    const char **names = calloc(data->objects.count + 1, sizeof(*names));
    size_t count = 0;
    BASE_RETURN_IF_NO_MEMORY(!names, error);
    for (size_t i = 0; i < data->objects.count; i++) {
        const char *name = data->objects.items[i].name;
        if (!name)
            continue;
        names[count++] = name;
        const char *label = data->objects.items[i].label;
        if (strstr(name, part) || (label && strstr(label, part))) {
            free(names);
            return BASE_OK;
        }
    }
    return fail_unknown("object", part, names, count, error);
}

// "add" of "ns::add<float>".
static const char *plain_name(struct report_data *data, const char *name)
{
    const size_t end = strcspn(name, "<(");
    size_t start = end;
    while (start > 0 && name[start - 1] != ' ' && name[start - 1] != ':')
        start--;
    const char *plain = base_alloc_text(&data->arena, name + start, end - start);
    return plain ? plain : name;
}

static enum base_code check_kernel(struct report_data *data, const char *part,
                                   struct base_error *error)
{
    const char **names = calloc(data->kernel_rows.count + 1, sizeof(*names));
    size_t count = 0;
    BASE_RETURN_IF_NO_MEMORY(!names, error);
    for (size_t i = 0; i < data->kernel_rows.count; i++) {
        const struct report_kernel *kernel = &data->kernel_rows.items[i];
        names[count++] = plain_name(data, kernel->short_name);
        if (strstr(kernel->name, part) || strstr(kernel->short_name, part)) {
            free(names);
            return BASE_OK;
        }
    }
    return fail_unknown("kernel", part, names, count, error);
}

enum base_code report_check_choice(struct report_data *data, const struct report_choice *choice,
                                   struct base_error *error)
{
    enum base_code code = choice->object ? check_object(data, choice->object, error) : BASE_OK;
    if (code == BASE_OK && choice->kernel)
        code = check_kernel(data, choice->kernel, error);
    return code;
}
