// SPDX-License-Identifier: Apache-2.0
// Kernels that are launched by kernels of the same text. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_CHILDREN_H
#define GLINT_INSTRUMENT_CHILDREN_H

#include "work.h"

// Adds a body for each kernel that kernels of the text launch, and sets what functions launch.
// work->bodies has all others.
void instrument_find_children(struct instrument_work *work);

// Returns whether the body's clone calls a function of glint instead of this one: a function that
// gets the buffer for the parameters of a launch.
bool instrument_gets_buffer(const struct instrument_body *body,
                            const struct ptx_function *function);
// Returns whether the address is that of such a buffer, which is no memory of the program.
bool instrument_is_buffer(const struct instrument_body *body, const struct ptx_operand *address);

// Appends the attribute by which any block can be launched, if the program has not set any.
void instrument_limit_child(struct instrument_work *work, struct ptx_function *head);
// Writes the function that clones call, after the declarations of the clones in the text. holds: by
// body, whether the text has it.
void instrument_emit_buffer_function(const struct instrument_work *work, const bool *holds,
                                     struct base_buf *out);

#endif
