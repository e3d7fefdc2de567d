// SPDX-License-Identifier: Apache-2.0
// Decides for each memory instruction of a function whether and how it is probed. Internal to
// src/instrument.
#ifndef GLINT_INSTRUMENT_PLAN_H
#define GLINT_INSTRUMENT_PLAN_H

#include "work.h"

// Analyses the function, fills body->probes and, for a kernel, its roots and the place of its
// context. Sets body->why_not if the function cannot be cloned.
void instrument_plan(struct instrument_work *work, struct instrument_body *body);

// Returns a probe that does nothing yet.
struct instrument_probe instrument_no_probe(const struct ptx_site *site);

// Returns whether a probe can compute the address.
bool instrument_has_address(const struct ptx_operand *address);

// Returns where the parameters of a kernel end.
uint32_t instrument_params_end(const struct ptx_function *function);
// Returns where the driver places a parameter of a kernel.
uint32_t instrument_param_offset(const struct ptx_function *function, uint32_t index);

// Appends a sentence to *reason: what a kernel's probes do not see, or why it has none.
void instrument_add_reason(struct instrument_work *work, const char **reason, const char *format,
                           ...) __attribute__((format(printf, 3, 4)));

#endif
