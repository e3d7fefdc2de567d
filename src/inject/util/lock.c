// SPDX-License-Identifier: Apache-2.0
// Waits for a lock that another thread holds.
#include "lock.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 200, SLEEP_NS = 20000 };

void util_lock_wait(struct util_lock *lock)
{
    const int error = errno;
    for (int tries = 0;; tries++) {
        // Reading before the exchange leaves the cache line with the holder.
        if (!atomic_load_explicit(&lock->taken, memory_order_relaxed) &&
            !atomic_exchange_explicit(&lock->taken, true, memory_order_acquire))
            break;
        const struct timespec time = {0, SLEEP_NS};
        if (tries >= TRIES) // not the C library's function, at which a thread may be cancelled
            syscall(SYS_nanosleep, &time, NULL);
    }
    errno = error;
}
