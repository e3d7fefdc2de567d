// SPDX-License-Identifier: Apache-2.0
// Prints one line about the GPU that libcuda.so.1 provides, and one about that libcuda.so.1.
// Without a GPU, it prints the reason in a line that begins with "SKIP: " and exits with 77.
// scripts/gpu-test compiles it with nothing but a C compiler.
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudaabi/cudaabi.h"

static struct {
    __typeof__(cuInit) *init;
    __typeof__(cuDriverGetVersion) *driver_version;
    __typeof__(cuDeviceGet) *device_get;
    __typeof__(cuDeviceGetName) *device_name;
    __typeof__(cuDeviceGetAttribute) *device_attribute;
    __typeof__(cuDeviceTotalMem_v2) *device_bytes;
    __typeof__(cuGetErrorName) *error_name;
} cu;

static const struct {
    const char *name;
    void *function;
} functions[] = {
    {"cuInit", &cu.init},
    {"cuDriverGetVersion", &cu.driver_version},
    {"cuDeviceGet", &cu.device_get},
    {"cuDeviceGetName", &cu.device_name},
    {"cuDeviceGetAttribute", &cu.device_attribute},
    {"cuDeviceTotalMem_v2", &cu.device_bytes},
    {"cuGetErrorName", &cu.error_name},
};

int main(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        printf("SKIP: no GPU: no driver: %s\n", dlerror());
        return 77;
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *function = dlsym(library, functions[i].name);
        if (!function) {
            printf("SKIP: no GPU: libcuda.so.1 has no %s\n", functions[i].name);
            return 77;
        }
        memcpy(functions[i].function, &function, sizeof(function));
    }
    CUdevice device;
    CUresult result = cu.init(0);
    if (result == CUDA_SUCCESS)
        result = cu.device_get(&device, 0);
    if (result != CUDA_SUCCESS) {
        const char *name = NULL;
        cu.error_name(result, &name);
        printf("SKIP: no GPU: the driver answers %s (%d)\n", name ? name : "an error", result);
        return 77;
    }
    char name[256] = "", path[PATH_MAX] = "";
    int version = 0, major = 0, minor = 0;
    size_t bytes = 0;
    struct link_map *map;
    cu.device_name(name, sizeof(name), device);
    cu.device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    cu.device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    cu.device_bytes(&bytes, device);
    cu.driver_version(&version);
    // NVIDIA's libcuda.so.1 is a link to a file whose name ends with the driver's version.
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !realpath(map->l_name, path))
        strcpy(path, "libcuda.so.1");
    printf("%s, compute capability %d.%d, %.1f GiB\n", name, major, minor,
           (double)bytes / (1 << 30));
    printf("CUDA %d.%d, %s\n", version / 1000, version % 1000 / 10, path);
    return 0;
}
