// SPDX-License-Identifier: Apache-2.0
// A lock for what is held a moment and hardly ever by two at once: taking it is one atomic
// exchange and giving it back a plain store, half of what a mutex takes. Who finds it taken tries
// again, and then sleeps a little each time: giving way would not do where the holder has lost its
// processor to a waiter of a higher real-time priority.
#ifndef GLINT_INJECT_UTIL_LOCK_H
#define GLINT_INJECT_UTIL_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

struct util_lock { // free where it is zeroed
    _Atomic bool taken;
};

void util_lock_wait(struct util_lock *lock); // until it was taken

static inline void util_lock_take(struct util_lock *lock)
{
    if (atomic_exchange_explicit(&lock->taken, true, memory_order_acquire))
        util_lock_wait(lock);
}

static inline void util_lock_give(struct util_lock *lock)
{
    atomic_store_explicit(&lock->taken, false, memory_order_release);
}

#endif
