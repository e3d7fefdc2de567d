// SPDX-License-Identifier: Apache-2.0
// Declarations that the files of matrix instructions (ops_matrix*.c) share.
#ifndef GLINT_GPUSIM_MACHINE_OPS_MATRIX_H
#define GLINT_GPUSIM_MACHINE_OPS_MATRIX_H

#include "decode.h"

// Returns the slots of the registers in { }, or of a single register, in the decoder's arena.
// Refuses other operands. Targets may be sinks.
const slot *sim_matrix_registers(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                 const struct ptx_operand *operand, bool is_target,
                                 unsigned *count);

// Returns whether each register of the operand has lanes of `lane_bytes` bytes (NARROW or WIDE).
bool sim_matrix_fits(const struct ptx_operand *operand, unsigned lane_bytes);

// Implements sim_choose_matrix for ldmatrix, stmatrix and movmatrix. The caller has set op->space.
bool sim_matrix_choose_rows(struct sim_decoder *decoder, const struct ptx_instr *instr,
                            struct sim_uop *op);

// Returns whether the form is mma.m8n8k4 with f16 factors; sim_matrix_choose_quads() implements
// sim_choose_matrix for it.
bool sim_matrix_is_quads(const struct ptx_form *form);
bool sim_matrix_choose_quads(struct sim_decoder *decoder, const struct ptx_instr *instr,
                             struct sim_uop *op);

// Implements sim_choose_matrix for the products of warpgroups, wgmma.
bool sim_matrix_choose_group(struct sim_decoder *decoder, const struct ptx_instr *instr,
                             struct sim_uop *op);

#endif
