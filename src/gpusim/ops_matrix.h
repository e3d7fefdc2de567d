// SPDX-License-Identifier: Apache-2.0
// What the two files of matrix instructions share. Internal.
#ifndef GLINT_GPUSIM_OPS_MATRIX_H
#define GLINT_GPUSIM_OPS_MATRIX_H

#include "decode.h"

// The slots of the registers in { }, or of a single one, in the decoder's arena; refuses anything
// else. Targets may be sinks.
const slot *matrix_registers(struct decoder *decoder, const struct ptx_instr *instr,
                             const struct ptx_operand *operand, bool is_target, unsigned *count);

// choose_matrix for ldmatrix, stmatrix and movmatrix; op->space is set.
bool matrix_choose_rows(struct decoder *decoder, const struct ptx_instr *instr, struct uop *op);

#endif
