// SPDX-License-Identifier: Apache-2.0
// em_fixed: em.cu with its waste removed. A block keeps the means and the weights in shared memory,
// where the lanes of a warp find theirs next to each other. The scores take the place of the shares
// in global memory until these are known; shared memory is as large as before.
#include "em.h"

// Divides points among clusters; a thread computes the scores of one cluster.
__global__ void divide(int count, int dims, const float *points, const float *means,
                       const float *weights, const float *sizes, float *shares)
{
    __shared__ float points_tile[tile_points][most_dims];
    __shared__ float greatest[tile_points], totals[tile_points];
    __shared__ float means_tile[most_dims][clusters], weights_tile[most_dims][clusters];

    const int k = threadIdx.x, begin = blockIdx.x * block_points;
    for (int d = 0; d < dims; ++d) {
        means_tile[d][k] = means[k * dims + d];
        weights_tile[d][k] = weights[k * dims + d];
    }
    for (int first = begin; first < min(count, begin + block_points); first += tile_points) {
        const int here = min(tile_points, count - first);
        for (int i = k; i < here * dims; i += clusters)
            points_tile[i / dims][i % dims] = points[first * dims + i];
        __syncthreads();
        for (int p = 0; p < here; ++p) {
            float distance = 0.0f;
            for (int d = 0; d < dims; ++d)
                distance =
                    farther(distance, points_tile[p][d], means_tile[d][k], weights_tile[d][k]);
            shares[(first + p) * clusters + k] = score_of(sizes[k], distance);
        }
        __syncthreads();
        for (int p = k / 32; p < here; p += clusters / 32)
            normalize(&shares[(first + p) * clusters], k % 32, &greatest[p], &totals[p]);
        __syncthreads();
        for (int p = 0; p < here; ++p) {
            float *share = &shares[(first + p) * clusters + k];
            *share = power_of_e(*share - greatest[p]) / totals[p];
        }
        __syncthreads();
    }
}

int main(int argc, char **argv)
{
    const values_problem problem = values_arguments(argc, argv, {600, most_dims, 2});
    const int count = problem.rows, dims = problem.columns;
    const int blocks = example_blocks(count, block_points);
    const em_data data = make_data(problem);
    const size_t points_bytes = data.points.size() * sizeof(float);
    const size_t means_bytes = data.means.size() * sizeof(float);
    const size_t sizes_bytes = data.sizes.size() * sizeof(float);

    float *points_gpu, *means_gpu, *weights_gpu, *sizes_gpu, *shares_gpu, *sums_gpu;
    CHECK(cudaMalloc(&points_gpu, points_bytes));
    CHECK(cudaMalloc(&means_gpu, means_bytes));
    CHECK(cudaMalloc(&weights_gpu, means_bytes));
    CHECK(cudaMalloc(&sizes_gpu, sizes_bytes));
    CHECK(cudaMalloc(&shares_gpu, (size_t)count * clusters * sizeof(float)));
    CHECK(cudaMalloc(&sums_gpu, (size_t)blocks * (dims + 1) * clusters * sizeof(float)));

    CHECK(cudaMemcpy(points_gpu, data.points.data(), points_bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(means_gpu, data.means.data(), means_bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(weights_gpu, data.weights.data(), means_bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(sizes_gpu, data.sizes.data(), sizes_bytes, cudaMemcpyHostToDevice));

    const double began = values_begin();
    for (int step = 0; step < problem.steps; ++step) {
        divide<<<blocks, clusters>>>(count, dims, points_gpu, means_gpu, weights_gpu, sizes_gpu,
                                     shares_gpu);
        collect<<<blocks, clusters>>>(count, dims, points_gpu, shares_gpu, sums_gpu);
        finish<<<dims, clusters>>>(blocks, dims, sums_gpu, means_gpu);
    }
    CHECK(cudaGetLastError());
    values_done(began);

    std::vector<float> means(data.means.size());
    CHECK(cudaMemcpy(means.data(), means_gpu, means_bytes, cudaMemcpyDeviceToHost));
    for (float *used : {points_gpu, means_gpu, weights_gpu, sizes_gpu, shares_gpu, sums_gpu})
        CHECK(cudaFree(used));
    return values_end("em_fixed", means, expected_means(problem, data));
}
