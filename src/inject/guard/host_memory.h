// SPDX-License-Identifier: Apache-2.0
// Pageable host memory that copies use: what it is, and where it was allocated and freed.
// libglint-sync.so stands before the C library's allocators (libc/memory.c). Large blocks are
// remembered with their call path from the start of the process on, and recorded when a copy first
// uses one.
#ifndef GLINT_INJECT_GUARD_HOST_MEMORY_H
#define GLINT_INJECT_GUARD_HOST_MEMORY_H

#include "inject/core/call.h"
#include "inject/stack/unwind.h"
#include "state.h"

// Says that `caller` allocated a block. kind: enum event_host. Keeps errno.
void guard_host_allocated(const void *address, size_t bytes, uint8_t kind,
                          struct stack_unwind_registers caller);
// Called before a block is freed: takes it out. Returns false if it is unknown. guard_host_stays
// puts it back if realloc or free fails; guard_host_freed records that it was freed.
bool guard_host_leaves(const void *address, struct guard_block *block);
void guard_host_freed(const struct guard_block *block, struct stack_unwind_registers caller);
void guard_host_stays(const struct guard_block *block);
// Called before memory is unmapped, or something else is mapped there.
void guard_host_unmapped(const void *address, size_t bytes, struct stack_unwind_registers caller);

static inline bool guard_host_may_hold(const void *address)
{
    return guard_blocks_may_hold(&guard_state.host_blocks, (uint64_t)(uintptr_t)address);
}

// Finds out what the host's end of a copy is, if it is only known to be pageable.
void guard_host_look(const struct core_call *call, struct event_copy *copy);
void guard_host_start(void);  // when the process meets the recorder
void guard_host_forked(void); // in a child of fork

#endif
