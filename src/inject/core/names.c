// SPDX-License-Identifier: Apache-2.0
// Numbers for what the driver knows by handle: threads, devices, contexts, streams, events,
// modules, kernels. A number is announced in the ring under the lock that gives it out, so that no
// other thread's record can use it earlier.
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/correct/memory/back.h"
#include "inject/correct/memory/pool.h"
#include "inject/probe/probe.h"
#include "state.h"

struct kernel {
    uint32_t number; // 0: not announced yet
    uint32_t module;
    uint32_t context;                // in which it was launched last
    uint32_t users;                  // handles that lead here
    const void *of_library;          // the handle that is a CUkernel; NULL: none
    uint32_t block[3], shared_bytes; // for launches of before CUDA 4
    struct probe_kernel *probe;      // NULL: not asked for yet
    char name[];
};

static void *as_pointer(uint64_t value)
{
    return (void *)(uintptr_t)value; // NOLINT(performance-no-int-to-ptr)
}

static uint64_t key(const void *handle)
{
    return (uint64_t)(uintptr_t)handle;
}

static void *at(const struct base_map *map, uint64_t number)
{
    const uint64_t *value = base_map_get(map, number);
    return value ? as_pointer(*value) : NULL;
}

static bool enter(struct base_map *map, uint64_t number, const void *value)
{
    uint64_t *place = base_map_put(map, number, NULL);
    if (place)
        *place = key(value);
    else
        state_no_memory();
    return place != NULL;
}

uint32_t thread_number_new(void)
{
    struct thread_state *thread = &inject_thread;
    char name[17] = "";
    prctl(PR_GET_NAME, name);
    struct event_thread record = {atomic_fetch_add(&state.threads_made, 1) + 1,
                                  (int32_t)syscall(SYS_gettid)};
    put(EVENT_THREAD, &record, sizeof(record), name, strlen(name));
    thread->number = record.number;
    thread->generation = state.generation;
    thread->last_handle = NULL;
    return thread->number;
}

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
    struct context *context = at(&state.contexts, key(handle));
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
    context = at(&state.contexts, key(handle)); // another thread's, meanwhile
    if (!context) {
        context = calloc(1, sizeof(*context));
        if (context && enter(&state.contexts, key(handle), context)) {
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
            base_map_remove(&state.streams, key(stream->handle));
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
    if (state.probes)
        shadow_context_gone(context, call);
    correct_back_context_gone(context);
    // What had not happened before the call has no time: its events are gone.
    atomic_fetch_add(&state.untimed, atomic_exchange(&context->timings_left, 0));
    pthread_mutex_lock(&state.lock);
    base_map_remove(&state.contexts, key(context->handle));
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
    struct stream *stream = at(&state.streams, key(handle));
    if (!stream) {
        stream = new_stream_locked(context, handle,
                                   flags & CU_STREAM_NON_BLOCKING ? EVENT_STREAM_NON_BLOCKING : 0,
                                   0, priority);
        if (stream)
            enter(&state.streams, key(handle), stream);
    }
    pthread_mutex_unlock(&state.lock);
    return stream;
}

static struct stream *thread_stream(struct context *context)
{
    const uint32_t thread = thread_number();
    const uint64_t place = (uint64_t)context->number << 32 | thread;
    pthread_mutex_lock(&state.lock);
    struct stream *stream = at(&state.thread_streams, place);
    if (!stream) {
        stream =
            new_stream_locked(context, CU_STREAM_PER_THREAD, EVENT_STREAM_PER_THREAD, thread, 0);
        if (stream)
            enter(&state.thread_streams, place, stream);
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
    struct stream *stream = at(&state.streams, key(handle));
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
    struct stream *stream = at(&state.streams, key(handle));
    if (stream) {
        base_map_remove(&state.streams, key(handle));
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

// --- Events --------------------------------------------------------------------------------------

// Its place in the map, with the lock held: number << 32 | how often it was recorded.
static uint64_t *event_place(CUevent event)
{
    bool added;
    uint64_t *place = base_map_put(&state.events, key(event), &added);
    if (!place)
        state_no_memory();
    else if (added)
        *place = (atomic_fetch_add(&state.events_made, 1) + 1) << 32;
    return place;
}

uint64_t event_number(CUevent event)
{
    pthread_mutex_lock(&state.lock);
    const uint64_t *place = event ? event_place(event) : NULL;
    uint64_t number = place ? *place >> 32 : 0;
    pthread_mutex_unlock(&state.lock);
    return number;
}

uint32_t event_record_number(CUevent event, bool next)
{
    pthread_mutex_lock(&state.lock);
    uint64_t *place = event ? event_place(event) : NULL;
    if (place && next)
        (*place)++;
    uint32_t number = place ? (uint32_t)*place : 0;
    pthread_mutex_unlock(&state.lock);
    return number;
}

void event_end(CUevent event)
{
    pthread_mutex_lock(&state.lock);
    base_map_remove(&state.events, key(event));
    pthread_mutex_unlock(&state.lock);
}

// --- Modules and kernels -------------------------------------------------------------------------

uint32_t module_new(const void *handle, struct context *context, const struct event_module *about,
                    const char *path)
{
    struct event_module record = *about;
    pthread_mutex_lock(&state.lock);
    uint64_t *place = base_map_put(&state.modules, key(handle), NULL);
    if (place) {
        record.number = ++state.modules_made;
        record.context = context ? context->number : 0;
        *place = record.number;
        put(EVENT_MODULE, &record, sizeof(record), path, path ? strlen(path) : 0);
    } else {
        state_no_memory();
    }
    pthread_mutex_unlock(&state.lock);
    return record.number;
}

uint32_t module_of(const void *handle)
{
    pthread_mutex_lock(&state.lock);
    const uint64_t *place = base_map_get(&state.modules, key(handle));
    uint32_t number = place ? (uint32_t)*place : 0;
    pthread_mutex_unlock(&state.lock);
    return number;
}

void module_alias(const void *handle, const void *of)
{
    uint32_t number = module_of(of);
    pthread_mutex_lock(&state.lock);
    uint64_t *place = number ? base_map_put(&state.modules, key(handle), NULL) : NULL;
    if (place)
        *place = number;
    pthread_mutex_unlock(&state.lock);
}

static void kernel_drop_locked(struct kernel *kernel)
{
    if (--kernel->users)
        return;
    probe_kernel_drop(kernel->probe);
    free(kernel);
}

void module_end(const void *handle, uint64_t call)
{
    const uint32_t module = module_of(handle);
    if (!module)
        return;
    struct object object;
    uint64_t from = 0;
    while (objects_take_of(&state.objects, OBJECTS_MEMORY, 0, module, &from, &object))
        object_end(&object, call, 0);
    variables_end(module);
    if (state.probes)
        probe_module_end(module);
    pthread_mutex_lock(&state.lock);
    for (size_t i = 0; i < state.modules.count; i++) { // with its other names
        const struct base_map_entry *entry = &state.modules.entries[i];
        if (!entry->removed && entry->value == module)
            base_map_remove(&state.modules, entry->key);
    }
    for (size_t i = 0; i < state.kernels.count; i++) {
        const struct base_map_entry *entry = &state.kernels.entries[i];
        struct kernel *kernel = entry->removed ? NULL : as_pointer(entry->value);
        if (kernel && kernel->module == module) {
            base_map_remove(&state.kernels, entry->key);
            kernel_drop_locked(kernel);
        }
    }
    pthread_mutex_unlock(&state.lock);
}

static struct kernel *kernel_enter_locked(const void *handle, uint32_t module, const char *name)
{
    struct kernel *kernel = at(&state.kernels, key(handle));
    if (kernel && strcmp(kernel->name, name) == 0 && (kernel->module == module || !module))
        return kernel;
    struct kernel *old = kernel; // of a handle that is used again
    kernel = calloc(1, sizeof(*kernel) + strlen(name) + 1);
    if (!kernel || !enter(&state.kernels, key(handle), kernel)) {
        free(kernel);
        state_no_memory();
        return old;
    }
    if (old)
        kernel_drop_locked(old);
    kernel->module = module;
    kernel->users = 1;
    memcpy(kernel->name, name, strlen(name) + 1);
    return kernel;
}

void kernel_note(const void *handle, uint32_t module, const char *name, bool library)
{
    pthread_mutex_lock(&state.lock);
    struct kernel *kernel = kernel_enter_locked(handle, module, name);
    if (kernel)
        kernel->of_library = library ? handle : NULL;
    pthread_mutex_unlock(&state.lock);
}

uint32_t kernel_alias(const void *handle, const void *of)
{
    pthread_mutex_lock(&state.lock);
    struct kernel *kernel = at(&state.kernels, key(of));
    struct kernel *old = at(&state.kernels, key(handle));
    if (kernel && old != kernel && enter(&state.kernels, key(handle), kernel)) {
        kernel->users++;
        if (old)
            kernel_drop_locked(old);
    }
    const uint32_t module = kernel ? kernel->module : 0;
    pthread_mutex_unlock(&state.lock);
    return module;
}

static uint32_t function_attribute(CUfunction_attribute wanted, CUfunction function)
{
    int value = 0;
    return REAL(cuFuncGetAttribute)(&value, wanted, function) == CUDA_SUCCESS ? (uint32_t)value : 0;
}

// A kernel of a library may be launched by its own handle; its function in the current context
// tells what it is like.
static CUfunction function_of(const void *handle, bool library)
{
    CUfunction function = NULL;
    if (library && REAL(cuKernelGetFunction)(&function, as_pointer(key(handle))) == CUDA_SUCCESS)
        return function;
    return as_pointer(key(handle));
}

// Announces the kernel of a handle. The driver is asked without the lock.
static uint32_t kernel_announce(const void *handle, bool library)
{
    struct event_kernel record = {0};
    const char *name = NULL;
    CUmodule module = NULL;
    // The first question may load it, which a capture elsewhere would forbid.
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool capturing = atomic_load(&state.captures);
    if (capturing)
        REAL(cuThreadExchangeStreamCaptureMode)(&mode);
    const CUfunction function = function_of(handle, library);
    record.registers = function_attribute(CU_FUNC_ATTRIBUTE_NUM_REGS, function);
    record.static_shared_bytes = function_attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
    record.local_bytes = function_attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function);
    if (REAL(cuFuncGetName)(&name, function) != CUDA_SUCCESS || !name)
        name = "";
    if (REAL(cuFuncGetModule)(&module, function) != CUDA_SUCCESS)
        module = NULL;
    if (capturing)
        REAL(cuThreadExchangeStreamCaptureMode)(&mode);
    uint32_t module_number = module_of(module);

    pthread_mutex_lock(&state.lock);
    struct kernel *kernel = at(&state.kernels, key(handle));
    if (!kernel)
        kernel = kernel_enter_locked(handle, module_number, name);
    if (kernel && !kernel->number) {
        kernel->number = ++state.kernels_made;
        record.number = kernel->number;
        record.module = kernel->module;
        put(EVENT_KERNEL, &record, sizeof(record), kernel->name, strlen(kernel->name));
    }
    uint32_t number = kernel ? kernel->number : 0;
    pthread_mutex_unlock(&state.lock);
    return number;
}

uint32_t kernel_of(const void *handle, bool library)
{
    pthread_mutex_lock(&state.lock);
    const struct kernel *kernel = at(&state.kernels, key(handle));
    uint32_t number = kernel ? kernel->number : 0;
    library = kernel ? kernel->of_library == handle : library;
    pthread_mutex_unlock(&state.lock);
    return number || !handle ? number : kernel_announce(handle, library);
}

CUfunction kernel_function(const void *handle)
{
    pthread_mutex_lock(&state.lock);
    const struct kernel *kernel = at(&state.kernels, key(handle));
    const bool library = kernel && kernel->of_library == handle;
    pthread_mutex_unlock(&state.lock);
    return function_of(handle, library);
}

struct probe_kernel *kernel_probe(const void *handle)
{
    pthread_mutex_lock(&state.lock);
    struct kernel *kernel = at(&state.kernels, key(handle));
    if (kernel && !kernel->probe)
        kernel->probe = probe_kernel_make(kernel->module, kernel->name);
    struct probe_kernel *probe = kernel ? kernel->probe : NULL;
    pthread_mutex_unlock(&state.lock);
    return probe;
}

uint32_t kernel_launched(const void *handle, struct context *context)
{
    pthread_mutex_lock(&state.lock);
    struct kernel *kernel = at(&state.kernels, key(handle));
    uint32_t number = kernel ? kernel->number : 0;
    const bool before = number && (!context || kernel->context == context->number);
    pthread_mutex_unlock(&state.lock);
    if (before || !handle)
        return number;
    number = kernel_of(handle, false);
    pthread_mutex_lock(&state.lock);
    kernel = at(&state.kernels, key(handle)); // entered by now
    const uint32_t module = kernel ? kernel->module : 0;
    const bool library = kernel && kernel->of_library == handle;
    pthread_mutex_unlock(&state.lock);
    if (module && context && variables_wanted(module, context))
        variables_tell(module, function_of(handle, library), context);
    // Only now: another thread that launches it meanwhile waits for the variables, too.
    pthread_mutex_lock(&state.lock);
    kernel = at(&state.kernels, key(handle));
    if (kernel && context)
        kernel->context = context->number;
    pthread_mutex_unlock(&state.lock);
    return number;
}

void kernel_set_shape(const void *handle, const unsigned block[3])
{
    kernel_of(handle, false); // enters it
    pthread_mutex_lock(&state.lock);
    struct kernel *kernel = at(&state.kernels, key(handle));
    if (kernel)
        memcpy(kernel->block, block, sizeof(kernel->block));
    pthread_mutex_unlock(&state.lock);
}

void kernel_set_shared(const void *handle, unsigned bytes)
{
    kernel_of(handle, false);
    pthread_mutex_lock(&state.lock);
    struct kernel *kernel = at(&state.kernels, key(handle));
    if (kernel)
        kernel->shared_bytes = bytes;
    pthread_mutex_unlock(&state.lock);
}

void kernel_shape(const void *handle, unsigned block[3], unsigned *shared_bytes)
{
    pthread_mutex_lock(&state.lock);
    const struct kernel *kernel = at(&state.kernels, key(handle));
    for (int i = 0; i < 3; i++)
        block[i] = kernel ? kernel->block[i] : 0;
    *shared_bytes = kernel ? kernel->shared_bytes : 0;
    pthread_mutex_unlock(&state.lock);
}
