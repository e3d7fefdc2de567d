// SPDX-License-Identifier: Apache-2.0
// Divides clones among the module's text and parts. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_TEXTS_H
#define GLINT_INSTRUMENT_TEXTS_H

#include "work.h"

// Decides which functions need the module in which they stand.
void instrument_find_ties(struct instrument_work *work);

// Makes the texts of work->module when all clones are in work->out.
void instrument_put_texts(struct instrument_work *work);

// Returns a variable as clones declare it. Shared memory is aligned to 16 bytes: when a text is
// linked, its place is not yet known, and only the alignment lets the compiler read several words
// at once.
static inline struct ptx_var instrument_shared(const struct ptx_var *var)
{
    enum { ALIGN = 16 };
    struct ptx_var shared = *var;
    if (shared.space == PTX_SPACE_SHARED && shared.align && shared.align < ALIGN &&
        shared.size_bytes % ALIGN == 0)
        shared.align = ALIGN;
    return shared;
}

#endif
