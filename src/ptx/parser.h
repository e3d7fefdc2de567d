// SPDX-License-Identifier: Apache-2.0
// The interface between the parser's files. scan.c reads characters and tokens, constants.c numbers
// and constant expressions, declare.c variables, registers and data, parse_body.c statements,
// parse_instr.c instructions and operands, and parse.c the module. Internal to src/ptx.
//
// Every function either succeeds or jumps to the recovery point in parse.c: through ptx_scan_fail,
// or through the arena's escape if memory runs out. There are no error codes that a caller could
// ignore.
#ifndef GLINT_PTX_PARSER_H
#define GLINT_PTX_PARSER_H

#include <setjmp.h>

#include "names.h"

// A use of a label before its definition. It is resolved when a scope closes that defines the
// label: all uses of the name since the scope was opened then refer to it.
struct ptx_pending {
    struct ptx_pending *next;    // of the function, in text order
    struct ptx_pending *earlier; // the previous use of the same name
    struct ptx_operand *operand;
    struct ptx_name *name;
    size_t number; // in text order
    uint32_t line;
    uint16_t column;
};

struct ptx_open_scope {
    struct ptx_scope *scope;
    struct ptx_scope_bindings bindings;
    size_t first_pending; // number of the first use that became pending in this scope
};

struct ptx_parser {
    const char *at, *end, *line_start;
    const char *name_end; // one past the last identifier read
    uint32_t line;
    struct ptx_module *module;
    struct base_arena *arena;
    struct ptx_names *names;
    struct base_error *error;
    jmp_buf escape;

    struct ptx_function *function; // whose body is being parsed
    BASE_ARRAY(struct ptx_open_scope) scopes;
    BASE_ARRAY(struct ptx_operand) scratch; // elements of the operands under construction
    BASE_ARRAY(struct ptx_init) data;       // the same for initialisers
    BASE_ARRAY(struct ptx_section_line) section;
    struct base_buf text; // a text under construction; freed by ptx_parser_fini
    struct ptx_pending *pending, **pending_end;
    size_t pending_count;
    const struct ptx_loc *loc;      // the newest .loc
    struct ptx_stmt *insert_before; // where statements go; NULL: at the end of the body

    // Set while something is added to an existing module: the bindings to undo if that fails. Names
    // must be new then.
    struct ptx_scope_bindings *module_bindings;

    // The operands #0, #1, ... of inserted text.
    const struct ptx_operand *arguments;
    unsigned argument_count;
};

// --- scan.c --------------------------------------------------------------------------------------

// A position in the text, for messages about something that was read earlier.
struct ptx_place {
    uint32_t line;
    uint16_t column;
};

void ptx_scan_start(struct ptx_parser *parser, const char *text, size_t length);
void ptx_scan_space(struct ptx_parser *parser);
struct ptx_place ptx_scan_place(const struct ptx_parser *parser);
// Fails with "expected ..., found ..." at the next token.
_Noreturn void ptx_scan_expected(struct ptx_parser *parser, const char *what);
_Noreturn void ptx_scan_fail(struct ptx_parser *parser, struct ptx_place place, const char *format,
                             ...) __attribute__((format(printf, 3, 4)));

// Skips white space and returns the next character, without taking it; '\0' at the end.
char ptx_scan_peek(struct ptx_parser *parser);
// Takes the character and returns true if it is next.
bool ptx_scan_take(struct ptx_parser *parser, char c);
void ptx_scan_need(struct ptx_parser *parser, char c);
bool ptx_scan_is_name(char c);      // may begin an identifier
bool ptx_scan_is_name_rest(char c); // may continue an identifier
// Reads an identifier; fails if there is none.
struct ptx_name *ptx_scan_name(struct ptx_parser *parser, const char *what);
// Reads the word behind a dot and returns a view of the text; fails if there is none.
struct base_str ptx_scan_word(struct ptx_parser *parser, const char *what);
// Reads a string; the result includes the quotes.
const char *ptx_scan_string(struct ptx_parser *parser);
// Reads balanced parentheses and returns the text inside.
const char *ptx_scan_parenthesised(struct ptx_parser *parser);

// --- constants.c ---------------------------------------------------------------------------------

enum ptx_constant_kind { PTX_CONSTANT_INT, PTX_CONSTANT_F32, PTX_CONSTANT_F64 };

struct ptx_constant {
    uint8_t kind; // enum ptx_constant_kind
    bool is_unsigned;
    bool hex;
    uint64_t bits;
};

bool ptx_scan_is_constant(struct ptx_parser *parser);
struct ptx_constant ptx_parse_constant(struct ptx_parser *parser);
uint64_t ptx_parse_u64(struct ptx_parser *parser, const char *what);
// Reads the count of a family and the '>' behind it, as in %r<100>.
uint64_t ptx_parse_family(struct ptx_parser *parser, const char *what);
uint32_t ptx_parse_u32(struct ptx_parser *parser, const char *what);
// Reads a sum such as + 4 - 8, as behind the base of an address; returns 0 if there is none.
int64_t ptx_parse_offset(struct ptx_parser *parser);

// --- declare.c -----------------------------------------------------------------------------------

// Parses a declaration from behind its state space to its semicolon, and calls `take` for each
// variable.
void ptx_parse_vars(struct ptx_parser *parser, enum ptx_space space, uint8_t linkage,
                    void (*take)(struct ptx_parser *parser, struct ptx_var *var));
// Parses (.param .b32 a, ...) into the function; the opening parenthesis is next.
void ptx_parse_params(struct ptx_parser *parser, struct ptx_function *function, bool returns);
void ptx_parse_section(struct ptx_parser *parser, struct ptx_item *item);
void ptx_bind_var(struct ptx_parser *parser, struct ptx_var *var);
uint8_t ptx_parse_linkage(struct base_str word); // 0 if the word is no linkage

// --- parse_body.c --------------------------------------------------------------------------------

void ptx_parse_body(struct ptx_parser *parser, struct ptx_function *function);
struct ptx_reg *ptx_declare_reg(struct ptx_parser *parser, struct ptx_name *name,
                                enum ptx_type type, uint8_t vec);
void ptx_open_scope(struct ptx_parser *parser);
void ptx_close_scope(struct ptx_parser *parser);
// Drops the pending uses of labels when parsing ends early.
void ptx_forget_pending(struct ptx_parser *parser);
// Parses statements up to the closing brace of the innermost scope that was open on entry, or to
// the end of the text.
void ptx_parse_statements(struct ptx_parser *parser);
struct ptx_loc *ptx_parse_loc(struct ptx_parser *parser);
void *ptx_add_stmt(struct ptx_parser *parser, size_t size_bytes, enum ptx_stmt_kind kind,
                   struct ptx_place place);
struct ptx_reg *ptx_new_reg(struct ptx_parser *parser, const char *name, uint8_t type, uint8_t vec,
                            const struct ptx_scope *scope);
// Parses the attributes between a function's parameters and its body or semicolon.
void ptx_parse_attrs(struct ptx_parser *parser, struct ptx_function *function);

// --- parse.c -------------------------------------------------------------------------------------

// Parses one directive of the module's top level.
void ptx_parse_item(struct ptx_parser *parser);
// Removes the bindings of open scopes and frees what the parser holds, but not the module.
void ptx_parser_fini(struct ptx_parser *parser);
// Copies parser->text into the module's memory.
const char *ptx_parser_text(struct ptx_parser *parser);
void ptx_parser_no_memory(struct ptx_parser *parser) __attribute__((noreturn));
// Returns the code of the error. Adds a message if memory ran out, which has none so far.
enum base_code ptx_parser_failure(struct ptx_parser *parser);

// --- parse_instr.c -------------------------------------------------------------------------------

// Parses an instruction up to its semicolon. `opcode` is its first word, or NULL if '@' is next.
void ptx_parse_instr(struct ptx_parser *parser, struct ptx_name *opcode, struct ptx_place place);
// Parses labels or functions separated by commas.
void ptx_parse_names(struct ptx_parser *parser, struct ptx_operand **operands, uint32_t *count);

#endif
