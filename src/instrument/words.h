// SPDX-License-Identifier: Apache-2.0
// Shared: counts how often each word of shared memory is loaded and stored. Internal to
// src/instrument.
#ifndef GLINT_INSTRUMENT_WORDS_H
#define GLINT_INSTRUMENT_WORDS_H

#include "work.h"

// Lists the kernel's arrays of shared memory, and decides which sites count words.
void instrument_plan_words(struct instrument_work *work, struct instrument_body *body);

// Writes the code that counts the words that the following instruction touches; nothing if it
// counts none.
void instrument_emit_words(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *probe);

#endif
