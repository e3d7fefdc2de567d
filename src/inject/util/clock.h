// SPDX-License-Identifier: Apache-2.0
// A cheaper CLOCK_MONOTONIC. Every call is timed twice, and each call of clock_gettime makes the
// processor wait until all earlier instructions are done.
#ifndef GLINT_INJECT_UTIL_CLOCK_H
#define GLINT_INJECT_UTIL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

// How the processor's counter runs in this process. Zeroed at first.
struct util_clock_rate {
    bool usable; // the system derives CLOCK_MONOTONIC from it
    uint64_t first_count, first_ns;
    uint64_t most_spread; // most counts between reads of both clocks, if nothing came between
    _Atomic uint64_t ns_a_count; // times 2^32; 0: unknown yet
    _Atomic uint64_t known_over; // counts over which that was measured
};

// Called first, by one thread. `source` is the clock source of the system, as in
// /sys/devices/system/clocksource/clocksource0/current_clocksource; util_clock_prepare reads it
// there.
void util_clock_init(struct util_clock_rate *rate, const char *source);
void util_clock_prepare(struct util_clock_rate *rate);

// Returns nanoseconds of CLOCK_MONOTONIC, accurate to a few. Never decreases within one thread.
// Keeps errno.
uint64_t util_clock_now_ns(struct util_clock_rate *rate);

#endif
