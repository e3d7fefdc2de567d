// SPDX-License-Identifier: Apache-2.0
// Allocates two large objects long before a kernel uses them, one after the other. The
// kernel receives their addresses in several forms: hidden CASE. Only a plain address
// shows which object a launch uses.
#include <stdint.h>
#include <string.h>

#include "program.h"

enum { BYTES = 8 << 20, WORDS = 256 };

// Each kernel writes to the words at an address that it computes from its two parameters.
#define KERNEL(name, params, address)                             \
    ".visible .entry " name "(" params                            \
    ")\n{\n    .reg .b64 %rd<8>;\n    .reg .b32 %r<4>;\n" address \
    "    mov.u32 %r1, %tid.x;\n    mul.wide.u32 %rd4, %r1, 4;\n"  \
    "    add.u64 %rd5, %rd3, %rd4;\n    add.u32 %r2, %r1, 7;\n"   \
    "    st.global.u32 [%rd5], %r2;\n    ret;\n}\n"
#define BOTH "    ld.param.u64 %rd1, [a];\n    ld.param.u64 %rd2, [b];\n"
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n" //
    KERNEL("plain", ".param .u64 a, .param .u64 b", BOTH "    mov.u64 %rd3, %rd1;\n")
        KERNEL("sum", ".param .u64 a, .param .u64 b", BOTH "    add.u64 %rd3, %rd1, %rd2;\n")
            KERNEL("tagged", ".param .u64 a, .param .u64 b",
                   BOTH "    and.b64 %rd3, %rd1, 0xffffffffffff;\n")
                KERNEL("halves", ".param .u32 a, .param .u32 b",
                       "    ld.param.u32 %r1, [a];\n    ld.param.u32 %r2, [b];\n"
                       "    mov.b64 %rd3, {%r1, %r2};\n");

static CUfunction kernel;
static const char *way;
static CUdeviceptr small; // another object

static void fill(CUdeviceptr at)
{
    uint64_t a = at, b = 1000;
    uint32_t low = (uint32_t)at, high = (uint32_t)(at >> 32);
    void *params[] = {&a, &b}, *halves[] = {&low, &high};
    if (strcmp(way, "far") == 0) { // an array whose first index is large
        b = UINT64_C(1) << 32;
        a = at - b;
    } else if (strcmp(way, "distance") == 0) {
        a = small;
        b = at - small;
    } else if (strcmp(way, "tagged") == 0) {
        a = at | UINT64_C(0x5a) << 56;
    }
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, WORDS, 1, 1, 0, NULL,
                         strcmp(way, "halves") == 0 ? halves : params, NULL));
}

static void use(const char *what, CUdeviceptr memory)
{
    uint32_t found[WORDS];
    fill(memory + BYTES / 2);
    CHECK(cuCtxSynchronize()); // before the copy below names the object
    CHECK(cuMemcpyDtoH_v2(found, memory + BYTES / 2, sizeof(found)));
    printf("%s: %u %u\n", what, found[0], found[WORDS - 1]);
}

int main(int count, char **arguments)
{
    CUmodule module;
    CUdeviceptr one, other;
    way = count > 1 ? arguments[1] : "plain";
    const char *name = strcmp(way, "far") == 0 || strcmp(way, "distance") == 0 ? "sum" : way;
    start_thread();
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&kernel, module, name));
    CHECK(cuMemAlloc_v2(&small, 4096));
    CHECK(cuMemAlloc_v2(&one, BYTES));
    CHECK(cuMemAlloc_v2(&other, BYTES));
    CHECK(cuMemsetD8_v2(small, 1, 4096));
    CHECK(cuMemsetD8_v2(small, 2, 4096));
    use("one", one);
    CHECK(cuMemFree_v2(one));
    use("other", other);
    CHECK(cuMemFree_v2(other));
    return 0;
}
