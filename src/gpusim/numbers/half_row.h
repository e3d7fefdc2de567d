// SPDX-License-Identifier: Apache-2.0
// Implements the arithmetic of f16 for the lanes of a warp at once, with the vector instructions of
// x86_64 processors that have F16C and AVX2. The results are those of half.h without flags.
#ifndef GLINT_GPUSIM_NUMBERS_HALF_ROW_H
#define GLINT_GPUSIM_NUMBERS_HALF_ROW_H

#include <stdint.h>

enum num_half_op { NUM_HALF_ADD, NUM_HALF_SUB, NUM_HALF_MUL, NUM_HALF_FMA };

#ifdef __x86_64__
enum { NUM_HALF_ROW = 32 }; // pairs

// Computes both halves of each pair. Flips the signs that are set in flip_a in each element of a,
// and those in flip_c in c; c is read for NUM_HALF_FMA only. `out` may be one of the operands. The
// processor must have F16C and AVX2.
void num_half_row(enum num_half_op op, uint32_t *out, const uint32_t *a, const uint32_t *b,
                  const uint32_t *c, uint32_t flip_a, uint32_t flip_c);
#endif

#endif
