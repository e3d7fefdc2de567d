// SPDX-License-Identifier: Apache-2.0
// The parameters of the kernels of cuFFT. This header is also compiled as CUDA C. Strides and sizes
// count elements.
#ifndef GLINT_STANDINS_CUFFT_KERNELS_H
#define GLINT_STANDINS_CUFFT_KERNELS_H

#include <stdint.h>

enum { CUFFT_THREADS = 256, CUFFT_RANK = 3, CUFFT_LARGEST_RADIX = 61 };

enum cufft_form {
    CUFFT_COMPLEX,
    CUFFT_REAL,
    CUFFT_HALF, // complex numbers up to the middle of the last dimension; the others are their
                // conjugates
};

// Copies between the program's memory and dense complex numbers, in which the transform is
// computed.
struct cufft_copy {
    uint64_t user, dense; // addresses
    int64_t count;        // of all dense numbers
    int64_t n[CUFFT_RANK];
    int64_t step[CUFFT_RANK]; // in the program's memory, from one index to the next
    int64_t batch_step;
    int32_t form;
};

// One pass of a Stockham transform along a dimension of `length` numbers, which are `inner` apart:
// each group of `radix` numbers becomes as many. `before` is the product of the radices of earlier
// passes.
struct cufft_pass {
    uint64_t from, to; // addresses
    uint64_t roots;    // address of exp(-2 pi i k / length)
    int64_t count, length, inner, before;
    int32_t radix;
    int32_t inverse;
};

// Transforms of lengths with large factors are convolutions with a chirp, by L. Bluestein's method.
// `padded` is the length of the convolution.
struct cufft_chirp {
    uint64_t from, to; // addresses
    uint64_t factors;  // address of the chirp, or of its transform
    int64_t count, length, padded, inner;
    double scale;
    int32_t inverse;
};

#endif
