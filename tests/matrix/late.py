# SPDX-License-Identifier: Apache-2.0
"""A Python process that loads CUDA late, as libraries for Python do: by dlopen, long after its start.

late.py MODE: "late" multiplies numbers on the GPU and prints a checksum, "fail" leaves with status 37,
"check" says whether it can be run at all.
"""
import ctypes
import sys
import zlib

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry triple(.param .u64 data)
{
    .reg .u32 %r<2>;
    .reg .u64 %d<2>;
    mov.u32 %r0, %tid.x;
    ld.param.u64 %d0, [data];
    cvta.to.global.u64 %d0, %d0;
    mul.wide.u32 %d1, %r0, 4;
    add.u64 %d0, %d0, %d1;
    ld.global.u32 %r1, [%d0];
    mul.lo.u32 %r1, %r1, 3;
    st.global.u32 [%d0], %r1;
    ret;
}
"""
COUNT = 256


def check(result, what):
    if result != 0:
        sys.exit(f"late.py: {what} failed with {result}")


def main(mode):
    if mode == "check":
        return 0
    cuda = ctypes.CDLL("libcuda.so.1")
    context, module, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    data = ctypes.c_uint64()
    numbers = (ctypes.c_uint32 * COUNT)(*range(COUNT))
    check(cuda.cuInit(0), "cuInit")
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), "cuDevicePrimaryCtxRetain")
    check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent")
    check(cuda.cuModuleLoadData(ctypes.byref(module), PTX), "cuModuleLoadData")
    check(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"triple"), "cuModuleGetFunction")
    check(cuda.cuMemAlloc_v2(ctypes.byref(data), ctypes.c_size_t(4 * COUNT)), "cuMemAlloc")
    check(cuda.cuMemcpyHtoD_v2(data, numbers, ctypes.c_size_t(4 * COUNT)), "cuMemcpyHtoD")
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(data))
    for _ in range(3):
        check(cuda.cuLaunchKernel(kernel, 1, 1, 1, COUNT, 1, 1, 0, None, arguments, None), "cuLaunchKernel")
    check(cuda.cuMemcpyDtoH_v2(numbers, data, ctypes.c_size_t(4 * COUNT)), "cuMemcpyDtoH")
    check(cuda.cuMemFree_v2(data), "cuMemFree")
    print(f"late: {zlib.crc32(bytes(numbers)):08x}")
    return 37 if mode == "fail" else 0


sys.exit(main(sys.argv[1]))
