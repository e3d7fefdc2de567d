// SPDX-License-Identifier: Apache-2.0
// Launches that are alike, and near misses that differ in one thing from others. The host waits
// after each. Prints what the kernels compute.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudaabi/cudaabi.h"

enum { COUNT = 64, BYTES = 4096, ROUNDS = 5 };

#define TRY(call)                                              \
    do {                                                       \
        const CUresult result = (call);                        \
        if (result != CUDA_SUCCESS) {                          \
            printf("%s failed with %d\n", #call, (int)result); \
            exit(1);                                           \
        }                                                      \
    } while (0)

#define HEAD ".version 7.0\n.target sm_80\n.address_size 64\n"
#define BODY                                                   \
    "{ .reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .pred %p<3>;\n" \
    "  mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 4;\n"

static const char code[] = HEAD
    // Reads `from`, and writes `to` if n is not 0.
    ".visible .entry copy(.param .u64 from, .param .u64 to, .param .u32 n)\n" BODY
    "  ld.param.u64 %rd2, [from]; add.s64 %rd3, %rd2, %rd1; ld.global.u32 %r2, [%rd3];\n"
    "  add.u32 %r2, %r2, 1; ld.param.u32 %r3, [n]; setp.eq.u32 %p1, %r3, 0; @%p1 bra END;\n"
    "  ld.param.u64 %rd4, [to]; add.s64 %rd5, %rd4, %rd1; st.global.u32 [%rd5], %r2; END: ret; }\n"
    // Writes the object whose address `table` holds, which changes.
    ".visible .entry follow(.param .u64 table)\n" BODY
    "  ld.param.u64 %rd2, [table]; ld.global.u64 %rd4, [%rd2]; add.s64 %rd5, %rd4, %rd1;\n"
    "  st.global.u32 [%rd5], %r1; ret; }\n"
    // Writes an object that is only a distance away.
    ".visible .entry beyond(.param .u64 to, .param .u64 distance)\n" BODY
    "  ld.param.u64 %rd2, [to]; add.s64 %rd3, %rd2, %rd1; st.global.u32 [%rd3], %r1;\n"
    "  ld.param.u64 %rd4, [distance]; add.s64 %rd3, %rd3, %rd4; st.global.u32 [%rd3], %r1; ret; }\n"
    // Its argument is no address before it is decoded, so it does not say what is accessed.
    ".visible .entry tagged(.param .u64 to)\n" BODY
    "  ld.param.u64 %rd2, [to]; and.b64 %rd2, %rd2, 0x00ffffffffffffff; add.s64 %rd3, %rd2, %rd1;\n"
    "  st.global.u32 [%rd3], %r1; ret; }\n"
    ".visible .global .align 4 .b8 variable[256];\n"
    ".visible .entry varied(.param .u32 n)\n" BODY
    "  mov.u64 %rd2, variable; add.s64 %rd3, %rd2, %rd1; st.global.u32 [%rd3], %r1; ret; }\n";

static const char other_code[] = HEAD
    ".visible .entry copy(.param .u64 from, .param .u64 to, .param .u32 n)\n" BODY
    "  ld.param.u64 %rd4, [from]; add.s64 %rd5, %rd4, %rd1; st.global.u32 [%rd5], %r1; ret; }\n";

static CUdeviceptr make(void)
{
    CUdeviceptr made;
    TRY(cuMemAlloc_v2(&made, BYTES));
    TRY(cuMemsetD8_v2(made, 0, BYTES));
    return made;
}

static CUmodule load(const char *text)
{
    CUmodule module;
    TRY(cuModuleLoadData(&module, text));
    return module;
}

static CUfunction get(CUmodule module, const char *name)
{
    CUfunction function;
    TRY(cuModuleGetFunction(&function, module, name));
    return function;
}

static void launch(CUfunction function, unsigned blocks, unsigned threads, unsigned shared,
                   void **params)
{
    TRY(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, shared, NULL, params, NULL));
    TRY(cuCtxSynchronize());
}

static void copy(CUfunction function, unsigned blocks, unsigned threads, unsigned shared,
                 CUdeviceptr from, CUdeviceptr to, unsigned n)
{
    launch(function, blocks, threads, shared, (void *[]){&from, &to, &n});
}

static void show(CUdeviceptr from)
{
    unsigned values[BYTES / 4], sum = 0;
    TRY(cuMemcpyDtoH_v2(values, from, BYTES));
    for (unsigned i = 0; i < BYTES / 4; i++)
        sum += (i + 1) * values[i];
    printf("%u\n", sum);
}

static void graph(CUfunction function, CUdeviceptr from, CUdeviceptr to)
{
    CUstream stream;
    CUgraph captured;
    CUgraphExec exec;
    unsigned n = 1;
    TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    TRY(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    TRY(cuLaunchKernel(function, 1, 1, 1, COUNT, 1, 1, 0, stream, (void *[]){&from, &to, &n},
                       NULL));
    TRY(cuStreamEndCapture(stream, &captured));
    TRY(cuGraphInstantiateWithFlags(&exec, captured, 0));
    for (int i = 0; i < ROUNDS; i++) {
        TRY(cuGraphLaunch(exec, stream));
        TRY(cuStreamSynchronize(stream));
    }
}

int main(void)
{
    CUdevice device;
    CUcontext context;
    TRY(cuInit(0));
    TRY(cuDeviceGet(&device, 0));
    TRY(cuDevicePrimaryCtxRetain(&context, device));
    TRY(cuCtxSetCurrent(context));
    CUmodule module = load(code), again = load(code), other = load(other_code);
    CUfunction function = get(module, "copy");
    CUdeviceptr a = make(), b = make(), c = make(), table = make();
    for (int i = 0; i < ROUNDS; i++) // alike, wherever in the objects
        copy(function, 1, COUNT, 0, a + 4 * (unsigned)i, b, 1);
    copy(function, 2, COUNT, 0, a, b, 1); // each differs in one thing
    copy(function, 1, COUNT / 2, 0, a, b, 1);
    copy(function, 1, COUNT, 64, a, b, 1);
    copy(function, 1, COUNT, 0, c, b, 1);
    copy(function, 1, COUNT, 0, a, b, 0);
    copy(get(again, "copy"), 1, COUNT, 0, a, b, 1);
    copy(get(other, "copy"), 1, COUNT, 0, a, b, 1);
    copy(function, 1, COUNT, 0, a, b, 1); // like the first ones
    CUdeviceptr old = c;
    TRY(cuMemFree_v2(c));
    c = make();
    if (c != old)
        printf("another address\n");
    copy(function, 1, COUNT, 0, c, b, 1); // another object
    graph(function, a, b);
    for (int i = 0; i < ROUNDS; i++) {
        CUdeviceptr to = i % 2 ? a : c;
        TRY(cuMemcpyHtoD_v2(table, &to, sizeof(to)));
        launch(get(module, "follow"), 1, COUNT, 0, (void *[]){&table});
    }
    CUdeviceptr distance = b - a, tagged = a | (CUdeviceptr)0xa5 << 56;
    unsigned n = 3;
    for (int i = 0; i < ROUNDS; i++)
        launch(get(module, "beyond"), 1, COUNT, 0, (void *[]){&a, &distance});
    for (int i = 0; i < ROUNDS; i++)
        launch(get(module, "tagged"), 1, COUNT, 0, (void *[]){&tagged});
    for (int i = 0; i < ROUNDS; i++)
        launch(get(module, "varied"), 1, COUNT, 0, (void *[]){&n});
    show(a);
    show(b);
    show(c);
    return 0;
}
