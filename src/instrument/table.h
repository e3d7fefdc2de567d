// SPDX-License-Identifier: Apache-2.0
// Makes the rows that describe sites. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_TABLE_H
#define GLINT_INSTRUMENT_TABLE_H

#include "work.h"

// Makes the rows of a body's sites.
void instrument_list_sites(struct instrument_work *work, struct instrument_body *body);

// Makes the rows of a kernel's sites of shared memory.
void instrument_list_shared(struct instrument_work *work, const struct instrument_body *body);

// Sets the rows of a kernel: its own and those of the functions that it calls.
void instrument_join_sites(struct instrument_work *work, const struct instrument_body *body);

#endif
