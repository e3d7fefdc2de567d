// SPDX-License-Identifier: Apache-2.0
// Definitions and uses: every value that a register holds, one for each place that sets it, in
// static single assignment form kept beside the IR (the text is not renamed). From a value to its
// definition and its uses, and from an operand to its value. Values are numbered in reverse
// post-order of their blocks, the phis of a block first; there is a phi only where somebody reads
// it.
#ifndef GLINT_PTX_SSA_H
#define GLINT_PTX_SSA_H

#include "cfg.h"

#define PTX_NO_VALUE UINT32_MAX

enum ptx_value_kind {
    PTX_VALUE_ENTRY, // what the register holds when the function starts: a parameter, or nothing
    PTX_VALUE_DEF,   // set by an instruction
    PTX_VALUE_PHI,   // one of several, by the way control came
};

struct ptx_value {
    uint8_t kind; // enum ptx_value_kind
    struct ptx_reg *reg;
    struct ptx_instr *instr;           // of a definition
    const struct ptx_operand *operand; // the operand that is set
    uint32_t block;
    uint32_t previous;   // where the definition is guarded or sets a component: the value before it
    uint32_t *arguments; // of a phi, in the order of its block's preds
    uint32_t use_count;
    struct ptx_use {
        struct ptx_instr *instr;           // NULL: a phi uses it
        const struct ptx_operand *operand; // NULL: as guard
        uint32_t phi;
    } * uses;
};

// One register operand of an instruction and the value it reads or sets.
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

// What an instruction does with one of its operands.
enum ptx_role { PTX_ROLE_USE, PTX_ROLE_DEF, PTX_ROLE_BOTH };
enum ptx_role ptx_operand_role(const struct ptx_instr *instr, uint8_t operand);

struct ptx_ssa *ptx_ssa_build(const struct ptx_cfg *cfg, struct base_arena *arena);

// The value that a register operand of the instruction reads (or, for a definition, sets);
// PTX_NO_VALUE where the code is unreachable or the operand is no register. NULL asks for the
// guard.
uint32_t ptx_ssa_value(const struct ptx_ssa *ssa, const struct ptx_instr *instr,
                       const struct ptx_operand *operand);

// The value behind moves: follows unguarded mov of one register to its source.
uint32_t ptx_ssa_origin(const struct ptx_ssa *ssa, uint32_t value);

#endif
