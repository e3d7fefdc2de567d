// SPDX-License-Identifier: Apache-2.0
// Two devices, with known answers: on device 0, `sum` (64 KiB); on device 1, `part` (64 KiB) and,
// for a while, `early` (128 KiB), which is allocated long before its first use. A kernel of device
// 0 reads `part`, of which a copy then goes to device 0.
#include <stdio.h>
#include <stdlib.h>

#include "cudaabi/cudaabi.h"

#define CHECK(call)                                                        \
    do {                                                                   \
        const CUresult result = (call);                                    \
        if (result != CUDA_SUCCESS) {                                      \
            fprintf(stderr, "line %d: error %d\n", __LINE__, (int)result); \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

enum { WORDS = 16384 };

// to[i] += from[i]
static const char add[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry add(.param .u64 from, .param .u64 to)\n{\n"
                          "  .reg .u32 %r<6>; .reg .u64 %a<6>;\n"
                          "  ld.param.u64 %a0, [from]; ld.param.u64 %a1, [to];\n"
                          "  cvta.to.global.u64 %a0, %a0; cvta.to.global.u64 %a1, %a1;\n"
                          "  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;\n"
                          "  mad.lo.u32 %r0, %r0, %r1, %r2; mul.wide.u32 %a2, %r0, 4;\n"
                          "  add.u64 %a0, %a0, %a2; add.u64 %a1, %a1, %a2;\n"
                          "  ld.global.u32 %r3, [%a0]; ld.global.u32 %r4, [%a1];\n"
                          "  add.u32 %r3, %r3, %r4; st.global.u32 [%a1], %r3; ret;\n}\n";

static unsigned host[WORDS];

static void launch(CUfunction function, CUdeviceptr from, CUdeviceptr to)
{
    void *parameters[] = {&from, &to};
    CHECK(cuLaunchKernel(function, WORDS / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
}

int main(void)
{
    CUcontext contexts[2];
    CUfunction functions[2];
    CUdeviceptr sum, part, early;
    CHECK(cuInit(0));
    for (int i = 0; i < 2; i++) {
        CUmodule module;
        CHECK(cuDevicePrimaryCtxRetain(&contexts[i], i));
        CHECK(cuCtxSetCurrent(contexts[i]));
        CHECK(cuModuleLoadData(&module, add));
        CHECK(cuModuleGetFunction(&functions[i], module, "add"));
    }
    CHECK(cuMemAlloc_v2(&part, sizeof host));
    CHECK(cuMemAlloc_v2(&early, 2 * sizeof host));
    for (unsigned i = 0; i < WORDS; i++)
        host[i] = i * i;
    CHECK(cuMemcpyHtoD_v2(part, host, sizeof host));
    CHECK(cuCtxSetCurrent(contexts[0]));
    CHECK(cuMemAlloc_v2(&sum, sizeof host));
    CHECK(cuMemcpyHtoD_v2(sum, host, sizeof host)); // the same bytes on another device
    CHECK(cuCtxEnablePeerAccess(contexts[1], 0));
    launch(functions[0], part, sum);
    CHECK(cuMemcpyDtoH_v2(host, sum, sizeof host));
    printf("%u\n", host[8000]);
    CHECK(cuMemcpyPeer(sum, contexts[0], part, contexts[1], sizeof host));
    CHECK(cuMemcpyDtoH_v2(host, sum, sizeof host));
    printf("%u\n", host[8000]);
    CHECK(cuMemFree_v2(sum));
    CHECK(cuCtxSetCurrent(contexts[1]));
    CHECK(cuMemFree_v2(part));
    CHECK(cuMemcpyHtoD_v2(early, host, sizeof host));
    CHECK(cuMemcpyHtoD_v2(early + sizeof host, host, sizeof host));
    launch(functions[1], early, early + sizeof host);
    CHECK(cuMemcpyDtoH_v2(host, early + sizeof host, sizeof host));
    printf("%u\n", host[8000]);
    CHECK(cuMemFree_v2(early));
    return 0;
}
