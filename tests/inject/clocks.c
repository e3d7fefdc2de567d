// SPDX-License-Identifier: Apache-2.0
// Measures time: clocks FUNCTION launches a kernel, waits for it, and reads the clock by the
// function, a few times. Near misses: "before" reads it before the wait, "later" after it has
// submitted other work, and "none" never.
#include <string.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

#include "program.h"

enum { ROUNDS = 3 };

static void read_clock(const char *way)
{
    struct timespec now;
    struct timeval day;
    struct tms spent;
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
    else
        clock_gettime(CLOCK_MONOTONIC, &now);
}

int main(int count, char **arguments)
{
    const char *way = count > 1 ? arguments[1] : "none";
    CUdeviceptr memory;
    start_thread();
    CHECK(cuMemAlloc_v2(&memory, 4096));
    for (volatile int i = 0; i < ROUNDS; i++) {
        CHECK(cuMemsetD8Async(memory, (unsigned char)i, 4096, NULL));
        if (strcmp(way, "before") == 0)
            read_clock(way);
        CHECK(cuCtxSynchronize());
        if (strcmp(way, "later") == 0)
            CHECK(cuMemsetD8Async(memory, 1, 4096, NULL));
        if (strcmp(way, "before") != 0 && strcmp(way, "none") != 0)
            read_clock(way);
    }
    CHECK(cuCtxSynchronize());
    printf("%d rounds\n", ROUNDS);
    return 0;
}
