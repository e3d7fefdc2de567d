# SPDX-License-Identifier: Apache-2.0
"""Allocates through a helper: the objects are those of the helper's callers."""
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")


def setup():
    context = ctypes.c_void_p()
    cuda.cuInit(0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    cuda.cuCtxSetCurrent(context)


def allocate(size):
    pointer = ctypes.c_uint64()
    cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size))
    return pointer


def step():
    weights = allocate(1 << 20)
    unused = allocate(1 << 19)
    both = allocate(1), allocate(2)
    cuda.cuMemFree_v2(weights)
    return unused, both


setup()
step()
