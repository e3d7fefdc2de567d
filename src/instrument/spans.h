// SPDX-License-Identifier: Apache-2.0
// Where registers that a thread adds to are needed; see spans.c. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_SPANS_H
#define GLINT_INSTRUMENT_SPANS_H

#include "work.h"

// The blocks that add to the registers.
struct instrument_uses {
    bool any;
    bool loops;        // one of them is in a loop
    bool several;      // they are not one block
    uint32_t from, to; // the last block that dominates all, the first that post-dominates all
};

void instrument_add_use(const struct instrument_body *body, struct instrument_uses *uses,
                        uint32_t block);

// Returns where registers are needed that are combined with memory when they do not change any
// more.
struct instrument_span instrument_find_span(const struct instrument_body *body,
                                            const struct instrument_uses *uses);

// Lets numbers be combined with memory at one place, if no loop lies between theirs.
void instrument_join_spans(const struct instrument_body *body);

// Returns the block at whose start registers must be initialised that are read wherever threads
// leave; PTX_NO_BLOCK: at the function's entry.
uint32_t instrument_find_start(const struct instrument_body *body,
                               const struct instrument_uses *uses);

#endif
