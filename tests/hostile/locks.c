// SPDX-License-Identifier: Apache-2.0
// Locks and atomic counters in the page of results, which threads use all the time.
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hostile.h"

enum { THREADS = 4, ROUNDS = 40 };

struct shared {
    union {
        pthread_mutex_t mutex;
        pthread_spinlock_t spin;
        pthread_rwlock_t rwlock;
        sem_t semaphore;
        struct {
            pthread_mutex_t lock;
            pthread_cond_t changed;
        };
    };
    unsigned counted, turn; // counted: guarded by the lock
    _Atomic unsigned added, stop;
    struct result results;
};

// Has threads run `body` while results arrive in the same page, in pinned memory and in a block.
static void beside(void (*prepare)(struct shared *), void *(*body)(void *))
{
    static const enum place places[] = {PINNED, BLOCK, MAPPED, MANAGED};
    for (unsigned i = 0; i < 4; i++) {
        struct result whole = place_result(places[i]);
        struct shared *shared = (struct shared *)(void *)whole.words;
        pthread_t threads[THREADS];
        unsigned good = 0;
        memset(shared, 0, sizeof(*shared));
        shared->results = whole;
        shared->results.words += 256;
        shared->results.count = 512;
        prepare(shared);
        for (unsigned j = 0; j < THREADS; j++)
            pthread_create(&threads[j], NULL, body, shared);
        for (unsigned round = 1; round <= ROUNDS; round++) {
            bring(&shared->results, round);
            good += round % 4 == 0 && shared->results.words[300] == word_of(300, round);
        }
        atomic_store(&shared->stop, 1);
        for (unsigned j = 0; j < THREADS; j++)
            pthread_join(threads[j], NULL);
        printf("%s: %u good, %s\n", name_of(places[i]), good,
               shared->counted == shared->added ? "all counted" : "some lost");
    }
}

static void count(struct shared *shared)
{
    shared->counted++;
    atomic_fetch_add(&shared->added, 1);
}

static void *with_mutex(void *user)
{
    struct shared *shared = user;
    while (!atomic_load(&shared->stop)) {
        pthread_mutex_lock(&shared->mutex);
        count(shared);
        pthread_mutex_unlock(&shared->mutex);
    }
    return NULL;
}

static void prepare_mutex(struct shared *shared)
{
    pthread_mutex_init(&shared->mutex, NULL);
}

void locks_mutex(void)
{
    beside(prepare_mutex, with_mutex);
}

// Returns whether the system has such a lock in this memory. Where it does not (memory of a real
// driver), the C library ends the program.
static bool has_futex(struct shared *shared, int operation)
{
    const bool works = syscall(SYS_futex, &shared->turn, operation, 0, NULL, NULL, 0) >= 0;
    shared->turn = 0;
    return works;
}

static void prepare_special(struct shared *shared, int robust, int protocol)
{
    pthread_mutexattr_t attribute;
    pthread_mutexattr_init(&attribute);
    if (has_futex(shared, FUTEX_WAKE)) {
        pthread_mutexattr_setrobust(&attribute, robust);
        pthread_mutexattr_setpshared(&attribute, PTHREAD_PROCESS_SHARED);
        if (has_futex(shared, FUTEX_LOCK_PI))
            pthread_mutexattr_setprotocol(&attribute, protocol);
    }
    pthread_mutex_init(&shared->mutex, &attribute);
}

static void prepare_robust(struct shared *shared)
{
    prepare_special(shared, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
}

void locks_robust_mutex(void)
{
    beside(prepare_robust, with_mutex);
}

static void prepare_inheriting(struct shared *shared)
{
    prepare_special(shared, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
}

void locks_inheriting_mutex(void)
{
    beside(prepare_inheriting, with_mutex);
}

static void *with_rwlock(void *user)
{
    struct shared *shared = user;
    while (!atomic_load(&shared->stop)) {
        pthread_rwlock_wrlock(&shared->rwlock);
        count(shared);
        pthread_rwlock_unlock(&shared->rwlock);
        pthread_rwlock_rdlock(&shared->rwlock);
        pthread_rwlock_unlock(&shared->rwlock);
    }
    return NULL;
}

static void prepare_rwlock(struct shared *shared)
{
    pthread_rwlock_init(&shared->rwlock, NULL);
}

void locks_rwlock(void)
{
    beside(prepare_rwlock, with_rwlock);
}

static void *with_semaphore(void *user)
{
    struct shared *shared = user;
    while (!atomic_load(&shared->stop)) {
        sem_wait(&shared->semaphore);
        count(shared);
        sem_post(&shared->semaphore);
    }
    return NULL;
}

static void prepare_semaphore(struct shared *shared)
{
    sem_init(&shared->semaphore, 0, 1);
}

void locks_semaphore(void)
{
    beside(prepare_semaphore, with_semaphore);
}

// Each thread waits for its turn, or for the end.
static void *with_condition(void *user)
{
    struct shared *shared = user;
    pthread_mutex_lock(&shared->lock);
    const unsigned own = shared->turn++;
    shared->turn = own + 1 == THREADS ? 0 : shared->turn;
    while (!atomic_load(&shared->stop)) {
        count(shared);
        pthread_cond_broadcast(&shared->changed);
        struct timespec soon;
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_sec += soon.tv_nsec > 998000000;
        soon.tv_nsec = (soon.tv_nsec + 1000000) % 1000000000;
        pthread_cond_timedwait(&shared->changed, &shared->lock, &soon);
    }
    pthread_cond_broadcast(&shared->changed);
    pthread_mutex_unlock(&shared->lock);
    return NULL;
}

static void prepare_condition(struct shared *shared)
{
    pthread_mutex_init(&shared->lock, NULL);
    pthread_cond_init(&shared->changed, NULL);
}

void locks_condition(void)
{
    beside(prepare_condition, with_condition);
}

// The futex system call, on a word beside results.
static void *with_futex(void *user)
{
    struct shared *shared = user;
    const struct timespec soon = {.tv_nsec = 100000};
    while (!atomic_load(&shared->stop)) {
        syscall(SYS_futex, &shared->turn, FUTEX_WAIT, 0, &soon, NULL, 0);
        syscall(SYS_futex, &shared->turn, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
    return NULL;
}

static void prepare_nothing(struct shared *shared)
{
    (void)shared;
}

void locks_futex(void)
{
    beside(prepare_nothing, with_futex);
}

static void *with_atomics(void *user)
{
    struct shared *shared = user;
    while (!atomic_load(&shared->stop))
        atomic_fetch_add(&shared->added, 2);
    atomic_fetch_and(&shared->added, 0);
    return NULL;
}

void locks_atomics(void)
{
    beside(prepare_nothing, with_atomics);
}

static void *count_round(void *user)
{
    pthread_barrier_wait(user);
    return NULL;
}

void locks_barrier(void)
{
    const struct result whole = place_result(PINNED);
    pthread_barrier_t *barrier = (pthread_barrier_t *)(void *)whole.words;
    struct result part = {PINNED, whole.words + 256, 512};
    for (unsigned round = 0; round < 20; round++) {
        pthread_t threads[THREADS];
        pthread_barrier_init(barrier, NULL, THREADS + 1);
        for (unsigned i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, count_round, barrier);
        bring(&part, round);
        pthread_barrier_wait(barrier);
        for (unsigned i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        pthread_barrier_destroy(barrier);
    }
    say_good("pinned", part.words, part.count, 19);
}
