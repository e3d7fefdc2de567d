// SPDX-License-Identifier: Apache-2.0
// streams: data filtered in parts. Each part is copied, processed and copied back on its own
// stream, with events between streams, and scratch memory from the stream-ordered pool.
//
// A profiler should find that the streams never overlap, because the host waits for each part
// before it starts the next (unnecessary synchronizations; only the last is needed); that weights
// are copied for every part although they never change (duplicate transfers); and that this copy,
// from pageable memory, is synchronous.
#include "../example.h"

#include <math.h>
#include <vector>

static const int part_count = 4;
static const int weight_count = 16;

__global__ void filter(int count, const float *weights, const float *in, float *scratch)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float sum = 0.0f;
    for (int j = 0; j < weight_count; ++j)
        sum = fmaf(weights[j], in[(i + j) % count], sum);
    scratch[i] = sum;
}

__global__ void square(int count, const float *scratch, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = scratch[i] * scratch[i];
}

int main(int argc, char **argv)
{
    const int part = example_blocks(example_size(argc, argv, 1 << 14), part_count);
    const int count = part * part_count;
    const size_t bytes = count * sizeof(float), part_bytes = part * sizeof(float);

    std::vector<float> weights(weight_count);
    for (int i = 0; i < weight_count; ++i)
        weights[i] = 1.0f / (1 + i);
    float *in, *out;
    CHECK(cudaMallocHost(&in, bytes));
    CHECK(cudaMallocHost(&out, bytes));
    uint32_t seed = 13;
    for (int i = 0; i < count; ++i)
        in[i] = example_random(&seed, 1000) * 0.01f;

    float *weights_gpu, *in_gpu, *out_gpu;
    CHECK(cudaMalloc(&weights_gpu, weight_count * sizeof(float)));
    CHECK(cudaMalloc(&in_gpu, bytes));
    CHECK(cudaMalloc(&out_gpu, bytes));
    cudaStream_t streams[part_count], copies;
    cudaEvent_t started, ended, copied[part_count];
    CHECK(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&started));
    CHECK(cudaEventCreate(&ended));
    for (int i = 0; i < part_count; ++i) {
        CHECK(cudaStreamCreate(&streams[i]));
        CHECK(cudaEventCreateWithFlags(&copied[i], cudaEventDisableTiming));
    }

    const int blocks = example_blocks(part, 128);
    CHECK(cudaEventRecord(started, streams[0]));
    for (int i = 0; i < part_count; ++i) {
        float *scratch_gpu;
        CHECK(cudaMemcpyAsync(weights_gpu, weights.data(), weight_count * sizeof(float),
                              cudaMemcpyHostToDevice, copies));
        CHECK(cudaMemcpyAsync(in_gpu + i * part, in + i * part, part_bytes, cudaMemcpyHostToDevice,
                              copies));
        CHECK(cudaEventRecord(copied[i], copies));
        CHECK(cudaStreamWaitEvent(streams[i], copied[i], 0));
        CHECK(cudaMallocAsync(&scratch_gpu, part_bytes, streams[i]));
        filter<<<blocks, 128, 0, streams[i]>>>(part, weights_gpu, in_gpu + i * part, scratch_gpu);
        square<<<blocks, 128, 0, streams[i]>>>(part, scratch_gpu, out_gpu + i * part);
        CHECK(cudaGetLastError());
        CHECK(cudaFreeAsync(scratch_gpu, streams[i]));
        CHECK(cudaMemcpyAsync(out + i * part, out_gpu + i * part, part_bytes,
                              cudaMemcpyDeviceToHost, streams[i]));
        CHECK(cudaStreamSynchronize(streams[i]));
    }
    CHECK(cudaEventRecord(ended, streams[part_count - 1]));
    CHECK(cudaEventSynchronize(ended));
    CHECK(cudaDeviceSynchronize());

    float elapsed_ms = -1.0f;
    CHECK(cudaEventElapsedTime(&elapsed_ms, started, ended));
    bool ok = elapsed_ms >= 0.0f;
    for (int i = 0; i < count; ++i) {
        float sum = 0.0f;
        for (int j = 0; j < weight_count; ++j)
            sum = fmaf(weights[j], in[i / part * part + (i % part + j) % part], sum);
        ok = ok && out[i] == sum * sum;
    }

    for (int i = 0; i < part_count; ++i) {
        CHECK(cudaStreamDestroy(streams[i]));
        CHECK(cudaEventDestroy(copied[i]));
    }
    CHECK(cudaStreamDestroy(copies));
    CHECK(cudaEventDestroy(started));
    CHECK(cudaEventDestroy(ended));
    CHECK(cudaFree(weights_gpu));
    CHECK(cudaFree(in_gpu));
    CHECK(cudaFree(out_gpu));
    CHECK(cudaFreeHost(in));
    CHECK(cudaFreeHost(out));
    return example_end("streams", ok);
}
