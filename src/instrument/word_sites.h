// SPDX-License-Identifier: Apache-2.0
// Shared: accesses that need not be counted, because the launch knows which words they touch and
// tallies say how often. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_WORD_SITES_H
#define GLINT_INSTRUMENT_WORD_SITES_H

#include "work.h"

// Sets probe->offset if the access is one of these. `offset` is that from the start of its array.
void instrument_plan_word_site(struct instrument_work *work, const struct instrument_body *body,
                               struct instrument_probe *probe, const struct ptx_linear *offset);

// Gives the blocks of these accesses tallies; blocks of one class are executed equally often.
void instrument_place_word_tallies(struct instrument_work *work, struct instrument_body *body,
                                   const uint32_t *class);

// Writes the code that counts an access that has a guard.
void instrument_emit_guarded_words(struct instrument_work *work, const struct instrument_body *body,
                                   const struct instrument_probe *probe);

// Lists them in the kernel.
void instrument_list_word_sites(struct instrument_work *work, const struct instrument_body *body);

#endif
