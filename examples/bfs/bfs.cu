// SPDX-License-Identifier: Apache-2.0
// bfs: distances from a node of a graph, one kernel launch per level, in managed memory that both
// the host and the GPU use.
//
// The host must wait once per level, to read whether anything changed. It waits twice: a profiler
// should find the second synchronization unnecessary. The distances are ints although none exceeds
// 255: a heavy type.
#include "../example.h"

#include <queue>
#include <vector>

__managed__ int changed;

__global__ void visit(int nodes, const int *first_edge, const int *edges, int *distance, int level)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || distance[node] != level)
        return;
    for (int i = first_edge[node]; i < first_edge[node + 1]; ++i) {
        // Several threads may find the same neighbor; all of them write the same value.
        if (distance[edges[i]] < 0) {
            distance[edges[i]] = level + 1;
            changed = 1;
        }
    }
}

int main(int argc, char **argv)
{
    const int nodes = example_size(argc, argv, 4096);
    const int degree = 4;

    int *first_edge, *edges, *distance;
    CHECK(cudaMallocManaged(&first_edge, (nodes + 1) * sizeof(int)));
    CHECK(cudaMallocManaged(&edges, (size_t)nodes * degree * sizeof(int)));
    CHECK(cudaMallocManaged(&distance, nodes * sizeof(int)));
    uint32_t seed = 10;
    for (int node = 0; node < nodes; ++node) {
        first_edge[node] = node * degree;
        for (int i = 0; i < degree; ++i)
            edges[node * degree + i] = (int)example_random(&seed, nodes);
        distance[node] = -1;
    }
    first_edge[nodes] = nodes * degree;
    distance[0] = 0;

    int level = 0;
    do {
        changed = 0;
        visit<<<example_blocks(nodes, 128), 128>>>(nodes, first_edge, edges, distance, level++);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaStreamSynchronize(0));
    } while (changed);

    std::vector<int> expected(nodes, -1);
    std::queue<int> queue;
    expected[0] = 0;
    queue.push(0);
    while (!queue.empty()) {
        int node = queue.front();
        queue.pop();
        for (int i = first_edge[node]; i < first_edge[node + 1]; ++i) {
            if (expected[edges[i]] < 0) {
                expected[edges[i]] = expected[node] + 1;
                queue.push(edges[i]);
            }
        }
    }
    bool ok = true;
    for (int node = 0; node < nodes; ++node)
        ok = ok && distance[node] == expected[node];

    CHECK(cudaFree(first_edge));
    CHECK(cudaFree(edges));
    CHECK(cudaFree(distance));
    return example_end("bfs", ok);
}
