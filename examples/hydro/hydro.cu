// SPDX-License-Identifier: Apache-2.0
// hydro: a time step of a flow simulation. Computes gradients and stress from velocities, and then
// forces and motion.
//
// The gradients q_dx and q_dy are members of a class. UpdateQuadratureData is the last to access
// them, but they are freed at the end of the step, like all other objects: late deallocation of all
// objects; these two are the largest. Memory is allocated before any of it is used: early
// allocation of all objects except v_gpu and q_dy. Velocities, stress and forces are idle until
// nodes move; positions, velocities and energies are idle until they are copied back (temporary
// idleness of v_gpu, s_gpu, f_gpu, x_gpu and e_gpu). v_gpu is set to zero and then overwritten by a
// copy (dead write). dt_last_gpu could reuse the memory of dt_first_gpu (redundant allocation), and
// dt_old_gpu is never used (unused allocation). hydro_fixed.cu frees the gradients before nodes
// move, which is when the program needs most memory.
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
    ~QUpdate()
    {
        CHECK(cudaFree(q_dx));
        CHECK(cudaFree(q_dy));
    }
    void UpdateQuadratureData(const uint32_t *v_gpu, uint32_t *s_gpu, uint32_t *dt_gpu)
    {
        const int blocks = example_blocks(zones, block);
        gradients<<<blocks, block>>>(zones, v_gpu, q_dx, q_dy);
        stress<<<blocks, block>>>(zones, q_dx, q_dy, s_gpu, dt_gpu);
        CHECK(cudaGetLastError());
    }
};

int main(int argc, char **argv)
{
    const int zones = example_size(argc, argv, 1024);
    const int blocks = example_blocks(zones, block);
    const size_t bytes = (size_t)zones * nodes * sizeof(uint32_t);
    const size_t dt_bytes = blocks * sizeof(uint32_t);

    flow flow(zones);
    uint32_t *v_gpu, *x_gpu, *e_gpu, *s_gpu, *f_gpu, *dt_first_gpu, *dt_last_gpu, *dt_old_gpu;
    CHECK(cudaMalloc(&v_gpu, bytes));
    CHECK(cudaMemset(v_gpu, 0, bytes));
    CHECK(cudaMemcpy(v_gpu, flow.v.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&x_gpu, bytes));
    CHECK(cudaMalloc(&e_gpu, bytes));
    CHECK(cudaMalloc(&s_gpu, bytes));
    CHECK(cudaMalloc(&f_gpu, bytes));
    CHECK(cudaMalloc(&dt_first_gpu, dt_bytes));
    CHECK(cudaMalloc(&dt_last_gpu, dt_bytes));
    CHECK(cudaMalloc(&dt_old_gpu, dt_bytes));
    QUpdate *qupdate = new QUpdate(zones);

    qupdate->UpdateQuadratureData(v_gpu, s_gpu, dt_first_gpu);
    CHECK(cudaMemcpy(flow.dt_first.data(), dt_first_gpu, dt_bytes, cudaMemcpyDeviceToHost));
    forces<<<blocks, block>>>(zones, s_gpu, f_gpu);
    CHECK(cudaMemcpy(x_gpu, flow.x.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(e_gpu, flow.e.data(), bytes, cudaMemcpyHostToDevice));
    advance<<<blocks, block>>>(zones, f_gpu, s_gpu, x_gpu, v_gpu, e_gpu, dt_last_gpu);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(flow.dt_last.data(), dt_last_gpu, dt_bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(flow.v.data(), v_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(flow.x.data(), x_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(flow.e.data(), e_gpu, bytes, cudaMemcpyDeviceToHost));

    CHECK(cudaFree(v_gpu));
    CHECK(cudaFree(x_gpu));
    CHECK(cudaFree(e_gpu));
    CHECK(cudaFree(s_gpu));
    CHECK(cudaFree(f_gpu));
    CHECK(cudaFree(dt_first_gpu));
    CHECK(cudaFree(dt_last_gpu));
    CHECK(cudaFree(dt_old_gpu));
    delete qupdate;

    return peak_end("hydro", flow.all(), expected_flow(zones));
}
