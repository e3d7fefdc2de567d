// SPDX-License-Identifier: Apache-2.0
// matchain: the product of four matrices, (a b) (c d), in double precision.
//
// A profiler should find two dead writes (zeros, set and copied into buffers that the kernel
// fills), duplicate values (ab and cd are copied the same zeros), and a redundant allocation: when
// result is first written, a is no longer needed and is as large.
#include "../example.h"

#include <math.h>
#include <vector>

__global__ void multiply(int size, const double *left, const double *right, double *product)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= size || column >= size)
        return;
    double sum = 0.0;
    for (int k = 0; k < size; ++k)
        sum += left[row * size + k] * right[k * size + column];
    product[row * size + column] = sum;
}

static std::vector<double> expected_product(int size, const std::vector<double> &left,
                                            const std::vector<double> &right)
{
    std::vector<double> product(size * size);
    for (int row = 0; row < size; ++row) {
        for (int column = 0; column < size; ++column) {
            double sum = 0.0;
            for (int k = 0; k < size; ++k)
                sum = fma(left[row * size + k], right[k * size + column], sum);
            product[row * size + column] = sum;
        }
    }
    return product;
}

int main(int argc, char **argv)
{
    const int size = example_size(argc, argv, 40);
    const size_t bytes = (size_t)size * size * sizeof(double);

    uint32_t seed = 11;
    std::vector<double> a(size * size), b(a), c(a), d(a), result(a);
    const std::vector<double> zeros(size * size);
    for (int i = 0; i < size * size; ++i) {
        a[i] = example_random(&seed, 1000) * 0.001;
        b[i] = example_random(&seed, 1000) * 0.001;
        c[i] = example_random(&seed, 1000) * 0.001;
        d[i] = example_random(&seed, 1000) * 0.001;
    }

    double *a_gpu, *b_gpu, *c_gpu, *d_gpu, *ab_gpu, *cd_gpu, *result_gpu;
    CHECK(cudaMalloc(&a_gpu, bytes));
    CHECK(cudaMalloc(&b_gpu, bytes));
    CHECK(cudaMalloc(&c_gpu, bytes));
    CHECK(cudaMalloc(&d_gpu, bytes));
    CHECK(cudaMalloc(&ab_gpu, bytes));
    CHECK(cudaMalloc(&cd_gpu, bytes));
    CHECK(cudaMemcpy(a_gpu, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b_gpu, b.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(c_gpu, c.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_gpu, d.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(ab_gpu, zeros.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(cd_gpu, zeros.data(), bytes, cudaMemcpyHostToDevice));

    const dim3 block(16, 8);
    const dim3 grid(example_blocks(size, block.x), example_blocks(size, block.y));
    multiply<<<grid, block>>>(size, a_gpu, b_gpu, ab_gpu);
    multiply<<<grid, block>>>(size, c_gpu, d_gpu, cd_gpu);
    CHECK(cudaMalloc(&result_gpu, bytes));
    CHECK(cudaMemset(result_gpu, 0, bytes));
    multiply<<<grid, block>>>(size, ab_gpu, cd_gpu, result_gpu);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(result.data(), result_gpu, bytes, cudaMemcpyDeviceToHost));

    CHECK(cudaFree(a_gpu));
    CHECK(cudaFree(b_gpu));
    CHECK(cudaFree(c_gpu));
    CHECK(cudaFree(d_gpu));
    CHECK(cudaFree(ab_gpu));
    CHECK(cudaFree(cd_gpu));
    CHECK(cudaFree(result_gpu));

    std::vector<double> expected =
        expected_product(size, expected_product(size, a, b), expected_product(size, c, d));
    return example_end("matchain", result == expected);
}
