// SPDX-License-Identifier: Apache-2.0
// A program to be recorded: its kernels reach lines of memory in many ways, in objects that begin
// and end between launches. The trace of a launch arrives after its objects were freed.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cudaabi/cudaabi.h"

static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.global .align 128 .b8 table[65536];\n"
#define ENTRY(name) ".visible .entry " name "(.param .u64 p, .param .u64 q, .param .u32 n) {\n"
#define START                                                                                 \
    ".reg .b32 %t, %b, %n, %r<8>; .reg .b64 %p, %q, %d<8>; .reg .pred %c<4>;\n"               \
    "ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; ld.param.u32 %n, [n];\n"                     \
    "mov.u32 %t, %ctaid.x; mov.u32 %b, %ntid.x; mov.u32 %r0, %tid.x; mad.lo.u32 %t, %t, %b, " \
    "%r0;\n"
    // Loads words side by side and n bytes apart, stores and adds.
    ENTRY("mixed") START
    "mul.wide.u32 %d0, %t, 4; add.u64 %d1, %d0, %p; ld.global.u32 %r1, [%d1];\n"
    "mul.wide.u32 %d2, %t, %n; add.u64 %d2, %d2, %q; ld.global.u32 %r2, [%d2];\n"
    "add.u32 %r1, %r1, %r2; st.global.u32 [%d1+65536], %r1;\n"
    "red.global.add.u32 [%d2+4], %r1; setp.lt.u32 %c0, %r0, 17;\n"
    "@%c0 st.global.u32 [%d2], %r1; ret; }\n"
    // Walks through q and the table n times, in steps of 4096 bytes.
    ENTRY("walks") START
    "mov.u64 %d5, table; cvta.global.u64 %d5, %d5; mul.wide.u32 %d0, %r0, 8; mov.u32 %r3, 0;\n"
    "add.u64 %d1, %q, %d0; add.u64 %d2, %d5, %d0;\n"
    "L: ld.global.u64 %d3, [%d1]; ld.u64 %d4, [%d2]; add.u64 %d3, %d3, %d4;\n"
    "st.global.u64 [%d2], %d3; add.u64 %d1, %d1, 4096; add.u64 %d2, %d2, 4096;\n"
    "add.u32 %r3, %r3, 1; setp.lt.u32 %c0, %r3, %n; @%c0 bra L;\n"
    "st.global.u64 [%p], %d3; ret; }\n";

#define CALL(call) check((call), #call)

static void check(CUresult result, const char *call)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "%s: %d\n", call, (int)result);
        exit(1);
    }
}

static void launch(CUfunction function, unsigned blocks, unsigned threads, CUdeviceptr p,
                   CUdeviceptr q, uint32_t n)
{
    void *params[] = {&p, &q, &n};
    CALL(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, NULL, params, NULL));
}

int main(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction mixed, walks;
    CALL(cuInit(0));
    CALL(cuDevicePrimaryCtxRetain(&context, 0));
    CALL(cuCtxSetCurrent(context));
    CALL(cuModuleLoadData(&module, ptx));
    CALL(cuModuleGetFunction(&mixed, module, "mixed"));
    CALL(cuModuleGetFunction(&walks, module, "walks"));
    for (unsigned i = 0; i < 5; i++) {
        CUdeviceptr p, q;
        CALL(cuMemAlloc_v2(&p, 131072));
        CALL(cuMemAlloc_v2(&q, 1 << 20));
        CALL(cuMemsetD8_v2(p, 0, 131072));
        CALL(cuMemsetD8_v2(q, 0, 1 << 20));
        launch(mixed, 40, 96, p, q, 16u << i);
        launch(walks, 7 + i, 256, q, p, 15);
        launch(mixed, 1, 33, q, p, 128);
        CALL(cuMemFree_v2(q)); // the next p may lie where it was
        CALL(cuMemFree_v2(p));
    }
    return 0;
}
