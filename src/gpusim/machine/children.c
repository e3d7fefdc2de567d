// SPDX-License-Identifier: Apache-2.0
// Decides when the tasks of a root start. A task starts when the tasks before it in its stream are
// complete; a tail launch, when all else of its parent is. Tasks that may start are started in the
// order in which they became ready, before further blocks of the root, so that few are pending.
#include "children.h"

#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "objects.h"
#include "streams.h"
#include "transfers.h"

// Attempts of blocks to get a slot while others run, until none is expected any more: those others
// may themselves wait for something that a waiting block does.
enum { MOST_ATTEMPTS = 1 << 20 };

// Buffers for parameters: the smallest, and how much memory is taken for several.
enum { LEAST_PARAMS = 64, CHUNK_BYTES = 1 << 16 };

static void lock(struct sim_family *family)
{
    gpusim_lock(&family->root->device->lock, GPUSIM_RANK_DEVICE);
}

static void unlock(struct sim_family *family)
{
    gpusim_unlock(&family->root->device->lock, GPUSIM_RANK_DEVICE);
}

// --- Tasks ---------------------------------------------------------------------------------------

static void free_task(struct sim_task *task)
{
    free(task->run.tids);
    free(task->params);
    base_array_fini(&task->after);
    free(task);
}

void sim_task_release(struct sim_task *task)
{
    if (!task || --task->references)
        return;
    *task->live_at = task->live_next;
    if (task->live_next)
        task->live_next->live_at = task->live_at;
    free_task(task);
}

void sim_family_init(struct sim_family *family, struct sim_run *root)
{
    *family = (struct sim_family){.root = root, .blocks = root->block_total};
    family->ready_end = &family->ready;
    family->top = (struct sim_task){.references = 1, .open = 1, .begun = true};
    root->root = root;
    root->family = family;
    root->task = &family->top;
}

void sim_family_fini(struct sim_family *family)
{
    struct sim_device *device = family->root->device;
    sim_streams_drop(&family->top);
    // Tasks are left if the launch has failed. Those with streams are not complete, so that
    // dropping the streams does not free them.
    for (struct sim_task *task = family->live; task; task = task->live_next)
        sim_streams_drop(task);
    for (struct sim_task *task = family->live, *next; task; task = next) {
        next = task->live_next;
        free_task(task);
    }
    base_array_fini(&family->top.after);
    for (size_t i = 0; i < family->chunks.count; i++) {
        struct sim_chunk *chunk = &family->chunks.items[i];
        sim_object_remove(device, (uint64_t)(uintptr_t)chunk->memory);
        for (uint64_t k = 0; k < chunk->bytes / chunk->buffer_bytes; k++)
            free(chunk->kept[k]);
        free(chunk->kept);
        free(chunk->memory);
    }
    base_array_fini(&family->chunks);
}

static void make_ready(struct sim_family *family, struct sim_task *task)
{
    task->next = NULL;
    *family->ready_end = task;
    family->ready_end = &task->next;
    atomic_fetch_add(&family->startable, 1);
    pthread_cond_broadcast(&family->root->device->work);
    pthread_cond_broadcast(&family->root->finished);
}

// A part of the task has ended: its own work, or a task that it waits for.
static void part_ended(struct sim_family *family, struct sim_task *task)
{
    while (--task->open == 0) {
        if (task->tail) {
            struct sim_task *tail = task->tail;
            task->tail = tail->next;
            task->open = 1;
            make_ready(family, tail);
            return;
        }
        task->complete = true;
        for (size_t i = 0; i < task->after.count; i++) {
            if (--task->after.items[i]->blocked == 0)
                make_ready(family, task->after.items[i]);
        }
        struct sim_task *parent = task->parent;
        if (!parent) {
            family->done = true;
            pthread_cond_broadcast(&family->root->finished);
            return;
        }
        sim_task_release(task);
        task = parent;
    }
}

// --- Starting and ending -------------------------------------------------------------------------

static void pop_ready(struct sim_family *family)
{
    family->ready = family->ready->next;
    if (!family->ready)
        family->ready_end = &family->ready;
    atomic_fetch_sub(&family->startable, 1);
}

static void begin_task(struct sim_family *family, struct sim_task *task)
{
    task->begun = true;
    family->slots -= task->takes_slot;
    family->attempts = 0;
}

bool sim_family_take(struct sim_family *family, struct sim_run **run, uint64_t *number)
{
    bool found = false;
    if (!atomic_load(&family->startable))
        return false;
    lock(family);
    while (family->ready && !found && !atomic_load(&family->root->stop)) {
        struct sim_task *task = family->ready;
        if (!task->begun)
            begin_task(family, task);
        if (task->kind != TASK_GRID) {
            pop_ready(family);
            family->running++;
            unlock(family);
            sim_transfer_run(family, task);
            lock(family);
            part_ended(family, task);
            family->running--;
            continue;
        }
        if (!task->run.tids && !sim_run_place(&task->run)) {
            unlock(family);
            sim_run_no_memory(family->root);
            return false;
        }
        *run = &task->run;
        *number = atomic_fetch_add(&task->run.next_cluster, 1);
        found = true;
        if (!*number) {
            task->run.first_block = family->blocks;
            family->blocks += task->run.block_total;
            task->run.objects = family->root->objects;
        }
        family->running += task->run.cluster_blocks;
        if (*number + 1 == task->run.cluster_total)
            pop_ready(family);
    }
    unlock(family);
    return found;
}

void sim_family_end(struct sim_run *run, bool waited)
{
    struct sim_family *family = run->family;
    const bool is_child = run->task->parent;
    // The run may be freed by another thread as soon as its last block has ended.
    const bool is_last = atomic_fetch_add(&run->done_blocks, 1) + 1 >= run->block_total;
    if (!is_child && !waited && (!is_last || atomic_load(&family->root->stop)))
        return;
    lock(family);
    if (is_last && !atomic_load(&family->root->stop)) {
        sim_streams_drop(run->task);
        if (is_child) {
            free(run->tids);
            run->tids = NULL;
        }
        part_ended(family, run->task);
    }
    family->running -= is_child;
    family->waiting -= waited;
    unlock(family);
}

// --- Requests ------------------------------------------------------------------------------------

// Returns the number of blocks that have begun and not ended. The root's are not counted one by
// one, because most launches have no others.
static uint64_t running_blocks(struct sim_family *family)
{
    struct sim_run *root = family->root;
    const uint64_t taken = atomic_load(&root->next_cluster);
    const uint64_t clusters = taken < root->cluster_total ? taken : root->cluster_total;
    return family->running + clusters * root->cluster_blocks - atomic_load(&root->done_blocks);
}

enum sim_slot sim_family_reserve(struct sim_block *block, uint32_t count)
{
    struct sim_family *family = block->launch->family;
    enum sim_slot result = SLOT_TAKEN;
    lock(family);
    if (family->slots + count <= family->root->device->slots) {
        family->slots += count;
        family->waiting -= block->wants_slot;
        block->wants_slot = false;
    } else {
        const uint64_t waiting = family->waiting + !block->wants_slot;
        const bool others = running_blocks(family) > waiting && ++family->attempts < MOST_ATTEMPTS;
        result = atomic_load(&family->startable) || others ? SLOT_WAIT : SLOT_NONE;
        family->waiting -= block->wants_slot;
        block->wants_slot = result == SLOT_WAIT;
        family->waiting += block->wants_slot;
    }
    unlock(family);
    return result;
}

void sim_family_give_back(struct sim_block *block, uint32_t count)
{
    struct sim_family *family = block->launch->family;
    lock(family);
    family->slots -= count;
    family->attempts = 0;
    unlock(family);
}

// Returns the place that remembers what the buffer at the address is for, or NULL if there is none.
static struct sim_params **kept_at(const struct sim_family *family, uint64_t address)
{
    for (size_t i = 0; i < family->chunks.count; i++) {
        const struct sim_chunk *chunk = &family->chunks.items[i];
        const uint64_t at = address - (uint64_t)(uintptr_t)chunk->memory;
        if (at < chunk->bytes && at % chunk->buffer_bytes == 0)
            return &chunk->kept[at / chunk->buffer_bytes];
    }
    return NULL;
}

static const struct sim_chunk *new_chunk(struct sim_family *family, uint64_t buffer_bytes)
{
    struct sim_device *device = family->root->device;
    const uint64_t bytes = buffer_bytes < CHUNK_BYTES ? CHUNK_BYTES : buffer_bytes;
    void *memory = NULL;
    struct sim_params **kept = calloc(bytes / buffer_bytes, sizeof(struct sim_params *));
    struct sim_chunk *chunk = base_array_push(&family->chunks);
    if (!chunk || !kept || posix_memalign(&memory, LEAST_PARAMS, bytes) != 0 ||
        sim_object_add(device, (uint64_t)(uintptr_t)memory, bytes, GPUSIM_OBJECT_DEVICE,
                       "parameters of launches by kernels", NULL) != BASE_OK) {
        free(memory);
        free(kept);
        family->chunks.count -= chunk != NULL;
        return NULL;
    }
    memset(memory, 0, bytes);
    chunk->memory = memory;
    chunk->bytes = bytes;
    chunk->buffer_bytes = buffer_bytes;
    chunk->kept = kept;
    return chunk;
}

// Returns unused memory for a buffer of the class, or 0.
static uint64_t buffer_of(struct sim_family *family, uint32_t class, uint64_t bytes)
{
    uint64_t *unused = &family->unused[class];
    if (!*unused) {
        const struct sim_chunk *chunk = new_chunk(family, bytes);
        for (uint64_t at = 0; chunk && at + bytes <= chunk->bytes; at += bytes) {
            memcpy(chunk->memory + at, unused, sizeof(*unused));
            *unused = (uint64_t)(uintptr_t)(chunk->memory + at);
        }
    }
    const uint64_t address = *unused;
    if (address)
        memcpy(unused, (void *)(uintptr_t)address, sizeof(*unused));
    return address;
}

uint64_t sim_family_buffer(struct sim_family *family, const struct sim_params *params)
{
    uint32_t class = 0;
    while (class + 1 < PARAM_CLASSES && (uint64_t)LEAST_PARAMS << class < params->bytes)
        class ++;
    const uint64_t bytes = (uint64_t)LEAST_PARAMS << class;
    struct sim_params *kept = malloc(sizeof(*kept));
    if (!kept || params->bytes > bytes) {
        free(kept);
        return 0;
    }
    *kept = *params;
    kept->room_class = class;
    lock(family);
    const uint64_t address = buffer_of(family, class, bytes);
    struct sim_params **place = address ? kept_at(family, address) : NULL;
    if (place)
        *place = kept;
    unlock(family);
    if (!place)
        free(kept);
    return place ? address : 0;
}

bool sim_family_buffer_take(struct sim_family *family, uint64_t address, struct sim_params *params)
{
    lock(family);
    struct sim_params **place = kept_at(family, address);
    const bool found = place && *place;
    if (found) {
        *params = **place;
        free(*place);
        *place = NULL;
        void *buffer = (void *)(uintptr_t)address;
        uint64_t *unused = &family->unused[params->room_class];
        params->values = malloc(params->bytes + 1u);
        if (params->values)
            memcpy(params->values, buffer, params->bytes);
        memcpy(buffer, unused, sizeof(*unused));
        *unused = address;
    }
    unlock(family);
    return found && params->values;
}

struct sim_task *sim_family_task(struct sim_block *block, enum sim_task_kind kind)
{
    struct sim_family *family = block->launch->family;
    struct sim_task *task = calloc(1, sizeof(*task));
    if (!task)
        return NULL;
    task->kind = kind;
    task->parent = block->launch->task;
    task->depth = task->parent->depth + 1;
    task->references = 1;
    task->open = 1;
    task->run.root = family->root;
    task->run.family = family;
    task->run.task = task;
    task->run.device = family->root->device;
    task->run.request = &task->request;
    lock(family);
    task->request.id = family->root->request->id + (++family->grids << 32);
    task->live_next = family->live;
    task->live_at = &family->live;
    if (family->live)
        family->live->live_at = &task->live_next;
    family->live = task;
    unlock(family);
    return task;
}

bool sim_family_submit(struct sim_family *family, struct sim_task *task, enum sim_place place,
                       struct sim_stream *stream)
{
    struct sim_task *parent = task->parent;
    bool good = true;
    lock(family);
    if (place == PLACE_TAIL) {
        task->depth = parent->depth; // a grid may launch itself again and again
        if (parent->tail)
            parent->last_tail->next = task;
        else
            parent->tail = task;
        parent->last_tail = task;
    } else {
        parent->open++;
        if (place == PLACE_STREAM)
            good = sim_stream_append(task, stream);
        if (!task->blocked)
            make_ready(family, task);
    }
    unlock(family);
    if (!good)
        sim_run_no_memory(family->root);
    return good;
}

void sim_device_set_slots(struct sim_device *device, uint64_t count)
{
    gpusim_lock(&device->lock, GPUSIM_RANK_DEVICE);
    device->slots = count;
    gpusim_unlock(&device->lock, GPUSIM_RANK_DEVICE);
}
