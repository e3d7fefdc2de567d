// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of em: the arithmetic, the second half of a step, the data, and the
// host's own computation.
//
// EM clustering fits clusters to points. In a step, each point is first divided among all clusters:
// its share of a cluster depends on the distance from the cluster's mean, in which each dimension
// has a weight. Then each mean becomes the mean of its shares. Everything is computed by operations
// with one correct result and in one order, so that the host and both versions agree exactly.
#pragma once

#include "../values.h"

#include <algorithm>
#include <math.h>
#include <string.h>

static const int clusters = 128;     // also the threads of a block
static const int most_dims = 16;     // of a point
static const int tile_points = 32;   // that a block has in shared memory at a time
static const int block_points = 256; // of a block in all

// Returns e to the power of x, which is not positive; not less than e to the power of -80.
__host__ __device__ static inline float power_of_e(float x)
{
    x = fmaxf(x, -80.0f);
    const float twos = rintf(x * 1.44269504f);
    const float rest = fmaf(-0.693147182f, twos, x);
    float power = 1.0f / 120.0f;
    power = fmaf(power, rest, 1.0f / 24.0f);
    power = fmaf(power, rest, 1.0f / 6.0f);
    power = fmaf(power, rest, 0.5f);
    power = fmaf(power, rest, 1.0f);
    power = fmaf(power, rest, 1.0f);
    int32_t bits;
    memcpy(&bits, &power, sizeof(bits));
    bits += (int32_t)twos * (1 << 23);
    memcpy(&power, &bits, sizeof(bits));
    return power;
}

// Adds a dimension to a squared distance.
__host__ __device__ static inline float farther(float distance, float x, float mean, float weight)
{
    const float apart = x - mean;
    return fmaf(apart * weight, apart, distance);
}

// Returns the logarithm of what a cluster's share is proportional to.
__host__ __device__ static inline float score_of(float size, float distance)
{
    return fmaf(-0.5f, distance, size);
}

// Finds the greatest score of a point, and the sum of what its shares are proportional to. Called
// by all lanes of a warp; the first of them gets both.
__device__ static inline void normalize(const float *scores, int lane, float *greatest,
                                        float *total)
{
    float most = scores[lane];
    for (int k = lane + 32; k < clusters; k += 32)
        most = fmaxf(most, scores[k]);
    for (int step = 16; step > 0; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    float sum = 0.0f;
    for (int k = lane; k < clusters; k += 32)
        sum += power_of_e(scores[k] - most);
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (lane == 0) {
        *greatest = most;
        *total = sum;
    }
}

// Adds up the shares of a block's points. sums[(block * (dims + 1) + d) * clusters + k] is the sum
// of coordinate d, times the share of cluster k; the last, without a coordinate.
__global__ void collect(int count, int dims, const float *points, const float *shares, float *sums)
{
    const int k = threadIdx.x, first = blockIdx.x * block_points;
    const int end = min(count, first + block_points);
    for (int d = 0; d <= dims; ++d) {
        float sum = 0.0f;
        for (int p = first; p < end; ++p)
            sum = fmaf(shares[p * clusters + k], d < dims ? points[p * dims + d] : 1.0f, sum);
        sums[((int)blockIdx.x * (dims + 1) + d) * clusters + k] = sum;
    }
}

__global__ void finish(int blocks, int dims, const float *sums, float *means)
{
    const int k = threadIdx.x, d = blockIdx.x;
    float sum = 0.0f, all = 0.0f;
    for (int i = 0; i < blocks; ++i) {
        sum += sums[(i * (dims + 1) + d) * clusters + k];
        all += sums[(i * (dims + 1) + dims) * clusters + k];
    }
    means[k * dims + d] = sum / all;
}

struct em_data {
    std::vector<float> points, means, weights, sizes;
};

static em_data make_data(const values_problem &problem)
{
    if (problem.columns > most_dims || problem.rows > INT32_MAX / clusters) {
        fprintf(stderr, "em: at most %d rows of %d columns\n", INT32_MAX / clusters, most_dims);
        exit(1);
    }
    em_data data;
    data.points.resize(problem.rows * problem.columns);
    data.means.resize(clusters * problem.columns);
    data.weights.resize(clusters * problem.columns);
    data.sizes.resize(clusters);
    uint32_t seed = 71;
    for (float &x : data.points)
        x = (float)example_random(&seed, 1000) * 0.01f;
    for (float &x : data.means)
        x = (float)example_random(&seed, 1000) * 0.01f;
    for (float &x : data.weights)
        x = 0.25f + (float)example_random(&seed, 100) * 0.01f;
    for (float &x : data.sizes)
        x = -(float)example_random(&seed, 100) * 0.01f;
    return data;
}

// The shares of one point, in the order in which `normalize` adds.
static void expected_shares(const em_data &data, const std::vector<float> &means, int dims,
                            const float *point, float *shares)
{
    float most = -INFINITY, sums[32] = {}, next[32];
    for (int k = 0; k < clusters; ++k) {
        float distance = 0.0f;
        for (int d = 0; d < dims; ++d)
            distance = farther(distance, point[d], means[k * dims + d], data.weights[k * dims + d]);
        shares[k] = score_of(data.sizes[k], distance);
        most = fmaxf(most, shares[k]);
    }
    for (int k = 0; k < clusters; ++k)
        sums[k % 32] += power_of_e(shares[k] - most);
    for (int step = 16; step > 0; step /= 2) {
        for (int i = 0; i < 32; ++i)
            next[i] = sums[i] + sums[i ^ step];
        std::copy(next, next + 32, sums);
    }
    for (int k = 0; k < clusters; ++k)
        shares[k] = power_of_e(shares[k] - most) / sums[0];
}

static std::vector<float> expected_means(const values_problem &problem, const em_data &data)
{
    const int dims = problem.columns;
    std::vector<float> means = data.means, shares(clusters), sums(clusters * (dims + 1));
    for (int step = 0; step < problem.steps; ++step) {
        std::vector<float> all(sums.size());
        for (int first = 0; first < problem.rows; first += block_points) {
            std::fill(sums.begin(), sums.end(), 0.0f);
            for (int p = first; p < std::min(problem.rows, first + block_points); ++p) {
                const float *point = &data.points[p * dims];
                expected_shares(data, means, dims, point, shares.data());
                for (int i = 0; i < clusters * (dims + 1); ++i) {
                    const int d = i % (dims + 1);
                    sums[i] = fmaf(shares[i / (dims + 1)], d < dims ? point[d] : 1.0f, sums[i]);
                }
            }
            for (size_t i = 0; i < all.size(); ++i)
                all[i] += sums[i];
        }
        for (int i = 0; i < clusters * dims; ++i)
            means[i] = all[i / dims * (dims + 1) + i % dims] / all[i / dims * (dims + 1) + dims];
    }
    return means;
}
