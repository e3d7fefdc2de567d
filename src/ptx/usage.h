// SPDX-License-Identifier: Apache-2.0
// Access types: what the values that a load or store moves are used as. PTX often says only .b32 or
// .u64 there; slicing both ways along definitions and uses, through copies, finds the instructions
// that do say (ValueExpert, section 5.1).
#ifndef GLINT_PTX_USAGE_H
#define GLINT_PTX_USAGE_H

#include "ssa.h"

struct ptx_usage {
    const struct ptx_ssa *ssa;
    uint32_t *leader; // by value: the representative of the values it is copied to or from
    struct ptx_evidence *evidence; // by representative
};

// What an access moves: count values of a type, the vector's elements included.
struct ptx_access_type {
    uint8_t type; // enum ptx_type
    uint8_t count;
    bool is_pointer; // the values are used as addresses
    bool is_sure;    // the instruction or some use says so; else it is the type as written
};

struct ptx_usage *ptx_usage_build(const struct ptx_ssa *ssa, struct base_arena *arena);

// The access type of a load, store, atomic or other instruction with a data operand.
struct ptx_access_type ptx_access_type(const struct ptx_usage *usage,
                                       const struct ptx_instr *instr);

#endif
