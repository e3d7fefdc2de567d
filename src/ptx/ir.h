// SPDX-License-Identifier: Apache-2.0
// The intermediate representation of a PTX module: its statements in text order, with names
// resolved. Printing it yields text from which ptxas makes the same machine code. A module owns
// everything below it, in one arena. Several threads may read a module while none edits it.
//
//     struct ptx_module *module;
//     if (ptx_parse(text, length, "kernel.ptx", &module, &error) == BASE_OK) { ...
//         ptx_print(module, &buffer);
//         ptx_module_destroy(module);
//     }
#ifndef GLINT_PTX_IR_H
#define GLINT_PTX_IR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "tables.h"

struct ptx_function;
struct ptx_label;
struct ptx_names;
struct ptx_scope;
struct ptx_var;

// A register. Its id is dense within its function.
struct ptx_reg {
    const char *name;
    uint32_t id;
    uint8_t type; // enum ptx_type
    uint8_t vec;  // 1, or the elements of a vector register
    const struct ptx_scope *scope;
};

enum ptx_operand_kind {
    PTX_OPERAND_NONE = 0,
    PTX_OPERAND_REG,      // reg, select: component of a vector, or part of a register in a video
                          // instruction
    PTX_OPERAND_SREG,     // sreg, number for families, select: the component
    PTX_OPERAND_INT,      // bits
    PTX_OPERAND_F32,      // bits: the 32-bit pattern
    PTX_OPERAND_F64,      // bits: the 64-bit pattern
    PTX_OPERAND_VAR,      // the address of var plus offset
    PTX_OPERAND_FUNCTION, // function
    PTX_OPERAND_LABEL,    // label: of code, targets or a prototype
    PTX_OPERAND_ADDRESS,  // [elements[0] + offset]; more elements as in [tex, {x, y}]; if INDEXED,
                          // elements[0] is a variable and elements[1] a register, to which offset
                          // is added
    PTX_OPERAND_VECTOR,   // {elements}
    PTX_OPERAND_LIST,     // (elements) of a call
    PTX_OPERAND_PAIR,     // elements[0] | elements[1]
    PTX_OPERAND_SINK,     // _
    PTX_OPERAND_NAME,     // text: a predefined name that is not in the tables
};

enum ptx_operand_flag {
    PTX_OPERAND_NOT = 1 << 0,      // !p
    PTX_OPERAND_NEGATED = 1 << 1,  // -r of a video instruction
    PTX_OPERAND_HEX = 1 << 2,      // written in hexadecimal
    PTX_OPERAND_UNSIGNED = 1 << 3, // an unsigned integer
    PTX_OPERAND_INDEXED = 1 << 4,  // a[3]: offset counts elements, not bytes
    PTX_OPERAND_OFFSET = 1 << 5,   // [a+0]: the offset is written although it is 0; without
                                   // optimisation, ptxas makes an addition of it
};

struct ptx_operand {
    uint8_t kind;    // enum ptx_operand_kind
    uint8_t flags;   // enum ptx_operand_flag
    uint16_t count;  // elements
    uint16_t select; // see ptx_select_find, or 0
    uint16_t number; // of a special register's family
    union {
        struct ptx_reg *reg;
        enum ptx_sreg sreg;
        uint64_t bits;
        struct ptx_var *var;
        struct ptx_function *function;
        struct ptx_label *label;
        struct ptx_operand *elements;
        const char *text;
    };
    int64_t offset;
};

enum ptx_stmt_kind {
    PTX_STMT_INSTR,
    PTX_STMT_LABEL,
    PTX_STMT_LOC,
    PTX_STMT_REGS,
    PTX_STMT_VAR,
    PTX_STMT_OPEN,  // {
    PTX_STMT_CLOSE, // }
    PTX_STMT_PRAGMA,
};

// One statement of a body; the kinds below start with it. A body is a doubly linked list.
struct ptx_stmt {
    struct ptx_stmt *prev, *next;
    struct ptx_scope *scope; // that contains it
    uint32_t line;           // in the PTX text; 0 for inserted statements
    uint16_t column;
    uint8_t kind; // enum ptx_stmt_kind
};

// Source position: .loc. Inlined code also has the position of the call and the name of the
// function.
struct ptx_loc {
    struct ptx_stmt stmt;
    uint32_t file, line, column;
    bool inlined;
    const char *name_label; // function_name: a label in .debug_str, or NULL
    uint64_t name_offset;
    uint32_t at_file, at_line, at_column;
};

struct ptx_instr {
    struct ptx_stmt stmt;
    const struct ptx_form *form;
    struct ptx_operand *operands;
    struct ptx_reg *guard; // predicate; NULL: always executed
    const struct ptx_loc *loc;
    uint32_t index; // dense within the function, set by ptx_function_number
    uint8_t operand_count;
    bool guard_negated;
};

enum ptx_label_kind {
    PTX_LABEL_CODE,
    PTX_LABEL_BRANCH_TARGETS,
    PTX_LABEL_CALL_TARGETS,
    PTX_LABEL_PROTOTYPE,
};

struct ptx_label {
    struct ptx_stmt stmt;
    const char *name;
    uint8_t kind;                // enum ptx_label_kind
    struct ptx_operand *targets; // of .branchtargets (labels) and .calltargets (functions)
    uint32_t target_count;
    struct ptx_function *prototype; // of .callprototype: its parameters and attributes
};

// .reg .type name, name<count>;
struct ptx_regs {
    struct ptx_stmt stmt;
    uint8_t type; // enum ptx_type
    uint8_t vec;
    uint32_t count;
    struct ptx_regs_name {
        const char *name;
        uint64_t family; // 0: one register; else the registers name0 to name<family - 1>
        struct ptx_scope *scope;
        struct ptx_reg *reg; // of a register that is not a family
    } * names;
};

struct ptx_var_stmt {
    struct ptx_stmt stmt;
    struct ptx_var *var;
};

struct ptx_pragma {
    struct ptx_stmt stmt;
    const char *text; // with its quotes
};

struct ptx_scope {
    struct ptx_scope *outer;
    uint32_t depth; // 0: the function's outermost scope
    uint32_t id;    // dense within the function
};

enum ptx_linkage {
    PTX_LINK_EXTERN = 1 << 0,
    PTX_LINK_VISIBLE = 1 << 1,
    PTX_LINK_WEAK = 1 << 2,
    PTX_LINK_COMMON = 1 << 3,
};

enum ptx_init_kind {
    PTX_INIT_OPEN,
    PTX_INIT_CLOSE,
    PTX_INIT_INT,
    PTX_INIT_F32,
    PTX_INIT_F64,
    PTX_INIT_VAR, // address of var + offset
    PTX_INIT_FUNCTION,
    PTX_INIT_NAME,  // a label, section or keyword, + offset; minus another if `difference`
    PTX_INIT_FIELD, // "name =", before its value, in samplers and textures
};

// One token of an initialiser or of a section's data.
struct ptx_init {
    uint8_t kind; // enum ptx_init_kind
    bool generic; // generic(var)
    bool hex;
    uint64_t mask; // 0xFF(var) or mask(var): which byte is used; 0: all
    union {
        uint64_t bits;
        struct ptx_var *var;
        struct ptx_function *function;
        const char *name;
    };
    union {
        int64_t offset;
        const char *other; // PTX_INIT_NAME with `difference`
    };
    bool difference;
};

struct ptx_var {
    const char *name; // "_" for a parameter without one
    uint8_t space;    // enum ptx_space
    uint8_t type;     // enum ptx_type
    uint8_t vec;
    uint8_t linkage;   // enum ptx_linkage
    uint8_t ptr_space; // of .ptr: PTX_SPACE_GENERIC if it names none
    bool is_ptr;
    bool is_param;
    bool managed;
    uint32_t align; // as written; 0: natural
    uint32_t ptr_align;
    uint32_t dim_count;
    uint64_t *dims;      // 0: [] without a number
    uint64_t size_bytes; // 0: unknown (extern [])
    struct ptx_init *init;
    uint64_t init_count;
    const char *attributes;        // the text inside .attribute(...), or NULL
    struct ptx_function *function; // to which the parameter or local variable belongs, or NULL
    struct ptx_reg *reg;           // of a parameter in register space, or NULL
    uint32_t index;                // of a parameter
    uint32_t line;
};

// A directive between a function's parameters and its body: .maxntid 256, 1, 1
struct ptx_attr {
    const char *name; // with its dot
    uint64_t values[3];
    uint32_t count;
    const char *text; // of .pragma: the strings with their quotes; else NULL
};

struct ptx_function {
    const char *name;
    bool is_entry;
    bool has_body;
    bool is_prototype;      // of .callprototype
    uint8_t linkage;        // enum ptx_linkage
    const char *attributes; // .attribute(...)
    struct ptx_var **returns;
    uint32_t return_count;
    struct ptx_var **params;
    uint32_t param_count;
    struct ptx_attr *attrs;
    uint32_t attr_count;
    struct ptx_stmt *first, *last; // the body, without its outermost braces
    struct ptx_scope *scope;
    uint32_t scope_count;
    struct ptx_reg **regs; // by id
    size_t reg_count, reg_capacity;
    uint32_t instr_count; // set by ptx_function_number
    uint32_t line;
    struct ptx_module *module;
};

enum ptx_item_kind {
    PTX_ITEM_VAR,
    PTX_ITEM_FUNCTION,
    PTX_ITEM_FILE,
    PTX_ITEM_SECTION,
    PTX_ITEM_PRAGMA,
    PTX_ITEM_ALIAS,
    PTX_ITEM_LOC,
};

// A line of a section: a label, or data of one type.
struct ptx_section_line {
    const char *label; // or NULL
    uint8_t type;
    struct ptx_init *data;
    uint32_t count;
};

// A declaration or directive at the module's top level.
struct ptx_item {
    struct ptx_item *prev, *next;
    uint8_t kind; // enum ptx_item_kind
    uint32_t line;
    union {
        struct ptx_var *var;
        struct ptx_function *function;
        struct {
            uint64_t index;
            const char *path; // without quotes, escapes as in the text
            bool has_stamp;
            uint64_t timestamp, size;
        } file;
        struct {
            const char *name;
            struct ptx_section_line *lines;
            uint32_t count;
        } section;
        struct {
            const char *alias, *target;
        } alias;
        struct ptx_loc *loc;
        const char *text; // of a pragma, with its quotes
    };
};

struct ptx_module {
    struct base_arena arena;
    const char *name; // file name, for messages
    uint32_t version_major, version_minor;
    const char *target;       // as written: "sm_90a, debug"
    uint32_t address_size;    // 32 or 64
    bool states_address_size; // old modules leave it out
    struct ptx_item *first, *last;
    struct ptx_names *names; // the parser's table, kept for edits
    uint32_t edits;          // number of names that edits have made
};

// Parses a module; the caller destroys it. `name` is used in messages. On failure *module is NULL,
// and the error states file:line:column, what was found and what was expected.
enum base_code ptx_parse(const char *text, size_t length, const char *name,
                         struct ptx_module **module, struct base_error *error);

// Does the same with a bound on memory (0: none). Fails with BASE_NO_MEMORY beyond it.
enum base_code ptx_parse_within(const char *text, size_t length, const char *name,
                                size_t limit_bytes, struct ptx_module **module,
                                struct base_error *error);

void ptx_module_destroy(struct ptx_module *module);

// Returns the bytes of memory that the module holds.
size_t ptx_module_bytes(const struct ptx_module *module);

// Appends the module's text. buffer->failed is set if memory runs out.
void ptx_print(const struct ptx_module *module, struct base_buf *buffer);

// Appends the declaration of a function: everything before its body or semicolon.
void ptx_print_head(const struct ptx_function *function, struct base_buf *buffer);

// Appends one item of the top level and a newline.
void ptx_print_item(const struct ptx_item *item, struct base_buf *buffer);

// Append one statement, instruction or operand, without a newline.
void ptx_print_stmt(const struct ptx_stmt *stmt, struct base_buf *buffer);
void ptx_print_instr(const struct ptx_instr *instr, struct base_buf *buffer);
void ptx_print_operand(const struct ptx_operand *operand, struct base_buf *buffer);

// Sets the index of every instruction, and function->instr_count.
void ptx_function_number(struct ptx_function *function);

static inline struct ptx_instr *ptx_stmt_instr(struct ptx_stmt *stmt)
{
    return stmt->kind == PTX_STMT_INSTR ? (struct ptx_instr *)stmt : NULL;
}

static inline enum ptx_op ptx_op(const struct ptx_instr *instr)
{
    return (enum ptx_op)instr->form->op;
}

static inline uint16_t ptx_flags(const struct ptx_instr *instr)
{
    return ptx_op_info(ptx_op(instr))->flags;
}

// Returns whether the variable is a parameter of the function; return values are not.
bool ptx_is_parameter(const struct ptx_function *function, const struct ptx_var *var);

// Returns the variable in parameter space that a load names, or NULL.
const struct ptx_var *ptx_param_read(const struct ptx_instr *instr);

// Returns the definition of the function with that name, else its declaration, else NULL.
struct ptx_function *ptx_function_find(const struct ptx_module *module, const char *name);

// Returns an attribute such as ".maxntid", or NULL.
const struct ptx_attr *ptx_function_attr(const struct ptx_function *function, const char *name);

// Returns the path of a .file number, or NULL.
const char *ptx_file_path(const struct ptx_module *module, uint32_t file);

// Returns the text at a label of the module's .debug_str section, as function_name of .loc names
// it; NULL if there is none. The caller frees it.
char *ptx_debug_string(const struct ptx_module *module, const char *label, uint64_t offset);

#endif
