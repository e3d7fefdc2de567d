// SPDX-License-Identifier: Apache-2.0
// Implements the video instructions of PTX: arithmetic on selected and extended parts of registers,
// with saturation, merging and a secondary operation. They are scalar (vadd ... vset) or work on 2
// or 4 lanes (vadd2, vadd4 ...). Internal to src/gpusim.
#ifndef GLINT_GPUSIM_NUMBERS_VIDEO_H
#define GLINT_GPUSIM_NUMBERS_VIDEO_H

#include "numbers.h"

enum num_video_op {
    NUM_VADD,
    NUM_VSUB,
    NUM_VABSDIFF,
    NUM_VMIN,
    NUM_VMAX,
    NUM_VAVRG, // lanes only
    NUM_VSHL,  // NUM_VSHL and NUM_VSHR: scalar only
    NUM_VSHR,
    NUM_VSET, // 1 or 0
};

// The part of a register that an operand selects: all of it, a byte, or a half.
enum num_part {
    NUM_PART_ALL,
    NUM_PART_B0,
    NUM_PART_B1,
    NUM_PART_B2,
    NUM_PART_B3,
    NUM_PART_H0,
    NUM_PART_H1,
};

enum num_video_second {
    NUM_SECOND_NONE,
    NUM_SECOND_ADD, // adds c to the result, or to the sum of all lanes
    NUM_SECOND_MIN,
    NUM_SECOND_MAX,
};

struct num_video {
    uint8_t op;  // enum num_video_op
    uint8_t cmp; // enum num_cmp, for NUM_VSET
    bool d_signed, a_signed, b_signed;
    bool saturate;
    bool wrap;        // shifts: the count is taken modulo 32; otherwise it is clamped to 32
    uint8_t second;   // enum num_video_second
    uint8_t d, a, b;  // enum num_part; unless d is ALL, the rest of the result comes from c
    uint8_t lanes;    // 2 or 4
    uint8_t mask;     // the lanes to write; the others come from c
    uint16_t a_lanes; // one nibble per lane, lowest first: 0x10 for .h10, 0x3210 for .b3210
    uint16_t b_lanes; // numbers from `lanes` on select lanes of b: 0x32 is .h10 of b
};

// The scalar instructions. They use the fields up to d, a, b.
uint32_t num_video_scalar(const struct num_video *form, uint32_t a, uint32_t b, uint32_t c);

// vadd2, vadd4 and so on. The only secondary operation is NUM_SECOND_ADD.
uint32_t num_video_lanes(const struct num_video *form, uint32_t a, uint32_t b, uint32_t c);

// vmad. `scale` is 0, 7 or 15. `negate_product` is set if exactly one factor is negated. `plus_one`
// (.po) excludes both negations.
struct num_vmad {
    bool a_signed, b_signed;
    uint8_t a, b; // enum num_part
    bool saturate;
    uint8_t scale;
    bool negate_product, negate_c, plus_one;
};
uint32_t num_vmad(const struct num_vmad *form, uint32_t a, uint32_t b, uint32_t c);

#endif
