// SPDX-License-Identifier: Apache-2.0
// Records which values the loads and stores of a launch moved.
#ifndef GLINT_INJECT_SHADOW_ACCESSED_H
#define GLINT_INJECT_SHADOW_ACCESSED_H

#include "model.h"

// Writes one record for each field of an object that the launch read, and one for each that it
// wrote. The launch's results have arrived, and what it touched is known.
void shadow_tell_accessed(const struct shadow_ticket *ticket,
                          const struct device_reduction *layout);

#endif
