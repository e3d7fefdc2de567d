// SPDX-License-Identifier: Apache-2.0
// Kernels that get addresses in forms that do not look like addresses. The objects are large and
// allocated long before their use, so that glint fix would like to give them memory later.
#include "hostile.h"

enum { BYTES = 8 << 20, USED = 256 };

// Each kernel writes to words at the address %rd3, which it computes from its parameters.
#define KERNEL(name, params, address)                                                           \
    ".visible .entry " name "(" params                                                          \
    ")\n{\n    .reg .b64 %rd<9>;\n    .reg .b32 %r<4>;\n" address                               \
    "    mov.u32 %r1, %tid.x;\n    mul.wide.u32 %rd4, %r1, 4;\n    add.u64 %rd5, %rd3, %rd4;\n" \
    "    add.u32 %r2, %r1, 7;\n    st.global.u32 [%rd5], %r2;\n    ret;\n}\n"
#define TWO  ".param .u64 a, .param .u64 b"
#define BOTH "    ld.param.u64 %rd1, [a];\n    ld.param.u64 %rd2, [b];\n"
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.const .align 8 .u64 held;\n" KERNEL(
        "plain", TWO,
        BOTH "    mov.u64 %rd3, %rd1;\n") KERNEL("sum", TWO, BOTH "    add.u64 %rd3, %rd1, %rd2;\n")
        KERNEL("difference", TWO, BOTH "    sub.u64 %rd3, %rd1, %rd2;\n")
            KERNEL("xor", TWO, BOTH "    xor.b64 %rd3, %rd1, %rd2;\n")
                KERNEL("tagged", TWO, BOTH "    and.b64 %rd3, %rd1, 0xffffffffffff;\n")
                    KERNEL("shifted", TWO, BOTH "    shl.b64 %rd3, %rd1, 4;\n") KERNEL(
                        "product", TWO, BOTH "    mul.lo.u64 %rd3, %rd1, %rd2;\n")
                        KERNEL("table", TWO, BOTH "    ld.global.u64 %rd3, [%rd1];\n") KERNEL(
                            "tables", TWO,
                            BOTH
                            "    ld.global.u64 %rd6, [%rd1];\n    ld.global.u64 %rd3, [%rd6+8];\n")
                            KERNEL("constant", TWO, "    ld.const.u64 %rd3, [held];\n")
                                KERNEL("halves", ".param .u32 a, .param .u32 b",
                                       "    ld.param.u32 %r1, [a];\n    ld.param.u32 %r2, [b];\n   "
                                       " mov.b64 %rd3, {%r1, %r2};\n")
                                    KERNEL("bytes", ".param .align 1 .b8 a[9]",
                                           "    ld.param.u8 %rd1, [a+1];\n    ld.param.u8 %rd2, "
                                           "[a+2];\n    ld.param.u8 %rd6, [a+3];\n"
                                           "    ld.param.u8 %rd7, [a+4];\n    ld.param.u8 %rd8, "
                                           "[a+5];\n    ld.param.u8 %rd3, [a+6];\n"
                                           "    shl.b64 %rd3, %rd3, 8;\n    or.b64 %rd3, %rd3, "
                                           "%rd8;\n    shl.b64 %rd3, %rd3, 8;\n"
                                           "    or.b64 %rd3, %rd3, %rd7;\n    shl.b64 %rd3, %rd3, "
                                           "8;\n    or.b64 %rd3, %rd3, %rd6;\n"
                                           "    shl.b64 %rd3, %rd3, 8;\n    or.b64 %rd3, %rd3, "
                                           "%rd2;\n    shl.b64 %rd3, %rd3, 8;\n"
                                           "    or.b64 %rd3, %rd3, %rd1;\n");

static CUmodule module;
static CUdeviceptr small; // another object

// Launches the kernel so that it writes to `at`.
typedef void launch_function(CUfunction kernel, CUdeviceptr at);

static void launch(CUfunction kernel, uint64_t a, uint64_t b)
{
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, USED, 1, 1, 0, NULL, (void *[]){&a, &b}, NULL));
}

static void use(const char *what, CUfunction kernel, launch_function *write, CUdeviceptr memory)
{
    unsigned found[USED];
    write(kernel, memory + BYTES / 2);
    CHECK(cuCtxSynchronize()); // before the copy names the object
    CHECK(cuMemcpyDtoH_v2(found, memory + BYTES / 2, sizeof(found)));
    printf("%s: %u %u\n", what, found[0], found[USED - 1]);
}

static void try_form(const char *name, launch_function *write)
{
    CUfunction kernel;
    CUdeviceptr one, other;
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&kernel, module, name));
    CHECK(cuMemAlloc_v2(&small, PAGE));
    CHECK(cuMemAlloc_v2(&one, BYTES));
    CHECK(cuMemAlloc_v2(&other, BYTES));
    CHECK(cuMemsetD8_v2(small, 1, PAGE));
    CHECK(cuMemsetD8_v2(small, 2, PAGE));
    use("one", kernel, write, one);
    CHECK(cuMemFree_v2(one));
    use("other", kernel, write, other);
    use("other", kernel, write, other);
    CHECK(cuMemFree_v2(other));
}

static void as_it_is(CUfunction kernel, CUdeviceptr at)
{
    launch(kernel, at, 0);
}

void addresses_plain(void)
{
    try_form("plain", as_it_is);
}

// A - lo, with a lower bound of 1 or of 1 GiB, as Fortran passes arrays.
static void one_based(CUfunction kernel, CUdeviceptr at)
{
    launch(kernel, at - BYTES / 2 - 4, BYTES / 2 + 4);
}

void addresses_one_based(void)
{
    try_form("sum", one_based);
}

static void far_based(CUfunction kernel, CUdeviceptr at)
{
    launch(kernel, at - (UINT64_C(1) << 32), UINT64_C(1) << 32);
}

void addresses_far_based(void)
{
    try_form("sum", far_based);
}

// The end of an array, from which the kernel walks backwards.
static void backwards(CUfunction kernel, CUdeviceptr at)
{
    launch(kernel, at + BYTES / 2, BYTES / 2);
}

void addresses_backwards(void)
{
    try_form("difference", backwards);
}

static void by_distance(CUfunction kernel, CUdeviceptr at)
{
    launch(kernel, small, at - small);
}

void addresses_distance(void)
{
    try_form("sum", by_distance);
}

static void xored(CUfunction kernel, CUdeviceptr at)
{
    launch(kernel, at ^ UINT64_C(0x5555555555555555), UINT64_C(0x5555555555555555));
}

void addresses_xored(void)
{
    try_form("xor", xored);
}

static void tagged(CUfunction kernel, CUdeviceptr at)
{
    launch(kernel, at | UINT64_C(0x5a) << 56, 0);
}

void addresses_tagged(void)
{
    try_form("tagged", tagged);
}

static void shifted(CUfunction kernel, CUdeviceptr at)
{
    launch(kernel, at >> 4, 0);
}

void addresses_shifted(void)
{
    try_form("shifted", shifted);
}

static void multiplied(CUfunction kernel, CUdeviceptr at)
{
    launch(kernel, at / 4, 4);
}

void addresses_multiplied(void)
{
    try_form("product", multiplied);
}

static void in_halves(CUfunction kernel, CUdeviceptr at)
{
    unsigned low = (unsigned)at, high = (unsigned)(at >> 32);
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, USED, 1, 1, 0, NULL, (void *[]){&low, &high}, NULL));
}

void addresses_halves(void)
{
    try_form("halves", in_halves);
}

// A packed structure: the address is not aligned.
static void in_bytes(CUfunction kernel, CUdeviceptr at)
{
    unsigned char bytes[9] = {0};
    memcpy(bytes + 1, &at, sizeof(at));
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, USED, 1, 1, 0, NULL, (void *[]){bytes}, NULL));
}

void addresses_bytes(void)
{
    try_form("bytes", in_bytes);
}

static void in_table(CUfunction kernel, CUdeviceptr at)
{
    CHECK(cuMemcpyHtoD_v2(small, &at, sizeof(at)));
    launch(kernel, small, 0);
}

void addresses_table(void)
{
    try_form("table", in_table);
}

static void in_tables(CUfunction kernel, CUdeviceptr at)
{
    const CUdeviceptr next = small + 128;
    CHECK(cuMemcpyHtoD_v2(small, &next, sizeof(next)));
    CHECK(cuMemcpyHtoD_v2(next + 8, &at, sizeof(at)));
    launch(kernel, small, 0);
}

void addresses_tables(void)
{
    try_form("tables", in_tables);
}

static void in_constant(CUfunction kernel, CUdeviceptr at)
{
    CUdeviceptr held;
    CHECK(cuModuleGetGlobal_v2(&held, NULL, module, "held"));
    CHECK(cuMemcpyHtoD_v2(held, &at, sizeof(at)));
    launch(kernel, 0, 0);
}

void addresses_constant(void)
{
    try_form("constant", in_constant);
}

// The address was never on the host: a kernel stored it.
static void by_kernel(CUfunction kernel, CUdeviceptr at)
{
    CHECK(cuMemsetD32_v2(small, (unsigned)at, 1));
    CHECK(cuMemsetD32_v2(small + 4, (unsigned)(at >> 32), 1));
    launch(kernel, small, 0);
}

void addresses_made_by_fills(void)
{
    try_form("table", by_kernel);
}
