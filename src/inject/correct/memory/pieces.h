// SPDX-License-Identifier: Apache-2.0
// Memory without addresses, and what is done with it by the virtual memory interface: see
// back.h. Under the lock of the objects.
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
    bool unfit;           // the driver, or the machine, cannot do this
    bool has_host;        // the host's memory can stand in for the device's
    bool can_leave;       // contents may go there
    bool rdma;            // memory may be given to network cards
    CUdevice device;
    int host_node;
    CUstream stream;                // for copies of our own
    struct core_context *of_stream; // its context
    struct correct_piece spare[CORRECT_PIECES_MOST_SPARE];
    unsigned spare_count;
    uint64_t spare_bytes, spare_asked_bytes;
};

// Asks what the machine can do, once. False: not this.
bool correct_pieces_prepare(void);

CUresult correct_pieces_create(uint64_t size_bytes, bool host,
                               CUmemGenericAllocationHandle *handle);
// At addresses that are reserved, for the device to read and write.
CUresult correct_pieces_map(uint64_t address, uint64_t size_bytes,
                            CUmemGenericAllocationHandle handle);

// A piece that nothing is mapped to any more: the next one who wants as much takes it. asked_bytes:
// of it, what the program had asked for.
void correct_pieces_spare(uint64_t size_bytes, uint64_t asked_bytes,
                          CUmemGenericAllocationHandle handle);
bool correct_pieces_take(uint64_t size_bytes, CUmemGenericAllocationHandle *handle);
void correct_pieces_release(void); // all that are spare

// Waits until nothing runs on the device, so that what is mapped may change; the thread's context
// is given. False: that cannot be known, or takes too long.
bool correct_pieces_can_move(struct core_context *context);
// Copies contents into a piece, and waits for that.
bool correct_pieces_copy(uint64_t from, uint64_t bytes, uint64_t size_bytes,
                         CUmemGenericAllocationHandle to);

#endif
