// SPDX-License-Identifier: Apache-2.0
// Reads memory of the program that it may unmap meanwhile.
#ifndef GLINT_INJECT_SOURCES_READ_H
#define GLINT_INJECT_SOURCES_READ_H

#include "state.h"

// Finds out whether the system permits reading. Called at the layer's start.
void sources_read_start(void);
// Returns whether reading so many bytes stays within what recording may cost.
bool sources_may_read(uint64_t bytes);
// Passes on the bytes, in pieces of 64 KiB. Returns false if some cannot be read.
typedef void sources_take(void *user, const char *chunk, size_t bytes);
bool sources_read(uint64_t start, uint64_t bytes, sources_take *take, void *user);
// Returns the hash of the memory, unknown if some of it cannot be read.
struct core_call_hash sources_hash(uint64_t start, uint64_t bytes);

#endif
