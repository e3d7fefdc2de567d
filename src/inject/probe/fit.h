// SPDX-License-Identifier: Apache-2.0
// Launches whose blocks may wait for each other, and would not all fit on the GPU with the clone.
#ifndef GLINT_INJECT_PROBE_FIT_H
#define GLINT_INJECT_PROBE_FIT_H

#include "kernel.h"

struct probe_shape { // of a launch
    unsigned grid[3], block[3], shared_bytes;
    unsigned cluster[3]; // in blocks; zeros: there are no clusters
    bool partly;         // it may run on some of the multiprocessors only; how many is unknown
    bool cooperative;
};

// Returns the shape of the call's launch.
struct probe_shape probe_fit_shape(const struct core_call *call);

// Returns whether the driver refuses such a launch of the original kernel before it reads any
// parameter. The program need not have any then.
bool probe_fit_is_refused(const struct probe_clone *clone, const struct probe_shape *shape);

// Returns whether blocks of such a launch may wait for each other.
bool probe_fit_matters(const struct probe_kernel *kernel, const struct probe_shape *shape);

// Returns whether blocks of the launch may wait for each other, all run at once with the original
// kernel, and may not with the clone. The context must be current. Any thread may call; it asks the
// driver once for each shape.
bool probe_fit_is_lost(const struct probe_kernel *kernel, struct probe_clone *clone,
                       const struct core_context *context, const struct probe_shape *shape);
void probe_fit_free(struct probe_clone *clone);

// Returns how many blocks of such launches of the function run at once; UINT64_MAX: the driver does
// not report it. The context must be current.
uint64_t probe_fit_blocks(CUfunction function, const struct core_context *context,
                          const struct probe_shape *shape);

// The note about such launches.
#define PROBE_FIT_LOST                                                                             \
    "launches whose blocks all fit on the GPU at once are not watched if they would not fit with " \
    "probes"

#endif
