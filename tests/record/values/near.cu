// SPDX-License-Identifier: Apache-2.0
// Objects that have a pattern, and objects that nearly have it: one element is another, is no
// number, is -0.0 or denormal, or has one bit more than a narrower type; a part has the pattern;
// bytes between fields do not. Copies bring them, and kernels read them. Then kernels write what is
// there already, or nearly, and two streams write one object. All other numbers are random.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "check.h"

enum { COUNT = 4096 };

struct pair {
    float first; // and 4 bytes of padding
    double second;
};

template <typename T> __global__ void look(const T *in, T never, T *out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (in[i] * 3 == never)
        *out = never;
}

__global__ void look_at_pairs(const pair *in, double never, double *out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (in[i].first * 3 + in[i].second == never)
        *out = never;
}

// Of each hundred elements, writes some as they are.
__global__ void write(float *out, int same)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float number = (float)(i * 7919 % 10007) / 3.0f;
    out[i] = i % 100 < same ? number : number + 0.3f;
}

static double random_number()
{
    static uint64_t seed = 1;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return 1.0 + (double)(seed >> 12) * 0x1p-52;
}

static float some_float(int)
{
    return (float)random_number();
}

static float nan_of(uint32_t bits)
{
    float made;
    bits |= 0x7fc00000;
    memcpy(&made, &bits, sizeof(made));
    return made;
}

template <typename T, typename F> static void bring(T *to, F element)
{
    std::vector<T> host(COUNT);
    for (int i = 0; i < COUNT; i++)
        host[i] = element(i);
    CHECK(cudaMemcpy(to, host.data(), COUNT * sizeof(T), cudaMemcpyHostToDevice));
}

template <typename T, typename F> static void use(T *object, F element)
{
    static T *sink = nullptr;
    if (!sink)
        CHECK(cudaMalloc(&sink, sizeof(T)));
    bring(object, element);
    look<<<COUNT / 256, 256>>>((const T *)object, (T)-77, sink);
}

static void single_values()
{
    float *zeros, *both_zeros, *denormal, *fives, *next_of_five, *nans, *two_nans;
    CHECK(cudaMalloc(&zeros, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&both_zeros, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&denormal, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&fives, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&next_of_five, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&nans, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&two_nans, COUNT * sizeof(float)));
    use(zeros, [](int) { return 0.0f; });
    use(both_zeros, [](int i) { return i % 3 ? 0.0f : -0.0f; });
    use(denormal, [](int i) { return i == 77 ? 0x1p-149f : 0.0f; });
    use(fives, [](int) { return 5.0f; });
    use(next_of_five, [](int i) { return i == COUNT - 1 ? nextafterf(5, 6) : 5.0f; });
    use(nans, [](int) { return nan_of(7); });
    use(two_nans, [](int i) { return nan_of(i % 5 ? 7 : 8); });
}

static void most_values()
{
    float *half, *less, *line, *worse_line, *part_of_line, *nearly, *not_nearly;
    CHECK(cudaMalloc(&half, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&less, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&line, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&worse_line, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&part_of_line, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&nearly, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&not_nearly, COUNT * sizeof(float)));
    use(half, [](int i) { return i < COUNT / 2 ? -2.0f : some_float(i); });
    use(less, [](int i) { return i < COUNT / 2 - 1 ? -2.0f : some_float(i); });
    use(line, [](int i) { return i < 40 ? some_float(i) : 0.1f * (float)i + 3; }); // 99.02 %
    use(worse_line, [](int i) { return i < 41 ? some_float(i) : 0.1f * (float)i + 3; });
    use(part_of_line, [](int i) { return i < COUNT / 2 ? some_float(i) : 0.1f * (float)i + 3; });
    use(nearly, [](int i) { return 1.5f + (some_float(i) - 1.5f) * 0x1p-7f; });
    use(not_nearly, [](int i) { return 1.5f + (some_float(i) - 1.5f) * 0x1p-1f; });
}

static void types()
{
    int *bytes, *words;
    float *halves, *minus_zero, *finer;
    double *floats, *integers, *neither;
    CHECK(cudaMalloc(&bytes, COUNT * sizeof(int)));
    CHECK(cudaMalloc(&words, COUNT * sizeof(int)));
    CHECK(cudaMalloc(&halves, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&minus_zero, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&finer, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&floats, COUNT * sizeof(double)));
    CHECK(cudaMalloc(&integers, COUNT * sizeof(double)));
    CHECK(cudaMalloc(&neither, COUNT * sizeof(double)));
    use(bytes, [](int i) { return i * 7919 % 256; });
    use(words, [](int i) { return i == 100 ? 256 : i * 7919 % 256; });
    use(halves, [](int i) { return (float)(i * 7919 % 2000); });
    use(minus_zero, [](int i) { return i == 100 ? -0.0f : (float)(i * 7919 % 2000); });
    use(finer, [](int i) { return i == 100 ? 0x1p24f + 2 : (float)(i * 7919 % 2000) + 0.5f; });
    use(floats, [](int i) { return i == 100 ? 0x1p24 : (double)some_float(i); });
    use(integers, [](int i) { return i == 100 ? 0x1p24 + 1 : (double)(i * 7919 % 2000); });
    use(neither, [](int i) { return i == 100 ? 0x1p24 + 1 : (double)some_float(i); });
}

static void structures()
{
    pair *pairs;
    double *sink;
    CHECK(cudaMalloc(&pairs, COUNT * sizeof(pair)));
    CHECK(cudaMalloc(&sink, sizeof(double)));
    std::vector<pair> host(COUNT);
    for (int i = 0; i < COUNT; i++) {
        memset(&host[i], i, sizeof(pair)); // the padding
        host[i].first = 6;
        host[i].second = random_number();
    }
    CHECK(cudaMemcpy(pairs, host.data(), COUNT * sizeof(pair), cudaMemcpyHostToDevice));
    look_at_pairs<<<COUNT / 256, 256>>>(pairs, -77, sink);
}

static void twins()
{
    float *one, *same, *another;
    CHECK(cudaMalloc(&one, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&same, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&another, COUNT * sizeof(float)));
    std::vector<float> numbers(COUNT);
    for (float &number : numbers)
        number = some_float(0);
    numbers[5] = 0;
    use(one, [&](int i) { return numbers[i]; });
    use(same, [&](int i) { return numbers[i]; });
    use(another, [&](int i) { return i == 5 ? -0.0f : numbers[i]; });
}

static void writes()
{
    float *third, *fewer, *shared;
    cudaStream_t streams[2];
    CHECK(cudaMalloc(&third, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&fewer, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&shared, COUNT * sizeof(float)));
    write<<<COUNT / 256, 256>>>(third, 100);
    write<<<COUNT / 256, 256>>>(third, 34);
    write<<<COUNT / 256, 256>>>(fewer, 100);
    write<<<COUNT / 256, 256>>>(fewer, 32);
    CHECK(cudaDeviceSynchronize());
    for (cudaStream_t &stream : streams)
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    write<<<COUNT / 256, 256, 0, streams[0]>>>(shared, 100);
    write<<<COUNT / 256, 256, 0, streams[1]>>>(shared, 100);
    CHECK(cudaDeviceSynchronize());
}

int main()
{
    single_values();
    most_values();
    types();
    structures();
    twins();
    writes();
    CHECK(cudaDeviceSynchronize());
    printf("near\n");
    return 0;
}
