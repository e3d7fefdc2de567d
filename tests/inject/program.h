// SPDX-License-Identifier: Apache-2.0
// Shared by the programs that tests record. They exit at the first call that fails.
#ifndef GLINT_TESTS_INJECT_PROGRAM_H
#define GLINT_TESTS_INJECT_PROGRAM_H

#include <stdio.h>
#include <stdlib.h>

#include "cudaabi/cudaabi.h"

#define CHECK(call) check((call), #call, __LINE__)
static inline void check(CUresult result, const char *what, int line)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "line %d: %s failed with %d\n", line, what, (int)result);
        exit(1);
    }
}

// Makes the first device's primary context current in the calling thread.
static inline CUcontext start_thread(void)
{
    CUcontext own;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&own, 0));
    CHECK(cuCtxSetCurrent(own));
    return own;
}

// Returns the next random number; the sequence is the same in every run.
static inline unsigned random_next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

#endif
