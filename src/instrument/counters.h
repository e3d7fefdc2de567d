// SPDX-License-Identifier: Apache-2.0
// Shared: the counters of words of shared memory, in device memory and in spare shared memory of
// the block. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_COUNTERS_H
#define GLINT_INSTRUMENT_COUNTERS_H

#include "work.h"

enum {
    // Spare memory begins with so many bytes, of which the first four count threads that have
    // ended. Behind these each word has two counters, loads and stores, of 32 or 16 bits. The first
    // are those of accesses that are in no array. Counters of 32 bits may be followed by those of
    // pairs of words, and these by those of quads. One of the two may hold a difference instead:
    // see counters.c.
    INSTRUMENT_SPARE_HEAD = 16,
    // A counter of 16 bits that has reached this is not incremented any more. Each of the threads
    // of a block may increment it once more, because it looks at the counter first.
    INSTRUMENT_SMALL_LIMIT = 65535 - 1024,
};

// Decides where words are counted. The sites that count are known.
void instrument_plan_counters(const struct instrument_work *work, struct instrument_body *body);

// Writes the code that counts the words of an access, whose offset behind that of its array's
// counters is in %glint$to; bytes 0: it is in no array. May go to `past`, which is behind the
// probe.
void instrument_emit_counts(struct instrument_work *work, const struct instrument_body *body,
                            const struct instrument_probe *probe, uint32_t bytes, uint32_t past);

// Returns how many words the access counts with one counter of 32 bits in spare memory.
uint32_t instrument_counter_unit(const struct instrument_body *body,
                                 const struct instrument_probe *probe);
// Returns 1 + where the context holds the start of such counters, behind `spare_units`; 0: these
// are the first.
uint32_t instrument_unit_member(uint32_t words);

// Write the code that changes counters of a word, `word` words behind the first: counters of 32
// bits in spare memory, at the address in %glint$near, and those in device memory, at that in
// %glint$c. Each instruction has the guard.
void instrument_emit_increments(struct instrument_work *work, const struct instrument_body *body,
                                const struct instrument_probe *probe, const char *guard,
                                int64_t word);
void instrument_emit_device_increments(struct instrument_work *work,
                                       const struct instrument_body *body,
                                       const struct instrument_probe *probe, const char *guard,
                                       int64_t word);

// Write the code that threads of the kernel execute at their start and end, nothing if it does not
// count in spare memory.
void instrument_emit_clear(struct instrument_work *work, const struct instrument_body *body);
void instrument_emit_last(struct instrument_work *work, const struct instrument_body *body);

#endif
