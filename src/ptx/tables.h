// SPDX-License-Identifier: Apache-2.0
// The vocabulary of PTX as tables: types, state spaces, special registers, modifiers and opcodes.
// The rows are in the .def files. The "form" of an instruction is its opcode with all modifiers,
// decoded once for each spelling.
#ifndef GLINT_PTX_TABLES_H
#define GLINT_PTX_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

enum ptx_type {
    PTX_TYPE_NONE = 0,
#define PTX_TYPE(id, text, bits, kind, packed) PTX_##id,
#include "types.def"
#undef PTX_TYPE
    PTX_TYPE_COUNT
};

enum ptx_type_class {
    PTX_CLASS_NONE = 0,
    PTX_CLASS_BITS,
    PTX_CLASS_UNSIGNED,
    PTX_CLASS_SIGNED,
    PTX_CLASS_FLOAT,
    PTX_CLASS_PREDICATE,
    PTX_CLASS_OPAQUE,
};

struct ptx_type_info {
    const char *name; // without the dot
    uint16_t bits;
    uint8_t kind;   // enum ptx_type_class
    uint8_t packed; // elements of one value: 2 for f16x2
};

enum ptx_space {
    PTX_SPACE_GENERIC = 0,
#define PTX_SPACE(id, text) PTX_SPACE_##id,
#include "spaces.def"
#undef PTX_SPACE
    PTX_SPACE_COUNT
};

// What the value of a special register depends on; see uniform.h.
enum ptx_sreg_dependence {
    PTX_SREG_NONE,
    PTX_SREG_TID,
    PTX_SREG_LANE,
    PTX_SREG_WARP,
    PTX_SREG_CTAID,
    PTX_SREG_MACHINE,
};

enum ptx_sreg {
    PTX_SREG_UNKNOWN = 0,
#define PTX_SREG(id, text, type, components, dependence) PTX_SREG_ID_##id,
#include "sregs.def"
#undef PTX_SREG
    PTX_SREG_COUNT
};

struct ptx_sreg_info {
    const char *name;   // with the percent sign
    uint8_t type;       // enum ptx_type
    uint8_t components; // 4 if .x .y .z .w exist
    uint8_t dependence; // enum ptx_sreg_dependence
};

enum ptx_mod_kind {
    PTX_KIND_FLAG = 0,
    PTX_KIND_TYPE,
    PTX_KIND_SPACE,
    PTX_KIND_VEC,
    PTX_KIND_ROUND,
    PTX_KIND_CMP,
    PTX_KIND_SEM,
    PTX_KIND_SCOPE,
    PTX_KIND_CACHE,
    PTX_KIND_OPERATION,
    PTX_KIND_SELECT,
    PTX_KIND_UNKNOWN,
};

// Modifiers: types come first, with the numbers of enum ptx_type, then spaces, then the others.
enum ptx_mod {
    PTX_MOD_NONE = 0,
    PTX_MOD_FIRST_SPACE = PTX_TYPE_COUNT - 1, // + enum ptx_space
    PTX_MOD_LAST_SPACE = PTX_TYPE_COUNT - 1 + PTX_SPACE_COUNT - 1,
#define PTX_MOD(id, text, kind) PTX_MOD_##id,
#include "modifiers.def"
#undef PTX_MOD
    PTX_MOD_UNKNOWN // not in the tables
};

enum ptx_op {
    PTX_OP_UNKNOWN = 0,
#define PTX_OP(id, text, operands, flags) PTX_OP_##id,
#include "opcodes.def"
#undef PTX_OP
    PTX_OP_COUNT
};

enum ptx_op_flag {
    PTX_FLAG_LOAD = 1 << 0,
    PTX_FLAG_STORE = 1 << 1,
    PTX_FLAG_ATOMIC = 1 << 2,
    PTX_FLAG_ASYNC = 1 << 3,
    PTX_FLAG_TEXTURE = 1 << 4,
    PTX_FLAG_BRANCH = 1 << 5,
    PTX_FLAG_CALL = 1 << 6,
    PTX_FLAG_END = 1 << 7,
    PTX_FLAG_SYNC = 1 << 8,
    PTX_FLAG_EFFECT = 1 << 9,
    PTX_FLAG_MEMORY = PTX_FLAG_LOAD | PTX_FLAG_STORE | PTX_FLAG_ATOMIC,
};

struct ptx_op_info {
    const char *name;
    const char *operands; // cells, see opcodes.def
    uint16_t flags;       // enum ptx_op_flag
};

// One cell of an opcode's operands; opcodes.def explains the characters.
struct ptx_cell {
    char role;
    char type;
};

enum { PTX_FORM_TYPES = 6, PTX_FORM_MODS = 24 };

// An opcode with its modifiers. A module has one for each distinct spelling. Immutable.
struct ptx_form {
    const char *text; // as spelled: "ld.global.nc.v4.f32"
    uint16_t op;      // enum ptx_op
    uint8_t type_count;
    uint8_t mod_count;
    uint8_t types[PTX_FORM_TYPES]; // enum ptx_type, in text order
    uint8_t space;                 // enum ptx_space of the first one
    uint8_t space2;                // and of the second (of cp.async: the source)
    uint8_t vec;                   // 1, 2, 4 or 8
    uint16_t round;                // the first modifier of that kind, an enum ptx_mod, or 0
    uint16_t cmp;
    uint16_t sem;
    uint16_t scope;
    uint16_t cache;
    uint16_t operation;
    uint16_t mods[PTX_FORM_MODS]; // all modifiers in text order, without those of the opcode's name
};

const struct ptx_type_info *ptx_type_info(enum ptx_type type);
const char *ptx_space_name(enum ptx_space space); // "generic" for PTX_SPACE_GENERIC
const struct ptx_sreg_info *ptx_sreg_info(enum ptx_sreg sreg);
const struct ptx_op_info *ptx_op_info(enum ptx_op op);
// Sets how many operands an opcode takes; *most is UINT32_MAX if there is no limit.
void ptx_op_operand_range(enum ptx_op op, unsigned *least, unsigned *most);
// Returns the cell of an operand; the last cell also applies to all operands behind it.
struct ptx_cell ptx_op_cell(enum ptx_op op, unsigned operand);
const char *ptx_mod_name(enum ptx_mod mod);
enum ptx_mod_kind ptx_mod_kind(enum ptx_mod mod);

// Returns the bytes of one value in memory; predicates and sub-byte types take one byte.
static inline unsigned ptx_type_bytes(enum ptx_type type)
{
    return ((unsigned)ptx_type_info(type)->bits + 7) / 8;
}

// Look up a spelling, which is without its dot for types, spaces and modifiers. Return *_NONE or
// *_UNKNOWN if it is not in the table.
enum ptx_type ptx_type_find(struct base_str text);
enum ptx_mod ptx_mod_find(struct base_str text);
enum ptx_sreg ptx_sreg_find(struct base_str text, unsigned *number);
// Returns the state space of a word such as "global"; PTX_SPACE_COUNT if it is not a space.
enum ptx_space ptx_space_find(struct base_str text);

// Returns the selector behind a register: a modifier such as .x, or lanes of a packed value such as
// .h10 and .b3210, whose numbers begin behind the modifiers. Returns 0 if it is not a selector.
uint16_t ptx_select_find(struct base_str text);
// Writes the spelling of a selector, without the dot.
void ptx_select_name(uint16_t select, char out[8]);

// Decodes the spelling of an opcode. The text must outlive the form. Returns false if the spelling
// is malformed (an empty modifier) or longer than any instruction.
bool ptx_form_decode(const char *text, struct ptx_form *form);

// Returns whether the form has the modifier.
bool ptx_form_has(const struct ptx_form *form, enum ptx_mod mod);

#endif
