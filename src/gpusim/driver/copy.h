// SPDX-License-Identifier: Apache-2.0
// Copies and fills.
#ifndef GLINT_GPUSIM_DRIVER_COPY_H
#define GLINT_GPUSIM_DRIVER_COPY_H

#include "memory.h"
#include "op.h"

// Copies through the stream and waits where NVIDIA's driver waits. wait: the API call is a
// synchronous one. Not locked.
CUresult driver_copy(CUstream handle, const struct driver_box *box, enum driver_place dst,
                     enum driver_place src, bool wait);
// Returns whether the copy is from one device's memory to another's. Locked.
bool driver_box_is_peer(const struct driver_box *box);
// Checks a copy's description and converts it into a box (copy_box.c). Locked.
CUresult driver_box_of_3d(const CUDA_MEMCPY3D *copy, struct driver_box *box, enum driver_place *dst,
                          enum driver_place *src);
// Checks the range of a fill (fill.c). Locked.
CUresult driver_fill_check(uint64_t address, size_t pitch, size_t row_bytes, size_t height);

#endif
