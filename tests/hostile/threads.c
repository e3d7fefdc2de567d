// SPDX-License-Identifier: Apache-2.0
// Threads that use results together, and what threads do to themselves.
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hostile.h"

enum { THREADS = 4 };

// --- Results themselves --------------------------------------------------------------------------

static _Atomic bool stop;

static void *read_on(void *user)
{
    const volatile unsigned *words = user;
    unsigned sum = 0;
    while (!atomic_load(&stop))
        sum += words[sum % PAGE_WORDS];
    return (void *)(uintptr_t)(sum & 1);
}

// Threads read results all the time, while they arrive.
void threads_readers(void)
{
    for (enum place place = 0; place < STACK; place++) {
        const struct result result = place_result(place);
        pthread_t threads[THREADS];
        unsigned good = 0;
        atomic_store(&stop, false);
        for (unsigned i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, read_on, result.words);
        for (unsigned round = 0; round < 8; round++) {
            bring(&result, round);
            good += count_good(result.words, result.count, round) == result.count;
        }
        atomic_store(&stop, true);
        for (unsigned i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        printf("%s: %u\n", name_of(place), good);
    }
}

// Words of results are locks: they become 0 by a copy, and are then taken and released.
void threads_futex_results(void)
{
    for (enum place place = 0; place < STACK; place++) {
        const struct result result = place_result(place);
        const unsigned key = word_of(5, 0); // word 5 becomes 0
        bring(&result, key);
        say("wake", syscall(SYS_futex, result.words + 5, FUTEX_WAKE, 1, NULL, NULL, 0));
        say("wait", syscall(SYS_futex, result.words + 5, FUTEX_WAIT, 7, NULL, NULL, 0));
        bring(&result, key);
        say("wait", syscall(SYS_futex, result.words + 5, FUTEX_WAIT, 7, NULL, NULL, 0));
        unsigned expected = 0;
        printf("%s: %d\n", name_of(place),
               atomic_compare_exchange_strong((_Atomic unsigned *)result.words + 5, &expected, 1));
    }
}

struct half {
    const struct result *result;
    unsigned key, good;
    CUcontext context;
};

static void *use_half(void *user)
{
    struct half *half = user;
    half->good = count_good(half->result->words, half->result->count, half->key);
    return NULL;
}

// Another thread is the first to use the results.
void threads_other(const struct result *result, unsigned key)
{
    pthread_t thread;
    struct half half = {.result = result, .key = key};
    pthread_create(&thread, NULL, use_half, &half);
    pthread_join(thread, NULL);
    printf("%s: %u\n", name_of(result->place), half.good);
}

// --- Threads of all kinds ------------------------------------------------------------------------

static void *bring_own(void *user)
{
    struct half *half = user;
    CHECK(cuCtxSetCurrent(half->context));
    CUstream stream;
    CUdeviceptr words;
    unsigned found[FEW_WORDS];
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc_v2(&words, sizeof(found)));
    for (unsigned round = 0; round < 4; round++) {
        fill(words, FEW_WORDS, round, 20000, stream);
        CHECK(cuMemcpyDtoHAsync_v2(found, words, sizeof(found), stream));
        CHECK(cuStreamSynchronize(stream));
        half->good += count_good(found, FEW_WORDS, round);
    }
    CHECK(cuMemFree_v2(words));
    CHECK(cuStreamDestroy_v2(stream));
    return NULL;
}

static unsigned run_own(unsigned threads, const pthread_attr_t *attribute)
{
    pthread_t thread[64];
    struct half half[64] = {{0}};
    CUcontext context;
    unsigned good = 0;
    CHECK(cuCtxGetCurrent(&context));
    for (unsigned i = 0; i < threads; i++) {
        half[i].context = context;
        if (pthread_create(&thread[i], attribute, bring_own, &half[i]) != 0)
            exit(1);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
        good += half[i].good;
    }
    return good;
}

void threads_many(void)
{
    printf("%u\n", run_own(32, NULL));
}

// Stacks of 32 KiB: with what glint needs, they must not overflow.
void threads_small_stacks(void)
{
    pthread_attr_t attribute;
    pthread_attr_init(&attribute);
    say("stack", pthread_attr_setstacksize(&attribute, 32 << 10));
    printf("%u\n", run_own(8, &attribute));
}

static void *wait_in_read(void *user)
{
    char byte;
    (void)!read(*(const int *)user, &byte, 1);
    return NULL;
}

// More threads are blocked in read() than glint keeps places for.
void threads_blocked_in_read(void)
{
    enum { BLOCKED = 40 };
    pthread_t threads[BLOCKED];
    int ends[2];
    const struct result result = place_result(BLOCK);
    if (pipe(ends) != 0)
        exit(1);
    for (unsigned i = 0; i < BLOCKED; i++)
        pthread_create(&threads[i], NULL, wait_in_read, &ends[0]);
    for (unsigned round = 0; round < 8; round++) {
        bring(&result, round);
        say_good("block", result.words, result.count, round);
    }
    close(ends[1]);
    for (unsigned i = 0; i < BLOCKED; i++)
        pthread_join(threads[i], NULL);
}

static pthread_key_t key_of_thread;
static __thread unsigned local[2000];

static void copy_at_end(void *user)
{
    CHECK(cuMemcpyDtoH_v2(user, device_words, sizeof(local)));
    printf("destructor: %u\n", count_good(user, 2000, 7));
}

static void *leave_to_destructor(void *user)
{
    CHECK(cuCtxSetCurrent(user));
    pthread_setspecific(key_of_thread, local);
    fill(device_words, 2000, 7, 100000, NULL);
    return NULL;
}

// Destructors of threads call CUDA, with results in thread-local variables.
void threads_destructors(void)
{
    CUcontext context;
    CHECK(cuCtxGetCurrent(&context));
    pthread_key_create(&key_of_thread, copy_at_end);
    for (unsigned i = 0; i < 8; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, leave_to_destructor, context);
        pthread_join(thread, NULL);
    }
}

// Names, priorities, CPUs: glint must not change what the program set, nor rely on it.
void threads_attributes(void)
{
    char name[16];
    cpu_set_t set, before;
    struct sched_param param = {0};
    const struct result result = place_result(BLOCK);
    pthread_setname_np(pthread_self(), "hostile");
    sched_getaffinity(0, sizeof(before), &before);
    CPU_ZERO(&set);
    for (unsigned i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &before)) {
            CPU_SET(i, &set);
            break;
        }
    }
    say("affinity", sched_setaffinity(0, sizeof(set), &set));
    errno = 0;
    say("nice", nice(3));
    say("batch", sched_setscheduler(0, SCHED_BATCH, &param));
    bring(&result, 5);
    say_good("block", result.words, result.count, 5);
    pthread_getname_np(pthread_self(), name, sizeof(name));
    sched_getaffinity(0, sizeof(before), &before);
    errno = 0;
    printf("%s, %d CPU, nice %d, policy %d\n", name, CPU_COUNT(&before), nice(0),
           sched_getscheduler(0));
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CUcontext shared_context;

static void bring_once(void)
{
    fill(device_words, FEW_WORDS, 3, 1000000, NULL);
    CHECK(cuCtxSynchronize());
}

static void *ask_once(void *user)
{
    CHECK(cuCtxSetCurrent(shared_context));
    pthread_once(&once, bring_once);
    CHECK(cuMemcpyDtoH_v2(user, device_words, FEW_WORDS * sizeof(unsigned)));
    return NULL;
}

void threads_once(void)
{
    pthread_t threads[THREADS];
    static unsigned found[THREADS][FEW_WORDS];
    CHECK(cuCtxGetCurrent(&shared_context));
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, ask_once, found[i]);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        say_good("thread", found[i], FEW_WORDS, 3);
    }
}
