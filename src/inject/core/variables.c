// SPDX-License-Identifier: Apache-2.0
// Variables of modules become objects when the program asks for them, or when a function of their
// module is first requested or launched in a context. The driver cannot list them, so their names
// are taken from the image (util/globals.h). The driver is asked only then, because it may load a
// module that late. Variables that it does not find, such as static ones, are left out.
#include "variables.h"

#include <stdlib.h>
#include <string.h>

#include "contexts.h"
#include "driver.h"
#include "inject/util/globals.h"
#include "object_records.h"

struct core_variables {
    const void *image; // the program's image, which was not read yet; NULL: it was read
    struct util_globals globals;
    BASE_ARRAY(uint32_t) contexts; // in which they are objects
};

void core_variables_begin(uint32_t module, struct core_context *context, const char *name,
                          CUdeviceptr address, size_t bytes)
{
    struct core_object object;
    uint64_t managed = 0; // the driver writes as many bytes as its boolean has
    if (!address || !bytes)
        return;
    if (core_objects_find(&core_state.objects, OBJECTS_MEMORY, address, &object) && object.owner &&
        object.start == address && object.bytes == bytes)
        return; // it is an object already
    if (REAL(cuPointerGetAttribute)(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) !=
        CUDA_SUCCESS)
        managed = 0;
    struct event_object record = {.kind = managed ? EVENT_OBJECT_MANAGED : EVENT_OBJECT_GLOBAL,
                                  .address = address,
                                  .bytes = bytes};
    core_object_name(core_object_begin(&record, context, 0, module), name);
}

// --- Names from images ---------------------------------------------------------------------------

static struct core_variables *find_locked(uint32_t module)
{
    const uint64_t *place = base_map_get(&core_state.variables, module);
    return place ? (struct core_variables *)(uintptr_t)*place
                 : NULL; // NOLINT(performance-no-int-to-ptr)
}

static unsigned attribute(CUdevice_attribute wanted, const struct core_context *context)
{
    const CUdevice device = context && context->device ? (CUdevice)context->device - 1 : 0;
    int value = 0;
    return REAL(cuDeviceGetAttribute)(&value, wanted, device) == CUDA_SUCCESS ? (unsigned)value : 0;
}

static void read_names(struct util_globals *globals, const void *image, const char *path,
                       const struct core_context *context)
{
    const unsigned major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, context);
    const unsigned minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, context);
    if (image)
        util_globals_of_image(image, major, minor, globals);
    else
        util_globals_of_file(path, major, minor, globals);
    if (globals->truncated)
        core_note(EVENT_WARNING,
                  "a module has more code or more variables than glint examines: some of its "
                  "variables become objects only when the program asks for them");
}

void core_variables_note(uint32_t module, const struct core_context *context, const void *image,
                         const char *path, bool preserved)
{
    struct core_variables *variables = module ? calloc(1, sizeof(*variables)) : NULL;
    if (!variables)
        return;
    if (preserved)
        variables->image = image;
    else
        read_names(&variables->globals, image, path, context);
    util_mutex_lock(&core_state.variables_lock, RANK_VARIABLES);
    uint64_t *place = variables->image || variables->globals.count
                          ? base_map_put(&core_state.variables, module, NULL)
                          : NULL;
    if (place) {
        *place = (uint64_t)(uintptr_t)variables;
    } else {
        util_globals_fini(&variables->globals);
        free(variables);
    }
    util_mutex_unlock(&core_state.variables_lock, RANK_VARIABLES);
}

static bool is_told_locked(const struct core_variables *variables, uint32_t context)
{
    for (size_t i = 0; i < variables->contexts.count; i++) {
        if (variables->contexts.items[i] == context)
            return true;
    }
    return false;
}

bool core_variables_wanted(uint32_t module, const struct core_context *context)
{
    util_mutex_lock(&core_state.variables_lock, RANK_VARIABLES);
    const struct core_variables *variables = find_locked(module);
    const bool wanted = variables && !is_told_locked(variables, context->number);
    util_mutex_unlock(&core_state.variables_lock, RANK_VARIABLES);
    return wanted;
}

static void tell_locked(struct core_variables *variables, uint32_t module, CUmodule handle,
                        struct core_context *context)
{
    if (variables->image)
        read_names(&variables->globals, variables->image, NULL, context);
    variables->image = NULL;
    const char *name = variables->globals.names.text;
    for (size_t i = 0; i < variables->globals.count; i++, name += strlen(name) + 1) {
        CUdeviceptr address = 0;
        size_t bytes = 0;
        if (REAL(cuModuleGetGlobal_v2)(&address, &bytes, handle, name) == CUDA_SUCCESS)
            core_variables_begin(module, context, name, address, bytes);
    }
}

void core_variables_tell(uint32_t module, CUfunction function, struct core_context *context)
{
    CUmodule handle = NULL;
    // A query may load something, which a capture in another thread would forbid.
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool capturing = atomic_load(&core_state.captures);
    if (capturing)
        REAL(cuThreadExchangeStreamCaptureMode)(&mode);
    util_mutex_lock(&core_state.variables_lock, RANK_VARIABLES);
    struct core_variables *variables = find_locked(module);
    uint32_t *place = variables && context && !is_told_locked(variables, context->number)
                          ? base_array_push(&variables->contexts)
                          : NULL;
    if (place) {
        *place = context->number;
        if (REAL(cuFuncGetModule)(&handle, function) == CUDA_SUCCESS)
            tell_locked(variables, module, handle, context);
    }
    util_mutex_unlock(&core_state.variables_lock, RANK_VARIABLES);
    if (capturing)
        REAL(cuThreadExchangeStreamCaptureMode)(&mode);
}

void core_variables_end(uint32_t module)
{
    util_mutex_lock(&core_state.variables_lock, RANK_VARIABLES);
    struct core_variables *variables = find_locked(module);
    if (variables) {
        base_map_remove(&core_state.variables, module);
        util_globals_fini(&variables->globals);
        base_array_fini(&variables->contexts);
        free(variables);
    }
    util_mutex_unlock(&core_state.variables_lock, RANK_VARIABLES);
}
