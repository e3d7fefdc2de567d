// SPDX-License-Identifier: Apache-2.0
// Launches that are alike (GLINT_LAUNCHES): of the same kernel in the same context, with the same
// sizes of grid, blocks, clusters and dynamic shared memory, and the same arguments. Of these, each
// aligned word is either an address in the same object, wherever in it, or the same number. Of
// launches that are alike, so many are watched until it is recorded that each accessed nothing but
// objects that its arguments lead to. Others then run without probes, and are known by their
// arguments.
#ifndef GLINT_INJECT_PROBE_ALIKE_H
#define GLINT_INJECT_PROBE_ALIKE_H

#include "fit.h"
#include "kernel.h"

struct probe_passed_objects;
struct shadow_alike;

// Returns what launches like this one share; NULL: all of them are watched. It lives forever.
struct shadow_alike *probe_alike_of(const struct probe_kernel *kernel,
                                    const struct core_context *context,
                                    const struct probe_shape *shape,
                                    const struct probe_params *params);
// Returns the objects that the launch may access, if it need not be watched, for free(); NULL: it
// must be.
struct probe_passed_objects *probe_alike_known(const struct shadow_alike *alike,
                                               const struct probe_kernel *kernel,
                                               const struct probe_params *params);
// Notes at the end how many there were.
void probe_alike_tell(void);

#endif
