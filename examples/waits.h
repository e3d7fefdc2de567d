// SPDX-License-Identifier: Apache-2.0
// What the examples of needless waiting have in common: the problem's size, work for the GPU and
// for the host that can go on at the same time, and an end that prints a checksum of the results,
// by which versions are compared with each other.
//
// How long the work took, from waits_begin to waits_done, they print to standard error where
// EXAMPLE_TIME is set: "seconds 1.234567".
#pragma once

#include "example.h"

#include <time.h>
#include <vector>

static const int block = 256;

struct waits_problem {
    int count;  // of elements on the GPU
    int steps;  // each of which has work for the GPU and for the host
    int rounds; // of the GPU's work on an element in a step
    int work;   // numbers that the host draws in a step, or, where it says so, for an element
};

// The arguments, each else as given, which are small enough for a GPU that is simulated.
static inline waits_problem waits_arguments(int argc, char **argv, waits_problem problem)
{
    int *const numbers[] = {&problem.count, &problem.steps, &problem.rounds, &problem.work};
    bool ok = argc <= 5;
    for (int i = 1; ok && i < argc; ++i) {
        *numbers[i - 1] = atoi(argv[i]);
        ok = *numbers[i - 1] > 0;
    }
    if (!ok) {
        fprintf(stderr, "usage: %s [COUNT [STEPS [ROUNDS [WORK]]]]\n", argv[0]);
        exit(1);
    }
    return problem;
}

// What the GPU computes of an element and a key: as many steps of a fixed sequence as there are
// rounds.
static inline __host__ __device__ uint32_t waits_mix(uint32_t element, uint32_t key, int rounds)
{
    for (int i = 0; i < rounds; ++i) {
        element = element * 1664525u + key;
        element ^= element >> 15;
    }
    return element;
}

// What the host computes between calls: the next key, of a sequence of which it takes one in
// `work`.
static inline uint32_t waits_draw(uint32_t *state, int work)
{
    for (int i = 0; i < work; ++i) {
        *state = *state * 22695477u + 1u;
        *state ^= *state >> 13;
    }
    return *state;
}

// The keys that it draws in all, beginning with that state.
static inline std::vector<uint32_t> waits_keys(uint32_t state, int count, int work)
{
    std::vector<uint32_t> keys;
    for (int i = 0; i < count; ++i)
        keys.push_back(waits_draw(&state, work));
    return keys;
}

static inline double waits_seconds()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Where the work that is timed begins. The GPU is ready by then: starting it is nobody's waste.
static inline double waits_begin()
{
    CHECK(cudaSetDevice(0));
    return waits_seconds();
}

// Where it ends: what follows only looks at the results.
static inline void waits_done(double began)
{
    if (getenv("EXAMPLE_TIME"))
        fprintf(stderr, "seconds %.6f\n", waits_seconds() - began);
}

// Adds numbers to a checksum (FNV-1a, by words).
static const uint64_t waits_checksum_start = 14695981039346656037u;
static inline uint64_t waits_checksum(uint64_t checksum, const uint32_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        checksum = (checksum ^ numbers[i]) * 1099511628211u;
    return checksum;
}

// Which elements the host computes too, to compare: all of a small problem, else some 256.
static inline int waits_stride(int count)
{
    return count < 1 << 17 ? 1 : count / 256;
}

// Whether the elements that the host computes too are those of the last state. At first each is 0;
// a step with a key, the next of those that are drawn from `state` on, makes next(element, i, key)
// of element i.
template <typename function>
static bool waits_is_last(const waits_problem &problem, uint32_t state,
                          const std::vector<uint32_t> &last, function next)
{
    const std::vector<uint32_t> keys = waits_keys(state, problem.steps, problem.work);
    for (int i = 0; i < problem.count; i += waits_stride(problem.count)) {
        uint32_t element = 0;
        for (uint32_t key : keys)
            element = next(element, i, key);
        if (last[i] != element)
            return false;
    }
    return true;
}

// Prints the checksum and the verdict; returns the exit status.
static inline int waits_end(const char *name, uint64_t checksum, bool ok)
{
    printf("checksum %016llx\n", (unsigned long long)checksum);
    return example_end(name, ok);
}
