// SPDX-License-Identifier: Apache-2.0
// Times that the program measures, and timers that it sets. Kernels take at least 4 ms here; a
// measurement around a wait must see them.
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "hostile.h"

enum { KERNEL_NS = 4000000, ROUNDS = 6 };

static double clock_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double by_monotonic(void)
{
    return clock_of(CLOCK_MONOTONIC);
}

static double by_raw(void)
{
    return clock_of(CLOCK_MONOTONIC_RAW);
}

static double by_day(void)
{
    struct timeval now;
    gettimeofday(&now, NULL);
    return (double)now.tv_sec * 1e3 + (double)now.tv_usec / 1e3;
}

static double by_standard(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

// How many of the measured times include the kernel.
static void measure(double (*now_ms)(void), unsigned way)
{
    unsigned seen = 0;
    const struct result result = place_result(BLOCK);
    CUevent event;
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (unsigned i = 0; i < ROUNDS; i++) {
        const double begun_ms = now_ms();
        fill(device_words, WORDS, i, KERNEL_NS, NULL);
        if (way == 0)
            CHECK(cuCtxSynchronize());
        else if (way == 1)
            CHECK(cuStreamSynchronize(NULL));
        else if (way == 2)
            CHECK(cuMemcpyDtoH_v2(result.words, device_words, result.count * 4));
        else {
            CHECK(cuEventRecord(event, NULL));
            CHECK(cuEventSynchronize(event));
        }
        seen += now_ms() - begun_ms >= KERNEL_NS / 1e6;
    }
    printf("%u of %u\n", seen, (unsigned)ROUNDS);
}

void times_monotonic(void)
{
    measure(by_monotonic, 0);
    measure(by_raw, 1);
}

void times_of_day(void)
{
    measure(by_day, 0);
    measure(by_standard, 1);
}

void times_of_copy(void)
{
    measure(by_monotonic, 2);
    measure(by_day, 2);
}

void times_of_event(void)
{
    measure(by_monotonic, 3);
}

// The time is read after something that is no GPU work.
void times_read_late(void)
{
    unsigned seen = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        const double begun_ms = by_monotonic();
        fill(device_words, WORDS, i, KERNEL_NS, NULL);
        CHECK(cuCtxSynchronize());
        char text[100];
        snprintf(text, sizeof(text), "round %u", i);
        void *volatile block = malloc(100);
        free(block);
        seen += by_monotonic() - begun_ms >= KERNEL_NS / 1e6;
    }
    printf("%u\n", seen);
}

// GPU time by events.
void times_of_gpu(void)
{
    CUevent first, last;
    unsigned seen = 0;
    CHECK(cuEventCreate(&first, 0));
    CHECK(cuEventCreate(&last, 0));
    for (unsigned i = 0; i < ROUNDS; i++) {
        float ms = -1;
        CHECK(cuEventRecord(first, NULL));
        fill(device_words, WORDS, i, KERNEL_NS, NULL);
        CHECK(cuEventRecord(last, NULL));
        if (i == 0)
            printf("early %d\n", (int)cuEventElapsedTime(&ms, first, last));
        CHECK(cuEventSynchronize(last));
        CHECK(cuEventElapsedTime(&ms, first, last));
        seen += ms >= KERNEL_NS / 1e6F;
    }
    printf("%u\n", seen);
}

// A program that asks until a deadline.
void times_deadline(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        fill(device_words, WORDS, i, KERNEL_NS, NULL);
        const double begun_ms = by_monotonic();
        while (cuStreamQuery(NULL) == CUDA_ERROR_NOT_READY && by_monotonic() - begun_ms < 20000)
            sched_yield();
        puts(by_monotonic() - begun_ms < 20000 ? "in time" : "too late");
    }
}

// --- Timers --------------------------------------------------------------------------------------

static _Atomic unsigned rang;

static void ring(int number)
{
    (void)number;
    atomic_fetch_add(&rang, 1);
}

void times_alarm(void)
{
    signal(SIGALRM, ring);
    const struct result result = place_result(BLOCK);
    ualarm(3000, 0);
    bring(&result, 2);
    say_good("block", result.words, 10, 2);
    while (!atomic_load(&rang))
        usleep(500);
    printf("rang %u, left %u\n", atomic_load(&rang), alarm(0));
}

void times_timer_descriptor(void)
{
    const struct itimerspec each = {{0, 2000000}, {0, 2000000}};
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    const struct result result = place_result(PINNED);
    uint64_t expired = 0;
    timerfd_settime(timer, 0, &each, NULL);
    for (unsigned i = 0; i < 5; i++) {
        bring(&result, i);
        say_good("pinned", result.words, result.count, i);
        struct pollfd file = {.fd = timer, .events = POLLIN};
        say("poll", poll(&file, 1, 5000));
        say("read", read(timer, &expired, sizeof(expired)));
    }
    printf("%d\n", expired >= 1);
}

void times_sleep(void)
{
    const struct result result = place_result(BLOCK);
    for (unsigned i = 0; i < 4; i++) {
        const double begun_ms = by_monotonic();
        bring(&result, i);
        const struct timespec pause = {0, 3000000};
        say("sleep", clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL));
        say_good("block", result.words, result.count, i);
        printf("%d\n", by_monotonic() - begun_ms >= 3);
    }
}

// Time of the processor, and of the wall, only grow.
void times_grow(void)
{
    static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
                                       CLOCK_THREAD_CPUTIME_ID, CLOCK_BOOTTIME};
    double last_ms[5] = {0};
    unsigned back = 0;
    const struct result result = place_result(BLOCK);
    for (unsigned i = 0; i < 20; i++) {
        bring(&result, i);
        for (unsigned j = 0; j < 5; j++) {
            const double now_ms = clock_of(clocks[j]);
            back += now_ms < last_ms[j];
            last_ms[j] = now_ms;
        }
    }
    printf("%u back\n", back);
}
