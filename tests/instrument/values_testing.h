// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of probes for values: the beginning of a kernel, and what must hold for it at
// every level.
#ifndef GLINT_TESTS_INSTRUMENT_VALUES_TESTING_H
#define GLINT_TESTS_INSTRUMENT_VALUES_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle.h"

// Two buffers of several pieces, and a number. %t is the thread's index in the grid; %a and %b are
// the addresses of the 16 bytes with that index in the first and the second buffer. The first
// buffer holds its offsets modulo 256, the second zeros.
#define START                                                                         \
    ".version 8.3\n.target sm_90\n.address_size 64\n"                                 \
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n"              \
    ".reg .b32 %t, %n, %r<20>; .reg .b64 %p, %q, %a, %b, %d<20>; .reg .pred %c<8>;\n" \
    ".reg .f32 %f<8>; .reg .f64 %g<4>; .reg .b16 %h<8>; .reg .b128 %w;\n"             \
    ".shared .align 16 .b8 tile[9000];\n"                                             \
    "ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; ld.param.u32 %n, [n];\n"             \
    "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %t, %tid.x;\n"              \
    "mad.lo.s32 %t, %r0, %r1, %t; mul.wide.s32 %d0, %t, 16; add.s64 %a, %p, %d0;\n"   \
    "add.s64 %b, %q, %d0; and.b32 %r2, %t, 1; setp.eq.s32 %c0, %r2, 0;\n"

enum { BYTES = 20000 };
static unsigned char data[BYTES];

static inline struct oracle_case make_case(const char *ptx, uint32_t blocks, uint32_t threads,
                                           uint32_t n)
{
    const struct oracle_case test = oracle_case_of(ptx, blocks, threads, n, data, NULL, BYTES);
    for (unsigned i = 0; i < BYTES; i++)
        data[i] = (unsigned char)i;
    return test;
}

static inline void assert_case_exact(struct oracle_case *test, const char *name)
{
    struct oracle_level levels[12];
    unsigned count = 0;
    snprintf(test->name, sizeof(test->name), "%.*s", (int)sizeof(test->name) - 1, name);
    for (unsigned f = 0; f < 4; f++) {
        for (unsigned w = 0; w < 3; w++)
            levels[count++] = (struct oracle_level){.facts = oracle_facts[f] | INSTRUMENT_VALUES,
                                                    .shift = 2 + f % 3,
                                                    .workers = 1,
                                                    .watch = (enum oracle_watch)w,
                                                    .gpu = w ? 90 : 0,
                                                    .parts = w};
    }
    assert_true(oracle_holds(test, levels, count, stderr));
}

static inline void assert_exact(const char *name, const char *ptx, uint32_t blocks,
                                uint32_t threads, uint32_t n)
{
    struct oracle_case test = make_case(ptx, blocks, threads, n);
    assert_case_exact(&test, name);
}

#define EXACT(blocks, threads, n, body) \
    assert_exact(__func__, START body "ret; }\n", (blocks), (threads), (n))

#endif
