// SPDX-License-Identifier: Apache-2.0
// Requests: loops that are written twice. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_TWICE_H
#define GLINT_INSTRUMENT_TWICE_H

#include "work.h"

// A loop that is written a second time, for whole warps in launches that only count them.
struct instrument_twice {
    struct ptx_stmt *first,
        *last;      // the statements of the loop, which follow each other in the text
    uint32_t probe; // the first one in the loop
    size_t point;   // likewise
    bool kinds[2];  // it reaches global memory, and shared or local memory
};

// Returns the loop that begins with the statement, a label before which other code can be written,
// or PTX_NO_LOOP.
uint32_t instrument_loop_at(const struct ptx_cfg *cfg, const struct ptx_stmt *stmt);
// Returns whether lanes that enter the loop together stay together until they leave it.
bool instrument_stays_together(const struct ptx_facts *facts, const struct ptx_loop *loop);
// Returns whether the loop is only entered from the text before it.
bool instrument_is_entered_above(const struct ptx_cfg *cfg, const struct ptx_loop *loop);

// Fills *twice if the statement begins such a loop. Returns whether it does.
bool instrument_find_twice(const struct instrument_work *work, const struct instrument_body *body,
                           struct ptx_stmt *stmt, struct instrument_twice *twice);

// Writes the code before the loop that goes to the label if a whole warp enters it, and the launch
// only counts such warps.
void instrument_emit_choice(struct instrument_work *work, const struct instrument_twice *twice,
                            const char *label);

// Gives the loop's labels other names. They have their own names again when it is called once more
// with the same array, whose first call sets it.
void instrument_swap_labels(struct instrument_work *work, const struct instrument_twice *twice,
                            const char ***names);

#endif
