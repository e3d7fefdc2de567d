// SPDX-License-Identifier: Apache-2.0
// What the imitated runtime offers, and the library beside the program.
#ifndef GLINT_TESTS_RECORD_RUNTIME_VENDOR_H
#define GLINT_TESTS_RECORD_RUNTIME_VENDOR_H

#include "cudaabi/cudaabi.h"

cudaError_t cudaMallocOfTomorrow(void **pointer, size_t bytes);

// Of libcudatools.so: it calls the driver.
int cudaToolsAlloc(void **pointer, size_t bytes);

#endif
