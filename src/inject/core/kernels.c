// SPDX-License-Identifier: Apache-2.0
// Numbers of modules and kernels. The driver is asked about a kernel without the lock.
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

#include "contexts.h"
#include "driver.h"
#include "names.h"
#include "object_records.h"
#include "variables.h"

struct kernel {
    uint32_t number; // 0: not announced yet
    uint32_t module;
    uint32_t context;                // in which it was launched last
    uint32_t users;                  // handles that lead here
    const void *of_library;          // the handle that is a CUkernel; NULL: none
    uint32_t block[3], shared_bytes; // for launches of before CUDA 4
    void *kept;                      // a layer's: kernel_kept; NULL: none
    char name[];
};

// --- Modules and kernels -------------------------------------------------------------------------

uint32_t module_new(const void *handle, struct context *context, const struct event_module *about,
                    const char *path)
{
    struct event_module record = *about;
    pthread_mutex_lock(&state.lock);
    uint64_t *place = base_map_put(&state.modules, name_key(handle), NULL);
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
    const uint64_t *place = base_map_get(&state.modules, name_key(handle));
    uint32_t number = place ? (uint32_t)*place : 0;
    pthread_mutex_unlock(&state.lock);
    return number;
}

void module_alias(const void *handle, const void *of)
{
    uint32_t number = module_of(of);
    pthread_mutex_lock(&state.lock);
    uint64_t *place = number ? base_map_put(&state.modules, name_key(handle), NULL) : NULL;
    if (place)
        *place = number;
    pthread_mutex_unlock(&state.lock);
}

static void kernel_drop_locked(struct kernel *kernel)
{
    if (--kernel->users)
        return;
    if (kernel->kept)
        layers_kernel_dropped(kernel->kept);
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
    layers_module_ended(module);
    pthread_mutex_lock(&state.lock);
    for (size_t i = 0; i < state.modules.count; i++) { // with its other names
        const struct base_map_entry *entry = &state.modules.entries[i];
        if (!entry->removed && entry->value == module)
            base_map_remove(&state.modules, entry->key);
    }
    for (size_t i = 0; i < state.kernels.count; i++) {
        const struct base_map_entry *entry = &state.kernels.entries[i];
        struct kernel *kernel = entry->removed ? NULL : name_pointer(entry->value);
        if (kernel && kernel->module == module) {
            base_map_remove(&state.kernels, entry->key);
            kernel_drop_locked(kernel);
        }
    }
    pthread_mutex_unlock(&state.lock);
}

static struct kernel *kernel_enter_locked(const void *handle, uint32_t module, const char *name)
{
    struct kernel *kernel = name_at(&state.kernels, name_key(handle));
    if (kernel && strcmp(kernel->name, name) == 0 && (kernel->module == module || !module))
        return kernel;
    struct kernel *old = kernel; // of a handle that is used again
    kernel = calloc(1, sizeof(*kernel) + strlen(name) + 1);
    if (!kernel || !name_enter(&state.kernels, name_key(handle), kernel)) {
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
    struct kernel *kernel = name_at(&state.kernels, name_key(of));
    struct kernel *old = name_at(&state.kernels, name_key(handle));
    if (kernel && old != kernel && name_enter(&state.kernels, name_key(handle), kernel)) {
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
    if (library &&
        REAL(cuKernelGetFunction)(&function, name_pointer(name_key(handle))) == CUDA_SUCCESS)
        return function;
    return name_pointer(name_key(handle));
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
    struct kernel *kernel = name_at(&state.kernels, name_key(handle));
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
    const struct kernel *kernel = name_at(&state.kernels, name_key(handle));
    uint32_t number = kernel ? kernel->number : 0;
    library = kernel ? kernel->of_library == handle : library;
    pthread_mutex_unlock(&state.lock);
    return number || !handle ? number : kernel_announce(handle, library);
}

CUfunction kernel_function(const void *handle)
{
    pthread_mutex_lock(&state.lock);
    const struct kernel *kernel = name_at(&state.kernels, name_key(handle));
    const bool library = kernel && kernel->of_library == handle;
    pthread_mutex_unlock(&state.lock);
    return function_of(handle, library);
}

void *kernel_kept(const void *handle, void *(*make)(uint32_t module, const char *name))
{
    pthread_mutex_lock(&state.lock);
    struct kernel *kernel = name_at(&state.kernels, name_key(handle));
    if (kernel && !kernel->kept)
        kernel->kept = make(kernel->module, kernel->name);
    void *kept = kernel ? kernel->kept : NULL;
    pthread_mutex_unlock(&state.lock);
    return kept;
}

uint32_t kernel_launched(const void *handle, struct context *context)
{
    pthread_mutex_lock(&state.lock);
    struct kernel *kernel = name_at(&state.kernels, name_key(handle));
    uint32_t number = kernel ? kernel->number : 0;
    const bool before = number && (!context || kernel->context == context->number);
    pthread_mutex_unlock(&state.lock);
    if (before || !handle)
        return number;
    number = kernel_of(handle, false);
    pthread_mutex_lock(&state.lock);
    kernel = name_at(&state.kernels, name_key(handle)); // entered by now
    const uint32_t module = kernel ? kernel->module : 0;
    const bool library = kernel && kernel->of_library == handle;
    pthread_mutex_unlock(&state.lock);
    if (module && context && variables_wanted(module, context))
        variables_tell(module, function_of(handle, library), context);
    // Only now: another thread that launches it meanwhile waits for the variables, too.
    pthread_mutex_lock(&state.lock);
    kernel = name_at(&state.kernels, name_key(handle));
    if (kernel && context)
        kernel->context = context->number;
    pthread_mutex_unlock(&state.lock);
    return number;
}

void kernel_set_shape(const void *handle, const unsigned block[3])
{
    kernel_of(handle, false); // enters it
    pthread_mutex_lock(&state.lock);
    struct kernel *kernel = name_at(&state.kernels, name_key(handle));
    if (kernel)
        memcpy(kernel->block, block, sizeof(kernel->block));
    pthread_mutex_unlock(&state.lock);
}

void kernel_set_shared(const void *handle, unsigned bytes)
{
    kernel_of(handle, false);
    pthread_mutex_lock(&state.lock);
    struct kernel *kernel = name_at(&state.kernels, name_key(handle));
    if (kernel)
        kernel->shared_bytes = bytes;
    pthread_mutex_unlock(&state.lock);
}

void kernel_shape(const void *handle, unsigned block[3], unsigned *shared_bytes)
{
    pthread_mutex_lock(&state.lock);
    const struct kernel *kernel = name_at(&state.kernels, name_key(handle));
    for (int i = 0; i < 3; i++)
        block[i] = kernel ? kernel->block[i] : 0;
    *shared_bytes = kernel ? kernel->shared_bytes : 0;
    pthread_mutex_unlock(&state.lock);
}
