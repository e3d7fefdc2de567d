// SPDX-License-Identifier: Apache-2.0
// Each thread keeps one moment by both clocks, and extrapolates from there with the processor's
// counter for a tenth of a millisecond. The system may correct its clock by 500 parts per million,
// which is 50 nanoseconds in that time. The rate of the counter is measured over the time since the
// start, and measured again as that grows. Before the first measurement the system's clock is read.
// It is always read if the system does not derive its clock from that counter, for which there may
// be a reason.
#include "clock.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    KEEP_NS = 100000,
    LEAST_NS = 5000000, // time since the start before the rate is measured
    TRIES = 10,         // attempts to read both clocks at one moment, at the start
};

struct moment {
    const struct util_clock_rate *rate;
    uint64_t count, ns;
    uint64_t ns_a_count;
    uint64_t keep_counts; // how long the moment may be used
    uint64_t last_ns;     // the last result
};

// Initial-exec: access must not call the loader, which may allocate.
static __thread struct moment moment __attribute__((tls_model("initial-exec")));

static uint64_t system_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#if defined(__x86_64__)
#define COUNTER "tsc"
static inline uint64_t counter(void)
{
    return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
#define COUNTER "arch_sys_counter"
static inline uint64_t counter(void)
{
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
}
#else
#define COUNTER "none"
static inline uint64_t counter(void)
{
    return 0;
}
#endif

struct both {
    uint64_t count, ns;
    uint64_t spread; // counts between the two reads: more if the thread was preempted
};

static struct both both_now(void)
{
    const uint64_t before = counter();
    const uint64_t ns = system_ns();
    const uint64_t spread = counter() - before;
    return (struct both){before + spread / 2, ns, spread};
}

void util_clock_init(struct util_clock_rate *rate, const char *source)
{
    struct both best = both_now();
    for (int i = 1; i < TRIES; i++) {
        const struct both now = both_now();
        if (now.spread < best.spread)
            best = now;
    }
    rate->usable = strcmp(source, COUNTER) == 0;
    rate->first_count = best.count;
    rate->first_ns = best.ns;
    rate->most_spread = 2 * best.spread;
}

// Makes system calls directly, because a thread may be cancelled in functions of the C library.
void util_clock_prepare(struct util_clock_rate *rate)
{
    char source[32] = "";
    long file = syscall(SYS_openat, AT_FDCWD,
                        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                        O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        long got = syscall(SYS_read, file, source, sizeof(source) - 1);
        source[got > 0 ? got : 0] = '\0';
        source[strcspn(source, "\n")] = '\0';
        syscall(SYS_close, file);
    }
    util_clock_init(rate, source);
}

// A longer time yields a more accurate rate, so the rate is measured again when the time has
// doubled.
static uint64_t rate_now(struct util_clock_rate *rate, uint64_t count, uint64_t ns)
{
    const uint64_t counts = count - rate->first_count, since = ns - rate->first_ns;
    uint64_t known = atomic_load_explicit(&rate->known_over, memory_order_relaxed);
    if (since >= LEAST_NS && counts / 2 >= known) {
        __extension__ const unsigned __int128 scaled = (unsigned __int128)since << 32;
        atomic_store_explicit(&rate->ns_a_count, (uint64_t)(scaled / counts), memory_order_relaxed);
        atomic_store_explicit(&rate->known_over, counts, memory_order_relaxed);
    }
    return atomic_load_explicit(&rate->ns_a_count, memory_order_relaxed);
}

static uint64_t reported(uint64_t ns)
{
    if (ns < moment.last_ns)
        ns = moment.last_ns;
    moment.last_ns = ns;
    return ns;
}

static __attribute__((noinline)) uint64_t ask_system(struct util_clock_rate *rate)
{
    const struct both now = both_now();
    const bool good = rate->usable && now.spread <= rate->most_spread;
    const uint64_t ns_a_count = good ? rate_now(rate, now.count, now.ns) : 0;
    const uint64_t last_ns = moment.rate == rate ? moment.last_ns : 0;
    moment = (struct moment){.rate = rate,
                             .count = now.count,
                             .ns = now.ns,
                             .ns_a_count = ns_a_count,
                             .keep_counts = ns_a_count ? ((uint64_t)KEEP_NS << 32) / ns_a_count : 0,
                             .last_ns = last_ns};
    return reported(now.ns);
}

uint64_t util_clock_now_ns(struct util_clock_rate *rate)
{
    const uint64_t counts = counter() - moment.count;
    if (moment.rate != rate || counts >= moment.keep_counts)
        return ask_system(rate);
    return reported(moment.ns +
                    (counts * moment.ns_a_count >> 32)); // no overflow: KEEP_NS << 32 fits
}
