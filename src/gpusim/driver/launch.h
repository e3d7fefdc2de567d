// SPDX-License-Identifier: Apache-2.0
// Launches of kernels.
#ifndef GLINT_GPUSIM_DRIVER_LAUNCH_H
#define GLINT_GPUSIM_DRIVER_LAUNCH_H

#include "module.h"

struct driver_launch {
    struct driver_function *function;
    uint32_t grid[3], block[3], cluster[3];
    int cluster_policy;
    uint32_t shared_bytes;
    bool cooperative;
    void **params, **extra;
};

// Checks the sizes of a launch and copies its parameters into an operation.
CUresult driver_launch_op(const struct driver_launch *launch, struct driver_op *op);
// Returns how many blocks of the function fit on a multiprocessor.
unsigned driver_blocks_per_sm(const struct driver_function *function, unsigned threads,
                              size_t dynamic_shared_bytes);

#endif
