// SPDX-License-Identifier: Apache-2.0
// Measures time: clocks FUNCTION launches a kernel, waits for it, and reads the clock by the
// function, a few times. "thread" lets a thread wait that then ends. Near misses: "before" reads it
// before the wait, "later" after it has submitted other work, and "none" never; "thread_later" and
// "thread_none" do the same with a thread.
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

enum { ROUNDS = 3 };

// Old programs are linked with it; new ones can only look it up.
static void old_ftime(void)
{
    struct {
        int64_t time;
        int16_t more[4];
    } now;
    int (*const read)(void *) = (int (*)(void *))dlsym(RTLD_DEFAULT, "ftime");
    if (read)
        read(&now);
    else // the C library does not have it, so neither has glint
        clock();
}

static void read_clock(const char *way)
{
    struct timespec now;
    struct timeval day;
    struct tms spent;
    struct rusage usage;
    struct itimerval left;
    if (strcmp(way, "gettimeofday") == 0)
        gettimeofday(&day, NULL);
    else if (strcmp(way, "timespec_get") == 0)
        (void)timespec_get(&now, TIME_UTC);
    else if (strcmp(way, "time") == 0)
        time(NULL);
    else if (strcmp(way, "clock") == 0)
        clock();
    else if (strcmp(way, "times") == 0)
        times(&spent);
    else if (strcmp(way, "getrusage") == 0)
        getrusage(RUSAGE_SELF, &usage);
    else if (strcmp(way, "getitimer") == 0)
        getitimer(ITIMER_REAL, &left);
    else if (strcmp(way, "ftime") == 0)
        old_ftime();
    else if (strcmp(way, "syscall") == 0)
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    else
        clock_gettime(CLOCK_MONOTONIC, &now);
}

static CUcontext context;

static void *wait_here(void *unused)
{
    (void)unused;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuCtxSynchronize());
    return NULL;
}

static void wait_in(const char *way)
{
    pthread_t thread;
    if (strncmp(way, "thread", 6) != 0)
        CHECK(cuCtxSynchronize());
    else if (pthread_create(&thread, NULL, wait_here, NULL) || pthread_join(thread, NULL))
        exit(1);
}

static bool ends_with(const char *way, const char *word)
{
    return strstr(way, word) && strcmp(strstr(way, word), word) == 0;
}

int main(int count, char **arguments)
{
    const char *way = count > 1 ? arguments[1] : "none";
    CUdeviceptr memory;
    context = start_thread();
    CHECK(cuMemAlloc_v2(&memory, 4096));
    for (volatile int i = 0; i < ROUNDS; i++) {
        CHECK(cuMemsetD8Async(memory, (unsigned char)i, 4096, NULL));
        if (strcmp(way, "before") == 0)
            read_clock(way);
        wait_in(way);
        if (ends_with(way, "later"))
            CHECK(cuMemsetD8Async(memory, 1, 4096, NULL));
        if (strcmp(way, "before") != 0 && !ends_with(way, "none"))
            read_clock(way);
    }
    CHECK(cuCtxSynchronize());
    printf("%d rounds\n", ROUNDS);
    return 0;
}
