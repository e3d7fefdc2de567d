// SPDX-License-Identifier: Apache-2.0
// What glint needs to know about tensor maps, whose layout belongs to the driver.
#ifndef GLINT_INJECT_PROBE_MAPS_H
#define GLINT_INJECT_PROBE_MAPS_H

#include <stdbool.h>
#include <stddef.h>

// Returns whether the text copies tensors and does not change their maps, and this driver's maps
// begin with the address of their tensor, so that probes can read it there. Any thread.
bool probe_maps_tell(const char *ptx, size_t length);

#endif
