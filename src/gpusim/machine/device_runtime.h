// SPDX-License-Identifier: Apache-2.0
// The functions of CUDA's device runtime that kernels call, version 2 of dynamic parallelism
// (__cudaCDP2...): launches, streams, events, copies, fills, memory, and queries.
#ifndef GLINT_GPUSIM_MACHINE_DEVICE_RUNTIME_H
#define GLINT_GPUSIM_MACHINE_DEVICE_RUNTIME_H

#include "machine.h"

// Returns a number for the function, or -1 if there is none of that name.
int sim_device_runtime_find(const char *name);
// Runs the function for the active lanes, with the parameters of the call op.
enum sim_step sim_device_runtime_run(struct sim_warp *warp, const struct sim_uop *op, int function);
// Frees what the functions keep for a device.
void sim_device_runtime_fini(struct sim_device *device);

#endif
