# SPDX-License-Identifier: Apache-2.0
"""Ends while daemon threads call CUDA without the global lock, in a C function that calls back and forth no more."""
import ctypes
import sys
import threading
import time

cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
started = threading.Barrier(4)


def call():
    pointer = ctypes.c_uint64()
    cuda.cuCtxSetCurrent(context)
    started.wait()
    while True:
        cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(512))
        cuda.cuMemFree_v2(pointer)


for _ in range(3):
    threading.Thread(target=call, daemon=True).start()
started.wait()
time.sleep(0.02)
sys.stdout.write("ending\n")
