// SPDX-License-Identifier: Apache-2.0
// Numbers of devices, contexts and streams. A number is announced in the ring under the lock that
// gives it out, so that no other thread's record can use it earlier.
#include "contexts.h"

#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "names.h"
#include "object_records.h"

// --- Contexts ------------------------------------------------------------------------------------

static int attribute(CUdevice_attribute wanted, CUdevice device)
{
    int value = 0;
    return REAL(cuDeviceGetAttribute)(&value, wanted, device) == CUDA_SUCCESS ? value : 0;
}

struct device_facts {
    struct event_device record;
    char name[256];
};

static struct device_facts ask_device(CUdevice device)
{
    size_t bytes = 0;
    CUuuid uuid = {0};
    struct device_facts facts = {.record.number = (uint32_t)(device + 1)};
    struct event_device *record = &facts.record;
    if (device < 0)
        return facts;
    record->major = (uint32_t)attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    record->minor = (uint32_t)attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    record->multiprocessors = (uint32_t)attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    if (REAL(cuDeviceGetName)(facts.name, sizeof(facts.name), device) != CUDA_SUCCESS)
        facts.name[0] = '\0';
    if (REAL(cuDeviceTotalMem_v2)(&bytes, device) == CUDA_SUCCESS)
        record->memory_bytes = bytes;
    if (REAL(cuDeviceGetUuid)(&uuid, device) == CUDA_SUCCESS)
        memcpy(record->uuid, &uuid, sizeof(record->uuid));
    return facts;
}

static void announce_device_locked(const struct device_facts *facts)
{
    const uint32_t bit = facts->record.number - 1;
    if (!facts->record.number || bit >= 32 || core_state.devices_said & 1u << bit)
        return;
    core_state.devices_said |= 1u << bit;
    core_put(EVENT_DEVICE, &facts->record, sizeof(facts->record), facts->name, strlen(facts->name));
}

static struct core_stream *new_stream_locked(struct core_context *context, CUstream handle,
                                             uint32_t flags, uint32_t thread, int priority)
{
    struct core_stream *stream = core_state.spare_streams;
    if (stream) {
        core_state.spare_streams = stream->next;
    } else {
        stream = calloc(1, sizeof(*stream));
        if (stream)
            pthread_mutex_init(&stream->mark_lock, NULL);
    }
    if (!stream) {
        core_no_memory();
        return NULL;
    }
    stream->number = ++core_state.streams_made;
    stream->flags = flags;
    stream->thread = thread;
    stream->handle = handle;
    stream->green = false;
    stream->foreign = false;
    atomic_store(&stream->ended, false);
    stream->context = context;
    stream->next = context->streams;
    atomic_store(&stream->enqueued, 0);
    atomic_store(&stream->last, 0);
    atomic_store(&stream->idle, 0);
    atomic_store(&stream->fenced, 0);
    context->streams = stream;
    atomic_fetch_add(&context->stream_count, 1);
    struct event_stream record = {stream->number, context->number, flags, priority, thread};
    core_put(EVENT_STREAM, &record, sizeof(record), NULL, 0);
    return stream;
}

// The thread's cached context: valid while no context has ended. Relaxed is enough: a thread that
// gets a handle which the driver has reused has synchronized with the thread that ended the old
// context.
static inline struct core_context *context_kept(CUcontext handle)
{
    const struct core_thread *thread = &core_thread;
    return thread->context_handle == handle &&
                   thread->context_changes ==
                       atomic_load_explicit(&core_state.context_changes, memory_order_relaxed)
               ? thread->context
               : NULL;
}

struct core_context *core_context_known(CUcontext handle)
{
    struct core_context *kept = context_kept(handle);
    if (kept)
        return kept;
    struct core_thread *thread = &core_thread;
    const uint64_t changes =
        atomic_load_explicit(&core_state.context_changes, memory_order_acquire);
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct core_context *context = core_map_at(&core_state.contexts, core_map_key(handle));
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    thread->context = context;
    thread->context_handle = handle;
    thread->context_changes = changes;
    return context;
}

struct core_context *core_context_of(CUcontext handle, CUdevice device)
{
    struct core_context *context = core_context_known(handle);
    if (context)
        return context;
    // The driver is asked before the lock is taken. Only a current context can be unknown here.
    if (device < 0 && REAL(cuCtxGetDevice)(&device) != CUDA_SUCCESS)
        device = -1;
    const struct device_facts facts = ask_device(device);
    util_mutex_lock(&core_state.lock, RANK_STATE);
    context = core_map_at(&core_state.contexts,
                          core_map_key(handle)); // another thread may have entered it meanwhile
    if (!context) {
        context = calloc(1, sizeof(*context));
        if (context && core_map_enter(&core_state.contexts, core_map_key(handle), context)) {
            announce_device_locked(&facts);
            context->number = ++core_state.contexts_made;
            context->device = (uint32_t)(device + 1);
            context->handle = handle;
            pthread_mutex_init(&context->timing_lock, NULL);
            struct event_context record = {context->number, context->device};
            core_put(EVENT_CONTEXT, &record, sizeof(record), NULL, 0);
            context->legacy =
                new_stream_locked(context, CU_STREAM_LEGACY, EVENT_STREAM_LEGACY, 0, 0);
        } else {
            free(context);
            context = NULL;
            core_no_memory();
        }
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return context;
}

struct core_context *core_context_current(void)
{
    struct core_thread *thread = &core_thread;
    CUcontext handle = NULL;
    if (!thread->current && core_state.current)
        thread->current = core_state.current();
    if (thread->current)
        handle = *thread->current;
    else if (REAL(cuCtxGetCurrent)(&handle) != CUDA_SUCCESS)
        return NULL;
    if (!handle)
        return NULL;
    struct core_context *kept = context_kept(handle);
    return kept ? kept : core_context_of(handle, -1);
}

static void forget_streams_locked(struct core_context *context)
{
    while (context->streams) {
        struct core_stream *stream = context->streams;
        context->streams = stream->next;
        if (stream->flags & EVENT_STREAM_PER_THREAD)
            base_map_remove(&core_state.thread_streams,
                            (uint64_t)context->number << 32 | stream->thread);
        else if (!(stream->flags & EVENT_STREAM_LEGACY))
            base_map_remove(&core_state.streams, core_map_key(stream->handle));
        stream->number = 0; // the context's end makes its handle invalid
    }
}

void core_context_end(struct core_context *context, uint64_t call)
{
    struct core_object object;
    for (int layer = 0; layer < OBJECTS_LAYERS; layer++) {
        uint64_t from = 0;
        while (core_objects_take_of(&core_state.objects, (enum core_objects_layer)layer,
                                    context->number, 0, &from, &object))
            core_object_end(&object, call, 0);
    }
    while (core_objects_take_array_of(&core_state.objects, context->number, &object)) {
        if (!object.alias)
            core_object_end(&object, call, 0);
    }
    core_layers_context_gone(context, call);
    // Work that was not done before the call has no time, because its events are destroyed.
    atomic_fetch_add(&core_state.untimed, atomic_exchange(&context->timings_left, 0));
    util_mutex_lock(&core_state.lock, RANK_STATE);
    base_map_remove(&core_state.contexts, core_map_key(context->handle));
    atomic_fetch_add(&core_state.context_changes, 1);
    forget_streams_locked(context);
    util_mutex_unlock(&core_state.lock, RANK_STATE);
}

// --- Streams -------------------------------------------------------------------------------------

struct core_stream *core_stream_new(CUstream handle, struct core_context *context)
{
    unsigned flags = 0;
    int priority = 0;
    REAL(cuStreamGetFlags)(handle, &flags);
    REAL(cuStreamGetPriority)(handle, &priority);
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct core_stream *stream = core_map_at(&core_state.streams, core_map_key(handle));
    if (!stream) {
        stream = new_stream_locked(context, handle,
                                   flags & CU_STREAM_NON_BLOCKING ? EVENT_STREAM_NON_BLOCKING : 0,
                                   0, priority);
        if (stream)
            core_map_enter(&core_state.streams, core_map_key(handle), stream);
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return stream;
}

static struct core_stream *thread_stream(struct core_context *context)
{
    const uint32_t thread = core_thread_number();
    const uint64_t place = (uint64_t)context->number << 32 | thread;
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct core_stream *stream = core_map_at(&core_state.thread_streams, place);
    if (!stream) {
        stream =
            new_stream_locked(context, CU_STREAM_PER_THREAD, EVENT_STREAM_PER_THREAD, thread, 0);
        if (stream)
            core_map_enter(&core_state.thread_streams, place, stream);
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return stream;
}

struct core_stream *core_stream_of(CUstream handle, bool per_thread, struct core_context *current)
{
    if (!handle)
        handle = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    if (handle == CU_STREAM_LEGACY)
        return current ? current->legacy : NULL;
    if (handle == CU_STREAM_PER_THREAD)
        return current ? thread_stream(current) : NULL;
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct core_stream *stream = core_map_at(&core_state.streams, core_map_key(handle));
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    if (stream)
        return stream;
    CUcontext owner = NULL; // the stream was created in a way that is not hooked
    if (REAL(cuStreamGetCtx)(handle, &owner) != CUDA_SUCCESS || !owner)
        return NULL; // not a stream: the driver will report that
    struct core_context *context =
        owner == (current ? current->handle : NULL) ? current : core_context_known(owner);
    stream = context ? core_stream_new(handle, context) : NULL;
    if (stream)
        stream->foreign = true;
    return stream;
}

void core_stream_end(CUstream handle)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct core_stream *stream = core_map_at(&core_state.streams, core_map_key(handle));
    if (stream) {
        base_map_remove(&core_state.streams, core_map_key(handle));
        struct core_stream **link = &stream->context->streams;
        atomic_fetch_sub(&stream->context->stream_count, 1);
        while (*link && *link != stream)
            link = &(*link)->next;
        if (*link)
            *link = stream->next;
        stream->next = NULL;
        atomic_store(&stream->ended, true);
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    core_await_asking();
}

void core_stream_recycle(struct core_stream *stream)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    stream->number = 0;
    stream->next = core_state.spare_streams;
    core_state.spare_streams = stream;
    util_mutex_unlock(&core_state.lock, RANK_STATE);
}

size_t core_streams_of(struct core_context *context, bool blocking, struct core_stream **out,
                       size_t most)
{
    size_t count = 0;
    util_mutex_lock(&core_state.lock, RANK_STATE);
    for (struct core_stream *stream = context->streams; stream && count < most;
         stream = stream->next) {
        if (!blocking || !(stream->flags & EVENT_STREAM_NON_BLOCKING))
            out[count++] = stream;
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return count;
}

bool core_stream_can_name(const struct core_stream *stream, const struct core_stream *own,
                          const struct core_context *current)
{
    const bool thread = stream->flags & EVENT_STREAM_PER_THREAD;
    const bool by_default = thread || stream->flags & EVENT_STREAM_LEGACY;
    return stream->number && (!stream->foreign || stream == own) &&
           (!by_default || stream->context == current) &&
           (!thread || stream->thread == core_thread.number);
}
