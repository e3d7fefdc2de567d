// SPDX-License-Identifier: Apache-2.0
// Spare shared memory: see spare.h. A block that takes more shared memory than the program's may
// leave no room for another one, for which it may wait. glint asks the driver once for each shape
// how many blocks fit with and without, and keeps the answer with the clone.
#include "spare.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT_MOST = 64 }; // answers kept for a clone; for other shapes the driver is asked each time

// How many blocks of the clone run at once, for one combination of what that depends on.
struct probe_room {
    struct probe_room *next;
    uint32_t threads, shared_bytes, spare_bytes, cluster[3];
    uint32_t settings;      // of the kernel, when the driver was asked
    uint64_t without, with; // blocks; with 0: the driver does not accept it
};

static bool is_of(const struct probe_room *room, const struct probe_room *wanted)
{
    return room->threads == wanted->threads && room->shared_bytes == wanted->shared_bytes &&
           room->spare_bytes == wanted->spare_bytes && room->settings == wanted->settings &&
           memcmp(room->cluster, wanted->cluster, sizeof(room->cluster)) == 0;
}

// Raises the clone's limit to so many bytes of dynamic shared memory. It is never lowered again:
// another thread may be about to launch. False: the driver refuses.
static bool raise_limit(struct probe_clone *clone, uint32_t bytes)
{
    int limit = 0;
    uint32_t raised = atomic_load(&clone->raised);
    if (REAL(cuFuncGetAttribute)(&limit, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                 clone->function) != CUDA_SUCCESS)
        return false;
    if ((uint32_t)limit >= bytes)
        return true;
    while (raised < bytes && !atomic_compare_exchange_weak(&clone->raised, &raised, bytes))
        ;
    raised = atomic_load(&clone->raised);
    const CUfunction_attribute attribute = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    if (REAL(cuFuncSetAttribute)(clone->function, attribute, (int)raised) == CUDA_SUCCESS &&
        (!clone->light ||
         REAL(cuFuncSetAttribute)(clone->light, attribute, (int)raised) == CUDA_SUCCESS))
        return true;
    // More than a block can have.
    atomic_compare_exchange_strong(&clone->raised, &raised, (uint32_t)limit);
    return false;
}

static void ask(struct probe_room *room, struct probe_clone *clone,
                const struct core_context *context, const struct probe_shape *shape)
{
    CUstreamCaptureMode mode;
    struct probe_shape more = *shape;
    const bool relaxed = probe_relax(&mode);
    more.shared_bytes = instrument_spare_at(shape->shared_bytes) + room->spare_bytes;
    if (raise_limit(clone, more.shared_bytes)) {
        room->without = probe_fit_blocks(clone->function, context, shape);
        room->with = probe_fit_blocks(clone->function, context, &more);
        if (room->with == UINT64_MAX || room->without == UINT64_MAX)
            room->with = 0;
    }
    probe_unrelax(relaxed, &mode);
}

// If two threads add the same shape, a search returns the newer entry.
static void keep(struct probe_clone *clone, const struct probe_room *room)
{
    struct probe_room *kept = malloc(sizeof(*kept));
    if (!kept)
        return;
    *kept = *room;
    kept->next = atomic_load(&clone->rooms);
    while (!atomic_compare_exchange_weak(&clone->rooms, &kept->next, kept))
        ;
}

// Blocks that do not wait for each other need not run at once. The kernel is then slower, but not
// as slow as without spare memory.
static bool is_enough(const struct probe_kernel *kernel, const struct probe_room *room,
                      const struct probe_shape *shape)
{
    const bool clusters = shape->cluster[0] > 1 || shape->cluster[1] > 1 || shape->cluster[2] > 1;
    return room->with && (room->with >= room->without ||
                          (!kernel->about->may_wait && !shape->cooperative && !clusters));
}

bool probe_spare_fits(const struct probe_kernel *kernel, struct probe_clone *clone,
                      const struct core_context *context, const struct probe_shape *shape,
                      uint32_t bytes)
{
    struct probe_room room = {
        .threads = shape->block[0] * shape->block[1] * shape->block[2],
        .shared_bytes = shape->shared_bytes,
        .spare_bytes = bytes,
        .cluster = {shape->cluster[0], shape->cluster[1], shape->cluster[2]},
        .settings = atomic_load_explicit(&kernel->settings, memory_order_relaxed),
    };
    if (!bytes || shape->shared_bytes > INT32_MAX - bytes - INSTRUMENT_SPARE_ALIGN)
        return false;
    const struct probe_room *known = atomic_load_explicit(&clone->rooms, memory_order_acquire);
    unsigned count = 0;
    for (; known && !is_of(known, &room); known = known->next)
        count++;
    if (!known) {
        ask(&room, clone, context, shape);
        if (count < KEPT_MOST)
            keep(clone, &room);
        known = &room;
    }
    return is_enough(kernel, known, shape);
}

void probe_spare_free(struct probe_clone *clone)
{
    for (struct probe_room *room = atomic_load(&clone->rooms); room;) {
        struct probe_room *next = room->next;
        free(room);
        room = next;
    }
}
