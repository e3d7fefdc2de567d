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
