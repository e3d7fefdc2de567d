// SPDX-License-Identifier: Apache-2.0
// Plans of cuFFT: what is transformed, and the tables and memory for it. A function returns a
// cufftResult.
#ifndef GLINT_STANDINS_CUFFT_PLAN_H
#define GLINT_STANDINS_CUFFT_PLAN_H

#include "kernels.h"
#include "standins/common/common.h"

// Values of cufftResult.
enum cufft_result {
    CUFFT_OK = 0,
    CUFFT_INVALID_PLAN = 1,
    CUFFT_ALLOC_FAILED = 2,
    CUFFT_INVALID_TYPE = 3,
    CUFFT_INVALID_VALUE = 4,
    CUFFT_EXEC_FAILED = 6,
    CUFFT_SETUP_FAILED = 7,
    CUFFT_INVALID_SIZE = 8,
    CUFFT_NO_WORKSPACE = 13,
    CUFFT_NOT_SUPPORTED = 16,
};

// Values of cufftType.
enum cufft_type {
    CUFFT_R2C = 0x2a,
    CUFFT_C2R = 0x2c,
    CUFFT_C2C = 0x29,
    CUFFT_D2Z = 0x6a,
    CUFFT_Z2D = 0x6c,
    CUFFT_Z2Z = 0x69
};

// A dimension's tables in device memory.
struct cufft_axis {
    int64_t length;
    int64_t padded; // of the convolution; 0: there is none, as all factors are small
    uint64_t roots; // addresses: of `padded` or else `length`
    uint64_t chirp, chirp_transform;
};

// A side of a plan. Without steps of the program's, a layout follows from the sizes, and from
// whether the transform is in place.
struct cufft_side {
    bool is_given;
    int64_t embed[CUFFT_RANK], stride, distance;
};

struct cufft_plan {
    struct cufft_plan *next;
    int handle;
    bool is_made, no_allocation;
    enum cufft_type type;
    int rank;
    int64_t n[CUFFT_RANK]; // in the last `rank` elements; 1 in those before
    int64_t batch;
    struct cufft_side in, out;
    struct cufft_axis axes[CUFFT_RANK];
    CUdeviceptr tables, work; // memory of the plan
    uint64_t area;            // the work area in use: the plan's or the program's
    size_t work_bytes;
    CUstream stream;
};

bool cufft_is_double(enum cufft_type type);

// Returns how many bytes of work area the plan needs. Its sizes are set.
size_t cufft_work_bytes(const struct cufft_plan *plan);

// Makes the tables of the plan in device memory.
int cufft_make_tables(struct cufft_plan *plan);

// Transforms. direction: -1 forward, 1 inverse.
int cufft_run(struct cufft_plan *plan, const void *in, void *out, int direction);

#endif
