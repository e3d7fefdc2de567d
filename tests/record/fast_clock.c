// SPDX-License-Identifier: Apache-2.0
// Preloaded: a clock on which seconds pass between any two looks at it, for what glint shows only
// where something takes long.
#include <dlfcn.h>
#include <stdatomic.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static _Atomic int looks;
    int (*next)(clockid_t, struct timespec *) =
        (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const int result = next(clock, time);
    if (result == 0 && clock == CLOCK_MONOTONIC)
        time->tv_sec += 3 * atomic_fetch_add(&looks, 1);
    return result;
}
