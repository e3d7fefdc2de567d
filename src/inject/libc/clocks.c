// SPDX-License-Identifier: Apache-2.0
// Functions of the C library that read a clock (uses/clock_reads.h). A processor's counter that a
// program reads by its own instructions is not seen.
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

#include "inject/util/next.h"
#include "libc.h"

struct timeb; // of sys/timeb.h, which is deprecated

bool libc_reads_clock(long number)
{
    switch (number) {
#ifdef SYS_time // not on aarch64
    case SYS_time:
#endif
    case SYS_clock_gettime:
    case SYS_gettimeofday:
    case SYS_times:
    case SYS_getrusage:
    case SYS_getitimer:
    case SYS_timer_gettime:
    case SYS_timerfd_gettime: return true;
    default: return false;
    }
}

// Some are resolved by the loader (STT_GNU_IFUNC), which alone can call their resolver.
static void *find(const char *name)
{
    void *found = util_next(name);
    return found ? found : dlsym(RTLD_NEXT, name);
}

#define READS(type, name, params, args)                                  \
    type clock_##name params __asm__(#name);                             \
    type clock_##name params                                             \
    {                                                                    \
        static void *_Atomic known;                                      \
        void *next = atomic_load_explicit(&known, memory_order_relaxed); \
        if (__builtin_expect(!next, 0)) {                                \
            next = find(#name);                                          \
            atomic_store_explicit(&known, next, memory_order_relaxed);   \
        }                                                                \
        const struct hooks_inside *inside = libc_inside();               \
        if (inside)                                                      \
            inside->clock_read(__builtin_return_address(0));             \
        return ((type(*) params)next)args;                               \
    }

#pragma GCC visibility push(default)
READS(int, clock_gettime, (clockid_t which, struct timespec *now), (which, now))
READS(int, gettimeofday, (struct timeval * now, void *zone), (now, zone))
READS(int, timespec_get, (struct timespec * now, int base), (now, base))
READS(time_t, time, (time_t * now), (now))
READS(clock_t, clock, (void), ())
READS(clock_t, times, (struct tms * spent), (spent))
READS(int, getrusage, (int whose, struct rusage *usage), (whose, usage))
READS(int, ftime, (struct timeb * now), (now)) // new programs cannot be linked with it any more
// The remaining time of a timer also reveals the time.
READS(int, getitimer, (int which, struct itimerval *left), (which, left))
READS(int, timer_gettime, (timer_t timer, struct itimerspec *left), (timer, left))
READS(int, timerfd_gettime, (int file, struct itimerspec *left), (file, left))
#pragma GCC visibility pop
