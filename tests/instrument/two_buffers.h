// SPDX-License-Identifier: Apache-2.0
// The text of kernels with two buffers and a number as parameters. %t is the thread's number in the
// block, %b the block's in the grid.
#ifndef GLINT_TESTS_INSTRUMENT_TWO_BUFFERS_H
#define GLINT_TESTS_INSTRUMENT_TWO_BUFFERS_H

#define ENTRY ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 n) {\n"
#define REGISTERS                                                                 \
    ".reg .b32 %t, %b, %n, %r<20>; .reg .b64 %p, %q, %d<20>; .reg .pred %c<8>;\n" \
    ".reg .b16 %h<4>;\n"
#define START                                                                                 \
    "ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; ld.param.u32 %n, [n];\n"                     \
    "mov.u32 %t, %tid.y; mov.u32 %r0, %ntid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %t, %t, %r0, " \
    "%r1;\n"                                                                                  \
    "mov.u32 %b, %ctaid.z; mov.u32 %r0, %nctaid.y; mov.u32 %r1, %ctaid.y;\n"                  \
    "mad.lo.u32 %b, %b, %r0, %r1; mov.u32 %r0, %nctaid.x; mov.u32 %r1, %ctaid.x;\n"           \
    "mad.lo.u32 %b, %b, %r0, %r1;\n"

#endif
