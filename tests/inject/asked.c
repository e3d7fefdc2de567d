// SPDX-License-Identifier: Apache-2.0
// Asks a newer driver for functions that glint knows, and for others, before and after it is used.
#include <dlfcn.h>
#include <stdio.h>

#include "cudaabi/cudaabi.h"

static void *driver;

static void by_name(const char *name)
{
    (void)dlerror();
    void *found = dlsym(driver, name);
    printf("%s: %s%s\n", name, found ? "found" : "none",
           !found && dlerror() ? ", with an error" : "");
}

static void by_version(const char *name, int version)
{
    CUresult (*get)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *) =
        (CUresult(*)(const char *, void **, int, cuuint64_t,
                     CUdriverProcAddressQueryResult *))dlsym(driver, "cuGetProcAddress_v2");
    void *found = NULL;
    const CUresult result = get(name, &found, version, 0, NULL);
    printf("%s %d: %d %s\n", name, version, (int)result, found ? "found" : "none");
}

int main(void)
{
    CUdeviceptr memory = 0;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver)
        return 1;
    by_name("cuFutureThing"); // before the first call
    by_name("cuNowhere");
    by_version("cuFutureOther", 14000);
    ((CUresult(*)(unsigned))dlsym(driver, "cuInit"))(0);
    ((CUresult(*)(CUdeviceptr *, size_t))dlsym(driver, "cuMemAlloc_v2"))(&memory, 100);
    by_version("cuMemFreeHost", 14000); // a newer form
    by_version("cuFutureOther", 14000); // again
    by_version("cuFutureThird", 13000);
    by_version("cuCtxGetDevice", 14000); // known, and not hooked
    by_version("cuGLInit", 14000);       // known to be for graphics
    by_name("cuDeviceGetCount");
    ((CUresult(*)(CUdeviceptr))dlsym(driver, "cuMemFree_v2"))(memory);
    return 0;
}
