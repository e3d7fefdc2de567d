// SPDX-License-Identifier: Apache-2.0
// Packs the registers of a waiting warp: only those that are live, and those that are the same in
// all lanes once. Cooperative launches keep thousands of warps waiting.
#ifndef GLINT_GPUSIM_MACHINE_PACKING_H
#define GLINT_GPUSIM_MACHINE_PACKING_H

#include "machine.h"

// Frames for which memory runs out stay unpacked.
void sim_warp_pack(struct sim_warp *warp);
// Returns false when memory runs out.
bool sim_warp_unpack(struct sim_warp *warp);

#endif
