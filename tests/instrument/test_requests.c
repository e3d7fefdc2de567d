// SPDX-License-Identifier: Apache-2.0
// What requests of warps take, at every way to reach global, shared and local memory: what probes
// report equals the simulator's log. The random kernels of random_main.c count requests, too.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle.h"

// Two buffers of 64 KiB and a number. %t is the thread's number in the block.
#define KERNEL(target, body)                                                  \
    ".version 8.0\n.target " target "\n.address_size 64\n"                    \
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n"      \
    ".reg .b32 %t, %n, %r<20>; .reg .b64 %p, %q, %d<20>; .reg .pred %c<8>;\n" \
    ".reg .b16 %h<4>; .shared .align 16 .b8 tile[8192];\n"                    \
    ".local .align 16 .b8 own[512]; .reg .b64 %o;\n"                          \
    "ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; ld.param.u32 %n, [n];\n"     \
    "mov.u32 %t, %tid.y; mov.u32 %r0, %ntid.x; mov.u32 %r1, %tid.x;\n"        \
    "mad.lo.u32 %t, %t, %r0, %r1; mov.u32 %r19, tile;\n" body "ret; }\n"

enum { BYTES = 65536 };

// Checks how many sites are counted, in global memory, and in shared and local memory.
static void check_counted(const char *ptx, uint32_t global, uint32_t shared)
{
    const struct instrument_request request = {.facts = INSTRUMENT_REQUESTS};
    struct instrument_module *module;
    struct base_error error = {0};
    uint32_t counted = 0;
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, &module, &error), BASE_OK);
    for (uint32_t i = 0; i < module->kernels[0].site_count; i++)
        counted += module->kernels[0].sites[i].requests != INSTRUMENT_NONE;
    assert_int_equal(counted, global);
    assert_int_equal(module->kernels[0].shared_count, shared);
    instrument_destroy(module);
}

// Checks how often the clone has a text: comparing counts does not show how they were counted.
static void check_text(const char *ptx, uint32_t facts, const char *text, unsigned times)
{
    const struct instrument_request request = {.facts = facts, .word_ways = INSTRUMENT_WORDS_BEST};
    struct instrument_module *module;
    struct base_error error = {0};
    unsigned found = 0;
    assert_int_equal(instrument_ptx(ptx, strlen(ptx), &request, &module, &error), BASE_OK);
    const uint32_t part = module->kernels[0].part;
    const char *at = part == INSTRUMENT_NONE ? module->ptx : module->parts[part].ptx;
    at = strstr(at, module->kernels[0].clone); // the module's text begins with the kernel
    assert_non_null(at);
    const char *regular = module->kernels[0].light,
               *end = regular ? strstr(at, regular) : at + strlen(at);
    for (; (at = strstr(at, text)) != NULL && at < end; at++)
        found++;
    assert_int_equal(found, times);
    instrument_destroy(module);
}

static void check(const char *name, const char *ptx, uint32_t n, uint32_t global, uint32_t shared)
{
    static const uint32_t blocks[][3] = {{64, 1, 1}, {16, 6, 1}, {45, 1, 1}, {7, 3, 2}};
    static const uint32_t facts[] = {INSTRUMENT_OBJECTS, INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS,
                                     INSTRUMENT_OBJECTS | INSTRUMENT_VALUES | INSTRUMENT_ACCESSED};
    const unsigned count = strstr(ptx, "sm_60") ? 2 : 3; // values need match.sync for sectors
    check_counted(ptx, global, shared);
    for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
        struct oracle_case test = oracle_case_of(ptx, 2, 1, n, NULL, NULL, BYTES);
        struct oracle_level levels[6];
        memcpy(test.block, blocks[i], sizeof(test.block));
        snprintf(test.name, sizeof(test.name), "%s, blocks of %u", name, blocks[i][0]);
        for (unsigned k = 0; k < count; k++)
            levels[k] = (struct oracle_level){.facts = facts[k] | INSTRUMENT_REQUESTS,
                                              .shift = 2,
                                              .workers = 1,
                                              .counted = INSTRUMENT_WHOLE};
        for (int counted = INSTRUMENT_ONE_BY_ONE; counted < INSTRUMENT_WHOLE; counted++) {
            levels[count + (unsigned)counted] = levels[0];
            levels[count + (unsigned)counted].counted = (enum instrument_counted)counted;
        }
        levels[count + 2] = levels[0];
        levels[count + 2].light = true;
        assert_true(oracle_holds(&test, levels, count + 3, stderr));
    }
}

// The first GPUs have no match.sync.
#define CHECK(n, global, shared, body)                                   \
    do {                                                                 \
        check(__func__, KERNEL("sm_90", body), (n), (global), (shared)); \
        check(__func__, KERNEL("sm_60", body), (n), (global), (shared)); \
    } while (0)

static void steps_and_sizes(void **state)
{
    (void)state;
    CHECK(0, 8, 0,
          "mul.wide.u32 %d0, %t, 4; add.s64 %d1, %p, %d0; ld.global.u32 %r2, [%d1];\n"
          "ld.global.u32 %r2, [%d1+4]; mul.wide.u32 %d0, %t, 8; add.s64 %d1, %p, %d0;\n"
          "ld.global.u32 %r2, [%d1]; ld.global.v2.u32 {%r2, %r3}, [%d1];\n"
          "mul.wide.u32 %d0, %t, 128; add.s64 %d1, %q, %d0; st.global.u8 [%d1], %r2;\n"
          "mul.wide.u32 %d0, %t, 16; add.s64 %d1, %p, %d0;\n"
          "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d1+16]; ld.global.u16 %h0, [%d1+2];\n"
          "st.global.u32 [%q+64], %n;\n");
}

static void lanes_that_are_not_there(void **state)
{
    (void)state;
    CHECK(20, 4, 0,
          "mul.wide.u32 %d0, %t, 4; add.s64 %d1, %p, %d0; setp.lt.u32 %c0, %t, %n;\n"
          "@%c0 ld.global.u32 %r2, [%d1]; @!%c0 ld.global.u32 %r2, [%d1+4096];\n"
          "and.b32 %r3, %t, 3; setp.eq.u32 %c1, %r3, 1; @!%c1 bra L;\n"
          "ld.global.u32 %r2, [%d1]; L: setp.gt.u32 %c2, %t, 1000; @%c2 bra M;\n"
          "st.global.u32 [%d1+8192], %t; M:\n");
}

// Each thread runs the loop so often as its number says, modulo 5.
static void lanes_that_leave_loops(void **state)
{
    (void)state;
    CHECK(0, 2, 1,
          "mul.wide.u32 %d0, %t, 4; add.s64 %d1, %p, %d0; rem.u32 %r2, %t, 5;\n"
          "shl.b32 %r4, %t, 5; and.b32 %r4, %r4, 4095; add.u32 %r4, %r4, %r19;\n"
          "L: setp.eq.u32 %c0, %r2, 0; @%c0 bra M; ld.global.u32 %r3, [%d1];\n"
          "ld.shared.u32 %r5, [%r4]; add.s64 %d1, %d1, 20; sub.u32 %r2, %r2, 1; bra L;\n"
          "M: st.global.u32 [%d1], %r2;\n");
    // Behind another loop that they leave one after the other. All ways meet only at E.
    CHECK(0, 3, 0,
          "mul.wide.u32 %d0, %t, 4; add.s64 %d1, %p, %d0; rem.u32 %r2, %t, 5;\n"
          "L: setp.eq.u32 %c0, %r2, 0; @%c0 bra M; setp.gt.u32 %c1, %n, 100; @%c1 bra E;\n"
          "sub.u32 %r2, %r2, 1; bra L; M: setp.gt.u32 %c2, %t, 17; @%c2 bra N;\n"
          "ld.global.u32 %r3, [%d1]; bra E; N: ld.global.u32 %r3, [%d1+64];\n"
          "E: st.global.u32 [%d1], %r3;\n");
}

// All lanes run these loops equally often: whole warps are only counted in a copy of them. In the
// first one addresses grow by lines, in the second one by words; the third has two ways through it,
// which all lanes choose together, and is left in its middle.
static void loops_that_lanes_run_together(void **state)
{
    (void)state;
    CHECK(5, 3, 2,
          "mul.wide.u32 %d0, %t, 4; add.s64 %d1, %p, %d0; add.s64 %d2, %q, %d0;\n"
          "shl.b32 %r4, %t, 3; and.b32 %r4, %r4, 4095; add.u32 %r4, %r4, %r19; mov.u32 %r2, 0;\n"
          "L: ld.global.u32 %r3, [%d1]; ld.shared.u32 %r5, [%r4]; add.s64 %d1, %d1, 128;\n"
          "add.u32 %r2, %r2, 1; setp.lt.u32 %c0, %r2, %n; @%c0 bra L; mov.u32 %r2, 0;\n"
          "M: ld.global.u32 %r3, [%d2]; add.s64 %d2, %d2, 4; add.u32 %r2, %r2, 1;\n"
          "setp.lt.u32 %c0, %r2, %n; @%c0 bra M; mov.u32 %r2, 0;\n"
          "N: add.u32 %r2, %r2, 1; and.b32 %r6, %r2, 1; setp.eq.u32 %c1, %r6, 0; @%c1 bra O;\n"
          "st.global.u32 [%d2+4096], %r2; O: setp.gt.u32 %c2, %r2, %n; @%c2 bra P;\n"
          "st.shared.u32 [%r4], %r2; bra N; P:\n");
    // Some lanes run it in a part of their warp.
    CHECK(40, 1, 0,
          "mul.wide.u32 %d0, %t, 4; add.s64 %d1, %p, %d0; setp.gt.u32 %c1, %t, %n; @%c1 bra M;\n"
          "mov.u32 %r2, 0;\n"
          "L: ld.global.u32 %r3, [%d1]; add.s64 %d1, %d1, 256; add.u32 %r2, %r2, 1;\n"
          "setp.lt.u32 %c0, %r2, 7; @%c0 bra L; M:\n");
}

// A loop is written twice if a whole warp stays together in it, and the launch can know what all of
// its requests take. `x` marks a round.
#define ROUND  "xor.b32 %r9, %r9, 77; add.u32 %r2, %r2, 1;\n"
#define BEFORE "mul.wide.u32 %d0, %t, 4; add.s64 %d1, %p, %d0; mov.u32 %r2, 0;\nL: "
static void which_loops_are_written_twice(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        unsigned times;
    } cases[] = {
        {BEFORE ROUND "ld.global.u32 %r3, [%d1]; setp.lt.u32 %c0, %r2, %n; @%c0 bra L;\n", 2},
        // Lanes leave it one after the other.
        {BEFORE ROUND "ld.global.u32 %r3, [%d1]; setp.lt.u32 %c0, %r2, %t; @%c0 bra L;\n", 1},
        // Lanes part in it.
        {BEFORE ROUND "setp.lt.u32 %c1, %t, 9; @%c1 bra M; ld.global.u32 %r3, [%d1];\n"
                      "M: setp.lt.u32 %c0, %r2, %n; @%c0 bra L;\n",
         1},
        // The address is from memory.
        {BEFORE ROUND "ld.global.u32 %r3, [%d1]; mul.wide.u32 %d2, %r3, 4; add.s64 %d2, %q, %d2;\n"
                      "ld.global.u32 %r4, [%d2]; setp.lt.u32 %c0, %r2, %n; @%c0 bra L;\n",
         1},
        // The instruction has a guard.
        {BEFORE ROUND "setp.lt.u32 %c1, %n, 9; @%c1 ld.global.u32 %r3, [%d1];\n"
                      "setp.lt.u32 %c0, %r2, %n; @%c0 bra L;\n",
         1},
        // It requests nothing.
        {BEFORE ROUND "setp.lt.u32 %c0, %r2, %n; @%c0 bra L; ld.global.u32 %r3, [%d1];\n", 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        static const char empty[] = KERNEL("sm_90", ""), end[] = "ret; }\n";
        char ptx[2048];
        snprintf(ptx, sizeof(ptx), "%.*s%s%s", (int)(strlen(empty) - strlen(end)), empty,
                 cases[i].body, end);
        check_text(ptx, INSTRUMENT_OBJECTS | INSTRUMENT_REQUESTS, "xor.b32 %r9, %r9, 77;",
                   cases[i].times);
        // Other probes keep more state.
        check_text(ptx, INSTRUMENT_OBJECTS | INSTRUMENT_REQUESTS | INSTRUMENT_VALUES,
                   "xor.b32 %r9, %r9, 77;", 1);
    }
}

// Names of an inner scope are not known behind it.
static void names_of_inner_scopes(void **state)
{
    (void)state;
    CHECK(0, 3, 0,
          "mul.wide.u32 %d0, %t, 4; add.s64 %d1, %p, %d0;\n"
          "{ .reg .b64 %inner; .reg .pred %own; add.s64 %inner, %d1, 64; setp.gt.u32 %own, %t, 9;\n"
          "ld.global.u32 %r2, [%inner]; @%own ld.global.u32 %r3, [%inner+4]; }\n"
          "ld.global.u32 %r4, [%d1];\n");
}

// A single block has nothing to gain from being counted elsewhere.
#define ONE_BLOCK                                                                           \
    "mul.wide.u32 %d0, %t, 4; add.s64 %d1, %p, %d0; setp.gt.u32 %c0, %t, %n; @%c0 bra L;\n" \
    "ld.global.u32 %r2, [%d1]; L: setp.gt.u32 %c1, %t, 17;\n"
#define TWO_BLOCKS ONE_BLOCK "@%c1 bra M; ld.global.u32 %r3, [%d1+64]; M:\n"

// What several blocks request is counted behind all of them, unless lanes reach one of them one
// after the other: in the second kernel, the way past L does not meet the others before the end.
static void blocks_between_others(void **state)
{
    (void)state;
    CHECK(40, 4, 1,
          "mul.wide.u32 %d0, %t, 4; add.s64 %d1, %p, %d0; setp.gt.u32 %c0, %t, %n; @%c0 bra L;\n"
          "ld.global.u32 %r2, [%d1]; add.s64 %d1, %d1, 4; L: setp.gt.u32 %c1, %t, 17;\n"
          "@%c1 bra M; ld.global.u32 %r3, [%d1]; st.shared.u32 [%r19+8], %r3; bra N;\n"
          "M: st.global.u32 [%d1+8192], %t; N: st.global.u32 [%d1+12288], %t;\n");
    check_text(KERNEL("sm_90", TWO_BLOCKS), INSTRUMENT_OBJECTS | INSTRUMENT_REQUESTS,
               "or.b32 %glint$ran0", 2);
    check_text(KERNEL("sm_90", ONE_BLOCK), INSTRUMENT_OBJECTS | INSTRUMENT_REQUESTS,
               "or.b32 %glint$ran0", 0);
    CHECK(3, 1, 0,
          "mul.wide.u32 %d0, %t, 4; add.s64 %d1, %p, %d0; and.b32 %r2, %t, 3;\n"
          "setp.eq.u32 %c0, %r2, 0; @%c0 bra L; setp.eq.u32 %c1, %r2, %n; @%c1 bra M;\n"
          "L: ld.global.u32 %r3, [%d1]; M:\n");
}

static void addresses_from_memory(void **state)
{
    (void)state;
    CHECK(0, 4, 0,
          "mul.lo.u32 %r2, %t, 37; and.b32 %r2, %r2, 63; mul.wide.u32 %d0, %r2, 4;\n"
          "add.s64 %d1, %p, %d0; ld.global.u32 %r3, [%d1]; add.u32 %r3, %r3, %r2;\n"
          "mul.wide.u32 %d2, %r3, 12; add.s64 %d3, %q, %d2; atom.global.add.u32 %r4, [%d3], 1;\n"
          "red.global.add.u32 [%d3+4], 1; st.global.u32 [%d3+8], %r3;\n");
}

static void banks(void **state)
{
    (void)state;
    CHECK(0, 0, 10,
          "shl.b32 %r2, %t, 2; add.u32 %r2, %r2, %r19; st.shared.u32 [%r2], %t;\n"
          "shl.b32 %r3, %t, 3; add.u32 %r3, %r3, %r19; ld.shared.u32 %r4, [%r3];\n"
          "ld.shared.v2.u32 {%r4, %r5}, [%r3]; mul.lo.u32 %r3, %t, 64; add.u32 %r3, %r3, %r19;\n"
          "ld.shared.u32 %r4, [%r3]; ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3];\n"
          "mul.lo.u32 %r3, %t, 68; add.u32 %r3, %r3, %r19; ld.shared.u32 %r4, [%r3];\n"
          "ld.shared.u8 %r4, [tile+5]; add.u32 %r2, %t, %r19; st.shared.u8 [%r2], %r4;\n"
          "ld.shared.v2.u64 {%d0, %d1}, [tile+32]; shl.b32 %r2, %t, 4; add.u32 %r2, %r2, %r19;\n"
          "st.shared.v4.u32 [%r2], {%r4, %r5, %r6, %r7};\n");
}

static void banks_in_any_order(void **state)
{
    (void)state;
    CHECK(0, 0, 6,
          "mul.lo.u32 %r2, %t, %t; and.b32 %r3, %r2, 1023; shl.b32 %r3, %r3, 2;\n"
          "add.u32 %r3, %r3, %r19; red.shared.add.u32 [%r3], 1; ld.shared.u32 %r4, [%r3];\n"
          "and.b32 %r3, %r2, 511; shl.b32 %r3, %r3, 3; add.u32 %r3, %r3, %r19;\n"
          "ld.shared.u64 %d0, [%r3]; and.b32 %r3, %r2, 255; shl.b32 %r3, %r3, 4;\n"
          "add.u32 %r3, %r3, %r19; ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3];\n"
          "mul.lo.u32 %r3, %t, 40; and.b32 %r3, %r3, 120; add.u32 %r3, %r3, %r19;\n"
          "ld.shared.u64 %d0, [%r3]; setp.lt.u32 %c0, %t, 9; @%c0 st.shared.u64 [%r3], %d0;\n");
}

// All lanes have one offset.
static void local_words(void **state)
{
    (void)state;
    CHECK(0, 0, 8,
          "mov.u64 %o, own; st.local.u32 [%o+8], %t; ld.local.u8 %r2, [own+5];\n"
          "st.local.v4.u32 [%o+32], {%t, %t, %t, %t}; ld.local.v2.u32 {%r2, %r3}, [%o+40];\n"
          "ld.local.u16 %h0, [%o+34]; mov.u32 %r4, 0;\n"
          "L: mul.wide.u32 %d0, %r4, 8; add.s64 %d1, %o, %d0; st.local.u64 [%d1], %d0;\n"
          "add.u32 %r4, %r4, 1; setp.lt.u32 %c0, %r4, 9; @%c0 bra L;\n"
          "setp.lt.u32 %c1, %t, 11; @%c1 ld.local.u32 %r5, [%o];\n"
          "and.b32 %r6, %t, 8; setp.eq.u32 %c2, %r6, 0; @%c2 st.local.u8 [%o+1], %r5;\n");
}

// Lanes have offsets of their own, and leave loops one after the other.
static void local_words_apart(void **state)
{
    (void)state;
    CHECK(
        0, 0, 7,
        "mov.u64 %o, own; and.b32 %r2, %t, 63; mul.wide.u32 %d0, %r2, 4; add.s64 %d1, %o, %d0;\n"
        "st.local.u32 [%d1], %t; ld.local.u8 %r3, [%d1+3]; and.b32 %r2, %t, 3;\n"
        "mul.wide.u32 %d0, %r2, 16; add.s64 %d1, %o, %d0;\n"
        "st.local.v4.u32 [%d1], {%t, %t, %t, %t}; and.b32 %r2, %t, 15; mul.wide.u32 %d0, %r2, 8;\n"
        "add.s64 %d1, %o, %d0; ld.local.u64 %d2, [%d1]; cvt.u64.u32 %d3, %r2;\n"
        "add.s64 %d1, %o, %d3; ld.local.u8 %r3, [%d1]; rem.u32 %r4, %t, 5; mov.u64 %d1, %o;\n"
        "L: setp.eq.u32 %c0, %r4, 0; @%c0 bra M; st.local.u32 [%d1], %r4;\n"
        "add.s64 %d1, %d1, 4; sub.u32 %r4, %r4, 1; bra L;\n"
        "M: ld.local.u32 %r5, [%o];\n");
}

// By generic addresses that are known to be local.
static void local_by_generic_addresses(void **state)
{
    (void)state;
    CHECK(0, 0, 3,
          "mov.u64 %o, own; cvta.local.u64 %d0, %o; st.u32 [%d0+4], %t; ld.v2.u32 {%r2, %r3}, "
          "[%d0];\n"
          "and.b32 %r2, %t, 7; mul.wide.u32 %d1, %r2, 12; add.s64 %d2, %d0, %d1;\n"
          "ld.u32 %r3, [%d2];\n");
}

// Accesses by addresses that may be anywhere, in functions, and by copies of variable size.
static void what_is_not_counted(void **state)
{
    (void)state;
    check(__func__,
          KERNEL("sm_90",
                 "setp.lt.u32 %c0, %t, 40; cvta.to.global.u64 %d1, %p;\n"
                 "mov.u64 %d2, tile; cvta.shared.u64 %d2, %d2; selp.b64 %d3, %p, %d2, %c0;\n"
                 "st.u32 [%d3], %n; st.global.u32 [%q], %n;\n"
                 "cvta.to.global.u64 %d4, %q; cp.async.ca.shared.global [%r19], [%d4], 4;\n"
                 "cp.async.wait_all;\n"),
          0, 2, 0);
}

// Near misses: a sum that is off by one is found, in global, shared and local memory.
static void what_is_spoilt_is_found(void **state)
{
    (void)state;
    static const char *const texts[] = {
        KERNEL("sm_90",
               "mul.wide.u32 %d0, %t, 4; add.s64 %d1, %p, %d0; ld.global.u32 %r2, [%d1];\n"),
        KERNEL("sm_90", "shl.b32 %r2, %t, 3; add.u32 %r2, %r2, %r19; ld.shared.u32 %r3, [%r2];\n"),
        KERNEL("sm_90", "mov.u64 %o, own; st.local.u32 [%o+4], %t;\n")};
    static const char *const taken[] = {"17 sectors or wavefronts, wanted 16",
                                        "9 sectors or wavefronts, wanted 8",
                                        "17 sectors or wavefronts, wanted 16"};
    for (unsigned i = 0; i < 3; i++) {
        const struct oracle_case test = oracle_case_of(texts[i], 2, 64, 0, NULL, NULL, BYTES);
        struct oracle_level level = {
            .facts = INSTRUMENT_OBJECTS | INSTRUMENT_REQUESTS, .shift = 2, .workers = 1};
        char *told;
        size_t length;
        assert_true(oracle_holds(&test, &level, 1, stderr));
        level.spoil = ORACLE_ONE_REQUEST;
        FILE *to = open_memstream(&told, &length);
        assert_false(oracle_holds(&test, &level, 1, to));
        fclose(to);
        assert_non_null(strstr(told, "5 requests, wanted 4"));
        assert_non_null(strstr(told, taken[i]));
        free(told);
    }
}

// --- What launches know --------------------------------------------------------------------------

// Loads an element of a matrix whose rows have n elements, then stores it to a column of a tile.
static const char matrix[] =
    KERNEL("sm_90", "mov.u32 %r2, %ctaid.x; mad.lo.s32 %r2, %r2, %r0, %r1; mov.u32 %r3, %tid.y;\n"
                    "mad.lo.s32 %r4, %r3, %n, %r2; mad.wide.s32 %d0, %r4, 4, %p;\n"
                    "ld.global.u32 %r5, [%d0+4]; mad.lo.s32 %r6, %r1, 128, %r19;\n"
                    "st.shared.u32 [%r6], %r5;\n");

struct known {
    uint32_t block[3], n;
    uint64_t first; // the matrix
    bool whole[2], dense;
    struct instrument_cost costs[2]; // if not whole, only the stride
};

static void check_known(const struct instrument_kernel *kernel, const struct known *known)
{
    struct {
        uint64_t p, q;
        uint32_t n;
    } params = {known->first, 0, known->n};
    const uint64_t roots[2] = {known->first};
    const struct instrument_launch launch = {
        .grid = {4, 1, 1},
        .block = {known->block[0], known->block[1], known->block[2]},
        .params = (const unsigned char *)&params,
        .roots = roots,
    };
    struct instrument_cost costs[2];
    struct instrument_context context = {0};
    struct instrument_site_place places[2];
    bool whole[2];
    instrument_find_places(kernel, &launch, places);
    instrument_whole_costs(kernel, launch.block, places, costs, whole);
    instrument_set_whole(launch.block, whole, &context);
    assert_int_equal(context.dense, known->dense ? UINT32_MAX : 0);
    for (int i = 0; i < 2; i++) {
        const struct instrument_cost *wanted = &known->costs[i];
        assert_int_equal(context.whole[i], known->whole[i] ? UINT32_MAX : 0);
        assert_int_equal(costs[i].has_stride, wanted->has_stride);
        if (wanted->has_stride)
            assert_int_equal(costs[i].stride, wanted->stride);
        if (!known->whole[i])
            continue;
        assert_int_equal(costs[i].taken, wanted->taken);
        assert_int_equal(costs[i].needed, wanted->needed);
        assert_int_equal(costs[i].lines, wanted->lines);
    }
}

static void what_launches_know(void **unused)
{
    (void)unused;
    const struct instrument_cost column = {32, 1, 0, true, 128}, halves = {16, 1, 0, false, 0};
    const struct instrument_cost side_by_side = {.has_stride = true, .stride = 4};
    const uint64_t line = 1 << 20;
    const struct known cases[] = {
        // Rows begin at lines, and the load is one element behind.
        {{32, 8, 1}, 64, line, {true, true}, true, {{5, 4, 2, true, 4}, column}},
        {{32, 8, 1}, 64, line + 28, {true, true}, true, {{4, 4, 2, true, 4}, column}},
        {{32, 8, 1}, 64, line + 124, {true, true}, true, {{4, 4, 1, true, 4}, column}},
        // Rows begin anywhere, which does not matter to shared memory.
        {{32, 8, 1}, 65, line, {false, true}, true, {side_by_side, column}},
        // The distance of rows does not matter to one row.
        {{32, 1, 1}, 65, line, {true, true}, true, {{5, 4, 2, true, 4}, column}},
        // Blocks are no multiples of a line.
        {{48, 1, 1}, 64, line, {false, true}, true, {side_by_side, column}},
        // A warp has parts of two rows.
        {{16, 2, 1}, 64, line, {false, true}, false, {{0}, halves}},
        // No warp is whole.
        {{16, 1, 1}, 64, line, {true, true}, true, {{0}, {0}}},
    };
    const struct instrument_request request = {.facts = INSTRUMENT_REQUESTS};
    struct instrument_module *module;
    struct base_error error = {0};
    assert_int_equal(instrument_ptx(matrix, strlen(matrix), &request, &module, &error), BASE_OK);
    const struct instrument_kernel *kernel = &module->kernels[0];
    assert_int_equal(kernel->site_count, 1);
    assert_int_equal(kernel->shared_count, 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        check_known(kernel, &cases[i]);
    instrument_destroy(module);
}

// Of warps whose lanes are side by side, a tally has what their places add: sectors, and in its
// high half lines. If there were more warps than a half can count, nothing is known.
static void what_places_add(void **unused)
{
    (void)unused;
    static const struct instrument_form form;
    const struct instrument_site site = {
        .bytes = 4, .requests = 0, .whole = 4, .form = &form, .excess = 5, .span = 128};
    uint64_t tallies[] = {1, 2, 1, 2, 10 * 32, (uint64_t)3 << 32 | 7};
    uint64_t sums[INSTRUMENT_REQUEST_TALLIES];
    instrument_sum_requests(&site, false, tallies, 0, INSTRUMENT_DENSE, NULL, sums);
    assert_int_equal(sums[INSTRUMENT_REQUEST_COUNT], 11);
    assert_int_equal(sums[INSTRUMENT_REQUEST_SECTORS], 2 + 10 * 4 + 7);
    assert_int_equal(sums[INSTRUMENT_REQUEST_NEEDED], 1 + 10 * 4);
    assert_int_equal(sums[INSTRUMENT_REQUEST_LINES], 2 + 10 + 3);
    instrument_sum_requests(&site, false, tallies, 0, INSTRUMENT_ONE_BY_ONE, NULL, sums);
    assert_int_equal(sums[INSTRUMENT_REQUEST_SECTORS], 2);
    tallies[4] = ((uint64_t)UINT32_MAX + 1) * 32;
    instrument_sum_requests(&site, false, tallies, 0, INSTRUMENT_DENSE, NULL, sums);
    assert_int_equal(sums[INSTRUMENT_REQUEST_COUNT], 0);
    assert_int_equal(sums[INSTRUMENT_REQUEST_SECTORS], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_and_sizes),
        cmocka_unit_test(lanes_that_are_not_there),
        cmocka_unit_test(lanes_that_leave_loops),
        cmocka_unit_test(loops_that_lanes_run_together),
        cmocka_unit_test(which_loops_are_written_twice),
        cmocka_unit_test(names_of_inner_scopes),
        cmocka_unit_test(blocks_between_others),
        cmocka_unit_test(addresses_from_memory),
        cmocka_unit_test(banks),
        cmocka_unit_test(banks_in_any_order),
        cmocka_unit_test(local_words),
        cmocka_unit_test(local_words_apart),
        cmocka_unit_test(local_by_generic_addresses),
        cmocka_unit_test(what_is_not_counted),
        cmocka_unit_test(what_is_spoilt_is_found),
        cmocka_unit_test(what_launches_know),
        cmocka_unit_test(what_places_add),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
