// SPDX-License-Identifier: Apache-2.0
// Hooks that exist for probes only: attributes that a program sets on a kernel must be set on its
// clone, clones must not appear among a module's kernels, and graphs must exist while their
// executables are watched. None of these hooks writes a record.
#include <stdlib.h>

#include "inject/core/kernels.h"
#include "inject/probe/graph.h"
#include "inject/probe/kernel.h"
#include "inject/probe/module.h"
#include "inject/probe/range.h"
#include "probed.h"

// --- What is set on kernels ----------------------------------------------------------------------

static CUresult was_set(CUresult result, const void *handle, int cache, int banks)
{
    struct probe_kernel *kernel = result == CUDA_SUCCESS ? probe_kernel_of(handle) : NULL;
    if (!kernel)
        return result;
    if (cache >= 0)
        atomic_store(&kernel->cache_config, cache);
    if (banks >= 0)
        atomic_store(&kernel->banks, banks);
    atomic_fetch_add(&kernel->settings, 1);
    return result;
}

#define SETS(symbol, params, args, handle, cache, banks) \
    PROBED(symbol, params, args, true, was_set(REAL(symbol) args, handle, cache, banks))

SETS(cuFuncSetAttribute, (CUfunction f, CUfunction_attribute attribute, int value),
     (f, attribute, value), f, -1, -1)
SETS(cuFuncSetCacheConfig, (CUfunction f, CUfunc_cache config), (f, config), f, (int)config, -1)
SETS(cuFuncSetSharedMemConfig, (CUfunction f, CUsharedconfig config), (f, config), f, -1,
     (int)config)
SETS(cuKernelSetAttribute,
     (CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device),
     (attribute, value, kernel, device), kernel, -1, -1)
SETS(cuKernelSetCacheConfig, (CUkernel kernel, CUfunc_cache config, CUdevice device),
     (kernel, config, device), kernel, (int)config, -1)

// --- The part of the run that is watched ---------------------------------------------------------

CUresult cuProfilerStart(void)
{
    probe_range_profiler(true);
    return REAL(cuProfilerStart)();
}

CUresult cuProfilerStop(void)
{
    probe_range_profiler(false);
    return REAL(cuProfilerStop)();
}

// --- Enumerations --------------------------------------------------------------------------------

static bool is_clone_function(uint32_t module, CUfunction function)
{
    const char *name = NULL;
    return REAL(cuFuncGetName)(&name, function) == CUDA_SUCCESS && name &&
           probe_module_hides(module, name);
}

static bool is_clone_kernel(uint32_t module, CUkernel kernel)
{
    const char *name = NULL;
    return REAL(cuKernelGetName)(&name, kernel) == CUDA_SUCCESS && name &&
           probe_module_hides(module, name);
}

// Counts kernels without clones, and lists up to `room` of them (out NULL: none).
#define ENUMERATES(what, type, holder, counts, enumerates)                                  \
    static CUresult what##_count(unsigned *count, holder from)                              \
    {                                                                                       \
        return REAL(counts)(count, from);                                                   \
    }                                                                                       \
    static CUresult what(type *out, unsigned room, unsigned *count, holder from)            \
    {                                                                                       \
        unsigned all = 0, kept = 0;                                                         \
        const uint32_t module = core_module_of(from);                                       \
        CUresult result = what##_count(&all, from);                                         \
        type *found = result == CUDA_SUCCESS ? calloc(all + 1, sizeof(*found)) : NULL;      \
        if (result == CUDA_SUCCESS)                                                         \
            result = found ? REAL(enumerates)(found, all, from) : CUDA_ERROR_OUT_OF_MEMORY; \
        for (unsigned i = 0; result == CUDA_SUCCESS && i < all; i++) {                      \
            if (is_clone_##what(module, found[i]))                                          \
                continue;                                                                   \
            if (out && kept < room)                                                         \
                out[kept] = found[i];                                                       \
            kept++;                                                                         \
        }                                                                                   \
        free(found);                                                                        \
        if (count && result == CUDA_SUCCESS)                                                \
            *count = kept;                                                                  \
        return result;                                                                      \
    }

ENUMERATES(function, CUfunction, CUmodule, cuModuleGetFunctionCount, cuModuleEnumerateFunctions)
ENUMERATES(kernel, CUkernel, CUlibrary, cuLibraryGetKernelCount, cuLibraryEnumerateKernels)

PROBED(cuModuleGetFunctionCount, (unsigned *count, CUmodule module), (count, module), count != NULL,
       function(NULL, 0, count, module))
PROBED(cuModuleEnumerateFunctions, (CUfunction * functions, unsigned room, CUmodule module),
       (functions, room, module), functions != NULL, function(functions, room, NULL, module))
PROBED(cuLibraryGetKernelCount, (unsigned *count, CUlibrary library), (count, library),
       count != NULL, kernel(NULL, 0, count, library))
PROBED(cuLibraryEnumerateKernels, (CUkernel * kernels, unsigned room, CUlibrary library),
       (kernels, room, library), kernels != NULL, kernel(kernels, room, NULL, library))

// --- Graphs --------------------------------------------------------------------------------------

PROBED(cuGraphDestroy, (CUgraph graph), (graph), probe_graph_keep(graph), CUDA_SUCCESS)

static CUresult destroys_node(CUgraphNode node)
{
    probe_graph_node_end(node);
    return REAL(cuGraphDestroyNode)(node);
}
PROBED(cuGraphDestroyNode, (CUgraphNode node), (node), true, destroys_node(node))
