// SPDX-License-Identifier: Apache-2.0
// Edits a module. The parser itself parses inserted text, in its place, so that there is one
// definition of an instruction. Names of edits begin with "glint_" and are checked to be new.
#include "edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parser.h"

const char *ptx_fresh_name(struct ptx_module *module, const char *prefix)
{
    struct base_arena *arena = &module->arena;
    jmp_buf escape;
    arena->escape = &escape;
    const char *name = NULL;
    if (setjmp(escape) == 0) {
        char text[64];
        size_t before;
        struct ptx_name *interned;
        do {
            int length = snprintf(text, sizeof(text), "%.40s%u", prefix, module->edits++);
            before = module->names->count;
            interned = ptx_name_intern(module->names, text, (size_t)length);
        } while (module->names->count == before);
        name = interned->text;
    }
    arena->escape = NULL;
    return name;
}

static struct ptx_parser *start(struct ptx_module *module, const char *text,
                                struct base_error *error)
{
    struct ptx_parser *parser = calloc(1, sizeof(*parser));
    if (!parser)
        return NULL;
    parser->module = module;
    parser->arena = &module->arena;
    parser->names = module->names;
    parser->error = error;
    memset(error, 0, sizeof(*error));
    ptx_scan_start(parser, text, strlen(text));
    return parser;
}

static enum base_code insert_text(struct ptx_function *function, struct ptx_stmt *before,
                                  const char *text, const struct ptx_operand *arguments,
                                  unsigned argument_count, struct base_error *problem)
{
    struct ptx_parser *parser = start(function->module, text, problem);
    if (!parser)
        return base_no_memory_while(problem, "editing %s", function->name);
    struct ptx_stmt *const above = before ? before->prev : function->last;
    const size_t regs = function->reg_count;
    const uint32_t scopes = function->scope_count;
    parser->function = function;
    parser->insert_before = before;
    parser->arguments = arguments;
    parser->argument_count = argument_count;
    struct ptx_stmt *near = before ? before : above;
    if (near && near->kind == PTX_STMT_INSTR)
        parser->loc = ((struct ptx_instr *)near)->loc;
    parser->arena->escape = &parser->escape;
    enum base_code code = BASE_OK;
    if (setjmp(parser->escape) == 0) {
        struct ptx_open_scope *open = base_array_push(&parser->scopes);
        if (!open)
            longjmp(parser->escape, 1);
        open->scope = before ? before->scope : function->scope;
        ptx_parse_statements(parser);
        if (parser->at < parser->end)
            ptx_scan_expected(parser, "a statement");
        if (parser->scopes.count != 1)
            ptx_scan_expected(parser, "'}'");
        ptx_close_scope(parser);
        struct ptx_stmt *stmt = above ? above->next : function->first;
        for (; stmt != before; stmt = stmt->next)
            stmt->line = stmt->column = 0;
    } else {
        code = ptx_parser_failure(parser);
        *(above ? &above->next : &function->first) = before;
        *(before ? &before->prev : &function->last) = above;
        function->reg_count = regs;
        function->scope_count = scopes;
    }
    ptx_parser_fini(parser);
    free(parser);
    return code;
}

enum base_code ptx_insert_text(struct ptx_function *function, struct ptx_stmt *before,
                               const char *text, const struct ptx_operand *arguments,
                               unsigned argument_count, struct base_error *error)
{
    struct base_error own = {0};
    struct base_error *problem = error ? error : &own;
    enum base_code code = insert_text(function, before, text, arguments, argument_count, problem);
    return code == BASE_OK ? BASE_OK : base_fail_while(problem, "editing %s", function->name);
}

struct ptx_stmt *ptx_place_before(struct ptx_instr *instr)
{
    struct ptx_stmt *stmt = &instr->stmt;
    while (stmt->prev && stmt->prev->kind == PTX_STMT_PRAGMA &&
           strncmp(((struct ptx_pragma *)stmt->prev)->text, "\"used_bytes_mask", 16) == 0)
        stmt = stmt->prev;
    return stmt;
}

struct ptx_stmt *ptx_place_after(struct ptx_instr *instr)
{
    return instr->stmt.next;
}

struct ptx_stmt *ptx_place_entry(struct ptx_function *function)
{
    struct ptx_stmt *stmt = function->first;
    while (stmt && (stmt->kind == PTX_STMT_REGS || stmt->kind == PTX_STMT_VAR ||
                    stmt->kind == PTX_STMT_PRAGMA))
        stmt = stmt->next;
    return stmt;
}

struct ptx_reg *ptx_add_reg(struct ptx_function *function, enum ptx_type type, const char *prefix)
{
    char start_of_name[48];
    snprintf(start_of_name, sizeof(start_of_name), "%%glint_%.30s", prefix);
    const char *name = ptx_fresh_name(function->module, start_of_name);
    if (!name)
        return NULL;
    char text[96];
    snprintf(text, sizeof(text), ".reg .%s %s;", ptx_type_info(type)->name, name);
    if (ptx_insert_text(function, function->first, text, NULL, 0, NULL) != BASE_OK)
        return NULL;
    return function->regs[function->reg_count - 1];
}

struct ptx_var *ptx_add_param(struct ptx_function *function, enum ptx_type type, const char *name)
{
    struct base_arena *arena = &function->module->arena;
    jmp_buf escape;
    struct ptx_var *volatile made = NULL;
    arena->escape = &escape;
    if (setjmp(escape) == 0) {
        struct ptx_var *var = base_new(arena, struct ptx_var);
        struct ptx_var **params =
            base_new_array(arena, struct ptx_var *, (size_t)function->param_count + 1);
        if (function->param_count)
            memcpy(params, function->params, function->param_count * sizeof(*params));
        var->name = base_alloc_text(arena, name, strlen(name));
        var->space = PTX_SPACE_PARAM;
        var->type = (uint8_t)type;
        var->vec = 1;
        var->size_bytes = ptx_type_bytes(type);
        var->is_param = true;
        var->function = function;
        var->index = function->param_count;
        params[function->param_count++] = var;
        function->params = params;
        made = var;
    }
    arena->escape = NULL;
    return made;
}

static enum base_code add_var(struct ptx_module *module, const char *text,
                              struct base_error *problem)
{
    struct ptx_parser *parser = start(module, text, problem);
    if (!parser)
        return base_no_memory_while(problem, "editing %s", module->name);
    struct ptx_item *const last = module->last;
    const struct ptx_module before = *module;
    struct ptx_scope_bindings bindings = {0};
    parser->module_bindings = &bindings;
    enum base_code code = BASE_OK;
    parser->arena->escape = &parser->escape;
    if (setjmp(parser->escape) == 0) {
        ptx_parse_item(parser);
        ptx_scan_space(parser);
        if (module->last == last || module->last->prev != last ||
            module->last->kind != PTX_ITEM_VAR || parser->at < parser->end)
            ptx_scan_expected(parser, "one variable with a new name");
        struct ptx_item *item = module->last, *first = module->first;
        while (first != item && first->kind != PTX_ITEM_FUNCTION)
            first = first->next;
        if (first != item) {
            item->prev->next = NULL;
            module->last = item->prev;
            item->prev = first->prev;
            item->next = first;
            *(first->prev ? &first->prev->next : &module->first) = item;
            first->prev = item;
        }
    } else {
        code = ptx_parser_failure(parser);
        module->last = last;
        *(last ? &last->next : &module->first) = NULL;
        module->version_major = before.version_major;
        module->version_minor = before.version_minor;
        module->target = before.target;
        module->address_size = before.address_size;
        ptx_names_unbind(&bindings);
    }
    ptx_parser_fini(parser);
    free(parser);
    return code;
}

enum base_code ptx_add_var(struct ptx_module *module, const char *text, struct base_error *error)
{
    struct base_error own = {0};
    struct base_error *problem = error ? error : &own;
    enum base_code code = add_var(module, text, problem);
    return code == BASE_OK ? BASE_OK : base_fail_while(problem, "editing %s", module->name);
}
