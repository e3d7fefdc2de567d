// SPDX-License-Identifier: Apache-2.0
// Values: the layouts of a kernel's roots. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_LAYOUTS_H
#define GLINT_INSTRUMENT_LAYOUTS_H

#include "work.h"

// Sets `layout` of all roots of the kernel, whose sites are planned.
void instrument_find_layouts(struct instrument_work *work, struct instrument_body *body,
                             const struct ptx_site *sites, uint32_t site_count);

#endif
