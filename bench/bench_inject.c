// SPDX-License-Identifier: Apache-2.0
// Measures what a call path costs in the watched program: microseconds for a known path of 21
// frames, for libgcc's unwinder on the same stack, and for a new path. Then what ten Python frames
// cost beyond that, in an interpreter that it loads, if there is a libpython. Prints the median of
// the rounds.
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unwind.h>

#include "event/event.h"
#include "inject/python/python.h"
#include "inject/stack/stack.h"

enum { ROUNDS = 9, CALLS = 20000, CHAIN = 16 }; // with main and the C library, 21 frames

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

struct measured {
    struct stack_table *table;
    struct event_ring *ring;
    double first_us, known_us, libgcc_us;
    unsigned frames; // number of frames that libgcc finds
};

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *context, void *user)
{
    *(unsigned *)user += _Unwind_GetIP(context) != 0;
    return _URC_NO_REASON;
}

// As in a hook, the path begins with the caller of this function.
__attribute__((noinline)) static uint32_t stack_here(struct stack_table *table,
                                                     struct event_ring *ring)
{
    uint32_t number = stack_from(table, ring, UNWIND_CALLER);
    __asm__ volatile(""); // prevents a tail call, which would remove the frame
    return number;
}

static void measure(struct measured *measured)
{
    double start = now_us();
    uint32_t number = stack_here(measured->table, measured->ring);
    measured->first_us = now_us() - start;
    for (unsigned i = 0; i < CALLS; i++) // one new path, known from then on
        if (i == 1)
            start = now_us();
        else if (!stack_here(measured->table, measured->ring))
            exit(1);
    measured->known_us = (now_us() - start) / (CALLS - 2);
    start = now_us();
    for (unsigned i = 0; i < CALLS / 10; i++) {
        measured->frames = 0;
        _Unwind_Backtrace(count_frame, &measured->frames);
    }
    measured->libgcc_us = (now_us() - start) / (CALLS / 10);
    if (!number)
        exit(1);
}

// A chain of calls as programs have them; the compiler must not turn it into a loop.
__attribute__((noinline)) static void even(unsigned depth, struct measured *measured);

__attribute__((noinline)) static void odd(unsigned depth, struct measured *measured)
{
    volatile char local[48] __attribute__((unused));
    local[0] = 1;
    even(depth - 1, measured);
    local[0] = 2;
}

__attribute__((noinline)) static void even(unsigned depth, struct measured *measured)
{
    if (depth)
        odd(depth - 1, measured);
    else
        measure(measured);
    __asm__ volatile("");
}

static int by_known(const void *a, const void *b)
{
    const struct measured *left = a, *right = b;
    return (left->known_us > right->known_us) - (left->known_us < right->known_us);
}

// --- Python --------------------------------------------------------------------------------------

static struct {
    const struct link_map *image;
    double first_ns, direct_ns[ROUNDS], careful_ns[ROUNDS];
    uint32_t frames;
} python;

static int by_number(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double python_ns(struct python *of, struct event_ring *ring, bool careful)
{
    uint64_t keys[PYTHON_FRAMES_MOST];
    bool truncated;
    const unsigned calls = careful ? CALLS / 20 : CALLS;
    const double start = now_us();
    for (unsigned i = 0; i < calls; i++)
        python.frames = python_frames(of, ring, careful, keys, &truncated);
    return (now_us() - start) * 1e3 / calls;
}

// Called by Python.
static void measure_python(void)
{
    static _Atomic uint32_t numbers;
    const size_t bytes = event_ring_bytes(1 << 12);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct event_ring *ring = memory == MAP_FAILED ? NULL : event_ring_make(memory, bytes);
    struct python *of = ring ? python_make(python.image, false, &numbers) : NULL;
    if (!of)
        exit(1);
    uint64_t keys[PYTHON_FRAMES_MOST];
    bool truncated;
    const double start = now_us();
    python_frames(of, ring, false, keys, &truncated);
    python.first_ns = (now_us() - start) * 1e3;
    for (unsigned i = 0; i < ROUNDS; i++) {
        python.direct_ns[i] = python_ns(of, ring, false);
        python.careful_ns[i] = python_ns(of, ring, true);
    }
    python_free(of);
    munmap(memory, bytes);
}

// Functions of some lines each, as programs have them: nine, and the module.
static const char program[] = "import ctypes\n"
                              "measure = ctypes.CFUNCTYPE(None)(%ju)\n"
                              "text = \"\"\"def f%%d(a, b, name='some'):\n"
                              "    result = {}\n"
                              "    if a == %%d:\n"
                              "        raise ValueError('wrong', a, b)\n"
                              "    for key in ('one', 'two')[:1]:\n"
                              "        value = f%%d(a + 1, len(name), name=key)\n"
                              "        result[key] = value + a\n"
                              "    return sum(result.values())\n\"\"\"\n"
                              "for i in range(8):\n"
                              "    exec(text %% (i, -i - 1, i + 1))\n"
                              "def f8(a, b, name):\n"
                              "    values = [a * i + b for i in range(3)]\n"
                              "    measure()\n"
                              "    return len(values)\n"
                              "f0(0, 0)\n";

static int run_python(void)
{
    void *library = NULL;
    char name[40], text[sizeof(program) + 32];
    for (unsigned minor = 14; minor >= 9 && !library; minor--) {
        snprintf(name, sizeof(name), "libpython3.%u.so.1.0", minor);
        library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    }
    struct link_map *image;
    void (*initialize)(int) = NULL;
    int (*run)(const char *) = NULL;
    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &image) != 0) {
        printf("no libpython\n");
        return 0;
    }
    python.image = image;
    *(void **)&initialize = dlsym(library, "Py_InitializeEx");
    *(void **)&run = dlsym(library, "PyRun_SimpleString");
    snprintf(text, sizeof(text), program, (uintmax_t)(uintptr_t)measure_python);
    if (!initialize || !run)
        return 1;
    initialize(0);
    if (run(text) != 0 || !python.frames)
        return 1;
    qsort(python.direct_ns, ROUNDS, sizeof(double), by_number);
    qsort(python.careful_ns, ROUNDS, sizeof(double), by_number);
    printf("%u Python frames (%s), nanoseconds, median of %d rounds\n", python.frames, name,
           ROUNDS);
    printf("%12s %12s %12s\n", "known", "by system", "first");
    printf("%12.1f %12.1f %12.1f\n", python.direct_ns[ROUNDS / 2], python.careful_ns[ROUNDS / 2],
           python.first_ns);
    return 0;
}

int main(void)
{
    struct measured rounds[ROUNDS];
    size_t bytes = event_ring_bytes(1 << 12);
    for (unsigned i = 0; i < ROUNDS; i++) {
        void *memory =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return 1;
        rounds[i] = (struct measured){.table = stack_table_make(false),
                                      .ring = event_ring_make(memory, bytes)};
        if (!rounds[i].table || !rounds[i].ring)
            return 1;
        even(CHAIN, &rounds[i]);
        stack_table_free(rounds[i].table);
        munmap(memory, bytes);
    }
    qsort(rounds, ROUNDS, sizeof(*rounds), by_known);
    const struct measured *median = &rounds[ROUNDS / 2];
    printf("call path of %u frames, microseconds, median of %d rounds of %d\n", median->frames,
           ROUNDS, CALLS);
    printf("%12s %12s %12s\n", "known", "libgcc", "first");
    printf("%12.3f %12.3f %12.3f\n", median->known_us, median->libgcc_us, median->first_us);
    return run_python();
}
