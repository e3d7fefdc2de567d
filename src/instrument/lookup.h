// SPDX-License-Identifier: Apache-2.0
// Element level: the code for an access whose address comes from no root. Internal to
// src/instrument.
#ifndef GLINT_INSTRUMENT_LOOKUP_H
#define GLINT_INSTRUMENT_LOOKUP_H

#include "work.h"

// Writes the code for an access of at most 16 bytes at the address in %glint$a.
void instrument_emit_lookup(struct instrument_work *work, const struct instrument_body *body,
                            const struct instrument_probe *probe);

// Writes the code that adds the bytes that registers count for the current entry to those in
// memory.
void instrument_emit_leave(struct instrument_work *work, const struct instrument_body *body);

#endif
