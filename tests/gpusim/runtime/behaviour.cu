// SPDX-License-Identifier: Apache-2.0
// Prints what the runtime returns in unusual cases: odd arguments, errors and their aftereffects, and
// attributes of handles and pointers. behaviour.expected is what an H200 printed; the simulated GPU
// must print the same.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

__global__ void add(float *to, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] += by;
}

__global__ void __launch_bounds__(128) bounded(int *to)
{
    to[0] = 1;
}

__global__ void sleepy(long long cycles)
{
    long long start = clock64();
    while (clock64() - start < cycles)
        ;
}

__global__ void wild(int *to)
{
    *to = 1;
}

__device__ int counter[4] = {1, 2, 3, 4};
__constant__ float weights[8];
__managed__ int managed_value = 7;

static void say(const char *what, cudaError_t error)
{
    cudaError_t last = cudaGetLastError();
    printf("%-44s %3d %s", what, error, cudaGetErrorName(error));
    if (last != error)
        printf("; last %d", last);
    printf("\n");
}

#define SAY(call) say(#call, call)

static void pointer(const char *what, const void *address)
{
    cudaPointerAttributes is;
    memset(&is, 0x55, sizeof is);
    cudaError_t error = cudaPointerGetAttributes(&is, address);
    printf("pointer to %-20s %d type %d device %d devicePointer %s hostPointer %s\n", what, error, is.type,
           is.device, !is.devicePointer ? "null" : is.devicePointer == address ? "same" : "other",
           !is.hostPointer ? "null" : is.hostPointer == address ? "same" : "other");
    cudaGetLastError();
}

static void launches(float *memory)
{
    add<<<0, 32>>>(memory, 1, 1);
    say("launch: grid 0", cudaPeekAtLastError());
    add<<<1, 0>>>(memory, 1, 1);
    say("launch: block 0", cudaPeekAtLastError());
    add<<<1, 1025>>>(memory, 1, 1);
    say("launch: block 1025", cudaPeekAtLastError());
    add<<<1, dim3(1, 1, 65)>>>(memory, 1, 1);
    say("launch: block z 65", cudaPeekAtLastError());
    add<<<dim3(1, 65536), 1>>>(memory, 1, 1);
    say("launch: grid y 65536", cudaPeekAtLastError());
    add<<<1, 32, 49152>>>(memory, 1, 1);
    say("launch: shared 48 KiB", cudaPeekAtLastError());
    add<<<1, 32, 49153>>>(memory, 1, 1);
    say("launch: shared 48 KiB and 1", cudaPeekAtLastError());
    SAY(cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
    add<<<1, 32, 65536>>>(memory, 1, 1);
    say("launch: shared 64 KiB, allowed", cudaPeekAtLastError());
    SAY(cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));
    SAY(cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize, -1));
    bounded<<<1, 256>>>((int *)memory);
    say("launch: beyond launch bounds", cudaPeekAtLastError());
    int local;
    void *arguments[] = {&memory};
    say("launch: no kernel", cudaLaunchKernel((void *)&local, dim3(1), dim3(1), arguments, 0, 0));
    say("launch: null", cudaLaunchKernel((void *)0, dim3(1), dim3(1), arguments, 0, 0));
    say("launch: cooperative, too many blocks",
        cudaLaunchCooperativeKernel((void *)bounded, dim3(1 << 20), dim3(128), arguments, 0, 0));
    SAY(cudaDeviceSynchronize());
}

static void functions()
{
    cudaFuncAttributes is;
    SAY(cudaFuncGetAttributes(&is, bounded));
    printf("bounded: shared %zu local %zu max threads %d max dynamic %d carveout %d ptx %d\n", is.sharedSizeBytes,
           is.localSizeBytes, is.maxThreadsPerBlock, is.maxDynamicSharedSizeBytes, is.preferredShmemCarveout,
           is.ptxVersion);
    SAY(cudaFuncGetAttributes(&is, (void *)&is));
    SAY(cudaFuncGetAttributes(nullptr, bounded));
    int blocks = -1;
    SAY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 128, 0));
    printf("blocks %d\n", blocks);
    SAY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 0, 0));
    SAY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 2048, 0));
    printf("blocks %d\n", blocks);
    SAY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 128, 40000));
    printf("blocks %d\n", blocks);
    const char *name = nullptr;
    SAY(cudaFuncGetName(&name, (void *)wild));
    printf("name %s\n", name ? name : "none");
}

static void symbols()
{
    void *address = nullptr;
    size_t size = 0;
    int local[8] = {0};
    SAY(cudaGetSymbolAddress(&address, counter));
    SAY(cudaGetSymbolSize(&size, counter));
    printf("size %zu\n", size);
    SAY(cudaMemcpyFromSymbol(local, counter, 8, 4));
    printf("counter %d %d\n", local[0], local[1]);
    SAY(cudaMemcpyFromSymbol(local, counter, 16, 4));
    SAY(cudaMemcpyFromSymbol(local, counter, 16, 0, cudaMemcpyHostToDevice));
    SAY(cudaMemcpyToSymbol(weights, local, 32));
    SAY(cudaMemcpyToSymbol(weights, local, 36));
    SAY(cudaGetSymbolAddress(&address, (const void *)local));
    SAY(cudaGetSymbolSize(&size, nullptr));
    managed_value++;
    printf("managed %d\n", managed_value);
    SAY(cudaGetSymbolSize(&size, managed_value));
    pointer("managed variable", &managed_value);
    pointer("device variable", (cudaGetSymbolAddress(&address, counter), address));
}

static void memory()
{
    void *p = (void *)1, *q;
    size_t pitch = 77;
    SAY(cudaMalloc(&p, 0));
    printf("%s\n", p ? "not null" : "null");
    SAY(cudaMalloc(nullptr, 4));
    SAY(cudaMalloc(&p, (size_t)1 << 50));
    p = (void *)1;
    SAY(cudaMallocManaged(&p, 0));
    p = (void *)1;
    SAY(cudaHostAlloc(&p, 0, 0));
    printf("%s\n", p ? "not null" : "null");
    p = (void *)1;
    SAY(cudaMallocPitch(&p, &pitch, 0, 4));
    printf("%s pitch %zu\n", p ? "not null" : "null", pitch);
    SAY(cudaMallocPitch(&p, &pitch, 100, 4));
    printf("pitch %zu\n", pitch);
    SAY(cudaFree(p));
    SAY(cudaFree(p));
    SAY(cudaFree(nullptr));
    SAY(cudaFree(&p));
    SAY(cudaFreeHost(nullptr));
    SAY(cudaFreeHost(&p));
    cudaMalloc(&p, 1000);
    SAY(cudaFree((char *)p + 4));
    SAY(cudaFreeHost(p));
    q = malloc(8192);
    SAY(cudaMemcpy(p, q, 1000, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy(p, q, 1000, cudaMemcpyDefault));
    SAY(cudaMemcpy(q, p, 1000, cudaMemcpyDefault));
    SAY(cudaMemcpy(q, p, 1000, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy(p, q, 1000, cudaMemcpyDeviceToHost));
    SAY(cudaMemcpy(p, q, 1000, cudaMemcpyDeviceToDevice));
    SAY(cudaMemcpy(p, q, 1000, cudaMemcpyHostToHost));
    SAY(cudaMemcpy((char *)q + 4096, q, 1000, cudaMemcpyHostToHost));
    SAY(cudaMemcpy((char *)q + 4096, q, 1000, cudaMemcpyDefault));
    SAY(cudaMemcpy(p, q, 1000, (cudaMemcpyKind)9));
    SAY(cudaMemcpy(p, q, 0, (cudaMemcpyKind)9));
    SAY(cudaMemcpy(nullptr, q, 0, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy(nullptr, q, 4, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy(p, nullptr, 4, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy2D(p, 10, q, 20, 20, 2, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy2D(p, 20, q, 20, 20, 2, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy2D(p, 20, q, 20, 20, 0, cudaMemcpyHostToDevice));
    SAY(cudaMemset(p, 0, 1000));
    SAY(cudaMemset(p, 0, 0));
    SAY(cudaMemset(q, 0, 4));
    SAY(cudaMemset(nullptr, 0, 4));
    SAY(cudaMemset2D(p, 20, 0, 30, 2));
    int on_stack;
    void *managed, *pinned, *pool;
    cudaMallocManaged(&managed, 100);
    cudaMallocHost(&pinned, 100);
    pointer("nothing", nullptr);
    pointer("stack", &on_stack);
    pointer("heap", q);
    pointer("device memory", p);
    pointer("inside device memory", (char *)p + 100);
    pointer("managed memory", managed);
    pointer("pinned memory", (char *)pinned + 4);
    SAY(cudaHostRegister(q, 8192, 0));
    pointer("registered memory", (char *)q + 4);
    SAY(cudaHostRegister(q, 8192, 0));
    SAY(cudaHostUnregister(q));
    SAY(cudaHostUnregister(q));
    unsigned flags = 99;
    SAY(cudaHostGetFlags(&flags, pinned));
    printf("flags %u\n", flags);
    SAY(cudaHostGetFlags(&flags, q));
    void *device = nullptr;
    SAY(cudaHostGetDevicePointer(&device, pinned, 0));
    printf("%s\n", device == pinned ? "same" : "other");
    SAY(cudaHostGetDevicePointer(&device, q, 0));
    SAY(cudaMallocAsync(&pool, 64, 0));
    pointer("pool memory", pool);
    SAY(cudaFreeAsync(pool, 0));
    SAY(cudaFreeAsync(nullptr, 0));
    SAY(cudaMallocAsync(&pool, 0, 0));
    cudaMemPool_t own;
    uint64_t threshold = 99;
    SAY(cudaDeviceGetDefaultMemPool(&own, 0));
    SAY(cudaMemPoolGetAttribute(own, cudaMemPoolAttrReleaseThreshold, &threshold));
    printf("threshold %llu\n", (unsigned long long)threshold);
    SAY(cudaDeviceGetDefaultMemPool(&own, 5));
    SAY(cudaFreeHost(pinned));
    SAY(cudaFree(managed));
    SAY(cudaFree(p));
    free(q);
}

static void streams()
{
    cudaStream_t stream;
    cudaEvent_t first, second, untimed;
    float ms = -1;
    unsigned flags = 99;
    int least, greatest, priority = 99;
    SAY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    printf("priorities %d %d\n", least, greatest);
    SAY(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -100));
    SAY(cudaStreamGetPriority(stream, &priority));
    SAY(cudaStreamGetFlags(stream, &flags));
    printf("priority %d flags %u\n", priority, flags);
    SAY(cudaStreamGetPriority(0, &priority));
    SAY(cudaStreamGetFlags(0, &flags));
    printf("priority %d flags %u\n", priority, flags);
    SAY(cudaStreamDestroy(0));
    SAY(cudaStreamDestroy(cudaStreamPerThread));
    SAY(cudaStreamSynchronize(cudaStreamPerThread));
    SAY(cudaStreamCreateWithFlags(nullptr, 0));
    cudaStream_t other;
    SAY(cudaStreamCreateWithFlags(&other, 77));
    SAY(cudaEventCreate(&first));
    SAY(cudaEventCreate(&second));
    SAY(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    SAY(cudaEventQuery(first));
    SAY(cudaEventSynchronize(first));
    SAY(cudaStreamWaitEvent(stream, first, 0));
    SAY(cudaEventElapsedTime(&ms, first, second));
    SAY(cudaEventRecord(first, stream));
    sleepy<<<1, 1, 0, stream>>>(4000000);
    SAY(cudaEventRecord(second, stream));
    SAY(cudaEventRecord(untimed, stream));
    SAY(cudaStreamQuery(stream));
    SAY(cudaEventQuery(second));
    SAY(cudaEventElapsedTime(&ms, first, second));
    SAY(cudaStreamSynchronize(stream));
    SAY(cudaStreamQuery(stream));
    SAY(cudaEventQuery(second));
    SAY(cudaEventElapsedTime(&ms, first, second));
    printf("%s\n", ms > 0 ? "time passed" : "no time passed");
    SAY(cudaEventElapsedTime(&ms, first, untimed));
    SAY(cudaEventDestroy(first));
    SAY(cudaEventDestroy(nullptr));
    SAY(cudaStreamDestroy(stream));
    cudaEventDestroy(second);
    cudaEventDestroy(untimed);
}

static void count_up(void *number)
{
    ++*(int *)number;
}

static void graphs(float *memory)
{
    cudaStream_t stream;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    size_t count = 0;
    int calls = 0;
    float host[4];
    cudaStreamCreate(&stream);
    SAY(cudaStreamEndCapture(stream, &graph));
    SAY(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal));
    SAY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    cudaStreamCaptureStatus status;
    SAY(cudaStreamIsCapturing(stream, &status));
    printf("status %d\n", status);
    add<<<1, 32, 0, stream>>>(memory, 1, 4);
    SAY(cudaMemcpyAsync(host, memory, 16, cudaMemcpyDeviceToHost, stream));
    SAY(cudaLaunchHostFunc(stream, count_up, &calls));
    SAY(cudaStreamEndCapture(stream, &graph));
    SAY(cudaGraphGetNodes(graph, nullptr, &count));
    printf("nodes %zu, ran %d\n", count, calls);
    cudaGraphNode_t nodes[8];
    SAY(cudaGraphGetNodes(graph, nodes, &count));
    for (size_t i = 0; i < count; i++) {
        cudaGraphNodeType type;
        cudaGraphNodeGetType(nodes[i], &type);
        printf("node %d", type);
        if (type == cudaGraphNodeTypeKernel) {
            cudaKernelNodeParams is = {};
            cudaGraphKernelNodeGetParams(nodes[i], &is);
            printf(" grid %u block %u by %g", is.gridDim.x, is.blockDim.x, *(float *)is.kernelParams[1]);
        }
        printf("\n");
    }
    SAY(cudaGraphInstantiate(&exec, graph, 0));
    cudaMemset(memory, 0, 16);
    SAY(cudaGraphLaunch(exec, stream));
    SAY(cudaGraphLaunch(exec, stream));
    SAY(cudaStreamSynchronize(stream));
    printf("ran %d, memory %g %g\n", calls, host[0], host[3]);
    SAY(cudaGraphExecDestroy(exec));
    SAY(cudaGraphDestroy(graph));
    SAY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    SAY(cudaStreamSynchronize(stream));
    SAY(cudaStreamEndCapture(stream, &graph));
    SAY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    SAY(cudaStreamQuery(stream));
    SAY(cudaStreamEndCapture(stream, &graph));
    SAY(cudaStreamDestroy(stream));
}

static void arrays()
{
    cudaArray_t array = nullptr;
    cudaChannelFormatDesc floats = cudaCreateChannelDesc<float4>(), is;
    cudaExtent extent;
    unsigned flags = 99;
    SAY(cudaMallocArray(&array, &floats, 16, 0));
    SAY(cudaArrayGetInfo(&is, &extent, &flags, array));
    printf("%d %d %d %d %d; %zu %zu %zu; %u\n", is.x, is.y, is.z, is.w, is.f, extent.width, extent.height,
           extent.depth, flags);
    SAY(cudaFreeArray(array));
    SAY(cudaMallocArray(&array, &floats, 16, 8, cudaArraySurfaceLoadStore));
    SAY(cudaArrayGetInfo(&is, &extent, &flags, array));
    printf("%zu %zu %zu; %u\n", extent.width, extent.height, extent.depth, flags);
    char *host = (char *)calloc(1, 4096), *back = (char *)calloc(1, 4096);
    for (int i = 0; i < 2048; i++)
        host[i] = (char)i;
    SAY(cudaMemcpy2DToArray(array, 0, 0, host, 256, 256, 8, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy2DToArray(array, 0, 0, host, 256, 256, 9, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy2DToArray(array, 16, 0, host, 256, 256, 8, cudaMemcpyHostToDevice));
    SAY(cudaMemcpy2DFromArray(back, 256, array, 0, 0, 256, 8, cudaMemcpyDeviceToHost));
    printf("%s\n", memcmp(host, back, 2048) ? "differ" : "same");
    cudaMemcpy3DParms copy = {};
    copy.srcArray = array;
    copy.srcPos = make_cudaPos(2, 1, 0);
    copy.dstPtr = make_cudaPitchedPtr(back, 128, 128, 4);
    copy.extent = make_cudaExtent(8, 4, 1);
    copy.kind = cudaMemcpyDeviceToHost;
    SAY(cudaMemcpy3D(&copy));
    printf("%s\n", memcmp(host + 256 + 32, back, 128) || memcmp(host + 512 + 32, back + 128, 128) ? "differ" : "same");
    cudaResourceDesc resource = {};
    cudaTextureDesc texture = {};
    cudaTextureObject_t object = 0;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    SAY(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
    SAY(cudaDestroyTextureObject(object));
    SAY(cudaDestroyTextureObject(0));
    SAY(cudaCreateTextureObject(&object, nullptr, &texture, nullptr));
    SAY(cudaFreeArray(array));
    SAY(cudaFreeArray(nullptr));
    cudaChannelFormatDesc odd = cudaCreateChannelDesc(8, 8, 8, 0, cudaChannelFormatKindUnsigned);
    SAY(cudaMallocArray(&array, &odd, 16, 8));
    free(host);
    free(back);
}

static void devices()
{
    int value = -1, count = 0;
    unsigned flags = 99;
    size_t size = 0;
    cudaDeviceProp is;
    SAY(cudaSetDevice(99));
    SAY(cudaGetDeviceProperties(&is, 99));
    SAY(cudaGetDeviceProperties(&is, -1));
    SAY(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)9999, 0));
    SAY(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99));
    SAY(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0));
    printf("warp %d\n", value);
    SAY(cudaGetDeviceCount(&count));
    SAY(cudaGetDeviceCount(nullptr));
    SAY(cudaGetDevice(&value));
    printf("device %d\n", value);
    SAY(cudaGetDeviceFlags(&flags));
    printf("flags %u\n", flags);
    for (int limit = 0; limit < 6; limit++) {
        size = 12345;
        cudaError_t error = cudaDeviceGetLimit(&size, (cudaLimit)limit);
        printf("limit %d: %d %zu\n", limit, error, size);
        cudaGetLastError();
    }
    SAY(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
    SAY(cudaDeviceSetLimit((cudaLimit)99, 1));
    SAY(cudaDeviceCanAccessPeer(&value, 0, 0));
    printf("peer %d\n", value);
    SAY(cudaDeviceEnablePeerAccess(0, 0));
    cudaFuncCache cache = (cudaFuncCache)99;
    SAY(cudaDeviceGetCacheConfig(&cache));
    printf("cache %d\n", cache);
    SAY(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    SAY(cudaSetDeviceFlags(0x1000));
    void *function = (void *)1;
    cudaDriverEntryPointQueryResult found;
    SAY(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, cudaEnableDefault, &found));
    printf("%s %d\n", function ? "found" : "null", found);
    SAY(cudaGetDriverEntryPointByVersion("cuNoSuch", &function, 12000, cudaEnableDefault, &found));
    printf("%s %d\n", function ? "found" : "null", found);
    cudaGetLastError();
}

int main()
{
    float *memory_of_launches;
    setvbuf(stdout, nullptr, _IOLBF, 0);
    SAY(cudaMalloc(&memory_of_launches, 1 << 20));
    devices();
    launches(memory_of_launches);
    functions();
    symbols();
    memory();
    streams();
    graphs(memory_of_launches);
    arrays();
    wild<<<1, 1>>>((int *)16);
    SAY(cudaDeviceSynchronize());
    say("then, last error", cudaGetLastError());
    say("again, last error", cudaGetLastError());
    void *p;
    SAY(cudaMalloc(&p, 4));
    SAY(cudaStreamSynchronize(0));
    bounded<<<1, 1>>>((int *)p);
    say("launch after it", cudaPeekAtLastError());
    SAY(cudaFree(memory_of_launches));
    SAY(cudaDeviceReset());
    SAY(cudaMalloc(&p, 4));
    return 0;
}
