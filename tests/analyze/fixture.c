// SPDX-License-Identifier: Apache-2.0
// Small programs in which a pattern is there, or nearly: fixture CASE runs one, fixture --list
// prints the names of all. What is to be found in each stands in fixtures.expected. They speak to
// the driver and carry their kernels as PTX, so that no CUDA toolkit is needed.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudaabi/cudaabi.h"
#include "glint/glint.h"

// fill writes elements first to first + count - 1 of p, each count / threads apart in turn; copy
// reads the first count of p and writes them to q; uneven reads p[0] in every thread beside its own
// element; keep allocates a block, writes to it and leaves its address in p[0]; release frees that.
static const char kernels[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".extern .func (.param .b64 result) malloc (.param .b64 bytes);\n"
    ".extern .func free (.param .b64 block);\n"
#define HEAD                                                                                   \
    "(.param .u64 p, .param .u64 q, .param .u32 first, .param .u32 count, .param .u32 step)\n" \
    "{\n .reg .pred %c;\n .reg .b32 %r<9>;\n .reg .b64 %d<9>;\n"                               \
    " ld.param.u64 %d1, [p];\n cvta.to.global.u64 %d1, %d1;\n"                                 \
    " ld.param.u64 %d2, [q];\n cvta.to.global.u64 %d2, %d2;\n"                                 \
    " ld.param.u32 %r1, [first];\n ld.param.u32 %r2, [count];\n ld.param.u32 %r8, [step];\n"   \
    " mov.u32 %r3, %ctaid.x;\n mov.u32 %r4, %ntid.x;\n mov.u32 %r5, %tid.x;\n"                 \
    " mad.lo.u32 %r3, %r3, %r4, %r5;\n setp.ge.u32 %c, %r3, %r2;\n @%c bra END;\n"             \
    " mad.lo.u32 %r6, %r3, %r8, %r1;\n mul.wide.u32 %d3, %r6, 4;\n"
    ".visible .entry fill" HEAD
    " add.u64 %d4, %d1, %d3;\n st.global.u32 [%d4], %r3;\nEND:\n ret;\n}\n"
    ".visible .entry copy" HEAD " add.u64 %d4, %d1, %d3;\n add.u64 %d5, %d2, %d3;\n"
    " ld.global.u32 %r7, [%d4];\n st.global.u32 [%d5], %r7;\nEND:\n ret;\n}\n"
    ".visible .entry uneven" HEAD " add.u64 %d4, %d1, %d3;\n add.u64 %d5, %d2, %d3;\n"
    " ld.global.u32 %r7, [%d4];\n ld.global.u32 %r6, [%d1];\n add.u32 %r7, %r7, %r6;\n"
    " st.global.u32 [%d5], %r7;\nEND:\n ret;\n}\n"
    ".visible .entry keep" HEAD " { .param .b64 bytes; .param .b64 result;\n"
    " st.param.b64 [bytes], 64;\n call.uni (result), malloc, (bytes);\n"
    " ld.param.b64 %d4, [result];\n }\n st.u32 [%d4], %r3;\n st.global.u64 [%d1], %d4;\nEND:\n"
    " ret;\n}\n"
    ".visible .entry release" HEAD " ld.global.u64 %d4, [%d1];\n { .param .b64 block;\n"
    " st.param.b64 [block], %d4;\n call.uni free, (block);\n }\nEND:\n ret;\n}\n";

enum { ELEMENTS = 1000, BYTES = 4 * ELEMENTS };

static CUmodule module;
static char host[8 * BYTES];

static void check(CUresult result, int line)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "fixture.c:%d: error %d\n", line, (int)result);
    exit(1);
}
#define CHECK(call) check(call, __LINE__)

// --- What the programs do ------------------------------------------------------------------------

static CUdeviceptr allocate(const char *name, size_t bytes)
{
    CUdeviceptr made;
    CHECK(cuMemAlloc_v2(&made, bytes));
    glint_name((const void *)(uintptr_t)made, name);
    return made;
}

static void release(CUdeviceptr memory)
{
    CHECK(cuMemFree_v2(memory));
}

static void copy_in(CUdeviceptr memory, size_t offset, size_t bytes)
{
    CHECK(cuMemcpyHtoD_v2(memory + offset, host, bytes));
}

static void copy_out(CUdeviceptr memory, size_t offset, size_t bytes)
{
    CHECK(cuMemcpyDtoH_v2(host, memory + offset, bytes));
}

static void set(CUdeviceptr memory, size_t offset, size_t bytes)
{
    CHECK(cuMemsetD8_v2(memory + offset, 1, bytes));
}

static void launch_step(const char *kernel, CUstream stream, CUdeviceptr p, CUdeviceptr q,
                        unsigned first, unsigned count, unsigned step)
{
    CUfunction function;
    void *parameters[] = {&p, &q, &first, &count, &step};
    CHECK(cuModuleGetFunction(&function, module, kernel));
    CHECK(cuLaunchKernel(function, (count + 127) / 128, 1, 1, 128, 1, 1, 0, stream, parameters,
                         NULL));
}

static void launch(const char *kernel, CUstream stream, CUdeviceptr p, CUdeviceptr q,
                   unsigned first, unsigned count)
{
    launch_step(kernel, stream, p, q, first, count, 1);
}

static void fill(CUdeviceptr p)
{
    launch("fill", NULL, p, 0, 0, ELEMENTS);
}

static CUstream make_stream(unsigned flags)
{
    CUstream stream;
    CHECK(cuStreamCreate(&stream, flags));
    return stream;
}

// --- Object by object ----------------------------------------------------------------------------

static void clean(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    fill(a);
    copy_out(a, 0, BYTES);
    release(a);
}

// b is made before a is used, and could be made when a is gone.
static void early(void)
{
    CUdeviceptr a = allocate("a", BYTES), b = allocate("b", BYTES / 2);
    fill(a);
    release(a);
    copy_in(b, 0, BYTES / 2);
    release(b);
}

static void late(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    fill(a);
    CUdeviceptr b = allocate("b", BYTES / 2);
    copy_in(b, 0, BYTES / 2);
    release(b);
    release(a);
}

// A kernel of another stream runs at the same time: it is not between.
static void side_by_side(void)
{
    CUstream one = make_stream(0), two = make_stream(0);
    CUdeviceptr a = allocate("a", BYTES);
    CUdeviceptr b = 0;
    CHECK(cuMemAllocAsync(&b, BYTES / 2, one));
    glint_name((const void *)(uintptr_t)b, "b");
    launch("fill", one, b, 0, 0, ELEMENTS / 2);
    launch("fill", two, a, 0, 0, ELEMENTS);
    CHECK(cuMemFreeAsync(b, one));
    release(a);
}

static void unused(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    fill(a);
    copy_out(a, 0, BYTES);
    release(a);
    CUdeviceptr never = allocate("never", 2 * BYTES);
    release(never);
}

static void leak(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    fill(a);
}

static void heap_leak(void)
{
    CUdeviceptr a = allocate("a", 8);
    launch("keep", NULL, a, 0, 0, 1);
    release(a);
}

static void heap_freed(void)
{
    CUdeviceptr a = allocate("a", 8);
    launch("keep", NULL, a, 0, 0, 1);
    launch("release", NULL, a, 0, 0, 1);
    release(a);
}

// b is wanted when a is not any more, and has so many bytes.
static void one_after_another(size_t bytes)
{
    CUdeviceptr a = allocate("a", BYTES);
    fill(a);
    copy_out(a, 0, BYTES);
    CUdeviceptr b = allocate("b", bytes);
    set(b, 0, BYTES);
    copy_out(b, 0, BYTES);
    release(b);
    release(a);
}

static void redundant(void)
{
    one_after_another(BYTES + BYTES / 10);
}

static void not_of_a_size(void)
{
    one_after_another(BYTES + BYTES / 8);
}

static void two_streams(int ordered)
{
    CUstream one = make_stream(CU_STREAM_NON_BLOCKING), two = make_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr a, b;
    CHECK(cuMemAllocAsync(&a, BYTES, one));
    glint_name((const void *)(uintptr_t)a, "a");
    launch("fill", one, a, 0, 0, ELEMENTS);
    if (ordered) {
        CUevent event;
        CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        CHECK(cuEventRecord(event, one));
        CHECK(cuStreamWaitEvent(two, event, 0));
    }
    CHECK(cuMemAllocAsync(&b, BYTES, two));
    glint_name((const void *)(uintptr_t)b, "b");
    launch("fill", two, b, 0, 0, ELEMENTS);
    CHECK(cuMemFreeAsync(a, one));
    CHECK(cuMemFreeAsync(b, two));
    CHECK(cuCtxSynchronize());
}

static void redundant_by_event(void)
{
    two_streams(1);
}

static void streams_without_order(void)
{
    two_streams(0);
}

static void idle(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    fill(a);
    CUdeviceptr b = allocate("b", BYTES / 2);
    set(b, 0, BYTES / 2);
    release(b);
    copy_out(a, 0, BYTES);
    release(a);
}

static void idle_for_one_api(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    fill(a);
    CUdeviceptr b = allocate("b", BYTES / 2);
    launch("copy", NULL, a, b, 0, ELEMENTS / 2);
    release(b);
    copy_out(a, 0, BYTES);
    release(a);
}

static void idle_and_overwritten(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    fill(a);
    CUdeviceptr b = allocate("b", BYTES / 2);
    set(b, 0, BYTES / 2);
    release(b);
    copy_in(a, 0, BYTES);
    copy_out(a, 0, BYTES);
    release(a);
}

// --- Dead writes ---------------------------------------------------------------------------------

static void dead(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    set(a, 0, BYTES);
    copy_in(a, 0, BYTES);
    launch("copy", NULL, a, a, 0, ELEMENTS);
    release(a);
}

static void dead_in_pieces(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    set(a, 100, 800);
    copy_in(a, 0, 500);
    copy_in(a, 500, BYTES - 500);
    launch("copy", NULL, a, a, 0, ELEMENTS);
    release(a);
}

static void nearly_overwritten(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    set(a, 0, BYTES);
    copy_in(a, 1, BYTES - 1);
    launch("copy", NULL, a, a, 0, ELEMENTS);
    release(a);
}

static void read_by_the_host(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    set(a, 0, BYTES);
    copy_out(a, 8, 1);
    copy_in(a, 0, BYTES);
    launch("copy", NULL, a, a, 0, ELEMENTS);
    release(a);
}

static void read_by_a_kernel(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    set(a, 0, BYTES);
    launch("copy", NULL, a, a, 0, 1);
    copy_in(a, 0, BYTES);
    launch("copy", NULL, a, a, 0, ELEMENTS);
    release(a);
}

// --- Elements ------------------------------------------------------------------------------------

static void fill_some(unsigned count, unsigned step)
{
    CUdeviceptr a = allocate("a", BYTES);
    launch_step("fill", NULL, a, 0, 0, count, step);
    release(a);
}

static void over(void)
{
    fill_some(ELEMENTS / 4, 1);
}

static void nearly_all_touched(void)
{
    fill_some(ELEMENTS * 8 / 10, 1);
}

static void scattered(void)
{
    fill_some(ELEMENTS / 2, 2);
}

static void pool_slack(void)
{
    CUdeviceptr pool = allocate("pool", 4 * BYTES);
    glint_suballoc((const void *)(uintptr_t)pool, BYTES);
    glint_name((const void *)(uintptr_t)pool, "part");
    fill(pool);
    glint_subfree((const void *)(uintptr_t)pool);
    release(pool);
}

static void uneven(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    set(a, 0, BYTES);
    CUdeviceptr b = allocate("b", BYTES / 2);
    launch("uneven", NULL, a, b, 0, ELEMENTS / 2);
    launch("uneven", NULL, a, b, 0, ELEMENTS / 2);
    launch("fill", NULL, a, b, 0, ELEMENTS);
    release(b);
    release(a);
}

static void slices(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    for (unsigned i = 0; i < 10; i++)
        launch("fill", NULL, a, 0, i * 100, 100);
    release(a);
}

static void slices_that_overlap(void)
{
    CUdeviceptr a = allocate("a", BYTES);
    for (unsigned i = 0; i < 9; i++)
        launch("fill", NULL, a, 0, i * 100, 101);
    launch("fill", NULL, a, 0, 900, 100);
    release(a);
}

// --- Graphs --------------------------------------------------------------------------------------

static void graph(void)
{
    CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
    CUgraph made;
    CUgraphExec ready;
    CUdeviceptr a = allocate("a", BYTES), never = allocate("never", BYTES);
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch("fill", stream, a, 0, 0, ELEMENTS);
    CHECK(cuStreamEndCapture(stream, &made));
    CHECK(cuGraphInstantiateWithFlags(&ready, made, 0));
    CHECK(cuGraphLaunch(ready, stream));
    CHECK(cuStreamSynchronize(stream));
    release(a);
    release(never);
}

// --- Loops ---------------------------------------------------------------------------------------

enum { ROUNDS = 4 };

static void use_one_by_one(const char *const names[ROUNDS])
{
    CUdeviceptr made[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        made[i] = allocate(names[i], BYTES);
    for (int i = 0; i < ROUNDS; i++) {
        fill(made[i]);
        release(made[i]);
    }
}

// All are made before the first is used: one finding, which leaves one of them at the peak.
static void loop(void)
{
    static const char *const names[ROUNDS] = {"a", "a", "a", "a"};
    use_one_by_one(names);
}

// At the same places, but of another name: each name is a finding.
static void loop_of_two_names(void)
{
    static const char *const names[ROUNDS] = {"a", "b", "a", "b"};
    use_one_by_one(names);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"clean", clean},
    {"early", early},
    {"late", late},
    {"side_by_side", side_by_side},
    {"unused", unused},
    {"leak", leak},
    {"heap_leak", heap_leak},
    {"heap_freed", heap_freed},
    {"redundant", redundant},
    {"not_of_a_size", not_of_a_size},
    {"redundant_by_event", redundant_by_event},
    {"streams_without_order", streams_without_order},
    {"idle", idle},
    {"idle_for_one_api", idle_for_one_api},
    {"idle_and_overwritten", idle_and_overwritten},
    {"dead", dead},
    {"dead_in_pieces", dead_in_pieces},
    {"nearly_overwritten", nearly_overwritten},
    {"read_by_the_host", read_by_the_host},
    {"read_by_a_kernel", read_by_a_kernel},
    {"over", over},
    {"nearly_all_touched", nearly_all_touched},
    {"scattered", scattered},
    {"pool_slack", pool_slack},
    {"uneven", uneven},
    {"slices", slices},
    {"slices_that_overlap", slices_that_overlap},
    {"graph", graph},
    {"loop", loop},
    {"loop_of_two_names", loop_of_two_names},
};

int main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    const char *wanted = argc > 1 ? argv[1] : "--list";
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(wanted, "--list") == 0)
            puts(cases[i].name);
        if (strcmp(wanted, cases[i].name) != 0)
            continue;
        CHECK(cuInit(0));
        CHECK(cuDeviceGet(&device, 0));
        CHECK(cuDevicePrimaryCtxRetain(&context, device));
        CHECK(cuCtxSetCurrent(context));
        CHECK(cuModuleLoadData(&module, kernels));
        cases[i].run();
        CHECK(cuCtxSynchronize());
        return 0;
    }
    return strcmp(wanted, "--list") != 0;
}
