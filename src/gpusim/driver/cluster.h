// SPDX-License-Identifier: Apache-2.0
// Sizes of clusters: what launches ask for, kernels require, and the device allows.
#ifndef GLINT_GPUSIM_DRIVER_CLUSTER_H
#define GLINT_GPUSIM_DRIVER_CLUSTER_H

#include "module.h"
#include "op.h"

// Stores the size of the clusters of a launch: what the launch asks for, or else what the kernel
// requires. Zeros: neither says anything.
void driver_cluster_of(const struct driver_function *function, const uint32_t asked[3],
                       uint32_t size[3]);
// Returns why the clusters of a launch are not possible, or CUDA_SUCCESS. Nodes of graphs get their
// clusters after their sizes, so this is checked when the launch can no longer change.
CUresult driver_cluster_check(const struct driver_op *op);

// Sets an attribute of a function that concerns clusters.
CUresult driver_cluster_set(struct driver_function *function, CUfunction_attribute attribute,
                            int value);

#endif
