// SPDX-License-Identifier: Apache-2.0
// Object level: the flags that say which uses of roots happened. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_FLAGS_H
#define GLINT_INSTRUMENT_FLAGS_H

#include "work.h"

// Decides which uses need flags and where these are set; fills the kernel's uses.
void instrument_place_flags(struct instrument_work *work, struct instrument_body *body);

// Values: lets tallies take the place of flags, and numbers the remaining flags anew. class is, by
// block, the first of the blocks that execute equally often; tally_of, by such a class, 1 + its
// tally, or 0. New tallies are added to both.
void instrument_count_flags(struct instrument_work *work, struct instrument_body *body,
                            const uint32_t *class, uint32_t *tally_of);

// Writes the code that sets a flag in the thread's registers.
void instrument_emit_flag(struct instrument_work *work, uint32_t flag);

// Writes the code that copies the thread's flags to memory.
void instrument_emit_flags(struct instrument_work *work, const struct instrument_body *body);

// Returns how many registers hold the flags of a thread, one byte per flag.
static inline uint32_t instrument_flag_words(const struct instrument_kernel *kernel)
{
    return (kernel->flag_count + 3) / 4;
}

#endif
