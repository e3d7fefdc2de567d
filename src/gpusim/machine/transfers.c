// SPDX-License-Identifier: Apache-2.0
// Copies and fills that kernels request, row by row, with a check of each.
#include "transfers.h"

#include <stdio.h>
#include <string.h>

#include "gpusim/log/write.h"
#include "objects.h"

// Returns the object that holds a row, if the device's kernels may access all of it.
static bool holds(struct sim_device *device, const struct sim_box *box, uint64_t y, uint64_t z,
                  uint64_t width, struct gpusim_object *object)
{
    const uint64_t at = box->address + z * box->slice + y * box->pitch;
    return sim_objects_find_now(device, at, object) &&
           object->size_bytes - (at - object->address) >= width;
}

static void box_fails(struct sim_family *family, const struct sim_task *task,
                      const struct sim_box *box)
{
    struct sim_run *root = family->root;
    const unsigned long long bytes = task->width * task->height * task->depth_of_box;
    gpusim_lock(&root->lock, GPUSIM_RANK_RUN);
    if (root->fault.kind == SIM_FAULT_NONE) {
        root->fault.kind = SIM_FAULT_ADDRESS;
        snprintf(root->fault.text, sizeof(root->fault.text),
                 "kernel %s: a %s that it requested, of %llu bytes at 0x%llx, goes beyond the "
                 "memory of an object",
                 task->parent->parent ? task->parent->run.code->name : root->code->name,
                 task->kind == TASK_COPY ? "copy" : "fill", bytes,
                 (unsigned long long)box->address);
    }
    gpusim_unlock(&root->lock, GPUSIM_RANK_RUN);
    atomic_store(&root->stop, true);
}

static void log_box(const struct sim_family *family, const struct sim_task *task,
                    const struct gpusim_object *to, const struct gpusim_object *from)
{
    const struct sim_launch *request = family->root->request;
    const struct gpusim_log_rows written = {task->to.address, task->to.pitch, task->to.slice, &to,
                                            1};
    if (task->kind == TASK_COPY) {
        const struct gpusim_log_copy copy = {
            .call = request->call,
            .stream = request->stream,
            .width = task->width,
            .height = task->height,
            .depth = task->depth_of_box,
            .to = written,
            .from = {task->from.address, task->from.pitch, task->from.slice, &from, 1}};
        log_copy(family->root->device->log, &copy);
        return;
    }
    for (uint64_t z = 0; z < task->depth_of_box; z++) {
        struct gpusim_log_fill fill = {.call = request->call,
                                       .stream = request->stream,
                                       .width = task->width,
                                       .height = task->height,
                                       .to = written,
                                       .value = task->value,
                                       .value_bytes = 1};
        fill.to.address += z * task->to.slice;
        log_fill(family->root->device->log, &fill);
    }
}

void sim_transfer_run(struct sim_family *family, const struct sim_task *task)
{
    struct sim_device *device = family->root->device;
    struct gpusim_object to = {0}, from = {0};
    if (!task->width || !task->height || !task->depth_of_box)
        return;
    for (uint64_t z = 0; z < task->depth_of_box; z++) {
        for (uint64_t y = 0; y < task->height; y++) {
            if (!holds(device, &task->to, y, z, task->width, &to)) {
                box_fails(family, task, &task->to);
                return;
            }
            if (task->kind == TASK_COPY && !holds(device, &task->from, y, z, task->width, &from)) {
                box_fails(family, task, &task->from);
                return;
            }
            void *row =
                (void *)(uintptr_t)(task->to.address + z * task->to.slice + y * task->to.pitch);
            if (task->kind == TASK_FILL)
                memset(row, task->value, task->width);
            else
                memmove(row,
                        (const void *)(uintptr_t)(task->from.address + z * task->from.slice +
                                                  y * task->from.pitch),
                        task->width);
        }
    }
    log_box(family, task, &to, &from);
}
