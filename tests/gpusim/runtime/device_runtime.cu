// SPDX-License-Identifier: Apache-2.0
// Prints what the device runtime answers kernels: versions, flags of streams and events, errors of
// launches, and what fills change, in each kind of stream. The simulated GPU must print what an
// H200 printed (device_runtime.expected).
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                     \
    do {                                                                \
        cudaError_t error = (call);                                     \
        if (error != cudaSuccess) {                                     \
            printf("line %d: %s\n", __LINE__, cudaGetErrorName(error)); \
            exit(1);                                                    \
        }                                                               \
    } while (0)

enum { BYTES = 4096, ANSWERS = 16, BEFORE = 0x55 };

static int *answers;
static unsigned char *memory;

static void begin()
{
    CHECK(cudaMemset(answers, 0xFF, ANSWERS * sizeof(int)));
    CHECK(cudaMemset(memory, BEFORE, BYTES));
}

static void print_answers(const char *what, int count)
{
    int host[ANSWERS];
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, answers, sizeof(host), cudaMemcpyDeviceToHost));
    printf("%s:", what);
    for (int i = 0; i < count; i++)
        printf(" %d", host[i]);
    printf("\n");
}

// How many bytes have another value than before, and where the first and the last are. Their value
// is not printed: an H200 with CUDA 13.0 filled with zeros, whatever was asked for.
static void print_changes(const char *what)
{
    static unsigned char host[BYTES];
    int error = -1, count = 0, first = -1, last = -1;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, memory, BYTES, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&error, answers, sizeof(error), cudaMemcpyDeviceToHost));
    for (int i = 0; i < BYTES; i++) {
        if (host[i] == BEFORE)
            continue;
        count++;
        last = i;
        first = first < 0 ? i : first;
    }
    printf("  %s: %d, %d bytes changed from %d to %d\n", what, error, count, first, last);
}

// --- Questions -----------------------------------------------------------------------------------

__global__ void ask(int *out)
{
    int value = -1;
    out[0] = cudaRuntimeGetVersion(&value);
    out[1] = value;
    out[2] = cudaGetDevice(&value);
    out[3] = value;
    out[4] = cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0);
    out[5] = value;
    out[6] = cudaDeviceGetAttribute(&value, (cudaDeviceAttr)9999, 0);
    out[7] = cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99);
}

__global__ void make_streams(int *out)
{
    for (unsigned flags = 0; flags < 4; flags++) {
        cudaStream_t stream = NULL;
        cudaEvent_t event = NULL;
        out[flags] = cudaStreamCreateWithFlags(&stream, flags);
        out[4 + flags] = cudaEventCreateWithFlags(&event, flags);
        out[8 + flags] = stream ? (int)cudaStreamDestroy(stream) : -1;
        out[12 + flags] = event ? (int)cudaEventDestroy(event) : -1;
    }
}

__global__ void nothing() {}

__global__ void launch_wrongly(int *out)
{
    nothing<<<1, 2000>>>();
    out[0] = cudaPeekAtLastError();
    out[1] = cudaGetLastError();
    out[2] = cudaGetLastError();
    nothing<<<0, 1>>>();
    out[3] = cudaGetLastError();
    nothing<<<1, 0>>>();
    out[4] = cudaGetLastError();
    nothing<<<1, 1, 1 << 20>>>();
    out[5] = cudaGetLastError();
    nothing<<<dim3(1, 70000), 1>>>();
    out[6] = cudaGetLastError();
    nothing<<<1, 1>>>();
    out[7] = cudaGetLastError();
}

// --- Fills and copies ----------------------------------------------------------------------------

enum { NULL_STREAM, OWN_STREAM, AT_ONCE, TAIL };

__device__ cudaStream_t stream_of(int kind)
{
    cudaStream_t own = NULL;
    switch (kind) {
    case OWN_STREAM: cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking); return own;
    case AT_ONCE: return cudaStreamFireAndForget;
    case TAIL: return cudaStreamTailLaunch;
    default: return NULL;
    }
}

__global__ void fill(int *out, unsigned char *to, int kind, int dimensions)
{
    cudaStream_t stream = stream_of(kind);
    if (dimensions == 1)
        *out = cudaMemsetAsync(to + 64, 7, 100, stream);
    else if (dimensions == 2)
        *out = cudaMemset2DAsync(to + 64, 32, 3, 20, 6, stream);
    else
        *out =
            cudaMemset3DAsync(cudaPitchedPtr{to + 64, 16, 16, 5}, 9, cudaExtent{12, 4, 3}, stream);
}

__global__ void fill_then_launch(int *out, unsigned char *to)
{
    *out = cudaMemsetAsync(to + 64, 7, 128, 0);
    nothing<<<1, 1>>>();
}

__global__ void copy(int *out, unsigned char *to, int kind, cudaMemcpyKind direction)
{
    *out = cudaMemcpyAsync(to + 64, to + 2048 + 1, 100, direction, stream_of(kind));
}

__global__ void count_up(unsigned char *to)
{
    to[2048 + threadIdx.x] = threadIdx.x;
}

int main()
{
    static const char *const kinds[] = {"NULL", "own", "at once", "tail"};
    CHECK(cudaMalloc(&answers, ANSWERS * sizeof(int)));
    CHECK(cudaMalloc(&memory, BYTES));
    begin();
    ask<<<1, 1>>>(answers);
    print_answers("version, device, attributes", 8);
    begin();
    make_streams<<<1, 1>>>(answers);
    print_answers("flags 0 to 3 of streams and of events, and their ends", 16);
    begin();
    launch_wrongly<<<1, 1>>>(answers);
    print_answers("launches", 8);
    for (int kind = NULL_STREAM; kind <= TAIL; kind++) {
        printf("stream: %s\n", kinds[kind]);
        for (int dimensions = 1; dimensions <= 3; dimensions++) {
            char what[32];
            begin();
            fill<<<1, 1>>>(answers, memory, kind, dimensions);
            snprintf(what, sizeof(what), "fill of %d dimensions", dimensions);
            print_changes(what);
        }
        begin();
        count_up<<<1, 256>>>(memory);
        copy<<<1, 1>>>(answers, memory, kind, cudaMemcpyDeviceToDevice);
        print_changes("copy");
    }
    begin();
    fill_then_launch<<<1, 1>>>(answers, memory);
    print_changes("fill before a launch");
    for (int direction = cudaMemcpyHostToHost; direction <= cudaMemcpyDefault; direction++) {
        begin();
        copy<<<1, 1>>>(answers, memory, NULL_STREAM, (cudaMemcpyKind)direction);
        CHECK(cudaDeviceSynchronize());
        print_answers("direction of a copy", 1);
    }
    return 0;
}
