// SPDX-License-Identifier: Apache-2.0
// Definitions and uses in static single assignment form, kept beside the IR: registers are not
// renamed. A value is what one definition, or a phi, gives a register. The tables lead from a value
// to its definition and its uses, and from an operand to its value. Values are numbered in reverse
// post-order of their blocks, the phis of a block first. Phis that nothing reads are left out.
#ifndef GLINT_PTX_SSA_H
#define GLINT_PTX_SSA_H

#include "cfg.h"

#define PTX_NO_VALUE UINT32_MAX

enum ptx_value_kind {
    PTX_VALUE_ENTRY, // the value at function entry: a parameter, or undefined
    PTX_VALUE_DEF,   // set by an instruction
    PTX_VALUE_PHI,   // one of its arguments, depending on the edge taken
};

struct ptx_value {
    uint8_t kind; // enum ptx_value_kind
    struct ptx_reg *reg;
    struct ptx_instr *instr;           // of a definition
    const struct ptx_operand *operand; // the operand that it sets
    uint32_t block;
    uint32_t previous;   // the value before it, if the definition is guarded or sets one component
    uint32_t *arguments; // of a phi, in the order of its block's preds
    uint32_t use_count;
    struct ptx_use {
        struct ptx_instr *instr;           // NULL: a phi uses it
        const struct ptx_operand *operand; // NULL: used as guard
        uint32_t phi;
    } * uses;
};

// A register operand of an instruction and the value that it reads or sets.
struct ptx_ref {
    const struct ptx_operand *operand; // NULL: the guard
    uint32_t value;
    bool is_def;
    bool is_address; // inside [ ]
};

struct ptx_ssa {
    const struct ptx_cfg *cfg;
    struct ptx_value *values;
    uint32_t value_count;
    struct ptx_ref *refs;
    uint32_t *ref_start; // by instruction index; one more at the end
    uint32_t **phis;     // by block: its phi values, ended by PTX_NO_VALUE; NULL: none
};

// What an instruction does with an operand.
enum ptx_role { PTX_ROLE_USE, PTX_ROLE_DEF, PTX_ROLE_BOTH };
enum ptx_role ptx_operand_role(const struct ptx_instr *instr, uint8_t operand);

// Builds the tables. Jumps to arena->escape if memory runs out.
struct ptx_ssa *ptx_ssa_build(const struct ptx_cfg *cfg, struct base_arena *arena);

// Returns the value that a register operand of the instruction reads or, for a definition, sets;
// PTX_NO_VALUE if the code is unreachable or the operand is not a register. operand NULL: the
// guard.
uint32_t ptx_ssa_value(const struct ptx_ssa *ssa, const struct ptx_instr *instr,
                       const struct ptx_operand *operand);

// Follows unguarded moves between registers and returns the value at their origin.
uint32_t ptx_ssa_origin(const struct ptx_ssa *ssa, uint32_t value);

#endif
