// SPDX-License-Identifier: Apache-2.0
// Whether random kernels that are said to touch the same memory in every launch with the same
// parameters (instrument_kernel.repeats) do so: they run several times on the simulated GPU, each
// time with other contents of all memory, and its log must have the same accesses each time.
#ifndef GLINT_TESTS_INSTRUMENT_RANDOM_REPEATS_H
#define GLINT_TESTS_INSTRUMENT_RANDOM_REPEATS_H

#include "random_kernel.h"

struct random_repeats {
    bool judged; // the kernel is said to repeat itself
    bool varies; // it does not
};

// Returns false if the kernel is said to repeat itself and does not, or if it cannot be run.
bool random_repeats_hold(const struct random_kernel *kernel, struct random_repeats *told,
                         FILE *complaints);
// Only says what is judged. Returns false if the kernel cannot be read.
bool random_repeats_judged(const struct random_kernel *kernel, bool *repeats, FILE *complaints);

#endif
