// SPDX-License-Identifier: Apache-2.0
// Shared by the examples of needless values and of shared memory: the size of the problem, the time
// that the work takes, and an end that prints a checksum of the results, by which the versions are
// compared.
//
// If EXAMPLE_TIME is set, the programs print the time from values_begin to values_done to standard
// error: "seconds 1.234567".
#pragma once

#include "example.h"

#include <time.h>
#include <vector>

static const int block = 256;

struct values_problem {
    int rows;    // Each example says what a row is.
    int columns; // Elements of a row.
    int steps;   // Repetitions of the work.
};

// Returns the problem that the arguments describe. Those that are missing are taken from `problem`,
// which is small enough for a simulated GPU.
static inline values_problem values_arguments(int argc, char **argv, values_problem problem)
{
    int *const numbers[] = {&problem.rows, &problem.columns, &problem.steps};
    bool ok = argc <= 4;
    for (int i = 1; ok && i < argc; ++i) {
        *numbers[i - 1] = atoi(argv[i]);
        ok = *numbers[i - 1] > 0;
    }
    if (!ok || (int64_t)problem.rows * problem.columns > INT32_MAX) {
        fprintf(stderr, "usage: %s [ROWS [COLUMNS [STEPS]]]\n", argv[0]);
        exit(1);
    }
    return problem;
}

static inline double values_seconds()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Returns the time at which the measured work begins. Memory has been allocated by then.
static inline double values_begin()
{
    CHECK(cudaDeviceSynchronize());
    return values_seconds();
}

// Ends the measured work. What follows only looks at the results.
static inline void values_done(double began)
{
    CHECK(cudaDeviceSynchronize());
    if (getenv("EXAMPLE_TIME"))
        fprintf(stderr, "seconds %.6f\n", values_seconds() - began);
}

// Prints the checksum (FNV-1a) of the results and the verdict; returns the exit status.
template <typename type>
static int values_end(const char *name, const std::vector<type> &results,
                      const std::vector<type> &expected)
{
    example_print_checksum(results.data(), results.size() * sizeof(type));
    return example_end(name, results == expected);
}
