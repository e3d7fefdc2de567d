// SPDX-License-Identifier: Apache-2.0
// Reaches the driver in every possible way without being linked with it. Prints
// what a program can observe, which must not change when it is recorded, and
// allocates a different size in each way.
//
//     doors PATH_OF_FAKE_LIBRARY PATH_OF_LINKED_LIBRARY
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "cudaabi/cudaabi.h"

typedef CUresult (*alloc_function)(CUdeviceptr *, size_t);
typedef CUresult (*free_function)(CUdeviceptr);
typedef CUresult (*proc_v1)(const char *, void **, int, cuuint64_t);
typedef CUresult (*proc_v2)(const char *, void **, int, cuuint64_t,
                            CUdriverProcAddressQueryResult *);

static void *must(void *found, const char *what)
{
    if (!found) {
        fprintf(stderr, "doors: no %s\n", what);
        exit(1);
    }
    return found;
}

static void alloc(void *function, size_t bytes)
{
    CUdeviceptr pointer;
    CUresult result = ((alloc_function)must(function, "cuMemAlloc"))(&pointer, bytes);
    printf("alloc %zu: %d\n", bytes, (int)result);
}

// From next.c, which the program is linked with. RTLD_NEXT must find the library behind it, not
// itself, even if another library is interposed.
const char *next_version(void);

static void before_the_driver(const char *fake_path)
{
    printf("without a driver: %s\n", dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") ? "there" : "not there");
    printf("message: %s\n", dlerror() ? "yes" : "no");
    printf("next: %s\n", dlsym(RTLD_NEXT, "cuMemAlloc_v2") ? "there" : "not there");
    void *self = dlopen(NULL, RTLD_NOW);
    printf("by the program: %s\n", dlsym(self, "cuMemAlloc_v2") ? "there" : "not there");
    (void)dlerror();
    void *fake = must(dlopen(fake_path, RTLD_NOW), fake_path);
    alloc(dlsym(fake, "cuMemAlloc_v2"), 1);
}

static void by_procs(void *driver)
{
    proc_v1 v1 = (proc_v1)must(dlsym(driver, "cuGetProcAddress"), "cuGetProcAddress");
    proc_v2 v2 = (proc_v2)must(dlsym(driver, "cuGetProcAddress_v2"), "cuGetProcAddress_v2");
    void *function = NULL;
    CUdriverProcAddressQueryResult status;
    v1("cuMemAlloc", &function, 11030, 0);
    alloc(function, 103);
    v2("cuMemAlloc", &function, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status);
    printf("status %d\n", (int)status);
    alloc(function, 104);
    v2("cuMemAlloc", &function, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status);
    alloc(function, 105); // the function has only one form

    // By a cuGetProcAddress that cuGetProcAddress returned.
    void *inner = NULL;
    v2("cuGetProcAddress", &inner, 12000, 0, &status);
    ((proc_v2)must(inner, "cuGetProcAddress"))("cuMemAlloc", &function, 12000, 0, &status);
    alloc(function, 106);
    v2("cuGetProcAddress", &inner, 11030, 0, &status);
    ((proc_v1)must(inner, "cuGetProcAddress"))("cuMemAlloc", &function, 12000, 0);
    alloc(function, 107);

    // Functions that do not exist.
    printf("too old: %d", (int)v2("cuMemAllocAsync", &function, 11000, 0, &status));
    printf(" status %d\n", (int)status);
    printf("no such: %d", (int)v2("cuNoSuchThing", &function, 13000, 0, &status));
    printf(" status %d\n", (int)status);
    printf("first version: %d\n", (int)v1("cuMemAlloc", &function, 3000, 0));
}

// One name at two versions yields two functions, in either order.
static void by_versions(void *driver)
{
    proc_v2 get = (proc_v2)dlsym(driver, "cuGetProcAddress_v2");
    void *old = NULL, *newer = NULL, *again = NULL, *newest = NULL;
    CUcontext context;
    get("cuCtxCreate", &newest, 13000, 0, NULL);
    get("cuCtxCreate", &old, 3020, 0, NULL);
    get("cuCtxCreate", &newer, 11040, 0, NULL);
    get("cuCtxCreate", &again, 3020, 0, NULL);
    printf("versions: %d %d %d\n", old == again, old == newer, newer == newest);
    ((CUresult(*)(CUcontext *, unsigned, CUdevice))old)(&context, 0, 0);
    ((CUresult(*)(CUcontext *, CUexecAffinityParam *, int, unsigned, CUdevice))newer)(
        &context, NULL, 0, 0, 0);
    ((CUresult(*)(CUcontext *, CUctxCreateParams *, unsigned, CUdevice))newest)(&context, NULL, 0,
                                                                                0);
    // And with both meanings of stream 0.
    void *legacy = NULL, *own = NULL;
    get("cuStreamSynchronize", &legacy, 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, NULL);
    get("cuStreamSynchronize", &own, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL);
    printf("streams: %d\n", legacy == own);
    ((CUresult(*)(CUstream))legacy)(NULL);
    ((CUresult(*)(CUstream))own)(NULL);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    before_the_driver(argv[1]);
    void *driver = must(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), "libcuda.so.1");
    CUcontext context;
    ((CUresult(*)(unsigned))must(dlsym(driver, "cuInit"), "cuInit"))(0);
    ((CUresult(*)(CUcontext *, CUdevice))must(dlsym(driver, "cuDevicePrimaryCtxRetain"), "retain"))(
        &context, 0);
    ((CUresult(*)(CUcontext))must(dlsym(driver, "cuCtxSetCurrent"), "set"))(context);
    alloc(dlsym(driver, "cuMemAlloc_v2"), 100);
    alloc(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"), 101);
    alloc(dlsym(RTLD_NEXT, "cuMemAlloc_v2"), 102);
    by_procs(driver);
    by_versions(driver);
    void *fake = dlopen(argv[1], RTLD_NOW);
    alloc(dlsym(fake, "cuMemAlloc_v2"), 2);
    void *linked = must(dlopen(argv[2], RTLD_NOW | RTLD_LOCAL), argv[2]);
    alloc(dlsym(linked, "linked_alloc"), 108);
    // Symbols that are not the driver's.
    printf("next: %s\n", next_version());
    printf("%s\n", dlsym(RTLD_DEFAULT, "printf") ? "printf" : "none");
    printf("%s\n", dlsym(RTLD_DEFAULT, "custom") ? "custom" : "none");
    printf("%s\n", dlvsym(driver, "cuMemAlloc_v2", "NONE_1") ? "version" : "no version");
    return 0;
}
