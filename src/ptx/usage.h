// SPDX-License-Identifier: Apache-2.0
// Access types: as which type the values that a load or store moves are used. PTX often states only
// .b32 or .u64 there. Following definitions and uses in both directions, through copies, leads to
// instructions that state the type (ValueExpert, section 5.1).
#ifndef GLINT_PTX_USAGE_H
#define GLINT_PTX_USAGE_H

#include "ssa.h"

struct ptx_usage {
    const struct ptx_ssa *ssa;
    uint32_t *leader;              // by value: the representative of all values connected by copies
    struct ptx_evidence *evidence; // by representative
};

// What an access moves: `count` values of a type, counting the elements of vectors.
struct ptx_access_type {
    uint8_t type; // enum ptx_type
    uint8_t count;
    bool is_pointer; // the values are used as addresses
    bool is_sure;    // the instruction or a use states it; else it is the type as written
};

// Builds the tables. Jumps to arena->escape if memory runs out.
struct ptx_usage *ptx_usage_build(const struct ptx_ssa *ssa, struct base_arena *arena);

// Returns the access type of a load, store, atomic or other instruction with a data operand.
struct ptx_access_type ptx_access_type(const struct ptx_usage *usage,
                                       const struct ptx_instr *instr);

#endif
