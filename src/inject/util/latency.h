// SPDX-License-Identifier: Apache-2.0
// Estimates from samples how long the GPU takes to start work that the host has handed over. From
// that it infers when a kernel started that has no event before it. Pure arithmetic: callers hold
// their own locks.
#ifndef GLINT_INJECT_UTIL_LATENCY_H
#define GLINT_INJECT_UTIL_LATENCY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { LATENCY_SAMPLES = 9, LATENCY_LEAST = 3 };

// The last samples of one stream. Zero-initialized.
struct util_latency {
    double samples_ns[LATENCY_SAMPLES];
    uint32_t count;   // samples so far
    double median_ns; // of the last samples; it also follows the drift between the two clocks
    bool unsteady;    // the samples differ too much for an estimate
};

// Distances of samples from the median before them: how wrong an estimate can be.
enum { LATENCY_STEP_NS = 50, LATENCY_STEPS = 401 }; // the last: more
struct util_latency_errors {
    _Atomic uint32_t of[LATENCY_STEPS];
};

// Adds a sample: the start by the GPU's clock, minus the time when the host had handed the work
// over. If a median was known, its error is counted.
void util_latency_add(struct util_latency *latency, double sample_ns,
                      struct util_latency_errors *errors);

// Returns the latency, and with it how far the GPU's clock is ahead of the host's; 0: not known.
double util_latency_now(const struct util_latency *latency);

// Returns when work started: not before its stream was free (free_ns), nor before the GPU can have
// known of it, and not after its end. *estimated: the samples decided, not free_ns.
double util_latency_start(const struct util_latency *latency, double free_ns, double handed_over_ns,
                          double end_ns, bool *estimated);

// Returns the error that `percent` of the samples stay within, rounded up; 0 if there are none.
// *count: the number of samples.
uint32_t util_latency_error_ns(struct util_latency_errors *errors, unsigned percent,
                               uint64_t *count);

#endif
