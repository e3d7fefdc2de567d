// SPDX-License-Identifier: Apache-2.0
// Conditions of graphs: the values that decide what conditional nodes run. Kernels set them through
// handles, which are numbers that are never used again.
#ifndef GLINT_GPUSIM_DRIVER_CONDITION_H
#define GLINT_GPUSIM_DRIVER_CONDITION_H

#include "driver.h"

struct driver_condition {
    CUgraphConditionalHandle handle;
    unsigned references; // of its graph, its node and executable graphs; under the driver's lock
    _Atomic uint32_t value;
    uint32_t launch_value; // assigned at each launch, if `assigns`
    bool assigns, has_node;
};

// Returns the condition of the handle, borrowed, or NULL. Locked.
struct driver_condition *driver_condition_of(CUgraphConditionalHandle handle);
void driver_condition_hold(struct driver_condition *condition);
void driver_condition_release(struct driver_condition *condition);
// Sets the value, if the handle has a condition. Called by threads that run kernels.
void driver_condition_set(uint64_t handle, uint32_t value);

#endif
