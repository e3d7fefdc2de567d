// SPDX-License-Identifier: Apache-2.0
// A CUDA program in plain C: loads the PTX of examples/sgemm through the driver API, multiplies two
// matrices, and checks the result against the CPU. It shows that programs that use the driver
// directly run too, and, because it needs no CUDA toolkit to build, it is what a machine without
// one can run. Waste: the second allocation of the result is never used, and the matrices stay
// until the end.
//
//     driver_api [SIZE]
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// The part of the driver API that is used here; cuda.h declares the same.
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef uint64_t CUdeviceptr;
typedef int CUdevice;
typedef int CUresult;

static CUresult (*init)(unsigned flags);
static CUresult (*device_get)(CUdevice *device, int ordinal);
static CUresult (*device_name)(char *name, int length, CUdevice device);
static CUresult (*primary_retain)(CUcontext *context, CUdevice device);
static CUresult (*set_current)(CUcontext context);
static CUresult (*module_load)(CUmodule *module, const char *path);
static CUresult (*get_function)(CUfunction *function, CUmodule module, const char *name);
static CUresult (*mem_alloc)(CUdeviceptr *pointer, size_t bytes);
static CUresult (*mem_free)(CUdeviceptr pointer);
static CUresult (*to_device)(CUdeviceptr to, const void *from, size_t bytes);
static CUresult (*to_host)(void *to, CUdeviceptr from, size_t bytes);
static CUresult (*launch)(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, CUstream stream, void **params, void **extra);

static const struct {
    const char *name;
    void *pointer;
} functions[] = {
    {"cuInit", &init},
    {"cuDeviceGet", &device_get},
    {"cuDeviceGetName", &device_name},
    {"cuDevicePrimaryCtxRetain", &primary_retain},
    {"cuCtxSetCurrent", &set_current},
    {"cuModuleLoad", &module_load},
    {"cuModuleGetFunction", &get_function},
    {"cuMemAlloc_v2", &mem_alloc},
    {"cuMemFree_v2", &mem_free},
    {"cuMemcpyHtoD_v2", &to_device},
    {"cuMemcpyDtoH_v2", &to_host},
    {"cuLaunchKernel", &launch},
};

static void check(CUresult result, const char *what)
{
    if (result != 0) {
        fprintf(stderr, "driver_api: %s failed with error %d\n", what, result);
        exit(1);
    }
}

static void load_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        fprintf(stderr, "driver_api: %s\n", dlerror());
        exit(1);
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        *(void **)functions[i].pointer = dlsym(driver, functions[i].name);
        check(!*(void **)functions[i].pointer, functions[i].name);
    }
}

int main(int argc, char **argv)
{
    int size = argc > 1 ? atoi(argv[1]) : 96;
    const char *ptx = argc > 2 ? argv[2] : "examples/sgemm/sgemm.ptx";
    size_t count = (size_t)size * (size_t)size, bytes = count * sizeof(float);
    float *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr device_a, device_b, device_c, unused;
    char name[64];
    if (!a || !b || !c || size < 1)
        return 1;
    for (size_t i = 0; i < count; i++) {
        a[i] = (float)((int)(i * 7 % 13) - 6);
        b[i] = (float)((int)(i * 5 % 11) - 5);
    }
    load_driver();
    check(init(0), "cuInit");
    check(device_get(&device, 0), "cuDeviceGet");
    check(device_name(name, sizeof(name), device), "cuDeviceGetName");
    check(primary_retain(&context, device), "cuDevicePrimaryCtxRetain");
    check(set_current(context), "cuCtxSetCurrent");
    check(module_load(&module, ptx), "cuModuleLoad");
    check(get_function(&kernel, module, "_Z5sgemmiPKfS0_Pf"), "cuModuleGetFunction");
    check(mem_alloc(&device_a, bytes), "cuMemAlloc");
    check(mem_alloc(&device_b, bytes), "cuMemAlloc");
    check(mem_alloc(&device_c, bytes), "cuMemAlloc");
    check(mem_alloc(&unused, bytes), "cuMemAlloc");
    check(to_device(device_a, a, bytes), "cuMemcpyHtoD");
    check(to_device(device_b, b, bytes), "cuMemcpyHtoD");
    void *params[] = {&size, &device_a, &device_b, &device_c};
    unsigned blocks_x = ((unsigned)size + 31) / 32, blocks_y = ((unsigned)size + 7) / 8;
    check(launch(kernel, blocks_x, blocks_y, 1, 32, 8, 1, 0, NULL, params, NULL), "cuLaunchKernel");
    check(to_host(c, device_c, bytes), "cuMemcpyDtoH");
    // Whole numbers, small enough that floats hold every sum exactly in any order.
    for (int y = 0; y < size; y++) {
        for (int x = 0; x < size; x++) {
            float sum = 0;
            for (int k = 0; k < size; k++)
                sum += a[y * size + k] * b[k * size + x];
            if (c[y * size + x] != sum) {
                printf("driver_api: element (%d, %d) is %g, not %g\n", y, x, c[y * size + x], sum);
                return 1;
            }
        }
    }
    check(mem_free(unused), "cuMemFree");
    check(mem_free(device_c), "cuMemFree");
    check(mem_free(device_b), "cuMemFree");
    check(mem_free(device_a), "cuMemFree");
    printf("driver_api: ok, %d x %d on %s\n", size, size, name);
    free(a);
    free(b);
    free(c);
    return 0;
}
