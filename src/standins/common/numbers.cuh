// SPDX-License-Identifier: Apache-2.0
// Real and complex numbers in one notation, for kernels of the stand-ins.
#ifndef GLINT_STANDINS_COMMON_NUMBERS_CUH
#define GLINT_STANDINS_COMMON_NUMBERS_CUH

template <typename R> struct complex {
    R x, y;
};

typedef complex<float> complex32;
typedef complex<double> complex64;

// --- Arithmetic ----------------------------------------------------------------------------------

template <typename R> __device__ complex<R> operator+(complex<R> a, complex<R> b)
{
    return {a.x + b.x, a.y + b.y};
}
template <typename R> __device__ complex<R> operator-(complex<R> a, complex<R> b)
{
    return {a.x - b.x, a.y - b.y};
}
template <typename R> __device__ complex<R> operator*(complex<R> a, complex<R> b)
{
    return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
// Scales the divisor, so that its square does not overflow.
template <typename R> __device__ complex<R> operator/(complex<R> a, complex<R> b)
{
    const R size = (b.x < 0 ? -b.x : b.x) + (b.y < 0 ? -b.y : b.y);
    const R x = b.x / size, y = b.y / size, square = x * x + y * y;
    const R ax = a.x / size, ay = a.y / size;
    return {(ax * x + ay * y) / square, (ay * x - ax * y) / square};
}

__device__ inline float conjugate(float a) { return a; }
__device__ inline double conjugate(double a) { return a; }
__device__ inline int conjugate(int a) { return a; }
template <typename R> __device__ complex<R> conjugate(complex<R> a) { return {a.x, -a.y}; }

__device__ inline void drop_imaginary(float &) {}
__device__ inline void drop_imaginary(double &) {}
__device__ inline void drop_imaginary(int &) {}
template <typename R> __device__ void drop_imaginary(complex<R> &a) { a.y = 0; }

__device__ inline float size_of(float a) { return a < 0 ? -a : a; }
__device__ inline double size_of(double a) { return a < 0 ? -a : a; }
// As BLAS defines it for sums and maxima.
template <typename R> __device__ R size_of(complex<R> a) { return size_of(a.x) + size_of(a.y); }

__device__ inline bool is_zero(float a) { return a == 0; }
__device__ inline bool is_zero(double a) { return a == 0; }
__device__ inline bool is_zero(int a) { return a == 0; }
template <typename R> __device__ bool is_zero(complex<R> a) { return a.x == 0 && a.y == 0; }

// --- Conversions ---------------------------------------------------------------------------------

// Numbers<T>: how an element of memory T is computed with.
template <typename T> struct numbers;
template <> struct numbers<float> {
    typedef float real;
    static __device__ float make(double x, double) { return (float)x; }
};
template <> struct numbers<double> {
    typedef double real;
    static __device__ double make(double x, double) { return x; }
};
template <> struct numbers<int> {
    typedef int real;
    static __device__ int make(double x, double) { return (int)x; }
};
template <typename R> struct numbers<complex<R>> {
    typedef R real;
    static __device__ complex<R> make(double x, double y) { return {(R)x, (R)y}; }
};

template <typename T> __device__ T one_of() { return numbers<T>::make(1, 0); }
template <typename T> __device__ T zero_of() { return numbers<T>::make(0, 0); }

#endif
