// SPDX-License-Identifier: Apache-2.0
// Launches the kernels of global.h and shared.h, with sizes and distances that leave partial warps,
// partial blocks and misaligned rows. bench/requests/run compares what their warps take of memory
// with what a GPU counts. The results are not checked: what counts is how memory is reached, which
// depends on nothing but the sizes and the numbers of the input.
#include "../check.h"
#include "global.h"
#include "shared.h"

#include <stdio.h>
#include <stdlib.h>
#include <vector>

static const size_t array_words = 1 << 18; // of each array
static const int count = 5003;       // elements; a prime number, so that the last block is partial
static const int block = 128, blocks = (count + block - 1) / block;

// An array on the GPU, as any type that a kernel wants.
struct array {
    void *memory;
    template <typename type>
    operator type *() const
    {
        return (type *)memory;
    }
};

static array in, out, at;

static void fill()
{
    std::vector<uint32_t> numbers(array_words);
    uint32_t state = 17;
    for (uint32_t &number : numbers) {
        state = state * 1664525u + 1013904223u;
        number = state >> 12;
    }
    CHECK(cudaMalloc(&in.memory, array_words * 4));
    CHECK(cudaMalloc(&out.memory, array_words * 4));
    CHECK(cudaMalloc(&at.memory, array_words * 4));
    CHECK(cudaMemcpy(in.memory, numbers.data(), array_words * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(out.memory, 0, array_words * 4));
    for (size_t i = 0; i < array_words; ++i) // each below `count` once, and then again
        numbers[i] = (uint32_t)(i * 2027 % (size_t)count);
    CHECK(cudaMemcpy(at.memory, numbers.data(), array_words * 4, cudaMemcpyHostToDevice));
}

static void run_distances()
{
    neighbours<<<blocks, block>>>(in, out, count);
    neighbours<<<(count + 32) / 33, 33>>>(in, out, count);
    for (int stride : {2, 3, 8, 9, 32, 33}) {
        apart<<<blocks, block>>>(in, out, count, stride);
        apart_stores<<<blocks, block>>>(out, count, stride);
    }
    for (int first : {1, 7, 8, 31})
        misaligned<<<blocks, block>>>(in, out, count, first);
    backwards<<<blocks, block>>>(in, out, count);
    one_address<<<blocks, block>>>(in, out, count);
    all_store_one<<<37, 96>>>(out);
    rows_by_thread<<<3, 100>>>(in, out, 257, 37);
    columns_by_thread<<<3, 100>>>(in, out, 37, 257);
    grid_steps<<<7, 160>>>(in, out, count);
    by_texture_path<<<blocks, block>>>(in, out, count);
    volatile_both<<<blocks, block>>>(in, out, count);
}

static void run_sizes()
{
    single_bytes<<<blocks, block>>>(in, out, count);
    for (int stride : {5, 32, 40})
        bytes_apart<<<blocks, block>>>(in, out, count, stride);
    for (int first : {0, 5})
        halves<<<blocks, block>>>(in, out, count, first);
    for (int first : {0, 3}) {
        eight_bytes<<<blocks, block>>>(in, out, count, first);
        sixteen_bytes<<<blocks, block>>>(in, out, count, first);
    }
    for (int stride : {2, 3})
        sixteen_bytes_apart<<<blocks, block>>>(in, out, count, stride);
    triples<<<blocks, block>>>(in, out, count);
    one_field<<<blocks, block>>>(in, out, count);
    several_fields<<<blocks, block>>>(out, count);
}

static void run_others()
{
    gather<<<blocks, block>>>(at, in, out, count);
    gather_doubles<<<blocks, block>>>(at, in, out, count);
    gather_quads<<<blocks, block>>>(at, in, out, count);
    gather_bytes<<<blocks, block>>>(at, in, out, count);
    scatter<<<blocks, block>>>(at, in, out, count);

    const int width = 101, height = 43, depth = 17;
    for (dim3 shape : {dim3(33, 5), dim3(8, 8), dim3(3, 41), dim3(64, 2)}) {
        const dim3 grid((width + shape.x - 1) / shape.x, (height + shape.y - 1) / shape.y);
        plane<<<grid, shape>>>(in, out, width, height);
        plane_transposed<<<grid, shape>>>(in, out, width, height);
    }
    for (dim3 shape : {dim3(5, 3, 7), dim3(32, 2, 2)})
        volume<<<dim3((width + shape.x - 1) / shape.x, (height + shape.y - 1) / shape.y,
                      (depth + shape.z - 1) / shape.z),
                 shape>>>(in, out, width, height, depth);

    even_and_odd<<<blocks, block>>>(in, out, count);
    four_ways<<<blocks, block>>>(in, out, count);
    different_trips<<<blocks, block>>>(in, out, count);
    few_lanes<<<blocks, block>>>(in, out, count);
    first_lanes<<<5, 72>>>(in, out);
}

static void run_atomics()
{
    add_to_one<<<blocks, block>>>(in, out, count);
    add_to_neighbours<<<blocks, block>>>(out, count);
    for (int stride : {2, 8, 11})
        add_apart<<<blocks, block>>>(out, count, stride);
    add_anywhere<<<blocks, block>>>(at, out, count);
    CHECK(cudaMemset(out.memory, 0, array_words * 4));
    add_doubles<<<blocks, block>>>(at, out, count);
    take_numbers<<<blocks, block>>>(out, at, count);
    exchange<<<blocks, block>>>(out, at, count);
    greatest<<<blocks, block>>>(in, in, out, count);
}

static void run_shared()
{
    const int side = 96;
    transpose_conflicts<<<dim3(3, 3), dim3(tile_side, 8)>>>(in, out, side);
    transpose_padded<<<dim3(3, 3), dim3(tile_side, 8)>>>(in, out, side);
    odd_tile<<<dim3(4, 9), dim3(33, 5)>>>(in, out, 101, 43);
    product<<<dim3(6, 6), dim3(16, 16)>>>(in, in, out, side);
    with_halo<<<20, 256>>>(in, out, count);
    for (int stride : {1, 2, 3, 16, 32, 33})
        shared_apart<<<1, 96, 96 * 33 * 4>>>(out, stride);
    shared_one_word<<<1, 100>>>(in, out);
    shared_bytes<<<1, 256>>>(in, out);
    for (int stride : {1, 2, 3}) {
        shared_doubles<<<1, 128>>>(in, out, stride);
        shared_quads<<<1, 128>>>(in, out, stride);
    }
    shared_quads_same<<<1, 128>>>(in, out);
    shared_structures<<<1, 128>>>(in, out);
    shared_table<<<20, 256>>>(in, out, count);
    shared_pairs<<<20, 256>>>(in, out, count);
    shared_branches<<<1, 256>>>(in, out);
    shared_histogram<<<5, 256>>>(in, out, count);
    sum_halving<<<7, 256>>>(in, out);
    sum_doubling<<<7, 256>>>(in, out);
    sums_so_far<<<7, 256>>>(in, out);
}

int main()
{
    fill();
    run_distances();
    run_sizes();
    run_others();
    run_atomics();
    run_shared();
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    for (array used : {in, out, at})
        CHECK(cudaFree(used.memory));
    puts("kernels: ok");
    return 0;
}
