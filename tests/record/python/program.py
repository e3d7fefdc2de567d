# SPDX-License-Identifier: Apache-2.0
"""Allocates device memory in Python code of many kinds, and says of itself where.

program.py OUT: appends to OUT one line of JSON per allocation: its size in bytes, which is unique, the thread's
frames, innermost first, as [file, line, name], and whether a recorder can only know the innermost ones.
"""
import ast
import asyncio
import atexit
import contextlib
import ctypes
import gc
import json
import os
import sys
import tempfile
import threading
import traceback

OUT = sys.argv[1]
cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
lock = threading.Lock()
sizes = iter(range(1001, 1 << 30))
HERE = sys._getframe().f_code.co_filename
qualified = sys.version_info >= (3, 11)


def check(result):
    if result != 0:
        os._exit(99)


check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))


def frames_of(frame):
    """What Python itself says of the frames, and traceback of the same."""
    stack = [[s.filename, s.lineno, s.name] for s in reversed(traceback.extract_stack(frame))]
    names = []
    while frame:
        names.append(frame.f_code.co_qualname if qualified else frame.f_code.co_name)
        frame = frame.f_back
    if [n.rsplit(".")[-1] for n in names] != [s[2] for s in stack]:
        os._exit(98)
    return [[s[0], s[1], n] for s, n in zip(stack, names)]


def allocate():
    """Allocates, and writes down the caller's frames, from the caller on."""
    pointer = ctypes.c_uint64()
    with lock:
        size = next(sizes)
    here = [size, [[HERE, 0, "allocate"]] + frames_of(sys._getframe(1))]
    check(cuda.cuCtxSetCurrent(context))
    here[1][0][1] = sys._getframe().f_lineno + 1
    check(cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)))
    with lock, open(OUT, "a", encoding="utf-8", errors="surrogateescape") as out:
        out.write(json.dumps(here) + "\n")
    return size


class Things:
    allocate()

    def method(self):
        return allocate()

    @classmethod
    def of_class(cls):
        return (
            allocate()
            + 1
        )

    @property
    def value(self):
        return allocate()

    def __add__(self, other):
        return allocate()

    def __enter__(self):
        allocate()
        return self

    def __exit__(self, *error):
        allocate()
        return True

    def __del__(self):
        allocate()


def recurse(depth):
    return recurse(depth - 1) + 1 if depth else allocate()


def numbers():
    yield allocate()
    for i in range(2):
        yield allocate() + i
    yield from other_numbers()


def other_numbers():
    yield allocate()


async def later(n):
    await asyncio.sleep(0)
    allocate()
    return [allocate() async for _ in ticks(n)]


async def ticks(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield allocate()


@contextlib.contextmanager
def around():
    allocate()
    try:
        yield
    finally:
        allocate()


def exceptions():
    try:
        allocate()
        raise ValueError
    except ValueError:
        allocate()
        try:
            {}["no"]
        except KeyError:
            allocate()
        finally:
            allocate()
    with Things():
        raise KeyError


def executed():
    # The code objects are freed and made again, mostly at the same place, and differ in lines only.
    for blank in range(8):
        exec(compile("\n" * blank + "def f():\n    x = 1\n" + "\n" * (3 * blank) + "    allocate()\nf()\n",
                     "<made>", "exec"), {"allocate": allocate})
    for name in "one", "two", "six":
        exec(compile("allocate()", f"<{name}>", "exec"), {"allocate": allocate})
        exec(compile(f"def {name}():\n allocate()\n{name}()", "<made>", "exec"), {"allocate": allocate})
    for line in range(1, 40, 3):
        tree = ast.parse("allocate()", mode="eval")
        ast.increment_lineno(tree, line)
        eval(compile(tree, "<moved>", "eval"), {"allocate": allocate})


def far():
    """A function of many lines, with steps forward and back between them."""
    lines = ["def long():"]
    for i in range(300):
        lines += ["    x = (1,", "         2)"] + [""] * (i % 7)
        if i % 50 == 0:
            lines += ["    y = [allocate(),", *[""] * (40 * i), "         max(3,", "             allocate()),", "    ]"]
    lines += ["    allocate()", "long()"]
    exec(compile("\n".join(lines), "<long>", "exec"), {"allocate": allocate})


def callbacks():
    comparison = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    libc = ctypes.CDLL(None)
    done = []

    def compare(a, b):
        if not done:
            done.append(allocate())
        return 0

    libc.qsort((ctypes.c_int * 2)(2, 1), ctypes.c_size_t(2), ctypes.c_size_t(4), comparison(compare))
    sorted([3, 1], key=lambda x: allocate())
    list(map(lambda x: allocate(), [1]))
    [allocate() for _ in range(2)]
    list(allocate() for _ in range(2))
    {allocate(): allocate() for _ in range(1)}
    comparison(lambda a, b: sum(numbers()) and 0)(None, None)


def names():
    for name in "größe", "размер", "大きさ", "x_𝒳":
        for file in f"<{name}>", "<\udcff\udc80>":
            exec(compile(f"def {name}():\n allocate()\n{name}()", file, "exec"), {"allocate": allocate})


def traced():
    def trace(frame, event, argument):
        return trace

    sys.settrace(trace)
    allocate()
    recurse(3)
    sys.settrace(None)
    sys.setprofile(lambda *a: None)
    allocate()
    recurse(3)
    sys.setprofile(None)


def hot():
    # Often enough that the interpreter specializes it.
    for i in range(3000):
        last = hot_one(i)
    return last


def hot_one(i):
    return allocate() if i % 500 == 499 else len([i])


def in_thread(depth):
    recurse(depth)
    list(numbers())
    asyncio.run(later(1))


def threads():
    some = [threading.Thread(target=in_thread, args=(i,), daemon=i % 2 == 0) for i in range(4)]
    for thread in some:
        thread.start()
    for thread in some:
        thread.join()


def modules():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "made_module.py"), "w") as file:
            file.write("import __main__\n\n__main__.allocate()\n\n\ndef f():\n    return __main__.allocate()\n")
        sys.path.insert(0, folder)
        import made_module
        made_module.f()


def main():
    things = Things()
    things.method()
    things.of_class()
    things.value
    things + 1
    recurse(10)
    list(numbers())
    asyncio.run(later(2))
    with around():
        allocate()
    exceptions()
    executed()
    far()
    callbacks()
    names()
    traced()
    hot()
    threads()
    modules()
    del things
    cycle = [Things()]
    cycle.append(cycle)
    del cycle
    gc.collect()
    recurse(200)


atexit.register(lambda: allocate())
main()
sys.stdout.write("done\n")
