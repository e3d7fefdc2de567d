// SPDX-License-Identifier: Apache-2.0
// Memory pools: stream-ordered allocation.
#ifndef GLINT_GPUSIM_DRIVER_POOL_H
#define GLINT_GPUSIM_DRIVER_POOL_H

#include "memory.h"

// Allocates in stream order. Locked.
CUresult driver_pool_alloc(struct driver_pool *pool, struct driver_stream *stream,
                           uint64_t size_bytes, uint64_t *address);
// The same without a command, for a graph's node. Locked.
CUresult driver_pool_reserve(struct driver_pool *pool, struct driver_stream *stream,
                             struct driver_context *context, uint64_t size_bytes,
                             struct driver_allocation **made);
// Gives a reserved allocation back at once. Locked.
void driver_pool_discard(struct driver_allocation *allocation);
// Frees in stream order. Locked.
CUresult driver_pool_free(struct driver_stream *stream, struct driver_allocation *allocation);
// Records that the command frees the allocation. Afterwards the pool may reuse it, or the graph
// that owns it. Locked.
void driver_pool_freed(struct driver_allocation *allocation, struct driver_command *command);
// Releases memory above the thresholds of the device's pools. Called at synchronization points.
// Locked.
void driver_pools_trim(const struct driver_device *device);
// Releases all unused memory of the device's pools, whatever the thresholds. Locked.
void driver_pools_reset(struct driver_device *device);
struct driver_pool *driver_pool_default(struct driver_device *device);
struct driver_device *driver_pool_device(const struct driver_pool *pool);
// Returns which devices may access the pool's memory, a bit for each. Locked.
uint32_t driver_pool_admitted(const struct driver_pool *pool);

#endif
