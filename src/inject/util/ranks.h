// SPDX-License-Identifier: Apache-2.0
// The order in which a thread may take locks: each lock has a rank, and a thread takes only locks
// of higher rank than all that it holds. Builds with assertions check that and abort with the names
// of both locks; release builds compile to the bare locks. Every lock of inject has its rank here.
#ifndef GLINT_INJECT_UTIL_RANKS_H
#define GLINT_INJECT_UTIL_RANKS_H

#include <pthread.h>
#include <stdint.h>

// Outermost first.
#define UTIL_RANKS(RANK)                                                          \
    RANK(GIVING, "memory that is given back")     /* probe/probe.c */             \
    RANK(COPIES, "patched copies of modules")     /* sampled/state.h */           \
    RANK(SAMPLED, "sampled modules")              /* sampled/state.h */           \
    RANK(LANE, "lane of a stream")                /* shadow/lane.c */             \
    RANK(BACKS, "backed objects")                 /* correct/memory/back.c */     \
    RANK(POOLS, "pools of kept blocks")           /* correct/memory/pool.c */     \
    RANK(PARAMETERS, "parameters of kernels")     /* correct/memory/uses.c */     \
    RANK(CORRECT, "what is owed")                 /* correct/wait/marks.c */      \
    RANK(VARIABLES, "variables of modules")       /* core_state.variables_lock */ \
    RANK(TIMING, "GPU times of a context")        /* core/gpu_time.c */           \
    RANK(STATE, "state of core")                  /* core_state.lock */           \
    RANK(PROBE, "state of probes")                /* probe_state->lock */         \
    RANK(SHADOW, "shadow memory of a context")    /* shadow/model.h */            \
    RANK(TAIL, "tail of a stream")                /* core/tail.c */               \
    RANK(ORDER, "order of streams")               /* core/order.c */              \
    RANK(GUARD, "table of closed pages")          /* guard/ranges.c */            \
    RANK(OBJECTS, "map of objects")               /* core/objects.c */            \
    RANK(SIGNALS, "the program's signal handler") /* guard/signals.c */           \
    RANK(FLIGHTS, "memory in flight")             /* guard/flight.c */            \
    RANK(SOURCES, "sources of copies")            /* sources/sources.c */         \
    RANK(COLLECTIVES, "communicators")            /* collectives/collectives.c */ \
    RANK(MEMORY, "allocator")                     /* util/pool.c */

enum util_rank {
    RANK_NONE,
#define RANK(name, text) RANK_##name,
    UTIL_RANKS(RANK)
#undef RANK
        RANK_COUNT,
};

#ifdef NDEBUG
static inline void util_rank_take(enum util_rank rank)
{
    (void)rank;
}
static inline void util_rank_give(enum util_rank rank)
{
    (void)rank;
}
static inline void util_ranks_forget(void) {}
#else
// One bit for each rank that the thread holds. Initial-exec: access must not call the loader, which
// may allocate.
extern __thread uint32_t util_ranks_held __attribute__((tls_model("initial-exec")));
_Static_assert(RANK_COUNT <= 32, "each rank has a bit");

// Aborts with the names of the rank and of the highest that is held.
void util_rank_fail(enum util_rank rank) __attribute__((noreturn, cold));

// Called before a lock is taken, and when it is released, in any order. Any thread may call, also
// in a signal handler.
static inline void util_rank_take(enum util_rank rank)
{
    const uint32_t held = util_ranks_held;
    if (__builtin_expect(held >> rank != 0, 0))
        util_rank_fail(rank);
    util_ranks_held = held | UINT32_C(1) << rank;
}
static inline void util_rank_give(enum util_rank rank)
{
    util_ranks_held &= ~(UINT32_C(1) << rank);
}
// Called in a child of fork, which holds no locks.
static inline void util_ranks_forget(void)
{
    util_ranks_held = 0;
}
#endif

// A mutex with its rank.
static inline void util_mutex_lock(pthread_mutex_t *mutex, enum util_rank rank)
{
    util_rank_take(rank);
    pthread_mutex_lock(mutex);
}
static inline void util_mutex_unlock(pthread_mutex_t *mutex, enum util_rank rank)
{
    pthread_mutex_unlock(mutex);
    util_rank_give(rank);
}
// Returns 0 if it has taken the lock. Never waits, but checks the order all the same.
static inline int util_mutex_trylock(pthread_mutex_t *mutex, enum util_rank rank)
{
    const int result = pthread_mutex_trylock(mutex);
    if (result == 0)
        util_rank_take(rank);
    return result;
}

#endif
