// SPDX-License-Identifier: Apache-2.0
// Kernels whose threads access addresses that depend on the contents of memory: indices, rows of
// sparse matrices, edges, pointers. Each kernel is followed by its setup and by its definition
// for the host.
#pragma once

#include "bench.h"

// --- Gather --------------------------------------------------------------------------------------

extern "C" __global__ void gather(int n, float *out, const float *in, const int *index)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[index[i]];
}

static void run_gather(bench &bench)
{
    int n = bench.linear(64 << 20);
    array<float> out(bench, "out", n), in(bench, "in", n);
    array<int> index(bench, "index", n);
    in.fill([](size_t i) { return unit_noise(i, 1); });
    index.fill([&](size_t i) { return (int)(noise(i, 2) % n); });
    bench.measure([&] { gather<<<blocks(n, 256), 256>>>(n, out.device, in.device, index.device); });
    bench.check(n, 3, [&](size_t i) { out.store(i, in.load(index.load(i))); });
}

// --- Scatter: sums by key, with atomics ----------------------------------------------------------

extern "C" __global__ void scatter(int n, unsigned *sums, const int *__restrict__ key,
                                   const unsigned *__restrict__ value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&sums[key[i]], value[i]);
}

static void run_scatter(bench &bench)
{
    int n = bench.linear(16 << 20), keys = bench.linear(4 << 20);
    array<unsigned> sums(bench, "sums", keys), value(bench, "value", n);
    array<int> key(bench, "key", n);
    value.fill([](size_t i) { return noise(i, 1); });
    key.fill([&](size_t i) { return (int)(noise(i, 2) % keys); });
    bench.measure(
        [&] { scatter<<<blocks(n, 256), 256>>>(n, sums.device, key.device, value.device); });
    bench.check_all(n, [&](size_t i) { sums.add(key.load(i), value.load(i)); });
}

// --- Sparse matrix times vector, a row a thread --------------------------------------------------

extern "C" __global__ void spmv(int rows, float *y, const int *start, const int *column,
                                const float *value, const float *__restrict__ x)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    int end = start[row + 1];
    for (int i = start[row]; i < end; i++)
        sum += value[i] * x[column[i]];
    y[row] += sum;
}

// Returns the start of a row. The lengths of rows vary around this average, without a table.
static int row_start(size_t row, int length)
{
    return (int)(row * length + (row ? noise(row, 9) % (length / 2) : 0));
}

static void run_spmv(bench &bench)
{
    enum { LENGTH = 16 };
    int rows = bench.linear(2 << 20);
    size_t count = (size_t)row_start(rows, LENGTH);
    array<float> y(bench, "y", rows), value(bench, "value", count), x(bench, "x", rows);
    array<int> start(bench, "start", rows + 1), column(bench, "column", count);
    value.fill([](size_t i) { return unit_noise(i, 1); });
    x.fill([](size_t i) { return unit_noise(i, 2); });
    column.fill([&](size_t i) { return (int)(noise(i, 3) % rows); });
    start.fill([](size_t i) { return row_start(i, LENGTH); });
    bench.measure([&] {
        spmv<<<blocks(rows, 256), 256>>>(rows, y.device, start.device, column.device, value.device,
                                         x.device);
    });
    bench.check(rows, 3 * LENGTH, [&](size_t row) {
        double sum = 0;
        int end = start.load(row + 1);
        for (int i = start.load(row); i < end; i++)
            sum += value.load(i) * x.load(column.load(i));
        y.store(row, (float)(y.load(row) + sum));
    });
}

// --- One level of a breadth-first search ---------------------------------------------------------
// Reached vertices are marked in a separate array. With one array for both, the number of threads
// that write a vertex would depend on their order.

extern "C" __global__ void bfs(int vertices, int depth, int *reached, const int *start,
                               const int *edge, const int *level)
{
    int vertex = blockIdx.x * blockDim.x + threadIdx.x;
    if (vertex >= vertices || level[vertex] != depth)
        return;
    int end = start[vertex + 1];
    for (int i = start[vertex]; i < end; i++) {
        int neighbour = edge[i];
        if (level[neighbour] < 0)
            reached[neighbour] = depth + 1;
    }
}

static void run_bfs(bench &bench)
{
    enum { DEGREE = 8, DEPTH = 3 };
    int vertices = bench.linear(8 << 20);
    size_t edges = (size_t)row_start(vertices, DEGREE);
    array<int> reached(bench, "reached", vertices), start(bench, "start", vertices + 1);
    array<int> edge(bench, "edge", edges), level(bench, "level", vertices);
    start.fill([](size_t i) { return row_start(i, DEGREE); });
    edge.fill([&](size_t i) { return (int)(noise(i, 1) % vertices); });
    level.fill([](size_t i) { // one eighth is already visited, and one eighth is the frontier
        uint32_t chance = noise(i, 2) % 8;
        return chance == 0 ? DEPTH - 1 : chance == 1 ? DEPTH : -1;
    });
    bench.measure([&] {
        bfs<<<blocks(vertices, 256), 256>>>(vertices, DEPTH, reached.device, start.device,
                                            edge.device, level.device);
    });
    bench.check(vertices, 4, [&](size_t vertex) {
        if (level.load(vertex) != DEPTH)
            return;
        int end = start.load(vertex + 1);
        for (int i = start.load(vertex); i < end; i++) {
            int neighbour = edge.load(i);
            if (level.load(neighbour) < 0)
                reached.store(neighbour, DEPTH + 1);
        }
    });
}

// --- Lists: pointers that lie in memory ----------------------------------------------------------

struct node {
    const node *next;
    float value;
    uint32_t unused;
};

extern "C" __global__ void chase(int lists, float *sums, const node *const *heads)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= lists)
        return;
    float sum = 0;
    for (const node *at = heads[i]; at; at = at->next)
        sum += at->value;
    sums[i] = sum;
}

static void run_chase(bench &bench)
{
    enum { LENGTH = 16 };
    int lists = bench.linear(1 << 20);
    size_t count = (size_t)lists * LENGTH;
    array<float> sums(bench, "sums", lists);
    array<const node *> heads(bench, "heads", lists);
    array<node> nodes(bench, "nodes", count);
    // Multiplying with a prime permutes the places of nodes. The inverse gives the node k and list
    // i at a place. Lists end after 8 to 16 nodes.
    uint64_t prime = 2654435761u;
    auto place = [&](uint64_t list, uint64_t k) { return (k * lists + list) * prime % count; };
    std::vector<uint32_t> in_place(count);
    for (size_t i = 0; i < count; i++)
        in_place[i * prime % count] = (uint32_t)i;
    nodes.fill([&](size_t at) {
        uint64_t list = in_place[at] % lists, k = in_place[at] / lists;
        bool is_last = k + 1 >= 8 + noise(list, 1) % 9;
        return node{is_last ? nullptr : nodes.device + place(list, k + 1), unit_noise(at, 2), 0};
    });
    heads.fill([&](size_t i) { return nodes.device + place(i, 0); });
    bench.measure([&] { chase<<<blocks(lists, 256), 256>>>(lists, sums.device, heads.device); });
    bench.check(lists, 2 * LENGTH, [&](size_t i) {
        double sum = 0;
        for (const node *at = heads.load(i); at;) {
            size_t index = (size_t)(at - nodes.device);
            sum += nodes.load(index, &node::value);
            at = nodes.load(index, &node::next);
        }
        sums.store(i, (float)sum);
    });
}

// --- Binary search -------------------------------------------------------------------------------

extern "C" __global__ void search(int queries, int n, int *found, const unsigned *sorted,
                                  const unsigned *query)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= queries)
        return;
    unsigned wanted = query[i];
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    found[i] = low;
}

static void run_search(bench &bench)
{
    int queries = bench.linear(4 << 20), n = bench.linear(16 << 20);
    array<int> found(bench, "found", queries);
    array<unsigned> sorted(bench, "sorted", n), query(bench, "query", queries);
    sorted.fill([](size_t i) { return (unsigned)(i * 8) + noise(i, 1) % 8; });
    query.fill([&](size_t i) { return noise(i, 2) % (8 * (unsigned)n); });
    bench.measure([&] {
        search<<<blocks(queries, 256), 256>>>(queries, n, found.device, sorted.device,
                                              query.device);
    });
    bench.check(queries, 26, [&](size_t i) {
        unsigned wanted = query.load(i);
        int low = 0, high = n;
        while (low < high) {
            int middle = (low + high) / 2;
            if (sorted.load(middle) < wanted)
                low = middle + 1;
            else
                high = middle;
        }
        found.store(i, low);
    });
}
