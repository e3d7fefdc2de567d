// SPDX-License-Identifier: Apache-2.0
// Where an address can lie, seen from a root: at a constant offset modulo a step. p0 + 16*tid.x +
// 64*i0 + 4 lies at 4 modulo 16. The analysis begins with affine forms and goes on where they end:
// through selections, joins, masks and loops whose step is not the same in all iterations.
#ifndef GLINT_PTX_GRID_H
#define GLINT_PTX_GRID_H

#include "facts.h"

struct ptx_grid {
    uint64_t constant; // below step, unless step is 0
    uint64_t step;     // bytes; 0: the address is exactly root + constant; 1: nothing is known
    uint64_t still;    // the step without loop counters: that of one iteration of all loops
    bool lost;         // the address does not come from the root in a way that is understood
};

// Returns the grid of the address [operand] of an instruction, from that root.
struct ptx_grid ptx_address_grid(const struct ptx_facts *facts, const struct ptx_instr *instr,
                                 const struct ptx_operand *address, const struct ptx_root *root);

// Returns the grid as far as it also follows from an alignment to that power of two, of the address
// and of the root.
struct ptx_grid ptx_grid_aligned(struct ptx_grid grid, uint32_t bytes);

// Returns the greatest common divisor; that of 0 and n is n.
uint64_t ptx_gcd(uint64_t a, uint64_t b);

#endif
