// SPDX-License-Identifier: Apache-2.0
// Edits of a module: instructions as text, put where they belong; new registers, parameters and
// variables. Analyses made before an edit are stale after it, except that statements stay where
// they are in memory.
#ifndef GLINT_PTX_EDIT_H
#define GLINT_PTX_EDIT_H

#include "cfg.h"
#include "ir.h"

// Parses statements and puts them before a statement of the function (NULL: at the end of the
// body). The text may open scopes of its own, { .reg ...; ... }, for registers and labels that are
// its own; it may name variables and functions of the module; registers of the function are passed
// as arguments and written #0, #1, ... A failed edit leaves the function unchanged.
enum base_code ptx_insert_text(struct ptx_function *function, struct ptx_stmt *before,
                               const char *text, const struct ptx_operand *arguments,
                               unsigned argument_count, struct base_error *error);

// The statement before which something must be inserted so that it runs just before the
// instruction: pragmas that belong to the instruction stay with it.
struct ptx_stmt *ptx_place_before(struct ptx_instr *instr);
// The same for just behind it.
struct ptx_stmt *ptx_place_after(struct ptx_instr *instr);
// Where the function's own code starts, behind its declarations.
struct ptx_stmt *ptx_place_entry(struct ptx_function *function);

// Puts text where it runs once each time the loop is entered, before its header: at the end of the
// preheader, or, where there is none, in a new block into which the entering branches are led.
// The cfg is stale afterwards.
enum base_code ptx_insert_preheader(struct ptx_cfg *cfg, uint32_t loop, const char *text,
                                    const struct ptx_operand *arguments, unsigned argument_count,
                                    struct base_error *error);

// Puts text on every edge that leaves the loop, so that it runs once for each time a thread leaves.
enum base_code ptx_insert_exits(struct ptx_cfg *cfg, uint32_t loop, const char *text,
                                const struct ptx_operand *arguments, unsigned argument_count,
                                struct base_error *error);

// A new register with a name that nothing in the module has; NULL when memory ran out.
struct ptx_reg *ptx_add_reg(struct ptx_function *function, enum ptx_type type, const char *prefix);

// A new parameter behind the others; NULL when memory ran out.
struct ptx_var *ptx_add_param(struct ptx_function *function, enum ptx_type type, const char *name);

// A new variable of the module, before its first function: the text of its declaration, such as
// ".global .align 8 .b8 name[64];". The name must be new.
enum base_code ptx_add_var(struct ptx_module *module, const char *text, struct base_error *error);

// An operand that is a register, for arguments.
static inline struct ptx_operand ptx_operand_of(struct ptx_reg *reg)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_REG, .reg = reg};
}

#endif
