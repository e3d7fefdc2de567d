// SPDX-License-Identifier: Apache-2.0
// Rows with gaps: a kernel reads two tables with the same bytes, most of them zeros behind rows. In
// `padded`, the driver has put them there; in `plain`, they are the program's. Then copies and sets
// of two and three dimensions write rows of `plain`.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "check.h"

enum { WIDTH = 40, PITCH = 128, ROWS = 64, SLICES = 4 }; // in floats, and of these

__global__ void sums(float *out, const float *table)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < WIDTH; i++)
        sum += table[row * PITCH + i];
    if (row < ROWS)
        out[row] = sum;
}

static cudaMemcpy3DParms box_of(float *host, float *table)
{
    cudaMemcpy3DParms box = {};
    box.srcPtr = make_cudaPitchedPtr(host, WIDTH * sizeof(float), WIDTH, ROWS / SLICES);
    box.dstPtr = make_cudaPitchedPtr(table, PITCH * sizeof(float), WIDTH, ROWS / SLICES);
    box.extent = make_cudaExtent(WIDTH * sizeof(float), ROWS / SLICES, SLICES);
    box.kind = cudaMemcpyHostToDevice;
    return box;
}

int main()
{
    const size_t width = WIDTH * sizeof(float), pitch = PITCH * sizeof(float);
    std::vector<float> rows(WIDTH * ROWS), result(ROWS);
    float *padded = nullptr, *plain = nullptr, *out = nullptr;
    size_t got = 0;
    for (int i = 0; i < WIDTH * ROWS; i++)
        rows[i] = 1.0f + (float)((i * 7919) % 10007) / 3.0f;
    CHECK(cudaMallocPitch(&padded, &got, width, ROWS));
    CHECK(cudaMalloc(&plain, pitch * ROWS));
    CHECK(cudaMalloc(&out, ROWS * sizeof(float)));
    if (got != pitch) {
        printf("rows have %zu bytes\n", got);
        return 1;
    }
    for (float *table : {padded, plain}) {
        CHECK(cudaMemset(table, 0, pitch * ROWS));
        CHECK(cudaMemcpy2D(table, pitch, rows.data(), width, width, ROWS, cudaMemcpyHostToDevice));
        sums<<<1, ROWS>>>(out, table);
    }
    const cudaMemcpy3DParms box = box_of(rows.data(), plain);
    CHECK(cudaMemcpy3D(&box)); // nothing changes
    rows[WIDTH * 20] = 0;
    CHECK(cudaMemcpy3D(&box)); // one piece, of 8 rows, changes
    CHECK(cudaMemset2D(plain, pitch, 0, width, ROWS));
    CHECK(cudaMemset2D(plain, pitch, 0, width, ROWS - 8));
    CHECK(cudaMemcpy(result.data(), out, ROWS * sizeof(float), cudaMemcpyDeviceToHost));
    printf("%g\n", result[0]);
    CHECK(cudaFree(padded));
    CHECK(cudaFree(plain));
    CHECK(cudaFree(out));
    return 0;
}
