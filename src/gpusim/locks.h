// SPDX-License-Identifier: Apache-2.0
// The order of the simulated GPU's locks. A thread that holds a lock takes only locks of a higher
// rank; builds with assertions check this. Each library (libcuda.so.1, libcudart.so.*) knows only
// its own locks: the runtime may hold its locks when it calls the driver.
#ifndef GLINT_GPUSIM_LOCKS_H
#define GLINT_GPUSIM_LOCKS_H

#include <assert.h>
#include <pthread.h>

enum gpusim_rank {
    GPUSIM_RANK_REGISTRY, // runtime.registry_lock
    GPUSIM_RANK_RUNTIME,  // runtime.lock
    GPUSIM_RANK_CALLS,    // calls_found.lock
    GPUSIM_RANK_PRIMARY,  // driver.primary_lock
    GPUSIM_RANK_LIBRARY,  // driver.library_lock
    GPUSIM_RANK_DRIVER,   // driver.lock
    GPUSIM_RANK_DEVICE,   // sim_device.lock
    GPUSIM_RANK_RUN,      // sim_run.lock
    GPUSIM_RANK_MEMORY,   // sim_memory.lock
    GPUSIM_RANK_LOG,      // log_file.lock
    GPUSIM_RANK_PAGES,    // driver.pages_lock
    GPUSIM_RANK_REPORTED, // driver.reported_lock
};

#ifndef NDEBUG
// The ranks that the calling thread holds, a bit for each. A thread that waits for a condition
// keeps the bit of the lock that the wait releases: it takes no other lock meanwhile. Not
// initial-exec: programs load these libraries late, when static TLS may be used up.
extern _Thread_local unsigned gpusim_held_ranks;
#endif

static inline void gpusim_lock(pthread_mutex_t *lock, enum gpusim_rank rank)
{
#ifndef NDEBUG
    assert(!(gpusim_held_ranks >> rank));
#endif
    pthread_mutex_lock(lock);
#ifndef NDEBUG
    gpusim_held_ranks |= 1u << rank;
#endif
    (void)rank;
}

static inline void gpusim_unlock(pthread_mutex_t *lock, enum gpusim_rank rank)
{
#ifndef NDEBUG
    assert(gpusim_held_ranks >> rank & 1);
    gpusim_held_ranks &= ~(1u << rank);
#endif
    pthread_mutex_unlock(lock);
    (void)rank;
}

#endif
