// SPDX-License-Identifier: Apache-2.0
// The map of live objects, which all devices of a machine share, and which devices may access them.
// A launch uses an immutable sorted snapshot, which is rebuilt at its start if the map has changed.
// The objects that were freed last are kept for messages.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpusim/log/write.h"
#include "machine.h"
#include "objects.h"

static struct sim_object *object_of(const struct base_interval *interval)
{
    return (struct sim_object *)(uintptr_t)interval->value;
}

struct sim_memory *sim_memory_create(void)
{
    struct sim_memory *memory = calloc(1, sizeof(*memory));
    struct base_intervals *live = calloc(1, sizeof(*live));
    if (!memory || !live) {
        free(memory);
        free(live);
        return NULL;
    }
    base_intervals_init(live, 0);
    memory->live = live;
    pthread_mutex_init(&memory->lock, NULL);
    return memory;
}

void sim_memory_destroy(struct sim_memory *memory)
{
    struct base_intervals_walk walk;
    for (struct base_interval *at = base_intervals_first(memory->live, &walk); at;
         at = base_intervals_next(&walk)) {
        struct sim_object *made = object_of(at);
        if (made->object.kind == GPUSIM_OBJECT_HEAP)
            free((void *)(uintptr_t)made->object.address);
        free(made);
    }
    base_intervals_fini(memory->live);
    base_map_fini(&memory->textures);
    sim_objects_put(memory->snapshot);
    base_buf_fini(&memory->output);
    pthread_mutex_destroy(&memory->lock);
    free(memory->live);
    free(memory);
}

// The caller holds memory->lock.
static void drop_snapshot(struct sim_memory *memory)
{
    sim_objects_put(memory->snapshot);
    memory->snapshot = NULL;
}

enum base_code sim_object_add(struct sim_device *device, uint64_t address, uint64_t size_bytes,
                              enum gpusim_object_kind kind, const char *name,
                              struct base_error *error)
{
    struct sim_memory *memory = device->memory;
    struct sim_object *made = malloc(sizeof(*made));
    if (!made)
        return base_no_memory_while(error, "for an object");
    gpusim_lock(&memory->lock, GPUSIM_RANK_MEMORY);
    *made = (struct sim_object){.object = {.id = ++memory->next_object,
                                           .device = device->number,
                                           .address = address,
                                           .size_bytes = size_bytes,
                                           .kind = kind,
                                           .name = name}};
    struct base_interval *conflict = NULL;
    enum base_code code = base_intervals_insert(memory->live, address, size_bytes,
                                                (uint64_t)(uintptr_t)made, &conflict);
    if (code == BASE_OK)
        drop_snapshot(memory);
    if (code == BASE_OK)
        log_object(device->log, &made->object);
    gpusim_unlock(&memory->lock, GPUSIM_RANK_MEMORY);
    if (code != BASE_OK) {
        free(made);
        return base_fail(error, code, "an object of %llu bytes at 0x%llx cannot be added",
                         (unsigned long long)size_bytes, (unsigned long long)address);
    }
    return BASE_OK;
}

bool sim_object_remove(struct sim_device *device, uint64_t address)
{
    struct sim_memory *memory = device->memory;
    gpusim_lock(&memory->lock, GPUSIM_RANK_MEMORY);
    struct base_interval *found = base_intervals_find(memory->live, address);
    bool starts = found && found->start == address;
    if (starts) {
        struct sim_object *ended = object_of(found);
        const size_t many = sizeof(memory->freed) / sizeof(memory->freed[0]);
        memory->freed[memory->freed_next++ % many] = ended->object;
        base_intervals_remove(memory->live, address, NULL);
        if (ended->object.kind == GPUSIM_OBJECT_HEAP)
            atomic_fetch_add(&memory->heap_ends, 1);
        log_object_end(device->log, ended->object.id);
        free(ended);
        drop_snapshot(memory);
    }
    gpusim_unlock(&memory->lock, GPUSIM_RANK_MEMORY);
    return starts;
}

bool sim_object_find(struct sim_device *device, uint64_t address, struct gpusim_object *object)
{
    struct sim_memory *memory = device->memory;
    gpusim_lock(&memory->lock, GPUSIM_RANK_MEMORY);
    struct base_interval *found = base_intervals_find(memory->live, address);
    if (found)
        *object = object_of(found)->object;
    gpusim_unlock(&memory->lock, GPUSIM_RANK_MEMORY);
    return found != NULL;
}

// --- Which devices may access them ---------------------------------------------------------------

// admitted: what sim_device_admit() set for each device.
static bool may_access(const struct sim_object *at, const uint32_t *admitted, uint32_t device)
{
    switch (at->object.kind) {
    case GPUSIM_OBJECT_HOST:
    case GPUSIM_OBJECT_MANAGED: return true;
    case GPUSIM_OBJECT_POOL:
    case GPUSIM_OBJECT_MAPPED:
        // Mapped memory has an own device only in that it lies there.
        return at->admitted ? at->admitted >> device & 1 : at->object.device == device;
    default: return at->object.device == device || (admitted[at->object.device] >> device & 1);
    }
}

void sim_device_admit(struct sim_device *device, uint32_t devices)
{
    struct sim_memory *memory = device->memory;
    gpusim_lock(&memory->lock, GPUSIM_RANK_MEMORY);
    memory->admitted[device->number] = devices;
    drop_snapshot(memory);
    gpusim_unlock(&memory->lock, GPUSIM_RANK_MEMORY);
}

void sim_object_admit(struct sim_device *device, uint64_t address, uint32_t devices)
{
    struct sim_memory *memory = device->memory;
    gpusim_lock(&memory->lock, GPUSIM_RANK_MEMORY);
    const struct base_interval *found = base_intervals_find(memory->live, address);
    if (found && found->start == address) {
        object_of(found)->admitted = devices;
        drop_snapshot(memory);
    }
    gpusim_unlock(&memory->lock, GPUSIM_RANK_MEMORY);
}

bool sim_objects_find_now(struct sim_device *device, uint64_t address, struct gpusim_object *object)
{
    struct sim_memory *memory = device->memory;
    gpusim_lock(&memory->lock, GPUSIM_RANK_MEMORY);
    const struct base_interval *found = base_intervals_find(memory->live, address);
    const bool may = found && may_access(object_of(found), memory->admitted, device->number);
    if (may)
        *object = object_of(found)->object;
    gpusim_unlock(&memory->lock, GPUSIM_RANK_MEMORY);
    return may;
}

bool sim_object_admits(struct sim_device *device, uint64_t address)
{
    struct gpusim_object object;
    return sim_objects_find_now(device, address, &object);
}

bool sim_objects_next(struct sim_device *device, enum gpusim_object_kind kind,
                      struct gpusim_object *object)
{
    struct sim_memory *memory = device->memory;
    gpusim_lock(&memory->lock, GPUSIM_RANK_MEMORY);
    const struct base_interval *at = base_intervals_after(memory->live, object->address);
    while (at &&
           (object_of(at)->object.kind != kind || object_of(at)->object.device != device->number))
        at = base_intervals_after(memory->live, at->start);
    if (at)
        *object = object_of(at)->object;
    gpusim_unlock(&memory->lock, GPUSIM_RANK_MEMORY);
    return at != NULL;
}

// The caller holds memory->lock.
static struct sim_objects *make_snapshot(const struct sim_memory *memory)
{
    size_t count = base_intervals_count(memory->live);
    struct sim_objects *objects = malloc(sizeof(*objects) + count * sizeof(objects->items[0]));
    if (!objects)
        return NULL;
    atomic_init(&objects->references, 1);
    objects->count = 0;
    memcpy(objects->admitted, memory->admitted, sizeof(objects->admitted));
    struct base_intervals_walk walk;
    for (struct base_interval *at = base_intervals_first(memory->live, &walk); at;
         at = base_intervals_next(&walk))
        objects->items[objects->count++] = *object_of(at);
    return objects;
}

struct sim_objects *sim_objects_get(struct sim_device *device)
{
    struct sim_memory *memory = device->memory;
    gpusim_lock(&memory->lock, GPUSIM_RANK_MEMORY);
    if (!memory->snapshot)
        memory->snapshot = make_snapshot(memory);
    struct sim_objects *objects = memory->snapshot;
    if (objects)
        atomic_fetch_add(&objects->references, 1);
    gpusim_unlock(&memory->lock, GPUSIM_RANK_MEMORY);
    return objects;
}

void sim_objects_put(struct sim_objects *objects)
{
    if (objects && atomic_fetch_sub(&objects->references, 1) == 1)
        free(objects);
}

const struct gpusim_object *sim_objects_find(const struct sim_objects *objects,
                                             const struct sim_device *device, uint64_t address)
{
    size_t next = base_search(0, objects->count, i, objects->items[i].object.address <= address);
    if (!next)
        return NULL;
    const struct sim_object *at = &objects->items[next - 1];
    return address - at->object.address < at->object.size_bytes &&
                   may_access(at, objects->admitted, device->number)
               ? &at->object
               : NULL;
}

// --- Textures ------------------------------------------------------------------------------------

enum base_code sim_texture_add(struct sim_device *device, const struct sim_texture *texture)
{
    struct sim_memory *memory = device->memory;
    gpusim_lock(&memory->lock, GPUSIM_RANK_MEMORY);
    uint64_t *place = base_map_put(&memory->textures, (uintptr_t)texture, NULL);
    gpusim_unlock(&memory->lock, GPUSIM_RANK_MEMORY);
    return place ? BASE_OK : BASE_NO_MEMORY;
}

void sim_texture_remove(struct sim_device *device, const struct sim_texture *texture)
{
    struct sim_memory *memory = device->memory;
    gpusim_lock(&memory->lock, GPUSIM_RANK_MEMORY);
    base_map_remove(&memory->textures, (uintptr_t)texture);
    gpusim_unlock(&memory->lock, GPUSIM_RANK_MEMORY);
}

bool sim_objects_is_texture(struct sim_device *device, const struct sim_texture *texture)
{
    struct sim_memory *memory = device->memory;
    gpusim_lock(&memory->lock, GPUSIM_RANK_MEMORY);
    bool is = base_map_get(&memory->textures, (uintptr_t)texture) != NULL;
    gpusim_unlock(&memory->lock, GPUSIM_RANK_MEMORY);
    return is;
}

// --- Messages ------------------------------------------------------------------------------------

// Farther away than FAR_BYTES, the nearest object has probably nothing to do with the access.
enum { NEAR_NULL = 4096, FAR_BYTES = 256 << 20 };

// What gives a device access to memory of another.
static const char *giver_of(enum gpusim_object_kind kind)
{
    switch (kind) {
    case GPUSIM_OBJECT_POOL: return "cudaMemPoolSetAccess";
    case GPUSIM_OBJECT_MAPPED: return "cuMemSetAccess";
    default: return "cudaDeviceEnablePeerAccess";
    }
}

// Describes an object, of which device it is if not of this one, and which access is missing. The
// caller holds memory->lock.
static void describe_object(const struct sim_device *device, const struct sim_object *at, char *out,
                            size_t out_bytes)
{
    const struct gpusim_object *object = &at->object;
    char whose[32] = "", missing[96] = "";
    if (object->device != device->number)
        snprintf(whose, sizeof(whose), " of device %u", object->device);
    if (!may_access(at, device->memory->admitted, device->number))
        snprintf(missing, sizeof(missing), ", to which device %u has no access (%s gives it)",
                 device->number, giver_of(object->kind));
    snprintf(out, out_bytes, "object %llu (%.120s, %llu bytes at 0x%llx)%s%s",
             (unsigned long long)object->id, object->name, (unsigned long long)object->size_bytes,
             (unsigned long long)object->address, whose, missing);
}

uint64_t sim_objects_describe(struct sim_device *device, uint64_t address, char *out,
                              size_t out_bytes)
{
    uint64_t far = 0;
    char what[320];
    struct sim_memory *memory = device->memory;
    gpusim_lock(&memory->lock, GPUSIM_RANK_MEMORY);
    const struct gpusim_object *freed = NULL;
    unsigned many = sizeof(memory->freed) / sizeof(memory->freed[0]);
    for (unsigned i = 0; i < many && i < memory->freed_next; i++) {
        const struct gpusim_object *object = &memory->freed[(memory->freed_next - 1 - i) % many];
        if (address - object->address < object->size_bytes) {
            freed = object;
            break;
        }
    }
    const struct base_interval *inside = base_intervals_find(memory->live, address);
    struct base_interval *below = base_intervals_before(memory->live, address);
    struct base_interval *above = base_intervals_after(memory->live, address);
    if (inside) {
        describe_object(device, object_of(inside), what, sizeof(what));
        snprintf(out, out_bytes, "byte %llu of %s", (unsigned long long)(address - inside->start),
                 what);
    } else if (freed) {
        snprintf(out, out_bytes, "use after free: byte %llu of object %llu (%s, %llu bytes)",
                 (unsigned long long)(address - freed->address), (unsigned long long)freed->id,
                 freed->name, (unsigned long long)freed->size_bytes);
    } else if (address < NEAR_NULL) {
        snprintf(out, out_bytes, "a null pointer");
    } else if (below && (!above || address - below->last < above->start - address)) {
        far = address - below->last;
        describe_object(device, object_of(below), what, sizeof(what));
        snprintf(out, out_bytes, "%llu bytes beyond %s", (unsigned long long)far, what);
    } else if (above) {
        far = above->start - address;
        describe_object(device, object_of(above), what, sizeof(what));
        snprintf(out, out_bytes, "%llu bytes before %s", (unsigned long long)far, what);
    } else {
        far = UINT64_MAX;
        snprintf(out, out_bytes, "there is no live object");
    }
    if (far > FAR_BYTES && far != UINT64_MAX)
        snprintf(out, out_bytes, "no live object is near");
    gpusim_unlock(&memory->lock, GPUSIM_RANK_MEMORY);
    return far;
}
