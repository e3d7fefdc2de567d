// SPDX-License-Identifier: Apache-2.0
// Spare shared memory: dynamic shared memory of a clone's blocks beyond what the program asked for.
#ifndef GLINT_INJECT_PROBE_SPARE_H
#define GLINT_INJECT_PROBE_SPARE_H

#include "fit.h"

// Returns whether a launch of the clone may have so many bytes of spare shared memory: the driver
// accepts it, and as many blocks run at once as without, or all of the launch. Raises the clone's
// limit if that takes it. The context must be current. Any thread may call; it asks the driver once
// for each shape.
bool probe_spare_fits(const struct probe_kernel *kernel, struct probe_clone *clone,
                      const struct core_context *context, const struct probe_shape *shape,
                      uint32_t bytes);
void probe_spare_free(struct probe_clone *clone);

#endif
