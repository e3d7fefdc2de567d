// SPDX-License-Identifier: Apache-2.0
// How long the GPU takes to begin what the host has handed over, from samples, and by it when a
// kernel began whose beginning has no event of its own. Pure arithmetic; who uses it locks.
#ifndef GLINT_INJECT_UTIL_LATENCY_H
#define GLINT_INJECT_UTIL_LATENCY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { LATENCY_SAMPLES = 9, LATENCY_LEAST = 3 };

// Of one stream: the last samples. Zeroed at first.
struct util_latency {
    double samples_ns[LATENCY_SAMPLES];
    uint32_t count;   // of samples ever
    double median_ns; // of the last ones; it also follows the drift between the two clocks
    bool unsteady;    // they differ too much to tell anything
};

// How far samples lay from the median before them: what an estimate can be wrong by.
enum { LATENCY_STEP_NS = 50, LATENCY_STEPS = 401 }; // the last: more
struct util_latency_errors {
    _Atomic uint32_t of[LATENCY_STEPS];
};

// By the GPU's clock minus the host's when it had handed over. errors: counted in, where a median
// was known.
void util_latency_add(struct util_latency *latency, double sample_ns,
                      struct util_latency_errors *errors);

// When work began: not before its stream was free for it (free_ns), nor before the GPU can have
// known of it, and not after it ended. *estimated: the samples told, not free_ns.
double util_latency_start(const struct util_latency *latency, double free_ns, double handed_over_ns,
                          double end_ns, bool *estimated);

// The error that `percent` of the samples stay within, rounded up; 0 of none. *count of them.
uint32_t util_latency_error_ns(struct util_latency_errors *errors, unsigned percent,
                               uint64_t *count);

#endif
