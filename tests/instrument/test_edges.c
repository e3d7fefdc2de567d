// SPDX-License-Identifier: Apache-2.0
// Pointers that lie at the edge of an object, and accesses that go over it: C allows the first, and
// does not allow the second, but both are told at element level, as the simulator's log says.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle.h"

// Two buffers and a number. %t is the thread's number in the grid, %a the address of the word of
// that number from the first pointer on, %b from the second.
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
    struct oracle_level levels[8];
    unsigned count = 0;
    for (uint32_t counts = 0; counts < 2; counts++) {
        for (uint32_t shift = 2; shift < 6; shift++)
            levels[count++] = (struct oracle_level){.facts = INSTRUMENT_ELEMENTS |
                                                             (counts ? INSTRUMENT_COUNTS : 0),
                                                    .shift = shift,
                                                    .workers = 2};
    }
    assert_true(oracle_holds(test, levels, count, stderr));
}

// A pointer that is one past the end is in no object, or in the next one, though all that is
// reached by it lies before it: at once, in a row of lanes, and by loops that go down.
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
    assert_exact(&test);
}

// And one by which the other object is reached, wherever that lies.
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
    assert_exact(&test);
}

// One object's end is the next one's first byte: what lies on either side is told of whose it is.
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
    assert_exact(&test);
}

// The same of objects so small that several of them have the same base.
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
    assert_exact(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointers_stand_one_past_the_end),
        cmocka_unit_test(pointers_one_past_the_end_reach_another_object),
        cmocka_unit_test(addresses_go_over_to_what_lies_next),
        cmocka_unit_test(small_objects_are_told_from_what_lies_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
