// SPDX-License-Identifier: Apache-2.0
// What textures and surfaces share: the object behind a handle, and the place that an instruction
// names. Internal.
#ifndef GLINT_GPUSIM_MACHINE_OPS_TEXTURE_H
#define GLINT_GPUSIM_MACHINE_OPS_TEXTURE_H

#include "ops.h"

// Which part of [handle, {coordinates}] is what.
struct sim_texture_place {
    slot at[4]; // coordinates; of a layered one the layer comes first
    uint8_t count;
    bool layered;
};

// The object behind a lane's handle in op->a; NULL where it is none, or its memory is gone: the
// launch has failed then.
const struct sim_texture *sim_texture_of(struct sim_warp *warp, const struct sim_uop *op, int lane,
                                         bool surface);

// Decodes such an operand: the handle to op->a.
bool sim_texture_decode_place(struct sim_decoder *decoder, const struct ptx_instr *instr,
                              const struct ptx_operand *operand, struct sim_uop *op,
                              struct sim_texture_place *place);

// txq and suq, the latter for surfaces.
bool sim_choose_texture_query(struct sim_decoder *decoder, const struct ptx_instr *instr,
                              struct sim_uop *op);

#endif
