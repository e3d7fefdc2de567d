// SPDX-License-Identifier: Apache-2.0
// The vocabulary of PTX as tables: types, state spaces, special registers, modifiers and opcodes,
// and the "form" of an instruction: its opcode with all modifiers, decoded once for each spelling.
// The rows are in the .def files; nothing here knows about modules or text positions.
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
    uint8_t packed; // elements in one value: 2 for f16x2
};

enum ptx_space {
    PTX_SPACE_GENERIC = 0,
#define PTX_SPACE(id, text) PTX_SPACE_##id,
#include "spaces.def"
#undef PTX_SPACE
    PTX_SPACE_COUNT
};

// What a value read from a special register varies with; see uniform.h.
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
    uint8_t components; // 4 where .x .y .z .w exist
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

// Modifiers: types first (the same numbers as enum ptx_type), then spaces, then the rest.
enum ptx_mod {
    PTX_MOD_NONE = 0,
    PTX_MOD_FIRST_SPACE = PTX_TYPE_COUNT - 1, // + enum ptx_space
    PTX_MOD_LAST_SPACE = PTX_TYPE_COUNT - 1 + PTX_SPACE_COUNT - 1,
#define PTX_MOD(id, text, kind) PTX_MOD_##id,
#include "modifiers.def"
#undef PTX_MOD
    PTX_MOD_UNKNOWN // spelled in some PTX but not in our tables
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
    const char *operands; // cells, as explained in opcodes.def
    uint16_t flags;       // enum ptx_op_flag
};

// One cell of an opcode's operands: the characters are explained in opcodes.def.
struct ptx_cell {
    char role;
    char type;
};

enum { PTX_FORM_TYPES = 6, PTX_FORM_MODS = 24 };

// An opcode with its modifiers, one for each distinct spelling in a module. Immutable.
struct ptx_form {
    const char *text; // as spelled: "ld.global.nc.v4.f32"
    uint16_t op;      // enum ptx_op
    uint8_t type_count;
    uint8_t mod_count;
    uint8_t types[PTX_FORM_TYPES]; // enum ptx_type, in the order written
    uint8_t space;                 // enum ptx_space of the first one written
    uint8_t space2;                // and of the second (cp.async: the source)
    uint8_t vec;                   // 1, 2, 4 or 8
    uint16_t round;                // the first modifier of that kind, an enum ptx_mod, or 0
    uint16_t cmp;
    uint16_t sem;
    uint16_t scope;
    uint16_t cache;
    uint16_t operation;
    uint16_t
        mods[PTX_FORM_MODS]; // all of them in the order written, those of sub-operations excepted
};

const struct ptx_type_info *ptx_type_info(enum ptx_type type);
const char *ptx_space_name(enum ptx_space space); // "generic" for none
const struct ptx_sreg_info *ptx_sreg_info(enum ptx_sreg sreg);
const struct ptx_op_info *ptx_op_info(enum ptx_op op);
// How many operands an opcode takes; *most is UINT32_MAX where there is no limit.
void ptx_op_operand_range(enum ptx_op op, unsigned *least, unsigned *most);
// What the operand at that position is; the last cell stands for all behind it.
struct ptx_cell ptx_op_cell(enum ptx_op op, unsigned operand);
const char *ptx_mod_name(enum ptx_mod mod);
enum ptx_mod_kind ptx_mod_kind(enum ptx_mod mod);

// Bytes of one value in memory; predicates and sub-byte types take one.
static inline unsigned ptx_type_bytes(enum ptx_type type)
{
    return ((unsigned)ptx_type_info(type)->bits + 7) / 8;
}

// By spelling, without the leading dot for types, spaces and modifiers; *_NONE or *_UNKNOWN if
// none.
enum ptx_type ptx_type_find(struct base_str text);
enum ptx_mod ptx_mod_find(struct base_str text);
enum ptx_sreg ptx_sreg_find(struct base_str text, unsigned *number);
// The state space of a declaration such as "global"; PTX_SPACE_COUNT if it is none.
enum ptx_space ptx_space_find(struct base_str text);

// A selector behind a register: a modifier such as .x, or lanes of a packed value such as .h10 and
// .b3210, which have numbers of their own beyond the modifiers. 0 where it is none.
uint16_t ptx_select_find(struct base_str text);
// Writes its spelling without the dot; out has room for 8 bytes.
void ptx_select_name(uint16_t select, char out[8]);

// Decodes a spelled opcode. text must stay alive as long as the form. False where the spelling is
// malformed (an empty modifier) or longer than any instruction.
bool ptx_form_decode(const char *text, struct ptx_form *form);

bool ptx_form_has(const struct ptx_form *form, enum ptx_mod mod);

#endif
