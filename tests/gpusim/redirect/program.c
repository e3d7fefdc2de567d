// SPDX-License-Identifier: Apache-2.0
// A program that contains the imitated runtime, as nvcc would build it: a fatbin wrapper, a
// constructor that registers it, and the program's own functions with names like CUDA's, which must
// not be redirected. It opens and closes each of its arguments as a library.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "vendor.h"

int cudaOwn(void);
int after(void);

static struct {
    unsigned magic, version;
    const void *fatbin, *name;
} wrapper __attribute__((section(".nvFatBinSegment"), used)) = {0x466243b1, 1, &wrapper, NULL};

static void **handle;

// These names are the ones that nvcc generates.
__attribute__((noinline)) static void __cudaUnregisterBinaryUtil(void)
{
    __cudaUnregisterFatBinary(handle);
}

__attribute__((constructor)) static void register_all(void)
{
    handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFatBinaryEnd(handle);
    atexit(__cudaUnregisterBinaryUtil);
}

__attribute__((noinline)) static int cudaOwnLocal(void)
{
    __asm__ volatile("");
    return 11;
}

__attribute__((noinline)) int cudaOwn(void)
{
    __asm__ volatile("");
    return 12;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    void *memory = NULL;
    printf("own %d %d %d\n", cudaOwnLocal(), cudaOwn(), after());
    printf("malloc says %d\n", cudaMalloc(&memory, 64));
    printf("memory %s\n", memory ? "is there" : "is missing");
    int (*volatile through)(void **, size_t) = cudaMalloc;
    printf("malloc says %d\n", through(&memory, 65));
    printf("tiny %d %d\n", cudaTiny(), cudaTiny());
    for (int i = 0; i < 2; i++) {
        struct large large = cudaMany(1, 2, 3.5, 4.5f, (void *)5, 6, 7, 8.5, 9.5, 10.5, 11.5, 12.5,
                                      13.5, 14.5, 15, 16, 17, 18.5);
        printf("large %g %g\n", large.values[0], large.values[5]);
    }
    printf("not there %d %d\n", cudaNotThere(1), cudaNotThere(2));
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW);
        printf("open %s\n", library ? "worked" : dlerror());
        if (library)
            dlclose(library);
    }
    return 7;
}
