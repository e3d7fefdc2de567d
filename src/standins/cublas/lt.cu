// SPDX-License-Identifier: Apache-2.0
// The kernels of cublasLt beyond those of cuBLAS: what is done with each element of a product.
#include "numbers.cuh"

// tanh, to about 1e-6.
__device__ inline float tanh_of(float x)
{
    float power;
    asm("ex2.approx.f32 %0, %1;" : "=f"(power) : "f"(x * 2.885390082f)); // exp(2 x)
    return x > 10 ? 1.0f : x < -10 ? -1.0f : (power - 1) / (power + 1);
}

__device__ inline float gelu(float x) { return 0.5f * x * (1 + tanh_of(0.7978845608f * (x + 0.044715f * x * x * x))); }
__device__ inline double gelu(double x) { return gelu((float)x); }

template <typename A, typename T, typename B> __device__ void epilogue(const struct cublas_epilogue &about)
{
    const int64_t at = (int64_t)blockIdx.x * CUBLAS_THREADS + threadIdx.x;
    const int64_t row = at % about.m, column = at / about.m;
    if (column >= about.n)
        return;
    T *const place = start_of<T>(about.d, blockIdx.z) + row * about.d.row + column * about.d.column;
    A value = element<A, T>::load(*place);
    if (about.bias)
        value += element<A, B>::load(((const B *)about.bias)[row + blockIdx.z * about.bias_batch]);
    if (about.function == CUBLAS_RELU)
        value = value > 0 ? value : 0;
    else if (about.function == CUBLAS_GELU)
        value = gelu(value);
    *place = element<A, T>::store(value);
}

#define EPILOGUE(name, number, type, bias)                                      \
    extern "C" __global__ void __launch_bounds__(CUBLAS_THREADS)                \
        cublas_##name##epilogue(const __grid_constant__ struct cublas_epilogue about) \
    {                                                                           \
        epilogue<number, type, bias>(about);                                    \
    }

EPILOGUE(s, float, float, float)
EPILOGUE(d, double, double, double)
EPILOGUE(h, float, half, half)
EPILOGUE(hs, float, half, float)
EPILOGUE(b, float, bfloat, bfloat)
EPILOGUE(bs, float, bfloat, float)
EPILOGUE(sh, float, float, half)
EPILOGUE(sb, float, float, bfloat)
