// SPDX-License-Identifier: Apache-2.0
// The functions of the imitated runtime, and of the library beside the program.
#ifndef GLINT_TESTS_RECORD_RUNTIME_VENDOR_H
#define GLINT_TESTS_RECORD_RUNTIME_VENDOR_H

#include "cudaabi/cudaabi.h"

cudaError_t cudaMallocOfTomorrow(void **pointer, size_t bytes);

// In libcudatools.so; calls the driver.
int cudaToolsAlloc(void **pointer, size_t bytes);

#endif
