// SPDX-License-Identifier: Apache-2.0
// The names of a module: every identifier and opcode spelling once, and what it stands for in the
// scopes that are open. Internal to src/ptx.
#ifndef GLINT_PTX_NAMES_H
#define GLINT_PTX_NAMES_H

#include "ir.h"

enum ptx_binding_kind {
    PTX_BOUND_REG,
    PTX_BOUND_VAR,
    PTX_BOUND_FUNCTION,
    PTX_BOUND_LABEL,
};

// What a name stands for in one scope. The newest binding is the innermost.
struct ptx_binding {
    struct ptx_binding *hidden; // what it hides: the same name further out
    struct ptx_binding *next_in_scope;
    struct ptx_name *name;
    const struct ptx_scope *scope; // NULL: the module
    uint8_t kind;                  // enum ptx_binding_kind
    union {
        struct ptx_reg *reg;
        struct ptx_var *var;
        struct ptx_function *function;
        struct ptx_label *label;
    };
};

// A declaration such as %r<100>, bound to the name %r.
struct ptx_family {
    struct ptx_family *hidden;
    struct ptx_family *next_in_scope;
    struct ptx_name *name;
    const struct ptx_scope *scope;
    uint64_t count;
    uint8_t type, vec;
};

struct ptx_name {
    const char *text;
    uint32_t length;
    uint32_t hash;
    struct ptx_name *next;   // in the same bucket
    struct ptx_name *prefix; // %r of %r12; NULL where it has no number
    uint64_t number;
    struct ptx_binding *bound;
    struct ptx_family *families;
    struct ptx_pending *pending; // the parser's: uses that wait for a label, the newest first
    const struct ptx_form *form; // of an opcode's spelling
    bool split;                  // prefix and number are worked out
    bool sreg_known;
    uint8_t sreg; // enum ptx_sreg
    uint16_t sreg_number;
};

struct ptx_names {
    struct base_arena *arena;
    struct ptx_name **buckets;
    size_t bucket_count; // a power of two
    size_t count;
};

// The bindings of one open scope, to be undone when it closes.
struct ptx_scope_bindings {
    struct ptx_binding *bindings;
    struct ptx_family *families;
};

// All allocate from the arena and never return NULL: memory that runs out leaves by arena->escape.
struct ptx_names *ptx_names_create(struct base_arena *arena);
struct ptx_name *ptx_name_intern(struct ptx_names *names, const char *text, size_t length);

// The form of an opcode's spelling; NULL where it is malformed.
const struct ptx_form *ptx_name_form(struct ptx_names *names, struct ptx_name *name);

// Binds name in scope and returns the binding, to be filled; NULL where the scope has it already.
struct ptx_binding *ptx_name_bind(struct ptx_names *names, struct ptx_name *name,
                                  const struct ptx_scope *scope, enum ptx_binding_kind kind,
                                  struct ptx_scope_bindings *undo);

// The same for a family of registers.
struct ptx_family *ptx_name_bind_family(struct ptx_names *names, struct ptx_name *name,
                                        const struct ptx_scope *scope,
                                        struct ptx_scope_bindings *undo);

// The innermost family that has the name as a member and lies further in than the name's own
// binding, or NULL.
struct ptx_family *ptx_name_family(struct ptx_names *names, struct ptx_name *name);

void ptx_names_unbind(struct ptx_scope_bindings *undo);

// Which special register the name is, if any; looked up once.
enum ptx_sreg ptx_name_sreg(struct ptx_name *name);

#endif
