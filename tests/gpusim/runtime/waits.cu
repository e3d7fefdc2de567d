// SPDX-License-Identifier: Apache-2.0
// Prints which calls of the runtime return while the device is still busy, and which wait for it. A kernel
// runs until a word in pinned memory is set, which a thread does some time after the launch: a call that
// returns before that did not wait. waits.expected is what an H200 printed; the simulated GPU must print
// the same.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                          \
    do {                                                                     \
        cudaError_t error = (call);                                          \
        if (error != cudaSuccess) {                                          \
            printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(error)); \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

static const size_t bytes = 1 << 20;

__device__ char symbol[1024];

__global__ void hold(volatile int *released)
{
    while (!*released)
        ;
}

static int *released; // pinned

// Makes the call while the stream is busy for some time; returns whether the call waited until its end.
template <typename call_type>
static bool waits(cudaStream_t stream, int busy_ms, call_type call, cudaError_t *error)
{
    CHECK(cudaDeviceSynchronize());
    __atomic_store_n(released, 0, __ATOMIC_SEQ_CST);
    hold<<<1, 1, 0, stream>>>(released);
    CHECK(cudaGetLastError());
    std::thread release([busy_ms] {
        std::this_thread::sleep_for(std::chrono::milliseconds(busy_ms));
        __atomic_store_n(released, 1, __ATOMIC_SEQ_CST);
    });
    *error = call();
    bool waited = __atomic_load_n(released, __ATOMIC_SEQ_CST);
    release.join();
    CHECK(cudaDeviceSynchronize());
    return waited;
}

// Makes the call on an idle device, to exclude first-time initialization, and then behind a short kernel.
// If it waits, it must also wait for a longer kernel, because the machine may just have been slow.
template <typename prepare_type, typename call_type>
static void report(const char *what, cudaStream_t stream, prepare_type prepare, call_type call)
{
    cudaError_t error;
    prepare();
    call();
    prepare();
    bool waited = waits(stream, 20, call, &error);
    if (waited) {
        prepare();
        waited = waits(stream, 150, call, &error);
    }
    printf("  %-48s %s", what, waited ? "waits" : "does not wait");
    if (error != cudaSuccess)
        printf(", %s", cudaGetErrorName(error));
    printf("\n");
}

#define TRY_AFTER(prepare, what, call) report(what, stream, [&] { prepare; }, [&] { return call; })
#define TRY(what, call)                TRY_AFTER((void)0, what, call)

// Objects that the calls below share.
struct things {
    char *device, *other, *managed, *pinned;
    std::vector<char> pageable, source;
    cudaStream_t blocking, free_running;
    cudaEvent_t event;
};

static void *device_memory()
{
    void *memory;
    CHECK(cudaMalloc(&memory, bytes));
    return memory;
}

static void *pool_memory()
{
    void *memory;
    CHECK(cudaMallocAsync(&memory, bytes, 0));
    return memory;
}

static void memory(cudaStream_t stream)
{
    void *p, *taken[4];
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    std::vector<char> pageable(bytes);
    TRY("cudaMalloc", cudaMalloc(&taken[0], bytes));
    TRY("cudaMallocHost", cudaMallocHost(&taken[1], bytes));
    TRY("cudaMallocManaged", cudaMallocManaged(&taken[2], bytes));
    TRY_AFTER(p = pool_memory(); CHECK(cudaFreeAsync(p, 0)), "cudaMallocAsync", cudaMallocAsync(&taken[3], bytes, 0));
    TRY_AFTER(p = device_memory(), "cudaFree of device memory", cudaFree(p));
    TRY_AFTER(CHECK(cudaMallocHost(&p, bytes)), "cudaFreeHost", cudaFreeHost(p));
    TRY_AFTER(CHECK(cudaMallocManaged(&p, bytes)), "cudaFree of managed memory", cudaFree(p));
    TRY_AFTER(p = pool_memory(), "cudaFree of pool memory", cudaFree(p));
    TRY_AFTER(p = pool_memory(), "cudaFreeAsync", cudaFreeAsync(p, 0));
    TRY("cudaFree of nothing", cudaFree(nullptr));
    TRY_AFTER(CHECK(cudaMallocArray(&array, &format, 64, 64)), "cudaFreeArray", cudaFreeArray(array));
    TRY_AFTER(cudaHostUnregister(pageable.data()); cudaGetLastError(), "cudaHostRegister",
              cudaHostRegister(pageable.data(), bytes, 0));
    TRY_AFTER(cudaHostRegister(pageable.data(), bytes, 0); cudaGetLastError(), "cudaHostUnregister",
              cudaHostUnregister(pageable.data()));
}

static void copies(cudaStream_t stream, things &with)
{
    char *pageable = with.pageable.data();
    TRY("cudaMemcpy, pageable to device, 1 MiB", cudaMemcpy(with.device, pageable, bytes, cudaMemcpyHostToDevice));
    TRY("cudaMemcpy, pageable to device, 16 KiB", cudaMemcpy(with.device, pageable, 16384, cudaMemcpyHostToDevice));
    TRY("cudaMemcpy, pageable to device, 4 B", cudaMemcpy(with.device, pageable, 4, cudaMemcpyHostToDevice));
    TRY("cudaMemcpy, pinned to device", cudaMemcpy(with.device, with.pinned, bytes, cudaMemcpyHostToDevice));
    TRY("cudaMemcpy, device to pageable", cudaMemcpy(pageable, with.device, bytes, cudaMemcpyDeviceToHost));
    TRY("cudaMemcpy, device to pinned", cudaMemcpy(with.pinned, with.device, bytes, cudaMemcpyDeviceToHost));
    TRY("cudaMemcpy, device to device", cudaMemcpy(with.other, with.device, bytes, cudaMemcpyDeviceToDevice));
    TRY("cudaMemcpy, pageable to pageable", cudaMemcpy(pageable, with.source.data(), bytes, cudaMemcpyHostToHost));
    TRY("cudaMemcpy of 0 bytes to pageable", cudaMemcpy(pageable, with.device, 0, cudaMemcpyDeviceToHost));
    TRY("cudaMemcpyToSymbol, pageable", cudaMemcpyToSymbol(symbol, pageable, sizeof(symbol)));
    TRY("cudaMemcpyFromSymbol, pageable", cudaMemcpyFromSymbol(pageable, symbol, sizeof(symbol)));
    TRY("cudaMemcpyAsync, pageable to device, 16 KiB",
        cudaMemcpyAsync(with.device, pageable, 16384, cudaMemcpyHostToDevice, 0));
    TRY("cudaMemcpyAsync, pageable to device, 1 MiB",
        cudaMemcpyAsync(with.device, pageable, bytes, cudaMemcpyHostToDevice, 0));
    TRY("cudaMemcpyAsync, pinned to device",
        cudaMemcpyAsync(with.device, with.pinned, bytes, cudaMemcpyHostToDevice, 0));
    TRY("cudaMemcpyAsync, device to pageable",
        cudaMemcpyAsync(pageable, with.device, bytes, cudaMemcpyDeviceToHost, 0));
    TRY("cudaMemcpyAsync, device to pinned",
        cudaMemcpyAsync(with.pinned, with.device, bytes, cudaMemcpyDeviceToHost, 0));
    TRY("cudaMemcpyAsync, device to device",
        cudaMemcpyAsync(with.other, with.device, bytes, cudaMemcpyDeviceToDevice, 0));
    TRY("cudaMemset of device memory", cudaMemset(with.device, 1, bytes));
    TRY("cudaMemset of managed memory", cudaMemset(with.managed, 1, bytes));
    TRY("cudaMemset of pinned memory", cudaMemset(with.pinned, 1, bytes));
    TRY("cudaMemsetAsync of device memory", cudaMemsetAsync(with.device, 1, bytes, 0));
    TRY("cudaMemsetAsync of pinned memory", cudaMemsetAsync(with.pinned, 1, bytes, 0));
}

static void others(cudaStream_t stream, things &with)
{
    cudaStream_t made;
    cudaEvent_t event;
    size_t unused, total;
    TRY("cudaStreamCreate", cudaStreamCreate(&made));
    TRY_AFTER(CHECK(cudaStreamCreate(&made)), "cudaStreamDestroy of an idle stream", cudaStreamDestroy(made));
    TRY_AFTER(CHECK(cudaEventCreate(&event)), "cudaEventRecord", cudaEventRecord(event, 0));
    TRY_AFTER(CHECK(cudaEventCreate(&event)), "cudaEventDestroy", cudaEventDestroy(event));
    TRY("cudaStreamWaitEvent", cudaStreamWaitEvent(with.free_running, with.event, 0));
    TRY("cudaMemGetInfo", cudaMemGetInfo(&unused, &total));
    TRY("cudaStreamSynchronize of the busy stream", cudaStreamSynchronize(stream));
    TRY("cudaStreamSynchronize of the default stream", cudaStreamSynchronize(0));
    TRY("cudaStreamSynchronize of a stream that blocks", cudaStreamSynchronize(with.blocking));
    TRY("cudaDeviceSynchronize", cudaDeviceSynchronize());
}

int main()
{
    things with;
    with.device = (char *)device_memory();
    with.other = (char *)device_memory();
    CHECK(cudaMallocManaged(&with.managed, bytes));
    CHECK(cudaMallocHost(&with.pinned, bytes));
    CHECK(cudaMallocHost(&released, sizeof(*released)));
    with.pageable.resize(bytes);
    with.source.resize(bytes);
    CHECK(cudaStreamCreate(&with.blocking));
    CHECK(cudaStreamCreateWithFlags(&with.free_running, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&with.event));

    printf("behind a kernel in the default stream:\n");
    memory(0);
    copies(0, with);
    others(0, with);
    printf("behind a kernel in a stream that does not block:\n");
    memory(with.free_running);
    copies(with.free_running, with);
    others(with.free_running, with);
    return 0;
}
