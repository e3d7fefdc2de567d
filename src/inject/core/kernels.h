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
struct core_params;

// --- Modules -------------------------------------------------------------------------------------

// Announces the module. Returns its number; 0: out of memory.
uint32_t core_module_new(const void *handle, struct core_context *context,
                         const struct event_module *about, const char *path);
uint32_t core_module_of(const void *handle); // 0: unknown
// Makes a second handle lead to the module of the first.
void core_module_alias(const void *handle, const void *of);
// Ends the module, which the call has unloaded: its variables end, layers are informed, and its
// kernels are dropped.
void core_module_end(const void *handle, uint64_t call);

// --- Kernels -------------------------------------------------------------------------------------

// Notes a handle and the name by which the program got it. library: the handle is a CUkernel.
void core_kernel_note(const void *handle, uint32_t module, const char *name, bool library);
// Makes a second handle lead to the kernel of the first. Returns its module; 0: unknown.
uint32_t core_kernel_alias(const void *handle, const void *of);
// Returns the kernel's number, announced if it is new. library: whether an unknown handle is a
// CUkernel.
uint32_t core_kernel_of(const void *handle, bool library);
// Does the same for a kernel that is launched in the current context. The variables of its module
// become objects there.
uint32_t core_kernel_launched(const void *handle, struct core_context *context);
// The function of a handle in the current context: the handle itself, or that of a CUkernel.
CUfunction core_kernel_function(const void *handle);

// Returns what a layer keeps beside a kernel (probe/kernel.h). `make` makes it at the first
// request, under core_state.lock; the layer's kernel_dropped gets it when the last handle is
// dropped. NULL: the handle is unknown, or `make` returned NULL.
void *core_kernel_kept(const void *handle, void *(*make)(uint32_t module, const char *name));

// Keeps the sizes of the kernel's parameters, which must come from malloc and belong to the kernel
// from then on, unless they are known already. Returns those that are kept; NULL: none.
const struct core_params *core_kernel_params(const void *handle, struct core_params *params);

// Returns an attribute of the function that limits launches; UINT32_MAX: the driver does not report
// it.
uint32_t core_kernel_limit(CUfunction function, CUfunction_attribute attribute);
// Returns whether drivers launch kernels with such a grid and block on any GPU. most_threads: of a
// block of the kernel.
bool core_kernel_has_shape(const unsigned grid[3], const unsigned block[3], uint32_t most_threads);

// The block shape and the shared memory that pre-CUDA 4 functions set for the next launch.
void core_kernel_set_shape(const void *handle, const unsigned block[3]);
void core_kernel_set_shared(const void *handle, unsigned bytes);
void core_kernel_shape(const void *handle, unsigned block[3], unsigned *shared_bytes);

#endif
