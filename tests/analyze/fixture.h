// SPDX-License-Identifier: Apache-2.0
// Shared by the programs of fixture.c and fixture_parts.c. They call the driver and contain their
// kernels as PTX, so that no CUDA toolkit is needed.
#ifndef GLINT_TESTS_ANALYZE_FIXTURE_H
#define GLINT_TESTS_ANALYZE_FIXTURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudaabi/cudaabi.h"
#include "glint/glint.h"

// fill writes elements first to first + count - 1 of p, in turns of count / threads. copy reads the
// first count of p and writes them to q. uneven reads p[0] in every thread, and its own element.
// keep allocates and writes a block and stores its address in p[0]. release frees that block.
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

static CUmodule fixture_module;
static char host[8 * BYTES];

static inline void check(CUresult result, int line)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "fixture.c:%d: error %d\n", line, (int)result);
    exit(1);
}
#define CHECK(call) check(call, __LINE__)

// --- What the programs do ------------------------------------------------------------------------

static inline CUdeviceptr allocate(const char *name, size_t bytes)
{
    CUdeviceptr made;
    CHECK(cuMemAlloc_v2(&made, bytes));
    glint_name((const void *)(uintptr_t)made, name);
    return made;
}

static inline void release(CUdeviceptr memory)
{
    CHECK(cuMemFree_v2(memory));
}

static inline void copy_in(CUdeviceptr memory, size_t offset, size_t bytes)
{
    CHECK(cuMemcpyHtoD_v2(memory + offset, host, bytes));
}

static inline void copy_out(CUdeviceptr memory, size_t offset, size_t bytes)
{
    CHECK(cuMemcpyDtoH_v2(host, memory + offset, bytes));
}

static inline void set(CUdeviceptr memory, size_t offset, size_t bytes)
{
    CHECK(cuMemsetD8_v2(memory + offset, 1, bytes));
}

static inline void launch_step(const char *kernel, CUstream stream, CUdeviceptr p, CUdeviceptr q,
                               unsigned first, unsigned count, unsigned step)
{
    CUfunction function;
    void *parameters[] = {&p, &q, &first, &count, &step};
    CHECK(cuModuleGetFunction(&function, fixture_module, kernel));
    CHECK(cuLaunchKernel(function, (count + 127) / 128, 1, 1, 128, 1, 1, 0, stream, parameters,
                         NULL));
}

static inline void launch(const char *kernel, CUstream stream, CUdeviceptr p, CUdeviceptr q,
                          unsigned first, unsigned count)
{
    launch_step(kernel, stream, p, q, first, count, 1);
}

static inline void fill(CUdeviceptr p)
{
    launch("fill", NULL, p, 0, 0, ELEMENTS);
}

static inline CUstream make_stream(unsigned flags)
{
    CUstream stream;
    CHECK(cuStreamCreate(&stream, flags));
    return stream;
}

// --- All of them ---------------------------------------------------------------------------------

struct fixture {
    const char *name;
    void (*run)(void);
};

static inline int fixture_main(int argc, char **argv, const struct fixture *cases, size_t count)
{
    CUdevice device;
    CUcontext context;
    const char *wanted = argc > 1 ? argv[1] : "--list";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(wanted, "--list") == 0)
            puts(cases[i].name);
        if (strcmp(wanted, cases[i].name) != 0)
            continue;
        CHECK(cuInit(0));
        CHECK(cuDeviceGet(&device, 0));
        CHECK(cuDevicePrimaryCtxRetain(&context, device));
        CHECK(cuCtxSetCurrent(context));
        CHECK(cuModuleLoadData(&fixture_module, kernels));
        cases[i].run();
        CHECK(cuCtxSynchronize());
        return 0;
    }
    return strcmp(wanted, "--list") != 0;
}

#endif
