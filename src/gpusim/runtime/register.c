// SPDX-License-Identifier: Apache-2.0
// Registration: before main(), compiled programs register their fatbins with the runtime, and the
// host functions and variables that represent kernels and device variables. Code is loaded on first
// use, so that a program with a thousand kernels starts quickly, and a kernel that the machine
// cannot run causes errors only where it is used.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"
#include "gpusim/locks.h"
#include "runtime.h"

enum { OWN_FAILURE = 125 };

// The result of one __cudaRegisterFatBinary. The program owns the wrapper and all names.
struct binary {
    void *wrapper;
    bool tried; // loading was attempted
    CUlibrary library;
    cudaError_t error; // if tried: why there is no library
};

struct host_kernel {
    struct binary *binary;
    const void *host_function;
    const char *name;
    CUkernel handle; // NULL: not looked up yet
};

struct host_variable {
    struct binary *binary;
    const char *name;
    size_t size_bytes;
    void **managed; // where the program keeps the address of managed storage; NULL: not managed
};

static uint64_t key_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static void *found(const struct base_map *map, const void *key)
{
    uint64_t *value = base_map_get(map, key_of(key));
    return value ? (void *)(uintptr_t)*value : NULL;
}

// --- Registration -------------------------------------------------------------------------------

void **__cudaRegisterFatBinary(void *wrapper)
{
    struct binary *binary = calloc(1, sizeof *binary);
    if (binary)
        binary->wrapper = wrapper;
    return (void **)binary;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
                            const char *device_name, int thread_limit, struct uint3 *tid,
                            struct uint3 *bid, dim3 *block, dim3 *grid, int *warp_size)
{
    (void)device_function, (void)thread_limit, (void)tid, (void)bid;
    (void)block, (void)grid, (void)warp_size;
    struct host_kernel *kernel = handle ? malloc(sizeof *kernel) : NULL;
    if (!kernel)
        return; // a launch will report that the function is unknown
    *kernel = (struct host_kernel){(struct binary *)handle, host_function, device_name, NULL};
    gpusim_lock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
    uint64_t *place = base_map_put(&runtime.functions, key_of(host_function), NULL);
    if (place) {
        free((void *)(uintptr_t)*place);
        *place = key_of(kernel);
    } else {
        free(kernel);
    }
    gpusim_unlock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
}

static void add_variable(void **handle, const void *host_variable, struct host_variable description)
{
    struct host_variable *variable = handle ? malloc(sizeof *variable) : NULL;
    if (!variable)
        return;
    *variable = description;
    variable->binary = (struct binary *)handle;
    gpusim_lock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
    uint64_t *place = base_map_put(&runtime.variables, key_of(host_variable), NULL);
    if (place) {
        free((void *)(uintptr_t)*place);
        *place = key_of(variable);
    } else {
        free(variable);
    }
    gpusim_unlock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
}

void __cudaRegisterVar(void **handle, char *host_variable, char *device_address,
                       const char *device_name, int is_extern, size_t size_bytes, int is_constant,
                       int is_global)
{
    (void)device_address, (void)is_extern, (void)is_constant, (void)is_global;
    add_variable(handle, host_variable,
                 (struct host_variable){.name = device_name, .size_bytes = size_bytes});
}

void __cudaRegisterManagedVar(void **handle, void **host_variable, char *device_address,
                              const char *device_name, int is_extern, size_t size_bytes,
                              int is_constant, int is_global)
{
    (void)device_address, (void)is_extern, (void)is_constant, (void)is_global;
    add_variable(handle, host_variable,
                 (struct host_variable){
                     .name = device_name, .size_bytes = size_bytes, .managed = host_variable});
}

void __cudaRegisterHostVar(void **handle, const char *device_name, char *host_variable,
                           size_t size_bytes)
{
    add_variable(handle, host_variable,
                 (struct host_variable){.name = device_name, .size_bytes = size_bytes});
}

void __cudaRegisterUnifiedTable(void **handle, void *table)
{
    (void)handle, (void)table;
}

// Drops what was noted about the kernel's handles: its own, and a function of each device on which
// it was used. The caller holds the registry lock.
static void forget_handles(const struct host_kernel *kernel)
{
    if (!kernel->handle)
        return;
    for (size_t i = 0; i < runtime.handles.count; i++) {
        const struct base_map_entry *entry = &runtime.handles.entries[i];
        if (!entry->removed && entry->value == key_of(kernel->host_function))
            base_map_remove(&runtime.handles, entry->key);
    }
}

// Called at exit, and when the program unloads a shared library. At exit the code stays loaded:
// unloading it would wait for running kernels, for which the program itself chose not to wait.
void __cudaUnregisterFatBinary(void **handle)
{
    struct binary *binary = (struct binary *)handle;
    if (!binary)
        return;
    gpusim_lock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
    for (size_t i = 0; i < runtime.functions.count; i++) {
        struct base_map_entry *entry = &runtime.functions.entries[i];
        struct host_kernel *kernel = (struct host_kernel *)(uintptr_t)entry->value;
        if (entry->removed || kernel->binary != binary)
            continue;
        forget_handles(kernel);
        base_map_remove(&runtime.functions, entry->key);
        free(kernel);
    }
    for (size_t i = 0; i < runtime.variables.count; i++) {
        struct base_map_entry *entry = &runtime.variables.entries[i];
        struct host_variable *variable = (struct host_variable *)(uintptr_t)entry->value;
        if (entry->removed || variable->binary != binary)
            continue;
        base_map_remove(&runtime.variables, entry->key);
        free(variable);
    }
    struct base_map *maps[] = {&runtime.functions, &runtime.variables, &runtime.handles};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++)
        if (maps[i]->live == 0)
            base_map_fini(maps[i]); // libcudart itself may be unloaded next
    bool unload = binary->library && !runtime.exiting;
    gpusim_unlock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
    if (unload)
        cuLibraryUnload(binary->library);
    free(binary);
}

// --- Loading ------------------------------------------------------------------------------------

static void note_exit(void)
{
    gpusim_lock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
    runtime.exiting = true;
    gpusim_unlock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
}

// The caller holds the registry lock.
static cudaError_t load(struct binary *binary)
{
    if (!binary->tried) {
        // Exit handlers run in reverse order. This one therefore runs before the binary's handler,
        // which was registered with the binary.
        atexit(note_exit);
        binary->error = runtime_code(
            cuLibraryLoadData(&binary->library, binary->wrapper, NULL, NULL, 0, NULL, NULL, 0));
        binary->tried = true;
    }
    return binary->error;
}

// Stores the addresses of a binary's managed variables in the program. The caller holds the
// registry lock and has made a context current.
static cudaError_t place_managed(const struct binary *binary)
{
    for (size_t i = 0; i < runtime.variables.count; i++) {
        const struct base_map_entry *entry = &runtime.variables.entries[i];
        const struct host_variable *variable = (struct host_variable *)(uintptr_t)entry->value;
        if (entry->removed || variable->binary != binary || !variable->managed)
            continue;
        CUdeviceptr address;
        size_t size_bytes;
        CUresult result =
            cuLibraryGetManaged(&address, &size_bytes, binary->library, variable->name);
        if (result != CUDA_SUCCESS)
            return runtime_code(result);
        *variable->managed = (void *)(uintptr_t)address;
    }
    return cudaSuccess;
}

// The program accesses managed variables through their addresses without checking them. Returning
// to it would cause a crash or, worse, wrong values.
static _Noreturn void refuse(const char *name, cudaError_t error)
{
    fprintf(stderr,
            "glint: simulated GPU: the program cannot go on without its managed variable %s: %s\n",
            name, cudaGetErrorString(error));
    fflush(NULL);
    _exit(OWN_FAILURE);
}

// Returns the name of a managed variable of the binary that has no address yet, or NULL. The caller
// holds the registry lock.
static const char *unplaced(const struct binary *binary)
{
    for (size_t i = 0; i < runtime.variables.count; i++) {
        const struct base_map_entry *entry = &runtime.variables.entries[i];
        const struct host_variable *variable = (struct host_variable *)(uintptr_t)entry->value;
        if (!entry->removed && variable->binary == binary && variable->managed &&
            !*variable->managed)
            return variable->name;
    }
    return NULL;
}

char __cudaInitModule(void **handle)
{
    struct binary *binary = (struct binary *)handle;
    if (!binary) {
        runtime_end(cudaErrorInvalidValue);
        return 0;
    }
    cudaError_t error = runtime_begin();
    gpusim_lock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
    if (!error)
        error = load(binary);
    if (!error)
        error = place_managed(binary);
    const char *missing = error ? unplaced(binary) : NULL;
    gpusim_unlock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
    if (missing)
        refuse(missing, error);
    runtime_end(error);
    return error == cudaSuccess;
}

// --- Lookup -------------------------------------------------------------------------------------

// Notes what the program calls a kernel: by its handle, and by that of its function, which the
// driver uses to describe nodes of graphs. The caller holds the registry lock.
static cudaError_t note_handles(CUkernel handle, CUfunction function, const void *name)
{
    uint64_t *place = base_map_put(&runtime.handles, key_of(handle), NULL);
    if (!place)
        return cudaErrorMemoryAllocation;
    *place = key_of(name);
    place = base_map_put(&runtime.handles, key_of(function), NULL);
    if (place)
        *place = key_of(name);
    return place ? cudaSuccess : cudaErrorMemoryAllocation;
}

// The caller holds the registry lock.
static cudaError_t find_handle(struct host_kernel *kernel)
{
    if (kernel->handle)
        return cudaSuccess;
    cudaError_t error = load(kernel->binary);
    if (error)
        return error;
    CUkernel handle;
    CUresult result = cuLibraryGetKernel(&handle, kernel->binary->library, kernel->name);
    if (result == CUDA_ERROR_NOT_FOUND)
        return cudaErrorInvalidDeviceFunction;
    if (result != CUDA_SUCCESS)
        return runtime_code(result);
    CUfunction function;
    result = cuKernelGetFunction(&function, handle);
    if (result != CUDA_SUCCESS)
        return runtime_code(result);
    error = note_handles(handle, function, kernel->host_function);
    if (!error)
        kernel->handle = handle;
    return error;
}

cudaError_t runtime_kernel(const void *host_function, CUkernel *handle)
{
    cudaError_t error = runtime_begin();
    if (error)
        return error;
    gpusim_lock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
    struct host_kernel *kernel = found(&runtime.functions, host_function);
    if (kernel) {
        error = find_handle(kernel);
        *handle = kernel->handle;
    } else if (base_map_get(&runtime.handles, key_of(host_function))) {
        *handle = (CUkernel)(uintptr_t)host_function;
    } else { // an unknown pointer counts as an invalid kernel handle
        error = host_function ? cudaErrorInvalidResourceHandle : cudaErrorInvalidDeviceFunction;
    }
    gpusim_unlock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
    return error;
}

cudaError_t runtime_function(const void *host_function, CUfunction *function)
{
    CUkernel kernel;
    cudaError_t error = runtime_kernel(host_function, &kernel);
    if (!error)
        error = runtime_code(cuKernelGetFunction(function, kernel));
    if (error || runtime.device_count < 2)
        return error;
    // A kernel has a function for each device.
    gpusim_lock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
    const uint64_t *name = base_map_get(&runtime.handles, key_of(kernel));
    error = note_handles(kernel, *function,
                         name ? (const void *)(uintptr_t)*name : (const void *)kernel);
    gpusim_unlock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
    return error;
}

void *runtime_host_function(CUfunction function)
{
    gpusim_lock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
    void *host_function = found(&runtime.handles, function);
    gpusim_unlock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
    return host_function ? host_function : (void *)function;
}

// In the program, the name of a managed variable means its storage, whose address is in *managed.
static const struct host_variable *find_managed(const void *storage)
{
    for (size_t i = 0; i < runtime.variables.count; i++) {
        const struct base_map_entry *entry = &runtime.variables.entries[i];
        const struct host_variable *variable = (struct host_variable *)(uintptr_t)entry->value;
        if (!entry->removed && variable->managed && *variable->managed == storage)
            return variable;
    }
    return NULL;
}

cudaError_t runtime_symbol(const void *symbol, CUdeviceptr *address, size_t *size_bytes)
{
    cudaError_t error = runtime_begin();
    if (error)
        return error;
    CUresult result = CUDA_ERROR_NOT_FOUND;
    gpusim_lock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
    const struct host_variable *variable = found(&runtime.variables, symbol);
    if (!variable && symbol)
        variable = find_managed(symbol);
    if (variable)
        error = load(variable->binary);
    if (variable && !error)
        result = (variable->managed ? cuLibraryGetManaged : cuLibraryGetGlobal)(
            address, size_bytes, variable->binary->library, variable->name);
    gpusim_unlock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
    if (error)
        return error;
    return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : runtime_code(result);
}

// --- Queries ------------------------------------------------------------------------------------

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host_function)
{
    return runtime_end(runtime_kernel(host_function, kernel));
}

cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
    if (!kernelPtr)
        return runtime_end(cudaErrorInvalidValue);
    return runtime_end(runtime_kernel(entryFuncAddr, kernelPtr));
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
    if (!functionPtr)
        return runtime_end(cudaErrorInvalidValue);
    return runtime_end(runtime_function(symbolPtr, functionPtr));
}

cudaError_t cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
    CUdeviceptr address;
    size_t size_bytes;
    if (!devPtr)
        return runtime_end(cudaErrorInvalidValue);
    RUNTIME_TRY(runtime_symbol(symbol, &address, &size_bytes));
    *devPtr = (void *)(uintptr_t)address;
    return cudaSuccess;
}

cudaError_t cudaGetSymbolSize(size_t *size, const void *symbol)
{
    CUdeviceptr address;
    if (!size)
        return runtime_end(cudaErrorInvalidValue);
    return runtime_end(runtime_symbol(symbol, &address, size));
}

// --- Libraries ----------------------------------------------------------------------------------

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                enum cudaJitOption *jitOptions, void **jitOptionsValues,
                                unsigned int numJitOptions, enum cudaLibraryOption *libraryOptions,
                                void **libraryOptionValues, unsigned int numLibraryOptions)
{
    return RUNTIME(cuLibraryLoadData(library, code, (CUjit_option *)jitOptions, jitOptionsValues,
                                     numJitOptions, (CUlibraryOption *)libraryOptions,
                                     libraryOptionValues, numLibraryOptions));
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName,
                                    enum cudaJitOption *jitOptions, void **jitOptionsValues,
                                    unsigned int numJitOptions,
                                    enum cudaLibraryOption *libraryOptions,
                                    void **libraryOptionValues, unsigned int numLibraryOptions)
{
    return RUNTIME(cuLibraryLoadFromFile(
        library, fileName, (CUjit_option *)jitOptions, jitOptionsValues, numJitOptions,
        (CUlibraryOption *)libraryOptions, libraryOptionValues, numLibraryOptions));
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    return RUNTIME(cuLibraryUnload(library));
}

// Functions that take a host function also accept such a handle, so the runtime must recognize it.
static cudaError_t remember(CUkernel kernel)
{
    CUfunction function;
    cudaError_t error = runtime_code(cuKernelGetFunction(&function, kernel));
    if (error)
        return error;
    gpusim_lock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
    if (!base_map_get(&runtime.handles, key_of(kernel)))
        error = note_handles(kernel, function, kernel);
    gpusim_unlock(&runtime.registry_lock, GPUSIM_RANK_REGISTRY);
    return error;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name)
{
    RUNTIME_TRY(runtime_begin());
    RUNTIME_TRY(runtime_code(cuLibraryGetKernel(pKernel, library, name)));
    return runtime_end(remember(*pKernel));
}

cudaError_t cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib)
{
    return RUNTIME(cuLibraryGetKernelCount(count, lib));
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels,
                                        cudaLibrary_t lib)
{
    unsigned count = 0;
    RUNTIME_TRY(runtime_begin());
    RUNTIME_TRY(runtime_code(cuLibraryGetKernelCount(&count, lib)));
    RUNTIME_TRY(runtime_code(cuLibraryEnumerateKernels(kernels, numKernels, lib)));
    for (unsigned i = 0; i < numKernels && i < count; i++)
        RUNTIME_TRY(remember(kernels[i]));
    return cudaSuccess;
}

cudaError_t cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library,
                                 const char *name)
{
    CUdeviceptr address = 0;
    RUNTIME_TRY(RUNTIME(cuLibraryGetGlobal(&address, bytes, library, name)));
    if (dptr)
        *dptr = (void *)(uintptr_t)address;
    return cudaSuccess;
}

cudaError_t cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library,
                                  const char *name)
{
    CUdeviceptr address = 0;
    RUNTIME_TRY(RUNTIME(cuLibraryGetManaged(&address, bytes, library, name)));
    if (dptr)
        *dptr = (void *)(uintptr_t)address;
    return cudaSuccess;
}

cudaError_t cudaLibraryGetUnifiedFunction(void **fptr, cudaLibrary_t library, const char *symbol)
{
    return RUNTIME(cuLibraryGetUnifiedFunction(fptr, library, symbol));
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr,
                                            int value, int device)
{
    return RUNTIME(cuKernelSetAttribute((CUfunction_attribute)attr, value, kernel, device));
}
