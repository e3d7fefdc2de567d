// SPDX-License-Identifier: Apache-2.0
// device_functions: integrals by adaptive quadrature: a recursive device function, integrands
// called through a table of function pointers, printing from the GPU, double-precision mathematics,
// and a local array with an index known only at run time.
//
// Threads beyond the requested intervals compute as much as the others, but nobody uses the
// results: a profiler should find that the end of results is written twice and never read.
#include "../example.h"

#include <math.h>
#include <vector>

typedef double (*integrand)(double);

static const int function_count = 3;
static const int max_depth = 5;

__host__ __device__ static double wave(double x)
{
    return sin(x) * sin(x);
}

__host__ __device__ static double power(double x)
{
    return pow(1.0 + x, 1.5);
}

__host__ __device__ static double bell(double x)
{
    return exp(-x * x);
}

__device__ static const integrand functions[function_count] = {wave, power, bell};

// Simpson's rule over an interval whose ends and middle are known.
__host__ __device__ static double simpson(double width, double left, double middle, double right)
{
    return width / 6.0 * (left + 4.0 * middle + right);
}

// Halves the interval until two halves agree with the whole. __noinline__, so that it is a call.
__host__ __device__ __noinline__ double integrate(integrand function, double start, double width,
                                                  double whole, int depth)
{
    double half = 0.5 * width, quarter = 0.25 * width;
    double middle = function(start + half);
    double left = simpson(half, function(start), function(start + quarter), middle);
    double right = simpson(half, middle, function(start + half + quarter), function(start + width));
    if (depth == 0 || fabs(left + right - whole) < 1e-9)
        return left + right;
    return integrate(function, start, half, left, depth - 1) +
           integrate(function, start + half, half, right, depth - 1);
}

__global__ void integrate_all(int intervals, double width, double *results)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double sums[function_count + 1];
    for (int which = 0; which < function_count; ++which) {
        double start = i * width;
        integrand function = functions[which];
        double whole =
            simpson(width, function(start), function(start + 0.5 * width), function(start + width));
        sums[which] = integrate(function, start, width, whole, max_depth);
    }
    sums[function_count] = 0.0;
    // Each thread keeps one integral, chosen by its index; every fourth thread keeps none.
    results[i] = sums[i % (function_count + 1)];
    if (i == 0)
        printf("the integral of sin(x)^2 from 0 to %.3f is %.3f\n", width, results[i]);
    if (i >= intervals)
        results[i] = -1.0;
}

int main(int argc, char **argv)
{
    const int intervals = example_size(argc, argv, 100);
    const int block = 64;
    const int threads = example_blocks(intervals, block) * block;
    const double width = 0.125;

    // The compiler does not know the depth of the recursion, so it cannot compute the stack size
    // that the kernel needs.
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    double *results_gpu;
    CHECK(cudaMalloc(&results_gpu, threads * sizeof(double)));
    integrate_all<<<threads / block, block>>>(intervals, width, results_gpu);
    CHECK(cudaGetLastError());
    std::vector<double> results(intervals);
    CHECK(cudaMemcpy(results.data(), results_gpu, intervals * sizeof(double),
                     cudaMemcpyDeviceToHost));
    CHECK(cudaFree(results_gpu));

    static const integrand host_functions[function_count] = {wave, power, bell};
    bool ok = true;
    for (int i = 0; i < intervals; ++i) {
        double expected = 0.0;
        if (i % (function_count + 1) < function_count) {
            integrand function = host_functions[i % (function_count + 1)];
            double start = i * width;
            double whole = simpson(width, function(start), function(start + 0.5 * width),
                                   function(start + width));
            expected = integrate(function, start, width, whole, max_depth);
        }
        ok = ok && fabs(results[i] - expected) <= 1e-8 * (1.0 + fabs(expected));
    }
    return example_end("device_functions", ok);
}
