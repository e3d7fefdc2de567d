// SPDX-License-Identifier: Apache-2.0
// Prints the clone of a function. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_CLONE_H
#define GLINT_INSTRUMENT_CLONE_H

#include "work.h"

// Adds an attribute to the head of a clone, which has its own copy of the head.
void instrument_add_attr(struct instrument_work *work, struct ptx_function *head,
                         struct ptx_attr attr);

// Appends the clone to work->out.
void instrument_emit_clone(struct instrument_work *work, struct instrument_body *body);

// Writes the code that copies to memory what the thread holds in registers, and initialises these
// again.
void instrument_emit_rest(struct instrument_work *work, const struct instrument_body *body);

// Appends the declaration of a device function's clone, which may be called before it is defined.
void instrument_emit_declaration(struct instrument_work *work, const struct instrument_body *body,
                                 struct base_buf *out);

#endif
