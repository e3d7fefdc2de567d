// SPDX-License-Identifier: Apache-2.0
// halo: cells in a ring, divided among ranks that exchange their outer cells in each step. Two ranks
// differ from the others, which only a look at all of them shows.
//
// Waste: rank 0, which was to write checkpoints, still allocates two arrays for them, so it holds
// twice the memory of the others. The last rank, which once measured its kernels, still waits for
// each of them before it does the host's part of a step, although the copy after that waits anyway.
#include "halo.h"

__global__ void relax(int count, const uint32_t *cells, uint32_t *next)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (i <= count)
        next[i] = cells[i - 1] + 2 * cells[i] + cells[i + 1];
}

int main(int argc, char **argv)
{
    halo job = halo_begin(argc, argv);
    const size_t word = sizeof(uint32_t), bytes = (job.count + 2) * word;
    uint32_t *host = (uint32_t *)malloc(bytes);
    for (int i = 0; i < job.count; ++i)
        host[i + 1] = halo_initial(job.rank * job.count + i);
    uint32_t before, after;
    halo_exchange(&job, host[1], host[job.count], &before, &after);
    host[0] = before;
    host[job.count + 1] = after;
    uint32_t *cells_gpu, *next_gpu;
    CHECK(cudaMalloc(&cells_gpu, bytes));
    CHECK(cudaMalloc(&next_gpu, bytes));
    uint32_t *saved_cells_gpu = NULL, *saved_next_gpu = NULL;
    if (job.rank == 0) {
        CHECK(cudaMalloc(&saved_cells_gpu, bytes));
        CHECK(cudaMalloc(&saved_next_gpu, bytes));
    }
    CHECK(cudaMemcpy(cells_gpu, host, bytes, cudaMemcpyHostToDevice));

    for (int step = 0; step < job.steps; ++step) {
        relax<<<example_blocks(job.count, halo_block), halo_block>>>(job.count, cells_gpu, next_gpu);
        CHECK(cudaGetLastError());
        if (job.rank == job.ranks - 1)
            cudaDeviceSynchronize();
        halo_enter(&job, before, after);
        uint32_t first, last;
        CHECK(cudaMemcpy(&first, next_gpu + 1, word, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(&last, next_gpu + job.count, word, cudaMemcpyDeviceToHost));
        halo_exchange(&job, first, last, &before, &after);
        CHECK(cudaMemcpy(next_gpu, &before, word, cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(next_gpu + job.count + 1, &after, word, cudaMemcpyHostToDevice));
        uint32_t *old = cells_gpu;
        cells_gpu = next_gpu;
        next_gpu = old;
    }

    CHECK(cudaMemcpy(host, cells_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(saved_next_gpu));
    CHECK(cudaFree(saved_cells_gpu));
    CHECK(cudaFree(next_gpu));
    CHECK(cudaFree(cells_gpu));
    return halo_end(&job, "halo", host + 1);
}
