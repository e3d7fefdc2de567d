// SPDX-License-Identifier: Apache-2.0
// Launches. A launch that is to be watched launches the kernel's clone, with the program's
// parameters followed by the launch context. If the driver refuses, glint makes the program's
// launch instead. Launches under capture stay as they are: they become a graph, and executable
// graphs are watched (graph.c).
#include "launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alike.h"
#include "fit.h"
#include "graph.h"
#include "inject/core/details.h"
#include "inject/shadow/turns.h"
#include "passed.h"
#include "spare.h"

enum { COLLECT_EACH = 64 }; // watched launches, if nothing waits

// Finds spare shared memory for the launch, and what it then has in all. Tags, which only traced
// launches have, go before counters: words can also be counted in device memory.
static void find_spare(struct probe_launch *launch, struct probe_clone *clone,
                       const struct core_context *context, const struct probe_shape *shape,
                       struct shadow_launch *about)
{
    const bool counts = about->kernel->counts_rest; // mostly, the launch knows all else
    const uint32_t words[] = {counts ? about->kernel->spare_word : 0,
                              counts ? about->kernel->spare_small : 0, 0};
    const uint32_t at = instrument_spare_at(shape->shared_bytes);
    const uint32_t tags =
        about->turn ? instrument_tag_bytes(about->kernel, shape->shared_bytes) : 0;
    launch->shared_bytes = shape->shared_bytes;
    for (int i = tags ? 0 : 3; i < 6 && launch->shared_bytes == shape->shared_bytes; i++) {
        const uint32_t word = words[i % 3], tagged = i < 3 ? tags : 0,
                       bytes = instrument_spare_bytes(about->kernel, shape->shared_bytes, word);
        if ((word && !bytes) ||
            !probe_spare_fits(launch->kernel, clone, context, shape, bytes + tagged))
            continue;
        about->spare_word = word;
        about->tags = tagged ? at + bytes : 0;
        launch->shared_bytes = at + bytes + tagged;
    }
}

const CUlaunchConfig *probe_launch_config(struct probe_launch *launch, const CUlaunchConfig *config)
{
    launch->config = *config;
    launch->config.sharedMemBytes = launch->shared_bytes;
    return &launch->config;
}

static void begin(struct probe_launch *launch, struct core_call *call, struct probe_kernel *kernel,
                  CUfunction function, void **pointers, void **extra)
{
    const struct event_launch *shape = &call->detail.launch;
    CUstreamCaptureMode mode;
    probe_kernel_tell(kernel, shape->kernel);
    // Such a launch may start before its memory is cleared and earlier results are read.
    if (call->early && kernel->about)
        probe_kernel_note(kernel, "launches that may start before earlier work of their stream has "
                                  "ended (programmatic dependent launch) are not watched");
    if (call->early || call->flags & EVENT_CALL_CAPTURED || !call->stream || !call->current ||
        call->stream->context != call->current || !probe_kernel_chosen(kernel))
        return;
    if (stack_is_small()) {
        if (kernel->about)
            probe_kernel_note(kernel, PROBE_LITTLE_STACK);
        return;
    }
    const bool relaxed = probe_relax(&mode);
    struct probe_clone *clone = probe_kernel_clone(kernel, function, call->current);
    probe_unrelax(relaxed, &mode);
    const struct probe_shape asked = probe_fit_shape(call);
    launch->kernel = kernel;
    if (clone && probe_fit_is_refused(clone, &asked)) {
        launch->refused = true;
        return;
    }
    if (clone && probe_fit_is_lost(kernel, clone, call->current, &asked)) {
        probe_kernel_note(kernel, PROBE_FIT_LOST);
        return;
    }
    launch->params = clone ? probe_params_make(kernel, clone, pointers, extra) : NULL;
    if (launch->params) {
        struct shadow_launch about = {
            .stream = call->stream,
            .kernel = kernel->about,
            .kernel_number = shape->kernel,
            .given = launch->params->given,
            .roots = launch->params->roots,
            .params = launch->params->values,
            .grid = {shape->grid[0], shape->grid[1], shape->grid[2]},
            .block = {shape->block[0], shape->block[1], shape->block[2]},
            .dynamic_bytes = shape->dynamic_shared_bytes,
            .original = clone->original,
            .facts = probe_state->facts,
        };
        shadow_aim(&about, launch->params->roots);
        about.alike = probe_alike_of(kernel, call->current, &asked, launch->params);
        call->alike = probe_alike_known(about.alike, kernel, launch->params);
        if (call->alike) {
            free(launch->params);
            return;
        }
        about.turn = shadow_take_turn(&about);
        // Whether all blocks run at once is only known of the other clone.
        about.may_repeat = asked.cluster[0] * asked.cluster[1] * asked.cluster[2] <= 1;
        about.may_light = clone->light && !probe_fit_matters(kernel, &asked);
        find_spare(launch, clone, call->current, &asked, &about);
        if (core_state.timestamps)
            core_gpu_time_prepare(call);
        launch->ticket = shadow_begin(&about, launch->params->context);
        launch->function = !launch->ticket                      ? clone->function
                           : shadow_is_repeated(launch->ticket) ? function
                           : shadow_is_light(launch->ticket)    ? clone->light
                                                                : clone->function;
        if (launch->ticket) {
            call->probe = launch;
            call->detail.launch.flags |= EVENT_LAUNCH_WATCHED;
            if (!shadow_is_repeated(launch->ticket))
                core_stream_work(call->stream); // preparation is not part of the kernel's time
        } else {
            free(launch->params);
        }
    }
}

void probe_launch_begin(struct probe_launch *launch, struct core_call *call, CUfunction function,
                        void **pointers, void **extra)
{
    struct probe_kernel *kernel = call->detail.launch.kernel ? probe_kernel_of(function) : NULL;
    launch->ticket = NULL;
    launch->refused = false;
    if (!kernel)
        return;
    begin(launch, call, kernel, function, pointers, extra);
    if (!launch->ticket && !launch->refused && !(call->flags & EVENT_CALL_CAPTURED))
        probe_kernel_unwatched(kernel, call->current);
}

void probe_launch_withdraw(struct probe_launch *launch, struct core_call *call)
{
    shadow_launched(launch->ticket, call->number, false);
    free(launch->params);
    call->probe = NULL;
    call->detail.launch.flags &= ~(uint32_t)EVENT_LAUNCH_WATCHED;
}

void probe_launch_refused(struct probe_launch *launch, struct core_call *call, CUresult refused,
                          CUresult result)
{
    char text[100];
    if (result != CUDA_SUCCESS)
        return; // the original fails, too, so the clone is not the cause
    probe_kernel_unwatched(launch->kernel, call->current);
    snprintf(text, sizeof(text), "the driver does not launch it with probes (error %d)",
             (int)refused);
    probe_kernel_note(launch->kernel, text);
}

void probe_launch_unwatched(CUfunction function, uint32_t number)
{
    struct probe_kernel *kernel = number ? probe_kernel_of(function) : NULL;
    if (!kernel)
        return;
    probe_kernel_tell(kernel, number);
    probe_kernel_unwatched(kernel, core_context_current());
    if (kernel->about)
        probe_kernel_note(
            kernel,
            "launches through pre-CUDA 4 functions or on several devices at once are not watched");
}

static void launched(struct core_call *call, struct probe_launch *launch)
{
    const bool repeated = shadow_is_repeated(launch->ticket);
    shadow_launched(launch->ticket, call->number, call->result == CUDA_SUCCESS);
    if (!repeated)
        core_stream_work(call->stream);
    free(launch->params);
}

// Returns whether the memory belongs to another device than the context does.
static bool is_elsewhere(const struct core_call *call, uint64_t address)
{
    struct core_object object;
    return core_objects_find(&core_state.objects, OBJECTS_MEMORY, address, &object) &&
           object.device && call->current && object.device != call->current->device;
}

static void wrote(const struct core_call *call, uint64_t address, uint64_t extent, uint64_t bytes,
                  struct shadow_constant constant)
{
    const struct shadow_writing writing = {address, address + extent,
                                           bytes < extent ? bytes : extent, constant};
    shadow_wrote(call->stream, call->number, &writing);
}

// Values: looks at what the call wrote, or notes that it may have written anything.
static void look_at_contents(const struct core_call *call)
{
    const struct event_copy *copy = &call->detail.copy;
    const struct event_set *set = &call->detail.set;
    if (call->result != CUDA_SUCCESS || call->flags & EVENT_CALL_CAPTURED)
        return;
    const bool seen = call->stream && call->current && call->stream->context == call->current;
    switch (call->kind) {
    case EVENT_CALL_COPY:
        // Copies of a batch may write the same piece in any order.
        if (call->batch)
            shadow_unseen_work(call->current, call->stream);
        else if (copy->to_memory == EVENT_MEMORY_DEVICE && is_elsewhere(call, copy->to))
            shadow_unseen_anywhere(call->stream);
        else if (seen && copy->to_object && copy->to_memory == EVENT_MEMORY_DEVICE)
            wrote(call, copy->to,
                  core_extent(copy->width_bytes, copy->height, copy->to_pitch, copy->depth,
                              copy->to_slice),
                  copy->width_bytes * copy->height * copy->depth, (struct shadow_constant){0});
        else if (copy->to_memory == EVENT_MEMORY_DEVICE || copy->to_memory == EVENT_MEMORY_UNKNOWN)
            shadow_unseen_work(call->current, call->stream);
        break;
    case EVENT_CALL_SET:
        if (is_elsewhere(call, set->address))
            shadow_unseen_anywhere(call->stream);
        else if (seen && set->object)
            wrote(call, set->address, core_extent(set->width_bytes, set->height, set->pitch, 1, 0),
                  set->bytes, (struct shadow_constant){set->value, set->value_bytes});
        else
            shadow_unseen_work(call->current, call->stream);
        break;
    case EVENT_CALL_LAUNCH:
        if (!call->probe)
            shadow_unseen_work(call->current, call->stream);
        break;
    case EVENT_CALL_GRAPH_LAUNCH:
        if (!call->replays)
            shadow_unseen_work(call->current, call->stream);
        break;
    default: break;
    }
}

void probe_call_end(struct core_call *call)
{
    bool many = false;
    free(call->alike);
    call->alike = NULL;
    if (probe_state->facts & INSTRUMENT_VALUES)
        look_at_contents(call);
    if (call->probe) {
        launched(call, call->probe);
        many = atomic_fetch_add(&probe_state->launches, 1) % COLLECT_EACH == COLLECT_EACH - 1;
    } else if (call->replays) {
        probe_exec_launched(call);
        many = true;
    }
    if (call->result != CUDA_SUCCESS && call->result != CUDA_ERROR_NOT_READY)
        shadow_call_failed(call->current);
    probe_exec_release(call);
    if (!call->current || !(call->how & HOOK_WAITS || many) || stack_is_small())
        return;
    if (many)
        shadow_collect(call->current);
    else
        shadow_call_waited(call);
}

void probe_call_waits(const struct core_call *call)
{
    if (!call->current)
        return;
    if (core_state.timestamps && call->how & HOOK_TIMED && call->stream &&
        call->stream->context == call->current)
        core_gpu_time_prepare(call);
    shadow_call_waits(call);
}
