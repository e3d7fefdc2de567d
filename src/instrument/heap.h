// SPDX-License-Identifier: Apache-2.0
// Functions by which kernels allocate and free memory. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_HEAP_H
#define GLINT_INSTRUMENT_HEAP_H

#include "work.h"

// Returns whether the function, which has no body, allocates or frees memory, so that clones call
// its name with GLINT_SUFFIX behind it instead.
bool instrument_is_heap(const struct instrument_work *work, const struct ptx_function *function);

// Notes that the module calls such a function.
void instrument_note_heap(struct instrument_work *work, const struct ptx_function *function);

// Appends the functions that clones call instead of those that were noted.
void instrument_emit_heap_calls(const struct instrument_work *work, struct base_buf *out);

#endif
