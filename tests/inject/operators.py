# SPDX-License-Identifier: Apache-2.0
"""Does on the simulated GPU what PyTorch does when a program marks its operators: operators.py ALLOCATOR [EXTRA].

ALLOCATOR stands in for libc10_cuda.so (tensors_allocator.c). Ranges are pushed and popped through slots that a copy of
NVTX in the process would have, which the tool that NVTX_INJECTION64_PATH names fills. A range "allocated BYTES" says
how many bytes the blocks have that are handed out; EXTRA bytes are added once, which makes that wrong.
"""
import ctypes
import os
import sys

CUDA = 1  # type of a c10::Device
CORE, PUSH, POP = 1, 9, 11  # module of NVTX, and its slots
SEGMENT = 1 << 20

Slot = ctypes.c_void_p
slots = (Slot * 16)()
table = (ctypes.POINTER(Slot) * 17)()
for i in range(1, 16):
    table[i] = ctypes.pointer(Slot.from_buffer(slots, i * ctypes.sizeof(Slot)))
GetTable = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))


def get_table(module, tables, size):
    if module != CORE:
        return 0
    tables[0] = ctypes.addressof(table)
    size[0] = 16
    return 1


class Callbacks(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("get", GetTable)]


callbacks = Callbacks(ctypes.sizeof(Callbacks), GetTable(get_table))
GetExports = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
get_exports = GetExports(lambda number: ctypes.addressof(callbacks) if number == 1 else None)
tool = os.environ.get("NVTX_INJECTION64_PATH")
if tool:
    ctypes.CDLL(tool).InitializeInjectionNvtx2(get_exports)


def push(name):
    if slots[PUSH]:
        ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(slots[PUSH])(name.encode())


def pop():
    if slots[POP]:
        ctypes.CFUNCTYPE(ctypes.c_int)(slots[POP])()


driver = ctypes.CDLL("libcuda.so.1")
blocks = ctypes.CDLL(sys.argv[1])
extra = int(sys.argv[2]) if len(sys.argv) > 2 else 0


def check(result):
    if result:
        sys.exit(f"failed with {result}")


def report(address, size):
    blocks.tensors_report_block(0, CUDA, ctypes.c_uint64(address), ctypes.c_int64(size))


context, memory = ctypes.c_void_p(), ctypes.c_uint64()
check(driver.cuInit(0))
check(driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
check(driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(SEGMENT)))
alive = []
for step in range(20):
    push(f"operator {step % 3}")
    address, size = memory.value + 4096 * step, 512 * (1 + step % 5)
    report(address, size)
    alive.append((address, size))
    check(driver.cuMemsetD8_v2(ctypes.c_uint64(address), ctypes.c_ubyte(step), ctypes.c_size_t(size)))
    if step % 4 == 3:
        address, size = alive.pop(step % len(alive))
        report(address, -size)
    pop()
    push(f"allocated {sum(size for _, size in alive) + (extra if step == 7 else 0)}")
    pop()
print(f"{len(alive)} blocks")
