// SPDX-License-Identifier: Apache-2.0
// Which values with roots may also be addresses that have none. Internal to src/ptx.
#ifndef GLINT_PTX_COMPUTED_H
#define GLINT_PTX_COMPUTED_H

#include "provenance.h"

// Sets `computed` of all origins, whose roots are known.
void ptx_find_computed(struct ptx_provenance *provenance);

#endif
