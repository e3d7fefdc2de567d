// SPDX-License-Identifier: Apache-2.0
// Parses the module's top level, and holds the entry points of the parser with their error
// recovery.
#include <stdlib.h>
#include <string.h>

#include "parser.h"

static struct ptx_item *add_item(struct ptx_parser *parser, enum ptx_item_kind kind)
{
    struct ptx_module *module = parser->module;
    struct ptx_item *item = base_new(parser->arena, struct ptx_item);
    item->kind = (uint8_t)kind;
    item->line = parser->line;
    item->prev = module->last;
    *(module->last ? &module->last->next : &module->first) = item;
    module->last = item;
    return item;
}

static void take_var(struct ptx_parser *parser, struct ptx_var *var)
{
    add_item(parser, PTX_ITEM_VAR)->var = var;
}

// Parses .func (returns) name (params) attributes, then a body or a semicolon.
static void parse_function(struct ptx_parser *parser, bool is_entry, uint8_t linkage)
{
    struct ptx_function *function = base_new(parser->arena, struct ptx_function);
    function->module = parser->module;
    function->is_entry = is_entry;
    function->linkage = linkage;
    function->line = parser->line;
    if (ptx_scan_peek(parser) == '.') {
        parser->at++;
        struct ptx_place place = ptx_scan_place(parser);
        struct base_str word = ptx_scan_word(parser, "a directive");
        if (!base_str_is(word, "attribute"))
            ptx_scan_fail(parser, place,
                          "expected '.attribute' or a function's name, found '.%.*s'",
                          BASE_STR_ARG(word));
        function->attributes = ptx_scan_parenthesised(parser);
    }
    if (ptx_scan_peek(parser) == '(')
        ptx_parse_params(parser, function, true);
    ptx_scan_space(parser);
    struct ptx_place place = ptx_scan_place(parser);
    struct ptx_name *name = ptx_scan_name(parser, "a function's name");
    function->name = name->text;
    if (ptx_scan_peek(parser) == '(')
        ptx_parse_params(parser, function, false);
    ptx_parse_attrs(parser, function);
    struct ptx_binding *binding =
        ptx_name_bind(parser->names, name, NULL, PTX_BOUND_FUNCTION, parser->module_bindings);
    if (!binding) {
        binding = name->bound;
        if (binding->kind != PTX_BOUND_FUNCTION)
            ptx_scan_fail(parser, place, "'%.60s' is declared twice", name->text);
    }
    // Earlier uses refer to the declaration; both stay in the module.
    if (!binding->function)
        binding->function = function;
    add_item(parser, PTX_ITEM_FUNCTION)->function = function;
    if (ptx_scan_take(parser, ';'))
        return;
    if (binding->function->has_body)
        ptx_scan_fail(parser, place, "function '%.60s' has two bodies", name->text);
    if (ptx_scan_peek(parser) != '{')
        ptx_scan_expected(parser, "'{', ';' or a directive");
    binding->function = function;
    ptx_parse_body(parser, function);
}

static void parse_file(struct ptx_parser *parser)
{
    struct ptx_item *item = add_item(parser, PTX_ITEM_FILE);
    item->file.index = ptx_parse_u64(parser, "a file's number");
    const char *string = ptx_scan_string(parser);
    item->file.path = base_alloc_text(parser->arena, string + 1, strlen(string) - 2);
    if (ptx_scan_take(parser, ',')) {
        item->file.has_stamp = true;
        item->file.timestamp = ptx_parse_u64(parser, "a time");
        ptx_scan_need(parser, ',');
        item->file.size = ptx_parse_u64(parser, "a size");
    }
}

static void parse_target(struct ptx_parser *parser)
{
    parser->text.length = 0;
    do {
        struct ptx_name *name = ptx_scan_name(parser, "a target such as sm_90");
        base_buf_printf(&parser->text, "%s%s", parser->text.length ? ", " : "", name->text);
    } while (ptx_scan_take(parser, ','));
    parser->module->target = ptx_parser_text(parser);
}

static void parse_version(struct ptx_parser *parser)
{
    char c;
    uint32_t numbers[2] = {0, 0};
    ptx_scan_space(parser);
    for (int i = 0; i < 2; i++) {
        if (parser->at == parser->end || *parser->at < '0' || *parser->at > '9')
            ptx_scan_expected(parser, "a version such as 9.0");
        while (parser->at < parser->end && (c = *parser->at) >= '0' && c <= '9') {
            numbers[i] = (numbers[i] * 10 + (uint32_t)(c - '0')) % 100000;
            parser->at++;
        }
        if (i == 0 && (parser->at == parser->end || *parser->at != '.'))
            ptx_scan_expected(parser, "'.' in a version such as 9.0");
        parser->at += i == 0;
    }
    parser->module->version_major = numbers[0];
    parser->module->version_minor = numbers[1];
}

void ptx_parse_item(struct ptx_parser *parser)
{
    struct ptx_module *module = parser->module;
    struct ptx_place place = (ptx_scan_space(parser), ptx_scan_place(parser));
    if (!ptx_scan_take(parser, '.'))
        ptx_scan_expected(parser, "a directive");
    struct base_str word = ptx_scan_word(parser, "a directive");
    uint8_t linkage = 0, more;
    while ((more = ptx_parse_linkage(word)) != 0) {
        linkage |= more;
        ptx_scan_need(parser, '.');
        word = ptx_scan_word(parser, "a directive");
    }
    enum ptx_space space = ptx_space_find(word);
    if (base_str_is(word, "entry") || base_str_is(word, "func")) {
        parse_function(parser, word.text[0] == 'e', linkage);
    } else if (space != PTX_SPACE_COUNT && space != PTX_SPACE_REG && space != PTX_SPACE_SREG) {
        ptx_parse_vars(parser, space, linkage, take_var);
    } else if (linkage) {
        ptx_scan_fail(parser, place, "expected a function or a variable behind its linkage");
    } else if (base_str_is(word, "version")) {
        parse_version(parser);
    } else if (base_str_is(word, "target")) {
        parse_target(parser);
    } else if (base_str_is(word, "address_size")) {
        module->states_address_size = true;
        module->address_size = ptx_parse_u32(parser, "32 or 64");
        if (module->address_size != 32 && module->address_size != 64)
            ptx_scan_fail(parser, place, "expected an address size of 32 or 64, found %u",
                          module->address_size);
    } else if (base_str_is(word, "file")) {
        parse_file(parser);
    } else if (base_str_is(word, "loc")) {
        struct ptx_loc *loc = ptx_parse_loc(parser);
        add_item(parser, PTX_ITEM_LOC)->loc = loc;
    } else if (base_str_is(word, "section")) {
        ptx_parse_section(parser, add_item(parser, PTX_ITEM_SECTION));
    } else if (base_str_is(word, "pragma")) {
        do {
            const char *text = ptx_scan_string(parser);
            add_item(parser, PTX_ITEM_PRAGMA)->text = text;
        } while (ptx_scan_take(parser, ','));
        ptx_scan_need(parser, ';');
    } else if (base_str_is(word, "alias")) {
        struct ptx_item *item = add_item(parser, PTX_ITEM_ALIAS);
        item->alias.alias = ptx_scan_name(parser, "a function's name")->text;
        ptx_scan_need(parser, ',');
        item->alias.target = ptx_scan_name(parser, "a function's name")->text;
        ptx_scan_need(parser, ';');
    } else {
        ptx_scan_fail(parser, place, "expected a directive, found '.%.*s'", BASE_STR_ARG(word));
    }
}

void ptx_parser_fini(struct ptx_parser *parser)
{
    ptx_forget_pending(parser);
    while (parser->scopes.count)
        ptx_names_unbind(&parser->scopes.items[--parser->scopes.count].bindings);
    base_array_fini(&parser->scopes);
    base_array_fini(&parser->scratch);
    base_array_fini(&parser->data);
    base_array_fini(&parser->section);
    base_buf_fini(&parser->text);
    parser->arena->escape = NULL;
}

void ptx_parser_no_memory(struct ptx_parser *parser)
{
    base_no_memory_while(parser->error, "reading %s", parser->module->name);
    longjmp(parser->escape, 1);
}

const char *ptx_parser_text(struct ptx_parser *parser)
{
    if (parser->text.failed)
        ptx_parser_no_memory(parser);
    return base_alloc_text(parser->arena, parser->text.text ? parser->text.text : "",
                           parser->text.length);
}

enum base_code ptx_parser_failure(struct ptx_parser *parser)
{
    if (parser->error->code == BASE_OK)
        base_no_memory_while(parser->error, "reading %s", parser->module->name);
    return parser->error->code;
}

enum base_code ptx_parse_within(const char *text, size_t length, const char *name,
                                size_t limit_bytes, struct ptx_module **module,
                                struct base_error *error)
{
    struct base_error ignored = {0};
    struct base_error *problem = error ? error : &ignored;
    memset(problem, 0, sizeof(*problem));
    *module = NULL;
    struct ptx_module *made = calloc(1, sizeof(*made));
    struct ptx_parser *parser = calloc(1, sizeof(*parser));
    if (!made || !parser) {
        free(made);
        free(parser);
        return base_no_memory_while(problem, "reading %s", name);
    }
    base_arena_init(&made->arena, limit_bytes);
    made->name = name;
    made->address_size = 32;
    parser->module = made;
    parser->arena = &made->arena;
    parser->error = problem;
    made->arena.escape = &parser->escape;
    if (setjmp(parser->escape) == 0) {
        made->name = base_alloc_text(&made->arena, name, strlen(name));
        parser->names = made->names = ptx_names_create(&made->arena);
        ptx_scan_start(parser, text, length);
        while (parser->end > text && parser->end[-1] == '\0') // fatbins pad their text
            parser->end--;
        if (ptx_scan_peek(parser) != '.')
            ptx_scan_expected(parser, "'.version'");
        while (ptx_scan_space(parser), parser->at < parser->end)
            ptx_parse_item(parser);
        if (!made->version_major || !made->target)
            ptx_scan_fail(parser, (struct ptx_place){1, 1}, "expected '.version' and '.target'");
        ptx_parser_fini(parser);
        free(parser);
        *module = made;
        return BASE_OK;
    }
    enum base_code code = ptx_parser_failure(parser);
    ptx_parser_fini(parser);
    free(parser);
    ptx_module_destroy(made);
    return code;
}

enum base_code ptx_parse(const char *text, size_t length, const char *name,
                         struct ptx_module **module, struct base_error *error)
{
    return ptx_parse_within(text, length, name, 0, module, error);
}

void ptx_module_destroy(struct ptx_module *module)
{
    if (!module)
        return;
    base_arena_fini(&module->arena);
    free(module);
}
