// SPDX-License-Identifier: Apache-2.0
// Barriers in memory, for instructions that report to them (ops_async.c).
#ifndef GLINT_GPUSIM_MACHINE_MBARRIER_H
#define GLINT_GPUSIM_MACHINE_MBARRIER_H

#include "machine.h"

// Reports to the barrier at `word` that so many bytes have arrived. Returns false if it cannot
// count them: the launch has failed.
bool sim_mbarrier_complete(struct sim_warp *warp, const struct sim_uop *op, int lane,
                           unsigned char *word, uint32_t bytes);

#endif
