// SPDX-License-Identifier: Apache-2.0
// Clusters: addresses of the shared memory of their blocks, and their barrier. Called by the worker
// that runs the cluster.
#ifndef GLINT_GPUSIM_MACHINE_CLUSTER_H
#define GLINT_GPUSIM_MACHINE_CLUSTER_H

#include "machine.h"

// Returns the block of the same cluster, perhaps `block` itself, whose shared memory has the byte
// at a generic address; NULL if there is none. It may have ended.
struct sim_block *sim_cluster_holder(const struct sim_block *block, uint64_t address);
// Returns the block whose part of the window has the address; NULL if the cluster has none there.
struct sim_block *sim_cluster_owner(const struct sim_block *block, uint64_t address);

// Returns the address in the part of the window of the block with the rank that is at the same
// place as `address` in its part.
static inline uint64_t sim_cluster_place(uint32_t rank, uint64_t address)
{
    const uint64_t offset = address & ((UINT64_C(1) << CLUSTER_WINDOW_BITS) - 1);
    return (uint64_t)rank << CLUSTER_WINDOW_BITS | offset;
}

// Converts an address in the window of shared memory to a generic one, and back. An address that no
// block of the cluster has is converted as if it belonged to `block`.
uint64_t sim_cluster_generic(const struct sim_block *block, uint64_t address);
uint64_t sim_cluster_windowed(const struct sim_block *block, uint64_t address);

// Takes lanes that end out of the barrier's count, and releases the barrier if it waited only for
// them. They are not in warp->live any more.
void sim_cluster_left(struct sim_warp *warp, uint32_t lanes);

#endif
