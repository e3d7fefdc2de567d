// SPDX-License-Identifier: Apache-2.0
// needed: a program in which every wait is there for a reason. Each part looks much like one of the
// wasteful examples beside it, and a tool that takes its wait away breaks it.
//
// No finding is expected: each wait protects something that the program touches before it waits
// again, or that nobody can see it touch.
#include "../waits.h"

#include <sys/types.h>
#include <thread>
#include <unistd.h>

__global__ void fill(int count, uint32_t key, int rounds, uint32_t *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = waits_mix((uint32_t)i, key, rounds);
}

__global__ void fold(int count, uint32_t key, const uint32_t *in, uint32_t *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = out[i] * 31u + (in[i] ^ key);
}

struct parts {
    waits_problem problem;
    size_t bytes;
    int blocks;
    uint32_t *data_gpu, *sums_gpu;
    uint32_t *pinned;
    std::vector<uint32_t> host;
    uint64_t checksum;
};

static void run(parts *all, uint32_t key, uint32_t *out)
{
    fill<<<all->blocks, block>>>(all->problem.count, key, all->problem.rounds, out);
    CHECK(cudaGetLastError());
}

static void look(parts *all, const uint32_t *data)
{
    all->checksum = waits_checksum(all->checksum, data, all->problem.count);
}

// As vectors' synchronisations: but the caller looks at once.
static void looked_at(parts *all, uint32_t key)
{
    run(all, key, all->data_gpu);
    CHECK(cudaMemcpyAsync(all->pinned, all->data_gpu, all->bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaDeviceSynchronize());
    look(all, all->pinned);
}

// As history's copies, each overwritten by the next: but each was written to a file.
static void written(parts *all, uint32_t key)
{
    FILE *file = tmpfile();
    if (!file) {
        perror("tmpfile");
        exit(1);
    }
    std::vector<uint32_t> back(all->problem.count);
    run(all, key, all->data_gpu);
    CHECK(cudaMemcpy(all->host.data(), all->data_gpu, all->bytes, cudaMemcpyDeviceToHost));
    if (write(fileno(file), all->host.data(), all->bytes) != (ssize_t)all->bytes ||
        pread(fileno(file), back.data(), all->bytes, 0) != (ssize_t)all->bytes) {
        perror("a temporary file");
        exit(1);
    }
    fclose(file);
    look(all, back.data());
}

// The thread that waits does not look, another one does.
static void by_another_thread(parts *all, uint32_t key)
{
    run(all, key, all->data_gpu);
    CHECK(cudaMemcpyAsync(all->pinned, all->data_gpu, all->bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaStreamSynchronize(0));
    std::thread([all] { look(all, all->pinned); }).join();
}

// As factor's cudaFree: but it is what the copy before it is waited for by.
static void freed(parts *all, uint32_t key)
{
    uint32_t *once_gpu;
    CHECK(cudaMalloc(&once_gpu, all->bytes));
    run(all, key, once_gpu);
    CHECK(cudaMemcpyAsync(all->pinned, once_gpu, all->bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(once_gpu));
    look(all, all->pinned);
}

// Nothing is copied: the kernel writes memory of the host itself.
static void mapped(parts *all, uint32_t key)
{
    run(all, key, all->pinned);
    CHECK(cudaDeviceSynchronize());
    look(all, all->pinned);
}

static void managed(parts *all, uint32_t key)
{
    uint32_t *data;
    CHECK(cudaMallocManaged(&data, all->bytes));
    run(all, key, data);
    CHECK(cudaDeviceSynchronize());
    look(all, data);
    CHECK(cudaFree(data));
}

// The host reads nothing that comes from the GPU: it overwrites what is on its way to it.
static void overwritten(parts *all, uint32_t key)
{
    for (uint32_t i = 0; i < 2; ++i) {
        for (int j = 0; j < all->problem.count; ++j)
            all->pinned[j] = key + i + (uint32_t)j;
        CHECK(cudaMemcpyAsync(all->data_gpu, all->pinned, all->bytes, cudaMemcpyHostToDevice));
        fold<<<all->blocks, block>>>(all->problem.count, key, all->data_gpu, all->sums_gpu);
        CHECK(cudaStreamSynchronize(0));
    }
}

int main(int argc, char **argv)
{
    parts all = {waits_arguments(argc, argv, {1 << 15, 6, 2, 1000})};
    all.bytes = all.problem.count * sizeof(uint32_t);
    all.blocks = example_blocks(all.problem.count, block);
    all.host.resize(all.problem.count);
    all.checksum = waits_checksum_start;
    const double began = waits_begin();

    CHECK(cudaMalloc(&all.data_gpu, all.bytes));
    CHECK(cudaMalloc(&all.sums_gpu, all.bytes));
    CHECK(cudaMemset(all.sums_gpu, 0, all.bytes));
    CHECK(cudaMallocHost(&all.pinned, all.bytes));
    void (*const part[])(parts *, uint32_t) = {looked_at, written, by_another_thread, freed,
                                               mapped,    managed, overwritten};
    uint32_t state = 97;
    uint64_t expected = waits_checksum_start;
    std::vector<uint32_t> wanted(all.problem.count), sums(all.problem.count);
    for (int step = 0; step < all.problem.steps; ++step) {
        for (void (*each)(parts *, uint32_t) : part) {
            const uint32_t key = waits_draw(&state, all.problem.work);
            each(&all, key);
            if (each == overwritten) {
                for (uint32_t i = 0; i < 2; ++i) {
                    for (int j = 0; j < all.problem.count; ++j)
                        sums[j] = sums[j] * 31u + ((key + i + (uint32_t)j) ^ key);
                }
            } else {
                for (int i = 0; i < all.problem.count; ++i)
                    wanted[i] = waits_mix((uint32_t)i, key, all.problem.rounds);
                expected = waits_checksum(expected, wanted.data(), wanted.size());
            }
        }
    }
    CHECK(cudaMemcpy(all.host.data(), all.sums_gpu, all.bytes, cudaMemcpyDeviceToHost));
    look(&all, all.host.data());
    expected = waits_checksum(expected, sums.data(), sums.size());
    CHECK(cudaFree(all.data_gpu));
    CHECK(cudaFree(all.sums_gpu));
    CHECK(cudaFreeHost(all.pinned));
    waits_done(began);
    return waits_end("needed", all.checksum, all.checksum == expected);
}
