// SPDX-License-Identifier: Apache-2.0
// Uses features of the runtime and checks the results on the host: managed memory, textures, surfaces,
// cooperative launches, callbacks, capture, pools, symbols, threads. Prints "ok" and exits with 0 if
// all are correct. It is built for the legacy and for the per-thread default stream.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <cuda_runtime.h>

static int failures;

#define EXPECT(condition)                                                        \
    do {                                                                         \
        if (!(condition)) {                                                      \
            printf("line %d: %s; last error %s\n", __LINE__, #condition,         \
                   cudaGetErrorName(cudaGetLastError()));                        \
            failures++;                                                          \
        }                                                                        \
    } while (0)
#define OK(call) EXPECT((call) == cudaSuccess)

__global__ void add_one(int *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        values[i]++;
}

__managed__ int managed_values[100];

static void managed_memory_is_one_for_host_and_device()
{
    for (int i = 0; i < 100; i++)
        managed_values[i] = i;
    add_one<<<1, 128>>>(managed_values, 100);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 100; i++)
        EXPECT(managed_values[i] == i + 1);
    int *values;
    OK(cudaMallocManaged(&values, 4096));
    memset(values, 0, 4096);
    cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
    OK(cudaMemAdvise(values, 4096, cudaMemAdviseSetPreferredLocation, here));
    OK(cudaMemPrefetchAsync(values, 4096, here, 0, 0));
    add_one<<<4, 256>>>(values, 1000);
    OK(cudaDeviceSynchronize());
    EXPECT(values[0] == 1 && values[999] == 1 && values[1000] == 0);
    OK(cudaFree(values));
}

__global__ void sample(cudaTextureObject_t texture, float *out, int width, int height)
{
    int x = threadIdx.x, y = threadIdx.y;
    if (x < width && y < height)
        out[y * width + x] = tex2D<float>(texture, x + 0.5f, y + 0.5f);
}

__global__ void fetch(cudaTextureObject_t texture, int *out, int n)
{
    if (threadIdx.x < n)
        out[threadIdx.x] = tex1Dfetch<int>(texture, n - 1 - threadIdx.x);
}

__global__ void write_surface(cudaSurfaceObject_t surface, int width)
{
    surf2Dwrite(threadIdx.x + 100.0f * threadIdx.y, surface, (int)(threadIdx.x * sizeof(float)), (int)threadIdx.y);
}

static void textures_and_surfaces_read_and_write_arrays()
{
    const int width = 8, height = 4;
    float host[height][width], back[height][width], *device;
    cudaArray_t array;
    cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
    OK(cudaMallocArray(&array, &channels, width, height, cudaArraySurfaceLoadStore));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t surface;
    OK(cudaCreateSurfaceObject(&surface, &resource));
    write_surface<<<1, dim3(width, height)>>>(surface, width);
    OK(cudaMemcpy2DFromArray(host, sizeof host[0], array, 0, 0, sizeof host[0], height, cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            EXPECT(host[y][x] == x + 100.0f * y);
    cudaTextureDesc description = {};
    description.addressMode[0] = description.addressMode[1] = cudaAddressModeClamp;
    description.filterMode = cudaFilterModePoint;
    description.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture;
    OK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    OK(cudaMalloc(&device, sizeof back));
    sample<<<1, dim3(width, height)>>>(texture, device, width, height);
    OK(cudaMemcpy(back, device, sizeof back, cudaMemcpyDeviceToHost));
    EXPECT(memcmp(host, back, sizeof back) == 0);
    OK(cudaDestroyTextureObject(texture));
    OK(cudaDestroySurfaceObject(surface));
    OK(cudaFreeArray(array));
    int numbers[16], reversed[16], *from, *to;
    for (int i = 0; i < 16; i++)
        numbers[i] = i * i;
    OK(cudaMalloc(&from, sizeof numbers));
    OK(cudaMalloc(&to, sizeof numbers));
    OK(cudaMemcpy(from, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = from;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = sizeof numbers;
    description = {};
    OK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    fetch<<<1, 32>>>(texture, to, 16);
    OK(cudaMemcpy(reversed, to, sizeof reversed, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 16; i++)
        EXPECT(reversed[i] == numbers[15 - i]);
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFree(from));
    OK(cudaFree(to));
    OK(cudaFree(device));
}

__global__ void two_phases(int *values, int *sums)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    values[i] = i;
    grid.sync();
    sums[i] = values[n - 1 - i] + values[i];
}

static void cooperative_launches_wait_for_the_whole_grid()
{
    int *values, *sums, host[4 * 64];
    OK(cudaMalloc(&values, sizeof host));
    OK(cudaMalloc(&sums, sizeof host));
    void *arguments[] = {&values, &sums};
    OK(cudaLaunchCooperativeKernel((void *)two_phases, dim3(4), dim3(64), arguments, 0, 0));
    OK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 256; i++)
        EXPECT(host[i] == 255);
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    config.gridDim = 4;
    config.blockDim = 64;
    config.attrs = &attribute;
    config.numAttrs = 1;
    OK(cudaMemset(sums, 0, sizeof host));
    OK(cudaLaunchKernelEx(&config, two_phases, values, sums));
    OK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[0] == 255 && host[255] == 255);
    OK(cudaFree(values));
    OK(cudaFree(sums));
}

static void set_flag(cudaStream_t, cudaError_t status, void *flag)
{
    *(int *)flag = status == cudaSuccess ? 1 : -1;
}

static void add_ten(void *number)
{
    *(int *)number += 10;
}

static void callbacks_run_in_stream_order()
{
    cudaStream_t stream;
    int flag = 0, number = 1, *device, host = 0;
    OK(cudaStreamCreate(&stream));
    OK(cudaMallocAsync(&device, 4, stream));
    OK(cudaMemsetAsync(device, 0, 4, stream));
    add_one<<<1, 1, 0, stream>>>(device, 1);
    OK(cudaMemcpyAsync(&host, device, 4, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamAddCallback(stream, set_flag, &flag, 0));
    OK(cudaLaunchHostFunc(stream, add_ten, &number));
    OK(cudaFreeAsync(device, stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT(flag == 1 && number == 11 && host == 1);
    OK(cudaStreamDestroy(stream));
}

static void a_captured_graph_repeats_what_was_captured()
{
    cudaStream_t stream, other;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int *values, host[2] = {0, 0};
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    OK(cudaMalloc(&values, 8));
    OK(cudaMemset(values, 0, 8));
    OK(cudaDeviceSynchronize());
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(fork, stream));
    OK(cudaStreamWaitEvent(other, fork, 0));
    add_one<<<1, 1, 0, stream>>>(values, 1);
    add_one<<<1, 1, 0, other>>>(values + 1, 1);
    OK(cudaEventRecord(join, other));
    OK(cudaStreamWaitEvent(stream, join, 0));
    OK(cudaMemcpyAsync(host, values, 8, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 5; i++)
        OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT(host[0] == 5 && host[1] == 5);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(values));
    OK(cudaEventDestroy(fork));
    OK(cudaEventDestroy(join));
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(other));
}

__constant__ int scale[2];
__device__ int totals[4];

__global__ void weigh()
{
    atomicAdd(&totals[threadIdx.x % 4], scale[threadIdx.x % 2]);
}

static void symbols_are_copied_both_ways()
{
    int weights[2] = {3, 5}, host[4] = {-1, -1, -1, -1};
    void *address;
    OK(cudaMemcpyToSymbol(scale, weights, sizeof weights));
    OK(cudaGetSymbolAddress(&address, totals));
    OK(cudaMemset(address, 0, sizeof host));
    weigh<<<1, 64>>>();
    OK(cudaMemcpyFromSymbol(host, totals, sizeof host));
    EXPECT(host[0] == 48 && host[1] == 80 && host[2] == 48 && host[3] == 80);
    OK(cudaMemcpyFromSymbol(host, totals, 4, 4));
    EXPECT(host[0] == 80);
}

// Threads use their own default streams or share one; the results are the same.
static void threads_share_the_device()
{
    std::vector<std::thread> threads;
    int results[4] = {0};
    for (int t = 0; t < 4; t++)
        threads.emplace_back([t, &results] {
            int *values, host[64];
            cudaMalloc(&values, sizeof host);
            cudaMemset(values, 0, sizeof host);
            for (int i = 0; i <= t; i++)
                add_one<<<1, 64>>>(values, 64);
            cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost);
            cudaFree(values);
            results[t] = host[63];
        });
    for (std::thread &thread : threads)
        thread.join();
    for (int t = 0; t < 4; t++)
        EXPECT(results[t] == t + 1);
}

static void boxes_are_copied_in_three_dimensions()
{
    const size_t width = 20, height = 6, depth = 3;
    unsigned char host[depth][height][width], back[depth][height][width];
    for (size_t i = 0; i < sizeof host; i++)
        ((unsigned char *)host)[i] = (unsigned char)(i * 13);
    cudaPitchedPtr device;
    cudaExtent extent = make_cudaExtent(width, height, depth);
    OK(cudaMalloc3D(&device, extent));
    OK(cudaMemset3D(device, 0x11, extent));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, width, width, height);
    copy.dstPtr = device;
    copy.dstPos = make_cudaPos(4, 1, 0);
    copy.extent = make_cudaExtent(width - 4, height - 1, depth);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    copy = {};
    copy.srcPtr = device;
    copy.dstPtr = make_cudaPitchedPtr(back, width, width, height);
    copy.extent = extent;
    copy.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&copy));
    for (size_t z = 0; z < depth; z++)
        for (size_t y = 0; y < height; y++)
            for (size_t x = 0; x < width; x++)
                EXPECT(back[z][y][x] == (x >= 4 && y >= 1 ? host[z][y - 1][x - 4] : 0x11));
    OK(cudaFree(device.ptr));
}

int main()
{
    managed_memory_is_one_for_host_and_device();
    textures_and_surfaces_read_and_write_arrays();
    cooperative_launches_wait_for_the_whole_grid();
    callbacks_run_in_stream_order();
    a_captured_graph_repeats_what_was_captured();
    symbols_are_copied_both_ways();
    threads_share_the_device();
    boxes_are_copied_in_three_dimensions();
    OK(cudaDeviceSynchronize());
    OK(cudaGetLastError());
    printf("%s\n", failures ? "failed" : "ok");
    return failures ? 1 : 0;
}
