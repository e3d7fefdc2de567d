// SPDX-License-Identifier: Apache-2.0
// Whether a program looks at what a CUDA call returns, read from the machine code behind the call.
// Internal.
#ifndef GLINT_RECORD_RESULTS_H
#define GLINT_RECORD_RESULTS_H

#include "profile/profile.h"
#include "symbols.h"

struct record_results_place {
    uint32_t image;          // the symbolizer's number; 0: unknown
    uint64_t return_address; // in the image's file
};

// The places are the return addresses of the call and of the functions around it, innermost first.
// The result is looked at if, on some way through the code behind the call, an instruction reads it
// (compares, stores, passes it), or the next function that is called is cudaGetLastError or
// cudaPeekAtLastError, which return the same error. A function that returns it leaves the answer to
// its caller. Any instruction that is not known makes the answer unknown.
enum profile_result_use record_results_use(struct record_symbols *symbols,
                                           const struct record_results_place *places, size_t count);

#endif
