// SPDX-License-Identifier: Apache-2.0
// Tests the runtime as a compiled program uses it, without a CUDA compiler: registers a handmade
// fatbin, launches its kernel, and reads and writes its variables. The older versions of the
// library must not write beyond their versions' structures.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cudaabi/cudaabi.h"

#define OK(call) assert_int_equal((call), cudaSuccess)

// --- A program ----------------------------------------------------------------------------------

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .b8 counters[16] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, "
    "0};\n"
    ".visible .const .align 4 .u32 factor;\n"
    ".visible .entry scale(.param .u64 to, .param .u32 n)\n"
    "{\n"
    ".reg .pred %p;\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\n"
    "ld.param.u64 %d0, [to];\nld.param.u32 %r0, [n];\n"
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n"
    "mad.lo.s32 %r4, %r1, %r2, %r3;\n"
    "setp.ge.u32 %p, %r4, %r0;\n@%p bra done;\n"
    "cvta.to.global.u64 %d1, %d0;\nmul.wide.u32 %d2, %r4, 4;\nadd.s64 %d3, %d1, %d2;\n"
    "ld.const.u32 %r5, [factor];\nld.global.u32 %r6, [%d3];\nmul.lo.s32 %r6, %r6, %r5;\n"
    "st.global.u32 [%d3], %r6;\n"
    "done:\nret;\n"
    "}\n";

// A fatbin of one stored PTX entry, as nvcc --no-compress makes it.
static struct {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t entries_bytes;
    struct {
        uint16_t kind, version;
        uint32_t header_bytes;
        uint64_t payload_bytes;
        uint32_t compressed_bytes, options_offset;
        uint16_t minor, major;
        uint32_t arch, name_offset, name_bytes;
        uint64_t flags, zero, full_bytes;
    } entry;
    char text[(sizeof ptx + 7) / 8 * 8];
} fatbin = {
    .magic = 0xBA55ED50,
    .version = 1,
    .header_bytes = 16,
    .entries_bytes = 64 + sizeof fatbin.text,
    .entry = {.kind = 1,
              .version = 0x0101,
              .header_bytes = 64,
              .payload_bytes = sizeof fatbin.text,
              .major = 7,
              .arch = 70,
              .flags = 0x11},
};

static struct {
    uint32_t magic, version;
    const void *fatbin;
    void *names;
} wrapper = {0x466243b1, 1, &fatbin, NULL};

static uint32_t counters_shadow[4], factor_shadow;
static void **program;

// The host function that represents the kernel: a launch passes its address.
static void scale(void) {}

static int register_program(void **state)
{
    (void)state;
    memcpy(fatbin.text, ptx, sizeof ptx);
    char name[] = "scale", counters[] = "counters", factor[] = "factor";
    static char names[3][16];
    memcpy(names[0], name, sizeof name);
    memcpy(names[1], counters, sizeof counters);
    memcpy(names[2], factor, sizeof factor);
    program = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(program, (const char *)(uintptr_t)scale, names[0], names[0], -1, NULL,
                           NULL, NULL, NULL, NULL);
    __cudaRegisterVar(program, (char *)counters_shadow, names[1], names[1], 0, 16, 0, 0);
    __cudaRegisterVar(program, (char *)&factor_shadow, names[2], names[2], 0, 4, 1, 0);
    __cudaRegisterFatBinaryEnd(program);
    return program ? 0 : -1;
}

// What the statement scale<<<grid, block, 0, stream>>>(to, n) compiles to.
static cudaError_t launch_scale(unsigned grid, unsigned block, cudaStream_t stream, uint32_t *to,
                                uint32_t n)
{
    static cudaKernel_t kernel;
    void *arguments[] = {&to, &n};
    dim3 popped_grid, popped_block;
    size_t shared_bytes;
    cudaStream_t popped_stream;
    if (!kernel)
        OK(__cudaGetKernel(&kernel, (const void *)(uintptr_t)scale));
    assert_int_equal(
        __cudaPushCallConfiguration((dim3){grid, 1, 1}, (dim3){block, 1, 1}, 0, stream), 0);
    OK(__cudaPopCallConfiguration(&popped_grid, &popped_block, &shared_bytes, &popped_stream));
    assert_int_equal(popped_grid.x, grid);
    assert_int_equal(popped_block.x, block);
    assert_ptr_equal(popped_stream, stream);
    return __cudaLaunchKernel(kernel, popped_grid, popped_block, arguments, shared_bytes,
                              popped_stream);
}

// --- Tests --------------------------------------------------------------------------------------

// Must run first: after a process has used the driver, its children cannot use it.
static void a_managed_variable_that_cannot_be_loaded_ends_the_program(void **state)
{
    (void)state;
    int said[2];
    assert_int_equal(pipe(said), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static char name[] = "total";
        static uint32_t *total;
        dup2(said[1], STDERR_FILENO);
        strcpy(fatbin.text, ".version 7.0\n.target sm_70\n.what");
        void **broken = __cudaRegisterFatBinary(&wrapper);
        __cudaRegisterManagedVar(broken, (void **)&total, name, name, 0, 4, 0, 0);
        __cudaRegisterFatBinaryEnd(broken);
        __cudaInitModule(broken);
        _exit((int)*total); // stands for the rest of the program
    }
    int status;
    char text[2000] = "";
    close(said[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(read(said[0], text, sizeof text - 1) > 0);
    close(said[0]);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 125);
    assert_non_null(strstr(text, "managed variable total"));
}

static void a_registered_kernel_runs_with_registered_variables(void **state)
{
    (void)state;
    uint32_t host[1000], factor = 3, *device;
    for (uint32_t i = 0; i < 1000; i++)
        host[i] = i;
    OK(cudaMemcpyToSymbol(&factor_shadow, &factor, 4, 0, cudaMemcpyHostToDevice));
    OK(cudaMalloc((void **)&device, sizeof host));
    OK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    OK(launch_scale(8, 128, NULL, device, 999));
    OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (uint32_t i = 0; i < 999; i++)
        assert_int_equal(host[i], 3 * i);
    assert_int_equal(host[999], 999);
    OK(cudaFree(device));
}

static void initial_values_of_variables_are_read_back(void **state)
{
    (void)state;
    uint32_t values[4] = {0};
    OK(cudaMemcpyFromSymbol(values, counters_shadow, 16, 0, cudaMemcpyDeviceToHost));
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(values[i], i + 1);
    size_t size_bytes = 0;
    OK(cudaGetSymbolSize(&size_bytes, counters_shadow));
    assert_int_equal(size_bytes, 16);
    assert_int_equal(cudaGetSymbolSize(&size_bytes, values), cudaErrorInvalidSymbol);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidSymbol);
}

static void a_host_function_and_its_handle_mean_the_same_kernel(void **state)
{
    (void)state;
    struct cudaFuncAttributes by_function, by_handle;
    cudaKernel_t kernel;
    OK(cudaGetKernel(&kernel, (const void *)(uintptr_t)scale));
    OK(cudaFuncGetAttributes(&by_function, (const void *)(uintptr_t)scale));
    OK(cudaFuncGetAttributes(&by_handle, kernel));
    assert_memory_equal(&by_function, &by_handle, sizeof by_handle);
    assert_int_equal(by_function.maxThreadsPerBlock, 1024);

    uint32_t *device, n = 1, host = 6, factor = 7;
    void *arguments[] = {&device, &n};
    OK(cudaMemcpyToSymbol(&factor_shadow, &factor, 4, 0, cudaMemcpyHostToDevice));
    OK(cudaMalloc((void **)&device, 4));
    OK(cudaMemcpy(device, &host, 4, cudaMemcpyHostToDevice));
    const dim3 one = {1, 1, 1};
    OK(cudaLaunchKernel((const void *)(uintptr_t)scale, one, one, arguments, 0, NULL));
    OK(cudaLaunchKernel(kernel, one, one, arguments, 0, cudaStreamPerThread));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(&host, device, 4, cudaMemcpyDeviceToHost));
    assert_int_equal(host, 6 * 7 * 7);
    OK(cudaFree(device));
}

static void launch_configurations_nest(void **state)
{
    (void)state;
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
    for (unsigned i = 1; i <= 5; i++)
        assert_int_equal(__cudaPushCallConfiguration((dim3){i, 1, 1}, (dim3){1, i, 1}, i, NULL), 0);
    for (unsigned i = 5; i >= 1; i--) {
        OK(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream));
        assert_int_equal(grid.x, i);
        assert_int_equal(block.y, i);
        assert_int_equal(shared_bytes, i);
    }
    assert_int_equal(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream),
                     cudaErrorMissingConfiguration);
    assert_int_equal(cudaGetLastError(), cudaErrorMissingConfiguration);
}

static void *fails_on_its_own(void *argument)
{
    (void)argument;
    assert_int_equal(cudaSetDevice(1234), cudaErrorInvalidDevice);
    assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    return NULL;
}

static void each_thread_has_its_own_last_error(void **state)
{
    (void)state;
    pthread_t thread;
    OK(cudaGetLastError());
    assert_int_equal(pthread_create(&thread, NULL, fails_on_its_own, NULL), 0);
    pthread_join(thread, NULL);
    OK(cudaPeekAtLastError());
    assert_int_equal(cudaMalloc(NULL, 4), cudaErrorInvalidValue);
    assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidValue);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
    OK(cudaGetLastError());
}

// Copies a matrix of 5 rows to pitched memory, to an array, and back, with all 2D and 3D copies.
static void copies_of_two_and_three_dimensions_keep_every_byte(void **state)
{
    (void)state;
    enum { WIDTH = 48, HEIGHT = 5 };
    unsigned char host[HEIGHT][WIDTH + 3], back[HEIGHT][WIDTH];
    for (size_t i = 0; i < sizeof host; i++)
        ((unsigned char *)host)[i] = (unsigned char)(i * 7);
    void *pitched;
    size_t pitch;
    cudaArray_t array;
    const struct cudaChannelFormatDesc channels = {32, 32, 0, 0, cudaChannelFormatKindUnsigned};
    OK(cudaMallocPitch(&pitched, &pitch, WIDTH, HEIGHT));
    assert_true(pitch >= WIDTH);
    OK(cudaMallocArray(&array, &channels, WIDTH / 8, HEIGHT, 0));
    OK(cudaMemcpy2D(pitched, pitch, host, sizeof host[0], WIDTH, HEIGHT, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DToArray(array, 0, 0, pitched, pitch, WIDTH, HEIGHT, cudaMemcpyDeviceToDevice));
    const struct cudaMemcpy3DParms copy = {
        .srcArray = array,
        .srcPos = {1, 1, 0},
        .dstPtr = {&back[1][8], WIDTH, WIDTH, HEIGHT},
        .extent = {WIDTH / 8 - 1, HEIGHT - 1, 1},
        .kind = cudaMemcpyDeviceToHost,
    };
    memset(back, 0, sizeof back);
    OK(cudaMemcpy3D(&copy));
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            assert_int_equal(back[y][x], y >= 1 && x >= 8 ? host[y][x] : 0);
    memset(back, 0, sizeof back);
    OK(cudaMemcpyFromArray(back, array, 40, 0, WIDTH * HEIGHT - 40, cudaMemcpyDeviceToHost));
    for (int i = 40; i < WIDTH * HEIGHT; i++)
        assert_int_equal(((unsigned char *)back)[i - 40], host[i / WIDTH][i % WIDTH]);
    OK(cudaMemset2D(pitched, pitch, 9, WIDTH - 1, HEIGHT));
    OK(cudaMemcpy2D(back, WIDTH, pitched, pitch, WIDTH, HEIGHT, cudaMemcpyDefault));
    assert_int_equal(back[4][WIDTH - 2], 9);
    assert_int_equal(back[4][WIDTH - 1], host[4][WIDTH - 1]);
    OK(cudaFreeArray(array));
    OK(cudaFree(pitched));
}

static void streams_order_copies_and_launches(void **state)
{
    (void)state;
    uint32_t factor = 2, host[64], *device;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    float ms = -1;
    for (uint32_t i = 0; i < 64; i++)
        host[i] = i + 1;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    OK(cudaMallocAsync((void **)&device, sizeof host, stream));
    OK(cudaMemcpyToSymbolAsync(&factor_shadow, &factor, 4, 0, cudaMemcpyHostToDevice, stream));
    OK(cudaMemcpyAsync(device, host, sizeof host, cudaMemcpyHostToDevice, stream));
    OK(cudaEventRecord(begin, stream));
    for (int i = 0; i < 5; i++)
        OK(launch_scale(1, 64, stream, device, 64));
    OK(cudaEventRecord(end, stream));
    OK(cudaMemcpyAsync(host, device, sizeof host, cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(device, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaEventElapsedTime(&ms, begin, end));
    assert_true(ms > 0);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(host[i], (i + 1) * 32);
    OK(cudaEventDestroy(begin));
    OK(cudaEventDestroy(end));
    OK(cudaStreamDestroy(stream));
}

static void a_graph_of_explicit_nodes_can_be_changed_and_launched(void **state)
{
    (void)state;
    uint32_t factor = 10, n = 4, host[4] = {0}, *device;
    OK(cudaMemcpyToSymbol(&factor_shadow, &factor, 4, 0, cudaMemcpyHostToDevice));
    OK(cudaMalloc((void **)&device, sizeof host));
    void *arguments[] = {&device, &n};
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t fill, kernel, copy;
    const struct cudaMemsetParams fill_params = {device, 0, 7, 4, 4, 1};
    struct cudaKernelNodeParams kernel_params = {
        .func = (void *)(uintptr_t)scale,
        .gridDim = {1, 1, 1},
        .blockDim = {32, 1, 1},
        .kernelParams = arguments,
    };
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemsetNode(&fill, graph, NULL, 0, &fill_params));
    OK(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &kernel_params));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, host, device, sizeof host,
                                cudaMemcpyDeviceToHost));
    struct cudaKernelNodeParams found;
    OK(cudaGraphKernelNodeGetParams(kernel, &found));
    assert_ptr_equal(found.func, (void *)(uintptr_t)scale);
    assert_int_equal(found.blockDim.x, 32);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaStreamSynchronize(NULL));
    for (int i = 0; i < 4; i++)
        assert_int_equal(host[i], 70);
    n = 2;
    OK(cudaGraphExecKernelNodeSetParams(exec, kernel, &kernel_params));
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaStreamSynchronize(NULL));
    assert_int_equal(host[1], 70);
    assert_int_equal(host[2], 7);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(device));
}

// If the program frees memory that a graph allocated, the next launch allocates it again at the
// same address. The graph cannot be launched again before that free.
static void memory_of_a_graph_may_be_left_to_the_program(void **state)
{
    (void)state;
    uint32_t word;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t alloc, fill;
    cudaStream_t stream;
    struct cudaMemAllocNodeParams memory = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {.type = cudaMemLocationTypeDevice}},
        .bytesize = 4096};
    OK(cudaStreamCreate(&stream));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemAllocNode(&alloc, graph, NULL, 0, &memory));
    const struct cudaMemsetParams fill_params = {memory.dptr, 0, 8, 4, 1024, 1};
    OK(cudaGraphAddMemsetNode(&fill, graph, &alloc, 1, &fill_params));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++) {
        OK(cudaGraphLaunch(exec, stream));
        OK(cudaMemcpyAsync(&word, memory.dptr, 4, cudaMemcpyDeviceToHost, stream));
        OK(cudaStreamSynchronize(stream));
        assert_int_equal(word, 8);
        assert_int_equal(cudaGraphLaunch(exec, stream), cudaErrorInvalidValue);
        OK(i == 1 ? cudaFree(memory.dptr) : cudaFreeAsync(memory.dptr, stream));
        assert_int_equal(cudaFreeAsync(memory.dptr, stream), cudaErrorInvalidValue);
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    for (int i = 0; i < 3; i++)
        OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaMemcpyAsync(&word, memory.dptr, 4, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(word, 8); // the memory outlives its graph until it is freed
    OK(cudaFree(memory.dptr));
    assert_int_equal(cudaFree(memory.dptr), cudaErrorInvalidValue);
    cudaGetLastError();
    OK(cudaStreamDestroy(stream));
}

static void device_properties_agree_with_attributes(void **state)
{
    (void)state;
    struct cudaDeviceProp is;
    int value;
    OK(cudaGetDeviceProperties(&is, 0));
    assert_true(is.name[0] != '\0');
    assert_int_equal(is.warpSize, 32);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    assert_int_equal(is.multiProcessorCount, value);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    assert_int_equal(is.sharedMemPerBlockOptin, value);
    size_t left, total;
    OK(cudaMemGetInfo(&left, &total));
    assert_true(left <= total);
}

// Opens another version of the library, from the folder of the one that this program is linked
// with. The thread sanitizer calls a library's exit handlers even after the library was closed.
static void close_library(void *library)
{
#ifndef __SANITIZE_THREAD__
    dlclose(library);
#else
    (void)library;
#endif
}

static void *open_beside(const char *name)
{
    Dl_info newest;
    assert_true(dladdr(dlsym(RTLD_DEFAULT, "cudaMalloc"), &newest));
    int folder = (int)(strrchr(newest.dli_fname, '/') - newest.dli_fname);
    char path[4096];
    snprintf(path, sizeof path, "%.*s/%s", folder, newest.dli_fname, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    return library;
}

// Programs built with CUDA 11 and 12 identify a kernel by its host function.
static void older_versions_run_programs(void **state)
{
    (void)state;
    static const char *const libraries[] = {"libcudart.so.12", "libcudart.so.11.0"};
    static char name[] = "scale", factor_name[] = "factor";
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        void *library = open_beside(libraries[i]);
#define FUNCTION(name)                             \
    __typeof__(&name) old_##name;                  \
    *(void **)&old_##name = dlsym(library, #name); \
    assert_non_null(old_##name);                   \
    assert_ptr_not_equal(old_##name, dlsym(RTLD_DEFAULT, #name))
        FUNCTION(__cudaRegisterFatBinary);
        FUNCTION(__cudaRegisterFunction);
        FUNCTION(__cudaRegisterVar);
        FUNCTION(__cudaUnregisterFatBinary);
        FUNCTION(cudaMalloc);
        FUNCTION(cudaMemcpy);
        FUNCTION(cudaMemcpyToSymbol);
        FUNCTION(cudaLaunchKernel);
        FUNCTION(cudaGetLastError);
        FUNCTION(cudaFree);
#undef FUNCTION
        void **handle = old___cudaRegisterFatBinary(&wrapper);
        old___cudaRegisterFunction(handle, (const char *)(uintptr_t)scale, name, name, -1, NULL,
                                   NULL, NULL, NULL, NULL);
        old___cudaRegisterVar(handle, (char *)&factor_shadow, factor_name, factor_name, 0, 4, 1, 0);
        uint32_t *device, n = 2, host[2] = {3, 4}, factor = 5;
        void *arguments[] = {&device, &n};
        OK(old_cudaMalloc((void **)&device, sizeof host));
        OK(old_cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
        OK(old_cudaMemcpyToSymbol(&factor_shadow, &factor, 4, 0, cudaMemcpyHostToDevice));
        OK(old_cudaLaunchKernel((const void *)(uintptr_t)scale, (dim3){1, 1, 1}, (dim3){32, 1, 1},
                                arguments, 0, NULL));
        OK(old_cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
        assert_int_equal(host[0], 15);
        assert_int_equal(host[1], 20);
        // Before CUDA 13, an invalid launch shape has a separate error code.
        assert_int_equal(old_cudaLaunchKernel((const void *)(uintptr_t)scale, (dim3){0, 1, 1},
                                              (dim3){1, 1, 1}, arguments, 0, NULL),
                         cudaErrorInvalidConfiguration);
        assert_int_equal(old_cudaGetLastError(), cudaErrorInvalidConfiguration);
        OK(old_cudaFree(device));
        old___cudaUnregisterFatBinary(handle);
        close_library(library);
    }
}

// The older libraries must not write beyond the smaller structures of programs built for them.
static void older_versions_keep_to_their_own_structures(void **state)
{
    (void)state;
    static const struct {
        const char *library, *function;
        size_t size_bytes;
    } cases[] = {
        {"libcudart.so.12", "cudaGetDeviceProperties_v2", 1032},
        {"libcudart.so.12", "cudaGetDeviceProperties", 728},
        {"libcudart.so.11.0", "cudaGetDeviceProperties", 728},
    };
    struct cudaDeviceProp is;
    OK(cudaGetDeviceProperties(&is, 0));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        void *library = open_beside(cases[i].library);
        int (*properties)(void *, int);
        *(void **)&properties = dlsym(library, cases[i].function);
        assert_non_null(properties);
        unsigned char room[2048];
        memset(room, 0xA5, sizeof room);
        OK(properties(room, 0));
        for (size_t at = cases[i].size_bytes; at < sizeof room; at++)
            assert_int_equal(room[at], 0xA5);
        int major, processors;
        memcpy(&major, room + 360, sizeof major);
        memcpy(&processors, room + 388, sizeof processors);
        assert_int_equal(major, is.major);
        assert_int_equal(processors, is.multiProcessorCount);
        int (*attributes)(void *, const void *);
        *(void **)&attributes = dlsym(library, "cudaPointerGetAttributes");
        memset(room, 0xA5, sizeof room);
        OK(attributes(room, &is));
        assert_int_equal(room[24], 0xA5);
        close_library(library);
    }
}

static pthread_barrier_t at_reset;

// Uses the device before and after one of the two threads resets it.
static void use_around_reset(bool resets)
{
    uint32_t *before, *after;
    uint32_t word = 1;
    OK(cudaMalloc((void **)&before, 4));
    pthread_barrier_wait(&at_reset);
    if (resets)
        OK(cudaDeviceReset());
    pthread_barrier_wait(&at_reset);
    OK(cudaMalloc((void **)&after, 4));
    OK(cudaMemset(after, 0, 4));
    OK(cudaMemcpy(&word, after, 4, cudaMemcpyDeviceToHost));
    assert_int_equal(word, 0);
    OK(cudaFree(after));
    pthread_barrier_wait(&at_reset);
    if (resets) // checked last, so that no allocation reuses the address
        assert_int_equal(cudaFree(before), cudaErrorInvalidValue);
}

static void *use_without_resetting(void *unused)
{
    (void)unused;
    use_around_reset(false);
    return NULL;
}

// In threads where the device's context was current, their next call makes it current again.
static void any_thread_may_go_on_after_a_reset(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_barrier_init(&at_reset, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, use_without_resetting, NULL), 0);
    use_around_reset(true);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&at_reset);
    cudaGetLastError();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_managed_variable_that_cannot_be_loaded_ends_the_program),
        cmocka_unit_test(a_registered_kernel_runs_with_registered_variables),
        cmocka_unit_test(initial_values_of_variables_are_read_back),
        cmocka_unit_test(a_host_function_and_its_handle_mean_the_same_kernel),
        cmocka_unit_test(launch_configurations_nest),
        cmocka_unit_test(each_thread_has_its_own_last_error),
        cmocka_unit_test(copies_of_two_and_three_dimensions_keep_every_byte),
        cmocka_unit_test(streams_order_copies_and_launches),
        cmocka_unit_test(a_graph_of_explicit_nodes_can_be_changed_and_launched),
        cmocka_unit_test(memory_of_a_graph_may_be_left_to_the_program),
        cmocka_unit_test(device_properties_agree_with_attributes),
        cmocka_unit_test(older_versions_run_programs),
        cmocka_unit_test(older_versions_keep_to_their_own_structures),
        cmocka_unit_test(any_thread_may_go_on_after_a_reset),
    };
    return cmocka_run_group_tests(tests, register_program, NULL);
}
