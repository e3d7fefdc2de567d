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

// Writes the code that finds the array of the access, under the guard of its instruction: goes to
// `found` with its offset behind that of the array's first word, in bytes, in %glint$to; to `past`
// if the lane does not access shared memory; and falls through at the label `lost` if the access is
// in no array. Registers are those of the template words_registers.
void instrument_emit_word_place(struct instrument_work *work, const struct instrument_body *body,
                                const struct instrument_probe *probe, uint32_t past, uint32_t found,
                                uint32_t lost);

// Returns how many words so many bytes have.
uint32_t instrument_words_in(uint64_t bytes);

// Returns whether the instruction moves rows of matrices, whose data other lanes have.
bool instrument_moves_matrix(const struct ptx_site *site);

// Returns how many bytes each lane touches that gives an address, or 0 if it is unknown.
uint32_t instrument_touched_bytes(const struct ptx_site *site);

// Returns whether all arrays that the access may lead to begin at a multiple of so many bytes.
bool instrument_is_aligned(const struct instrument_body *body, const struct instrument_probe *probe,
                           uint32_t bytes);

// Returns whether the access may begin in the middle of a word and end in the next one. Accesses
// are aligned, but arrays of bytes need not be.
bool instrument_may_straddle(const struct instrument_body *body,
                             const struct instrument_probe *probe, uint32_t bytes);

#endif
