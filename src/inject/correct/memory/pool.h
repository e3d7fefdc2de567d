// SPDX-License-Identifier: Apache-2.0
// Memory that the program frees, kept for reuse without waiting.
#ifndef GLINT_INJECT_CORRECT_MEMORY_POOL_H
#define GLINT_INJECT_CORRECT_MEMORY_POOL_H

#include <stdbool.h>

#include "inject/core/call.h"

// Called in a new process, while other threads wait. Installs the functions that stand before the
// driver's.
void correct_pool_start(void);

// Called before every call's driver function.
void correct_pool_before(struct core_call *call);

// Called when the driver has found no memory. Returns true if some was freed, so that the call
// should be tried again.
bool correct_pool_give_back(void);

// Returns whether no other context of the process has work.
bool correct_pool_is_alone(const struct core_context *context);

// Return how many bytes are kept although the program has freed them, and how many more bytes of
// the device would be free without them.
uint64_t correct_pool_kept(void);
uint64_t correct_pool_kept_bytes(uint32_t device);

// Returns whether the address lies in a block of a pool. *bytes: the size that the program
// requested, or 0 if the block is kept.
bool correct_pool_view(uint64_t address, uint64_t *bytes);

// Others may learn of the address, so its block will never be kept.
void correct_pool_share(uint64_t address);

#endif
