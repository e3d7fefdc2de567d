// SPDX-License-Identifier: Apache-2.0
// Edits: text is parsed by the parser itself, in the place where it goes, so that there is one
// definition of what an instruction is. New names start with "glint_" and are checked to be new.
#include "edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parser.h"

// A name in the module's memory that nothing has yet; NULL when memory ran out.
static const char *fresh_name(struct ptx_module *module, const char *prefix)
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
    BASE_RETURN_IF(!parser, problem, BASE_NO_MEMORY, "out of memory editing %s", function->name);
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

// The first label of a block, or NULL where nothing branches to it.
static struct ptx_label *first_label(const struct ptx_cfg *cfg, uint32_t block)
{
    const struct ptx_block *at = &cfg->blocks[block];
    struct ptx_stmt *stmt = at->instr_count ? at->instrs[0]->stmt.prev : cfg->function->last;
    struct ptx_label *label = NULL;
    for (; stmt && stmt->kind != PTX_STMT_INSTR; stmt = stmt->prev) {
        if (stmt->kind == PTX_STMT_LABEL && ((struct ptx_label *)stmt)->kind == PTX_LABEL_CODE)
            label = (struct ptx_label *)stmt;
    }
    return label;
}

static bool is_label_of(const struct ptx_cfg *cfg, const struct ptx_operand *operand,
                        uint32_t block)
{
    if (operand->kind != PTX_OPERAND_LABEL || operand->label->kind != PTX_LABEL_CODE)
        return false;
    struct ptx_stmt *stmt = &operand->label->stmt;
    while (stmt && stmt->kind != PTX_STMT_INSTR)
        stmt = stmt->next;
    const struct ptx_block *at = &cfg->blocks[block];
    return at->instr_count ? stmt == &at->instrs[0]->stmt : stmt == NULL;
}

// Leads the branch at the end of `from` to a new label instead of the block `to`. The label need
// not stand anywhere yet.
static void retarget(const struct ptx_cfg *cfg, uint32_t from, uint32_t to, struct ptx_label *label)
{
    const struct ptx_block *block = &cfg->blocks[from];
    struct ptx_instr *last = block->instr_count ? block->instrs[block->instr_count - 1] : NULL;
    if (!last || !(ptx_flags(last) & PTX_FLAG_BRANCH))
        return;
    struct ptx_operand *where = &last->operands[last->operand_count - 1];
    if (is_label_of(cfg, where, to)) {
        where->label = label;
    } else if (where->kind == PTX_OPERAND_LABEL && where->label->kind == PTX_LABEL_BRANCH_TARGETS) {
        for (uint32_t i = 0; i < where->label->target_count; i++) {
            if (is_label_of(cfg, &where->label->targets[i], to))
                where->label->targets[i].label = label;
        }
    }
}

// True where control can run from the statement above into this place.
static bool falls_into(const struct ptx_stmt *place)
{
    const struct ptx_stmt *stmt = place->prev;
    while (stmt && stmt->kind != PTX_STMT_INSTR)
        stmt = stmt->prev;
    if (!stmt)
        return true;
    const struct ptx_instr *instr = (const struct ptx_instr *)stmt;
    return instr->guard || !(ptx_flags(instr) & (PTX_FLAG_BRANCH | PTX_FLAG_END));
}

// Puts `name: text` just before a block's first label, into which it runs. Who runs into the block
// from above passes through the new code where `through` says so, and around it otherwise.
static enum base_code insert_block(struct ptx_cfg *cfg, uint32_t block, bool through,
                                   const char *text, const struct ptx_operand *arguments,
                                   unsigned argument_count, struct ptx_label **made,
                                   struct base_error *error)
{
    struct ptx_function *function = cfg->function;
    struct ptx_label *label = first_label(cfg, block);
    BASE_RETURN_IF(!label, error, BASE_INVALID, "%s: a block without a label was to be entered",
                   function->name);
    BASE_RETURN_IF(argument_count >= 15, error, BASE_INVALID, "too many arguments for an edit");
    const char *name = fresh_name(function->module, "$glint_at");
    struct base_buf full = {0};
    if (!through && falls_into(&label->stmt))
        base_buf_printf(&full, "bra.uni #%u;\n", argument_count);
    base_buf_printf(&full, "%s:\n", name ? name : "");
    base_buf_puts(&full, text);
    struct ptx_operand all[16];
    if (argument_count)
        memcpy(all, arguments, argument_count * sizeof(*all));
    all[argument_count] = (struct ptx_operand){.kind = PTX_OPERAND_LABEL, .label = label};
    struct ptx_stmt *above = label->stmt.prev;
    enum base_code code =
        !name || full.failed
            ? base_fail(error, BASE_NO_MEMORY, "out of memory editing %s", function->name)
            : ptx_insert_text(function, &label->stmt, full.text, all, argument_count + 1, error);
    base_buf_fini(&full);
    if (code != BASE_OK)
        return code;
    struct ptx_stmt *stmt = above ? above->next : function->first;
    while (stmt->kind != PTX_STMT_LABEL)
        stmt = stmt->next;
    *made = (struct ptx_label *)stmt;
    return BASE_OK;
}

enum base_code ptx_insert_preheader(struct ptx_cfg *cfg, uint32_t loop_index, const char *text,
                                    const struct ptx_operand *arguments, unsigned argument_count,
                                    struct base_error *error)
{
    const struct ptx_loop *loop = &cfg->loops[loop_index];
    if (loop->preheader != PTX_NO_BLOCK) {
        const struct ptx_block *block = &cfg->blocks[loop->preheader];
        struct ptx_instr *last = block->instr_count ? block->instrs[block->instr_count - 1] : NULL;
        if (last) {
            bool leaves = ptx_flags(last) & PTX_FLAG_BRANCH;
            return ptx_insert_text(cfg->function,
                                   leaves ? ptx_place_before(last) : ptx_place_after(last), text,
                                   arguments, argument_count, error);
        }
    }
    bool from_above_is_inside =
        loop->header > 0 && ptx_loop_contains(cfg, loop_index, loop->header - 1);
    struct ptx_label *label;
    enum base_code code = insert_block(cfg, loop->header, !from_above_is_inside, text, arguments,
                                       argument_count, &label, error);
    if (code != BASE_OK)
        return code;
    const struct ptx_block *header = &cfg->blocks[loop->header];
    for (uint32_t i = 0; i < header->pred_count; i++) {
        if (!ptx_loop_contains(cfg, loop_index, header->preds[i]))
            retarget(cfg, header->preds[i], loop->header, label);
    }
    return BASE_OK;
}

// A thread that ends inside the loop leaves it too.
static enum base_code insert_before_end(struct ptx_cfg *cfg, struct ptx_instr *end,
                                        const char *text, const struct ptx_operand *arguments,
                                        unsigned argument_count, struct base_error *error)
{
    struct ptx_function *function = cfg->function;
    if (!end->guard)
        return ptx_insert_text(function, &end->stmt, text, arguments, argument_count, error);
    BASE_RETURN_IF(argument_count >= 15, error, BASE_INVALID, "too many arguments for an edit");
    const char *skip = fresh_name(function->module, "$glint_past");
    struct base_buf full = {0};
    base_buf_printf(&full, "@%s#%u bra %s;\n%s\n%s;\n%s:\n", end->guard_negated ? "" : "!",
                    argument_count, skip ? skip : "", text, end->form->text, skip ? skip : "");
    struct ptx_operand all[16];
    if (argument_count)
        memcpy(all, arguments, argument_count * sizeof(*all));
    all[argument_count] = ptx_operand_of(end->guard);
    enum base_code code =
        !skip || full.failed
            ? base_fail(error, BASE_NO_MEMORY, "out of memory editing %s", function->name)
            : ptx_insert_text(function, &end->stmt, full.text, all, argument_count + 1, error);
    base_buf_fini(&full);
    if (code == BASE_OK) {
        // The guarded end itself is now dead weight: everybody who gets past the label stays.
        end->stmt.prev->next = end->stmt.next;
        *(end->stmt.next ? &end->stmt.next->prev : &function->last) = end->stmt.prev;
    }
    return code;
}

enum base_code ptx_insert_exits(struct ptx_cfg *cfg, uint32_t loop_index, const char *text,
                                const struct ptx_operand *arguments, unsigned argument_count,
                                struct base_error *error)
{
    const struct ptx_loop *loop = &cfg->loops[loop_index];
    enum base_code code = BASE_OK;
    for (uint32_t i = 0; i < loop->exit_count && code == BASE_OK; i++) {
        const struct ptx_edge *edge = &loop->exits[i];
        const struct ptx_block *from = &cfg->blocks[edge->from];
        struct ptx_instr *last = from->instrs[from->instr_count - 1];
        const struct ptx_operand *where =
            last->operand_count ? &last->operands[last->operand_count - 1] : NULL;
        bool branches = where && ptx_flags(last) & PTX_FLAG_BRANCH;
        bool jumps = branches && (ptx_op(last) != PTX_OP_BRA || is_label_of(cfg, where, edge->to));
        if (!jumps) {
            code = ptx_insert_text(cfg->function, ptx_place_after(last), text, arguments,
                                   argument_count, error);
            continue;
        }
        struct ptx_label *label = NULL;
        code = insert_block(cfg, edge->to, false, text, arguments, argument_count, &label, error);
        if (code == BASE_OK)
            retarget(cfg, edge->from, edge->to, label);
    }
    for (uint32_t i = 0; i < loop->block_count && code == BASE_OK; i++) {
        const struct ptx_block *block = &cfg->blocks[loop->blocks[i]];
        struct ptx_instr *last = block->instr_count ? block->instrs[block->instr_count - 1] : NULL;
        if (last && ptx_flags(last) & PTX_FLAG_END)
            code = insert_before_end(cfg, last, text, arguments, argument_count, error);
    }
    return code;
}

struct ptx_reg *ptx_add_reg(struct ptx_function *function, enum ptx_type type, const char *prefix)
{
    char start_of_name[48];
    snprintf(start_of_name, sizeof(start_of_name), "%%glint_%.30s", prefix);
    const char *name = fresh_name(function->module, start_of_name);
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
    BASE_RETURN_IF(!parser, problem, BASE_NO_MEMORY, "out of memory editing %s", module->name);
    struct ptx_item *const last = module->last;
    enum base_code code = BASE_OK;
    parser->arena->escape = &parser->escape;
    if (setjmp(parser->escape) == 0) {
        size_t names = module->names->count;
        ptx_parse_item(parser);
        if (module->last == last || module->last->prev != last ||
            module->last->kind != PTX_ITEM_VAR || parser->at < parser->end ||
            module->names->count == names)
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
