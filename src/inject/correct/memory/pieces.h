// SPDX-License-Identifier: Apache-2.0
// Physical memory from the virtual memory interface, which is mapped to the addresses of back.h's
// objects. All under the lock of back.h.
#ifndef GLINT_INJECT_CORRECT_MEMORY_PIECES_H
#define GLINT_INJECT_CORRECT_MEMORY_PIECES_H

#include "inject/core/state.h"

enum { CORRECT_PIECES_MOST_SPARE = 8 };

struct correct_piece {
    uint64_t size_bytes, asked_bytes;
    CUmemGenericAllocationHandle handle;
};

struct correct_pieces {   // protected by the lock of back.h
    uint64_t granularity; // 0: not asked yet
    bool unfit;           // the driver or the machine does not support this
    bool has_host;        // host memory can stand in for device memory
    bool can_leave;       // contents may be moved there
    bool rdma;            // memory may be registered with network cards
    CUdevice device;
    int host_node;
    CUstream stream;                // glint's own, for copies
    struct core_context *of_stream; // its context
    struct correct_piece spare[CORRECT_PIECES_MOST_SPARE];
    unsigned spare_count;
    uint64_t spare_bytes, spare_asked_bytes;
};

// Finds out, once, what the machine supports. Returns false if it does not support this.
bool correct_pieces_prepare(void);

CUresult correct_pieces_create(uint64_t size_bytes, bool host,
                               CUmemGenericAllocationHandle *handle);
// Maps the piece at reserved addresses, readable and writable by the device.
CUresult correct_pieces_map(uint64_t address, uint64_t size_bytes,
                            CUmemGenericAllocationHandle handle);

// Keeps a piece that is no longer mapped, for the next request of the same size. asked_bytes: how
// much of it the program had requested.
void correct_pieces_spare(uint64_t size_bytes, uint64_t asked_bytes,
                          CUmemGenericAllocationHandle handle);
bool correct_pieces_take(uint64_t size_bytes, CUmemGenericAllocationHandle *handle);
void correct_pieces_release(void); // frees all spare pieces

// Waits until nothing runs on the device, so that mappings may change. The context must be the
// thread's current one. Returns false if that is unknown, or takes too long.
bool correct_pieces_can_move(struct core_context *context);
// Copies contents into a piece, and waits for the copy.
bool correct_pieces_copy(uint64_t from, uint64_t bytes, uint64_t size_bytes,
                         CUmemGenericAllocationHandle to);

#endif
