// SPDX-License-Identifier: Apache-2.0
// Provenance of addresses: from what an address is computed (a parameter, a variable, an earlier
// load, a call) and into which state space it points. The analysis follows definitions through
// additions, conversions and selections.
#ifndef GLINT_PTX_PROVENANCE_H
#define GLINT_PTX_PROVENANCE_H

#include "ssa.h"

enum ptx_root_kind {
    PTX_ROOT_PARAM, // a parameter of the function, at a byte offset
    PTX_ROOT_VAR,   // a variable's address
    PTX_ROOT_LOAD,  // loaded from memory by an instruction
    PTX_ROOT_CALL,  // the result of a call
    PTX_ROOT_OTHER, // computed in a way that the analysis does not follow
};

struct ptx_root {
    uint8_t kind;    // enum ptx_root_kind
    uint32_t index;  // of the parameter
    uint32_t offset; // in the parameter, in bytes
    const struct ptx_var *var;
    const struct ptx_instr *instr; // the load or call
};

enum { PTX_ORIGIN_ROOTS = 4 };
enum { PTX_UNKNOWN_SPACE = 1 }; // in `spaces`

struct ptx_origin {
    struct ptx_root roots[PTX_ORIGIN_ROOTS];
    uint8_t count;   // 0: a number, not an address
    bool many;       // there are more roots than PTX_ORIGIN_ROOTS
    bool is_pointer; // certainly: it passed through cvta, or is the address of a variable
    bool computed;   // it may also be a number, from which code may compute any address
    bool is_remote;  // it passed through mapa: it may point to another block of the cluster
    uint16_t spaces; // set of 1 << enum ptx_space that it may point into; bit 0: unknown
};

struct ptx_provenance {
    const struct ptx_ssa *ssa;
    struct ptx_origin *origins;     // by value
    bool *param_is_pointer;         // by parameter
    const struct ptx_instr **calls; // by instruction: the call whose result it loads, or NULL
};

// Computes the origins of all values. Jumps to arena->escape if memory runs out.
struct ptx_provenance *ptx_provenance_build(const struct ptx_ssa *ssa, struct base_arena *arena);

// Returns the origin of an operand: of a register's value, a variable, or the base of an address.
struct ptx_origin ptx_operand_origin(const struct ptx_provenance *provenance,
                                     const struct ptx_instr *instr,
                                     const struct ptx_operand *operand);

// Returns the root if there is exactly one, else NULL.
const struct ptx_root *ptx_origin_only(const struct ptx_origin *origin);

bool ptx_same_root(const struct ptx_root *a, const struct ptx_root *b);

// Returns the space into which a generic address points, or PTX_SPACE_GENERIC if that is unknown.
enum ptx_space ptx_origin_space(const struct ptx_origin *origin);

#endif
