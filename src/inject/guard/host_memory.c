// SPDX-License-Identifier: Apache-2.0
// Blocks that allocators returned, and copies that use them. Call paths are kept as addresses,
// because most blocks are allocated before the process meets the recorder, and few are ever copied.
// Only for those the path gets a number.
#include "host_memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "inject/core/names.h"

void guard_host_start(void)
{
    atomic_store(&guard_state.blocks_told, 0);
}

void guard_host_forked(void)
{
    guard_blocks_forked(&guard_state.host_blocks);
}

static uint64_t clock_ns(void) // also before core_state.clock is prepared
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// --- Allocation and free of blocks ---------------------------------------------------------------

void guard_host_allocated(const void *address, size_t bytes, uint8_t kind,
                          struct stack_unwind_registers caller)
{
    const int error = errno;
    struct stack_unwind_path path;
    struct guard_block block = {.address = (uint64_t)(uintptr_t)address,
                                .bytes = bytes,
                                .time_ns = clock_ns(),
                                .kind = kind};
    stack_unwind_from(&guard_state.walker, caller, &path, NULL);
    block.depth = path.depth < BLOCKS_FRAMES ? path.depth : BLOCKS_FRAMES;
    block.truncated = path.truncated || path.depth > BLOCKS_FRAMES;
    memcpy(block.frames, path.pc, block.depth * sizeof(block.frames[0]));
    guard_blocks_put(&guard_state.host_blocks, &block);
    errno = error;
}

bool guard_host_leaves(const void *address, struct guard_block *block)
{
    return guard_host_may_hold(address) &&
           guard_blocks_take(&guard_state.host_blocks, (uint64_t)(uintptr_t)address, block);
}

void guard_host_stays(const struct guard_block *block)
{
    guard_blocks_put(&guard_state.host_blocks, block);
}

void guard_host_freed(const struct guard_block *block, struct stack_unwind_registers caller)
{
    if (!block->number || !core_is_on() || block->generation != core_state.generation)
        return;
    const int error = errno;
    const bool own = !core_thread.depth; // the program's, and not the driver's
    struct event_block_end end = {.number = block->number, .time_ns = core_now_ns()};
    end.stack =
        own && core_state.stacks ? stack_from(core_state.stacks, core_state.ring, caller) : 0;
    end.thread = own ? core_thread_number() : 0;
    core_put(EVENT_BLOCK_END, &end, sizeof(end), NULL, 0);
    errno = error;
}

// After a partial munmap, the lower remaining piece keeps the block's identity, or else the upper
// one.
void guard_host_unmapped(const void *address, size_t bytes, struct stack_unwind_registers caller)
{
    const uint64_t low = (uint64_t)(uintptr_t)address, high = low + bytes;
    struct guard_block block;
    while (low < high && guard_blocks_take_overlap(&guard_state.host_blocks, low, high, &block)) {
        const uint64_t end = block.address + block.bytes;
        if (block.address < low) {
            block.bytes = low - block.address;
            guard_blocks_put(&guard_state.host_blocks, &block);
        } else if (end > high) {
            block.address = high;
            block.bytes = end - high;
            guard_blocks_put(&guard_state.host_blocks, &block);
        } else {
            guard_host_freed(&block, caller);
        }
    }
}

// --- Ends of copies ------------------------------------------------------------------------------

static void tell(struct guard_block *block)
{
    const uint32_t stack = core_state.stacks && block->depth
                               ? stack_of(core_state.stacks, core_state.ring, block->frames,
                                          block->depth, block->truncated)
                               : 0;
    block->number = core_next_number(&guard_state.blocks_told);
    block->generation = core_state.generation;
    struct event_block record = {.number = block->number,
                                 .address = block->address,
                                 .bytes = block->bytes,
                                 .time_ns = block->time_ns,
                                 .stack = stack,
                                 .kind = block->kind};
    core_put(EVENT_BLOCK, &record, sizeof(record), NULL, 0);
}

void guard_host_look(const struct core_call *call, struct event_copy *copy)
{
    if (copy->host != EVENT_HOST_PAGEABLE || !copy->bytes)
        return;
    const uint64_t address = copy->direction == EVENT_HOST_TO_DEVICE ? copy->from : copy->to;
    const uint64_t sp = call->caller.sp;
    struct dl_find_object image;
    if (address >= sp && address < stack_unwind_bounds_from(sp).high) {
        copy->host = EVENT_HOST_STACK;
        return;
    }
    struct guard_block *block = guard_blocks_borrow(&guard_state.host_blocks, address);
    if (block) {
        if (!block->number || block->generation != core_state.generation)
            tell(block);
        copy->host = block->kind;
        copy->block = block->number;
        guard_blocks_give_back(&guard_state.host_blocks, block);
    } else if (!_dl_find_object((void *)(uintptr_t)address, &image)) { // NOLINT
        copy->host = EVENT_HOST_STATIC;
    }
}
