// SPDX-License-Identifier: Apache-2.0
// Memory that the program frees, kept and given out again without waiting: see pool.c.
#ifndef GLINT_INJECT_CORRECT_MEMORY_POOL_H
#define GLINT_INJECT_CORRECT_MEMORY_POOL_H

#include <stdbool.h>

#include "inject/core/call.h"

// In a new process, alone: nothing is kept. The functions that the pool stands before are replaced.
void correct_pool_start(void);

// A call is about to be given to the driver.
void correct_pool_before(struct core_call *call);

// The driver found no memory. True: some was given back, try again.
bool correct_pool_give_back(void);

// Whether all work of the process is this context's.
bool correct_pool_is_alone(const struct core_context *context);

// Bytes that are kept, which the program has freed; and how many more the driver would have free on
// the device without them.
uint64_t correct_pool_kept(void);
uint64_t correct_pool_kept_bytes(uint32_t device);

// Whether the address is in a block of a pool, and then the bytes that the program asked for; 0
// where the address is in none of them, or the block is kept.
bool correct_pool_view(uint64_t address, uint64_t *bytes);

// Others may come to know of the address: what it lies in is never kept.
void correct_pool_share(uint64_t address);

#endif
