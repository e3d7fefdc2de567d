// SPDX-License-Identifier: Apache-2.0
// What the examples that come in two versions have in common: they count the device memory that
// they have, and print its peak and a checksum of their results, so that the versions can be
// compared with each other and with what a profiler measures.
//
// cudaMalloc and cudaFree are counted by macros of their names, so that every allocation stands in
// the source, and in a call path, as in any CUDA program.
#pragma once

#include "example.h"

#include <map>
#include <vector>

struct peak_counter {
    std::map<const void *, size_t> bytes;
    size_t in_use_bytes, peak_bytes;
};
static peak_counter peak;

template <typename type>
static cudaError_t peak_allocated(cudaError_t status, type **pointer, size_t bytes)
{
    if (status == cudaSuccess) {
        peak.bytes[*pointer] = bytes;
        peak.in_use_bytes += bytes;
        if (peak.peak_bytes < peak.in_use_bytes)
            peak.peak_bytes = peak.in_use_bytes;
    }
    return status;
}

static cudaError_t peak_freed(cudaError_t status, const void *pointer)
{
    if (status == cudaSuccess) {
        peak.in_use_bytes -= peak.bytes.at(pointer);
        peak.bytes.erase(pointer);
    }
    return status;
}

#define cudaMalloc(pointer, bytes) peak_allocated(cudaMalloc(pointer, bytes), pointer, bytes)
#define cudaFree(pointer)          peak_freed(cudaFree(pointer), pointer)

// Prints the checksum (FNV-1a) of the results, the peak and the verdict; returns the exit status.
template <typename type>
static int peak_end(const char *name, const std::vector<type> &results,
                    const std::vector<type> &expected)
{
    example_print_checksum(results.data(), results.size() * sizeof(type));
    printf("peak %zu bytes\n", peak.peak_bytes);
    return example_end(name, results == expected);
}
