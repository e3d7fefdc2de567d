// SPDX-License-Identifier: Apache-2.0
// Libraries: modules that belong to no context, whose kernels have handles (CUkernel) that mean a
// function of each device. A library is loaded at once for one device, whose module is the handle
// of the library, and for another device when that first needs it. Managed variables are the same
// on all devices, other variables are not.
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "driver.h"
#include "module.h"
#include "stream.h"

// What a library needs beyond the module of its first device. Exists only where there are several
// devices.
struct driver_library {
    struct driver_module *first;
    struct driver_module *modules[SIM_DEVICES_MAX]; // by device; driver.library_lock guards them
    // By device, but devices of the same preset use the texts of the first of them.
    struct driver_texts texts[SIM_DEVICES_MAX];
};

// Returns the first device of the same preset.
static int like(const struct driver_device *device)
{
    int at = 0;
    while (driver.devices[at].preset != device->preset)
        at++;
    return at;
}

static struct driver_device *current_device(void)
{
    const struct driver_context *context = (struct driver_context *)driver_thread()->current;
    return context ? context->device : NULL;
}

static bool copy_texts(const struct driver_texts *from, struct driver_texts *to)
{
    for (size_t i = 0; i < from->texts.count; i++) {
        const struct sim_ptx *text = &from->texts.items[i];
        struct sim_ptx *made = base_array_push(&to->texts);
        if (!made)
            return false;
        char *copy = malloc(text->length + 1);
        *made = (struct sim_ptx){copy, text->length, strdup(text->name)};
        if (!copy || !made->name)
            return false;
        memcpy(copy, text->text, text->length);
        copy[text->length] = '\0';
    }
    return true;
}

// Loads the library for a device. The caller holds library_lock.
static struct driver_module *load_for(struct driver_library *library, struct driver_device *device)
{
    struct driver_texts texts = {0};
    struct driver_module *module = NULL;
    const struct driver_texts *known = &library->texts[like(device)];
    if (!known->texts.count || !copy_texts(known, &texts)) {
        driver_texts_fini(&texts);
        return NULL;
    }
    if (driver_module_make(device, library->first, &texts, NULL, &module) != CUDA_SUCCESS)
        return NULL;
    module->library = library;
    library->modules[driver_ordinal(device)] = module;
    return module;
}

// Returns the library's module for the device. NULL if it has no code for it.
static struct driver_module *module_on(struct driver_module *module, struct driver_device *device)
{
    struct driver_library *library = module->library;
    if (!library || !device || module->device == device)
        return module;
    gpusim_lock(&driver.library_lock, GPUSIM_RANK_LIBRARY);
    struct driver_module *found = library->modules[driver_ordinal(device)];
    if (!found)
        found = load_for(library, device);
    gpusim_unlock(&driver.library_lock, GPUSIM_RANK_LIBRARY);
    return found;
}

struct driver_function *driver_function_on(const void *handle, struct driver_device *device)
{
    const uint64_t *magic = handle;
    const size_t offset = offsetof(struct driver_function, kernel_magic);
    if (!magic || (*magic != DRIVER_FUNCTION_MAGIC && *magic != DRIVER_KERNEL_MAGIC))
        return NULL;
    if (*magic == DRIVER_FUNCTION_MAGIC)
        return (struct driver_function *)(uintptr_t)handle;
    struct driver_function *first = (struct driver_function *)((uintptr_t)handle - offset);
    struct driver_module *module = module_on(first->module, device);
    if (!module || module == first->module)
        return module ? first : NULL;
    // Texts for another device may define other functions.
    for (unsigned i = 0; i < module->function_count; i++)
        if (strcmp(module->functions[i].info->name, first->info->name) == 0)
            return &module->functions[i];
    return NULL;
}

struct driver_function *driver_function_of(const void *handle)
{
    return driver_function_on(handle, current_device());
}

CUlibrary driver_library_of(const struct driver_function *function)
{
    struct driver_module *module = function->module;
    return (CUlibrary)(module->library ? module->library->first : module);
}

static CUkernel kernel_handle(struct driver_function *function)
{
    return (CUkernel)&function->kernel_magic;
}

void driver_libraries_reset(const struct driver_device *device)
{
    gpusim_lock(&driver.library_lock, GPUSIM_RANK_LIBRARY);
    driver_lock();
    for (struct driver_module *first = driver.libraries; first; first = first->next) {
        struct driver_module *module = first->device == device ? first
                                       : first->library
                                           ? first->library->modules[driver_ordinal(device)]
                                           : NULL;
        if (!module)
            continue;
        sim_module_reset(module->module);
        for (unsigned i = 0; i < module->function_count; i++)
            driver_function_reset(&module->functions[i]);
    }
    driver_unlock();
    gpusim_unlock(&driver.library_lock, GPUSIM_RANK_LIBRARY);
}

static void free_library(struct driver_library *library)
{
    if (!library)
        return;
    for (unsigned i = 0; i < SIM_DEVICES_MAX; i++) {
        if (library->modules[i] && library->modules[i] != library->first)
            driver_module_free(library->modules[i]);
        driver_texts_fini(&library->texts[i]);
    }
    free(library);
}

// The image of a library: in memory, or in a file.
struct image {
    const void *memory;
    const char *path;
};

static CUresult add_texts(struct driver_texts *texts, const struct sim_preset *preset,
                          const struct image *image, struct base_buf *log)
{
    return image->path ? driver_texts_add_file(texts, preset, image->path, log)
                       : driver_texts_add(texts, preset, image->memory, "the library", log);
}

// Keeps the texts for other devices than the module's, because the program may free the image. A
// device that the image has no code for gets none.
static CUresult keep_texts(struct driver_module *module, const struct image *image)
{
    struct driver_library *library = calloc(1, sizeof *library);
    DRIVER_REJECT(!library, CUDA_ERROR_OUT_OF_MEMORY);
    library->first = module;
    library->modules[driver_ordinal(module->device)] = module;
    for (unsigned i = 0; i < driver.device_count; i++)
        if ((unsigned)like(&driver.devices[i]) == i)
            add_texts(&library->texts[i], driver.devices[i].preset, image, NULL);
    module->library = library;
    return CUDA_SUCCESS;
}

static CUresult load_library(CUlibrary *library, const struct image *image, struct base_buf *log)
{
    struct driver_device *device = current_device() ? current_device() : &driver.devices[0];
    struct driver_texts texts = {0};
    struct driver_module *loaded = NULL;
    CUresult result = add_texts(&texts, device->preset, image, log);
    if (result != CUDA_SUCCESS) {
        driver_texts_fini(&texts);
        return result;
    }
    DRIVER_TRY(driver_module_make(device, NULL, &texts, log, &loaded));
    if (driver.device_count > 1)
        result = keep_texts(loaded, image);
    if (result != CUDA_SUCCESS) {
        driver_module_free(loaded);
        return result;
    }
    driver_lock();
    loaded->next = driver.libraries;
    driver.libraries = loaded;
    driver_unlock();
    *library = (CUlibrary)loaded;
    return CUDA_SUCCESS;
}

// --- The API -------------------------------------------------------------------------------------

// Loads the image and answers the options for the compiler; those of libraries have no effect.
static CUresult load_with(CUlibrary *library, const struct image *image, unsigned int count,
                          CUjit_option *options, void **values)
{
    struct base_buf log = {0};
    CUresult result = load_library(library, image, &log);
    driver_options_answer(count, options, values, &log);
    base_buf_fini(&log);
    return result;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                           void **jitOptionsValues, unsigned int numJitOptions,
                           CUlibraryOption *libraryOptions, void **libraryOptionValues,
                           unsigned int numLibraryOptions)
{
    DRIVER_BEGIN();
    (void)libraryOptions;
    (void)libraryOptionValues;
    DRIVER_REJECT(!library || !code, CUDA_ERROR_INVALID_VALUE);
    return load_with(library, &(struct image){.memory = code}, numJitOptions, jitOptions,
                     jitOptionsValues);
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, CUjit_option *jitOptions,
                               void **jitOptionsValues, unsigned int numJitOptions,
                               CUlibraryOption *libraryOptions, void **libraryOptionValues,
                               unsigned int numLibraryOptions)
{
    DRIVER_BEGIN();
    (void)libraryOptions;
    (void)libraryOptionValues;
    DRIVER_REJECT(!library || !fileName, CUDA_ERROR_INVALID_VALUE);
    return load_with(library, &(struct image){.path = fileName}, numJitOptions, jitOptions,
                     jitOptionsValues);
}

#define LIBRARY(module, handle)                                      \
    struct driver_module *module = (struct driver_module *)(handle); \
    DRIVER_REJECT(!driver_module_valid(module), driver_no_handle("module"))

CUresult cuLibraryUnload(CUlibrary library)
{
    DRIVER_BEGIN();
    LIBRARY(module, library);
    driver_lock();
    driver_wait_device(module->library ? NULL : module->device); // its kernels may be running
    struct driver_module **at = &driver.libraries;
    while (*at && *at != module)
        at = &(*at)->next;
    if (*at)
        *at = module->next;
    driver_unlock();
    driver_flush_output();
    free_library(module->library);
    driver_module_free(module);
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
    DRIVER_BEGIN();
    LIBRARY(module, library);
    DRIVER_REJECT(!pKernel || !name, CUDA_ERROR_INVALID_VALUE);
    struct driver_function *function;
    DRIVER_TRY(driver_module_function(module, name, &function));
    *pKernel = kernel_handle(function);
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
    return cuModuleGetFunctionCount(count, (CUmodule)lib);
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
    DRIVER_BEGIN();
    LIBRARY(module, lib);
    DRIVER_REJECT(!kernels, CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < numKernels && i < module->function_count; i++)
        kernels[i] = kernel_handle(&module->functions[i]);
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
    DRIVER_BEGIN();
    LIBRARY(module, library);
    DRIVER_REJECT(!pMod, CUDA_ERROR_INVALID_VALUE);
    struct driver_module *here = module_on(module, current_device());
    DRIVER_REJECT(!here, CUDA_ERROR_NO_BINARY_FOR_GPU);
    *pMod = (CUmodule)here;
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
    DRIVER_BEGIN();
    LIBRARY(module, library);
    DRIVER_REJECT(!name, CUDA_ERROR_INVALID_VALUE);
    const struct driver_module *here = module_on(module, current_device());
    DRIVER_REJECT(!here, CUDA_ERROR_NO_BINARY_FOR_GPU);
    return driver_module_variable(here, name, dptr, bytes, false);
}

CUresult cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
    DRIVER_BEGIN();
    LIBRARY(module, library);
    DRIVER_REJECT(!name, CUDA_ERROR_INVALID_VALUE);
    return driver_module_variable(module, name, dptr, bytes, true);
}

CUresult cuLibraryGetUnifiedFunction(void **fptr, CUlibrary library, const char *symbol)
{
    DRIVER_BEGIN();
    (void)fptr;
    return CUDA_ERROR_NOT_FOUND;
}
