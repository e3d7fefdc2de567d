// SPDX-License-Identifier: Apache-2.0
// Stands in for glint's libcudart in tests of the redirection alone: each function prints that it
// was called, and does just enough for a program to go on.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vendor.h"

#define SAY(...) (printf(__VA_ARGS__), fflush(stdout))

// Functions of the real runtime that nvcc's programs call, and that vendor.h does not declare.
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name);
char __cudaInitModule(void **handle);
unsigned __cudaPushCallConfiguration(void);
int __cudaPopCallConfiguration(void);
int __cudaGetKernel(const void **kernel, const void *host);
int __cudaLaunchKernel(void);
int cudaLaunchKernel(void);
int cudaMemcpy(void *to, const void *from, size_t size_bytes, int kind);
int cudaDeviceSynchronize(void);
int cudaFree(void *memory);

void **__cudaRegisterFatBinary(void *wrapper)
{
    static void *handles[16];
    static unsigned count;
    unsigned magic;
    memcpy(&magic, wrapper, sizeof(magic));
    SAY("register %s\n", magic == 0x466243b1 ? "fatbin" : "something");
    return &handles[count++ % 16];
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    SAY("registered%s\n", handle ? "" : " nothing");
}

void __cudaUnregisterFatBinary(void **handle)
{
    SAY("unregister%s\n", handle ? "" : " nothing");
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name)
{
    (void)handle, (void)host, (void)device;
    SAY("function %s\n", name);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name)
{
    (void)handle, (void)host, (void)device;
    SAY("variable %s\n", name);
}

char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

unsigned __cudaPushCallConfiguration(void)
{
    return 0;
}

int __cudaPopCallConfiguration(void)
{
    return 0;
}

int __cudaGetKernel(const void **kernel, const void *host)
{
    *kernel = host;
    return 0;
}

int __cudaLaunchKernel(void)
{
    SAY("launch\n");
    return 0;
}

int cudaLaunchKernel(void)
{
    SAY("launch\n");
    return 0;
}

int cudaMalloc(void **pointer, size_t size_bytes)
{
    SAY("malloc %zu\n", size_bytes);
    *pointer = calloc(1, size_bytes ? size_bytes : 1);
    return 0;
}

int cudaFree(void *memory)
{
    SAY("free\n");
    free(memory);
    return 0;
}

int cudaMemcpy(void *to, const void *from, size_t size_bytes, int kind)
{
    SAY("memcpy %zu kind %d\n", size_bytes, kind);
    memcpy(to, from, size_bytes);
    return 0;
}

int cudaDeviceSynchronize(void)
{
    SAY("synchronize\n");
    return 0;
}

int cudaGetLastError(void)
{
    return 0;
}

const char *cudaGetErrorString(int error)
{
    return error ? "an error of the fake" : "no error of the fake";
}

int cudaTiny(void)
{
    return 5;
}

struct large cudaMany(int a, long b, double c, float d, void *e, int f, int g, double h, double i,
                      double j, double k, double l, double m, double n, int o, int p, int q,
                      double r)
{
    SAY("many %d %ld %g %g %d %d %d %g %g %g %g %g %g %g %d %d %d %g\n", a, b, c, (double)d,
        e == (void *)5, f, g, h, i, j, k, l, m, n, o, p, q, r);
    return (struct large){{1, 2, 3, 4, 5, 6}};
}
