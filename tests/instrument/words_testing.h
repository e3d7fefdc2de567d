// SPDX-License-Identifier: Apache-2.0
// Kernels with shared memory, for tests of what happens to its words.
#ifndef GLINT_TESTS_INSTRUMENT_WORDS_TESTING_H
#define GLINT_TESTS_INSTRUMENT_WORDS_TESTING_H

#include "words_run.h"

// Two buffers of 4096 bytes and a number. %t is the thread's number in the block.
#define HEAD  ".version 8.0\n.target sm_90\n.address_size 64\n"
#define ENTRY ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n"
#define REGISTERS                                                             \
    ".reg .b32 %t, %n, %r<20>; .reg .b64 %p, %q, %d<20>; .reg .pred %c<8>;\n" \
    ".reg .b16 %h<4>;\n"
#define START                                                             \
    "ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; ld.param.u32 %n, [n];\n" \
    "mov.u32 %t, %tid.y; mov.u32 %r0, %ntid.x; mov.u32 %r1, %tid.x;\n"    \
    "mad.lo.u32 %t, %t, %r0, %r1; mov.u32 %r19, tile;\n"
#define TILE         ".shared .align 16 .b8 tile[4096];\n"
#define KERNEL(body) HEAD ENTRY REGISTERS TILE START body "ret; }\n"

enum { BYTES = 4096, DYNAMIC = 1000 };

#endif
