// SPDX-License-Identifier: Apache-2.0
// Makes one launch that gets the address of an object in an unusual form: forms NAME [adjacent].
// Objects: `in`, `out` and `idle`, in this order, each of 1024 bytes, or adjacent and larger. The
// launch adds 1 to 256 words of `out`, and touches nothing else but a table that holds the form, if
// there is one. `forms` prints all names.
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "program.h"

// Each kernel computes %a, the address of its thread's word, from parameters. p and q have 64 bits.
#define KERNEL(name, params, body)                                                          \
    ".visible .entry " name "(" params ")\n{\n"                                             \
    ".reg .b32 %r<16>; .reg .b64 %p, %q, %a, %i, %d<16>; .reg .pred %c; .reg .f64 %f<4>;\n" \
    "mov.u32 %r0, %tid.x; mul.wide.u32 %i, %r0, 4;\n" body                                  \
    "ld.global.u32 %r15, [%a]; add.u32 %r15, %r15, 1; st.global.u32 [%a], %r15;\nret;\n}\n"
#define TWO   ".param .u64 p, .param .u64 q"
#define LOADS "ld.param.u64 %p, [p]; ld.param.u64 %q, [q];\n"

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .global .u64 kept; .visible .const .align 8 .u64 fixed[2];\n"
                          ".visible .global .align 256 .b8 own[256];\n"
    // What a compiler makes of p[i].
    KERNEL("plain", TWO, LOADS "cvta.to.global.u64 %p, %p; add.s64 %a, %p, %i;\n")
    // p[i + 1], p[i + 1000000], and p[-1 - i].
    KERNEL("first", TWO,
           LOADS "cvta.to.global.u64 %p, %p; add.s64 %a, %p, %i;\n"
                 "add.s64 %a, %a, 4;\n")
        KERNEL("far", TWO,
               LOADS "cvta.to.global.u64 %p, %p; add.s64 %a, %p, %i;\n"
                     "add.s64 %a, %a, 4000000;\n")
            KERNEL("last", TWO,
                   LOADS "cvta.to.global.u64 %p, %p; sub.s64 %a, %p, %i;\n"
                         "add.s64 %a, %a, -4;\n")
    // A thread walks backwards over four words.
    ".visible .entry back(" TWO ")\n{\n"
    ".reg .b32 %r<8>; .reg .b64 %p, %q, %a, %e, %i; .reg .pred %c;\n" LOADS
    "cvta.to.global.u64 %p, %p; mov.u32 %r0, %tid.x;\n"
    "mul.wide.u32 %i, %r0, 16; sub.s64 %a, %p, %i; sub.s64 %e, %a, 16;\n"
    "L: ld.global.u32 %r1, [%a+-4]; add.u32 %r1, %r1, 1; st.global.u32 [%a+-4], %r1;\n"
    "add.s64 %a, %a, -4; setp.ne.u64 %c, %a, %e; @%c bra L;\nret;\n}\n"
    // Bits of the pointer that hold something else.
    KERNEL("high", TWO, LOADS "and.b64 %p, %p, 0x00ffffffffffffff; add.s64 %a, %p, %i;\n")
        KERNEL("low", TWO, LOADS "and.b64 %p, %p, -16; add.s64 %a, %p, %i;\n")
            KERNEL("shifted", TWO, LOADS "shr.u64 %p, %p, 8; add.s64 %a, %p, %i;\n") KERNEL(
                "signs", TWO, LOADS "shl.b64 %p, %p, 8; shr.s64 %p, %p, 8; add.s64 %a, %p, %i;\n")
    // Two halves, combined in several ways.
    KERNEL("halves", ".param .u32 low, .param .u32 high",
           "ld.param.u32 %r1, [low]; ld.param.u32 %r2, [high];\n"
           "mov.b64 %p, {%r1, %r2}; add.s64 %a, %p, %i;\n")
        KERNEL("joined", ".param .u32 low, .param .u32 high",
               "ld.param.u32 %r1, [low]; ld.param.u32 %r2, [high]; cvt.u64.u32 %d1, %r1;\n"
               "cvt.u64.u32 %d2, %r2; shl.b64 %d2, %d2, 32; or.b64 %p, %d1, %d2;\n"
               "add.s64 %a, %p, %i;\n")
            KERNEL("wide", ".param .u32 low, .param .u32 high",
                   "ld.param.u32 %r1, [low]; ld.param.u32 %r2, [high]; cvt.u64.u32 %d1, %r1;\n"
                   "mul.wide.u32 %d2, %r2, 0x10000; mul.lo.u64 %d2, %d2, 0x10000; add.s64 %p, %d1, "
                   "%d2;\n"
                   "add.s64 %a, %p, %i;\n")
                KERNEL(
                    "mixed", ".param .u64 p, .param .u32 low",
                    "ld.param.u64 %p, [p]; ld.param.u32 %r1, [low]; cvt.u64.u32 %d1, %r1;\n"
                    "and.b64 %p, %p, 0xffffffff00000000; or.b64 %p, %p, %d1; add.s64 %a, %p, %i;\n")
    // Distances: p + q, p - q, and what is q words behind p.
    KERNEL("apart", TWO,
           LOADS "cvta.to.global.u64 %p, %p; add.s64 %a, %p, %q; add.s64 %a, %a, %i;\n")
        KERNEL("minus", TWO,
               LOADS "cvta.to.global.u64 %p, %p; sub.s64 %a, %p, %q; add.s64 %a, %a, %i;\n")
            KERNEL("words", TWO,
                   LOADS "cvta.to.global.u64 %p, %p; shl.b64 %q, %q, 2;\n"
                         "add.s64 %a, %p, %q; add.s64 %a, %a, %i;\n")
                KERNEL("narrow", ".param .u64 p, .param .s32 q",
                       "ld.param.u64 %p, [p]; cvta.to.global.u64 %p, %p; ld.param.s32 %r1, [q];\n"
                       "add.s32 %r1, %r1, %r0; mul.wide.s32 %d1, %r1, 4; add.s64 %a, %p, %d1;\n")
                    KERNEL("sum", TWO, LOADS "add.s64 %a, %p, %q; add.s64 %a, %a, %i;\n")
                        KERNEL("beside", TWO,
                               LOADS "mov.u64 %d1, own; add.s64 %a, %d1, %p; add.s64 %a, %a, %i;\n")
    // Arithmetic after which nothing looks like a pointer.
    KERNEL("xored", TWO, LOADS "xor.b64 %p, %p, %q; add.s64 %a, %p, %i;\n") KERNEL(
        "keyed", TWO, LOADS "xor.b64 %p, %p, 0x5a5a5a5a5a5a5a5a; add.s64 %a, %p, %i;\n")
        KERNEL("inverted", TWO, LOADS "not.b64 %p, %p; add.s64 %a, %p, %i;\n") KERNEL(
            "negative", TWO, LOADS "neg.s64 %p, %p; add.s64 %a, %p, %i;\n")
            KERNEL("times", TWO, LOADS "mul.lo.u64 %p, %p, 256; add.s64 %a, %p, %i;\n") KERNEL(
                "index", TWO,
                LOADS "cvt.u64.u32 %d1, %r0; add.s64 %p, %p, %d1; shl.b64 %a, %p, 2;\n")
                KERNEL("fused", TWO,
                       LOADS
                       "cvt.u64.u32 %d1, %r0; add.s64 %p, %p, %d1; mad.lo.u64 %a, %p, 4, %q;\n")
                    KERNEL("half", TWO, LOADS "add.s64 %p, %p, %p; add.s64 %a, %p, %i;\n") KERNEL(
                        "floating", ".param .f64 p, .param .u64 q",
                        "ld.param.f64 %f0, [p]; mov.b64 %p, %f0; add.s64 %a, %p, %i;\n")
                        KERNEL(
                            "number", ".param .f64 p, .param .u64 q",
                            "ld.param.f64 %f0, [p]; cvt.rzi.u64.f64 %p, %f0; add.s64 %a, %p, %i;\n")
                            KERNEL("swapped", TWO,
                                   LOADS "mov.b64 {%r1, %r2}, %p; mov.b64 %p, {%r2, %r1};\n"
                                         "add.s64 %a, %p, %i;\n")
    // Pointers in structures, in constant and global variables, and in tables.
    KERNEL("field", ".param .align 8 .b8 p[24]", "ld.param.u64 %p, [p+16]; add.s64 %a, %p, %i;\n")
        KERNEL("pair", ".param .align 8 .b8 p[24]",
               "ld.param.v2.u32 {%r1, %r2}, [p+16]; mov.b64 %p, {%r1, %r2}; add.s64 %a, %p, %i;\n")
            KERNEL("copied", ".param .align 8 .b8 p[24]",
                   ".local .align 8 .b8 own$[24]; ld.param.u64 %p, [p+16]; st.local.u64 [own$+8], "
                   "%p;\n"
                   "mov.u64 %d1, own$; ld.local.u64 %p, [%d1+8]; add.s64 %a, %p, %i;\n")
                KERNEL("constant", TWO, "ld.const.u64 %p, [fixed+8]; add.s64 %a, %p, %i;\n") KERNEL(
                    "variable", TWO, "ld.global.u64 %p, [kept]; add.s64 %a, %p, %i;\n")
                    KERNEL("table", TWO, LOADS "ld.global.u64 %p, [%p+8]; add.s64 %a, %p, %i;\n")
                        KERNEL("tables", TWO,
                               LOADS "ld.global.u64 %p, [%p]; ld.global.u64 %p, [%p+8];\n"
                                     "add.s64 %a, %p, %i;\n")
                            KERNEL("parts", TWO,
                                   LOADS "ld.global.u32 %r1, [%p+8]; ld.global.u32 %r2, [%p+12];\n"
                                         "mov.b64 %p, {%r1, %r2}; add.s64 %a, %p, %i;\n")
                                KERNEL("offset", TWO,
                                       LOADS "ld.global.u64 %d1, [%p]; cvta.to.global.u64 %q, %q;\n"
                                             "add.s64 %a, %q, %d1; add.s64 %a, %a, %i;\n")
                                    KERNEL("through", TWO,
                                           ".shared .align 8 .u64 tile; " LOADS
                                           "st.shared.u64 [tile], %p; bar.sync 0;\n"
                                           "ld.shared.u64 %p, [tile]; add.s64 %a, %p, %i;\n")
                                        KERNEL("lanes", TWO,
                                               LOADS "mov.b64 {%r1, %r2}, %p; shfl.sync.idx.b32 "
                                                     "%r1, %r1, 0, 31, -1;\n"
                                                     "shfl.sync.idx.b32 %r2, %r2, 0, 31, -1; "
                                                     "mov.b64 %p, {%r1, %r2};\n"
                                                     "add.s64 %a, %p, %i;\n");

enum { COUNT = 256, BYTES = 4 * COUNT, TAG = 0xa5 };

static CUmodule module;
static CUdeviceptr in, out, idle, table;
static size_t bytes = BYTES; // of each object

static void allocate(void)
{
    CHECK(cuMemAlloc_v2(&in, bytes));
    CHECK(cuMemAlloc_v2(&out, bytes));
    CHECK(cuMemAlloc_v2(&idle, bytes));
}

// Maps three objects without a gap between them.
static void map_adjacent(void)
{
    const CUmemAllocationProp about = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    const CUmemAccessDesc access = {about.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CHECK(cuMemGetAllocationGranularity(&bytes, &about, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(cuMemAddressReserve(&in, 3 * bytes, 0, 0, 0));
    out = in + bytes;
    idle = out + bytes;
    for (int i = 0; i < 3; i++) {
        CUmemGenericAllocationHandle memory;
        CHECK(cuMemCreate(&memory, bytes, &about, 0));
        CHECK(cuMemMap(in + i * bytes, bytes, 0, memory, 0));
        CHECK(cuMemSetAccess(in + i * bytes, bytes, &access, 1));
    }
}

static void write_variable(const char *name, uint64_t at, uint64_t value)
{
    CUdeviceptr address;
    CHECK(cuModuleGetGlobal_v2(&address, NULL, module, name));
    CHECK(cuMemcpyHtoD_v2(address + at, &value, sizeof(value)));
}

static uint64_t variable(const char *name)
{
    CUdeviceptr address;
    CHECK(cuModuleGetGlobal_v2(&address, NULL, module, name));
    return address;
}

static void fill_table(uint64_t first, uint64_t second)
{
    const uint64_t words[2] = {first, second};
    CHECK(cuMemAlloc_v2(&table, sizeof(words)));
    CHECK(cuMemcpyHtoD_v2(table, words, sizeof(words)));
}

static uint64_t swap(uint64_t value)
{
    return value >> 32 | value << 32;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

// How a kernel gets `out`: its parameters, as 8 bytes each, or as words of 4 bytes.
struct form {
    const char *name, *kernel;
    uint64_t p, q;
    unsigned threads; // 0: COUNT
    bool words;       // both parameters have 4 bytes
    bool field;       // p is the last field of a structure of 24 bytes
};

static void launch(const struct form *form)
{
    CUfunction function;
    uint32_t low = (uint32_t)form->p, high = (uint32_t)form->q;
    uint64_t p = form->p, q = form->q, fields[3] = {0, in, form->p};
    void *wide[] = {&p, &q}, *narrow[] = {&low, &high}, *structure[] = {fields};
    CHECK(cuModuleGetFunction(&function, module, form->kernel));
    CHECK(cuLaunchKernel(function, 1, 1, 1, form->threads ? form->threads : COUNT, 1, 1, 0, NULL,
                         form->words   ? narrow
                         : form->field ? structure
                                       : wide,
                         NULL));
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    start_thread();
    CHECK(cuModuleLoadData(&module, ptx));
    if (argc > 2)
        map_adjacent();
    else
        allocate();
    CHECK(cuMemsetD8_v2(out, 0, bytes));
    if (strncmp(name, "table", 5) == 0 || strcmp(name, "parts") == 0)
        fill_table(0, out);
    else if (strcmp(name, "offset") == 0)
        fill_table(out - in, 0);
    else if (strcmp(name, "constant") == 0)
        write_variable("fixed", 8, out);
    else if (strcmp(name, "variable") == 0)
        write_variable("kept", 0, out);
    if (strcmp(name, "tables") == 0) {
        const CUdeviceptr inner = table;
        fill_table(inner, 0);
    }
    const uint64_t distance = out - in;
    const struct form forms[] = {
        {"plain", "plain", out, 0, 0, 0, 0},
        {"one-based", "first", out - 4, 0, 0, 0, 0},
        {"far-based", "far", out - 4000000, 0, 0, 0, 0},
        {"backwards", "last", out + bytes, 0, 0, 0, 0},
        {"back", "back", out + bytes, 0, COUNT / 4, 0, 0},
        {"high", "high", out | (uint64_t)TAG << 56, 0, 0, 0, 0},
        {"low", "low", out | 5, 0, 0, 0, 0},
        {"shifted", "shifted", out << 8 | TAG, 0, 0, 0, 0},
        {"signs", "signs", out | (uint64_t)TAG << 56, 0, 0, 0, 0},
        {"halves", "halves", out & UINT32_MAX, out >> 32, 0, 1, 0},
        {"joined", "joined", out & UINT32_MAX, out >> 32, 0, 1, 0},
        {"wide", "wide", out & UINT32_MAX, out >> 32, 0, 1, 0},
        {"mixed", "mixed", in, out & UINT32_MAX, 0, 0, 0},
        {"distance", "apart", in, distance, 0, 0, 0},
        {"minus", "minus", in, in - out, 0, 0, 0},
        {"words", "words", in, distance / 4, 0, 0, 0},
        {"narrow", "narrow", in, distance / 4, 0, 0, 0},
        {"sum", "sum", in, distance, 0, 0, 0},
        {"sum-of-halves", "sum", out / 2, out - out / 2, 0, 0, 0},
        {"beside", "beside", out - variable("own"), 0, 0, 0, 0},
        {"xored", "xored", in, in ^ out, 0, 0, 0},
        {"keyed", "keyed", out ^ UINT64_C(0x5a5a5a5a5a5a5a5a), 0, 0, 0, 0},
        {"inverted", "inverted", ~out, 0, 0, 0, 0},
        {"negative", "negative", 0 - out, 0, 0, 0, 0},
        {"times", "times", out / 256, 0, 0, 0, 0},
        {"index", "index", out / 4, 0, 0, 0, 0},
        {"fused", "fused", (out - in) / 4, in, 0, 0, 0},
        {"half", "half", out / 2, 0, 0, 0, 0},
        {"floating", "floating", out, 0, 0, 0, 0},
        {"number", "number", bits_of((double)out), 0, 0, 0, 0},
        {"swapped", "swapped", swap(out), 0, 0, 0, 0},
        {"field", "field", out, 0, 0, 0, 1},
        {"pair", "pair", out, 0, 0, 0, 1},
        {"copied", "copied", out, 0, 0, 0, 1},
        {"constant", "constant", 0, 0, 0, 0, 0},
        {"variable", "variable", 0, 0, 0, 0, 0},
        {"table", "table", table, 0, 0, 0, 0},
        {"tables", "tables", table, 0, 0, 0, 0},
        {"parts", "parts", table, 0, 0, 0, 0},
        {"offset", "offset", table, in, 0, 0, 0},
        {"through", "through", out, 0, 0, 0, 0},
        {"lanes", "lanes", out, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (argc < 2)
            puts(forms[i].name);
        else if (strcmp(name, forms[i].name) == 0)
            launch(&forms[i]);
    }
    uint32_t *words = malloc(bytes), ones = 0;
    CHECK(cuMemcpyDtoH_v2(words, out, bytes));
    for (size_t i = 0; i < bytes / 4; i++)
        ones += words[i] == 1;
    free(words);
    if (argc > 1 && ones != COUNT)
        printf("%u words are 1\n", ones);
    return argc > 1 && ones != COUNT;
}
