// SPDX-License-Identifier: Apache-2.0
// Edits of a module: inserts instructions, given as text, and adds registers, parameters and
// variables. An edit invalidates earlier analyses of the function, but statements keep their
// addresses.
#ifndef GLINT_PTX_EDIT_H
#define GLINT_PTX_EDIT_H

#include "ir.h"

// Parses statements and inserts them before a statement of the function (NULL: at the end of the
// body). The text may open scopes, { .reg ...; ... }, for its own registers and labels, and may
// name variables and functions of the module. Registers of the function are passed as arguments and
// written #0, #1, ... A failed edit leaves the function unchanged.
enum base_code ptx_insert_text(struct ptx_function *function, struct ptx_stmt *before,
                               const char *text, const struct ptx_operand *arguments,
                               unsigned argument_count, struct base_error *error);

// Returns the statement before which code must be inserted so that it runs immediately before the
// instruction: pragmas that belong to the instruction stay with it.
struct ptx_stmt *ptx_place_before(struct ptx_instr *instr);
// Returns the same for code that runs immediately after the instruction.
struct ptx_stmt *ptx_place_after(struct ptx_instr *instr);
// Returns the first statement of the function behind its declarations.
struct ptx_stmt *ptx_place_entry(struct ptx_function *function);

// Adds a register with a name that the module does not have yet; returns NULL if memory runs out.
struct ptx_reg *ptx_add_reg(struct ptx_function *function, enum ptx_type type, const char *prefix);

// Adds a parameter behind the others; returns NULL if memory runs out.
struct ptx_var *ptx_add_param(struct ptx_function *function, enum ptx_type type, const char *name);

// Adds a variable to the module, before its first function. `text` is its declaration, such as
// ".global .align 8 .b8 name[64];". The module must not have the name yet.
enum base_code ptx_add_var(struct ptx_module *module, const char *text, struct base_error *error);

// Returns a name in the module's memory that begins with the prefix and that the module does not
// have yet; NULL if memory runs out.
const char *ptx_fresh_name(struct ptx_module *module, const char *prefix);

// Returns a register operand, for use as an argument.
static inline struct ptx_operand ptx_operand_of(struct ptx_reg *reg)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_REG, .reg = reg};
}

#endif
