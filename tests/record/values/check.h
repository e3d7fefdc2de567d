// SPDX-License-Identifier: Apache-2.0
// Ends the program if a call of the runtime fails.
#pragma once

#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

static void check(cudaError_t result, int line)
{
    if (result == cudaSuccess)
        return;
    fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(result));
    exit(1);
}
#define CHECK(call) check((call), __LINE__)
