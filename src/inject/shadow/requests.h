// SPDX-License-Identifier: Apache-2.0
// Records of the requests that warps of a launch made.
#ifndef GLINT_INJECT_SHADOW_REQUESTS_H
#define GLINT_INJECT_SHADOW_REQUESTS_H

#include "device/device.h"
#include "model.h"

// Records them, one row for each instruction that made some. unknown: what the launch touched is.
void shadow_tell_requests(const struct shadow_ticket *ticket, const struct device_reduction *layout,
                          bool unknown);

#endif
