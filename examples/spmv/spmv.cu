// SPDX-License-Identifier: Apache-2.0
// spmv: a sparse matrix in compressed rows times a vector, in double precision, one thread per row.
//
// Neighboring threads read distant parts of columns and values, which a profiler should find poorly
// coalesced. The values are small whole numbers stored as doubles (a heavy type), and every element
// of x is 1 (a single value).
#include "../example.h"

#include <math.h>
#include <vector>

__global__ void spmv(int rows, const int *row_start, const int *columns, const double *values,
                     const double *x, double *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    double sum = 0.0;
    for (int i = row_start[row]; i < row_start[row + 1]; ++i)
        sum += values[i] * x[columns[i]];
    y[row] = sum;
}

template <typename element> static element *upload(const std::vector<element> &data)
{
    element *data_gpu;
    CHECK(cudaMalloc(&data_gpu, data.size() * sizeof(element)));
    CHECK(cudaMemcpy(data_gpu, data.data(), data.size() * sizeof(element), cudaMemcpyHostToDevice));
    return data_gpu;
}

int main(int argc, char **argv)
{
    const int rows = example_size(argc, argv, 4096);

    uint32_t seed = 7;
    std::vector<int> row_start(1, 0), columns;
    std::vector<double> values, x(rows, 1.0), y(rows);
    for (int row = 0; row < rows; ++row) {
        for (uint32_t i = example_random(&seed, 32); i > 0; --i) {
            columns.push_back((int)example_random(&seed, rows));
            values.push_back((double)example_random(&seed, 100));
        }
        row_start.push_back((int)columns.size());
    }

    int *row_start_gpu = upload(row_start);
    int *columns_gpu = upload(columns);
    double *values_gpu = upload(values);
    double *x_gpu = upload(x);
    double *y_gpu;
    CHECK(cudaMalloc(&y_gpu, rows * sizeof(double)));
    spmv<<<example_blocks(rows, 128), 128>>>(rows, row_start_gpu, columns_gpu, values_gpu, x_gpu,
                                             y_gpu);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(row_start_gpu));
    CHECK(cudaFree(columns_gpu));
    CHECK(cudaFree(values_gpu));
    CHECK(cudaFree(x_gpu));
    CHECK(cudaMemcpy(y.data(), y_gpu, rows * sizeof(double), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(y_gpu));

    bool ok = true;
    for (int row = 0; row < rows; ++row) {
        double sum = 0.0;
        for (int i = row_start[row]; i < row_start[row + 1]; ++i)
            sum = fma(values[i], x[columns[i]], sum);
        ok = ok && y[row] == sum;
    }
    return example_end("spmv", ok);
}
