// SPDX-License-Identifier: Apache-2.0
// The names of a module: every identifier and every opcode spelling is stored once, with what it
// denotes in the open scopes. Internal to src/ptx.
#ifndef GLINT_PTX_NAMES_H
#define GLINT_PTX_NAMES_H

#include "ir.h"

enum ptx_binding_kind {
    PTX_BOUND_REG,
    PTX_BOUND_VAR,
    PTX_BOUND_FUNCTION,
    PTX_BOUND_LABEL,
};

// What a name denotes in one scope. The newest binding is the innermost.
struct ptx_binding {
    struct ptx_binding *hidden; // the binding of the same name in an outer scope
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
    struct ptx_name *prefix; // %r of %r12; NULL if the name has no number
    uint64_t number;
    struct ptx_binding *bound;
    struct ptx_family *families;
    struct ptx_pending *pending; // for the parser: uses that wait for a label, the newest first
    const struct ptx_form *form; // of an opcode's spelling
    bool split;                  // prefix and number have been computed
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

// The bindings of one open scope, which are removed when it closes.
struct ptx_scope_bindings {
    struct ptx_binding *bindings;
    struct ptx_family *families;
};

// These functions allocate from the arena. If memory runs out, they jump to arena->escape, so they
// return NULL only where it is stated.
struct ptx_names *ptx_names_create(struct base_arena *arena);
struct ptx_name *ptx_name_intern(struct ptx_names *names, const char *text, size_t length);

// Returns the form of an opcode's spelling; NULL if it is malformed.
const struct ptx_form *ptx_name_form(struct ptx_names *names, struct ptx_name *name);

// Binds a name in a scope and returns the binding, which the caller fills; NULL if the scope
// already has the name.
struct ptx_binding *ptx_name_bind(struct ptx_names *names, struct ptx_name *name,
                                  const struct ptx_scope *scope, enum ptx_binding_kind kind,
                                  struct ptx_scope_bindings *undo);

// Does the same for a family of registers.
struct ptx_family *ptx_name_bind_family(struct ptx_names *names, struct ptx_name *name,
                                        const struct ptx_scope *scope,
                                        struct ptx_scope_bindings *undo);

// Returns the innermost family that has the name as a member, if its scope is inside that of the
// name's own binding; else NULL.
struct ptx_family *ptx_name_family(struct ptx_names *names, struct ptx_name *name);

// Removes the bindings of a scope.
void ptx_names_unbind(struct ptx_scope_bindings *undo);

// Returns the special register with that name, or PTX_SREG_UNKNOWN; the result is cached in the
// name.
enum ptx_sreg ptx_name_sreg(struct ptx_name *name);

#endif
