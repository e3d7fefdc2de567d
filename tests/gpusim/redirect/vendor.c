// SPDX-License-Identifier: Apache-2.0
// Imitates libcudart_static.a as an executable contains it: its functions are hidden and in one
// object, internal functions have meaningless names, and there is a constructor and a destructor.
// If any of this code runs, it prints a message and ends the program.
#include "vendor.h"

#include <unistd.h>

#define INNER(number) libcudart_static_00000000000000000000000000000000000000##number

void INNER(01)(void);
void INNER(02)(void);
void INNER(03)(void);
void INNER(04)(void);

__attribute__((noinline)) void INNER(01)(void)
{
    static const char text[] = "the vendor's runtime ran\n";
    ssize_t ignored = write(1, text, sizeof(text) - 1);
    (void)ignored;
    _exit(3);
}

__attribute__((constructor(150))) void INNER(02)(void)
{
    INNER(01)();
}

void **__cudaRegisterFatBinary(void *wrapper)
{
    INNER(01)();
    return wrapper;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
    INNER(01)();
}

void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
    INNER(01)();
}

int cudaMalloc(void **pointer, size_t size_bytes)
{
    (void)pointer;
    (void)size_bytes;
    INNER(01)();
    return 1;
}

int cudaGetLastError(void)
{
    INNER(01)();
    return 1;
}

// Too short to hold more than a jump.
__attribute__((noinline)) int cudaTiny(void)
{
    return 2000;
}

int cudaNotThere(int argument)
{
    INNER(01)();
    return argument;
}

const char *cudaGetErrorString(int error)
{
    (void)error;
    INNER(01)();
    return "";
}

struct large cudaMany(int a, long b, double c, float d, void *e, int f, int g, double h, double i,
                      double j, double k, double l, double m, double n, int o, int p, int q,
                      double r)
{
    INNER(01)();
    return (struct large){{a + b + c + d + f + g, h, i, j + k + l + m + n, o + p + q + r, e != 0}};
}

__attribute__((destructor)) void INNER(03)(void)
{
    INNER(01)();
}

// Comes after the last function of the API, as in the real runtime.
void INNER(04)(void)
{
    INNER(01)();
}
