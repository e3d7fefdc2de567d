// SPDX-License-Identifier: Apache-2.0
// What asynchronous copies (ops_tensor.c) use of barriers in memory (ops_async.c).
#ifndef GLINT_GPUSIM_MACHINE_ASYNC_H
#define GLINT_GPUSIM_MACHINE_ASYNC_H

#include "machine.h"

enum { AS_GIVEN = -1 }; // instead of the rank of a block in the cluster

// Reports to the mbarrier at the lane's address of `barrier`, or at the same place in the block
// with the rank, that `bytes` bytes have arrived. Only that lane is active. Returns false if the
// launch has failed.
bool sim_async_complete(struct sim_warp *warp, const struct sim_uop *op,
                        const struct sim_uop *barrier, int lane, int rank, uint32_t bytes);

#endif
