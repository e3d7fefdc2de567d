// SPDX-License-Identifier: Apache-2.0
// needed: a program that needs every wait and every copy that it makes. Each part resembles one of
// the wasteful examples, but a tool that removes its wait or copy breaks the
// program.
//
// No finding is expected. Each wait protects data that the program accesses before the next wait,
// or whose access no tool can observe. Each copy brings data that its destination does not have.
#include "../waits.h"

#include <algorithm>
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
    uint32_t *data_gpu, *sums_gpu, *table_gpu;
    uint32_t *pinned, *table;
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

// Like the synchronizations of vectors.cu, but the caller reads the data at once.
static void looked_at(parts *all, uint32_t key)
{
    run(all, key, all->data_gpu);
    CHECK(cudaMemcpyAsync(all->pinned, all->data_gpu, all->bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaDeviceSynchronize());
    look(all, all->pinned);
}

// Like the synchronization of monitor.cu, with more work after it; but the host reads at once the
// number that the work depends on.
static void looked_at_first(parts *all, uint32_t key)
{
    run(all, key, all->data_gpu);
    CHECK(cudaMemcpyAsync(all->pinned, all->data_gpu, all->bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaStreamSynchronize(0));
    fold<<<all->blocks, block>>>(all->problem.count, all->pinned[0], all->data_gpu, all->sums_gpu);
    CHECK(cudaGetLastError());
    look(all, all->pinned);
}

// Like the copies of history.cu, each overwritten by the next, but each is first written to a file.
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

// The thread that waits does not read the data, but another thread does.
static void by_another_thread(parts *all, uint32_t key)
{
    run(all, key, all->data_gpu);
    CHECK(cudaMemcpyAsync(all->pinned, all->data_gpu, all->bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaStreamSynchronize(0));
    std::thread([all] { look(all, all->pinned); }).join();
}

// Like the cudaFree of factor.cu, but here it is the call that waits for the preceding copy.
static void freed(parts *all, uint32_t key)
{
    uint32_t *once_gpu;
    CHECK(cudaMalloc(&once_gpu, all->bytes));
    run(all, key, once_gpu);
    CHECK(cudaMemcpyAsync(all->pinned, once_gpu, all->bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(once_gpu));
    look(all, all->pinned);
}

// Nothing is copied: the kernel writes directly to host memory.
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

// The host reads nothing from the GPU, but overwrites the source of a copy after the wait.
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

// Like the table copies of coefficients.cu, but the host has changed one element of the table.
static void changed(parts *all, uint32_t key)
{
    for (uint32_t i = 0; i < 2; ++i) {
        all->table[key % all->problem.count] += key;
        CHECK(cudaMemcpyAsync(all->table_gpu, all->table, all->bytes, cudaMemcpyHostToDevice));
        fold<<<all->blocks, block>>>(all->problem.count, key, all->table_gpu, all->sums_gpu);
        CHECK(cudaStreamSynchronize(0));
    }
}

// The same, but the copy on the GPU was changed, and the host's table was not; what the table held
// before is elsewhere on the GPU.
static void changed_on_gpu(parts *all, uint32_t key)
{
    all->table[0] += key + 1;
    for (uint32_t i = 0; i < 2; ++i) {
        CHECK(cudaMemcpyAsync(all->data_gpu, all->table, all->bytes, cudaMemcpyHostToDevice));
        fold<<<all->blocks, block>>>(all->problem.count, key, all->sums_gpu, all->data_gpu);
        fold<<<all->blocks, block>>>(all->problem.count, key, all->data_gpu, all->sums_gpu);
    }
    CHECK(cudaStreamSynchronize(0)); // the host changes the table next
}

// --- The same on the host ------------------------------------------------------------------------

struct host_parts {
    waits_problem problem;
    std::vector<uint32_t> data, sums, table;
    uint64_t checksum;
};

static void fold_on_host(host_parts *all, uint32_t key, const std::vector<uint32_t> &in,
                         std::vector<uint32_t> *out)
{
    for (int i = 0; i < all->problem.count; ++i)
        (*out)[i] = (*out)[i] * 31u + (in[i] ^ key);
}

// What most parts do: the GPU fills memory, and the host reads it.
static void fill_on_host(host_parts *all, uint32_t key)
{
    for (int i = 0; i < all->problem.count; ++i)
        all->data[i] = waits_mix((uint32_t)i, key, all->problem.rounds);
    all->checksum = waits_checksum(all->checksum, all->data.data(), all->data.size());
}

static void fill_and_fold_on_host(host_parts *all, uint32_t key)
{
    fill_on_host(all, key);
    fold_on_host(all, all->data[0], all->data, &all->sums);
}

static void overwrite_on_host(host_parts *all, uint32_t key)
{
    for (uint32_t i = 0; i < 2; ++i) {
        for (int j = 0; j < all->problem.count; ++j)
            all->data[j] = key + i + (uint32_t)j;
        fold_on_host(all, key, all->data, &all->sums);
    }
}

static void change_on_host(host_parts *all, uint32_t key)
{
    for (uint32_t i = 0; i < 2; ++i) {
        all->table[key % all->problem.count] += key;
        fold_on_host(all, key, all->table, &all->sums);
    }
}

static void change_copy_on_host(host_parts *all, uint32_t key)
{
    all->table[0] += key + 1;
    for (uint32_t i = 0; i < 2; ++i) {
        all->data = all->table;
        fold_on_host(all, key, all->sums, &all->data);
        fold_on_host(all, key, all->data, &all->sums);
    }
}

// --- All parts -----------------------------------------------------------------------------------

static const struct {
    void (*run)(parts *, uint32_t);
    void (*run_on_host)(host_parts *, uint32_t);
} each_part[] = {
    {looked_at, fill_on_host}, {looked_at_first, fill_and_fold_on_host},
    {written, fill_on_host},   {by_another_thread, fill_on_host},
    {freed, fill_on_host},     {mapped, fill_on_host},
    {managed, fill_on_host},   {overwritten, overwrite_on_host},
    {changed, change_on_host}, {changed_on_gpu, change_copy_on_host},
};

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
    CHECK(cudaMalloc(&all.table_gpu, all.bytes));
    CHECK(cudaMemset(all.sums_gpu, 0, all.bytes));
    CHECK(cudaMallocHost(&all.pinned, all.bytes));
    CHECK(cudaMallocHost(&all.table, all.bytes));
    const std::vector<uint32_t> zeros(all.problem.count);
    host_parts wanted = {all.problem, zeros, zeros, zeros, waits_checksum_start};
    std::copy(zeros.begin(), zeros.end(), all.table);
    uint32_t state = 97;
    for (int step = 0; step < all.problem.steps; ++step) {
        for (const auto &part : each_part) {
            const uint32_t key = waits_draw(&state, all.problem.work);
            part.run(&all, key);
            part.run_on_host(&wanted, key);
        }
    }
    CHECK(cudaMemcpy(all.host.data(), all.sums_gpu, all.bytes, cudaMemcpyDeviceToHost));
    look(&all, all.host.data());
    wanted.checksum = waits_checksum(wanted.checksum, wanted.sums.data(), wanted.sums.size());
    CHECK(cudaFree(all.data_gpu));
    CHECK(cudaFree(all.sums_gpu));
    CHECK(cudaFree(all.table_gpu));
    CHECK(cudaFreeHost(all.pinned));
    CHECK(cudaFreeHost(all.table));
    waits_done(began);
    return waits_end("needed", all.checksum, all.checksum == wanted.checksum);
}
