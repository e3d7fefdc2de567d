// SPDX-License-Identifier: Apache-2.0
// The families of instructions: one function each, defined in ops_NAME.c, chooses the handler for
// an instruction while code is decoded.
#ifndef GLINT_GPUSIM_MACHINE_FAMILIES_H
#define GLINT_GPUSIM_MACHINE_FAMILIES_H

#include "decode.h"

// Each fills *op for the instructions of its family and returns true, or returns false for others.
// Instructions of the family that the machine cannot execute are refused (sim_decode_refuse).
bool sim_choose_integer(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op);
bool sim_choose_float(struct sim_decoder *decoder, const struct ptx_instr *instr,
                      struct sim_uop *op);
bool sim_choose_half(struct sim_decoder *decoder, const struct ptx_instr *instr,
                     struct sim_uop *op);
bool sim_choose_convert(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op);
bool sim_choose_compare(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op);
bool sim_choose_move(struct sim_decoder *decoder, const struct ptx_instr *instr,
                     struct sim_uop *op);
bool sim_choose_memory(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       struct sim_uop *op);
bool sim_choose_atomic(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       struct sim_uop *op);
bool sim_choose_warp(struct sim_decoder *decoder, const struct ptx_instr *instr,
                     struct sim_uop *op);
bool sim_choose_texture(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op);
bool sim_choose_surface(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op);
bool sim_choose_matrix(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       struct sim_uop *op);
bool sim_choose_async(struct sim_decoder *decoder, const struct ptx_instr *instr,
                      struct sim_uop *op);
bool sim_choose_tensor(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       struct sim_uop *op);
bool sim_choose_stack(struct sim_decoder *decoder, const struct ptx_instr *instr,
                      struct sim_uop *op);
bool sim_choose_video(struct sim_decoder *decoder, const struct ptx_instr *instr,
                      struct sim_uop *op);
bool sim_choose_control(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op);
bool sim_choose_remote(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       struct sim_uop *op);
bool sim_choose_cluster(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op);
bool sim_choose_wide(struct sim_decoder *decoder, const struct ptx_instr *instr,
                     struct sim_uop *op);

// The same for a sum that is computed together with its product.
bool sim_choose_integer_contracted(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                   const struct sim_contraction *contraction, struct sim_uop *op);
bool sim_choose_float_contracted(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                 const struct sim_contraction *contraction, struct sim_uop *op);
bool sim_choose_half_contracted(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                const struct sim_contraction *contraction, struct sim_uop *op);

#endif
