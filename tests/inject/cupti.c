// SPDX-License-Identifier: Apache-2.0
// A stand-in for CUPTI, of which it has what matters to others: the functions that need no driver,
// and those that find it with dlsym. Like CUPTI, it refuses work while a subscriber of the
// Sanitizer API is there (FAKE_SUBSCRIBERS, the stand-in for that library).
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#include "cudaabi/cudaabi.h"

enum { NOT_INITIALIZED = 15, MULTIPLE_SUBSCRIBERS = 39 };

int cuptiGetVersion(uint32_t *version)
{
    *version = 130000;
    return 0;
}

// Returns how many subscribers the Sanitizer API has.
static unsigned others(void)
{
    const char *path = getenv("FAKE_SUBSCRIBERS");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    unsigned (*count)(void);
    count = library ? (__typeof__(count))dlsym(library, "fake_subscribers") : NULL;
    return count ? count() : 0;
}

int cuptiSubscribe(void **subscriber, void *called, void *userdata)
{
    static int it;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    CUresult (*get_version)(int *version);
    int version;
    (void)called;
    (void)userdata;
    get_version = driver ? (__typeof__(get_version))dlsym(driver, "cuDriverGetVersion") : NULL;
    if (!get_version || get_version(&version) != CUDA_SUCCESS)
        return NOT_INITIALIZED;
    if (others())
        return MULTIPLE_SUBSCRIBERS;
    *subscriber = &it;
    return 0;
}
