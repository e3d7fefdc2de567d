// SPDX-License-Identifier: Apache-2.0
// Implements the functions of the device runtime that request work, and those of streams, events
// and memory: checks their arguments as CUDA documents them. children.c runs what they request.
//
// The runtime allocates the slot of a launch when the kernel asks for a parameter buffer. So the
// errors of a launch are found there, and a NULL buffer tells the kernel to skip the launch.
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "builtins.h"
#include "children.h"
#include "device_call.h"
#include "grid.h"
#include "streams.h"
#include "warp.h"

// --- Kernels -------------------------------------------------------------------------------------

static uint32_t most_dynamic_shared(const struct sim_call *call, const struct sim_kernel *kernel)
{
    const struct sim_device *device = call->block->launch->device;
    const uint32_t taken = kernel->info.static_shared_bytes,
                   room = device->preset->shared_per_block;
    if (device->host && kernel->owner)
        return device->host->dynamic_shared(kernel->owner);
    return taken < room ? room - taken : 0;
}

static int check_launch(const struct sim_call *call, const struct sim_params *launch)
{
    static const uint32_t grid_limit[3] = {2147483647, 65535, 65535};
    static const uint32_t block_limit[3] = {1024, 1024, 64};
    const struct sim_kernel_info *info = &launch->kernel->info;
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (!launch->grid[i] || launch->grid[i] > grid_limit[i] || !launch->block[i] ||
            launch->block[i] > block_limit[i] ||
            (info->required[i] && info->required[i] != launch->block[i]) ||
            (info->cluster[i] && !info->blocks_are_clusters && launch->grid[i] % info->cluster[i]))
            return CALL_INVALID_CONFIGURATION;
        threads *= launch->block[i];
    }
    if (threads > info->max_threads || threads > 1024)
        return CALL_INVALID_CONFIGURATION;
    return launch->shared_bytes > most_dynamic_shared(call, launch->kernel)
               ? CALL_INVALID_CONFIGURATION
               : CALL_OK;
}

// Takes a slot for a launch. sim_device_runtime_run() has waited until there are enough, if any
// were expected.
static int take_slot(const struct sim_call *call)
{
    if (call->block->launch->task->depth >= MOST_DEPTH)
        return CALL_MAX_DEPTH_EXCEEDED;
    return sim_family_reserve(call->block, 1) == SLOT_TAKEN ? CALL_OK : CALL_PENDING_EXCEEDED;
}

static void read_sizes(const struct sim_call *call, uint32_t first, struct sim_params *launch)
{
    sim_builtin_read(call->warp, call->op, call->lane, first, launch->grid, sizeof(launch->grid));
    sim_builtin_read(call->warp, call->op, call->lane, first + 1, launch->block,
                     sizeof(launch->block));
    launch->shared_bytes = (uint32_t)sim_call_argument(call, first + 2);
}

// Stores the address of a buffer for the launch in *address, or 0.
static int get_buffer(const struct sim_call *call, const struct sim_params *launch,
                      uint64_t *address)
{
    int error = take_slot(call);
    *address = error == CALL_OK ? sim_family_buffer(call->block->launch->family, launch) : 0;
    return error == CALL_OK && !*address ? sim_call_no_memory(call) : error;
}

int sim_request_get_parameter_buffer(const struct sim_call *call, uint64_t *result)
{
    const uint64_t bytes = sim_call_argument(call, 1);
    if (bytes > UINT16_MAX)
        return CALL_INVALID_VALUE;
    const struct sim_params launch = {.bytes = (uint32_t)bytes};
    return get_buffer(call, &launch, result);
}

int sim_request_get_parameter_buffer_2(const struct sim_call *call, uint64_t *result)
{
    struct sim_params launch = {.kernel = sim_call_kernel(call, sim_call_argument(call, 0))};
    if (!launch.kernel)
        return CALL_INVALID_FUNCTION;
    read_sizes(call, 1, &launch);
    launch.bytes = launch.kernel->info.param_bytes;
    const int error = check_launch(call, &launch);
    return error == CALL_OK ? get_buffer(call, &launch, result) : error;
}

static int refuse(const struct sim_call *call, const struct sim_kernel *kernel)
{
    sim_warp_fault(call->warp, call->op, SIM_FAULT_INSTRUCTION, call->lane,
                   "launches kernel %s: %s", kernel->info.name, kernel->code->refused);
    return CALL_FAILED;
}

// --- Requests ------------------------------------------------------------------------------------

// Finds the place of a request; the stream is the argument `index`.
static int find_place(const struct sim_call *call, uint32_t index, enum sim_place *place,
                      struct sim_stream **stream)
{
    enum { STREAM_DEFAULT, STREAM_LEGACY, STREAM_PER_THREAD };
    const uint64_t handle = sim_call_argument(call, index);
    const bool own = handle == STREAM_PER_THREAD || (handle == STREAM_DEFAULT && call->per_thread);
    const uint64_t thread = 1 + (uint64_t)call->warp->index * LANES + (unsigned)call->lane;
    *place = handle <= STREAM_PER_THREAD
                 ? sim_family_place_default(call->block, own ? thread : 0, stream)
                 : sim_family_place(call->block, handle, stream);
    return *place == PLACE_NOWHERE ? CALL_INVALID_HANDLE : CALL_OK;
}

static int submit(const struct sim_call *call, struct sim_task *task, enum sim_place place,
                  struct sim_stream *stream)
{
    task->takes_slot = true;
    return sim_family_submit(call->block->launch->family, task, place, stream) ? CALL_OK
                                                                               : CALL_FAILED;
}

// Launches the kernel with parameters from a buffer.
static int launch_grid(const struct sim_call *call, const struct sim_params *launch,
                       uint32_t stream_index)
{
    enum sim_place place;
    struct sim_stream *stream;
    const int error = find_place(call, stream_index, &place, &stream);
    if (error != CALL_OK)
        return error;
    if (launch->kernel->code->refused)
        return refuse(call, launch->kernel);
    struct sim_task *task = sim_family_task(call->block, TASK_GRID);
    const struct sim_kernel_info *info = &launch->kernel->info;
    const size_t bytes = info->param_bytes;
    if (!task || !(task->params = malloc(bytes + 1)))
        return sim_call_no_memory(call);
    memcpy(task->params, launch->values, bytes);
    task->request.kernel = (struct sim_kernel *)(uintptr_t)launch->kernel;
    memcpy(task->request.grid, launch->grid, sizeof(launch->grid));
    memcpy(task->request.block, launch->block, sizeof(launch->block));
    memcpy(task->request.cluster, info->cluster, sizeof(info->cluster));
    for (int i = 0; info->blocks_are_clusters && info->cluster[0] && i < 3; i++)
        task->request.grid[i] *= info->cluster[i];
    task->request.dynamic_shared_bytes = launch->shared_bytes;
    task->request.params = task->params;
    sim_run_prepare(&task->run);
    return submit(call, task, place, stream);
}

// Checks what version 1 of a launch says beside its buffer, and launches.
static int launch_named(const struct sim_call *call, struct sim_params *launch)
{
    launch->kernel = sim_call_kernel(call, sim_call_argument(call, 0));
    if (!launch->kernel)
        return CALL_INVALID_FUNCTION;
    read_sizes(call, 2, launch);
    if (launch->bytes < launch->kernel->info.param_bytes)
        return CALL_INVALID_VALUE;
    const int error = check_launch(call, launch);
    return error == CALL_OK ? launch_grid(call, launch, 5) : error;
}

// The slot of a launch that fails is free again.
static int end_launch(const struct sim_call *call, const struct sim_params *launch, int error)
{
    free(launch->values);
    if (error != CALL_OK)
        sim_family_give_back(call->block, 1);
    return error;
}

int sim_request_launch_device(const struct sim_call *call, uint64_t *result)
{
    struct sim_params launch;
    (void)result;
    if (!sim_family_buffer_take(call->block->launch->family, sim_call_argument(call, 1), &launch))
        return CALL_INVALID_VALUE;
    return end_launch(call, &launch, launch_named(call, &launch));
}

int sim_request_launch_device_2(const struct sim_call *call, uint64_t *result)
{
    struct sim_params launch;
    (void)result;
    if (!sim_family_buffer_take(call->block->launch->family, sim_call_argument(call, 0), &launch))
        return CALL_INVALID_VALUE;
    return end_launch(call, &launch,
                      launch.kernel ? launch_grid(call, &launch, 1) : CALL_INVALID_VALUE);
}

static int request_box(const struct sim_call *call, const struct sim_task *box,
                       uint32_t stream_index)
{
    enum sim_place place;
    struct sim_stream *stream;
    int error = find_place(call, stream_index, &place, &stream);
    if (error == CALL_OK)
        error = take_slot(call);
    if (error != CALL_OK)
        return error;
    struct sim_task *task = sim_family_task(call->block, box->kind);
    if (!task)
        return sim_call_no_memory(call);
    task->to = box->to;
    task->from = box->from;
    task->width = box->width;
    task->height = box->height;
    task->depth_of_box = box->depth_of_box;
    task->value = box->value;
    return submit(call, task, place, stream);
}

// Returns whether it is the kind of a copy (cudaMemcpyKind) that an H200 accepts from kernels. The
// memory decides what is copied.
static bool is_kind(uint64_t kind)
{
    enum { DEVICE_TO_DEVICE = 3, DEFAULT = 4 };
    return (uint32_t)kind == DEVICE_TO_DEVICE || (uint32_t)kind == DEFAULT;
}

int sim_request_copy_1d(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    if (!is_kind(sim_call_argument(call, 3)))
        return CALL_INVALID_DIRECTION;
    const struct sim_task box = {.kind = TASK_COPY,
                                 .to = {.address = sim_call_argument(call, 0)},
                                 .from = {.address = sim_call_argument(call, 1)},
                                 .width = sim_call_argument(call, 2),
                                 .height = 1,
                                 .depth_of_box = 1};
    return request_box(call, &box, 4);
}

int sim_request_copy_2d(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    const struct sim_task box = {
        .kind = TASK_COPY,
        .to = {sim_call_argument(call, 0), sim_call_argument(call, 1), 0},
        .from = {sim_call_argument(call, 2), sim_call_argument(call, 3), 0},
        .width = sim_call_argument(call, 4),
        .height = sim_call_argument(call, 5),
        .depth_of_box = 1};
    if (!is_kind(sim_call_argument(call, 6)))
        return CALL_INVALID_DIRECTION;
    if (box.width > box.to.pitch || box.width > box.from.pitch)
        return CALL_INVALID_PITCH;
    return request_box(call, &box, 7);
}

// cudaPitchedPtr, cudaPos, cudaExtent and cudaMemcpy3DParms.
struct pitched {
    uint64_t address, pitch, width, height;
};

struct position {
    uint64_t x, y, z;
};

struct copy_params {
    uint64_t from_array;
    struct position from_place;
    struct pitched from;
    uint64_t to_array;
    struct position to_place;
    struct pitched to;
    struct position extent;
    uint64_t kind;
};

static struct sim_box box_of(const struct pitched *memory, const struct position *at)
{
    const uint64_t slice = memory->pitch * memory->height;
    return (struct sim_box){memory->address + at->x + at->y * memory->pitch + at->z * slice,
                            memory->pitch, slice};
}

int sim_request_copy_3d(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    struct copy_params params;
    const uint64_t address = sim_call_argument(call, 0);
    if (!address)
        return CALL_INVALID_VALUE;
    const unsigned char *given =
        sim_access_check(call->warp, call->op, call->lane, address, sizeof(params));
    if (!given)
        return CALL_FAILED;
    memcpy(&params, given, sizeof(params));
    if (params.from_array || params.to_array)
        return CALL_INVALID_VALUE; // kernels cannot copy arrays
    if (!is_kind(params.kind))
        return CALL_INVALID_DIRECTION;
    const struct sim_task box = {.kind = TASK_COPY,
                                 .to = box_of(&params.to, &params.to_place),
                                 .from = box_of(&params.from, &params.from_place),
                                 .width = params.extent.x,
                                 .height = params.extent.y,
                                 .depth_of_box = params.extent.z};
    return request_box(call, &box, 1);
}

int sim_request_fill_1d(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    const struct sim_task box = {.kind = TASK_FILL,
                                 .to = {.address = sim_call_argument(call, 0)},
                                 .value = (uint8_t)sim_call_argument(call, 1),
                                 .width = sim_call_argument(call, 2),
                                 .height = 1,
                                 .depth_of_box = 1};
    return request_box(call, &box, 3);
}

int sim_request_fill_2d(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    const struct sim_task box = {.kind = TASK_FILL,
                                 .to = {sim_call_argument(call, 0), sim_call_argument(call, 1), 0},
                                 .value = (uint8_t)sim_call_argument(call, 2),
                                 .width = sim_call_argument(call, 3),
                                 .height = sim_call_argument(call, 4),
                                 .depth_of_box = 1};
    return request_box(call, &box, 5);
}

int sim_request_fill_3d(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    struct pitched memory;
    struct position extent;
    static const struct position start;
    sim_builtin_read(call->warp, call->op, call->lane, 0, &memory, sizeof(memory));
    sim_builtin_read(call->warp, call->op, call->lane, 2, &extent, sizeof(extent));
    const struct sim_task box = {.kind = TASK_FILL,
                                 .to = box_of(&memory, &start),
                                 .value = (uint8_t)sim_call_argument(call, 1),
                                 .width = extent.x,
                                 .height = extent.y,
                                 .depth_of_box = extent.z};
    return request_box(call, &box, 3);
}

// --- Streams and events --------------------------------------------------------------------------

enum { STREAM_NON_BLOCKING = 1, EVENT_BLOCKING = 1, EVENT_DISABLE_TIMING = 2 };

static int put_handle(const struct sim_call *call, const void *made)
{
    const uint64_t handle = (uint64_t)(uintptr_t)made;
    return made ? sim_call_put(call, sim_call_argument(call, 0), &handle, sizeof(handle))
                : sim_call_no_memory(call);
}

int sim_request_create_stream(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    if ((uint32_t)sim_call_argument(call, 1) > STREAM_NON_BLOCKING) // as an H200, which accepts 0
        return CALL_INVALID_VALUE;
    return put_handle(call, sim_family_stream_new(call->block));
}

int sim_request_destroy_stream(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    return sim_family_stream_end(call->block, sim_call_argument(call, 0)) ? CALL_OK
                                                                          : CALL_INVALID_HANDLE;
}

int sim_request_create_event(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    // As an H200, which ignores that a wait shall block.
    if (((uint32_t)sim_call_argument(call, 1) & ~EVENT_BLOCKING) != EVENT_DISABLE_TIMING)
        return CALL_INVALID_VALUE;
    return put_handle(call, sim_family_event_new(call->block));
}

int sim_request_destroy_event(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    return sim_family_event_end(call->block, sim_call_argument(call, 0)) ? CALL_OK
                                                                         : CALL_INVALID_HANDLE;
}

// Finds the stream for an event. Those for tails and for launches at once have no events.
static int find_stream(const struct sim_call *call, uint32_t index, struct sim_stream **stream)
{
    enum sim_place place;
    const int error = find_place(call, index, &place, stream);
    return error == CALL_OK && place != PLACE_STREAM ? CALL_INVALID_VALUE : error;
}

int sim_request_record_event(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    struct sim_stream *stream;
    const int error = find_stream(call, 1, &stream);
    if (error != CALL_OK)
        return error;
    return sim_family_record(call->block, sim_call_argument(call, 0), stream) ? CALL_OK
                                                                              : CALL_INVALID_HANDLE;
}

int sim_request_wait_event(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    struct sim_stream *stream;
    const int error = find_stream(call, 0, &stream);
    if (error != CALL_OK)
        return error;
    return sim_family_wait(call->block, sim_call_argument(call, 1), stream) ? CALL_OK
                                                                            : CALL_INVALID_HANDLE;
}

// --- Memory --------------------------------------------------------------------------------------

enum { HEAP_ALIGN = 256 };

int sim_request_allocate(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    const uint64_t bytes = sim_call_argument(call, 1);
    void *memory = sim_builtin_allocate(call->block->launch->device, bytes, HEAP_ALIGN);
    const uint64_t address = (uint64_t)(uintptr_t)memory;
    if (bytes && !memory)
        return CALL_OUT_OF_MEMORY;
    return sim_call_put(call, sim_call_argument(call, 0), &address, sizeof(address));
}

int sim_request_release_memory(const struct sim_call *call, uint64_t *result)
{
    (void)result;
    const uint64_t address = sim_call_argument(call, 0);
    return !address || sim_builtin_release(call->block->launch->device, address)
               ? CALL_OK
               : CALL_INVALID_VALUE;
}
