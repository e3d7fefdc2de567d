// SPDX-License-Identifier: Apache-2.0
// Parses bodies: scopes, register declarations, labels, source positions and directives in text
// order. parse_instr.c parses instructions and their operands.
#include <string.h>

#include "parser.h"

static struct ptx_open_scope *innermost(struct ptx_parser *parser)
{
    return &parser->scopes.items[parser->scopes.count - 1];
}

void *ptx_add_stmt(struct ptx_parser *parser, size_t size_bytes, enum ptx_stmt_kind kind,
                   struct ptx_place place)
{
    struct ptx_stmt *stmt = base_alloc(parser->arena, size_bytes);
    struct ptx_function *function = parser->function;
    stmt->kind = (uint8_t)kind;
    stmt->line = place.line;
    stmt->column = place.column;
    stmt->scope = innermost(parser)->scope;
    stmt->next = parser->insert_before;
    stmt->prev = stmt->next ? stmt->next->prev : function->last;
    *(stmt->prev ? &stmt->prev->next : &function->first) = stmt;
    *(stmt->next ? &stmt->next->prev : &function->last) = stmt;
    return stmt;
}

void ptx_open_scope(struct ptx_parser *parser)
{
    struct ptx_scope *scope = base_new(parser->arena, struct ptx_scope);
    scope->outer = parser->scopes.count ? innermost(parser)->scope : NULL;
    scope->depth = scope->outer ? scope->outer->depth + 1 : 0;
    scope->id = parser->function->scope_count++;
    struct ptx_open_scope *open = base_array_push(&parser->scopes);
    if (!open)
        ptx_parser_no_memory(parser);
    open->scope = scope;
    open->first_pending = parser->pending_count;
}

// Resolves the uses of the labels that this scope defines.
static void settle(const struct ptx_open_scope *open)
{
    for (struct ptx_binding *bound = open->bindings.bindings; bound; bound = bound->next_in_scope) {
        if (bound->kind != PTX_BOUND_LABEL)
            continue;
        struct ptx_pending **pending = &bound->name->pending;
        while (*pending && (*pending)->number >= open->first_pending) {
            (*pending)->operand->kind = PTX_OPERAND_LABEL;
            (*pending)->operand->label = bound->label;
            *pending = (*pending)->earlier;
        }
    }
}

// At the outermost scope, a remaining name is a function or was never declared.
static void settle_rest(struct ptx_parser *parser)
{
    for (struct ptx_pending *pending = parser->pending; pending; pending = pending->next) {
        const struct ptx_binding *bound = pending->name->bound;
        if (pending->operand->kind != PTX_OPERAND_NONE)
            continue;
        if (!bound || bound->kind != PTX_BOUND_FUNCTION)
            ptx_scan_fail(parser, (struct ptx_place){pending->line, pending->column},
                          "'%.60s' is not declared", pending->name->text);
        pending->operand->kind = PTX_OPERAND_FUNCTION;
        pending->operand->function = bound->function;
    }
    ptx_forget_pending(parser);
}

void ptx_forget_pending(struct ptx_parser *parser)
{
    for (struct ptx_pending *pending = parser->pending; pending; pending = pending->next)
        pending->name->pending = NULL;
    parser->pending = NULL;
}

void ptx_close_scope(struct ptx_parser *parser)
{
    struct ptx_open_scope *open = innermost(parser);
    settle(open);
    ptx_names_unbind(&open->bindings);
    if (parser->scopes.count == 1)
        settle_rest(parser);
    parser->scopes.count--;
}

struct ptx_reg *ptx_new_reg(struct ptx_parser *parser, const char *name, uint8_t type, uint8_t vec,
                            const struct ptx_scope *scope)
{
    struct ptx_function *function = parser->function;
    struct ptx_reg *reg = base_new(parser->arena, struct ptx_reg);
    reg->name = name;
    reg->type = type;
    reg->vec = vec;
    reg->scope = scope;
    reg->id = (uint32_t)function->reg_count;
    base_array_grow((void **)&function->regs, &function->reg_count, &function->reg_capacity,
                    sizeof(*function->regs), parser->arena);
    function->regs[reg->id] = reg;
    return reg;
}

struct ptx_reg *ptx_declare_reg(struct ptx_parser *parser, struct ptx_name *name,
                                enum ptx_type type, uint8_t vec)
{
    struct ptx_open_scope *open = innermost(parser);
    struct ptx_binding *binding =
        ptx_name_bind(parser->names, name, open->scope, PTX_BOUND_REG, &open->bindings);
    if (!binding)
        ptx_scan_fail(parser, ptx_scan_place(parser), "'%.60s' is declared twice", name->text);
    binding->reg = ptx_new_reg(parser, name->text, (uint8_t)type, vec, open->scope);
    return binding->reg;
}

// Parses .reg .v4 .f32 a, %f<10>;
static void parse_regs(struct ptx_parser *parser, struct ptx_place place)
{
    struct ptx_regs *regs = ptx_add_stmt(parser, sizeof(*regs), PTX_STMT_REGS, place);
    regs->vec = 1;
    while (ptx_scan_take(parser, '.')) {
        struct ptx_place word_place = ptx_scan_place(parser);
        struct base_str word = ptx_scan_word(parser, "a type");
        enum ptx_type type = ptx_type_find(word);
        if (type != PTX_TYPE_NONE)
            regs->type = (uint8_t)type;
        else if (base_str_is(word, "v2") || base_str_is(word, "v4"))
            regs->vec = (uint8_t)(word.text[1] - '0');
        else
            ptx_scan_fail(parser, word_place, "expected a type of registers, found '.%.*s'",
                          BASE_STR_ARG(word));
    }
    if (regs->type == PTX_TYPE_NONE)
        ptx_scan_expected(parser, "a type");
    BASE_ARRAY(struct ptx_regs_name) names = {0};
    do {
        struct ptx_regs_name *entry = base_array_add(&names, parser->arena);
        struct ptx_place name_place = (ptx_scan_space(parser), ptx_scan_place(parser));
        struct ptx_name *name = ptx_scan_name(parser, "a register's name");
        entry->name = name->text;
        if (ptx_scan_take(parser, '<')) {
            entry->family = ptx_parse_family(parser, "how many registers");
            struct ptx_open_scope *open = innermost(parser);
            struct ptx_family *family =
                ptx_name_bind_family(parser->names, name, open->scope, &open->bindings);
            if (!family)
                ptx_scan_fail(parser, name_place, "'%.60s<>' is declared twice", name->text);
            family->count = entry->family;
            family->type = regs->type;
            family->vec = regs->vec;
            if (entry->family == 0)
                names.count--;
        } else {
            entry->reg = ptx_declare_reg(parser, name, (enum ptx_type)regs->type, regs->vec);
        }
    } while (ptx_scan_take(parser, ','));
    ptx_scan_need(parser, ';');
    regs->names = names.items;
    regs->count = (uint32_t)names.count;
}

struct ptx_loc *ptx_parse_loc(struct ptx_parser *parser)
{
    struct ptx_place place = ptx_scan_place(parser);
    struct ptx_loc *loc = parser->function ? ptx_add_stmt(parser, sizeof(*loc), PTX_STMT_LOC, place)
                                           : base_new(parser->arena, struct ptx_loc);
    loc->file = ptx_parse_u32(parser, "a file's number");
    loc->line = ptx_parse_u32(parser, "a line");
    char c = ptx_scan_peek(parser);
    if (c >= '0' && c <= '9')
        loc->column = ptx_parse_u32(parser, "a column");
    while (ptx_scan_take(parser, ',')) {
        struct ptx_place word = (ptx_scan_space(parser), ptx_scan_place(parser));
        struct ptx_name *name = ptx_scan_name(parser, "'function_name' or 'inlined_at'");
        if (strcmp(name->text, "function_name") == 0) {
            loc->name_label = ptx_scan_name(parser, "a label")->text;
            loc->name_offset = (uint64_t)ptx_parse_offset(parser);
        } else if (strcmp(name->text, "inlined_at") == 0) {
            loc->inlined = true;
            loc->at_file = ptx_parse_u32(parser, "a file's number");
            loc->at_line = ptx_parse_u32(parser, "a line");
            loc->at_column = ptx_parse_u32(parser, "a column");
        } else {
            ptx_scan_fail(parser, word, "expected 'function_name' or 'inlined_at', found '%.40s'",
                          name->text);
        }
    }
    return loc;
}

static void take_var(struct ptx_parser *parser, struct ptx_var *var)
{
    struct ptx_var_stmt *stmt =
        ptx_add_stmt(parser, sizeof(*stmt), PTX_STMT_VAR, (struct ptx_place){var->line, 1});
    stmt->var = var;
}

static void parse_body_directive(struct ptx_parser *parser)
{
    struct ptx_place place = ptx_scan_place(parser);
    parser->at++;
    struct base_str word = ptx_scan_word(parser, "a directive");
    if (base_str_is(word, "loc")) {
        parser->loc = ptx_parse_loc(parser);
        return;
    }
    if (base_str_is(word, "reg")) {
        parse_regs(parser, place);
        return;
    }
    if (base_str_is(word, "pragma")) {
        do {
            struct ptx_pragma *pragma =
                ptx_add_stmt(parser, sizeof(*pragma), PTX_STMT_PRAGMA, place);
            pragma->text = ptx_scan_string(parser);
        } while (ptx_scan_take(parser, ','));
        ptx_scan_need(parser, ';');
        return;
    }
    uint8_t linkage = 0, more;
    while ((more = ptx_parse_linkage(word)) != 0) {
        linkage |= more;
        ptx_scan_need(parser, '.');
        word = ptx_scan_word(parser, "a state space");
    }
    enum ptx_space space = ptx_space_find(word);
    if (space == PTX_SPACE_COUNT || space == PTX_SPACE_REG || space == PTX_SPACE_SREG)
        ptx_scan_fail(parser, place, "expected a directive or an instruction, found '.%.*s'",
                      BASE_STR_ARG(word));
    ptx_parse_vars(parser, space, linkage, take_var);
}

// Parses "label:" or "label: .branchtargets / .calltargets / .callprototype ... ;".
static void parse_label(struct ptx_parser *parser, struct ptx_name *name, struct ptx_place place)
{
    struct ptx_open_scope *open = innermost(parser);
    struct ptx_binding *binding =
        ptx_name_bind(parser->names, name, open->scope, PTX_BOUND_LABEL, &open->bindings);
    if (!binding)
        ptx_scan_fail(parser, place, "'%.60s' is declared twice", name->text);
    struct ptx_label *label = ptx_add_stmt(parser, sizeof(*label), PTX_STMT_LABEL, place);
    label->name = name->text;
    binding->label = label;
    if (ptx_scan_peek(parser) != '.')
        return;
    const char *dot = parser->at++;
    struct base_str word = ptx_scan_word(parser, "a directive");
    bool branches = base_str_is(word, "branchtargets");
    if (branches || base_str_is(word, "calltargets")) {
        label->kind = branches ? PTX_LABEL_BRANCH_TARGETS : PTX_LABEL_CALL_TARGETS;
        ptx_parse_names(parser, &label->targets, &label->target_count);
        ptx_scan_need(parser, ';');
    } else if (base_str_is(word, "callprototype")) {
        label->kind = PTX_LABEL_PROTOTYPE;
        struct ptx_function *prototype = base_new(parser->arena, struct ptx_function);
        prototype->module = parser->module;
        prototype->is_prototype = true;
        prototype->line = place.line;
        if (ptx_scan_peek(parser) == '(')
            ptx_parse_params(parser, prototype, true);
        prototype->name = ptx_scan_name(parser, "'_'")->text;
        if (ptx_scan_peek(parser) == '(')
            ptx_parse_params(parser, prototype, false);
        ptx_parse_attrs(parser, prototype);
        ptx_scan_need(parser, ';');
        label->prototype = prototype;
    } else {
        parser->at = dot; // an ordinary label before a directive such as .loc
    }
}

void ptx_parse_statements(struct ptx_parser *parser)
{
    size_t depth = parser->scopes.count;
    for (;;) {
        char c = ptx_scan_peek(parser);
        struct ptx_place place = ptx_scan_place(parser);
        if (c == '\0' && parser->at == parser->end)
            return;
        if (c == '}') {
            if (parser->scopes.count == depth)
                return;
            parser->at++;
            ptx_add_stmt(parser, sizeof(struct ptx_stmt), PTX_STMT_CLOSE, place);
            ptx_close_scope(parser);
        } else if (c == '{') {
            parser->at++;
            ptx_add_stmt(parser, sizeof(struct ptx_stmt), PTX_STMT_OPEN, place);
            ptx_open_scope(parser);
        } else if (c == ';') {
            parser->at++;
        } else if (c == '.') {
            parse_body_directive(parser);
        } else if (c == '@') {
            ptx_parse_instr(parser, NULL, place);
        } else {
            struct ptx_name *name = ptx_scan_name(parser, "a directive, a label or an instruction");
            // One colon makes a label; two colons belong to a modifier and cannot follow an opcode
            // here.
            if (ptx_scan_peek(parser) == ':') {
                parser->at++;
                parse_label(parser, name, place);
            } else {
                ptx_parse_instr(parser, name, place);
            }
        }
    }
}

void ptx_parse_attrs(struct ptx_parser *parser, struct ptx_function *function)
{
    BASE_ARRAY(struct ptx_attr) attrs = {0};
    while (ptx_scan_peek(parser) == '.') {
        const char *dot = parser->at++;
        struct base_str word = ptx_scan_word(parser, "a directive");
        struct ptx_attr *attr = base_array_add(&attrs, parser->arena);
        attr->name = base_alloc_text(parser->arena, dot, word.length + 1);
        char c = ptx_scan_peek(parser);
        if (c == '"') {
            parser->text.length = 0;
            do {
                const char *string = ptx_scan_string(parser);
                base_buf_printf(&parser->text, "%s%s", parser->text.length ? ", " : "", string);
            } while (ptx_scan_take(parser, ','));
            attr->text = ptx_parser_text(parser);
            ptx_scan_take(parser, ';');
        } else if (c >= '0' && c <= '9') {
            do {
                if (attr->count == 3)
                    ptx_scan_expected(parser, "at most three numbers");
                attr->values[attr->count++] = ptx_parse_u64(parser, "a number");
            } while (ptx_scan_take(parser, ','));
        }
    }
    function->attrs = attrs.items;
    function->attr_count = (uint32_t)attrs.count;
}

// Parameters in register space are registers of the body; those in parameter space are variables.
static void bind_params(struct ptx_parser *parser, struct ptx_var **params, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct ptx_var *var = params[i];
        if (var->space != PTX_SPACE_REG) {
            ptx_bind_var(parser, var);
        } else if (strcmp(var->name, "_") != 0) {
            struct ptx_name *name = ptx_name_intern(parser->names, var->name, strlen(var->name));
            var->reg = ptx_declare_reg(parser, name, (enum ptx_type)var->type, var->vec);
        }
    }
}

void ptx_parse_body(struct ptx_parser *parser, struct ptx_function *function)
{
    struct ptx_place start = ptx_scan_place(parser);
    ptx_scan_need(parser, '{');
    parser->function = function;
    parser->loc = NULL;
    ptx_open_scope(parser);
    function->scope = innermost(parser)->scope;
    function->has_body = true;
    bind_params(parser, function->returns, function->return_count);
    bind_params(parser, function->params, function->param_count);
    ptx_parse_statements(parser);
    if (parser->at == parser->end)
        ptx_scan_fail(parser, start, "this body has no end: expected '}'");
    parser->at++;
    ptx_close_scope(parser);
    parser->function = NULL;
    ptx_function_number(function);
}
