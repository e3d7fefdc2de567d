// SPDX-License-Identifier: Apache-2.0
// CLOCK_MONOTONIC, cheaper: every call is timed twice, and asking the C library stops the processor
// each time until all before it is done.
#ifndef GLINT_INJECT_UTIL_CLOCK_H
#define GLINT_INJECT_UTIL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

// How the processor's counter runs, of a process. Zeroed at first.
struct util_clock_rate {
    bool usable; // the system's clock is made from it
    uint64_t first_count, first_ns;
    uint64_t most_spread;        // counts in which both clocks are seen, where nothing came between
    _Atomic uint64_t ns_a_count; // times 2^32; 0: not known yet
    _Atomic uint64_t known_over; // counts from which that was found
};

// Before all else, by one thread. `source` is what the system's clock is made from, as
// /sys/devices/system/clocksource/clocksource0/current_clocksource says; util_clock_prepare asks.
void util_clock_init(struct util_clock_rate *rate, const char *source);
void util_clock_prepare(struct util_clock_rate *rate);

// Nanoseconds of CLOCK_MONOTONIC, to within a few. Of one thread they never run backwards. Keeps
// errno.
uint64_t util_clock_now_ns(struct util_clock_rate *rate);

#endif
