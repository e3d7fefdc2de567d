// SPDX-License-Identifier: Apache-2.0
// A lock for data that is held only briefly and rarely wanted by two threads at once. Taking it is
// one atomic exchange and releasing it a plain store, half the cost of a mutex. A thread that finds
// it taken tries again, and then sleeps a little each time. Yielding would not suffice if the
// holder has lost its processor to a waiter of a higher real-time priority.
#ifndef GLINT_INJECT_UTIL_LOCK_H
#define GLINT_INJECT_UTIL_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "ranks.h"

struct util_lock { // free when zeroed
    _Atomic bool taken;
};

void util_lock_wait(struct util_lock *lock); // returns when it has taken the lock

static inline void util_lock_take(struct util_lock *lock, enum util_rank rank)
{
    util_rank_take(rank);
    if (atomic_exchange_explicit(&lock->taken, true, memory_order_acquire))
        util_lock_wait(lock);
}

static inline void util_lock_give(struct util_lock *lock, enum util_rank rank)
{
    atomic_store_explicit(&lock->taken, false, memory_order_release);
    util_rank_give(rank);
}

#endif
