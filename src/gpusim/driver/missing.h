// SPDX-License-Identifier: Apache-2.0
// What a function that is not there yet answers.
#ifndef GLINT_GPUSIM_DRIVER_MISSING_H
#define GLINT_GPUSIM_DRIVER_MISSING_H

// Says once that the function is not there; returns CUDA_ERROR_NOT_SUPPORTED.
int driver_missing(const char *function);

#endif
