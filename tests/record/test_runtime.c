// SPDX-License-Identifier: Apache-2.0
// Which frames belong to the CUDA runtime, and by which name the program called it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "record/runtime.h"

#define INNER  "libcudart_static_0123456789abcdef0123456789abcdef01234567"
#define HEADER "/usr/local/cuda/include/cuda_runtime.h"

enum { MOST = 6 };

// Frames are "FUNCTION@FILE@IMAGE", innermost first; an unknown function is "?".
static const struct {
    const char *frames[MOST];
    size_t folded;
    const char *called;
} paths[] = {
    // The static runtime.
    {{INNER, INNER, "cudaMalloc", "main"}, 3, "cudaMalloc"},
    {{INNER ".part.0", "cudaFree", "main@a.cu"}, 2, "cudaFree"},
    {{"__cudart123", "cudaMemcpy_ptds", "main"}, 2, "cudaMemcpy"},
    {{"cudart::cudaApiMalloc(void**, unsigned long)", "cudaMalloc", "main"}, 2, "cudaMalloc"},
    {{"?", INNER, "?", "cudaStreamSynchronize_ptsz", "main"}, 4, "cudaStreamSynchronize"},
    {{INNER, "cudaOfTomorrow", "cudaMallocHelper", "main"}, 2, "cudaOfTomorrow"},
    {{INNER, "cudaGetDeviceProperties_v2", "main"}, 2, "cudaGetDeviceProperties"},
    {{INNER, "main"}, 1, ""},
    // The shared runtime and the driver. The simulated ones have sources.
    {{"?@@/lib/libcuda.so.1", "?@@/c/libcudart.so.13", "cudaFree@@/c/libcudart.so.13", "main"},
     3,
     "cudaFree"},
    {{"inner@x.c@/c/libcudart.so.12", "cudaOfTomorrow@x.c@/c/libcudart.so.12", "main@a.c"},
     2,
     "cudaOfTomorrow"},
    {{"cudaMalloc@@/t/lib/libcudart-d0da41ae.so.11.0", "main"}, 1, "cudaMalloc"},
    {{"?@@libcuda.so.570.1", "main"}, 1, ""},
    {{"?@@libcuda.so.1", "?@@libcuda.so.1"}, 2, ""},
    // CUDA's headers, with and without debug information.
    {{INNER, "cudaMalloc", "cudaError cudaMalloc<float>(float**, unsigned long)", "main"},
     3,
     "cudaMalloc"},
    {{INNER, "cudaHostAlloc", "cudaMallocHost(void**, unsigned long, unsigned int)",
      "cudaError cudaMallocHost<float>(float**, unsigned long, unsigned int)", "main"},
     4,
     "cudaMallocHost"},
    {{INNER, "cudaMalloc", "cudaError cudaMalloc<float>(float**, unsigned long)@" HEADER,
      "main@a.cu"},
     3,
     "cudaMalloc"},
    {{INNER, "cudaLaunchKernelExC_ptsz",
      "cudaError cudaLaunchKernelEx<int*>(cudaLaunchConfig_st const*, void (*)(int*), int*)",
      "main"},
     3,
     "cudaLaunchKernelEx"},
    {{INNER, "__cudaLaunchKernel", "__cudaLaunchKernel_helper(CUkern_st*, dim3, dim3)",
      "__device_stub__Z3addPf(float*)", "main"},
     3,
     "cudaLaunchKernel"},
    {{"glint_suballoc@/usr/include/glint/glint.h", "main@a.c"}, 1, ""},
    // Functions of the program, whatever their names.
    {{INNER, "cudaMalloc", "cudaMallocHelper", "main"}, 2, "cudaMalloc"},
    {{"cudaMallocHelper", "main"}, 0, ""},
    {{"libcudart_staticx", "main"}, 0, ""},
    {{"libcudart_static_0123456789abcdef0123456789abcdef0123456", "main"}, 0, ""},
    {{INNER "8", "main"}, 0, ""},
    {{"libcudart_static_0123456789ABCDEF0123456789ABCDEF01234567", "main"}, 0, ""},
    {{"__cudart", "main"}, 0, ""},
    {{"cudart::mine()", "main"}, 0, ""},
    {{"?", "main"}, 0, ""},
    {{"?", "mine", "cudaMalloc", "main"}, 0, ""},
    {{"run@@/home/me/libcudatools.so", "main"}, 0, ""},
    {{"run@@/home/me/libcuda_tools.so", "main"}, 0, ""},
    {{"run@@/home/me/libcudart_tools.so", "main"}, 0, ""},

    // Stand-ins of the simulated GPU, and NVIDIA's libraries, which are the program's.
    {{"common_launch@common.c@/g/lib/glint/sim/libcublas.so.13",
      "cublas_launch_product@launch.c@/g/lib/glint/sim/libcublas.so.13",
      "cublasSgemm_v2@gemm.c@/g/lib/glint/sim/libcublas.so.13", "main@a.c"},
     3,
     "cublasSgemm"},
    {{"cublasSgemm_v2@@/c/lib/libcublas.so.13", "main"}, 0, ""},
    {{"run@@/home/me/glint/sim/libcublas_tools.so", "cublasRun@@/home/me/libother.so", "main"},
     1,
     ""},
    {{INNER, "cudaMalloc", "my::cudaMalloc(void**, unsigned long)", "main"}, 2, "cudaMalloc"},
    {{INNER, "cudaMalloc", "Pool::cudaMalloc(unsigned long)", "main"}, 2, "cudaMalloc"},
    {{INNER, "cudaMalloc", "float* cudaMalloc<float>(unsigned long)", "main"}, 2, "cudaMalloc"},
    {{INNER, "cudaMalloc", "cudaMalloc(void**, int)@pool.cu", "main@a.cu"}, 2, "cudaMalloc"},
    // A callback of the program that the runtime called.
    {{INNER, "cudaFree", "release", INNER, "cudaGraphLaunch", "main"}, 2, "cudaFree"},
};

// Returns the field with that number; NULL: it is empty, or "?".
static const char *field_of(char *text, unsigned number)
{
    char *next = text;
    for (unsigned i = 0; i < number && next; i++)
        strsep(&next, "@");
    const char *field = next ? strsep(&next, "@") : NULL;
    return field && *field && strcmp(field, "?") != 0 ? field : NULL;
}

static void frames_of_the_runtime_are_told_from_the_programs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct record_symbols_frame frames[MOST] = {0};
        enum record_runtime_image images[MOST] = {0};
        char texts[MOST][3][256] = {{{0}}};
        size_t count = 0;
        for (; count < MOST && paths[i].frames[count]; count++) {
            for (unsigned k = 0; k < 3; k++)
                snprintf(texts[count][k], sizeof(texts[count][k]), "%s", paths[i].frames[count]);
            const char *image = field_of(texts[count][2], 2);
            frames[count].function = field_of(texts[count][0], 0);
            frames[count].file = field_of(texts[count][1], 1);
            images[count] = record_runtime_image(image ? image : "/home/me/program");
        }
        struct base_buf called = {0};
        const size_t folded = record_runtime_fold(frames, images, count, &called);
        const char *name = called.length ? called.text : "";
        if (folded != paths[i].folded || strcmp(name, paths[i].called) != 0)
            fail_msg("path %zu: %zu frames of '%s', not %zu of '%s'", i, folded, name,
                     paths[i].folded, paths[i].called);
        base_buf_fini(&called);
    }
}

// The binary search needs sorted names.
static void names_of_the_interface_are_in_order(void **state)
{
    (void)state;
    static const char *const names[] = {
#include "record/runtime_names.def"
    };
    for (size_t i = 1; i < sizeof(names) / sizeof(names[0]); i++)
        assert_true(strcmp(names[i - 1], names[i]) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_the_runtime_are_told_from_the_programs),
        cmocka_unit_test(names_of_the_interface_are_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
