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

// What a type is based on, from weak to strong.
enum ptx_type_basis {
    PTX_BASIS_NONE,    // nothing: it is the type as written
    PTX_BASIS_BITS,    // logic and comparisons for equality, which take any type
    PTX_BASIS_INTEGER, // arithmetic that is the same for signed and unsigned integers
    PTX_BASIS_STATED,  // an instruction that depends on the whole type
};

// What an access moves: `count` values of a type, counting the elements of vectors.
struct ptx_access_type {
    uint8_t type; // enum ptx_type
    uint8_t count;
    bool is_pointer; // the values are used as addresses
    bool is_sure;    // the instruction or a use states it; else it is the type as written
    uint8_t basis;   // enum ptx_type_basis
};

// Builds the tables. Jumps to arena->escape if memory runs out.
struct ptx_usage *ptx_usage_build(const struct ptx_ssa *ssa, struct base_arena *arena);

// Returns the access type of a load, store, atomic or other instruction with a data operand.
struct ptx_access_type ptx_access_type(const struct ptx_usage *usage,
                                       const struct ptx_instr *instr);

// Returns the same for one element of a vector access, whose elements may have different types;
// element 0 of a scalar access is the access. If `unused` is not NULL, *unused says that the
// element is loaded and that nothing uses it.
struct ptx_access_type ptx_element_type(const struct ptx_usage *usage,
                                        const struct ptx_instr *instr, unsigned element,
                                        bool *unused);

#endif
