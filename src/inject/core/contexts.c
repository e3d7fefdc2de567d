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
    if (!facts->record.number || bit >= 32 || state.devices_said & 1u << bit)
        return;
    state.devices_said |= 1u << bit;
    put(EVENT_DEVICE, &facts->record, sizeof(facts->record), facts->name, strlen(facts->name));
}

static struct stream *new_stream_locked(struct context *context, CUstream handle, uint32_t flags,
                                        uint32_t thread, int priority)
{
    struct stream *stream = state.spare_streams;
    if (stream) {
        state.spare_streams = stream->next;
    } else {
        stream = calloc(1, sizeof(*stream));
        if (stream)
            pthread_mutex_init(&stream->mark_lock, NULL);
    }
    if (!stream) {
        state_no_memory();
        return NULL;
    }
    stream->number = ++state.streams_made;
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
    struct event_stream record = {stream->number, context->number, flags, priority, thread};
    put(EVENT_STREAM, &record, sizeof(record), NULL, 0);
    return stream;
}

// Of the thread's cache: while no context has ended, what it says holds. Acquire has no use here:
// who gets a handle that another thread's driver gave out again has waited for that thread.
static inline struct context *context_kept(CUcontext handle)
{
    const struct thread_state *thread = &inject_thread;
    return thread->context_handle == handle &&
                   thread->context_changes ==
                       atomic_load_explicit(&state.context_changes, memory_order_relaxed)
               ? thread->context
               : NULL;
}

struct context *context_known(CUcontext handle)
{
    struct context *kept = context_kept(handle);
    if (kept)
        return kept;
    struct thread_state *thread = &inject_thread;
    const uint64_t changes = atomic_load_explicit(&state.context_changes, memory_order_acquire);
    pthread_mutex_lock(&state.lock);
    struct context *context = name_at(&state.contexts, name_key(handle));
    pthread_mutex_unlock(&state.lock);
    thread->context = context;
    thread->context_handle = handle;
    thread->context_changes = changes;
    return context;
}

struct context *context_of(CUcontext handle, CUdevice device)
{
    struct context *context = context_known(handle);
    if (context)
        return context;
    // The driver is asked before the lock is taken; only a current context is met unannounced.
    if (device < 0 && REAL(cuCtxGetDevice)(&device) != CUDA_SUCCESS)
        device = -1;
    const struct device_facts facts = ask_device(device);
    pthread_mutex_lock(&state.lock);
    context = name_at(&state.contexts, name_key(handle)); // another thread's, meanwhile
    if (!context) {
        context = calloc(1, sizeof(*context));
        if (context && name_enter(&state.contexts, name_key(handle), context)) {
            announce_device_locked(&facts);
            context->number = ++state.contexts_made;
            context->device = (uint32_t)(device + 1);
            context->handle = handle;
            pthread_mutex_init(&context->timing_lock, NULL);
            struct event_context record = {context->number, context->device};
            put(EVENT_CONTEXT, &record, sizeof(record), NULL, 0);
            context->legacy =
                new_stream_locked(context, CU_STREAM_LEGACY, EVENT_STREAM_LEGACY, 0, 0);
        } else {
            free(context);
            context = NULL;
            state_no_memory();
        }
    }
    pthread_mutex_unlock(&state.lock);
    return context;
}

struct context *context_current(void)
{
    struct thread_state *thread = &inject_thread;
    CUcontext handle = NULL;
    if (!thread->current && state.current)
        thread->current = state.current();
    if (thread->current)
        handle = *thread->current;
    else if (REAL(cuCtxGetCurrent)(&handle) != CUDA_SUCCESS)
        return NULL;
    if (!handle)
        return NULL;
    struct context *kept = context_kept(handle);
    return kept ? kept : context_of(handle, -1);
}

static void forget_streams_locked(struct context *context)
{
    while (context->streams) {
        struct stream *stream = context->streams;
        context->streams = stream->next;
        if (stream->flags & EVENT_STREAM_PER_THREAD)
            base_map_remove(&state.thread_streams,
                            (uint64_t)context->number << 32 | stream->thread);
        else if (!(stream->flags & EVENT_STREAM_LEGACY))
            base_map_remove(&state.streams, name_key(stream->handle));
        stream->number = 0; // its context is gone, and with it all that could name it
    }
}

void context_end(struct context *context, uint64_t call)
{
    struct object object;
    for (int layer = 0; layer < OBJECTS_LAYERS; layer++) {
        uint64_t from = 0;
        while (objects_take_of(&state.objects, (enum objects_layer)layer, context->number, 0, &from,
                               &object))
            object_end(&object, call, 0);
    }
    while (objects_take_array_of(&state.objects, context->number, &object)) {
        if (!object.alias)
            object_end(&object, call, 0);
    }
    layers_context_gone(context, call);
    // What had not happened before the call has no time: its events are gone.
    atomic_fetch_add(&state.untimed, atomic_exchange(&context->timings_left, 0));
    pthread_mutex_lock(&state.lock);
    base_map_remove(&state.contexts, name_key(context->handle));
    atomic_fetch_add(&state.context_changes, 1);
    forget_streams_locked(context);
    pthread_mutex_unlock(&state.lock);
}

// --- Streams -------------------------------------------------------------------------------------

struct stream *stream_new(CUstream handle, struct context *context)
{
    unsigned flags = 0;
    int priority = 0;
    REAL(cuStreamGetFlags)(handle, &flags);
    REAL(cuStreamGetPriority)(handle, &priority);
    pthread_mutex_lock(&state.lock);
    struct stream *stream = name_at(&state.streams, name_key(handle));
    if (!stream) {
        stream = new_stream_locked(context, handle,
                                   flags & CU_STREAM_NON_BLOCKING ? EVENT_STREAM_NON_BLOCKING : 0,
                                   0, priority);
        if (stream)
            name_enter(&state.streams, name_key(handle), stream);
    }
    pthread_mutex_unlock(&state.lock);
    return stream;
}

static struct stream *thread_stream(struct context *context)
{
    const uint32_t thread = thread_number();
    const uint64_t place = (uint64_t)context->number << 32 | thread;
    pthread_mutex_lock(&state.lock);
    struct stream *stream = name_at(&state.thread_streams, place);
    if (!stream) {
        stream =
            new_stream_locked(context, CU_STREAM_PER_THREAD, EVENT_STREAM_PER_THREAD, thread, 0);
        if (stream)
            name_enter(&state.thread_streams, place, stream);
    }
    pthread_mutex_unlock(&state.lock);
    return stream;
}

struct stream *stream_of(CUstream handle, bool per_thread, struct context *current)
{
    if (!handle)
        handle = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    if (handle == CU_STREAM_LEGACY)
        return current ? current->legacy : NULL;
    if (handle == CU_STREAM_PER_THREAD)
        return current ? thread_stream(current) : NULL;
    pthread_mutex_lock(&state.lock);
    struct stream *stream = name_at(&state.streams, name_key(handle));
    pthread_mutex_unlock(&state.lock);
    if (stream)
        return stream;
    CUcontext owner = NULL; // made by a way that is not hooked
    if (REAL(cuStreamGetCtx)(handle, &owner) != CUDA_SUCCESS || !owner)
        return NULL; // no stream at all: the driver will say so
    struct context *context =
        owner == (current ? current->handle : NULL) ? current : context_known(owner);
    stream = context ? stream_new(handle, context) : NULL;
    if (stream)
        stream->foreign = true;
    return stream;
}

void stream_end(CUstream handle)
{
    pthread_mutex_lock(&state.lock);
    struct stream *stream = name_at(&state.streams, name_key(handle));
    if (stream) {
        base_map_remove(&state.streams, name_key(handle));
        struct stream **link = &stream->context->streams;
        while (*link && *link != stream)
            link = &(*link)->next;
        if (*link)
            *link = stream->next;
        stream->next = NULL;
        atomic_store(&stream->ended, true);
    }
    pthread_mutex_unlock(&state.lock);
    state_await_asking();
}

void stream_recycle(struct stream *stream)
{
    pthread_mutex_lock(&state.lock);
    stream->number = 0;
    stream->next = state.spare_streams;
    state.spare_streams = stream;
    pthread_mutex_unlock(&state.lock);
}

size_t streams_of(struct context *context, bool blocking, struct stream **out, size_t most)
{
    size_t count = 0;
    pthread_mutex_lock(&state.lock);
    for (struct stream *stream = context->streams; stream && count < most; stream = stream->next) {
        if (!blocking || !(stream->flags & EVENT_STREAM_NON_BLOCKING))
            out[count++] = stream;
    }
    pthread_mutex_unlock(&state.lock);
    return count;
}

bool stream_can_name(const struct stream *stream, const struct stream *own,
                     const struct context *current)
{
    const bool thread = stream->flags & EVENT_STREAM_PER_THREAD;
    const bool by_default = thread || stream->flags & EVENT_STREAM_LEGACY;
    return stream->number && (!stream->foreign || stream == own) &&
           (!by_default || stream->context == current) &&
           (!thread || stream->thread == inject_thread.number);
}
