// SPDX-License-Identifier: Apache-2.0
// What the model of the caches found about a kernel, as rows of reports. Inner header of
// src/report.
#ifndef GLINT_REPORT_CACHES_H
#define GLINT_REPORT_CACHES_H

#include "data.h"

// An object, or several of one name, kind and place.
struct report_cache_row {
    const struct report_object *first; // NULL: unknown objects, or all
    bool is_all;                       // the sum of the kernel
    uint64_t objects;
    struct analyze_cache_sum sum;
    struct analyze_cache_distances levels[2]; // of L1 and L2
    bool has_distances[2];
};

struct report_cache_rows {
    BASE_ARRAY(struct report_cache_row) list; // most sectors of device memory first
};

// Adds a row for each object of the kernel, or name of objects. Returns false when memory ran out.
// The caller calls base_array_fini on the list.
bool report_cache_rows(const struct report_data *data, const struct analyze_cache_kernel *kernel,
                       struct report_cache_rows *rows);

// The kernels that are worth showing: those with at least 1 % of the GPU time of all kernels or,
// where times are unknown or not real, of the traffic with device memory. With a name, those whose
// name contains it. The first has most.
struct report_cache_kernels {
    BASE_ARRAY(const struct analyze_cache_kernel *) list;
    size_t left_out; // that are not worth showing
};
bool report_cache_kernels(const struct report_data *data, const char *name,
                          struct report_cache_kernels *kernels);

// Returns the sum of stores and atomic operations.
struct profile_cache_hits report_cache_writes(const struct profile_cache_hits *kinds);

#endif
