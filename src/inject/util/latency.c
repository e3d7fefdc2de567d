// SPDX-License-Identifier: Apache-2.0
// Uses the median of samples: a thread that is preempted between handing work over and reading the
// clock yields a sample that is too small, and a GPU that is busy elsewhere one that is too large.
#include "latency.h"

#include <string.h>

static const double UNSTEADY_NS = 5000; // distance between the quartiles of unsteady samples

static void sort(double *values, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const double value = values[i];
        uint32_t at = i;
        for (; at && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

void util_latency_add(struct util_latency *latency, double sample_ns,
                      struct util_latency_errors *errors)
{
    if (latency->count >= LATENCY_SAMPLES) {
        double off = sample_ns - latency->median_ns;
        off = (off < 0 ? -off : off) / LATENCY_STEP_NS;
        const unsigned step = off < LATENCY_STEPS - 1 ? (unsigned)off : LATENCY_STEPS - 1;
        atomic_fetch_add_explicit(&errors->of[step], 1, memory_order_relaxed);
    }
    latency->samples_ns[latency->count++ % LATENCY_SAMPLES] = sample_ns;
    const uint32_t count = latency->count < LATENCY_SAMPLES ? latency->count : LATENCY_SAMPLES;
    double sorted[LATENCY_SAMPLES] = {0};
    memcpy(sorted, latency->samples_ns, count * sizeof(*sorted));
    sort(sorted, count);
    latency->median_ns = sorted[count / 2];
    latency->unsteady = sorted[count - 1 - count / 4] - sorted[count / 4] > UNSTEADY_NS;
}

double util_latency_now(const struct util_latency *latency)
{
    return latency->count >= LATENCY_LEAST && !latency->unsteady ? latency->median_ns : 0;
}

double util_latency_start(const struct util_latency *latency, double free_ns, double handed_over_ns,
                          double end_ns, bool *estimated)
{
    const double arrived = handed_over_ns + latency->median_ns;
    *estimated = latency->count >= LATENCY_LEAST && arrived > free_ns;
    const double start = *estimated ? arrived : free_ns;
    return start < end_ns ? start : end_ns;
}

uint32_t util_latency_error_ns(struct util_latency_errors *errors, unsigned percent,
                               uint64_t *count)
{
    *count = 0;
    for (unsigned i = 0; i < LATENCY_STEPS; i++)
        *count += atomic_load_explicit(&errors->of[i], memory_order_relaxed);
    uint64_t within = 0;
    for (unsigned i = 0; i < LATENCY_STEPS && *count; i++) {
        within += atomic_load_explicit(&errors->of[i], memory_order_relaxed);
        if (within * 100 >= *count * percent)
            return (i + 1) * LATENCY_STEP_NS;
    }
    return 0;
}
