// SPDX-License-Identifier: Apache-2.0
// Declarations that textures and surfaces share: the object of a handle, and the coordinates that
// an instruction specifies.
#ifndef GLINT_GPUSIM_MACHINE_OPS_TEXTURE_H
#define GLINT_GPUSIM_MACHINE_OPS_TEXTURE_H

#include "ops.h"

// The coordinates of an operand [handle, {coordinates}].
struct sim_texture_place {
    slot at[4]; // if layered, the layer comes first
    uint8_t count;
    bool layered;
};

// The operands of an instruction besides the handle.
struct sim_sampling {
    struct sim_texture_place place;
    slot to[4];
    slot resident;    // a predicate, or NO_SLOT
    slot level;       // or NO_SLOT
    slot slope[2][3]; // gradients of the coordinates, along x and along y
    slot offset[3];
    uint32_t offset_sign; // value of an offset's sign bit; 0: there are no offsets
    bool has_slope;
    bool whole; // coordinates are integers
    bool packs; // results are pairs of f16
    uint8_t component;
};

// Applies the address mode to a coordinate outside the texture. Returns false for the border.
bool sim_texture_address(int64_t *at, uint32_t size, enum sim_address_mode mode);

// The hardware stores weights of linear filters in 9 bits, 8 of them for the fraction.
static inline float sim_texture_weight(float fraction)
{
    return __builtin_floorf(fraction * 256.0f + 0.5f) / 256.0f;
}

// Samples for all lanes together (ops_texture_rows.c). Returns false, without an effect, unless
// the texture and the instruction are of the most frequent kinds and all lanes have this texture.
bool sim_texture_rows(struct sim_warp *warp, const struct sim_uop *op,
                      const struct sim_texture *texture);

// Returns the object of a lane's handle in op->a. NULL if the handle is not a live texture or
// surface, or its memory was freed: the launch has failed.
const struct sim_texture *sim_texture_of(struct sim_warp *warp, const struct sim_uop *op, int lane,
                                         bool surface);

// Decodes an operand [handle, {coordinates}] into op->a and *place. Returns false for other
// operands.
bool sim_texture_decode_place(struct sim_decoder *decoder, const struct ptx_instr *instr,
                              const struct ptx_operand *operand, struct sim_uop *op,
                              struct sim_texture_place *place);

// Implements sim_choose_texture for txq and suq.
bool sim_choose_texture_query(struct sim_decoder *decoder, const struct ptx_instr *instr,
                              struct sim_uop *op);

#endif
