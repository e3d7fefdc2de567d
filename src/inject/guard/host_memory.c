// SPDX-License-Identifier: Apache-2.0
// Blocks that allocators gave out, and the ends of copies in them. Call paths are kept as
// addresses, since most blocks are allocated before the first call of the driver, when there is
// nobody yet to tell, and few are ever copied: only of those they become numbers.
#include "host_memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "inject/core/names.h"

struct blocks host_blocks;

static struct unwind walker; // of zeros
static _Atomic uint64_t numbers;

void host_start(void)
{
    atomic_store(&numbers, 0);
}

void host_forked(void)
{
    blocks_forked(&host_blocks);
}

static uint64_t clock_ns(void) // also before state.clock is prepared
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// --- Blocks come and go --------------------------------------------------------------------------

void host_allocated(const void *address, size_t bytes, uint8_t kind, struct unwind_registers caller)
{
    const int error = errno;
    struct unwind_path path;
    struct block block = {.address = (uint64_t)(uintptr_t)address,
                          .bytes = bytes,
                          .time_ns = clock_ns(),
                          .kind = kind};
    unwind_from(&walker, caller, &path);
    block.depth = path.depth < BLOCKS_FRAMES ? path.depth : BLOCKS_FRAMES;
    block.truncated = path.truncated || path.depth > BLOCKS_FRAMES;
    memcpy(block.frames, path.pc, block.depth * sizeof(block.frames[0]));
    blocks_put(&host_blocks, &block);
    errno = error;
}

bool host_leaves(const void *address, struct block *block)
{
    return host_may_hold(address) && blocks_take(&host_blocks, (uint64_t)(uintptr_t)address, block);
}

void host_stays(const struct block *block)
{
    blocks_put(&host_blocks, block);
}

void host_freed(const struct block *block, struct unwind_registers caller)
{
    if (!block->number || !state_is_on() || block->generation != state.generation)
        return;
    const int error = errno;
    const bool own = !inject_thread.depth; // the program's, and not the driver's
    struct event_block_end end = {.number = block->number, .time_ns = now_ns()};
    end.stack = own && state.stacks ? stack_from(state.stacks, state.ring, caller) : 0;
    end.thread = own ? thread_number() : 0;
    put(EVENT_BLOCK_END, &end, sizeof(end), NULL, 0);
    errno = error;
}

// What is left of a block at one end is it still; of two ends the first.
void host_unmapped(const void *address, size_t bytes, struct unwind_registers caller)
{
    const uint64_t low = (uint64_t)(uintptr_t)address, high = low + bytes;
    struct block block;
    while (low < high && blocks_take_overlap(&host_blocks, low, high, &block)) {
        const uint64_t end = block.address + block.bytes;
        if (block.address < low) {
            block.bytes = low - block.address;
            blocks_put(&host_blocks, &block);
        } else if (end > high) {
            block.address = high;
            block.bytes = end - high;
            blocks_put(&host_blocks, &block);
        } else {
            host_freed(&block, caller);
        }
    }
}

// --- Ends of copies ------------------------------------------------------------------------------

static void tell(struct block *block)
{
    const uint32_t stack =
        state.stacks && block->depth
            ? stack_of(state.stacks, state.ring, block->frames, block->depth, block->truncated)
            : 0;
    block->number = next_number(&numbers);
    block->generation = state.generation;
    struct event_block record = {.number = block->number,
                                 .address = block->address,
                                 .bytes = block->bytes,
                                 .time_ns = block->time_ns,
                                 .stack = stack,
                                 .kind = block->kind};
    put(EVENT_BLOCK, &record, sizeof(record), NULL, 0);
}

void host_look(const struct call *call, struct event_copy *copy)
{
    if (copy->host != EVENT_HOST_PAGEABLE || !copy->bytes)
        return;
    const uint64_t address = copy->direction == EVENT_HOST_TO_DEVICE ? copy->from : copy->to;
    const uint64_t sp = call->caller.sp;
    struct dl_find_object image;
    if (address >= sp && address < unwind_bounds_from(sp).high) {
        copy->host = EVENT_HOST_STACK;
        return;
    }
    struct block *block = blocks_borrow(&host_blocks, address);
    if (block) {
        if (!block->number || block->generation != state.generation)
            tell(block);
        copy->host = block->kind;
        copy->block = block->number;
        blocks_give_back(&host_blocks, block);
    } else if (!_dl_find_object((void *)(uintptr_t)address, &image)) { // NOLINT
        copy->host = EVENT_HOST_STATIC;
    }
}
