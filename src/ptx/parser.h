// SPDX-License-Identifier: Apache-2.0
// What the parser's files share: the scanner over the text, and who parses what. scan.c reads
// characters, constants.c numbers and expressions, declare.c variables, registers and data,
// parse_body.c statements, parse_instr.c instructions and operands, parse.c the module. Internal to
// src/ptx.
//
// Every function either succeeds or leaves through ptx_scan_fail (or the arena's escape when memory
// runs out) to the recovery point in parse.c: there are no error returns to forget.
#ifndef GLINT_PTX_PARSER_H
#define GLINT_PTX_PARSER_H

#include <setjmp.h>

#include "names.h"

// A name used before what it stands for was seen: a label, always. It is resolved when a scope
// closes that has such a label: all uses of the name since the scope was opened are then uses of
// that one.
struct ptx_pending {
    struct ptx_pending *next;    // of the function, in the order of the text
    struct ptx_pending *earlier; // the same name
    struct ptx_operand *operand;
    struct ptx_name *name;
    size_t number; // in the order of the text
    uint32_t line;
    uint16_t column;
};

struct ptx_open_scope {
    struct ptx_scope *scope;
    struct ptx_scope_bindings bindings;
    size_t first_pending; // the number of the first name pending since it was opened
};

struct ptx_parser {
    const char *at, *end, *line_start;
    const char *name_end; // one past the identifier read last
    uint32_t line;
    struct ptx_module *module;
    struct base_arena *arena;
    struct ptx_names *names;
    struct base_error *error;
    jmp_buf escape;

    struct ptx_function *function; // whose body is being read
    BASE_ARRAY(struct ptx_open_scope) scopes;
    BASE_ARRAY(struct ptx_operand) scratch; // elements of the operands under construction
    BASE_ARRAY(struct ptx_init) data;       // the same for initialisers
    BASE_ARRAY(struct ptx_section_line) section;
    struct base_buf text; // a piece of text under construction: freed here, whatever fails
    struct ptx_pending *pending, **pending_end;
    size_t pending_count;
    const struct ptx_loc *loc;      // the newest .loc
    struct ptx_stmt *insert_before; // where statements go; NULL: at the end of the body

    // When something is added to a module: what it binds there, to be undone if it fails. Names
    // must
    // be new then.
    struct ptx_scope_bindings *module_bindings;

    // When a snippet is parsed: what #0, #1, ... stand for.
    const struct ptx_operand *arguments;
    unsigned argument_count;
};

// scan.c ------------------------------------------------------------------------------------------

// A place in the text, for messages about something that was read earlier.
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

// Skips space, then looks at the next character; '\0' at the end.
char ptx_scan_peek(struct ptx_parser *parser);
// Takes the character if it is next.
bool ptx_scan_take(struct ptx_parser *parser, char c);
void ptx_scan_need(struct ptx_parser *parser, char c);
bool ptx_scan_is_name(char c);      // may start an identifier
bool ptx_scan_is_name_rest(char c); // may go on with one
// An identifier; fails where there is none.
struct ptx_name *ptx_scan_name(struct ptx_parser *parser, const char *what);
// The word behind a dot, as a view of the text; fails where there is none.
struct base_str ptx_scan_word(struct ptx_parser *parser, const char *what);
// A string with its quotes.
const char *ptx_scan_string(struct ptx_parser *parser);
// The text inside balanced parentheses, which are consumed.
const char *ptx_scan_parenthesised(struct ptx_parser *parser);

// constants.c -------------------------------------------------------------------------------------

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
// The count of a family up to and with its '>', as in %r<100>.
uint64_t ptx_parse_family(struct ptx_parser *parser, const char *what);
uint32_t ptx_parse_u32(struct ptx_parser *parser, const char *what);
// Sums of the form + 4 - 8, as follow a base in an address; 0 where there are none.
int64_t ptx_parse_offset(struct ptx_parser *parser);

// declare.c ---------------------------------------------------------------------------------------

// One declaration behind its space's directive, to its semicolon; each variable goes to `take`.
void ptx_parse_vars(struct ptx_parser *parser, enum ptx_space space, uint8_t linkage,
                    void (*take)(struct ptx_parser *parser, struct ptx_var *var));
// (.param .b32 a, ...) into a list; the opening parenthesis is next.
void ptx_parse_params(struct ptx_parser *parser, struct ptx_function *function, bool returns);
void ptx_parse_section(struct ptx_parser *parser, struct ptx_item *item);
void ptx_bind_var(struct ptx_parser *parser, struct ptx_var *var);
uint8_t ptx_parse_linkage(struct base_str word); // 0 where it is none

// parse_body.c ------------------------------------------------------------------------------------

void ptx_parse_body(struct ptx_parser *parser, struct ptx_function *function);
struct ptx_reg *ptx_declare_reg(struct ptx_parser *parser, struct ptx_name *name,
                                enum ptx_type type, uint8_t vec);
void ptx_open_scope(struct ptx_parser *parser);
void ptx_close_scope(struct ptx_parser *parser);
// Drops the names that wait for their labels, where reading ends before they were found.
void ptx_forget_pending(struct ptx_parser *parser);
// Statements until the closing brace of the innermost scope that was open on entry, or the end of
// text.
void ptx_parse_statements(struct ptx_parser *parser);
struct ptx_loc *ptx_parse_loc(struct ptx_parser *parser);
void *ptx_add_stmt(struct ptx_parser *parser, size_t size_bytes, enum ptx_stmt_kind kind,
                   struct ptx_place place);
struct ptx_reg *ptx_new_reg(struct ptx_parser *parser, const char *name, uint8_t type, uint8_t vec,
                            const struct ptx_scope *scope);
// The attributes between a function's parameters and its body or semicolon.
void ptx_parse_attrs(struct ptx_parser *parser, struct ptx_function *function);

// parse.c -----------------------------------------------------------------------------------------

// One directive of the module's top level.
void ptx_parse_item(struct ptx_parser *parser);
// Undoes what open scopes bound and frees what the parser holds; the module stays.
void ptx_parser_fini(struct ptx_parser *parser);
// What is in parser->text, in the module's memory.
const char *ptx_parser_text(struct ptx_parser *parser);
void ptx_parser_no_memory(struct ptx_parser *parser) __attribute__((noreturn));
// The code of what went wrong; memory that ran out left no message yet and gets one.
enum base_code ptx_parser_failure(struct ptx_parser *parser);

// parse_instr.c -----------------------------------------------------------------------------------

// One instruction to its semicolon; opcode is its first word, or NULL where '@' is next.
void ptx_parse_instr(struct ptx_parser *parser, struct ptx_name *opcode, struct ptx_place place);
// Names separated by commas: labels or functions.
void ptx_parse_names(struct ptx_parser *parser, struct ptx_operand **operands, uint32_t *count);

#endif
