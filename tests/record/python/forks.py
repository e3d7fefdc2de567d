# SPDX-License-Identifier: Apache-2.0
"""forks.py first|other OUT: forks, from the first thread or from another, and allocates device memory in the child,
which writes to OUT where it does. Parent and child use CUDA on their own, as CUDA demands."""
import ctypes
import json
import os
import sys
import threading


def allocate(out):
    cuda = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    pointer = ctypes.c_uint64()
    cuda.cuInit(0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    cuda.cuCtxSetCurrent(context)
    frames = []
    frame = sys._getframe()
    while frame:
        code = frame.f_code
        frames.append([code.co_filename, frame.f_lineno, getattr(code, "co_qualname", code.co_name)])
        frame = frame.f_back
    frames[0][1] = sys._getframe().f_lineno + 1
    result = cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(4096))
    with open(out, "a") as file:
        file.write(json.dumps([4096, frames]) + "\n")
    return result


def fork(out):
    child = os.fork()
    if child == 0:
        os._exit(allocate(out))
    os.waitpid(child, 0)


if sys.argv[1] == "first":
    fork(sys.argv[2])
else:
    thread = threading.Thread(target=fork, args=(sys.argv[2],))
    thread.start()
    thread.join()
