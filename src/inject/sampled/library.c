// SPDX-License-Identifier: Apache-2.0
// Global loads, stores and atomic operations must be patched, or nothing is known. Copies between
// global and shared memory are patched if the library and the GPU know them: what they touch
// otherwise stays known by the launch's arguments.
#include "library.h"

#include <dlfcn.h>
#include <stdio.h>

#include "mark.h"

// No callbacks are enabled.
static void ignore(void *userdata, int domain, uint32_t id, const void *data)
{
    (void)userdata;
    (void)domain;
    (void)id;
    (void)data;
}

const char *sampled_library_open(struct sampled_library *library, const char *path, char *room,
                                 size_t bytes)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *why = dlerror();
        snprintf(room, bytes, "it cannot be loaded: %s", why ? why : path);
        return room;
    }
    const char *missing = NULL;
#define FIND(name, params)                                                       \
    library->name = (__typeof__(library->name))dlsym(handle, "sanitizer" #name); \
    if (!library->name)                                                          \
        missing = "sanitizer" #name;
    SANITIZER_FUNCTIONS(FIND)
#undef FIND
    if (missing) {
        snprintf(room, bytes, "%s has no %s", path, missing);
        dlclose(handle);
        return room;
    }
    const int result = library->Subscribe(&library->subscriber, ignore, NULL);
    if (result == SANITIZER_SUCCESS)
        return NULL; // it stays loaded
    library->subscriber = NULL;
    snprintf(room, bytes, "sanitizerSubscribe returns %d, as it does if another tool is at work",
             result);
    return room;
}

void sampled_library_close(struct sampled_library *library)
{
    if (library->subscriber)
        library->Unsubscribe(library->subscriber);
    library->subscriber = NULL;
}

const char *sampled_library_add(const struct sampled_library *library, const void *patch,
                                CUcontext context)
{
    return library->AddPatches(patch, context) == SANITIZER_SUCCESS
               ? NULL
               : "the Sanitizer API does not accept glint's patch";
}

const char *sampled_library_patch(const struct sampled_library *library, CUmodule module)
{
    static const struct {
        int instruction;
        const char *patch;
    } copies[] = {
        {SANITIZER_INSTRUCTION_MEMCPY_ASYNC, SAMPLED_PATCH_COPY},
        {SANITIZER_INSTRUCTION_BULK_COPY_GLOBAL_TO_SHARED, SAMPLED_PATCH_FETCH},
        {SANITIZER_INSTRUCTION_BULK_COPY_SHARED_TO_GLOBAL, SAMPLED_PATCH_STORE},
        {SANITIZER_INSTRUCTION_BULK_REDUCTION_SHARED_TO_GLOBAL, SAMPLED_PATCH_REDUCE},
    };
    if (library->PatchInstructions(SANITIZER_INSTRUCTION_GLOBAL_MEMORY_ACCESS, module,
                                   SAMPLED_PATCH_ACCESS) != SANITIZER_SUCCESS)
        return "glint's patch has no code for this GPU";
    for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++)
        (void)library->PatchInstructions(copies[i].instruction, module, copies[i].patch);
    return library->PatchModule(module) == SANITIZER_SUCCESS ? NULL
                                                             : "the Sanitizer API does not patch a "
                                                               "module";
}
