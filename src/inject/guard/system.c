// SPDX-License-Identifier: Apache-2.0
// What the libraries that stand before the C library and before MPI say (inside.h): that memory is
// handed to the system or to MPI, which fail on closed pages instead of raising a signal, that
// memory goes, and that nothing may be closed any more.
#include "system.h"

#include <errno.h>

#include "guard.h"
#include "memory.h"
#include "outer.h"
#include "ranges.h"

const struct outer_libc *_Atomic use_outer_libc;
const struct outer_mpi *_Atomic use_outer_mpi;

// --- Guards --------------------------------------------------------------------------------------

struct use_guard *use_take_guard(uint64_t low, uint64_t high)
{
    enum { TRIES = 16 };
    const uint64_t first = (uint64_t)(uintptr_t)&inject_thread >> 6;
    for (unsigned i = 0; i < TRIES; i++) {
        struct use_guard *guard = &use_table.guards[(first + i) % USE_GUARDS];
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&guard->low, &none, 1)) {
            atomic_store_explicit(&guard->high, high, memory_order_relaxed);
            atomic_store(&guard->low, low);
            return guard;
        }
    }
    atomic_fetch_add(&use_table.unguarded, 1);
    return NULL;
}

void use_give_guard(struct use_guard *guard)
{
    if (guard)
        atomic_store_explicit(&guard->low, 0, memory_order_release);
    else
        atomic_fetch_sub(&use_table.unguarded, 1);
}

// --- Memory that is handed over ------------------------------------------------------------------

void use_open_for_system(uint64_t low, uint64_t high, struct unwind_registers caller)
{
    if (!use_may_be_closed(low, high))
        return;
    const int error = errno;
    if (!state_is_on()) {
        use_forked();
    } else if (inject_thread.tracking) {
        use_force_open(low & ~(use_page_bytes() - 1),
                       (high + use_page_bytes() - 1) & ~(use_page_bytes() - 1));
    } else if (use_table.owes) {
        layers_touched(low, high);
    } else {
        const uint32_t stack =
            state.stacks && !inject_thread.depth ? stack_from(state.stacks, state.ring, caller) : 0;
        use_lock();
        use_hand_over(low, high, stack);
        use_unlock();
    }
    errno = error;
}

// It is not closed again: nobody knows when the system has done with it.
void use_open_all(void)
{
    if (!use_may_be_closed(1, UINT64_MAX))
        return;
    const int error = errno;
    if (!state_is_on()) {
        use_forked();
    } else if (inject_thread.tracking) {
        use_force_open(0, UINT64_MAX);
    } else if (use_table.owes) {
        layers_touched(0, UINT64_MAX);
    } else {
        use_lock();
        for (EACH_USE_RANGE(range)) {
            if (range->state == USE_ARMED) {
                use_tell_unknown(range, EVENT_USE_UNKNOWN);
                use_end(range);
            }
        }
        use_unlock();
    }
    errno = error;
}

// --- Giving up -----------------------------------------------------------------------------------

static const char *_Atomic given_up; // the reason; NULL: it is not

const char *use_given_up(void)
{
    return atomic_load(&given_up);
}

void use_keep_open(const char *why)
{
    const char *none = NULL;
    atomic_compare_exchange_strong(&given_up, &none, why);
}

// Who closes looks at the reason under the lock; so what it does not see is closed before this
// opens.
void use_give_up(const char *why)
{
    if (use_given_up())
        return;
    use_keep_open(why);
    use_open_all();
    if (!state_is_on() || inject_thread.tracking)
        return;
    const int error = errno;
    layers_gave_up();
    errno = error;
}

// --- Memory that goes ----------------------------------------------------------------------------

void use_forget_memory(uint64_t low, uint64_t high, bool told)
{
    if (!use_may_be_closed(low, high))
        return;
    const int error = errno;
    if (!state_is_on()) {
        use_forked();
    } else if (inject_thread.tracking) {
        use_force_open(low, high);
    } else if (use_table.owes && told) {
        layers_touched(low, high);
    } else if (use_table.owes) {
        layers_memory_gone(low, high);
    } else {
        use_lock();
        use_forget(low, high, told);
        use_unlock();
    }
    errno = error;
}

// The pages of a block that is all data: correct/wait/memory.c knows how far they go.
static void forget_owed(uint64_t start, bool told)
{
    if (told)
        layers_touched(start, start + 1);
    else
        layers_block_gone(start);
}

// A block's head may be in a closed page, but then the data is all of the block, and begins it.
void use_forget_block(void *block, bool told, size_t (*bytes)(void *block))
{
    const uint64_t low = (uint64_t)(uintptr_t)block;
    if (!block || !use_may_be_closed(low, UINT64_MAX))
        return;
    const int error = errno;
    bool whole = false;
    if (state_is_on() && !inject_thread.tracking) {
        use_lock();
        for (EACH_USE_RANGE(range))
            whole |= range->state == USE_ARMED && range->block && range->start == low;
        if (whole && !use_table.owes)
            use_forget(low, low + 1, told);
        use_unlock();
        if (whole && use_table.owes)
            forget_owed(low, told);
    }
    if (!whole)
        use_forget_memory(low, low + bytes(block), told);
    errno = error;
}
