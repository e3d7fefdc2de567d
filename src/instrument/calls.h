// SPDX-License-Identifier: Apache-2.0
// Finds the functions of a module and what calls what. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_CALLS_H
#define GLINT_INSTRUMENT_CALLS_H

#include "work.h"

// Fills work->bodies with every function that has a body, and sets what each does and calls.
void instrument_find_calls(struct instrument_work *work);

// Returns the body of the function with that name, or NULL.
struct instrument_body *instrument_body_of(const struct instrument_work *work, const char *name);

// Returns whether the request wants the kernel.
bool instrument_wants(const struct instrument_request *request, const char *name);

// Returns whether the function of that name is one of the device runtime that launches kernels.
bool instrument_launches(const char *name);

// Returns whether a call by pointer may call the function.
bool instrument_may_lead_to(const struct instrument_body *body, const struct ptx_call *call);

#endif
