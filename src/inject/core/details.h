// SPDX-License-Identifier: Apache-2.0
// The details of copies and fills as records have them: which object is at which end, what kind of
// memory that is, and how rows lie. For calls and for nodes of graphs.
#ifndef GLINT_INJECT_CORE_DETAILS_H
#define GLINT_INJECT_CORE_DETAILS_H

#include <stdint.h>

#include "cudaabi/cudaabi.h"
#include "event/event.h"

struct core_copy_end {
    uint8_t memory; // CU_MEMORYTYPE_*; 0: found out from the address
    uint64_t address;
    CUarray array;
    uint64_t pitch, slice; // bytes from row to row, and from slice to slice
};

// Returns the kind of memory at the address: enum event_memory. May call the driver.
uint8_t core_memory_at(uint64_t address);

struct event_copy core_copy_detail(struct core_copy_end from, struct core_copy_end to,
                                   uint64_t width_bytes, uint64_t height, uint64_t depth);
struct event_copy core_copy_detail_3d(const CUDA_MEMCPY3D *copy);
struct event_copy core_copy_detail_2d(const CUDA_MEMCPY2D *copy);
struct event_copy core_copy_detail_peer(const CUDA_MEMCPY3D_PEER *copy);
struct event_set core_set_detail(CUdeviceptr to, uint64_t pitch, uint32_t value,
                                 uint32_t value_bytes, uint64_t width, uint64_t height);

// Returns how many bytes lie from the first to the last that a copy or set writes.
static inline uint64_t core_extent(uint64_t width, uint64_t height, uint64_t pitch, uint64_t depth,
                                   uint64_t slice)
{
    return width && height && depth ? width + (height - 1) * pitch + (depth - 1) * slice : 0;
}

#endif
