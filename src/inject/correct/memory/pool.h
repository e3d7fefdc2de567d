// SPDX-License-Identifier: Apache-2.0
// Memory that the program frees, kept for reuse without waiting.
#ifndef GLINT_INJECT_CORRECT_MEMORY_POOL_H
#define GLINT_INJECT_CORRECT_MEMORY_POOL_H

#include <stdbool.h>

#include "inject/core/call.h"

// In a new process; runs alone. Puts the functions in place that stand before the driver's.
void correct_pool_start(void);

// Before every call's driver function.
void correct_pool_before(struct core_call *call);

// The driver has found no memory. Returns true if some was freed, and the call is worth another
// try.
bool correct_pool_give_back(void);

// Whether only this context has work in the process.
bool correct_pool_is_alone(const struct core_context *context);

// Bytes that are kept although the program has freed them; and how many more bytes of the device
// would be free without them.
uint64_t correct_pool_kept(void);
uint64_t correct_pool_kept_bytes(uint32_t device);

// Whether the address lies in a block of a pool; *bytes: the size that the program asked for, or 0
// if the block is kept.
bool correct_pool_view(uint64_t address, uint64_t *bytes);

// Others may learn of the address: its block is never kept.
void correct_pool_share(uint64_t address);

#endif
