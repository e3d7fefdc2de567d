// SPDX-License-Identifier: Apache-2.0
// The host's pageable memory that copies are made from or to: what it is, where it was allocated
// and where it was freed. Where libglint-sync.so stands before the C library's allocators
// (libc/memory.c), blocks that are large enough are remembered with the call path, from the
// process's beginning on, and told when a copy first uses one.
#ifndef GLINT_INJECT_GUARD_HOST_MEMORY_H
#define GLINT_INJECT_GUARD_HOST_MEMORY_H

#include "inject/core/call.h"
#include "inject/stack/unwind.h"
#include "state.h"

// A block was allocated, by `caller`. kind: enum event_host. Keeps errno.
void guard_host_allocated(const void *address, size_t bytes, uint8_t kind,
                          struct stack_unwind_registers caller);
// Before it is freed; false: it is none that is remembered. The second form is for realloc, after
// which it may be put back.
bool guard_host_leaves(const void *address, struct guard_block *block);
void guard_host_freed(const struct guard_block *block, struct stack_unwind_registers caller);
void guard_host_stays(const struct guard_block *block);
// Before memory is unmapped, or something else is mapped there.
void guard_host_unmapped(const void *address, size_t bytes, struct stack_unwind_registers caller);

static inline bool guard_host_may_hold(const void *address)
{
    return guard_blocks_may_hold(&guard_state.host_blocks, (uint64_t)(uintptr_t)address);
}

// What the host's end of the copy is, where no more is known than that it is pageable.
void guard_host_look(const struct core_call *call, struct event_copy *copy);
void guard_host_start(void);  // the process meets the recorder
void guard_host_forked(void); // a child of fork

#endif
