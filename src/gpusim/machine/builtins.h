// SPDX-License-Identifier: Apache-2.0
// The functions that the driver provides to kernels: vprintf, malloc, aligned malloc, free and
// __assertfail; and those of the device runtime (device_runtime.h).
#ifndef GLINT_GPUSIM_MACHINE_BUILTINS_H
#define GLINT_GPUSIM_MACHINE_BUILTINS_H

#include "machine.h"

enum sim_builtin {
    BUILTIN_NONE = 0,
    BUILTIN_PRINTF,
    BUILTIN_ASSERT,
    BUILTIN_MALLOC,
    BUILTIN_ALIGNED_MALLOC,
    BUILTIN_FREE,
    BUILTIN_DEVICE_RUNTIME // the first of them
};

// Returns enum sim_builtin; BUILTIN_NONE if no builtin has the name.
int sim_builtin_find(const char *name);
// Runs the builtin for the active lanes, with the parameters of the call op.
enum sim_step sim_builtin_run(struct sim_warp *warp, const struct sim_uop *op, int builtin);

// For the functions: copies the bytes of a lane's argument, at most `bytes`, and clears the others;
// returns it as a number; and stores a lane's result.
void sim_builtin_read(const struct sim_warp *warp, const struct sim_uop *op, int lane,
                      uint32_t index, void *out, uint32_t bytes);
uint64_t sim_builtin_argument(const struct sim_warp *warp, const struct sim_uop *op, int lane,
                              uint32_t index);
void sim_builtin_result(struct sim_warp *warp, const struct sim_uop *op, int lane, uint64_t value);

// Allocates from the device's heap, as malloc() in a kernel does. NULL if that is full.
void *sim_builtin_allocate(struct sim_device *device, uint64_t bytes, uint64_t align);
// Frees it again. Returns false if malloc() did not return the address.
bool sim_builtin_release(struct sim_device *device, uint64_t address);

#endif
