// SPDX-License-Identifier: Apache-2.0
// Memory of one process that another one uses, as CUDA-aware MPI and NCCL do it within a machine.
// Two processes share the GPU: the parent lends memory, the child opens it, changes it, and says so
// by an event between processes. Modes:
//   handles  cudaIpcOpenMemHandle, one of two allocations twice
//   pool     a pool that is exported by a file descriptor, with two of its allocations
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                         \
    do {                                                                                    \
        cudaError_t error = (call);                                                         \
        if (error != cudaSuccess) {                                                         \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(error)); \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

enum { N = 1 << 20 };

__global__ void fill(int *out, int value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = value + i % 100;
}

__global__ void add(const int *from, int *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] += from[i];
}

static long sum_of(const int *from, int n)
{
    std::vector<int> host(n);
    CHECK(cudaMemcpy(host.data(), from, n * sizeof(int), cudaMemcpyDeviceToHost));
    long all = 0;
    for (int value : host)
        all += value;
    return all;
}

static void fail(const char *what)
{
    fprintf(stderr, "%s fails\n", what);
    exit(1);
}

static void put(int to, const void *data, size_t size, int descriptor)
{
    char control[CMSG_SPACE(sizeof descriptor)] = "";
    iovec part = {(void *)data, size};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptor >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof descriptor);
        memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    if (sendmsg(to, &message, 0) != (ssize_t)size)
        fail("sendmsg");
}

static int take(int from, void *data, size_t size)
{
    int descriptor = -1;
    char control[CMSG_SPACE(sizeof descriptor)] = "";
    iovec part = {data, size};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (recvmsg(from, &message, MSG_WAITALL) != (ssize_t)size)
        fail("recvmsg");
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_type == SCM_RIGHTS)
        memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
}

struct lent {
    cudaIpcMemHandle_t one, other;
    cudaIpcEventHandle_t done;
};

static void lend_handles(int child)
{
    int *one, *other;
    lent lent;
    cudaEvent_t done;
    CHECK(cudaMalloc(&one, N * sizeof(int)));
    CHECK(cudaMalloc(&other, N * sizeof(int)));
    fill<<<N / 256, 256>>>(one, 1, N);
    fill<<<N / 256, 256>>>(other, 1000, N);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming | cudaEventInterprocess));
    CHECK(cudaIpcGetMemHandle(&lent.one, one));
    CHECK(cudaIpcGetMemHandle(&lent.other, other));
    CHECK(cudaIpcGetEventHandle(&lent.done, done));
    put(child, &lent, sizeof lent, -1);
    char ready;
    take(child, &ready, 1);
    CHECK(cudaStreamWaitEvent(nullptr, done, 0));
    printf("lent: %ld %ld\n", sum_of(one, N), sum_of(other, N));
    put(child, &ready, 1, -1);
    CHECK(cudaFree(one));
    CHECK(cudaFree(other));
    CHECK(cudaEventDestroy(done));
}

static void borrow_handles(int parent)
{
    lent lent;
    take(parent, &lent, sizeof lent);
    void *one, *again, *other;
    cudaEvent_t done;
    CHECK(cudaIpcOpenMemHandle(&one, lent.one, cudaIpcMemLazyEnablePeerAccess));
    CHECK(cudaIpcOpenMemHandle(&again, lent.one, cudaIpcMemLazyEnablePeerAccess));
    CHECK(cudaIpcOpenMemHandle(&other, lent.other, cudaIpcMemLazyEnablePeerAccess));
    CHECK(cudaIpcOpenEventHandle(&done, lent.done));
    int *own;
    CHECK(cudaMalloc(&own, N * sizeof(int)));
    fill<<<N / 256, 256>>>(own, 5, N);
    add<<<N / 256, 256>>>(own, (int *)one, N);
    add<<<N / 256, 256>>>((int *)again, (int *)other, N);
    CHECK(cudaEventRecord(done, nullptr));
    CHECK(cudaDeviceSynchronize());
    char byte = 0;
    put(parent, &byte, 1, -1);
    take(parent, &byte, 1);
    CHECK(cudaIpcCloseMemHandle(again));
    CHECK(cudaIpcCloseMemHandle(one));
    CHECK(cudaIpcCloseMemHandle(other));
    CHECK(cudaFree(own));
    CHECK(cudaEventDestroy(done));
}

static cudaMemPoolProps exported_pool()
{
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    properties.location.type = cudaMemLocationTypeDevice;
    return properties;
}

static void lend_pool(int child)
{
    cudaMemPoolProps properties = exported_pool();
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &properties));
    int descriptor, *memory[2];
    CHECK(cudaMemPoolExportToShareableHandle(&descriptor, pool,
                                             cudaMemHandleTypePosixFileDescriptor, 0));
    cudaMemPoolPtrExportData data[2];
    for (int i = 0; i < 2; i++) {
        CHECK(cudaMallocFromPoolAsync((void **)&memory[i], N * sizeof(int), pool, nullptr));
        fill<<<N / 256, 256>>>(memory[i], 10 * i, N);
        CHECK(cudaMemPoolExportPointer(&data[i], memory[i]));
    }
    CHECK(cudaDeviceSynchronize());
    put(child, data, sizeof data, descriptor);
    close(descriptor);
    char ready;
    take(child, &ready, 1);
    printf("lent: %ld %ld\n", sum_of(memory[0], N), sum_of(memory[1], N));
    for (int *one : memory)
        CHECK(cudaFreeAsync(one, nullptr));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
}

static void borrow_pool(int parent)
{
    cudaMemPoolPtrExportData data[2];
    int descriptor = take(parent, data, sizeof data);
    cudaMemPool_t pool;
    CHECK(cudaSetDevice(0));
    CHECK(cudaMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)descriptor,
                                               cudaMemHandleTypePosixFileDescriptor, 0));
    close(descriptor);
    void *memory[2];
    for (int i = 0; i < 2; i++)
        CHECK(cudaMemPoolImportPointer(&memory[i], pool, &data[i]));
    add<<<N / 256, 256>>>((int *)memory[0], (int *)memory[1], N);
    for (void *one : memory)
        CHECK(cudaFreeAsync(one, nullptr)); // the parent frees them after that
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(pool));
    char byte = 0;
    put(parent, &byte, 1, -1);
}

int main(int count, char **arguments)
{
    const bool is_pool = count == 2 && !strcmp(arguments[1], "pool");
    if (count != 2 || (!is_pool && strcmp(arguments[1], "handles") != 0))
        return 2;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        fail("socketpair");
    const pid_t child = fork(); // before either uses CUDA
    if (child < 0)
        fail("fork");
    close(pair[child ? 1 : 0]);
    if (!child) {
        (is_pool ? borrow_pool : borrow_handles)(pair[1]);
        exit(0);
    }
    (is_pool ? lend_pool : lend_handles)(pair[0]);
    int status;
    if (waitpid(child, &status, 0) != child || status)
        fail("the other process");
}
