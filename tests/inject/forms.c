// SPDX-License-Identifier: Apache-2.0
// Makes one launch that gets the address of an object in an unusual form: forms NAME [WAY].
// Objects: `in`, `out` and `idle`, in this order, each of 1024 bytes, or adjacent and larger. WAY
// says how they are allocated (adjacent, managed, pinned, pool), or how the kernel is launched
// (buffer, graph). The launch adds 1 to 256 words of `out`, and touches nothing else but a table
// that holds the form, if there is one. `forms` prints all names.
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
                                                     "add.s64 %a, %p, %i;\n")
    // The same before the object, and behind a list; and both halves through memory of blocks.
    KERNEL("table_far", TWO,
           LOADS "ld.global.u64 %p, [%p+8]; add.s64 %a, %p, %i; add.s64 %a, %a, 4000000;\n")
        KERNEL("constant_far", TWO,
               "ld.const.u64 %p, [fixed+8]; add.s64 %a, %p, %i; add.s64 %a, %a, 4000000;\n")
            KERNEL("taken", TWO, LOADS "atom.global.exch.b64 %p, [%p+8], %q; add.s64 %a, %p, %i;\n")
                KERNEL("vector", TWO,
                       LOADS "ld.global.v2.u64 {%d1, %p}, [%p]; add.s64 %a, %p, %i;\n")
                    KERNEL("list", TWO,
                           LOADS "mov.u32 %r1, 3;\n"
                                 "L: ld.global.u64 %p, [%p+8]; sub.u32 %r1, %r1, 1; setp.ne.u32 "
                                 "%c, %r1, 0;\n"
                                 "@%c bra L; add.s64 %a, %p, %i;\n")
                        KERNEL("summed", TWO,
                               LOADS "cvta.to.global.u64 %q, %q; mov.u32 %r1, 4;\n"
                                     "L: ld.global.u64 %d1, [%p+8]; add.s64 %q, %q, %d1; sub.u32 "
                                     "%r1, %r1, 1;\n"
                                     "setp.ne.u32 %c, %r1, 0; @%c bra L; add.s64 %a, %q, %i;\n")
                            KERNEL("tiles", TWO,
                                   ".shared .align 8 .u32 half[2]; " LOADS
                                   "mov.b64 {%r1, %r2}, %p; st.shared.u32 [half], %r1; "
                                   "st.shared.u32 [half+4], %r2;\n"
                                   "bar.sync 0; ld.shared.u64 %p, [half]; add.s64 %a, %p, %i;\n")
                                KERNEL("spilled", TWO,
                                       ".local .align 8 .b8 own$[8]; " LOADS
                                       "mov.b64 {%r1, %r2}, %p; st.local.u32 [own$], %r1; "
                                       "st.local.u32 [own$+4], %r2;\n"
                                       "ld.local.u64 %p, [own$]; add.s64 %a, %p, %i;\n")
    // One of two pointers, of which the other one is not used.
    KERNEL("selected", TWO,
           LOADS "setp.gt.u32 %c, %r0, 5000; selp.b64 %p, %p, %q, %c; add.s64 %a, %p, %i;\n")
        KERNEL("either", TWO,
               LOADS
               "setp.gt.u32 %c, %r0, 5000; @%c bra L; mov.u64 %p, %q; L: add.s64 %a, %p, %i;\n")
            KERNEL("guarded", TWO,
                   LOADS "setp.lt.u32 %c, %r0, 5000; @%c mov.u64 %p, %q; add.s64 %a, %p, %i;\n")
                KERNEL("chosen", TWO,
                       LOADS "mov.u32 %r1, -1; slct.b64.s32 %p, %p, %q, %r1; add.s64 %a, %p, %i;\n")
                    KERNEL("between", TWO,
                           LOADS "sub.s64 %d1, %q, %p; add.s64 %a, %p, %d1; add.s64 %a, %a, %i;\n")
    // Pieces of 8 and 16 bits, and other ways to put halves together.
    KERNEL("shorts", TWO,
           ".reg .b16 %h<4>; ld.param.u16 %h0, [p]; ld.param.u16 %h1, [p+2];\n"
           "ld.param.u16 %h2, [p+4]; ld.param.u16 %h3, [p+6]; mov.b64 %p, {%h0, %h1, %h2, %h3};\n"
           "add.s64 %a, %p, %i;\n")
        KERNEL("inserted", TWO,
               LOADS
               "bfe.u64 %d1, %p, 16, 48; and.b64 %d2, %p, 0xffff; bfi.b64 %p, %d1, %d2, 16, 48;\n"
               "add.s64 %a, %p, %i;\n")
            KERNEL("permuted", TWO,
                   LOADS "mov.b64 {%r1, %r2}, %p; prmt.b32 %r1, %r1, 0, 0x0123;\n"
                         "prmt.b32 %r1, %r1, 0, 0x0123; lop3.b32 %r2, %r2, 0, 0, 0xf0;\n"
                         "mov.b64 %p, {%r1, %r2}; add.s64 %a, %p, %i;\n")
                KERNEL("funnel", TWO,
                       LOADS "mov.b64 {%r1, %r2}, %p; shf.l.wrap.b32 %r3, %r1, %r2, 16; shl.b32 "
                             "%r4, %r1, 16;\n"
                             "mov.b64 %p, {%r4, %r3}; shr.u64 %p, %p, 16; add.s64 %a, %p, %i;\n")
    // A parameter read by its address, a generic address that may be in shared memory, and a
    // function that makes an address.
    KERNEL(
        "addressed", ".param .align 8 .b8 p[24]",
        "mov.b64 %d1, p; ld.param.u64 %p, [%d1+16]; add.s64 %a, %p, %i;\n") ".visible .entry "
                                                                            "generic(" TWO ")\n{\n"
                                                                            ".reg .b32 %r<4>; .reg "
                                                                            ".b64 %p, %q, %a, %i, "
                                                                            "%d<2>; .reg .pred %c; "
                                                                            ".shared .b32 "
                                                                            "room[256];\n" LOADS
                                                                            "mov.u32 %r0, %tid.x; "
                                                                            "mul.wide.u32 %i, %r0, "
                                                                            "4; mov.u64 %d1, "
                                                                            "room;\n"
                                                                            "cvta.shared.u64 %d1, "
                                                                            "%d1; setp.gt.u32 %c, "
                                                                            "%r0, 5000; selp.b64 "
                                                                            "%p, %d1, %p, %c;\n"
                                                                            "add.s64 %a, %p, %i; "
                                                                            "ld.u32 %r1, [%a]; "
                                                                            "add.u32 %r1, %r1, 1; "
                                                                            "st.u32 [%a], "
                                                                            "%r1;\nret;\n}\n"
                                                                            ".func (.param .b64 "
                                                                            "to) moved(.param .b64 "
                                                                            "from)\n{\n.reg .b64 "
                                                                            "%d;\n"
                                                                            "ld.param.u64 %d, "
                                                                            "[from]; add.s64 %d, "
                                                                            "%d, 4000000; "
                                                                            "st.param.b64 [to], "
                                                                            "%d;\nret;\n}\n" KERNEL(
                                                                                "called", TWO,
                                                                                LOADS
                                                                                "{ .param .b64 "
                                                                                "from; .param .b64 "
                                                                                "to; st.param.b64 "
                                                                                "[from], %p;\n"
                                                                                "call.uni (to), "
                                                                                "moved, (from); "
                                                                                "ld.param.b64 %p, "
                                                                                "[to]; }\n"
                                                                                "add.s64 %a, %p, "
                                                                                "%i;\n")
    // Atomic operations and vectors of four words, whose address is a distance away.
    ".visible .entry added(" TWO ")\n{\n.reg .b32 %r0; .reg .b64 %p, %q, %a, %i;\n" LOADS
    "cvta.to.global.u64 %p, %p; mov.u32 %r0, %tid.x; mul.wide.u32 %i, %r0, 4;\n"
    "add.s64 %a, %p, %q; add.s64 %a, %a, %i; red.global.add.u32 [%a], 1;\nret;\n}\n"
    ".visible .entry four(" TWO ")\n{\n.reg .b32 %r<5>; .reg .b64 %p, %q, %a, %i;\n" LOADS
    "cvta.to.global.u64 %p, %p; mov.u32 %r0, %tid.x; mul.wide.u32 %i, %r0, 16;\n"
    "add.s64 %a, %p, %q; add.s64 %a, %a, %i; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%a];\n"
    "add.u32 %r1, %r1, 1; add.u32 %r2, %r2, 1; add.u32 %r3, %r3, 1; add.u32 %r4, %r4, 1;\n"
    "st.global.v4.u32 [%a], {%r1, %r2, %r3, %r4};\nret;\n}\n";

enum { COUNT = 256, BYTES = 4 * COUNT, TAG = 0xa5 };

static CUmodule module;
static CUdeviceptr in, out, idle, table;
static size_t bytes = BYTES; // of each object

static CUdeviceptr allocate(const char *way)
{
    CUdeviceptr made;
    void *host;
    if (strcmp(way, "managed") == 0) {
        CHECK(cuMemAllocManaged(&made, bytes, CU_MEM_ATTACH_GLOBAL));
    } else if (strcmp(way, "pinned") == 0) {
        CHECK(cuMemHostAlloc(&host, bytes, CU_MEMHOSTALLOC_DEVICEMAP));
        CHECK(cuMemHostGetDevicePointer_v2(&made, host, 0));
    } else if (strcmp(way, "pool") == 0) {
        CHECK(cuMemAllocAsync(&made, bytes, NULL));
    } else {
        CHECK(cuMemAlloc_v2(&made, bytes));
    }
    return made;
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

// Makes a list of three tables, the last of which leads to `out`.
static void fill_list(void)
{
    fill_table(0, out);
    for (int i = 0; i < 2; i++)
        fill_table(0, table);
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

static void launch_in_graph(const CUDA_KERNEL_NODE_PARAMS *kernel)
{
    CUgraph graph;
    CUgraphExec ready;
    CUgraphNode node;
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, kernel));
    CHECK(cuGraphInstantiateWithFlags(&ready, graph, 0));
    CHECK(cuGraphLaunch(ready, NULL));
}

static void launch(const struct form *form, const char *way)
{
    CUfunction function;
    uint32_t low = (uint32_t)form->p, high = (uint32_t)form->q;
    uint64_t p = form->p, q = form->q, fields[3] = {0, in, form->p};
    void *wide[] = {&p, &q}, *narrow[] = {&low, &high}, *structure[] = {fields};
    CHECK(cuModuleGetFunction(&function, module, form->kernel));
    void **params = form->words ? narrow : form->field ? structure : wide;
    const unsigned threads = form->threads ? form->threads : COUNT;
    uint64_t buffer[] = {form->p, form->q};
    size_t held = sizeof(buffer);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &held,
                     CU_LAUNCH_PARAM_END};
    if (strcmp(way, "graph") == 0)
        launch_in_graph(&(CUDA_KERNEL_NODE_PARAMS){.func = function,
                                                   .gridDimX = 1,
                                                   .gridDimY = 1,
                                                   .gridDimZ = 1,
                                                   .blockDimX = threads,
                                                   .blockDimY = 1,
                                                   .blockDimZ = 1,
                                                   .kernelParams = params});
    else if (strcmp(way, "buffer") == 0)
        CHECK(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, NULL, NULL, extra));
    else
        CHECK(cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, NULL, params, NULL));
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "", *way = argc > 2 ? argv[2] : "";
    start_thread();
    CHECK(cuModuleLoadData(&module, ptx));
    if (strcmp(way, "adjacent") == 0) {
        map_adjacent();
    } else {
        in = allocate(way);
        out = allocate(way);
        idle = allocate(way);
    }
    CHECK(cuMemsetD8_v2(out, 0, bytes));
    if (strcmp(name, "table-based") == 0)
        fill_table(0, out - 4000000);
    else if (strncmp(name, "table", 5) == 0 || strcmp(name, "parts") == 0 ||
             strcmp(name, "taken") == 0 || strcmp(name, "vector") == 0)
        fill_table(0, out);
    else if (strcmp(name, "list") == 0)
        fill_list();
    else if (strcmp(name, "summed") == 0)
        fill_table(0, (out - in) / 4);
    else if (strcmp(name, "constant-based") == 0)
        write_variable("fixed", 8, out - 4000000);
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
        {"table-based", "table_far", table, 0, 0, 0, 0},
        {"constant-based", "constant_far", 0, 0, 0, 0, 0},
        {"taken", "taken", table, out, 0, 0, 0},
        {"vector", "vector", table, 0, 0, 0, 0},
        {"list", "list", table, 0, 0, 0, 0},
        {"summed", "summed", table, in, 0, 0, 0},
        {"tiles", "tiles", out, 0, 0, 0, 0},
        {"spilled", "spilled", out, 0, 0, 0, 0},
        {"selected", "selected", in, out, 0, 0, 0},
        {"either", "either", in, out, 0, 0, 0},
        {"guarded", "guarded", in, out, 0, 0, 0},
        {"chosen", "chosen", in, out, 0, 0, 0},
        {"between", "between", in, out, 0, 0, 0},
        {"shorts", "shorts", out, 0, 0, 0, 0},
        {"inserted", "inserted", out, 0, 0, 0, 0},
        {"permuted", "permuted", out, 0, 0, 0, 0},
        {"funnel", "funnel", out, 0, 0, 0, 0},
        {"addressed", "addressed", out, 0, 0, 0, 1},
        {"generic", "generic", out, 0, 0, 0, 0},
        {"called", "called", out - 4000000, 0, 0, 0, 0},
        {"added", "added", in, distance, 0, 0, 0},
        {"four", "four", in, distance, COUNT / 4, 0, 0},
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (argc < 2)
            puts(forms[i].name);
        else if (strcmp(name, forms[i].name) == 0)
            launch(&forms[i], way);
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
