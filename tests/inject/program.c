// SPDX-License-Identifier: Apache-2.0
// Makes known driver calls one after the other, so that tests can compare libglint.so's records
// with the calls: program NAME. The expected records are in expected/NAME.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "glint/glint.h"
#include "program.h"

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .b32 counter[6];\n"
    ".visible .entry fill(.param .u64 p, .param .u32 v)\n{\n"
    "    .reg .b64 %rd<4>;\n    .reg .b32 %r<4>;\n"
    "    ld.param.u64 %rd1, [p];\n    ld.param.u32 %r1, [v];\n"
    "    cvta.to.global.u64 %rd1, %rd1;\n    mov.u32 %r2, %tid.x;\n"
    "    mul.wide.u32 %rd2, %r2, 4;\n    add.u64 %rd3, %rd1, %rd2;\n"
    "    st.global.u32 [%rd3], %r1;\n    ret;\n}\n"
    ".visible .entry slow(.param .u64 p)\n{\n"
    "    .reg .b64 %rd<3>;\n    .reg .pred %p<2>;\n"
    "    mov.u64 %rd1, %globaltimer;\n"
    "again:\n    mov.u64 %rd2, %globaltimer;\n    sub.u64 %rd2, %rd2, %rd1;\n"
    "    setp.lt.u64 %p1, %rd2, 60000000;\n    @%p1 bra again;\n    ret;\n}\n";

static CUcontext context;
static CUmodule module;
static CUfunction fill, slow;

static void start(void)
{
    context = start_thread();
}

static void load(void)
{
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&fill, module, "fill"));
    CHECK(cuModuleGetFunction(&slow, module, "slow"));
}

static void launch_fill(CUdeviceptr to, unsigned value, CUstream stream)
{
    void *params[] = {&to, &value};
    CHECK(cuLaunchKernel(fill, 1, 1, 1, 16, 1, 1, 0, stream, params, NULL));
}

static void launch_slow(CUstream stream)
{
    CUdeviceptr none = 0;
    void *params[] = {&none};
    CHECK(cuLaunchKernel(slow, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

// --- The cases -----------------------------------------------------------------------------------

static void objects(void)
{
    static char host[8192];
    CUdeviceptr a, b, pitched, managed, reserved, mapped;
    void *pinned, *pinned2;
    size_t pitch, bytes;
    CUmemGenericAllocationHandle handle;
    load();
    CHECK(cuMemAlloc_v2(&a, 1000));
    CHECK(cuMemAlloc_v2(&b, 1));
    CHECK(cuMemAllocPitch_v2(&pitched, &pitch, 100, 7, 4));
    CHECK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemAllocHost_v2(&pinned, 300));
    CHECK(cuMemHostAlloc(&pinned2, 301, 0));
    CHECK(cuMemHostRegister_v2(host, sizeof(host), 0));
    CHECK(cuModuleGetGlobal_v2(&mapped, &bytes, module, "counter"));
    CHECK(cuModuleGetGlobal_v2(&mapped, NULL, module, "counter")); // already known
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CHECK(cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(cuMemAddressReserve(&reserved, 2 * bytes, 0, 0, 0));
    CHECK(cuMemCreate(&handle, bytes, &prop, 0));
    CHECK(cuMemMap(reserved, bytes, 0, handle, 0));
    CHECK(cuMemMap(reserved + bytes, bytes, 0, handle, 0));
    CHECK(cuMemUnmap(reserved, 2 * bytes)); // ends both mappings
    CHECK(cuMemRelease(handle));
    CHECK(cuMemAddressFree(reserved, 2 * bytes));
    if (cuMemFree_v2(a + 4) == CUDA_SUCCESS) // the driver rejects it, so the object stays
        exit(1);
    CHECK(cuMemsetD8_v2(a + 999, 1, 1)); // the last byte of the object
    CHECK(cuMemFree_v2(a));
    CHECK(cuMemFree_v2(b));
    CHECK(cuMemFree_v2(pitched));
    CHECK(cuMemFree_v2(managed));
    CHECK(cuMemFreeHost(pinned));
    CHECK(cuMemFreeHost(pinned2));
    CHECK(cuMemHostUnregister(host));
    CHECK(cuModuleUnload(module)); // ends its variable
    CHECK(cuMemAlloc_v2(&a, 64));  // ends with the context
    CHECK(cuDevicePrimaryCtxReset_v2(0));
}

static void arrays(void)
{
    CUarray line, plane, box;
    CUmipmappedArray levels;
    CUDA_ARRAY_DESCRIPTOR line_of = {10, 0, CU_AD_FORMAT_FLOAT, 1};
    CUDA_ARRAY_DESCRIPTOR plane_of = {10, 5, CU_AD_FORMAT_UNSIGNED_INT8, 4};
    CUDA_ARRAY3D_DESCRIPTOR box_of = {10, 5, 3, CU_AD_FORMAT_HALF, 2, 0};
    CUDA_ARRAY3D_DESCRIPTOR levels_of = {8, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0};
    char host[200] = {0};
    CHECK(cuArrayCreate_v2(&line, &line_of));
    CHECK(cuArrayCreate_v2(&plane, &plane_of));
    CHECK(cuArray3DCreate_v2(&box, &box_of));
    CHECK(cuMipmappedArrayCreate(&levels, &levels_of, 4)); // 64 + 16 + 4 + 1 elements
    CHECK(cuMemcpyHtoA_v2(line, 0, host, 40));
    CHECK(cuMemcpyAtoH_v2(host, line, 0, 40));
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = host,
                          .srcPitch = 40,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = plane,
                          .WidthInBytes = 40,
                          .Height = 5};
    CHECK(cuMemcpy2D_v2(&copy));
    CUarray level;
    CHECK(cuMipmappedArrayGetLevel(&level, levels, 1));
    copy.dstArray = level; // a part of the mipmapped array
    copy.WidthInBytes = 16;
    copy.Height = 4;
    CHECK(cuMemcpy2D_v2(&copy));
    CHECK(cuArrayDestroy(line));
    CHECK(cuArrayDestroy(plane));
    CHECK(cuArrayDestroy(box));
    CHECK(cuMipmappedArrayDestroy(levels));
}

static void pools(void)
{
    CUstream stream, other;
    CUdeviceptr a, b;
    CUmemoryPool pool;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreateWithPriority(&other, CU_STREAM_DEFAULT, 0));
    CHECK(cuDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cuMemAllocAsync(&a, 5000, stream));
    CHECK(cuMemFreeAsync(a, stream));
    CHECK(cuMemAllocAsync(&a, 5000, stream)); // perhaps at the same address, but another object
    CHECK(cuMemAllocFromPoolAsync(&b, 100, pool, other));
    CHECK(cuMemFreeAsync(b, stream)); // freed in the order of another stream
    CHECK(cuMemFree_v2(a));
    CHECK(cuStreamDestroy_v2(stream));
    CHECK(cuStreamDestroy_v2(other));
}

static void copies(void)
{
    static char host[4096];
    void *pinned;
    CUdeviceptr a, b, managed;
    CUstream stream;
    CHECK(cuStreamCreate(&stream, 0));
    CHECK(cuMemAlloc_v2(&a, 4096));
    CHECK(cuMemAlloc_v2(&b, 4096));
    CHECK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemAllocHost_v2(&pinned, 4096));
    CHECK(cuMemcpyHtoD_v2(a, host, 4096));
    CHECK(cuMemcpyHtoD_v2(a + 4095, pinned, 1));
    CHECK(cuMemcpyDtoD_v2(b, a, 100));
    CHECK(cuMemcpyDtoH_v2(host, b, 100));
    CHECK(cuMemcpyHtoDAsync_v2(a, pinned, 10, stream));
    CHECK(cuMemcpyDtoHAsync_v2(pinned, a, 11, stream));
    CHECK(cuMemcpyDtoDAsync_v2(b, a, 12, stream));
    CHECK(cuMemcpy(a, (CUdeviceptr)(uintptr_t)host, 13));
    CHECK(cuMemcpy((CUdeviceptr)(uintptr_t)host, a, 14));
    CHECK(cuMemcpy((CUdeviceptr)(uintptr_t)pinned, managed, 15));
    CHECK(cuMemcpyAsync(managed, a, 16, stream));
    CHECK(cuMemcpyHtoD_v2_ptds(b + 2048, host, 17));
    CHECK(cuMemcpyAsync_ptsz(b + 1024, b + 2048, 18, NULL));
    CHECK(cuMemcpyPeer(b, context, a, context, 19));
    CUDA_MEMCPY2D plane = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = a,
                           .srcPitch = 64,
                           .srcXInBytes = 4,
                           .srcY = 1,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = host,
                           .dstPitch = 32,
                           .WidthInBytes = 20,
                           .Height = 3};
    CHECK(cuMemcpy2DAsync_v2(&plane, stream));
    CHECK(cuMemcpy2DUnaligned_v2(&plane));
    CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                         .srcDevice = a,
                         .srcPitch = 16,
                         .srcHeight = 4,
                         .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                         .dstDevice = b,
                         .dstPitch = 8,
                         .dstHeight = 2,
                         .WidthInBytes = 8,
                         .Height = 2,
                         .Depth = 3};
    CHECK(cuMemcpy3D_v2(&box));
    CHECK(cuMemsetD8_v2(a, 0xab, 100));
    CHECK(cuMemsetD16Async(a + 2, 0xabcd, 5, stream));
    CHECK(cuMemsetD32Async_ptsz(b + 2048, 0x12345678, 6, NULL));
    CHECK(cuMemsetD2D32_v2(b, 64, 7, 3, 4));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemFree_v2(a));
    if (cuMemcpyDtoH_v2(host, a, 1) == CUDA_SUCCESS) // freed, so there is no object
        exit(1);
}

static void launches(void)
{
    CUdeviceptr a;
    CUstream stream;
    unsigned value = 7;
    CHECK(cuStreamCreate(&stream, 0));
    load();
    CHECK(cuMemAlloc_v2(&a, 4096));
    void *params[] = {&a, &value};
    CHECK(cuLaunchKernel(fill, 2, 3, 4, 32, 1, 1, 128, stream, params, NULL));
    CHECK(cuLaunchKernel_ptsz(fill, 1, 1, 1, 8, 1, 1, 0, NULL, params, NULL));
    CHECK(cuLaunchCooperativeKernel(fill, 1, 1, 1, 8, 1, 1, 0, NULL, params));
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                                   .value = {.cooperative = 1}};
    CUlaunchConfig config = {1, 1, 1, 16, 1, 1, 0, stream, &attribute, 1};
    CHECK(cuLaunchKernelEx(&config, fill, params, NULL));
    // Kernels of a library, which have their own kind of handle.
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    CHECK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernel, library, "fill"));
    CHECK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    CHECK(cuKernelGetFunction(&function, kernel));
    CHECK(cuLaunchKernel(function, 1, 1, 1, 2, 1, 1, 0, stream, params, NULL));
    CHECK(cuCtxSynchronize());
    if (cuLaunchKernel(fill, 1, 1, 1, 4096, 1, 1, 0, stream, params, NULL) == CUDA_SUCCESS)
        exit(1);
    CHECK(cuLibraryUnload(library));
}

static void on_host(void *user)
{
    (void)user;
    usleep(60000);
}

static void streams(void)
{
    CUstream one, two;
    CUevent event;
    CUdeviceptr a;
    char host[16];
    load();
    CHECK(cuMemAlloc_v2(&a, 4096));
    CHECK(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&two, CU_STREAM_DEFAULT));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(cuStreamSynchronize(one)); // nothing to wait for
    launch_slow(one);
    CHECK(cuEventRecord(event, one));
    CHECK(cuStreamWaitEvent(two, event, 0));
    launch_slow(two);
    while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) // recorded twice: not ready, ready
        usleep(1000);
    CHECK(cuStreamSynchronize(two));
    launch_slow(two);
    CHECK(cuMemcpyDtoH_v2(host, a, 16)); // the legacy stream waits for two
    launch_slow(one);
    CHECK(cuMemcpyHtoD_v2(a, host, 16)); // but not for one
    CHECK(cuEventRecord(event, one));
    CHECK(cuEventSynchronize(event));
    CHECK(cuLaunchHostFunc(two, on_host, NULL));
    CHECK(cuCtxSynchronize());
    launch_slow(two);
    CHECK(cuMemFree_v2(a)); // also waits
    CHECK(cuMemAlloc_v2(&a, 4096));
    launch_slow(one);
    CHECK(cuMemcpyHtoDAsync_v2(a, host, 16, one)); // need not wait
    CHECK(cuMemcpyDtoHAsync_v2(host, a, 16, one)); // must wait, because the memory is not pinned
    CHECK(cuEventDestroy_v2(event));
    CHECK(cuStreamDestroy_v2(one));
    CHECK(cuStreamDestroy_v2(two));
}

static void graphs(void)
{
    CUstream stream, side;
    CUevent fork_event, join_event;
    CUdeviceptr a, b;
    CUgraph graph, by_hand, child;
    CUgraphExec exec;
    static char host[64];
    load();
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&fork_event, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventCreate(&join_event, CU_EVENT_DISABLE_TIMING));
    CHECK(cuMemAlloc_v2(&a, 4096));
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch_fill(a, 1, stream);
    CHECK(cuEventRecord(fork_event, stream));
    CHECK(cuStreamWaitEvent(side, fork_event, 0));
    CHECK(cuMemsetD8Async(a, 3, 64, side));
    CHECK(cuMemAllocAsync(&b, 256, stream));
    launch_fill(b, 2, stream);
    CHECK(cuMemFreeAsync(b, stream));
    CHECK(cuEventRecord(join_event, side));
    CHECK(cuStreamWaitEvent(stream, join_event, 0));
    CHECK(cuMemcpyDtoHAsync_v2(host, a, 64, stream));
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuGraphExecDestroy(exec));

    CUgraphNode set, kernel, inner;
    unsigned value = 5;
    void *params[] = {&a, &value};
    CUDA_MEMSET_NODE_PARAMS set_of = {a, 0, 9, 4, 8, 1};
    CUDA_KERNEL_NODE_PARAMS kernel_of = {fill, 1, 1, 1, 32, 1, 1, 0, params, NULL, NULL, NULL};
    CHECK(cuGraphCreate(&child, 0));
    CHECK(cuGraphAddMemsetNode(&inner, child, NULL, 0, &set_of, context));
    CHECK(cuGraphCreate(&by_hand, 0));
    CHECK(cuGraphAddKernelNode_v2(&kernel, by_hand, NULL, 0, &kernel_of));
    CHECK(cuGraphAddChildGraphNode(&set, by_hand, &kernel, 1, child));
    CHECK(cuGraphInstantiateWithFlags(&exec, by_hand, 0));
    kernel_of.blockDimX = 64;
    CHECK(cuGraphExecKernelNodeSetParams_v2(exec, kernel, &kernel_of));
    CHECK(cuGraphLaunch_ptsz(exec, NULL));
    CHECK(cuGraphNodeSetEnabled(exec, kernel, 0));
    CHECK(cuGraphLaunch(exec, NULL));
    CHECK(cuCtxSynchronize());

    // Records follow the order of the edges, not of creation: first the kernel, then the memset
    // nodes that were created before it.
    CUgraph turned;
    CUgraphNode late[3], early;
    CHECK(cuGraphCreate(&turned, 0));
    for (unsigned i = 0; i < 3; i++) {
        set_of.value = i;
        CHECK(cuGraphAddMemsetNode(&late[i], turned, NULL, 0, &set_of, context));
    }
    CHECK(cuGraphAddKernelNode_v2(&early, turned, NULL, 0, &kernel_of));
    CHECK(cuGraphAddDependencies(turned, &early, &late[1], 1));
    CHECK(cuGraphAddDependencies(turned, &late[1], &late[0], 1));
    CHECK(cuGraphInstantiateWithFlags(&exec, turned, 0));

    // A successor of a child graph follows the child's last nodes, which may be nested deeper.
    CUgraph middle, outer;
    CUgraphNode nodes[6];
    CHECK(cuGraphCreate(&middle, 0));
    CHECK(cuGraphAddChildGraphNode(&nodes[0], middle, NULL, 0, child));
    CHECK(cuGraphAddMemsetNode(&nodes[1], middle, NULL, 0, &set_of, context));
    CHECK(cuGraphCreate(&outer, 0));
    CHECK(cuGraphAddKernelNode_v2(&nodes[2], outer, NULL, 0, &kernel_of));
    CHECK(cuGraphAddChildGraphNode(&nodes[3], outer, &nodes[2], 1, middle));
    CHECK(cuGraphAddMemsetNode(&nodes[4], outer, &nodes[3], 1, &set_of, context));
    CHECK(cuGraphAddMemsetNode(&nodes[5], outer, &nodes[3], 1, &set_of, context));
    CHECK(cuGraphInstantiateWithFlags(&exec, outer, 0));

    // Memory that a graph allocates but does not free is a new object at each launch.
    CUDA_MEM_ALLOC_NODE_PARAMS memory_of = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
        .bytesize = 512};
    CUgraph loose;
    CUgraphNode memory;
    CHECK(cuGraphCreate(&loose, 0));
    CHECK(cuGraphAddMemAllocNode(&memory, loose, NULL, 0, &memory_of));
    CHECK(cuGraphInstantiateWithFlags(&exec, loose, 0));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuMemFreeAsync(memory_of.dptr, stream));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuGraphExecDestroy(exec));
}

static void contexts(void)
{
    CUcontext second, current;
    CUdeviceptr a, b;
    CUarray array;
    CUDA_ARRAY_DESCRIPTOR array_of = {4, 0, CU_AD_FORMAT_FLOAT, 1};
    CHECK(cuMemAlloc_v2(&a, 100));
    CHECK(cuCtxCreate_v2(&second, 0, 0));
    CHECK(cuMemAlloc_v2(&b, 200));
    CHECK(cuArrayCreate_v2(&array, &array_of));
    CHECK(cuMemsetD8_v2(b, 0, 200)); // in its default stream
    CHECK(cuCtxPopCurrent_v2(&current));
    CHECK(cuMemsetD8_v2(a, 0, 100));
    CHECK(cuCtxDestroy_v2(second)); // ends the objects in it
    CHECK(cuDevicePrimaryCtxRelease_v2(0));
}

static void names(void)
{
    CUdeviceptr a;
    CHECK(cuMemAlloc_v2(&a, 1000));
    char *memory = (char *)(uintptr_t)a; // NOLINT: an address is all that is needed
    printf("%d\n", glint_name(memory + 5, "the pool"));
    printf("%d\n", glint_suballoc(memory, 400));
    printf("%d\n", glint_suballoc(memory + 400, 600));
    printf("%d\n", glint_suballoc(memory + 399, 2));  // overlaps both
    printf("%d\n", glint_suballoc(memory + 1000, 1)); // outside
    printf("%d\n", glint_name(memory + 999, "second part"));
    CHECK(cuMemsetD8_v2(a + 399, 0, 1)); // in the first part
    CHECK(cuMemsetD8_v2(a + 400, 0, 1)); // in the second part
    printf("%d\n", glint_subfree(memory));
    CHECK(cuMemsetD8_v2(a + 399, 0, 1)); // in the object, as the first part has ended
    printf("%d\n", glint_subfree(memory));
    CHECK(cuMemFree_v2(a)); // also ends the second part
}

static void forks(void)
{
    CUdeviceptr a;
    int status;
    // A child may use CUDA if its parent has not yet; otherwise it must exec. Both restart glint.
    pid_t child = fork();
    if (child == 0) {
        start();
        CHECK(cuMemAlloc_v2(&a, 111));
        exit(3);
    }
    waitpid(child, &status, 0);
    printf("child exited %d\n", WEXITSTATUS(status));
    start();
    CHECK(cuMemAlloc_v2(&a, 222));
    fflush(stdout);
    child = fork();
    if (child == 0)
        exit(4); // uses no CUDA, so no record is expected
    waitpid(child, &status, 0);
    printf("child exited %d\n", WEXITSTATUS(status));
    fflush(stdout);
    child = vfork();
    if (child == 0) {
        execl("/proc/self/exe", "program", "child", (char *)NULL);
        _exit(5);
    }
    waitpid(child, &status, 0);
    printf("child exited %d\n", WEXITSTATUS(status));
    CHECK(cuMemFree_v2(a));
}

static void child(void)
{
    CUdeviceptr a;
    CHECK(cuMemAlloc_v2(&a, 333));
}

static void *worker(void *user)
{
    CUdeviceptr a;
    const size_t bytes = (size_t)(uintptr_t)user;
    CHECK(cuCtxSetCurrent(context));
    for (int i = 0; i < 1000; i++) {
        CHECK(cuMemAlloc_v2(&a, bytes));
        CHECK(cuMemsetD8Async_ptsz(a, 1, bytes, NULL));
        CHECK(cuMemFree_v2(a));
    }
    return NULL;
}

static void threads(void)
{
    pthread_t all[4];
    for (size_t i = 0; i < 4; i++)
        pthread_create(&all[i], NULL, worker, (void *)(uintptr_t)(100 + i)); // NOLINT
    for (size_t i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
}

// Two threads make their first calls at once: one in a library's constructor, which holds the
// loader lock, and one that starts meanwhile. Neither may deadlock.
static atomic_bool loading_now;

static void *call_meanwhile(void *unused)
{
    CUdeviceptr a;
    while (!atomic_load(&loading_now))
        usleep(1000);
    start_thread();
    CHECK(cuMemAlloc_v2(&a, 20));
    return unused;
}

__attribute__((visibility("default"))) void late_loading(void);
void late_loading(void)
{
    CUdeviceptr a;
    atomic_store(&loading_now, true);
    usleep(50000);
    start_thread();
    CHECK(cuMemAlloc_v2(&a, 10));
}

static void loading(void)
{
    pthread_t other;
    pthread_create(&other, NULL, call_meanwhile, NULL);
    if (!dlopen(LATE_LIBRARY, RTLD_NOW))
        exit(1);
    pthread_join(other, NULL);
}

// glint must leave errno as the native call would leave it.
static void error_number(void)
{
    CUdeviceptr a;
    errno = 4321;
    CHECK(cuMemAlloc_v2(&a, 100));
    printf("errno %d\n", errno);
    CHECK(cuMemFree_v2(a));
    printf("errno %d\n", errno);
    fflush(stdout);
    close(0);
    close(1);
    close(2);
    CHECK(cuMemAlloc_v2(&a, 100));
    exit(7);
}

// The process makes its first call after it has closed all descriptors, as daemons do.
static void closed(void)
{
    for (int i = 0; i < 64; i++)
        close(i);
    start();
    CUdeviceptr a;
    CHECK(cuMemAlloc_v2(&a, 100));
}

static void killed(void)
{
    CUdeviceptr a;
    CHECK(cuMemAlloc_v2(&a, 100));
    raise(SIGKILL);
}

// Makes more records than the ring holds.
static void many(void)
{
    CUdeviceptr a;
    CHECK(cuMemAlloc_v2(&a, 4096));
    for (int i = 0; i < 120000; i++)
        CHECK(cuMemsetD8Async(a, 1, 1, NULL));
    CHECK(cuCtxSynchronize());
    printf("done\n");
}

// Makes glint allocate memory for objects, streams, events and kernels.
static void hoard(void)
{
    enum { COUNT = 30000 };
    static CUdeviceptr memory[COUNT];
    CUstream stream;
    CUevent event;
    load();
    for (int i = 0; i < COUNT; i++)
        CHECK(cuMemAlloc_v2(&memory[i], 64));
    for (int i = 0; i < 1000; i++) {
        CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
        launch_fill(memory[i], 7, stream);
        CHECK(cuEventRecord(event, stream));
        CHECK(cuStreamSynchronize(stream));
        CHECK(cuStreamDestroy_v2(stream));
    }
    unsigned word;
    CHECK(cuMemcpyDtoH_v2(&word, memory[999], sizeof(word)));
    for (int i = 0; i < COUNT; i++)
        CHECK(cuMemFree_v2(memory[i]));
    printf("%u\n", word);
}

static void timed(void)
{
    CUdeviceptr a;
    CUstream stream;
    load();
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc_v2(&a, 4096));
    for (unsigned i = 0; i < 3; i++)
        launch_fill(a, i, stream);
    CHECK(cuMemsetD8Async(a, 0, 10, stream));
    CHECK(cuStreamSynchronize(stream));
    launch_slow(stream);
    CHECK(cuStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        bool starts;
        void (*run)(void);
    } all[] = {
        {"objects", true, objects},    {"arrays", true, arrays},     {"pools", true, pools},
        {"copies", true, copies},      {"launches", true, launches}, {"streams", true, streams},
        {"graphs", true, graphs},      {"contexts", true, contexts}, {"names", true, names},
        {"forks", false, forks},       {"child", true, child},       {"threads", true, threads},
        {"errno", true, error_number}, {"closed", false, closed},    {"killed", true, killed},
        {"timed", true, timed},        {"loading", false, loading},  {"many", true, many},
        {"hoard", true, hoard}};
    for (size_t i = 0; argc == 2 && i < sizeof(all) / sizeof(all[0]); i++) {
        if (strcmp(argv[1], all[i].name) == 0) {
            if (all[i].starts)
                start();
            all[i].run();
            return 0;
        }
    }
    fprintf(stderr, "usage: program NAME\n");
    return 2;
}
