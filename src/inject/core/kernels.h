// SPDX-License-Identifier: Apache-2.0
// Modules, libraries and kernels, by handle. Modules and libraries share one numbering. Several
// handles may lead to one kernel: a CUkernel and its functions in several contexts.
#ifndef GLINT_INJECT_CORE_KERNELS_H
#define GLINT_INJECT_CORE_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "cudaabi/cudaabi.h"
#include "event/event.h"

struct core_context;

// --- Modules -------------------------------------------------------------------------------------

// Announces the module. Returns its number; 0: out of memory.
uint32_t core_module_new(const void *handle, struct core_context *context,
                         const struct event_module *about, const char *path);
uint32_t core_module_of(const void *handle); // 0: unknown
// Lets a second handle lead to the module of the first.
void core_module_alias(const void *handle, const void *of);
// The call has unloaded the module: its variables end, layers are told, its kernels are dropped.
void core_module_end(const void *handle, uint64_t call);

// --- Kernels -------------------------------------------------------------------------------------

// A handle and the name by which the program got it. library: the handle is a CUkernel.
void core_kernel_note(const void *handle, uint32_t module, const char *name, bool library);
// Lets a second handle lead to the kernel of the first. Returns its module; 0: unknown.
uint32_t core_kernel_alias(const void *handle, const void *of);
// The kernel's number, announced if it has none. library: whether an unknown handle is a CUkernel.
uint32_t core_kernel_of(const void *handle, bool library);
// The same for a kernel that is launched in the current context: the variables of its module become
// objects there.
uint32_t core_kernel_launched(const void *handle, struct core_context *context);
// The function of a handle in the current context: the handle itself, or that of a CUkernel.
CUfunction core_kernel_function(const void *handle);

// What a layer keeps beside a kernel (probe/kernel.h): made by `make` at the first request, under
// core_state.lock, and given to the layer's kernel_dropped when the last handle goes. NULL: the
// handle is unknown, or `make` returned NULL.
void *core_kernel_kept(const void *handle, void *(*make)(uint32_t module, const char *name));

// The block shape and the shared memory that functions of before CUDA 4 set for the next launch.
void core_kernel_set_shape(const void *handle, const unsigned block[3]);
void core_kernel_set_shared(const void *handle, unsigned bytes);
void core_kernel_shape(const void *handle, unsigned block[3], unsigned *shared_bytes);

#endif
