// SPDX-License-Identifier: Apache-2.0
// Helpers that every example needs: checked CUDA calls, the problem's size from the
// command line, numbers to compute with, and the verdict.
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Ends the program with a message if a CUDA call fails.
#define CHECK(call)                                                       \
    do {                                                                  \
        cudaError_t check_status = (call);                                \
        if (check_status != cudaSuccess) {                                \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                    cudaGetErrorString(check_status));                    \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

// The problem's size: the first argument, else the given one, which is small enough for a GPU that
// is simulated.
static inline int example_size(int argc, char **argv, int size)
{
    if (argc > 1)
        size = atoi(argv[1]);
    if (size <= 0) {
        fprintf(stderr, "usage: %s [SIZE]\n", argv[0]);
        exit(1);
    }
    return size;
}

// Returns the next number below limit of a fixed pseudo-random sequence.
static inline uint32_t example_random(uint32_t *state, uint32_t limit)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % limit;
}

// Returns how many blocks of a size cover count.
static inline int example_blocks(int count, int block)
{
    return (count + block - 1) / block;
}

// Prints the checksum (FNV-1a) of the results.
static inline void example_print_checksum(const void *results, size_t count)
{
    uint64_t checksum = 14695981039346656037u;
    for (size_t i = 0; i < count; ++i)
        checksum = (checksum ^ ((const unsigned char *)results)[i]) * 1099511628211u;
    printf("checksum %016llx\n", (unsigned long long)checksum);
}

// Prints the verdict; returns the exit status.
static inline int example_end(const char *name, bool ok)
{
    printf("%s: %s\n", name, ok ? "ok" : "WRONG");
    return ok ? 0 : 1;
}
