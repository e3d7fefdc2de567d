// SPDX-License-Identifier: Apache-2.0
// nbody: bodies that all attract each other, stored as an array of structures. The parameters are
// in a structure that is passed by value.
//
// The buffers have room for twice as many bodies as there are, so a profiler should find them
// overallocated. Threads read neighboring structures one member at a time: strided, poorly
// coalesced accesses.
#include "../example.h"

#include <algorithm>
#include <math.h>
#include <vector>

struct body {
    float x, y, z, mass;
    float vx, vy, vz, age;
};

struct world {
    const struct body *now;
    struct body *then;
    int count;
    float step;
    float softening;
};

// Adds to a body's acceleration what another body contributes.
__host__ __device__ static void attract(const struct body *at, const struct body *by,
                                        float softening, float3 *acceleration)
{
    float dx = by->x - at->x, dy = by->y - at->y, dz = by->z - at->z;
    float square = dx * dx + dy * dy + dz * dz + softening;
#ifdef __CUDA_ARCH__
    float inverse = rsqrtf(square);
#else
    float inverse = 1.0f / sqrtf(square);
#endif
    float factor = by->mass * inverse * inverse * inverse;
    acceleration->x += dx * factor;
    acceleration->y += dy * factor;
    acceleration->z += dz * factor;
}

__host__ __device__ static void advance(struct world world, int i)
{
    struct body body = world.now[i];
    float3 acceleration = {0.0f, 0.0f, 0.0f};
    for (int j = 0; j < world.count; ++j)
        attract(&body, &world.now[j], world.softening, &acceleration);
    body.vx += acceleration.x * world.step;
    body.vy += acceleration.y * world.step;
    body.vz += acceleration.z * world.step;
    body.x += body.vx * world.step;
    body.y += body.vy * world.step;
    body.z += body.vz * world.step;
    body.age += world.step;
    world.then[i] = body;
}

__global__ void nbody(struct world world)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < world.count)
        advance(world, i);
}

static bool near(float a, float b)
{
    return fabsf(a - b) <= 1e-4f * (1.0f + fabsf(b));
}

int main(int argc, char **argv)
{
    const int count = example_size(argc, argv, 256);
    const int steps = 3;
    const size_t bytes = count * sizeof(struct body);

    uint32_t seed = 9;
    std::vector<struct body> bodies(count), next(count), result(count);
    for (struct body &body : bodies) {
        body = {};
        body.x = example_random(&seed, 2000) * 0.001f - 1.0f;
        body.y = example_random(&seed, 2000) * 0.001f - 1.0f;
        body.z = example_random(&seed, 2000) * 0.001f - 1.0f;
        body.mass = (1.0f + example_random(&seed, 10)) / count;
    }

    struct world world = {NULL, NULL, count, 0.01f, 0.01f};
    struct body *now_gpu, *then_gpu;
    CHECK(cudaMalloc(&now_gpu, 2 * bytes));
    CHECK(cudaMalloc(&then_gpu, 2 * bytes));
    CHECK(cudaMemcpy(now_gpu, bodies.data(), bytes, cudaMemcpyHostToDevice));
    for (int i = 0; i < steps; ++i) {
        world.now = now_gpu;
        world.then = then_gpu;
        nbody<<<example_blocks(count, 64), 64>>>(world);
        std::swap(now_gpu, then_gpu);
    }
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(result.data(), now_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(now_gpu));
    CHECK(cudaFree(then_gpu));

    for (int i = 0; i < steps; ++i) {
        world.now = bodies.data();
        world.then = next.data();
        for (int j = 0; j < count; ++j)
            advance(world, j);
        std::swap(bodies, next);
    }
    bool ok = true;
    for (int i = 0; i < count; ++i) {
        ok = ok && near(result[i].x, bodies[i].x) && near(result[i].y, bodies[i].y) &&
             near(result[i].z, bodies[i].z) && near(result[i].age, bodies[i].age);
    }
    return example_end("nbody", ok);
}
