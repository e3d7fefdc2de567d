// SPDX-License-Identifier: Apache-2.0
// Launches that are sampled, and near misses that must not be. Prints what the kernels compute.
//
//   sampled            all of them
//   sampled threads    two threads launch one kernel on two streams
//   sampled cupti WHEN LIBRARY   loads a library like CUPTI first, and calls a function of it that
//                      needs the driver never, at the start (before cuInit), between launches
//                      (middle), or while another thread launches (beside)
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudaabi/cudaabi.h"

enum { COUNT = 128, BYTES = COUNT * 4 };

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
#define ONE(name, body)                              \
    ".visible .entry " name "(.param .u64 a)\n" BODY \
    "  ld.param.u64 %rd2, [a]; add.s64 %rd3, %rd2, %rd1;\n" body "  ret; }\n"

static const char plain[] = HEAD
    // Reads `from`, writes `to`, and leaves `idle` alone.
    ".visible .entry copy(.param .u64 from, .param .u64 to, .param .u64 idle)\n" BODY
    "  ld.param.u64 %rd2, [from]; add.s64 %rd3, %rd2, %rd1; ld.global.u32 %r2, [%rd3];\n"
    "  ld.param.u64 %rd4, [to]; add.s64 %rd5, %rd4, %rd1; st.global.u32 [%rd5], %r2; ret; }\n" ONE(
        "count", "  atom.global.add.u32 %r2, [%rd2], 1;\n")
        ONE("reduce", "  red.global.add.u32 [%rd2], 1;\n") ONE("write",
                                                               "  st.global.u32 [%rd3], %r1;\n")
            ONE("generic", "  ld.u32 %r2, [%rd3]; add.u32 %r2, %r2, 1; st.u32 [%rd3], %r2;\n") ONE(
                "wide",
                "  and.b32 %r3, %r1, 31; mul.wide.u32 %rd1, %r3, 16; add.s64 %rd3, %rd2, %rd1;\n"
                "  ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd3]; mov.u32 %r6, %ntid.x;\n"
                "  setp.gt.u32 %p1, %r6, 1024; @%p1 st.global.u32 [%rd3], %r5;\n")
    // The address lies in memory: the object that it leads to is none of the arguments.
    ONE("follow", "  ld.global.u64 %rd4, [%rd2]; add.s64 %rd5, %rd4, %rd1;\n"
                  "  st.global.u32 [%rd5], %r1;\n")
        ONE("nothing", "  setp.eq.u64 %p1, %rd2, 0; @%p1 st.global.u32 [%rd3], %r1;\n")
    // What lies in shared memory is no object, although the address is generic.
    ".shared .align 4 .b8 room[512];\n" ONE(
        "shared", "  cvt.u64.u32 %rd6, %r1; mov.u64 %rd4, room; cvta.shared.u64 %rd5, %rd4;\n"
                  "  add.s64 %rd5, %rd5, %rd1; st.u32 [%rd5], %r1; bar.sync 0;\n"
                  "  ld.u32 %r2, [%rd5]; st.global.u32 [%rd3], %r2;\n")
        ONE("ncclDevKernel_Wait", "  st.global.u32 [%rd3], %r1;\n")
            ONE("together", "  st.global.u32 [%rd3], %r1;\n")
                ONE("many", "  st.global.u32 [%rd3], %r1;\n")
                    ONE("crowd", "  st.global.u32 [%rd3], %r1;\n")
                        ONE("captured", "  st.global.u32 [%rd3], %r1;\n");

static const char with_variable[] = HEAD ".visible .global .align 4 .u32 steps;\n" ONE(
    "step", "  atom.global.add.u32 %r2, [steps], 1; st.global.u32 [%rd3], %r2;\n");
static const char with_constant[] = HEAD ".visible .const .align 4 .u32 scale = 3;\n" ONE(
    "scaled", "  ld.const.u32 %r2, [scale]; st.global.u32 [%rd3], %r2;\n");

static CUmodule module;

static CUdeviceptr make(void)
{
    CUdeviceptr made;
    TRY(cuMemAlloc_v2(&made, BYTES));
    TRY(cuMemsetD8_v2(made, 0, BYTES));
    return made;
}

static CUfunction get(CUmodule of, const char *name)
{
    CUfunction function;
    TRY(cuModuleGetFunction(&function, of, name));
    return function;
}

static void launch(CUfunction function, unsigned blocks, CUstream stream, void **params)
{
    TRY(cuLaunchKernel(function, blocks, 1, 1, COUNT, 1, 1, 0, stream, params, NULL));
}

static void show(const char *what, CUdeviceptr from)
{
    unsigned values[COUNT], sum = 0;
    TRY(cuMemcpyDtoH_v2(values, from, BYTES));
    for (unsigned i = 0; i < COUNT; i++)
        sum += (i + 1) * values[i];
    printf("%s %u\n", what, sum);
}

static void launch_all(void)
{
    static const char *const single[] = {"count", "reduce",  "write",  "generic",
                                         "wide",  "nothing", "shared", "ncclDevKernel_Wait"};
    CUdeviceptr a = make(), b = make(), idle = make(), table = make(), hidden = make();
    CUfunction function = get(module, "copy");
    for (int i = 0; i < 7; i++) {
        launch(function, 1, NULL, (void *[]){&a, &b, &idle});
        TRY(cuCtxSynchronize());
    }
    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
        // Two blocks would race, where they add to what they load.
        const unsigned blocks = strcmp(single[i], "generic") == 0 ? 1 : 2;
        launch(get(module, single[i]), blocks, NULL, (void *[]){&a});
        TRY(cuCtxSynchronize());
        show(single[i], a);
    }
    TRY(cuMemcpyHtoD_v2(table, &hidden, sizeof(hidden)));
    launch(get(module, "follow"), 1, NULL, (void *[]){&table});
    TRY(cuCtxSynchronize());
    show("follow", hidden);

    // Blocks that all run at once may wait for each other; those of other launches cannot.
    function = get(module, "many");
    launch(function, 133, NULL, (void *[]){&a});
    TRY(cuCtxSynchronize());
    launch(function, 10000, NULL, (void *[]){&a});
    TRY(cuCtxSynchronize());
    function = get(module, "together");
    TRY(cuLaunchCooperativeKernel(function, 1, 1, 1, COUNT, 1, 1, 0, NULL, (void *[]){&a}));
    TRY(cuCtxSynchronize());

    CUmodule other;
    TRY(cuModuleLoadData(&other, with_variable));
    launch(get(other, "step"), 1, NULL, (void *[]){&a});
    launch(get(other, "step"), 1, NULL, (void *[]){&a});
    TRY(cuCtxSynchronize());
    TRY(cuModuleUnload(other));
    TRY(cuModuleLoadData(&other, with_constant));
    launch(get(other, "scaled"), 1, NULL, (void *[]){&a});
    TRY(cuCtxSynchronize());
    show("scaled", a);
    TRY(cuModuleUnload(other));

    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    function = get(module, "captured");
    TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    TRY(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch(function, 1, stream, (void *[]){&b});
    TRY(cuStreamEndCapture(stream, &graph));
    TRY(cuGraphInstantiateWithFlags(&exec, graph, 0));
    TRY(cuGraphLaunch(exec, stream));
    TRY(cuStreamSynchronize(stream));
    show("captured", b);
    // With two streams, half of the GPU is left to the other.
    function = get(module, "crowd");
    for (unsigned i = 0; i < 2; i++) {
        launch(function, 67, stream, (void *[]){&b});
        TRY(cuStreamSynchronize(stream));
    }
    launch(function, 66, stream, (void *[]){&b});
    TRY(cuStreamSynchronize(stream));
    TRY(cuModuleUnload(module));
}

static void *launch_many(void *context)
{
    CUstream stream;
    TRY(cuCtxSetCurrent(context));
    TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUdeviceptr a = make();
    TRY(cuCtxSynchronize()); // the stream does not wait for the set
    CUfunction function = get(module, "generic");
    for (int i = 0; i < 200; i++) {
        launch(function, 1, stream, (void *[]){&a});
        if (i % 16 == 0)
            TRY(cuStreamSynchronize(stream));
    }
    TRY(cuStreamSynchronize(stream));
    unsigned values[COUNT], wrong = 0;
    TRY(cuMemcpyDtoH_v2(values, a, BYTES));
    for (unsigned i = 0; i < COUNT; i++)
        wrong += values[i] != 200;
    return (void *)(uintptr_t)wrong;
}

static void *cupti;

static void load_cupti(const char *path)
{
    int (*get_version)(uint32_t * version);
    uint32_t version = 0;
    cupti = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    get_version = cupti ? (__typeof__(get_version))dlsym(cupti, "cuptiGetVersion") : NULL;
    if (!get_version || get_version(&version) != 0)
        exit(1);
    printf("version %u\n", version);
}

static void use_cupti(void)
{
    int (*subscribe)(void **subscriber, void *called, void *userdata);
    void *subscriber;
    subscribe = (__typeof__(subscribe))dlsym(cupti, "cuptiSubscribe");
    printf("cuptiSubscribe returns %d\n", subscribe ? subscribe(&subscriber, NULL, NULL) : -1);
}

static void launch_with_cupti(const char *when, CUcontext context)
{
    CUdeviceptr a = make();
    CUfunction function = get(module, "generic");
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        void *wrong;
        if (i == 5 && strcmp(when, "middle") == 0)
            use_cupti();
        if (i == 5 && strcmp(when, "beside") == 0) {
            pthread_create(&thread, NULL, launch_many, context);
            use_cupti();
            pthread_join(thread, &wrong);
            printf("%u wrong\n", (unsigned)(uintptr_t)wrong);
        }
        launch(function, 1, NULL, (void *[]){&a});
        TRY(cuCtxSynchronize());
    }
    show("generic", a);
}

int main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    const char *when = argc == 4 && strcmp(argv[1], "cupti") == 0 ? argv[2] : NULL;
    if (when)
        load_cupti(argv[3]);
    if (when && strcmp(when, "start") == 0)
        use_cupti();
    TRY(cuInit(0));
    TRY(cuDeviceGet(&device, 0));
    TRY(cuDevicePrimaryCtxRetain(&context, device));
    TRY(cuCtxSetCurrent(context));
    TRY(cuModuleLoadData(&module, plain));
    if (argc > 1 && strcmp(argv[1], "threads") == 0) {
        pthread_t threads[2];
        void *wrong[2];
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, launch_many, context);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], &wrong[i]);
        printf("%u wrong\n", (unsigned)((uintptr_t)wrong[0] + (uintptr_t)wrong[1]));
        return 0;
    }
    if (when)
        launch_with_cupti(when, context);
    else
        launch_all();
    return 0;
}
