// SPDX-License-Identifier: Apache-2.0
// The lock admits one thread at a time, also if the holder keeps it longer than others spin. It
// keeps errno.
#include "inject/util/lock.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

enum { THREADS = 4, ROUNDS = 20000 };

struct counted {
    struct util_lock lock;
    uint64_t count; // under the lock
    _Atomic bool waiting;
};

static void *count(void *argument)
{
    struct counted *counted = argument;
    for (int i = 0; i < ROUNDS; i++) {
        util_lock_take(&counted->lock, RANK_OBJECTS);
        counted->count++;
        util_lock_give(&counted->lock, RANK_OBJECTS);
    }
    return NULL;
}

static void one_holds_it_at_a_time(void **unused)
{
    (void)unused;
    struct counted counted = {0};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count, &counted), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(counted.count, THREADS * ROUNDS);
}

static void *wait_for_it(void *argument)
{
    struct counted *counted = argument;
    errno = EDOM;
    atomic_store(&counted->waiting, true);
    util_lock_take(&counted->lock, RANK_OBJECTS);
    const uint64_t seen = counted->count;
    util_lock_give(&counted->lock, RANK_OBJECTS);
    return (void *)(uintptr_t)(errno == EDOM ? seen : 0); // NOLINT(performance-no-int-to-ptr)
}

static void a_long_hold_is_waited_for(void **unused)
{
    (void)unused;
    struct counted counted = {0};
    pthread_t thread;
    void *seen = NULL;
    util_lock_take(&counted.lock, RANK_OBJECTS);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_it, &counted), 0);
    while (!atomic_load(&counted.waiting))
        ;
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    counted.count = 42;
    util_lock_give(&counted.lock, RANK_OBJECTS);
    pthread_join(thread, &seen);
    assert_int_equal((uintptr_t)seen, 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_holds_it_at_a_time),
        cmocka_unit_test(a_long_hold_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
