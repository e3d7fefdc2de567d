// SPDX-License-Identifier: Apache-2.0
// Pointers at the edge of an object or outside of it, and accesses that leave the object of their
// pointer. At element level, probes report both as the simulator's log does. At object level, they
// report that it is unknown what was touched, and only then. If the launch finds out in which
// object accesses of a pointer are expected, they report what was touched there, too.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle.h"

// Two buffers and a number. %t is the thread's index in the grid; %a and %b are the addresses of
// the words with that index, relative to the first and the second pointer.
#define KERNEL(body)                                                                \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                               \
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n"            \
    ".reg .b32 %t, %n, %r<8>; .reg .b64 %p, %q, %a, %b, %d<8>; .reg .pred %c<2>;\n" \
    "ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; ld.param.u32 %n, [n];\n"           \
    "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %t, %tid.x;\n"            \
    "mad.lo.s32 %t, %r0, %r1, %t; mul.wide.s32 %d0, %t, 4; add.s64 %a, %p, %d0;\n"  \
    "add.s64 %b, %q, %d0;\n" body "ret; }\n"

enum { BYTES = 4096 };

static struct oracle_case make_case(const char *name, const char *ptx, uint32_t n)
{
    struct oracle_case test = {
        .ptx = ptx,
        .ptx_bytes = strlen(ptx),
        .kernel = "k",
        .grid = {2, 1, 1},
        .block = {40, 1, 1},
        .buffer_bytes = {BYTES, BYTES},
        .buffer_count = 2,
        .pointers = {{ORACLE_IN_PARAMS, 0, 0, 0}, {ORACLE_IN_PARAMS, 8, 1, 0}},
        .pointer_count = 2};
    snprintf(test.name, sizeof(test.name), "%s", name);
    memcpy(test.params + 16, &n, sizeof(n));
    return test;
}

static void assert_exact(const struct oracle_case *test)
{
    struct oracle_level levels[9] = {{.facts = INSTRUMENT_OBJECTS, .shift = 2, .workers = 2}};
    unsigned count = 1;
    for (uint32_t counts = 0; counts < 2; counts++) {
        for (uint32_t shift = 2; shift < 6; shift++)
            levels[count++] = (struct oracle_level){.facts = INSTRUMENT_ELEMENTS |
                                                             (counts ? INSTRUMENT_COUNTS : 0),
                                                    .shift = shift,
                                                    .workers = 2};
    }
    assert_true(oracle_holds(test, levels, count, stderr));
    for (unsigned i = 0; i < count; i++) {
        levels[i].facts |= INSTRUMENT_VALUES;
        levels[i].workers = 1;
    }
    assert_true(oracle_holds(test, levels, count, stderr));
}

// The same if the launch finds out in which objects accesses are expected. They are there.
static void assert_aimed(struct oracle_case test)
{
    test.aims = true;
    test.leaves = false;
    assert_exact(&test);
}

// A pointer one past the end is in no object or in the next one, but all accesses through it are
// before it: directly, in a row of lanes, and in loops that count down.
static void pointers_stand_one_past_the_end(void **state)
{
    (void)state;
    struct oracle_case test = make_case(
        __func__,
        KERNEL("ld.global.u32 %r2, [%a+-1024]; neg.s32 %r3, %t; mul.wide.s32 %d1, %r3, 4;\n"
               "add.s64 %d2, %p, %d1; st.global.u32 [%d2+-1028], %t; mov.u32 %r4, 0;\n"
               "mov.u64 %d3, %p;\nL: add.s64 %d3, %d3, -8; ld.global.u32 %r5, [%d3];\n"
               "add.s32 %r4, %r4, 1; setp.lt.s32 %c0, %r4, %n; @%c0 bra L;\n"
               "mov.u32 %r4, 1;\nM: mul.lo.s32 %r6, %r4, -4; mul.wide.s32 %d4, %r6, 4;\n"
               "add.s64 %d5, %p, %d4; red.global.add.u32 [%d5], 1; add.s32 %r4, %r4, 1;\n"
               "setp.le.s32 %c1, %r4, %n; @%c1 bra M; st.global.u32 [%b], %t;\n"),
        30);
    test.pointers[0].offset = BYTES;
    test.leaves = true;
    assert_exact(&test);
    assert_aimed(test);
}

// The same, but an access through the pointer reaches the other object, wherever it is.
static void pointers_one_past_the_end_reach_another_object(void **state)
{
    (void)state;
    struct oracle_case test = make_case(
        __func__,
        KERNEL("ld.global.u64 %d1, [%q]; ld.global.u64 %d2, [%q+8]; sub.s64 %d3, %d2, %d1;\n"
               "add.s64 %d4, %a, %d3; ld.global.u32 %r2, [%d4+64]; mov.u32 %r4, 0;\n"
               "add.s64 %d5, %p, %d3;\nL: ld.global.u32 %r5, [%d5+512]; add.s64 %d5, %d5, 4;\n"
               "add.s32 %r4, %r4, 1; setp.lt.s32 %c0, %r4, %n; @%c0 bra L;\n"
               "and.b32 %r3, %t, 1; setp.eq.s32 %c1, %r3, 0; @%c1 mov.u64 %d3, -512;\n"
               "add.s64 %d6, %a, %d3; st.global.u32 [%d6+128], %t;\n"),
        30);
    test.pointers[0].offset = BYTES;
    test.pointers[test.pointer_count++] = (struct oracle_pointer){1, 0, 0, BYTES};
    test.pointers[test.pointer_count++] = (struct oracle_pointer){1, 8, 1, 0};
    assert_exact(&test); // offsets come from memory, so every address is looked up
}

// One object ends where the next one starts. Accesses on each side are reported for the right
// object.
#define SIDE_BY_SIDE(bytes)                                                                   \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                         \
    ".visible .global .align " #bytes " .b8 a[" #bytes "];\n"                                 \
    ".visible .global .align " #bytes " .b8 b[" #bytes "];\n"                                 \
    ".visible .global .align " #bytes " .b8 c[" #bytes "];\n"                                 \
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n"                      \
    ".reg .b32 %r<6>; .reg .b64 %d<8>; .reg .pred %c; mov.u64 %d0, b; mov.u32 %r0, %tid.x;\n" \
    "mul.wide.u32 %d1, %r0, 4; sub.s64 %d2, %d0, %d1; ld.global.u32 %r1, [%d2+-4];\n"         \
    "add.s64 %d3, %d0, %d1; add.s64 %d5, %d3, " #bytes "; ld.global.u32 %r1, [%d5];\n"        \
    "ld.global.u32 %r1, [%d5+-80]; ld.global.v2.u32 {%r1, %r2}, [b+-8];\n"                    \
    "ld.global.u32 %r1, [b+" #bytes "]; mov.u32 %r3, 0; add.s64 %d4, %d0, 64 + " #bytes ";\n" \
    "L: add.s64 %d4, %d4, -16; red.global.add.u32 [%d4], 1; add.s32 %r3, %r3, 1;\n"           \
    "setp.lt.s32 %c, %r3, 300; @%c bra L; ret; }\n"

static void addresses_go_over_to_what_lies_next(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c"};
    struct oracle_case test = make_case(__func__, SIDE_BY_SIDE(4096), 0);
    memcpy(test.variables, names, sizeof(names));
    test.variable_count = 3;
    test.leaves = true;
    assert_exact(&test);
}

// The same with objects so small that several of them have the same base.
#define SMALL                                                            \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                    \
    ".visible .global .align 256 .b8 a[256];\n"                          \
    ".visible .global .align 256 .b8 b[256];\n"                          \
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n" \
    ".reg .b32 %r; ld.global.u32 %r, [b+-8]; ret; }\n"

static void small_objects_are_told_from_what_lies_next(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b"};
    struct oracle_case test = make_case(__func__, SMALL, 0);
    memcpy(test.variables, names, sizeof(names));
    test.variable_count = 2;
    test.leaves = true;
    assert_exact(&test);
}

// --- Forms of addresses --------------------------------------------------------------------------

static struct oracle_case moved(const char *name, const char *ptx, int64_t offset)
{
    struct oracle_case test = make_case(name, ptx, 30);
    test.pointers[0].offset = offset;
    return test;
}

static void one_based_arrays_are_known_if_expected(void **state)
{
    (void)state;
    struct oracle_case test =
        moved(__func__, KERNEL("st.global.u32 [%a+4], %t; ld.global.u32 %r2, [%b];\n"), -4);
    test.leaves = true;
    assert_exact(&test);
    assert_aimed(test);
}

// A matrix whose rows and columns count from 1.
static void one_based_matrices_are_known_if_expected(void **state)
{
    (void)state;
    struct oracle_case test =
        moved(__func__,
              KERNEL("add.s32 %r2, %t, 1; mad.lo.s32 %r3, %n, 4, %r2; mul.wide.s32 %d1, %r3, 4;\n"
                     "add.s64 %d2, %p, %d1; ld.global.u32 %r4, [%d2]; st.global.u32 [%b], %r4;\n"),
              -4 * (30 * 4 + 1));
    test.leaves = true;
    assert_exact(&test);
    assert_aimed(test);
}

static void bits_above_the_address_are_looked_up(void **state)
{
    (void)state;
    struct oracle_case test =
        moved(__func__,
              KERNEL("and.b64 %d1, %p, 0x00ffffffffffffff; add.s64 %d2, %d1, %d0;\n"
                     "st.global.u32 [%d2], %t;\n"),
              INT64_C(0x5a00000000000000));
    assert_exact(&test);
}

static void bits_below_the_address_leave_the_object_known(void **state)
{
    (void)state;
    const struct oracle_case test =
        moved(__func__,
              KERNEL("and.b64 %d1, %p, -8; add.s64 %d2, %d1, %d0; st.global.u32 [%d2], %t;\n"), 5);
    assert_exact(&test);
}

static void the_distance_of_two_objects_is_known_if_expected(void **state)
{
    (void)state;
    struct oracle_case test = make_case(
        __func__,
        KERNEL("cvta.to.global.u64 %d1, %p; cvta.to.global.u64 %d2, %q; sub.s64 %d3, %d2, %d1;\n"
               "add.s64 %d4, %d1, %d3; add.s64 %d4, %d4, %d0; st.global.u32 [%d4], %t;\n"),
        0);
    test.leaves = true;
    assert_exact(&test);
    assert_aimed(test);
}

// Near misses: some accesses stay in the pointer's object, or nothing shows where they go.
static void accesses_elsewhere_are_not_known_if_unexpected(void **state)
{
    (void)state;
    static const char *const kernels[] = {
        KERNEL("cvta.to.global.u64 %d1, %p; cvta.to.global.u64 %d2, %q; sub.s64 %d3, %d2, %d1;\n"
               "add.s64 %d4, %d1, %d0; st.global.u32 [%d4], %t; add.s64 %d4, %d4, %d3;\n"
               "st.global.u32 [%d4], %t;\n"),
        KERNEL("cvta.to.global.u64 %d1, %p; cvta.to.global.u64 %d2, %q; sub.s64 %d3, %d2, %d1;\n"
               "shr.s64 %d3, %d3, 2; add.s64 %d4, %d3, %d3; shl.b64 %d4, %d4, 1;\n"
               "min.s64 %d4, %d4, 0x7fffffffffff; add.s64 %d4, %d4, %d0; add.s64 %d5, %d1, %d4;\n"
               "st.global.u32 [%d5], %t;\n")};
    for (unsigned i = 0; i < 2; i++) {
        struct oracle_case test = make_case(__func__, kernels[i], 0);
        test.aims = test.leaves = true;
        assert_exact(&test);
    }
}

static void halves_of_two_pointers_are_looked_up(void **state)
{
    (void)state;
    struct oracle_case test = make_case(
        __func__,
        KERNEL("and.b64 %d1, %p, 0xffffffff00000000; cvt.u32.u64 %r2, %q; cvt.u64.u32 %d2, %r2;\n"
               "or.b64 %d3, %d1, %d2; add.s64 %d3, %d3, %d0; st.global.u32 [%d3], %t;\n"),
        0);
    assert_exact(&test);
}

// Both halves are of one pointer: addresses are looked up.
static void halves_put_together_are_known(void **state)
{
    (void)state;
    const struct oracle_case test = make_case(
        __func__,
        KERNEL("ld.param.u32 %r2, [p]; ld.param.u32 %r3, [p+4]; mov.b64 %d1, {%r2, %r3};\n"
               "add.s64 %d1, %d1, %d0; st.global.u32 [%d1], %t; ld.global.u32 %r4, [%b];\n"),
        0);
    assert_exact(&test);
}

// Several accesses are checked together, and one of them leaves the object at either end, by one
// byte or completely.
#define SEVERAL(offset)                                                                      \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                        \
    ".visible .global .align 4096 .b8 a[4096];\n.visible .global .align 4096 .b8 b[4096];\n" \
    ".visible .global .align 4096 .b8 c[4096];\n"                                            \
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n"                     \
    ".reg .b32 %r<6>; .reg .b64 %d<8>; mov.u64 %d0, b; add.s64 %d1, %d0, " offset ";\n"      \
    "ld.global.u32 %r1, [%d1+16]; st.global.u32 [%d1+-16], %r1;\n"                           \
    "ld.global.v2.u32 {%r1, %r2}, [%d1+56]; ret; }\n"

static void the_first_and_the_last_of_several_are_compared(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c"};
    static const struct {
        const char *ptx;
        bool leaves;
    } cases[] = {{SEVERAL("8"), true},     {SEVERAL("16"), false},   {SEVERAL("2048"), false},
                 {SEVERAL("4032"), false}, {SEVERAL("4040"), true},  {SEVERAL("4096"), true},
                 {SEVERAL("-16"), true},   {SEVERAL("-2048"), true}, {SEVERAL("6000"), true}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct oracle_case test = make_case(__func__, cases[i].ptx, 0);
        memcpy(test.variables, names, sizeof(names));
        test.variable_count = 3;
        test.leaves = cases[i].leaves;
        assert_exact(&test);
    }
}

// --- Loops ---------------------------------------------------------------------------------------

// %d1 points at the offset in the second of three variables, %d2 is 16, %r1 counts the iterations
// up to %n.
#define WALK(offset, body)                                                                   \
    ".version 8.0\n.target sm_90\n.address_size 64\n"                                        \
    ".visible .global .align 4096 .b8 a[4096];\n.visible .global .align 4096 .b8 b[4096];\n" \
    ".visible .global .align 4096 .b8 c[4096];\n"                                            \
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n"                     \
    ".reg .b32 %r<6>, %n; .reg .b64 %d<8>; .reg .pred %c<3>; ld.param.u32 %n, [n];\n"        \
    "mov.u64 %d0, b; add.s64 %d1, %d0, " offset "; mov.u64 %d2, 16; mov.u32 %r1, 0;\n" body  \
    "ret; }\n"
// Repeats while iterations are left; runs at least once.
#define AGAIN "add.s32 %r1, %r1, 1; setp.lt.s32 %c0, %r1, %n; @%c0 bra L;\n"

#define UP    "L: ld.global.u32 %r2, [%d1]; add.s64 %d1, %d1, 16;\n" AGAIN
#define MOVED "L: add.s64 %d1, %d1, 16; ld.global.u32 %r2, [%d1+-16];\n" AGAIN
#define DOWN  "L: ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d1]; sub.s64 %d1, %d1, %d2;\n" AGAIN
#define INDEXED                                                              \
    "mov.u64 %d3, 0;\nL: add.s64 %d4, %d1, %d3; ld.global.u32 %r2, [%d4];\n" \
    "add.s64 %d3, %d3, 16;\n" AGAIN
#define UNROLLED                                                                      \
    "L: ld.global.u32 %r2, [%d1]; add.s64 %d3, %d1, %d2; ld.global.u32 %r2, [%d3];\n" \
    "add.s64 %d4, %d3, %d2; ld.global.u32 %r2, [%d4]; add.s64 %d1, %d4, %d2;\n" AGAIN
#define FIXED   "L: ld.global.u32 %r2, [%d1];\n" AGAIN
// The loop may run zero times.
#define GUARDED "setp.lt.s32 %c1, %n, 1; @%c1 bra E;\n" UP "E:\n"
#define TESTED                                                             \
    "L: setp.ge.s32 %c0, %r1, %n; @%c0 bra E; ld.global.u32 %r2, [%d1];\n" \
    "add.s64 %d1, %d1, 16; add.s32 %r1, %r1, 1; bra L;\nE:\n"
// A branch leaves the loop after the access and before the register advances.
#define BROKEN                                                             \
    "L: ld.global.u32 %r2, [%d1]; setp.eq.s32 %c1, %r1, %n; @%c1 bra E;\n" \
    "add.s64 %d1, %d1, 16; add.s32 %r1, %r1, 1; bra L;\nE:\n"
#define HALVED                                                              \
    "L: ld.global.u32 %r2, [%d1]; setp.eq.s32 %c1, %r1, 100; @%c1 bra E;\n" \
    "add.s64 %d1, %d1, 16;\n" AGAIN "E:\n"
// The access is not executed in every iteration.
#define SOMETIMES                                                           \
    "L: setp.gt.s32 %c1, %r1, 255; @%c1 bra M; ld.global.u32 %r2, [%d1];\n" \
    "M: add.s64 %d1, %d1, 16;\n" AGAIN
#define PREDICATED                                                   \
    "L: setp.le.s32 %c1, %r1, 255; @%c1 ld.global.u32 %r2, [%d1];\n" \
    "add.s64 %d1, %d1, 16;\n" AGAIN
// Steps that differ between iterations: forward and back.
#define TURNED                                                                  \
    "mov.u64 %d3, 4096;\nL: ld.global.u32 %r2, [%d1]; add.s64 %d1, %d1, %d3;\n" \
    "neg.s64 %d3, %d3;\n" AGAIN
#define PARTED                                                                     \
    "L: ld.global.u32 %r2, [%d1]; and.b32 %r3, %r1, 1; setp.eq.s32 %c1, %r3, 0;\n" \
    "@%c1 bra M; add.s64 %d1, %d1, -4096; bra N;\nM: add.s64 %d1, %d1, 4096;\nN:\n" AGAIN
#define CHOSEN                                                                     \
    "L: ld.global.u32 %r2, [%d1]; and.b32 %r3, %r1, 1; setp.eq.s32 %c1, %r3, 0;\n" \
    "@%c1 add.s64 %d1, %d1, 4096; @!%c1 add.s64 %d1, %d1, -4096;\n" AGAIN
// A 32-bit index that wraps: 0, 2^31, and 0 again. The address uses its upper bits.
#define WRAPPED                                                         \
    "mov.u32 %r3, 0;\nL: shr.u32 %r4, %r3, 19; cvt.u64.u32 %d3, %r4;\n" \
    "add.s64 %d4, %d1, %d3; ld.global.u32 %r2, [%d4]; add.s32 %r3, %r3, 0x80000000;\n" AGAIN
// Three accesses at equal distances from a 32-bit index: the first and the last are checked.
#define SPREAD                                                                        \
    "L: mul.wide.s32 %d3, %r1, 4; add.s64 %d4, %d1, %d3; ld.global.u32 %r2, [%d4];\n" \
    "add.s64 %d5, %d4, %d2; ld.global.u32 %r2, [%d5]; add.s64 %d6, %d5, %d2;\n"       \
    "ld.global.u32 %r2, [%d6];\n" AGAIN
// Rows whose start the outer loop determines.
#define NESTED                                                                          \
    "M: mov.u32 %r3, 0; mov.u64 %d3, %d1;\nL: ld.global.u32 %r2, [%d3];\n"              \
    "add.s64 %d3, %d3, 4; add.s32 %r3, %r3, 1; setp.lt.s32 %c1, %r3, 64; @%c1 bra L;\n" \
    "add.s64 %d1, %d1, 256; add.s32 %r1, %r1, 1; setp.lt.s32 %c0, %r1, %n; @%c0 bra M;\n"

static void loops_are_compared_from_their_first_round_to_the_last(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c"};
    static const struct {
        const char *ptx;
        uint32_t n;
        bool leaves;
    } cases[] = {
        {WALK("0", UP), 256, false},         {WALK("0", UP), 257, true},
        {WALK("12", UP), 256, false},        {WALK("-16", UP), 100, true},
        {WALK("-16", UP), 1, true},          {WALK("4080", UP), 0, false}, // runs once
        {WALK("0", MOVED), 256, false},      {WALK("0", MOVED), 257, true},
        {WALK("4080", DOWN), 256, false},    {WALK("4080", DOWN), 257, true},
        {WALK("4096", DOWN), 10, true},      {WALK("16", INDEXED), 255, false},
        {WALK("16", INDEXED), 256, true},    {WALK("0", UNROLLED), 85, false},
        {WALK("16", UNROLLED), 85, false},   {WALK("32", UNROLLED), 85, true},
        {WALK("-16", UNROLLED), 3, true},    {WALK("4092", FIXED), 5, false},
        {WALK("4096", FIXED), 5, true},      {WALK("-4", FIXED), 1, true},
        {WALK("0", GUARDED), 256, false},    {WALK("0", GUARDED), 260, true},
        {WALK("5000", GUARDED), 0, false},   {WALK("5000", GUARDED), 1, true},
        {WALK("0", TESTED), 256, false},     {WALK("0", TESTED), 257, true},
        {WALK("5000", TESTED), 0, false},    {WALK("5000", TESTED), 1, true},
        {WALK("0", BROKEN), 255, false},     {WALK("0", BROKEN), 256, true},
        {WALK("2480", HALVED), 300, false},  {WALK("2496", HALVED), 300, true},
        {WALK("2496", HALVED), 100, false},  {WALK("0", SOMETIMES), 300, false},
        {WALK("16", SOMETIMES), 300, true},  {WALK("0", PREDICATED), 300, false},
        {WALK("16", PREDICATED), 300, true}, {WALK("0", TURNED), 1, false},
        {WALK("0", TURNED), 3, true},        {WALK("0", PARTED), 1, false},
        {WALK("0", PARTED), 3, true},        {WALK("0", CHOSEN), 1, false},
        {WALK("0", CHOSEN), 3, true},        {WALK("0", WRAPPED), 1, false},
        {WALK("0", WRAPPED), 3, true},       {WALK("4032", SPREAD), 8, false},
        {WALK("4036", SPREAD), 8, true},     {WALK("-4", SPREAD), 8, true},
        {WALK("0", SPREAD), 8, false},       {WALK("0", NESTED), 16, false},
        {WALK("0", NESTED), 17, true},       {WALK("-4", NESTED), 3, true},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct oracle_case test = make_case(__func__, cases[i].ptx, cases[i].n);
        snprintf(test.name, sizeof(test.name), "walk %u", i);
        test.grid[0] = 1;
        test.block[0] = 33;
        memcpy(test.variables, names, sizeof(names));
        test.variable_count = 3;
        test.leaves = cases[i].leaves;
        assert_exact(&test);
    }
}

// --- Accesses that stay known --------------------------------------------------------------------

static void the_end_of_a_loop_may_be_any_pointer(void **state)
{
    (void)state;
    struct oracle_case test =
        make_case(__func__,
                  KERNEL("mov.u64 %d1, %p;\nL: ld.global.u32 %r2, [%d1]; add.s64 %d1, %d1, 4;\n"
                         "setp.ne.u64 %c0, %d1, %q; @%c0 bra L;\n"),
                  0);
    test.pointers[1] = (struct oracle_pointer){ORACLE_IN_PARAMS, 8, 0, BYTES};
    assert_exact(&test);
}

static void what_is_not_done_by_a_pointer_outside_does_not_matter(void **state)
{
    (void)state;
    const struct oracle_case test =
        moved(__func__,
              KERNEL("setp.lt.s32 %c0, %n, 0; @%c0 st.global.u32 [%a], %t;\n"
                     "@!%c0 bra L; ld.global.u32 %r2, [%a+64];\nL: ld.global.u32 %r3, [%b];\n"),
              -64);
    assert_exact(&test);
}

static void walks_inside_of_an_object_are_known(void **state)
{
    (void)state;
    const struct oracle_case test = moved(
        __func__,
        KERNEL("mov.u32 %r2, 0; mov.u64 %d1, %p;\nL: add.s64 %d1, %d1, -4;\n"
               "red.global.add.u32 [%d1], 1; add.s32 %r2, %r2, 1; setp.lt.s32 %c0, %r2, 1023;\n"
               "@%c0 bra L; ld.global.u32 %r3, [%b];\n"),
        BYTES - 4);
    assert_exact(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_stand_one_past_the_end),
        cmocka_unit_test(pointers_one_past_the_end_reach_another_object),
        cmocka_unit_test(addresses_go_over_to_what_lies_next),
        cmocka_unit_test(small_objects_are_told_from_what_lies_next),
        cmocka_unit_test(one_based_arrays_are_known_if_expected),
        cmocka_unit_test(one_based_matrices_are_known_if_expected),
        cmocka_unit_test(bits_above_the_address_are_looked_up),
        cmocka_unit_test(bits_below_the_address_leave_the_object_known),
        cmocka_unit_test(the_distance_of_two_objects_is_known_if_expected),
        cmocka_unit_test(accesses_elsewhere_are_not_known_if_unexpected),
        cmocka_unit_test(halves_of_two_pointers_are_looked_up),
        cmocka_unit_test(halves_put_together_are_known),
        cmocka_unit_test(the_first_and_the_last_of_several_are_compared),
        cmocka_unit_test(loops_are_compared_from_their_first_round_to_the_last),
        cmocka_unit_test(the_end_of_a_loop_may_be_any_pointer),
        cmocka_unit_test(what_is_not_done_by_a_pointer_outside_does_not_matter),
        cmocka_unit_test(walks_inside_of_an_object_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
