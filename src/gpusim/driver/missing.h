// SPDX-License-Identifier: Apache-2.0
// The fallback for driver functions that are not implemented.
#ifndef GLINT_GPUSIM_DRIVER_MISSING_H
#define GLINT_GPUSIM_DRIVER_MISSING_H

// Prints once that the function is not implemented; returns CUDA_ERROR_NOT_SUPPORTED.
int driver_missing(const char *function);

#endif
