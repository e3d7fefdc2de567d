// SPDX-License-Identifier: Apache-2.0
// Kernels that are difficult for probes in one way each, at every level: what probes report equals
// the simulator's log. Near misses: every corruption of a run is detected. random_main.c has random
// kernels.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle.h"

// Two buffers of 4096 bytes, a number, and a third pointer that is 0. %t is the thread's index in
// the grid; %a and %b are the addresses of the words with that index in the first and the second
// buffer.
#define KERNEL(body) KERNEL_START body "ret; }\n"
#define KERNEL_START                                                                       \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                      \
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n, .param .u64 none) {\n" \
    ".reg .b32 %t, %n, %r<20>; .reg .b64 %p, %q, %a, %b, %d<20>; .reg .pred %c<8>;\n"      \
    ".reg .f32 %f<8>; .reg .b16 %h<8>; .shared .align 16 .b8 tile[512];\n"                 \
    ".shared .align 8 .b8 barrier[8];\n"                                                   \
    "ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; ld.param.u32 %n, [n];\n"                  \
    "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %t, %tid.x;\n"                   \
    "mad.lo.s32 %t, %r0, %r1, %t; mul.wide.s32 %d0, %t, 4; add.s64 %a, %p, %d0;\n"         \
    "add.s64 %b, %q, %d0;\n"

enum { BYTES = 4096 };
static unsigned char data[BYTES];

static const uint32_t all_shifts[] = {2, 3, 5};

static struct oracle_case make_case(const char *ptx, uint32_t blocks, uint32_t threads, uint32_t n)
{
    const struct oracle_case test = oracle_case_of(ptx, blocks, threads, n, data, data, BYTES);
    for (unsigned i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(i * 7 + i / 256);
    return test;
}

static void assert_exact_with_values(const struct oracle_case *test)
{
    static const enum oracle_watch watches[] = {ORACLE_LOADS, ORACLE_WITHOUT_LOADS,
                                                ORACLE_UNWATCHED};
    struct oracle_level levels[12];
    unsigned count = 0;
    for (unsigned f = 0; f < 4; f++) {
        for (unsigned w = 0; w < 3; w++)
            levels[count++] = (struct oracle_level){.facts = oracle_facts[f] | INSTRUMENT_VALUES,
                                                    .shift = all_shifts[w],
                                                    .workers = 1,
                                                    .watch = watches[w]};
    }
    assert_true(oracle_holds(test, levels, count, stderr));
}

static void assert_exact_at_all_levels(const struct oracle_case *test)
{
    struct oracle_level levels[15];
    unsigned count = 0;
    for (unsigned f = 0; f < 4; f++) {
        for (unsigned s = 0; s < 3; s++)
            levels[count++] = (struct oracle_level){
                .facts = oracle_facts[f], .shift = all_shifts[s], .workers = 2};
    }
    for (unsigned f = 0; f < 2; f++)
        levels[count++] = (struct oracle_level){.facts = oracle_facts[f] | INSTRUMENT_REQUESTS |
                                                         INSTRUMENT_SHARED,
                                                .shift = 2,
                                                .counted = f ? INSTRUMENT_WHOLE : INSTRUMENT_DENSE};
    levels[count++] = (struct oracle_level){.facts = INSTRUMENT_OBJECTS | INSTRUMENT_REQUESTS,
                                            .shift = 2,
                                            .counted = INSTRUMENT_WHOLE,
                                            .light = true};
    assert_true(oracle_holds(test, levels, count, stderr));
    assert_exact_with_values(test);
}

static void assert_exact(const char *name, const char *ptx, uint32_t blocks, uint32_t threads,
                         uint32_t n)
{
    struct oracle_case test = make_case(ptx, blocks, threads, n);
    snprintf(test.name, sizeof(test.name), "%s", name);
    assert_exact_at_all_levels(&test);
}

#define EXACT(blocks, threads, n, body) \
    assert_exact(__func__, KERNEL(body), (blocks), (threads), (n))

// --- Control flow --------------------------------------------------------------------------------

static void straight_code_needs_no_flags(void **state)
{
    (void)state;
    EXACT(3, 70, 0, "ld.global.u32 %r2, [%a]; st.global.u32 [%b], %r2;\n");
}

static void threads_behind_a_guard_touch_nothing(void **state)
{
    (void)state;
    const char *text = KERNEL("setp.ge.s32 %c0, %t, %n; @%c0 bra L; ld.global.u32 %r2, [%a];\n"
                              "st.global.u32 [%b], %r2; L:\n");
    static const uint32_t limits[] = {0, 1, 31, 32, 33, 100, 128};
    for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        assert_exact(__func__, text, 2, 64, limits[i]);
}

static void loops_of_no_rounds_touch_nothing(void **state)
{
    (void)state;
    const char *text =
        KERNEL("mov.u32 %r2, 0;\nL: setp.ge.s32 %c0, %r2, %n; @%c0 bra E;\n"
               "mul.wide.s32 %d1, %r2, 4; add.s64 %d2, %a, %d1; ld.global.f32 %f0, [%d2];\n"
               "add.s64 %d3, %q, %d1; st.global.u32 [%d3], %r2; add.s32 %r2, %r2, 1; bra L; E:\n");
    for (uint32_t n = 0; n < 4; n++)
        assert_exact(__func__, text, 2, 33, n);
    assert_exact(__func__, text, 1, 32, (uint32_t)-1);
}

static void rows_are_walked_by_each_thread(void **state)
{
    (void)state;
    EXACT(
        1, 40, 23,
        "mul.lo.s32 %r2, %t, %n; mul.wide.s32 %d1, %r2, 4; add.s64 %d2, %p, %d1; mov.u32 %r3, 0;\n"
        "L: ld.global.u32 %r4, [%d2]; add.s64 %d2, %d2, 4; add.s32 %r3, %r3, 1;\n"
        "setp.lt.s32 %c0, %r3, %n; @%c0 bra L; st.global.u32 [%b], %r4;\n");
}

static void rows_are_walked_backwards(void **state)
{
    (void)state;
    EXACT(1, 20, 30,
          "mad.lo.s32 %r2, %t, %n, 29; mul.wide.s32 %d1, %r2, 4; add.s64 %d2, %p, %d1;\n"
          "mov.u32 %r3, %n;\nL: ld.global.u32 %r4, [%d2]; add.s64 %d2, %d2, -4;\n"
          "sub.s32 %r3, %r3, 1; setp.ne.s32 %c0, %r3, 0; @%c0 bra L; st.global.u32 [%b], %r4;\n");
}

static void loops_are_left_early(void **state)
{
    (void)state;
    EXACT(1, 64, 12,
          "mov.u32 %r2, 0;\nL: mad.lo.s32 %r3, %r2, 64, %t; mul.wide.s32 %d1, %r3, 4;\n"
          "add.s64 %d2, %p, %d1; ld.global.u32 %r4, [%d2]; and.b32 %r5, %r4, 7;\n"
          "setp.eq.s32 %c0, %r5, 3; @%c0 bra E; add.s64 %d3, %q, %d1; st.global.u32 [%d3], %r4;\n"
          "add.s32 %r2, %r2, 1; setp.lt.s32 %c1, %r2, %n; @%c1 bra L; E:\n");
}

static void threads_end_inside_of_loops(void **state)
{
    (void)state;
    EXACT(2, 50, 9,
          "mov.u32 %r2, 0;\nL: mad.lo.s32 %r3, %r2, 100, %t; mul.wide.s32 %d1, %r3, 4;\n"
          "add.s64 %d2, %p, %d1; ld.global.u32 %r4, [%d2]; and.b32 %r5, %t, 7;\n"
          "setp.eq.s32 %c0, %r5, %r2; @%c0 exit; add.s32 %r2, %r2, 1;\n"
          "setp.lt.s32 %c1, %r2, %n; @%c1 bra L; st.global.u32 [%b], %r4;\n");
}

static void indices_wrap_round(void **state)
{
    (void)state;
    // for (i = -16; i != 16; i++) p[(uint32_t)(i + 16)], and the same starting at 2^32 - 16.
    EXACT(1, 1, 0,
          "mov.u32 %r2, 0xfffffff0;\nL: add.u32 %r3, %r2, 16; mul.wide.u32 %d1, %r3, 4;\n"
          "add.s64 %d2, %p, %d1; ld.global.u32 %r4, [%d2]; add.u32 %r2, %r2, 1;\n"
          "setp.ne.u32 %c0, %r2, 16; @%c0 bra L;\n");
    EXACT(1, 32, 0,
          "add.u32 %r2, %t, 0xfffffff8; and.b32 %r3, %r2, 63; mul.wide.u32 %d1, %r3, 4;\n"
          "add.s64 %d2, %p, %d1; ld.global.u32 %r4, [%d2]; st.global.u32 [%b], %r4;\n");
    // A 32-bit counter that wraps within the loop, widened with a mask of 8 bits.
    EXACT(1, 3, 0,
          "mov.u32 %r2, 250; mov.u32 %r5, 0;\nL: cvt.u16.u32 %h0, %r2; and.b16 %h0, %h0, 255;\n"
          "mul.wide.u16 %r3, %h0, 4; cvt.u64.u32 %d1, %r3; add.s64 %d2, %p, %d1;\n"
          "ld.global.u32 %r4, [%d2]; add.u32 %r2, %r2, 1; add.u32 %r5, %r5, 1;\n"
          "setp.ne.u32 %c0, %r5, 12; @%c0 bra L;\n");
}

// Counters continue while the part of them that forms the address wraps.
static void narrow_parts_wrap_round(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "cvt.u32.u8 %r3, %r2;",
        "cvt.s32.s8 %r3, %r2; add.s32 %r3, %r3, 128;",
        "bfe.u32 %r3, %r2, 0, 8;",
        "shl.b32 %r3, %r2, 24; shr.u32 %r3, %r3, 24;",
        "rem.u32 %r3, %r2, 200;",
        "cvt.u16.u32 %h0, %r2; shl.b16 %h0, %h0, 8; shr.u16 %h0, %h0, 8; cvt.u32.u16 %r3, %h0;",
        "xor.b32 %r3, %r2, 5; and.b32 %r3, %r3, 255;",
        "mul.lo.u32 %r3, %r2, 0x1000000; shr.u32 %r3, %r3, 24;",
        "mul.hi.u32 %r3, %r2, 0x1000000;",
        "prmt.b32 %r3, %r2, 0, 0x4440;",
        "min.u32 %r3, %r2, 255;",
        "and.b32 %r3, %r2, 255; not.b32 %r3, %r3; and.b32 %r3, %r3, 255;",
    };
    for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        char text[4096];
        snprintf(text, sizeof(text), "%s%s%s",
                 KERNEL_START "mov.u32 %r2, 250; mov.u32 %r5, 0;\nL:\n", parts[i],
                 "mul.wide.u32 %d1, %r3, 4; add.s64 %d2, %p, %d1; ld.global.u32 %r4, [%d2];\n"
                 "add.s64 %d3, %q, %d1; st.global.u32 [%d3], %r3; add.u32 %r2, %r2, 1;\n"
                 "add.u32 %r5, %r5, 1; setp.ne.u32 %c0, %r5, 12; @%c0 bra L;\nret; }\n");
        assert_exact(parts[i], text, 1, 40, 0);
    }
}

// The same with 16-bit halves, in a buffer that has room on both sides.
static void halves_of_words_wrap_round(void **state)
{
    (void)state;
    struct oracle_case test =
        make_case(KERNEL("mov.u32 %r2, 65530; mov.u32 %r5, 0;\nL: cvt.u16.u32 %h0, %r2;\n"
                         "mul.wide.u16 %r3, %h0, 4; cvt.u64.u32 %d1, %r3; add.s64 %d2, %p, %d1;\n"
                         "ld.global.u32 %r4, [%d2]; cvt.u64.u16 %d3, %h0; add.s64 %d4, %p, %d3;\n"
                         "st.global.u8 [%d4+64], %r3; add.u32 %r2, %r2, 1; add.u32 %r5, %r5, 1;\n"
                         "setp.ne.u32 %c0, %r5, 12; @%c0 bra L;\n"),
                  1, 3, 0);
    test.buffer_bytes[0] = 300000;
    test.buffers[0] = NULL;
    snprintf(test.name, sizeof(test.name), "%s", __func__);
    assert_exact_at_all_levels(&test);
}

// --- Accesses ------------------------------------------------------------------------------------

static void bytes_share_elements(void **state)
{
    (void)state;
    EXACT(2, 77, 0,
          "cvt.s64.s32 %d1, %t; add.s64 %d2, %p, %d1; ld.global.u8 %h0, [%d2+3];\n"
          "add.s64 %d3, %q, %d1; st.global.u8 [%d3+1], %h0; ld.global.s8 %h1, [%d3+1];\n");
}

static void vectors_touch_all_their_elements(void **state)
{
    (void)state;
    EXACT(1, 100, 0,
          "mul.wide.s32 %d1, %t, 16; add.s64 %d2, %p, %d1; add.s64 %d3, %q, %d1;\n"
          "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%d2+16]; ld.global.v2.f32 {%f4, %f5}, [%d2+8];\n"
          "st.global.v2.f32 [%d3], {%f0, %f5}; ld.global.v2.u64 {%d4, %d5}, [%d2];\n");
}

static void atomics_are_read_and_written(void **state)
{
    (void)state;
    EXACT(2, 50, 0,
          "and.b32 %r2, %t, 3; mul.wide.s32 %d1, %r2, 8; add.s64 %d2, %q, %d1;\n"
          "atom.global.add.u32 %r3, [%d2], 1; red.global.max.u64 [%d2+64], 9;\n"
          "atom.global.cas.b32 %r4, [%q+400], 0, 1; ld.global.u32 %r5, [%p];\n");
}

static void copies_read_what_their_size_says(void **state)
{
    (void)state;
    EXACT(1, 32, 0,
          "mov.u64 %d1, tile; mad.wide.s32 %d1, %t, 16, %d1; mad.wide.s32 %d2, %t, 16, %p;\n"
          "cp.async.ca.shared.global [%d1], [%d2], 16; cp.async.ca.shared.global [%d1], [%q], 4;\n"
          "cp.async.wait_all;\n");
    EXACT(1, 32, 0,
          "mov.u64 %d1, tile; mad.wide.s32 %d1, %t, 16, %d1; mad.wide.s32 %d2, %t, 16, %p;\n"
          "and.b32 %r2, %t, 3; shl.b32 %r2, %r2, 2;\n"
          "cp.async.ca.shared.global [%d1], [%d2], 16, %r2; cp.async.wait_all;\n"
          "mov.u32 %r3, 0; cp.async.ca.shared.global [%d1], [%q], 8, %r3; cp.async.wait_all;\n");
}

static void copies_of_no_bytes_read_nothing(void **state)
{
    (void)state;
    EXACT(1, 32, 0,
          "mov.u64 %d1, tile; mad.wide.s32 %d1, %t, 16, %d1; mov.u32 %r3, 0;\n"
          "cp.async.ca.shared.global [%d1], [%q], 8, %r3; cp.async.wait_all;\n");
}

// Ranges of bytes whose sizes and offsets are no multiples of elements, copied by one thread each.
static void bulk_copies_touch_ranges(void **state)
{
    (void)state;
    EXACT(1, 8, 0,
          "mov.u64 %d1, tile; mad.wide.s32 %d2, %t, 48, %p; mad.wide.s32 %d3, %t, 80, %q;\n"
          "mad.lo.s32 %r2, %t, 16, 16; st.shared.u32 [%d1], %t; fence.proxy.async;\n"
          "cp.async.bulk.global.shared::cta.bulk_group [%d3+16], [%d1], %r2;\n"
          "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d3+1024], [%d1], 48;\n"
          "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
          "setp.ne.s32 %c0, %t, 0; mov.u64 %d4, barrier; @%c0 bra E;\n"
          "mbarrier.init.shared.b64 [%d4], 1; fence.mbarrier_init.release.cluster;\n"
          "mbarrier.arrive.expect_tx.shared.b64 _, [%d4], 208;\n"
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%d1], [%d2+32], 208, "
          "[%d4];\nW: mbarrier.try_wait.parity.shared.b64 %c1, [%d4], 0; @!%c1 bra W;\nE:\n");
}

static void predicates_turn_accesses_off(void **state)
{
    (void)state;
    EXACT(1, 64, 40,
          "setp.lt.s32 %c0, %t, %n; setp.gt.s32 %c1, %t, 1000; @%c0 ld.global.u32 %r2, [%a];\n"
          "@%c1 st.global.u32 [%b], %r2; @!%c0 red.global.add.u32 [%a+256], 1;\n");
}

static void prefetches_touch_nothing(void **state)
{
    (void)state;
    EXACT(1, 32, 0, "prefetch.global.L2 [%a]; prefetchu.L1 [%b];\n");
}

// --- Pointers ------------------------------------------------------------------------------------

static void one_of_two_is_chosen(void **state)
{
    (void)state;
    EXACT(1, 64, 0,
          "and.b32 %r2, %t, 1; setp.eq.s32 %c0, %r2, 0; selp.b64 %d1, %a, %b, %c0;\n"
          "ld.global.u32 %r3, [%d1];\n");
    EXACT(1, 64, 0,
          "setp.lt.s32 %c0, %t, 10; @%c0 bra A; mov.u64 %d1, %b; bra B; A: mov.u64 %d1, %a; B:\n"
          "st.global.u32 [%d1], %t;\n");
    EXACT(1, 64, 0, "setp.lt.s32 %c0, %t, 1000; selp.b64 %d1, %a, %b, %c0; st.u32 [%d1], %t;\n");
}

static void generic_addresses_may_be_shared(void **state)
{
    (void)state;
    EXACT(1, 64, 0,
          "mov.u64 %d1, tile; cvta.shared.u64 %d1, %d1; and.b32 %r2, %t, 1; mad.wide.s32 %d1, %t, "
          "4, %d1;\n"
          "setp.eq.s32 %c0, %r2, 0; selp.b64 %d2, %a, %d1, %c0; st.u32 [%d2], %t;\n"
          "ld.u32 %r3, [%d1]; ld.u32 %r4, [%b]; atom.add.u32 %r5, [%d2], 1;\n");
}

static void generic_addresses_may_be_constant(void **state)
{
    (void)state;
    struct oracle_case test = make_case(
        ".version 8.0\n.target sm_90\n.address_size 64\n.const .align 4 .u32 table[64];\n"
        ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n, .param .u64 none) {\n"
        ".reg .b32 %r<4>; .reg .b64 %d<6>; .reg .pred %c; ld.param.u64 %d0, [p];\n"
        "mov.u64 %d1, table; cvta.const.u64 %d1, %d1; mov.u32 %r0, %tid.x; and.b32 %r1, %r0, 1;\n"
        "setp.eq.s32 %c, %r1, 0; selp.b64 %d2, %d0, %d1, %c; mad.wide.u32 %d2, %r0, 4, %d2;\n"
        "ld.u32 %r2, [%d2]; ld.const.u32 %r3, [table+4]; ret; }\n",
        1, 40, 0);
    snprintf(test.name, sizeof(test.name), "%s", __func__);
    assert_exact_at_all_levels(&test);
}

static void null_pointers_are_no_objects(void **state)
{
    (void)state;
    EXACT(1, 40, 0,
          "ld.param.u64 %d1, [none]; setp.eq.u64 %c0, %d1, 0; @%c0 bra L;\n"
          "st.global.u32 [%d1], %t;\nL: ld.global.u32 %r2, [%a];\n");
}

// C does not allow it. At object level, probes report only that; at element level, they find the
// objects.
static void addresses_leave_the_object_of_their_root(void **state)
{
    (void)state;
    struct oracle_case test = make_case(
        KERNEL("ld.global.u64 %d1, [%p]; ld.global.u64 %d2, [%p+8];\n"
               "sub.s64 %d3, %d2, %d1; add.s64 %d4, %a, %d3; ld.global.u32 %r2, [%d4+16];\n"
               "and.b32 %r3, %t, 1; setp.eq.s32 %c0, %r3, 0; @%c0 mov.u64 %d3, 64;\n"
               "add.s64 %d5, %a, %d3; st.global.u32 [%d5+512], %t;\n"),
        2, 40, 0);
    test.pointers[test.pointer_count++] = (struct oracle_pointer){0, 0, 0, 0};
    test.pointers[test.pointer_count++] = (struct oracle_pointer){0, 8, 1, 0};
    snprintf(test.name, sizeof(test.name), "%s", __func__);
    test.leaves = true;
    assert_exact_at_all_levels(&test);
}

static void pointers_stand_in_the_middle(void **state)
{
    (void)state;
    struct oracle_case test = make_case(
        KERNEL("ld.global.u32 %r2, [%a+-1000]; neg.s32 %r3, %t; mul.wide.s32 %d1, %r3, 4;\n"
               "add.s64 %d2, %q, %d1; st.global.u32 [%d2+8], %r2;\n"),
        2, 40, 0);
    test.pointers[0].offset = 2000;
    test.pointers[1].offset = 4000;
    snprintf(test.name, sizeof(test.name), "%s", __func__);
    assert_exact_at_all_levels(&test);
}

static void variables_lie_side_by_side(void **state)
{
    (void)state;
    struct oracle_case test = make_case(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .u8 a;\n"
        ".visible .global .u32 b = 5;\n.visible .global .u16 c[3];\n.visible .global .u32 d;\n"
        ".visible .global .u64 e = c;\n"
        ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n, .param .u64 none) {\n"
        ".reg .b32 %r<4>; .reg .b64 %d<4>; .reg .b16 %h; .reg .pred %c;\n"
        "ld.global.u32 %r0, [b]; st.global.u8 [a], %r0; mov.u32 %r1, %tid.x;\n"
        "setp.gt.u32 %c, %r1, 3; @%c red.global.add.u32 [d], 1; ld.global.u64 %d0, [e];\n"
        "ld.global.u16 %h, [%d0+4]; ld.u16 %h, [%d0]; ret; }\n",
        1, 40, 0);
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    memcpy(test.variables, names, sizeof(names));
    test.variable_count = 5;
    snprintf(test.name, sizeof(test.name), "%s", __func__);
    assert_exact_at_all_levels(&test);
}

// --- Device functions ----------------------------------------------------------------------------

// `out` is the bra or exit that leaves early.
#define FUNCTION(out)                                                                   \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                   \
    ".func (.param .b32 back) f(.param .b64 p, .param .b32 i) {\n"                      \
    ".reg .b64 %d<3>; .reg .b32 %r<3>; .reg .pred %c; ld.param.u64 %d0, [p];\n"         \
    "ld.param.u32 %r0, [i]; mad.wide.s32 %d1, %r0, 4, %d0; ld.global.u32 %r1, [%d1];\n" \
    "setp.gt.s32 %c, %r0, 20; @%c " out "; setp.gt.s32 %c, %r0, 9; @%c bra E;\n"        \
    "st.global.u32 [%d1+128], %r1;\nE: st.param.b32 [back], %r1; ret; }\n"

static void functions_are_called(void **state)
{
    (void)state;
    static const char text[] = FUNCTION(
        "bra E") ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n, .param .u64 none) "
                 "{\n"
                 ".reg .b64 %d<3>; .reg .b32 %r<4>; .reg .pred %c; ld.param.u64 %d0, [p];\n"
                 "ld.param.u64 %d1, [q]; mov.u32 %r0, %tid.x; setp.lt.s32 %c, %r0, 5; @%c bra L;\n"
                 "{ .param .b64 a; .param .b32 b; .param .b32 c; st.param.b64 [a], %d0;\n"
                 "st.param.b32 [b], %r0; call.uni (c), f, (a, b); ld.param.b32 %r1, [c]; }\n"
                 "L: mad.wide.s32 %d1, %r0, 4, %d1; st.global.u32 [%d1], %r0; ret; }\n";
    assert_exact(__func__, text, 2, 30, 0);
}

static void functions_end_threads(void **state)
{
    (void)state;
    struct oracle_case test = make_case(
        FUNCTION("exit") ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n, .param "
                         ".u64 none) {\n"
                         ".reg .b64 %d<3>; .reg .b32 %r<4>; ld.param.u64 %d0, [p]; ld.param.u64 "
                         "%d1, [q];\n"
                         "mov.u32 %r0, %tid.x; { .param .b64 a; .param .b32 b; .param .b32 c;\n"
                         "st.param.b64 [a], %d0; st.param.b32 [b], %r0; call.uni (c), f, (a, b);\n"
                         "ld.param.b32 %r1, [c]; }\nst.global.u32 [%d1], 7; ret; }\n",
        2, 30, 0);
    assert_exact_at_all_levels(&test);
}

// The code after the call never runs, although nothing in the kernel says so.
static void functions_without_accesses_end_threads(void **state)
{
    (void)state;
    struct oracle_case test = make_case(
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".func f(.param .b32 i) { .reg .b32 %r; .reg .pred %c; ld.param.u32 %r, [i];\n"
        "setp.ge.s32 %c, %r, 0; @%c exit; ret; }\n"
        ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n, .param .u64 none) {\n"
        ".reg .b64 %d<3>; .reg .b32 %r<4>; ld.param.u64 %d0, [p]; ld.param.u64 %d1, [q];\n"
        "mov.u32 %r0, %tid.x; ld.global.u32 %r1, [%d0]; { .param .b32 a;\n"
        "st.param.b32 [a], %r0; call.uni f, (a); }\nst.global.u32 [%d1], 7; ret; }\n",
        2, 30, 0);
    snprintf(test.name, sizeof(test.name), "%s", __func__);
    assert_exact_at_all_levels(&test);
}

// Either probes see everything, or the kernel has a reason why it gets no probes.
static void functions_called_by_pointer_are_seen_or_refused(void **state)
{
    (void)state;
    static const char text[] = FUNCTION(
        "bra E") ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n, .param .u64 none) "
                 "{\n"
                 ".reg .b64 %d<3>; .reg .b32 %r<4>; ld.param.u64 %d0, [p]; mov.u64 %d1, f;\n"
                 "mov.u32 %r0, %tid.x;\nP: .callprototype (.param .b32 _) _ (.param .b64 _, .param "
                 ".b32 "
                 "_);\n"
                 "{ .param .b64 a; .param .b32 b; .param .b32 c; st.param.b64 [a], %d0;\n"
                 "st.param.b32 [b], %r0; call (c), %d1, (a, b), P; ld.param.b32 %r1, [c]; } ret; "
                 "}\n";
    const struct instrument_request request = {.facts = INSTRUMENT_OBJECTS};
    struct instrument_module *module;
    struct base_error error;
    assert_int_equal(instrument_ptx(text, strlen(text), &request, &module, &error), BASE_OK);
    assert_int_equal(module->kernel_count, 1);
    const bool refused = module->kernels[0].reason;
    assert_true(module->kernels[0].clone || refused);
    instrument_destroy(module);
    if (!refused)
        assert_exact(__func__, text, 2, 30, 0);
}

// --- Near misses: the comparison detects errors --------------------------------------------------

static const char spoilable[] =
    KERNEL("setp.ge.s32 %c0, %t, %n; @%c0 bra L; ld.global.u32 %r2, [%a];\n"
           "and.b32 %r3, %r2, 63; mul.wide.u32 %d1, %r3, 4; add.s64 %d2, %q, %d1;\n"
           "ld.global.u32 %r4, [%d2]; L:\n");

static bool spoilt_holds(uint32_t facts, enum oracle_spoil spoil, unsigned which, char **told)
{
    struct oracle_case test = make_case(spoilable, 2, 64, 100);
    const struct oracle_level level = {
        .facts = facts, .shift = 2, .workers = 1, .spoil = spoil, .which = which};
    size_t length;
    FILE *to = open_memstream(told, &length);
    const bool good = oracle_holds(&test, &level, 1, to);
    fclose(to);
    return good;
}

static void assert_found(uint32_t facts, enum oracle_spoil spoil, const char *complaint)
{
    char *told;
    assert_false(spoilt_holds(facts, spoil, 0, &told));
    if (!strstr(told, complaint))
        fail_msg("\"%s\" is not in: %s", complaint, told);
    free(told);
}

static void what_is_sound_holds(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        char *told;
        assert_true(spoilt_holds(oracle_facts[i], ORACLE_SOUND, 0, &told));
        assert_string_equal(told, "");
        free(told);
    }
}

static void what_is_spoilt_is_found(void **state)
{
    (void)state;
    const uint32_t elements = INSTRUMENT_ELEMENTS, counts = INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS;
    assert_found(INSTRUMENT_OBJECTS, ORACLE_ONE_FLAG, "buffer 0: read 0, written 0, wanted 1, 0");
    assert_found(INSTRUMENT_OBJECTS, ORACLE_WITHOUT_OBJECT, "buffer 0: read 0");
    assert_found(INSTRUMENT_OBJECTS, ORACLE_OTHER_SLOT, "buffer 0: read 0");
    assert_found(INSTRUMENT_OBJECTS, ORACLE_ONE_RESULT, "buffer 0: byte 0 is");
    assert_found(INSTRUMENT_OBJECTS | INSTRUMENT_REQUESTS, ORACLE_ONE_REQUEST, "requests, wanted");
    assert_found(elements, ORACLE_WITHOUT_OBJECT, "strayed");
    assert_found(elements, ORACLE_ONE_BIT, "buffer 0: element 0: touched 0, wanted 1");
    assert_found(elements, ORACLE_ONE_TALLY, "times, wanted 100");
    assert_found(counts, ORACLE_ONE_COUNT, "buffer 0: element 0: count 2, wanted 1");
    assert_found(counts, ORACLE_ONE_BIT, "touched");
}

// The kernel stores nothing, so all stores and reductions of the clone are probes. Some of them
// handle cases that do not occur here.
static void probes_that_are_left_out_are_missed(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        unsigned missed = 0;
        for (unsigned which = 0;; which++) {
            char *told;
            const bool good = spoilt_holds(oracle_facts[i], ORACLE_WITHOUT_PROBE, which, &told);
            const bool none = strstr(told, "there is no probe");
            assert_null(strstr(told, "refused"));
            missed += !good && !none;
            free(told);
            if (none)
                break;
        }
        assert_true(missed >= (oracle_facts[i] == INSTRUMENT_OBJECTS ? 1 : 2));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(straight_code_needs_no_flags),
        cmocka_unit_test(threads_behind_a_guard_touch_nothing),
        cmocka_unit_test(loops_of_no_rounds_touch_nothing),
        cmocka_unit_test(rows_are_walked_by_each_thread),
        cmocka_unit_test(rows_are_walked_backwards),
        cmocka_unit_test(loops_are_left_early),
        cmocka_unit_test(threads_end_inside_of_loops),
        cmocka_unit_test(indices_wrap_round),
        cmocka_unit_test(narrow_parts_wrap_round),
        cmocka_unit_test(halves_of_words_wrap_round),
        cmocka_unit_test(bytes_share_elements),
        cmocka_unit_test(vectors_touch_all_their_elements),
        cmocka_unit_test(atomics_are_read_and_written),
        cmocka_unit_test(copies_read_what_their_size_says),
        cmocka_unit_test(copies_of_no_bytes_read_nothing),
        cmocka_unit_test(bulk_copies_touch_ranges),
        cmocka_unit_test(predicates_turn_accesses_off),
        cmocka_unit_test(prefetches_touch_nothing),
        cmocka_unit_test(one_of_two_is_chosen),
        cmocka_unit_test(generic_addresses_may_be_shared),
        cmocka_unit_test(generic_addresses_may_be_constant),
        cmocka_unit_test(null_pointers_are_no_objects),
        cmocka_unit_test(addresses_leave_the_object_of_their_root),
        cmocka_unit_test(pointers_stand_in_the_middle),
        cmocka_unit_test(variables_lie_side_by_side),
        cmocka_unit_test(functions_are_called),
        cmocka_unit_test(functions_end_threads),
        cmocka_unit_test(functions_without_accesses_end_threads),
        cmocka_unit_test(functions_called_by_pointer_are_seen_or_refused),
        cmocka_unit_test(what_is_sound_holds),
        cmocka_unit_test(what_is_spoilt_is_found),
        cmocka_unit_test(probes_that_are_left_out_are_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
