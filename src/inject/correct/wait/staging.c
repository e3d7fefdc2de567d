// SPDX-License-Identifier: Apache-2.0
// Pinned memory that data passes through between the program's pageable memory and the device.
// Blocks are few, allocated as they are needed, reused, and bounded in total. The layer's lock
// protects them, except that a signal handler may free one through its `use`.
#include "staging.h"

#include <string.h>
#include <unistd.h>

#include "inject/correct/state.h"
#include "memory.h"

enum { LEAST_BYTES = 64 << 10 };
#define MOST_BYTES ((size_t)512 << 20)

static size_t class_of(size_t bytes)
{
    size_t class = LEAST_BYTES;
    while (class < bytes)
        class *= 2;
    return class;
}

static bool is_free(struct correct_stage *block)
{
    if (atomic_load(&block->use) == STAGE_LEAVING && correct_mark_reached(block->mark))
        atomic_store(&block->use, STAGE_FREE);
    return atomic_load(&block->use) == STAGE_FREE;
}

static struct correct_stage *take(struct correct_stage *block)
{
    atomic_store(&block->use, STAGE_TAKEN);
    block->age = ++correct_state.staging.ages;
    return block;
}

// Returns the smallest block that suffices and is not far larger, unless any will do.
static struct correct_stage *find(size_t bytes, bool any)
{
    struct correct_stage *best = NULL;
    for (unsigned i = 0; i < CORRECT_STAGES; i++) {
        struct correct_stage *block = &correct_state.staging.blocks[i];
        if (is_free(block) && block->bytes >= bytes &&
            (any || block->bytes / 8 < bytes + LEAST_BYTES) &&
            (!best || block->bytes < best->bytes))
            best = block;
    }
    return best;
}

static void give_back(struct correct_stage *block)
{
    REAL(cuMemFreeHost)(block->memory);
    correct_state.staging.bytes -= block->bytes;
    *block = (struct correct_stage){0};
}

// Blocks are not replaced by larger ones: freeing pinned memory waits for all work of the device,
// for which the program's copy would not wait.
static struct correct_stage *make(size_t bytes)
{
    struct correct_stage *place = NULL;
    for (unsigned i = 0; i < CORRECT_STAGES && !place; i++)
        if (atomic_load(&correct_state.staging.blocks[i].use) == STAGE_NONE)
            place = &correct_state.staging.blocks[i];
    if (!place || correct_state.staging.refused || correct_state.staging.bytes + bytes > MOST_BYTES)
        return NULL;
    void *memory = NULL;
    // The flags may become those of the program's own allocations: see src/inject/shadow/memory.c.
    if (REAL(cuMemHostAlloc)(&memory, bytes, CU_MEMHOSTALLOC_DEVICEMAP) != CUDA_SUCCESS) {
        correct_state.staging.refused = true; // the remaining pinned memory is left to the program
        return NULL;
    }
    *place = (struct correct_stage){.memory = memory, .bytes = bytes};
    correct_state.staging.bytes += bytes;
    return place;
}

// Waits until the GPU has finished with the oldest block that it still uses. Returns false if there
// is none.
static bool wait_for_leaving(size_t bytes)
{
    const struct correct_stage *oldest = NULL;
    struct correct_mark mark = {0};
    correct_lock();
    for (unsigned i = 0; i < CORRECT_STAGES; i++) {
        const struct correct_stage *block = &correct_state.staging.blocks[i];
        if (atomic_load(&block->use) == STAGE_LEAVING && block->bytes >= bytes &&
            (!oldest || block->age < oldest->age))
            oldest = block;
    }
    if (oldest)
        mark = oldest->mark;
    correct_unlock();
    correct_mark_await(mark);
    return oldest != NULL;
}

struct correct_stage *correct_stage_take(size_t bytes)
{
    // A child of fork does not use its parent's blocks.
    if (correct_state.staging.made_by != core_state.generation) {
        memset(&correct_state.staging, 0, sizeof(correct_state.staging));
        correct_state.staging.made_by = core_state.generation;
    }
    if (bytes > MOST_BYTES / 2)
        return NULL;
    struct correct_stage *block = find(bytes, false);
    block = block ? block : make(class_of(bytes));
    block = block ? block : find(bytes, true);
    return block ? take(block) : NULL;
}

// Delivers owed data first, because the program may never touch it, and its blocks would never
// become free.
bool correct_stage_await(size_t bytes)
{
    return bytes <= MOST_BYTES / 2 && (correct_deliver_oldest() || wait_for_leaving(bytes));
}

void correct_stage_leave(struct correct_stage *block, struct correct_mark mark)
{
    block->mark = mark;
    atomic_store(&block->use, STAGE_LEAVING);
}

void correct_stage_free(struct correct_stage *block)
{
    atomic_store(&block->use, STAGE_FREE);
}

bool correct_stages_end(void)
{
    if (correct_state.staging.made_by != core_state.generation)
        return true;
    for (unsigned i = 0; i < CORRECT_STAGES; i++)
        if (atomic_load(&correct_state.staging.blocks[i].use) == STAGE_TAKEN)
            return false;
    for (unsigned i = 0; i < CORRECT_STAGES; i++)
        if (atomic_load(&correct_state.staging.blocks[i].use) != STAGE_NONE)
            give_back(&correct_state.staging.blocks[i]);
    correct_state.staging.refused = false;
    return true;
}
