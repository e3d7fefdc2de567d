// SPDX-License-Identifier: Apache-2.0
// Ends a benchmark if a call of the runtime fails.
#pragma once

#include <cuda_runtime.h>

#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                \
    do {                                                                           \
        cudaError_t check_status = (call);                                         \
        if (check_status != cudaSuccess) {                                         \
            fprintf(stderr, "kernels: %s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                    cudaGetErrorString(check_status));                             \
            exit(1);                                                               \
        }                                                                          \
    } while (0)
