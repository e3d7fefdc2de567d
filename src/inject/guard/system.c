// SPDX-License-Identifier: Apache-2.0
// What libglint-sync.so and libglint-mpi.so announce (hooks/inside.h): memory that is handed to the
// system or to MPI, which fail on closed pages instead of raising a signal; memory that is freed;
// and reasons to close no more pages.
#include "system.h"

#include <errno.h>

#include "closing.h"
#include "guard.h"
#include "memory.h"
#include "ranges.h"
#include "tell.h"

// --- Guards --------------------------------------------------------------------------------------

struct guard_hold *guard_hold_take(uint64_t low, uint64_t high)
{
    // Thread-local variables lie megabytes apart.
    const uint64_t first = (uint64_t)(uintptr_t)&core_thread * UINT64_C(0x9E3779B97F4A7C15) >> 40;
    for (unsigned i = 0; i < GUARD_HOLDS; i++) {
        struct guard_hold *guard = &guard_state.table.guards[(first + i) % GUARD_HOLDS];
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&guard->low, &none, 1)) {
            atomic_store_explicit(&guard->high, high, memory_order_relaxed);
            atomic_store(&guard->low, low);
            return guard;
        }
    }
    atomic_fetch_add(&guard_state.table.unguarded, 1);
    return NULL;
}

void guard_hold_give(struct guard_hold *guard)
{
    if (guard)
        atomic_store_explicit(&guard->low, 0, memory_order_release);
    else
        atomic_fetch_sub(&guard_state.table.unguarded, 1);
}

// --- Memory that is handed over ------------------------------------------------------------------

void guard_open_for_system(uint64_t low, uint64_t high, struct stack_unwind_registers caller)
{
    if (!guard_may_be_closed(low, high))
        return;
    const int error = errno;
    if (!core_is_on()) {
        guard_forked();
    } else if (core_thread.tracking) {
        guard_force_open(low & ~(guard_page_bytes() - 1),
                         (high + guard_page_bytes() - 1) & ~(guard_page_bytes() - 1));
    } else if (guard_state.table.owes) {
        core_layers_touched(low, high);
    } else {
        const uint32_t stack = core_state.stacks && !core_thread.depth
                                   ? stack_from(core_state.stacks, core_state.ring, caller)
                                   : 0;
        guard_lock();
        guard_hand_over(low, high, stack);
        guard_unlock();
    }
    errno = error;
}

// The pages are not closed again, because it is unknown when the system has finished with them.
void guard_open_all(void)
{
    if (!guard_may_be_closed(1, UINT64_MAX))
        return;
    const int error = errno;
    if (!core_is_on()) {
        guard_forked();
    } else if (core_thread.tracking) {
        guard_force_open(0, UINT64_MAX);
    } else if (guard_state.table.owes) {
        core_layers_touched(0, UINT64_MAX);
    } else {
        guard_lock();
        for (EACH_GUARD_RANGE(range)) {
            if (range->state == GUARD_ARMED) {
                guard_tell_unknown(range, EVENT_USE_UNKNOWN);
                guard_end(range);
            }
        }
        guard_unlock();
    }
    errno = error;
}

// --- Giving up -----------------------------------------------------------------------------------

const char *guard_given_up(void)
{
    return atomic_load(&guard_state.given_up);
}

void guard_keep_open(const char *why)
{
    const char *none = NULL;
    atomic_compare_exchange_strong(&guard_state.given_up, &none, why);
}

// A thread that closes pages checks the reason under the lock. If it has not seen the reason, it
// closes its pages before this function opens them.
void guard_give_up(const char *why)
{
    if (!guard_state.protects || guard_given_up())
        return;
    guard_keep_open(why);
    guard_open_all();
    if (!core_is_on() || core_thread.tracking)
        return;
    const int error = errno;
    core_layers_gave_up();
    errno = error;
}

// --- Memory that is freed ------------------------------------------------------------------------

void guard_forget_memory(uint64_t low, uint64_t high, bool reported)
{
    if (!guard_may_be_closed(low, high))
        return;
    const int error = errno;
    if (!core_is_on()) {
        guard_forked();
    } else if (core_thread.tracking) {
        guard_force_open(low, high);
    } else if (guard_state.table.owes && reported) {
        core_layers_touched(low, high);
    } else if (guard_state.table.owes) {
        core_layers_memory_gone(low, high);
    } else {
        guard_lock();
        guard_forget(low, high, reported);
        guard_unlock();
    }
    errno = error;
}

// The whole block is data, and correct/wait/memory.c knows its pages.
static void forget_owed(uint64_t start, bool reported)
{
    if (reported)
        core_layers_touched(start, start + 1);
    else
        core_layers_block_gone(start);
}

// malloc's header may lie in a closed page, but only if the data begins with the block and fills
// it.
void guard_forget_block(void *block, bool reported, size_t (*bytes)(void *block))
{
    const uint64_t low = (uint64_t)(uintptr_t)block;
    if (!block || !guard_may_be_closed(low, UINT64_MAX))
        return;
    const int error = errno;
    bool whole = false;
    if (core_is_on() && !core_thread.tracking) {
        guard_lock();
        for (EACH_GUARD_RANGE(range))
            whole |= range->state == GUARD_ARMED && range->block && range->start == low;
        if (whole && !guard_state.table.owes)
            guard_forget(low, low + 1, reported);
        guard_unlock();
        if (whole && guard_state.table.owes)
            forget_owed(low, reported);
    }
    if (!whole)
        guard_forget_memory(low, low + bytes(block), reported);
    errno = error;
}
