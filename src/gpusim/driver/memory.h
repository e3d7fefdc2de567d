// SPDX-License-Identifier: Apache-2.0
// Allocations, by address.
#ifndef GLINT_GPUSIM_DRIVER_MEMORY_H
#define GLINT_GPUSIM_DRIVER_MEMORY_H

#include "driver.h"

enum driver_memory_kind {
    DRIVER_MEMORY_DEVICE,
    DRIVER_MEMORY_MANAGED,
    DRIVER_MEMORY_HOST,       // cuMemHostAlloc
    DRIVER_MEMORY_REGISTERED, // cuMemHostRegister
    DRIVER_MEMORY_POOL,
    DRIVER_MEMORY_MAPPED, // virtual memory API, once accessible
    DRIVER_MEMORY_ARRAY,
};

struct driver_allocation {
    uint64_t address, size_bytes;
    enum driver_memory_kind kind;
    unsigned flags;
    uint64_t id;
    struct driver_device *device; // whose memory it is, or for whose context it was made
    struct driver_context *context;
    struct driver_pool *pool;
    struct driver_array *array;           // whose memory this is, or NULL
    struct driver_graph_memory *of_graph; // held; NULL: no graph allocates it
    uint64_t capacity_bytes;              // of a pool's block
    bool sync_memops;
};

// Allocate and free host memory that serves as device memory, aligned to DRIVER_ALIGNMENT
// (block.c). driver_block_take() returns 0 when memory runs out. Locked.
uint64_t driver_block_take(uint64_t size_bytes);
void driver_block_give(uint64_t address, uint64_t size_bytes);
// Returns whether a GPU that maps pages of 2 MiB for the same blocks has memory at these addresses.
// Any thread. Only with driver.lenient.
bool driver_block_is_mapped(uint64_t address, uint64_t size_bytes);

// Allocates memory and makes it known to the driver and the machine. Locked.
CUresult driver_memory_add(struct driver_context *context, enum driver_memory_kind kind,
                           uint64_t size_bytes, unsigned flags, struct driver_allocation **made);
// Makes an allocation known whose fields are set and whose memory the caller manages. Locked.
CUresult driver_memory_enter(struct driver_allocation *allocation);
// Removes the allocation from the driver and the machine and frees it. Locked.
void driver_memory_remove(struct driver_allocation *allocation);
// Returns the allocation that contains the address, or NULL. Locked.
struct driver_allocation *driver_memory_find(uint64_t address);
// Adds to the device's memory in use. CUDA_ERROR_OUT_OF_MEMORY if it has less. Locked.
CUresult driver_memory_charge(struct driver_device *device, uint64_t size_bytes);
uint64_t driver_memory_usable(const struct driver_device *device);
// Returns the device in whose memory the address lies, or NULL: managed and host memory lie in
// none. Locked.
const struct driver_device *driver_memory_device(uint64_t address);

enum driver_place {
    DRIVER_PLACE_PAGEABLE, // host memory that is neither allocated nor registered by the driver
    DRIVER_PLACE_PINNED,
    DRIVER_PLACE_DEVICE,
    DRIVER_PLACE_MANAGED,
    DRIVER_PLACE_BEYOND, // begins in an allocation and ends outside it
};

// Returns what memory a range of addresses is. Locked.
enum driver_place driver_place_of(uint64_t address, uint64_t size_bytes);

#endif
