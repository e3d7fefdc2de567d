// SPDX-License-Identifier: Apache-2.0
// Hooks of functions by which programs ask for a variable of a module.
#include "inject/core/call.h"
#include "inject/core/kernels.h"
#include "inject/core/variables.h"

// A program may omit either output, so the driver is asked again for both.
#define VARIABLE(symbol, type)                                                               \
    HOOKED(symbol, (CUdeviceptr * dptr, size_t * bytes, type module, const char *name),      \
           (dptr, bytes, module, name), NO_STREAM, {}, {                                     \
               CUdeviceptr address = 0;                                                      \
               size_t size = 0;                                                              \
               if (result == CUDA_SUCCESS &&                                                 \
                   REAL(symbol)(&address, &size, module, name) == CUDA_SUCCESS)              \
                   core_variables_begin(core_module_of(module), call.context, name, address, \
                                        size);                                               \
           })

VARIABLE(cuModuleGetGlobal_v2, CUmodule)
VARIABLE(cuLibraryGetGlobal, CUlibrary)
VARIABLE(cuLibraryGetManaged, CUlibrary)
