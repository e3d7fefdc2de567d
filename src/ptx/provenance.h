// SPDX-License-Identifier: Apache-2.0
// Provenance: where an address comes from (a parameter, a variable, an earlier load, a call) and
// which state space it points into, by following definitions through additions, conversions and
// choices.
#ifndef GLINT_PTX_PROVENANCE_H
#define GLINT_PTX_PROVENANCE_H

#include "ssa.h"

enum ptx_root_kind {
    PTX_ROOT_PARAM, // a parameter of the function, at a byte offset
    PTX_ROOT_VAR,   // a variable's address
    PTX_ROOT_LOAD,  // read from memory by an instruction
    PTX_ROOT_CALL,  // the result of a call
    PTX_ROOT_OTHER, // computed in a way that is not followed
};

struct ptx_root {
    uint8_t kind;    // enum ptx_root_kind
    uint32_t index;  // of the parameter
    uint32_t offset; // in it
    const struct ptx_var *var;
    const struct ptx_instr *instr; // the load or call
};

enum { PTX_ORIGIN_ROOTS = 4 };

struct ptx_origin {
    struct ptx_root roots[PTX_ORIGIN_ROOTS];
    uint8_t count;   // 0: a number, not an address
    bool many;       // more than there is room for
    bool is_pointer; // surely used as one: it passed cvta, or names a variable
    uint16_t spaces; // bits 1 << enum ptx_space that it may point into; bit 0: unknown
};

struct ptx_provenance {
    const struct ptx_ssa *ssa;
    struct ptx_origin *origins;     // by value
    bool *param_is_pointer;         // by parameter
    const struct ptx_instr **calls; // by instruction: the call whose result it reads, or NULL
};

struct ptx_provenance *ptx_provenance_build(const struct ptx_ssa *ssa, struct base_arena *arena);

// The origin of an operand: a register's value, a variable, or the base of an address.
struct ptx_origin ptx_operand_origin(const struct ptx_provenance *provenance,
                                     const struct ptx_instr *instr,
                                     const struct ptx_operand *operand);

// The one root that it surely has, or NULL.
const struct ptx_root *ptx_origin_only(const struct ptx_origin *origin);

// The one space that a generic address points into, or PTX_SPACE_GENERIC where it is not known.
enum ptx_space ptx_origin_space(const struct ptx_origin *origin);

#endif
