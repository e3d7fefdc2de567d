// SPDX-License-Identifier: Apache-2.0
// The device functions that clones call. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_LIBRARY_H
#define GLINT_INSTRUMENT_LIBRARY_H

#include "work.h"

// Appends the functions, a set of enum instrument_helper, and those for memory that kernels
// allocate.
void instrument_emit_library(const struct instrument_work *work, uint32_t helpers,
                             struct base_buf *out);

#endif
