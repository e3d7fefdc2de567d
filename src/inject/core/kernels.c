// SPDX-License-Identifier: Apache-2.0
// Numbers of modules and kernels. The driver is called without the lock.
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

#include "contexts.h"
#include "driver.h"
#include "names.h"
#include "object_records.h"
#include "params.h"
#include "variables.h"

struct core_kernel {
    uint32_t number; // 0: not announced yet
    uint32_t module;
    uint32_t context;                // number of the context in which it was launched last
    uint32_t users;                  // handles that lead here
    const void *of_library;          // the handle that is a CUkernel; NULL: none
    uint32_t block[3], shared_bytes; // for launches through pre-CUDA 4 functions
    void *kept;                      // a layer's: core_kernel_kept; NULL: none
    struct core_params *params;      // NULL: not known yet
    char name[];
};

// --- Modules and kernels -------------------------------------------------------------------------

uint32_t core_module_new(const void *handle, struct core_context *context,
                         const struct event_module *about, const char *path)
{
    struct event_module record = *about;
    util_mutex_lock(&core_state.lock, RANK_STATE);
    uint64_t *place = base_map_put(&core_state.modules, core_map_key(handle), NULL);
    if (place) {
        record.number = ++core_state.modules_made;
        record.context = context ? context->number : 0;
        *place = record.number;
        core_put(EVENT_MODULE, &record, sizeof(record), path, path ? strlen(path) : 0);
    } else {
        core_no_memory();
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return record.number;
}

uint32_t core_module_of(const void *handle)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    const uint64_t *place = base_map_get(&core_state.modules, core_map_key(handle));
    uint32_t number = place ? (uint32_t)*place : 0;
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return number;
}

void core_module_alias(const void *handle, const void *of)
{
    uint32_t number = core_module_of(of);
    util_mutex_lock(&core_state.lock, RANK_STATE);
    uint64_t *place = number ? base_map_put(&core_state.modules, core_map_key(handle), NULL) : NULL;
    if (place)
        *place = number;
    util_mutex_unlock(&core_state.lock, RANK_STATE);
}

static void kernel_drop_locked(struct core_kernel *kernel)
{
    if (--kernel->users)
        return;
    if (kernel->kept)
        core_layers_kernel_dropped(kernel->kept);
    free(kernel->params);
    free(kernel);
}

void core_module_end(const void *handle, uint64_t call)
{
    const uint32_t module = core_module_of(handle);
    if (!module)
        return;
    struct core_object object;
    uint64_t from = 0;
    while (core_objects_take_of(&core_state.objects, OBJECTS_MEMORY, 0, module, &from, &object))
        core_object_end(&object, call, 0);
    core_variables_end(module);
    core_layers_module_ended(module);
    util_mutex_lock(&core_state.lock, RANK_STATE);
    for (size_t i = 0; i < core_state.modules.count; i++) { // also its aliases
        const struct base_map_entry *entry = &core_state.modules.entries[i];
        if (!entry->removed && entry->value == module)
            base_map_remove(&core_state.modules, entry->key);
    }
    for (size_t i = 0; i < core_state.kernels.count; i++) {
        const struct base_map_entry *entry = &core_state.kernels.entries[i];
        struct core_kernel *kernel = entry->removed ? NULL : core_map_pointer(entry->value);
        if (kernel && kernel->module == module) {
            base_map_remove(&core_state.kernels, entry->key);
            kernel_drop_locked(kernel);
        }
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
}

static struct core_kernel *kernel_enter_locked(const void *handle, uint32_t module,
                                               const char *name)
{
    struct core_kernel *kernel = core_map_at(&core_state.kernels, core_map_key(handle));
    if (kernel && strcmp(kernel->name, name) == 0 && (kernel->module == module || !module))
        return kernel;
    struct core_kernel *old = kernel; // the driver has reused the handle
    kernel = calloc(1, sizeof(*kernel) + strlen(name) + 1);
    if (!kernel || !core_map_enter(&core_state.kernels, core_map_key(handle), kernel)) {
        free(kernel);
        core_no_memory();
        return old;
    }
    if (old)
        kernel_drop_locked(old);
    kernel->module = module;
    kernel->users = 1;
    memcpy(kernel->name, name, strlen(name) + 1);
    return kernel;
}

void core_kernel_note(const void *handle, uint32_t module, const char *name, bool library)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct core_kernel *kernel = kernel_enter_locked(handle, module, name);
    if (kernel)
        kernel->of_library = library ? handle : NULL;
    util_mutex_unlock(&core_state.lock, RANK_STATE);
}

uint32_t core_kernel_alias(const void *handle, const void *of)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct core_kernel *kernel = core_map_at(&core_state.kernels, core_map_key(of));
    struct core_kernel *old = core_map_at(&core_state.kernels, core_map_key(handle));
    if (kernel && old != kernel &&
        core_map_enter(&core_state.kernels, core_map_key(handle), kernel)) {
        kernel->users++;
        if (old)
            kernel_drop_locked(old);
    }
    const uint32_t module = kernel ? kernel->module : 0;
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return module;
}

static uint32_t function_attribute(CUfunction_attribute wanted, CUfunction function)
{
    int value = 0;
    return REAL(cuFuncGetAttribute)(&value, wanted, function) == CUDA_SUCCESS ? (uint32_t)value : 0;
}

// Returns the function of a kernel in the current context, which has its attributes. A kernel of a
// library may be launched by its CUkernel handle.
static CUfunction function_of(const void *handle, bool library)
{
    CUfunction function = NULL;
    if (library && REAL(cuKernelGetFunction)(&function, core_map_pointer(core_map_key(handle))) ==
                       CUDA_SUCCESS)
        return function;
    return core_map_pointer(core_map_key(handle));
}

// Returns a kernel of a library that is this function in the current context; NULL: none. The
// driver describes nodes of graphs by functions, also if the program launched the kernel by its
// CUkernel handle. Calls the driver without the lock.
static const void *library_kernel_of(CUfunction function, const char *name)
{
    enum { MOST = 16 }; // of the same name, in different libraries
    const void *candidates[MOST];
    size_t count = 0;
    util_mutex_lock(&core_state.lock, RANK_STATE);
    for (size_t i = 0; i < core_state.kernels.count && count < MOST; i++) {
        const struct base_map_entry *entry = &core_state.kernels.entries[i];
        const struct core_kernel *kernel =
            entry->removed ? NULL : core_map_pointer(entry->value); // several handles may have it
        if (kernel && kernel->of_library && core_map_key(kernel->of_library) == entry->key &&
            strcmp(kernel->name, name) == 0)
            candidates[count++] = kernel->of_library;
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    for (size_t i = 0; i < count; i++) {
        if (function_of(candidates[i], true) == function)
            return candidates[i];
    }
    return NULL;
}

// Announces the kernel of a handle. Calls the driver without the lock.
static uint32_t kernel_announce(const void *handle, bool library)
{
    struct event_kernel record = {0};
    const char *name = NULL;
    CUmodule module = NULL;
    // The first query may load it, which a capture in another thread would forbid.
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool capturing = atomic_load(&core_state.captures);
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
    if (!library && *name) {
        const void *of = library_kernel_of(function, name);
        if (of)
            core_kernel_alias(handle, of);
    }
    if (capturing)
        REAL(cuThreadExchangeStreamCaptureMode)(&mode);
    uint32_t module_number = core_module_of(module);

    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct core_kernel *kernel = core_map_at(&core_state.kernels, core_map_key(handle));
    if (!kernel)
        kernel = kernel_enter_locked(handle, module_number, name);
    if (kernel && !kernel->number) {
        kernel->number = ++core_state.kernels_made;
        record.number = kernel->number;
        record.module = kernel->module;
        core_put(EVENT_KERNEL, &record, sizeof(record), kernel->name, strlen(kernel->name));
    }
    uint32_t number = kernel ? kernel->number : 0;
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return number;
}

uint32_t core_kernel_of(const void *handle, bool library)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    const struct core_kernel *kernel = core_map_at(&core_state.kernels, core_map_key(handle));
    uint32_t number = kernel ? kernel->number : 0;
    library = kernel ? kernel->of_library == handle : library;
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return number || !handle ? number : kernel_announce(handle, library);
}

CUfunction core_kernel_function(const void *handle)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    const struct core_kernel *kernel = core_map_at(&core_state.kernels, core_map_key(handle));
    const bool library = kernel && kernel->of_library == handle;
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return function_of(handle, library);
}

void *core_kernel_kept(const void *handle, void *(*make)(uint32_t module, const char *name))
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct core_kernel *kernel = core_map_at(&core_state.kernels, core_map_key(handle));
    if (kernel && !kernel->kept)
        kernel->kept = make(kernel->module, kernel->name);
    void *kept = kernel ? kernel->kept : NULL;
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return kept;
}

const struct core_params *core_kernel_params(const void *handle, struct core_params *params)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct core_kernel *kernel = core_map_at(&core_state.kernels, core_map_key(handle));
    if (kernel && !kernel->params) {
        kernel->params = params;
        params = NULL;
    }
    const struct core_params *kept = kernel ? kernel->params : NULL;
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    free(params);
    return kept;
}

uint32_t core_kernel_launched(const void *handle, struct core_context *context)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct core_kernel *kernel = core_map_at(&core_state.kernels, core_map_key(handle));
    uint32_t number = kernel ? kernel->number : 0;
    const bool before = number && (!context || kernel->context == context->number);
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    if (before || !handle)
        return number;
    number = core_kernel_of(handle, false);
    util_mutex_lock(&core_state.lock, RANK_STATE);
    kernel = core_map_at(&core_state.kernels, core_map_key(handle)); // known by now
    const uint32_t module = kernel ? kernel->module : 0;
    const bool library = kernel && kernel->of_library == handle;
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    if (module && context && core_variables_wanted(module, context))
        core_variables_tell(module, function_of(handle, library), context);
    // Set only now, so that another thread that launches the kernel meanwhile also waits for the
    // variables.
    util_mutex_lock(&core_state.lock, RANK_STATE);
    kernel = core_map_at(&core_state.kernels, core_map_key(handle));
    if (kernel && context)
        kernel->context = context->number;
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return number;
}

void core_kernel_set_shape(const void *handle, const unsigned block[3])
{
    core_kernel_of(handle, false); // adds it to the map
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct core_kernel *kernel = core_map_at(&core_state.kernels, core_map_key(handle));
    if (kernel)
        memcpy(kernel->block, block, sizeof(kernel->block));
    util_mutex_unlock(&core_state.lock, RANK_STATE);
}

void core_kernel_set_shared(const void *handle, unsigned bytes)
{
    core_kernel_of(handle, false);
    util_mutex_lock(&core_state.lock, RANK_STATE);
    struct core_kernel *kernel = core_map_at(&core_state.kernels, core_map_key(handle));
    if (kernel)
        kernel->shared_bytes = bytes;
    util_mutex_unlock(&core_state.lock, RANK_STATE);
}

uint32_t core_kernel_limit(CUfunction function, CUfunction_attribute attribute)
{
    int value = 0;
    return REAL(cuFuncGetAttribute)(&value, attribute, function) == CUDA_SUCCESS ? (uint32_t)value
                                                                                 : UINT32_MAX;
}

bool core_kernel_has_shape(const unsigned grid[3], const unsigned block[3], uint32_t most_threads)
{
    static const unsigned most_blocks[] = {INT32_MAX, UINT16_MAX, UINT16_MAX};
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (grid[i] - 1 >= most_blocks[i] || block[i] - 1 >= UINT16_MAX)
            return false;
        threads *= block[i];
    }
    return threads <= most_threads;
}

void core_kernel_shape(const void *handle, unsigned block[3], unsigned *shared_bytes)
{
    util_mutex_lock(&core_state.lock, RANK_STATE);
    const struct core_kernel *kernel = core_map_at(&core_state.kernels, core_map_key(handle));
    for (int i = 0; i < 3; i++)
        block[i] = kernel ? kernel->block[i] : 0;
    *shared_bytes = kernel ? kernel->shared_bytes : 0;
    util_mutex_unlock(&core_state.lock, RANK_STATE);
}
