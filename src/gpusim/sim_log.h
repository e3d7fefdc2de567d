// SPDX-License-Identifier: Apache-2.0
// The oracle's log, as the machine writes it. Internal; the driver's part is in sim.h.
#ifndef GLINT_GPUSIM_SIM_LOG_H
#define GLINT_GPUSIM_SIM_LOG_H

#include "access.h"

// One warp-level access with its values: of a load or atomic what memory held before it, of a store
// what it will hold.
void sim_log_access(struct warp *warp, const struct uop *op, uint32_t bytes, enum access_kind kind,
                    const struct access *access);

#endif
