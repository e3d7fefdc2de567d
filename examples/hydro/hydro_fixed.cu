// SPDX-License-Identifier: Apache-2.0
// hydro_fixed: hydro.cu with its waste removed. The gradients are freed after UpdateQuadratureData.
// All memory is allocated just before its first use and freed after its last. Memory that a copy
// overwrites is not set to zero first. The second limit reuses the memory of the first.
#include "hydro.h"

class QUpdate
{
    int zones;
    uint32_t *q_dx, *q_dy;

  public:
    explicit QUpdate(int zone_count) : zones(zone_count)
    {
        const size_t bytes = (size_t)zones * quadrature * sizeof(uint32_t);
        CHECK(cudaMalloc(&q_dx, bytes));
        CHECK(cudaMalloc(&q_dy, bytes));
    }
    void UpdateQuadratureData(const uint32_t *v_gpu, uint32_t *s_gpu, uint32_t *dt_gpu)
    {
        const int blocks = example_blocks(zones, block);
        gradients<<<blocks, block>>>(zones, v_gpu, q_dx, q_dy);
        stress<<<blocks, block>>>(zones, q_dx, q_dy, s_gpu, dt_gpu);
        CHECK(cudaGetLastError());
        CHECK(cudaFree(q_dx));
        CHECK(cudaFree(q_dy));
    }
};

int main(int argc, char **argv)
{
    const int zones = example_size(argc, argv, 1024);
    const int blocks = example_blocks(zones, block);
    const size_t bytes = (size_t)zones * nodes * sizeof(uint32_t);
    const size_t dt_bytes = blocks * sizeof(uint32_t);

    flow flow(zones);
    uint32_t *v_gpu, *x_gpu, *e_gpu, *s_gpu, *f_gpu, *dt_gpu;
    CHECK(cudaMalloc(&v_gpu, bytes));
    CHECK(cudaMemcpy(v_gpu, flow.v.data(), bytes, cudaMemcpyHostToDevice));
    QUpdate *qupdate = new QUpdate(zones);
    CHECK(cudaMalloc(&s_gpu, bytes));
    CHECK(cudaMalloc(&dt_gpu, dt_bytes));
    qupdate->UpdateQuadratureData(v_gpu, s_gpu, dt_gpu);
    CHECK(cudaMemcpy(flow.dt_first.data(), dt_gpu, dt_bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMalloc(&f_gpu, bytes));
    forces<<<blocks, block>>>(zones, s_gpu, f_gpu);
    CHECK(cudaMalloc(&x_gpu, bytes));
    CHECK(cudaMemcpy(x_gpu, flow.x.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&e_gpu, bytes));
    CHECK(cudaMemcpy(e_gpu, flow.e.data(), bytes, cudaMemcpyHostToDevice));
    advance<<<blocks, block>>>(zones, f_gpu, s_gpu, x_gpu, v_gpu, e_gpu, dt_gpu);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(s_gpu));
    CHECK(cudaFree(f_gpu));
    CHECK(cudaMemcpy(flow.dt_last.data(), dt_gpu, dt_bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(dt_gpu));
    CHECK(cudaMemcpy(flow.v.data(), v_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(v_gpu));
    CHECK(cudaMemcpy(flow.x.data(), x_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(x_gpu));
    CHECK(cudaMemcpy(flow.e.data(), e_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(e_gpu));
    delete qupdate;

    return peak_end("hydro_fixed", flow.all(), expected_flow(zones));
}
