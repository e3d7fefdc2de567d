// SPDX-License-Identifier: Apache-2.0
// The map of live objects. A launch uses an immutable sorted snapshot, which is rebuilt at its
// start if the map has changed. The objects that were freed last are kept for messages.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpusim/log/write.h"
#include "machine.h"
#include "objects.h"

enum base_code sim_object_add(struct sim_device *device, uint64_t address, uint64_t size_bytes,
                              enum gpusim_object_kind kind, const char *name,
                              struct base_error *error)
{
    struct gpusim_object *object = malloc(sizeof(*object));
    if (!object)
        return base_no_memory_while(error, "for an object");
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    *object = (struct gpusim_object){++device->next_object, address, size_bytes, kind, name};
    struct base_interval *conflict = NULL;
    enum base_code code = base_intervals_insert(device->live, address, size_bytes,
                                                (uint64_t)(uintptr_t)object, &conflict);
    if (code == BASE_OK && device->snapshot) {
        sim_objects_put(device->snapshot);
        device->snapshot = NULL;
    }
    if (code == BASE_OK)
        log_object(device->log, object);
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
    if (code != BASE_OK) {
        free(object);
        return base_fail(error, code, "an object of %llu bytes at 0x%llx cannot be added",
                         (unsigned long long)size_bytes, (unsigned long long)address);
    }
    return BASE_OK;
}

bool sim_object_remove(struct sim_device *device, uint64_t address)
{
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    struct base_interval *found = base_intervals_find(device->live, address);
    bool starts = found && found->start == address;
    if (starts) {
        struct gpusim_object *object = (struct gpusim_object *)(uintptr_t)found->value;
        device->freed[device->freed_next++ % (sizeof(device->freed) / sizeof(device->freed[0]))] =
            *object;
        base_intervals_remove(device->live, address, NULL);
        if (object->kind == GPUSIM_OBJECT_HEAP)
            atomic_fetch_add(&device->heap_ends, 1);
        log_object_end(device->log, object->id);
        free(object);
        if (device->snapshot)
            sim_objects_put(device->snapshot);
        device->snapshot = NULL;
    }
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
    return starts;
}

bool sim_object_find(struct sim_device *device, uint64_t address, struct gpusim_object *object)
{
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    struct base_interval *found = base_intervals_find(device->live, address);
    if (found)
        *object = *(struct gpusim_object *)(uintptr_t)found->value;
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
    return found != NULL;
}

bool sim_objects_next(struct sim_device *device, enum gpusim_object_kind kind,
                      struct gpusim_object *object)
{
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    struct base_interval *at = base_intervals_after(device->live, object->address);
    while (at && ((struct gpusim_object *)(uintptr_t)at->value)->kind != kind)
        at = base_intervals_after(device->live, at->start);
    if (at)
        *object = *(struct gpusim_object *)(uintptr_t)at->value;
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
    return at != NULL;
}

// The caller holds device->lock.
static struct sim_objects *make_snapshot(struct sim_device *device)
{
    size_t count = base_intervals_count(device->live);
    struct sim_objects *objects = malloc(sizeof(*objects) + count * sizeof(objects->items[0]));
    if (!objects)
        return NULL;
    atomic_init(&objects->references, 1);
    objects->count = 0;
    struct base_intervals_walk walk;
    for (struct base_interval *at = base_intervals_first(device->live, &walk); at;
         at = base_intervals_next(&walk))
        objects->items[objects->count++] = *(struct gpusim_object *)(uintptr_t)at->value;
    return objects;
}

struct sim_objects *sim_objects_get(struct sim_device *device)
{
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    if (!device->snapshot)
        device->snapshot = make_snapshot(device);
    struct sim_objects *objects = device->snapshot;
    if (objects)
        atomic_fetch_add(&objects->references, 1);
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
    return objects;
}

void sim_objects_put(struct sim_objects *objects)
{
    if (objects && atomic_fetch_sub(&objects->references, 1) == 1)
        free(objects);
}

const struct gpusim_object *sim_objects_find(const struct sim_objects *objects, uint64_t address)
{
    size_t next = base_search(0, objects->count, i, objects->items[i].address <= address);
    if (!next)
        return NULL;
    const struct gpusim_object *object = &objects->items[next - 1];
    return address - object->address < object->size_bytes ? object : NULL;
}

enum base_code sim_texture_add(struct sim_device *device, const struct sim_texture *texture)
{
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    uint64_t *place = base_map_put(&device->textures, (uintptr_t)texture, NULL);
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
    return place ? BASE_OK : BASE_NO_MEMORY;
}

void sim_texture_remove(struct sim_device *device, const struct sim_texture *texture)
{
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    base_map_remove(&device->textures, (uintptr_t)texture);
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
}

bool sim_objects_is_texture(struct sim_device *device, const struct sim_texture *texture)
{
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    bool is = base_map_get(&device->textures, (uintptr_t)texture) != NULL;
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
    return is;
}

enum { NEAR_NULL = 4096 };

uint64_t sim_objects_describe(struct sim_device *device, uint64_t address, char *out,
                              size_t out_bytes)
{
    uint64_t far = 0;
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    const struct gpusim_object *freed = NULL;
    unsigned many = sizeof(device->freed) / sizeof(device->freed[0]);
    for (unsigned i = 0; i < many && i < device->freed_next; i++) {
        const struct gpusim_object *object = &device->freed[(device->freed_next - 1 - i) % many];
        if (address - object->address < object->size_bytes) {
            freed = object;
            break;
        }
    }
    const struct base_interval *inside = base_intervals_find(device->live, address);
    struct base_interval *below = base_intervals_before(device->live, address);
    struct base_interval *above = base_intervals_after(device->live, address);
    if (inside) {
        const struct gpusim_object *object = (struct gpusim_object *)(uintptr_t)inside->value;
        snprintf(out, out_bytes, "byte %llu of object %llu (%s, %llu bytes at 0x%llx)",
                 (unsigned long long)(address - object->address), (unsigned long long)object->id,
                 object->name, (unsigned long long)object->size_bytes,
                 (unsigned long long)object->address);
    } else if (freed) {
        snprintf(out, out_bytes, "use after free: byte %llu of object %llu (%s, %llu bytes)",
                 (unsigned long long)(address - freed->address), (unsigned long long)freed->id,
                 freed->name, (unsigned long long)freed->size_bytes);
    } else if (address < NEAR_NULL) {
        snprintf(out, out_bytes, "a null pointer");
    } else if (below && (!above || address - below->last < above->start - address)) {
        far = address - below->last;
        const struct gpusim_object *object = (struct gpusim_object *)(uintptr_t)below->value;
        snprintf(out, out_bytes, "%llu bytes beyond object %llu (%s, %llu bytes at 0x%llx)",
                 (unsigned long long)far, (unsigned long long)object->id, object->name,
                 (unsigned long long)object->size_bytes, (unsigned long long)object->address);
    } else if (above) {
        far = above->start - address;
        const struct gpusim_object *object = (struct gpusim_object *)(uintptr_t)above->value;
        snprintf(out, out_bytes, "%llu bytes before object %llu (%s, %llu bytes at 0x%llx)",
                 (unsigned long long)far, (unsigned long long)object->id, object->name,
                 (unsigned long long)object->size_bytes, (unsigned long long)object->address);
    } else {
        far = UINT64_MAX;
        snprintf(out, out_bytes, "there is no live object");
    }
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
    return far;
}
