// SPDX-License-Identifier: Apache-2.0
// The functions of the imitated CUDA runtime (vendor.c) and of its replacement (fake_cudart.c).
// Names are those of the real runtime, except the upper-case ones at the end.
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
// Its arguments fill all argument registers and continue on the stack.
struct large cudaMany(int a, long b, double c, float d, void *e, int f, int g, double h, double i,
                      double j, double k, double l, double m, double n, int o, int p, int q,
                      double r);

#endif
