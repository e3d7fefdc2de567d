// SPDX-License-Identifier: Apache-2.0
// Arrays and mipmapped arrays.
#ifndef GLINT_GPUSIM_DRIVER_ARRAY_H
#define GLINT_GPUSIM_DRIVER_ARRAY_H

#include "memory.h"

struct driver_array {
    uint64_t magic;
    CUDA_ARRAY3D_DESCRIPTOR desc;
    struct driver_allocation *allocation; // NULL: a level of a mipmap, which owns no memory
    uint64_t data;
    size_t texel_bytes, pitch_bytes, slice_bytes;
    size_t rows, slices; // at least 1
    struct driver_array *levels;
    unsigned level_count;
    struct driver_array *next; // in driver.dead_arrays
};

bool driver_array_valid(const struct driver_array *array);
// Invalidates the array's handle. Locked.
void driver_array_end(struct driver_array *array);

#endif
