// SPDX-License-Identifier: Apache-2.0
// Labels objects for people. A label is the object's name, with a long function name shortened, and
// with a number if objects from several call paths would have the same label. Objects of one call
// path, as in a loop, share their label. A name that consists of a function and a size becomes the
// function and a number, because texts say the size anyway.
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "short_names.h"
#include "units.h"

#define NUMBERED " #" // of a label whose objects always have a number

static bool is_numbered(const char *label)
{
    const size_t length = strlen(label);
    return length >= strlen(NUMBERED) && strcmp(label + length - strlen(NUMBERED), NUMBERED) == 0;
}

// Returns the name without what people need not read. Names that consist of a function and a size
// ("main, 40000 bytes"), and those of variables in kernels' modules, contain demangled names.
static const char *shorten(struct report_data *data, const struct report_object *object)
{
    const char *name = object->name, *size = NULL;
    for (const char *at = name;
         object->name_source == PROFILE_NAME_PATH && (at = strstr(at, ", "));)
        size = at++;
    const bool is_symbol = object->kind == PROFILE_OBJECT_GLOBAL;
    if (!size && !is_symbol)
        return name;
    char *symbol = size ? strndup(name, (size_t)(size - name)) : strdup(name);
    struct base_buf label = {0};
    if (symbol)
        report_put_function(&label, symbol);
    // Without a number, a function's name would not look like that of an object.
    base_buf_puts(&label, size && label.length ? NUMBERED : "");
    const char *kept = symbol && !label.failed && label.length
                           ? base_alloc_text(&data->arena, label.text, label.length)
                           : NULL;
    free(symbol);
    base_buf_fini(&label);
    return kept;
}

// All objects of one label, and where they come from.
struct group {
    const char *label;
    uint32_t origins;
};

struct labelling {
    struct report_data *data;
    struct base_map labels; // by name (a pointer) and kind: const char *
    struct base_map groups; // by label: index + 1 in group_rows
    BASE_ARRAY(struct group) group_rows;
    struct base_map origins;  // by group and call path: number from 1
    struct base_map numbered; // by group and number: const char *
};

static uint64_t key_of(uint64_t one, uint64_t other)
{
    const uint64_t key[] = {one, other};
    return base_hash(key, sizeof(key));
}

static const char *label_of(struct labelling *of, const struct report_object *object)
{
    const uint64_t key =
        key_of((uint64_t)(uintptr_t)object->name, object->kind == PROFILE_OBJECT_GLOBAL);
    uint64_t *slot = base_map_put(&of->labels, key, NULL);
    if (slot && !*slot)
        *slot = (uint64_t)(uintptr_t)shorten(of->data, object);
    return slot ? (const char *)(uintptr_t)*slot : NULL;
}

// Returns the index of the label's group, from 1; 0 if memory ran out.
static uint64_t group_of(struct labelling *of, const char *label)
{
    uint64_t *slot = base_map_put_str(&of->groups, base_str(label), NULL);
    if (slot && !*slot) {
        struct group *group = base_array_push(&of->group_rows);
        if (group)
            *group = (struct group){.label = label};
        *slot = group ? of->group_rows.count : 0;
    }
    return slot ? *slot : 0;
}

// Returns the number of the object's origin in its group, from 1; 0 if memory ran out. Objects
// without a call path are their own origin.
static uint64_t origin_of(struct labelling *of, uint64_t group, const struct report_object *object)
{
    const uint64_t origin = object->path ? object->path : UINT32_MAX + object->number;
    uint64_t *slot = base_map_put(&of->origins, key_of(group, origin), NULL);
    if (slot && !*slot)
        *slot = ++of->group_rows.items[group - 1].origins;
    return slot ? *slot : 0;
}

static const char *numbered_label(struct labelling *of, uint64_t group, uint64_t origin)
{
    uint64_t *slot = base_map_put(&of->numbered, key_of(group, origin), NULL);
    if (slot && !*slot) {
        struct base_buf label = {0};
        const char *whole = of->group_rows.items[group - 1].label;
        base_buf_printf(&label, "%s%s%llu", whole, is_numbered(whole) ? "" : NUMBERED,
                        (unsigned long long)origin);
        *slot = label.failed ? 0
                             : (uint64_t)(uintptr_t)base_alloc_text(&of->data->arena, label.text,
                                                                    label.length);
        base_buf_fini(&label);
    }
    return slot ? (const char *)(uintptr_t)*slot : NULL;
}

bool report_label_objects(struct report_data *data)
{
    struct labelling of = {.data = data};
    bool good = true;
    for (size_t i = 0; i < data->objects.count && good; i++) {
        struct report_object *object = &data->objects.items[i];
        if (!object->name || !object->name[0])
            continue;
        object->label = label_of(&of, object);
        const uint64_t group = object->label ? group_of(&of, object->label) : 0;
        good = group && origin_of(&of, group, object);
    }
    for (size_t i = 0; i < data->objects.count && good; i++) {
        struct report_object *object = &data->objects.items[i];
        const uint64_t group = object->label ? group_of(&of, object->label) : 0;
        if (!group || (of.group_rows.items[group - 1].origins < 2 && !is_numbered(object->label)))
            continue;
        object->label = numbered_label(&of, group, origin_of(&of, group, object));
        good = object->label != NULL;
    }
    base_map_fini(&of.labels);
    base_map_fini(&of.groups);
    base_array_fini(&of.group_rows);
    base_map_fini(&of.origins);
    base_map_fini(&of.numbered);
    return good;
}
