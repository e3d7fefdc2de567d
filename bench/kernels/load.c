// SPDX-License-Identifier: Apache-2.0
// Measures how long the driver takes to load a module of PTX: load FILE prints "load
// MILLISECONDS" for one cuModuleLoadData and one cuModuleGetFunction for each kernel in it. It
// loads the module once, because a tool may cache it.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cudaabi/cudaabi.h"

#define CALL(name, ...) check(((__typeof__(name) *)function(#name))(__VA_ARGS__), #name)

static void *library;

static void *function(const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "load: no %s\n", name);
        exit(1);
    }
    return found;
}

static void check(CUresult result, const char *name)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "load: %s failed with %d\n", name, (int)result);
        exit(1);
    }
}

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    size_t bytes = (size_t)ftell(file);
    char *text = calloc(bytes + 1, 1);
    rewind(file);
    if (!text || fread(text, 1, bytes, file) != bytes) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return text;
}

static void get_functions(CUmodule module, const char *ptx)
{
    static const char entry[] = ".entry ";
    for (const char *at = ptx; (at = strstr(at, entry));) {
        char name[256];
        at += sizeof entry - 1;
        CUfunction kernel;
        if (sscanf(at, "%255[A-Za-z0-9_$]", name) == 1)
            CALL(cuModuleGetFunction, &kernel, module, name);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: load FILE\n");
        return 2;
    }
    char *ptx = read_file(argv[1]);
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "load: %s\n", dlerror());
        return 1;
    }
    CUcontext context;
    CUmodule module;
    CALL(cuInit, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, 0);
    CALL(cuCtxSetCurrent, context);
    double start = now_ms();
    CALL(cuModuleLoadData, &module, ptx);
    get_functions(module, ptx);
    printf("load %.2f\n", now_ms() - start);
    free(ptx);
    return 0;
}
