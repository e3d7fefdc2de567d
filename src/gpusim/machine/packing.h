// SPDX-License-Identifier: Apache-2.0
// Packs the registers of a waiting warp, because cooperative launches keep thousands of warps
// waiting. Packing keeps only live registers, and a single value of those that are equal in all
// lanes.
#ifndef GLINT_GPUSIM_MACHINE_PACKING_H
#define GLINT_GPUSIM_MACHINE_PACKING_H

#include "machine.h"

// Frames for which memory runs out stay unpacked.
void sim_warp_pack(struct sim_warp *warp);
// Returns false when memory runs out.
bool sim_warp_unpack(struct sim_warp *warp);

#endif
