// SPDX-License-Identifier: Apache-2.0
// The functions of the imitated CUDA runtime (vendor.c) and of what takes their place
// (fake_cudart.c). Names as the real one has them; those in upper case at the end are ours.
#ifndef GLINT_TESTS_REDIRECT_VENDOR_H
#define GLINT_TESTS_REDIRECT_VENDOR_H

#include <stddef.h>

struct large {
    double values[6]; // returned through memory
};

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
int cudaMalloc(void **pointer, size_t size_bytes);
int cudaGetLastError(void);
const char *cudaGetErrorString(int error);
int cudaTiny(void);
int cudaNotThere(int argument);
// Arguments in all registers and on the stack.
struct large cudaMany(int a, long b, double c, float d, void *e, int f, int g, double h, double i,
                      double j, double k, double l, double m, double n, int o, int p, int q,
                      double r);

#endif
