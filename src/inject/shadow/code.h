// SPDX-License-Identifier: Apache-2.0
// What all device code (src/device) needs: its module and kernels, memory to work in, and pinned
// memory in which its results land. The file of each kernel enqueues it. All functions need
// shadow->lock, and the context current, where no comment says otherwise.
#ifndef GLINT_INJECT_SHADOW_CODE_H
#define GLINT_INJECT_SHADOW_CODE_H

#include "model.h"

enum {
    SHADOW_CODE_WORK_AT = 256,   // work memory begins with a counter of blocks that have ended,
    SHADOW_CODE_RESULTS_AT = 64, // and what lands with a sequence word
};

// A kernel, and where its handle is stored; NULL: it is not loaded yet.
struct shadow_code_kernel {
    const char *name;
    CUfunction *function;
    int shared; // bytes of shared memory that its launches need; 0: no more than all kernels have
};

// Loads the module, unless the first of its kernels has a handle. Either all get one or none. Fails
// with a note: the driver refuses `what`.
bool shadow_code_load(struct shadow *shadow, const char *ptx,
                      const struct shadow_code_kernel *kernels, size_t count, const char *what);
// Unloads all, because nothing more is watched. Waits for all work of the context.
void shadow_code_unload(struct shadow *shadow);
// Makes sure that there are so many bytes behind SHADOW_CODE_WORK_AT, which are zero. What was
// there is given back when the work that the lane has in flight is done.
bool shadow_code_work(struct shadow_lane *lane, struct shadow_block *work, uint64_t bytes);
// Takes memory for so many bytes of results. The sequence word is 0 until the device code sets it.
bool shadow_code_land(struct shadow *shadow, uint64_t bytes, struct shadow_block *landing);
bool shadow_code_landed(struct shadow_block landing); // without the lock

#endif
