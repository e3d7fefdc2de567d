// SPDX-License-Identifier: Apache-2.0
// Which launches are sampled. Of each kernel in each context, the first and every Nth one is due;
// it stays due until a launch can be sampled. What forbids that:
//
// - The launch is known by more than its arguments, or its arguments do not tell all: then there is
//   nothing to refine. Graphs and captured launches stay as they are.
// - Its blocks may wait for each other: cooperative launches and clusters, and whatever else relies
//   on all blocks running at once, which patched code, with more registers, may prevent. So the
//   program's own kernel must need more than one round of the GPU, or there must be a
//   multiprocessor for each block; two, if other streams may have kernels that it waits for.
// - An earlier sampled launch of the kernel has not ended.
// - The budget is spent.
#include <stddef.h>
#include <string.h>

#include "budget.h"
#include "inject/core/driver.h"
#include "inject/core/kernels.h"
#include "inject/probe/fit.h"
#include "inject/probe/passed.h"
#include "inject/probe/range.h"
#include "inject/shadow/shadow.h"
#include "mark.h"
#include "sampled.h"
#include "state.h"
#include "tools.h"

#define SAME(one, other, member)                                                   \
    _Static_assert(offsetof(struct one, member) == offsetof(struct other, member), \
                   "device code knows the layout")
SAME(sampled_table, instrument_table, count);
SAME(sampled_table, instrument_table, entries);
SAME(sampled_table, instrument_table, touched);
SAME(sampled_table, instrument_table, strays);
SAME(sampled_slot, instrument_slot, base);
SAME(sampled_slot, instrument_slot, bytes);
SAME(sampled_slot, instrument_slot, lead);
_Static_assert(sizeof(struct sampled_slot) == sizeof(struct instrument_slot), "likewise");
_Static_assert(SAMPLED_STRAYS_MOST < INSTRUMENT_WRAPPED,
               "a count is no access at an unknown address");

static bool has_budget(void)
{
    if (sampled_state.percent < SAMPLED_UNLIMITED_PERCENT &&
        atomic_load(&core_state.sampled_lost)) {
        sampled_stop("the GPU time of a sampled launch is unknown");
        return false;
    }
    return sampled_budget_allows(atomic_load(&core_state.launches_ns),
                                 atomic_load(&core_state.sampled_ns),
                                 atomic_load(&core_state.sampled_unread), sampled_state.percent);
}

static uint64_t volume(const unsigned size[3])
{
    return (uint64_t)size[0] * size[1] * size[2];
}

// Returns whether the blocks of the launch cannot come to wait for one that does not start, because
// patched code needs more of the GPU.
static bool can_wait_for_none(const struct core_call *call, CUfunction original,
                              const struct probe_shape *shape)
{
    const uint64_t blocks = volume(shape->grid);
    int processors = 0;
    REAL(cuDeviceGetAttribute)
    (&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, (CUdevice)call->current->device - 1);
    const bool alone = atomic_load(&call->current->stream_count) <= 1;
    if (blocks <= (uint64_t)(alone ? processors : processors / 2))
        return true;
    const uint64_t fit = probe_fit_blocks(original, call->current, shape);
    return fit != UINT64_MAX && blocks > fit;
}

// Gives the patched function the attributes on which launches depend.
static bool adapt(CUfunction to, CUfunction from)
{
    static const CUfunction_attribute attributes[] = {
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT};
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
        int wanted, has;
        if (REAL(cuFuncGetAttribute)(&wanted, attributes[i], from) != CUDA_SUCCESS ||
            REAL(cuFuncGetAttribute)(&has, attributes[i], to) != CUDA_SUCCESS ||
            (wanted != has && REAL(cuFuncSetAttribute)(to, attributes[i], wanted) != CUDA_SUCCESS))
            return false;
    }
    return true;
}

static bool is_plain(const struct core_call *call)
{
    return !stack_is_small() && !call->early && !(call->flags & EVENT_CALL_CAPTURED) &&
           call->stream && call->current && call->stream->context == call->current &&
           !call->stream->green && !call->cluster[0] &&
           !(call->detail.launch.flags & EVENT_LAUNCH_COOPERATIVE) &&
           !atomic_load(&core_state.captures);
}

// Returns the kernel if one of its launches is due, and counts this one.
static struct sampled_kernel *due_of(const struct core_call *call, CUfunction function)
{
    const struct probe_kernel *kernel =
        call->detail.launch.kernel ? probe_kernel_of(function) : NULL;
    struct sampled_kernel *sampled =
        kernel && call->current ? sampled_kernel_in(kernel, call->current) : NULL;
    if (!sampled)
        return NULL;
    if (atomic_fetch_add_explicit(&sampled->launches, 1, memory_order_relaxed) %
            sampled_state.every ==
        0)
        atomic_store(&sampled->due, true);
    return atomic_load(&sampled->due) && !atomic_load(&sampled->flying) ? sampled : NULL;
}

// Takes memory for the results, and makes it the user data of the launch.
static struct shadow_ticket *enter(const struct core_call *call, struct sampled_kernel *sampled,
                                   CUfunction original, const struct probe_passed_objects *objects)
{
    const struct event_launch *shape = &call->detail.launch;
    struct instrument_context context;
    const struct shadow_launch about = {
        .stream = call->stream,
        .kernel = &sampled->about,
        .kernel_number = shape->kernel,
        .grid = {shape->grid[0], shape->grid[1], shape->grid[2]},
        .block = {shape->block[0], shape->block[1], shape->block[2]},
        .dynamic_bytes = shape->dynamic_shared_bytes,
        .original = original,
        .facts = INSTRUMENT_OBJECTS,
        .passed = objects->numbers,
        .passed_count = objects->count,
        .flying = &sampled->flying,
    };
    core_gpu_time_prepare(call);
    struct shadow_ticket *ticket = shadow_begin(&about, &context);
    if (!ticket)
        return NULL;
    const void *table = (const void *)(uintptr_t)context.table; // NOLINT(performance-no-int-to-ptr)
    if (sampled_enter()) {                                      // until the launch is made
        if (sampled_state.library.SetCallbackData(sampled->function, table) == SANITIZER_SUCCESS)
            return ticket;
        sampled_leave();
        sampled_stop("the Sanitizer API does not take data for a launch");
    }
    shadow_launched(ticket, call->number, false);
    return NULL;
}

CUfunction sampled_launch_begin(struct sampled_launch *launch, struct core_call *call,
                                CUfunction function, void **pointers, void **extra)
{
    struct probe_passed_objects objects;
    launch->ticket = NULL;
    if (!sampled_state.on || atomic_load(&sampled_state.stopped))
        return function;
    struct sampled_kernel *sampled = due_of(call, function);
    if (!sampled || !is_plain(call) || !probe_range_watches() || !has_budget())
        return function;
    const CUfunction original = core_kernel_function(function);
    const struct probe_shape shape = probe_fit_shape(call);
    if (!original ||
        !core_kernel_has_shape(
            shape.grid, shape.block,
            core_kernel_limit(original, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)) ||
        !can_wait_for_none(call, original, &shape) ||
        !probe_passed_find(function, pointers, extra, &objects) ||
        !adapt(sampled->function, original))
        return function;
    bool due = true;
    if (!atomic_compare_exchange_strong(&sampled->due, &due, false))
        return function; // another thread is sampling the kernel
    if (!atomic_load(&sampled->flying))
        launch->ticket = enter(call, sampled, original, &objects);
    if (!launch->ticket) {
        atomic_store(&sampled->due, true);
        return function;
    }
    core_stream_work(call->stream); // preparation is not part of the kernel's time
    return sampled->function;
}

void sampled_launch_made(struct sampled_launch *launch, struct core_call *call, CUresult result)
{
    sampled_leave();
    if (result == CUDA_SUCCESS) {
        call->sampled = launch;
        call->timing.sampled = true;
        call->detail.launch.flags |= EVENT_LAUNCH_SAMPLED;
        if (!call->timing.timed)
            atomic_fetch_add(&core_state.sampled_lost, 1);
        return;
    }
    shadow_launched(launch->ticket, call->number, false);
    launch->ticket = NULL;
}

void sampled_launch_refused(CUresult original)
{
    if (original == CUDA_SUCCESS) // otherwise patched code is not the cause
        sampled_stop("the driver does not launch a patched kernel");
}

void sampled_call_end(struct core_call *call)
{
    struct sampled_launch *launch = call->sampled;
    if (!launch)
        return;
    if (!(call->detail.launch.flags & EVENT_LAUNCH_PASSED)) // not any more, so nothing is refined
        shadow_mute(launch->ticket);
    shadow_launched(launch->ticket, call->number, call->result == CUDA_SUCCESS);
    core_stream_work(call->stream);
}
