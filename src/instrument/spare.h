// SPDX-License-Identifier: Apache-2.0
// Spare shared memory: which clones may have it, and how their code reaches it. Internal to
// src/instrument.
#ifndef GLINT_INSTRUMENT_SPARE_H
#define GLINT_INSTRUMENT_SPARE_H

#include "work.h"

// The array at whose address dynamic shared memory begins, in code of clones.
#define INSTRUMENT_SPARE "glint$spare"

// Returns whether the instruction reads how much shared memory a block has.
bool instrument_reads_sizes(const struct ptx_instr *instr);

// Returns whether no thread of the kernel can notice that its block has spare shared memory.
bool instrument_may_spare(const struct instrument_body *body);

// Declares the array that code of clones names.
void instrument_emit_spare(const struct instrument_work *work, struct base_buf *out);

#endif
