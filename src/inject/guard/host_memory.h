// SPDX-License-Identifier: Apache-2.0
// The host's pageable memory that copies are made from or to: what it is, where it was allocated
// and where it was freed. Where libglint-sync.so stands before the C library's allocators
// (libc/memory.c), blocks that are large enough are remembered with the call path, from the
// process's beginning on, and told when a copy first uses one.
#ifndef GLINT_INJECT_GUARD_HOST_MEMORY_H
#define GLINT_INJECT_GUARD_HOST_MEMORY_H

#include "blocks.h"
#include "inject/core/call.h"
#include "inject/stack/unwind.h"

extern struct blocks host_blocks;

// A block was allocated, by `caller`. kind: enum event_host. Keeps errno.
void host_allocated(const void *address, size_t bytes, uint8_t kind,
                    struct unwind_registers caller);
// Before it is freed; false: it is none that is remembered. The second form is for realloc, after
// which it may be put back.
bool host_leaves(const void *address, struct block *block);
void host_freed(const struct block *block, struct unwind_registers caller);
void host_stays(const struct block *block);
// Before memory is unmapped, or something else is mapped there.
void host_unmapped(const void *address, size_t bytes, struct unwind_registers caller);

static inline bool host_may_hold(const void *address)
{
    return blocks_may_hold(&host_blocks, (uint64_t)(uintptr_t)address);
}

// What the host's end of the copy is, where no more is known than that it is pageable.
void host_look(const struct call *call, struct event_copy *copy);
void host_start(void);  // the process meets the recorder
void host_forked(void); // a child of fork

#endif
