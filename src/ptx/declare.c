// SPDX-License-Identifier: Apache-2.0
// Parses declarations: variables of every state space, parameters, initialisers, and the data of
// sections.
#include <string.h>

#include "parser.h"

enum { MOST_DIMENSIONS = 16, LARGEST_FAMILY = 1 << 16 };

uint8_t ptx_parse_linkage(struct base_str word)
{
    return base_str_is(word, "visible")  ? PTX_LINK_VISIBLE
           : base_str_is(word, "extern") ? PTX_LINK_EXTERN
           : base_str_is(word, "weak")   ? PTX_LINK_WEAK
           : base_str_is(word, "common") ? PTX_LINK_COMMON
                                         : 0;
}

void ptx_bind_var(struct ptx_parser *parser, struct ptx_var *var)
{
    if (strcmp(var->name, "_") == 0)
        return;
    struct ptx_open_scope *open =
        parser->scopes.count ? &parser->scopes.items[parser->scopes.count - 1] : NULL;
    struct ptx_name *name = ptx_name_intern(parser->names, var->name, strlen(var->name));
    struct ptx_binding *binding =
        ptx_name_bind(parser->names, name, open ? open->scope : NULL, PTX_BOUND_VAR,
                      open ? &open->bindings : parser->module_bindings);
    if (!binding) {
        // At module level a declaration may be repeated: .extern first, then the definition.
        binding = name->bound;
        if (open || parser->module_bindings || binding->kind != PTX_BOUND_VAR)
            ptx_scan_fail(parser, (struct ptx_place){var->line, 1}, "'%.60s' is declared twice",
                          var->name);
    }
    binding->var = var;
}

// Parses the words between the state space and the name: alignment, vector, type, pointer
// attributes.
static void parse_var_type(struct ptx_parser *parser, struct ptx_var *var)
{
    while (ptx_scan_peek(parser) == '.') {
        struct ptx_place place = ptx_scan_place(parser);
        parser->at++;
        struct base_str word = ptx_scan_word(parser, "a type");
        enum ptx_type type = ptx_type_find(word);
        enum ptx_space space = ptx_space_find(word);
        if (type != PTX_TYPE_NONE) {
            var->type = (uint8_t)type;
        } else if (base_str_is(word, "align")) {
            uint32_t align = ptx_parse_u32(parser, "an alignment in bytes");
            if (align == 0 || (align & (align - 1)))
                ptx_scan_fail(parser, place,
                              "expected an alignment that is a power of two, found %u", align);
            *(var->is_ptr ? &var->ptr_align : &var->align) = align;
        } else if (base_str_is(word, "ptr")) {
            var->is_ptr = true;
        } else if (var->is_ptr && space != PTX_SPACE_COUNT) {
            var->ptr_space = (uint8_t)space;
        } else if (base_str_is(word, "v2") || base_str_is(word, "v4") || base_str_is(word, "v8")) {
            var->vec = (uint8_t)(word.text[1] - '0');
        } else if (base_str_is(word, "attribute")) {
            var->attributes = ptx_scan_parenthesised(parser);
            var->managed = strstr(var->attributes, ".managed") != NULL;
        } else {
            ptx_scan_fail(parser, place,
                          "expected a type or attribute of a variable, found '.%.*s'",
                          BASE_STR_ARG(word));
        }
    }
    if (var->type == PTX_TYPE_NONE)
        ptx_scan_expected(parser, "a type");
}

// Parses [4][2] or [] and sets the size, which must fit 64 bits.
static void parse_dimensions(struct ptx_parser *parser, struct ptx_var *var)
{
    uint64_t dims[MOST_DIMENSIONS];
    struct ptx_place place = ptx_scan_place(parser);
    uint64_t size = (uint64_t)ptx_type_bytes((enum ptx_type)var->type) * var->vec;
    while (ptx_scan_take(parser, '[')) {
        if (var->dim_count == MOST_DIMENSIONS)
            ptx_scan_fail(parser, place, "expected at most %d dimensions", MOST_DIMENSIONS);
        uint64_t extent =
            ptx_scan_peek(parser) == ']' ? 0 : ptx_parse_u64(parser, "an array's length");
        ptx_scan_need(parser, ']');
        dims[var->dim_count++] = extent;
        if (__builtin_mul_overflow(size, extent, &size))
            ptx_scan_fail(parser, place, "this array does not fit 64-bit addresses");
    }
    var->size_bytes = size;
    if (var->dim_count) {
        var->dims = base_new_array(parser->arena, uint64_t, var->dim_count);
        memcpy(var->dims, dims, var->dim_count * sizeof(dims[0]));
    }
}

static struct ptx_init *add_init(struct ptx_parser *parser, enum ptx_init_kind kind)
{
    struct ptx_init *init = base_array_push(&parser->data);
    if (!init)
        ptx_parser_no_memory(parser);
    init->kind = (uint8_t)kind;
    return init;
}

static void add_constant(struct ptx_parser *parser)
{
    struct ptx_constant value = ptx_parse_constant(parser);
    struct ptx_init *init = add_init(parser, value.kind == PTX_CONSTANT_INT   ? PTX_INIT_INT
                                             : value.kind == PTX_CONSTANT_F32 ? PTX_INIT_F32
                                                                              : PTX_INIT_F64);
    init->bits = value.bits;
    init->hex = value.hex;
}

// Parses a name in an initialiser: a variable or function of the module, else a keyword.
static void add_named(struct ptx_parser *parser, struct ptx_name *name, bool generic, uint64_t mask)
{
    const struct ptx_binding *bound = name->bound;
    struct ptx_init *init;
    if (bound && bound->kind == PTX_BOUND_VAR) {
        init = add_init(parser, PTX_INIT_VAR);
        init->var = bound->var;
    } else if (bound && bound->kind == PTX_BOUND_FUNCTION) {
        init = add_init(parser, PTX_INIT_FUNCTION);
        init->function = bound->function;
    } else {
        init = add_init(parser, PTX_INIT_NAME);
        init->name = name->text;
    }
    init->generic = generic;
    init->mask = mask;
}

// Parses generic(var + 4), var + 4, name, field = value, or 0xFF00(var), which is one byte of an
// address.
static void parse_init_value(struct ptx_parser *parser)
{
    uint64_t mask = 0;
    if (ptx_scan_is_constant(parser)) {
        add_constant(parser);
        if (ptx_scan_peek(parser) != '(')
            return;
        mask = parser->data.items[--parser->data.count].bits;
        parser->at++;
    }
    struct ptx_name *name = ptx_scan_name(parser, "a value");
    if (!mask && ptx_scan_take(parser, '=')) {
        add_init(parser, PTX_INIT_FIELD)->name = name->text;
        if (ptx_scan_is_constant(parser))
            add_constant(parser);
        else
            add_init(parser, PTX_INIT_NAME)->name = ptx_scan_name(parser, "a value")->text;
        return;
    }
    bool generic = strcmp(name->text, "generic") == 0 && ptx_scan_take(parser, '(');
    if (generic)
        name = ptx_scan_name(parser, "a variable");
    add_named(parser, name, generic, mask);
    uint64_t offset = (uint64_t)ptx_parse_offset(parser);
    if (generic) {
        ptx_scan_need(parser, ')');
        offset += (uint64_t)ptx_parse_offset(parser);
    }
    if (mask)
        ptx_scan_need(parser, ')');
    parser->data.items[parser->data.count - 1].offset = (int64_t)offset;
}

static void parse_initialiser(struct ptx_parser *parser, struct ptx_var *var)
{
    parser->data.count = 0;
    unsigned depth = 0;
    do {
        if (ptx_scan_take(parser, '{')) {
            add_init(parser, PTX_INIT_OPEN);
            depth++;
            if (ptx_scan_peek(parser) != '}')
                continue;
        } else {
            parse_init_value(parser);
        }
        // A brace closes behind a value; a comma may precede it, and must if more values follow.
        bool comma = false;
        while (depth) {
            if (ptx_scan_take(parser, '}')) {
                add_init(parser, PTX_INIT_CLOSE);
                depth--;
                comma = false;
            } else if (!comma) {
                ptx_scan_need(parser, ',');
                comma = true;
            } else {
                break;
            }
        }
    } while (depth);
    var->init_count = parser->data.count;
    var->init = base_new_array(parser->arena, struct ptx_init, parser->data.count);
    memcpy(var->init, parser->data.items, parser->data.count * sizeof(*var->init));
    // An array without a length has as many elements as its initialiser.
    if (var->dim_count && var->dims[0] == 0) {
        uint64_t values = 0, inner = (uint64_t)ptx_type_bytes((enum ptx_type)var->type) * var->vec;
        for (size_t i = 0; i < parser->data.count; i++)
            values += parser->data.items[i].kind > PTX_INIT_CLOSE;
        uint64_t row = var->vec;
        for (uint32_t i = 1; i < var->dim_count; i++) {
            inner *= var->dims[i];
            row *= var->dims[i];
        }
        var->size_bytes = row ? (values + row - 1) / row * inner : 0;
    }
}

static struct ptx_var *new_var(struct ptx_parser *parser, enum ptx_space space, uint8_t linkage)
{
    struct ptx_var *var = base_new(parser->arena, struct ptx_var);
    var->space = (uint8_t)space;
    var->linkage = linkage;
    var->vec = 1;
    var->line = parser->line;
    var->function = parser->function;
    return var;
}

void ptx_parse_vars(struct ptx_parser *parser, enum ptx_space space, uint8_t linkage,
                    void (*take)(struct ptx_parser *parser, struct ptx_var *var))
{
    struct ptx_var *pattern = new_var(parser, space, linkage);
    parse_var_type(parser, pattern);
    do {
        struct ptx_place place = (ptx_scan_space(parser), ptx_scan_place(parser));
        struct ptx_var *var = new_var(parser, space, linkage);
        *var = *pattern;
        var->line = parser->line;
        struct ptx_name *name = ptx_scan_name(parser, "a variable's name");
        var->name = name->text;
        if (ptx_scan_take(parser, '<')) {
            uint64_t count = ptx_parse_family(parser, "how many variables");
            if (count > LARGEST_FAMILY)
                ptx_scan_fail(parser, place, "expected at most %d variables", LARGEST_FAMILY);
            var->size_bytes = (uint64_t)ptx_type_bytes((enum ptx_type)var->type) * var->vec;
            for (unsigned i = 0; i < count; i++) {
                struct ptx_var *member = base_new(parser->arena, struct ptx_var);
                *member = *var;
                parser->text.length = 0;
                base_buf_printf(&parser->text, "%s%u", name->text, i);
                member->name = ptx_parser_text(parser);
                ptx_bind_var(parser, member);
                take(parser, member);
            }
            continue;
        }
        parse_dimensions(parser, var);
        ptx_bind_var(parser, var);
        if (ptx_scan_take(parser, '='))
            parse_initialiser(parser, var);
        take(parser, var);
    } while (ptx_scan_take(parser, ','));
    ptx_scan_need(parser, ';');
}

void ptx_parse_params(struct ptx_parser *parser, struct ptx_function *function, bool returns)
{
    BASE_ARRAY(struct ptx_var *) list = {0};
    ptx_scan_need(parser, '(');
    while (ptx_scan_peek(parser) != ')') {
        if (list.count && !ptx_scan_take(parser, ','))
            ptx_scan_expected(parser, "',' or ')'");
        ptx_scan_space(parser);
        struct ptx_place place = ptx_scan_place(parser);
        ptx_scan_need(parser, '.');
        struct base_str word = ptx_scan_word(parser, "a parameter");
        enum ptx_space space = ptx_space_find(word);
        if (space != PTX_SPACE_PARAM && space != PTX_SPACE_REG)
            ptx_scan_fail(parser, place, "expected '.param' or '.reg', found '.%.*s'",
                          BASE_STR_ARG(word));
        struct ptx_var *var = new_var(parser, space, 0);
        var->is_param = true;
        var->function = function;
        parse_var_type(parser, var);
        struct ptx_name *name = ptx_scan_name(parser, "a parameter's name");
        var->name = name->text;
        var->index = (uint32_t)list.count;
        parse_dimensions(parser, var);
        *base_array_add(&list, parser->arena) = var;
    }
    ptx_scan_need(parser, ')');
    if (returns) {
        function->returns = list.items;
        function->return_count = (uint32_t)list.count;
    } else {
        function->params = list.items;
        function->param_count = (uint32_t)list.count;
    }
}

// Parses a number, or a label or section + offset, or the difference of two labels.
static void parse_section_value(struct ptx_parser *parser)
{
    char c = ptx_scan_peek(parser);
    bool section = c == '.' && parser->at + 1 < parser->end && ptx_scan_is_name(parser->at[1]);
    if (!section && !ptx_scan_is_name(c)) {
        add_constant(parser);
        return;
    }
    const char *text;
    if (section) {
        const char *start = parser->at++;
        struct base_str word = ptx_scan_word(parser, "a section");
        text = base_alloc_text(parser->arena, start, word.length + 1);
    } else {
        text = ptx_scan_name(parser, "a label")->text;
    }
    struct ptx_init *init = add_init(parser, PTX_INIT_NAME);
    init->name = text;
    if (ptx_scan_peek(parser) == '-') {
        const char *minus = parser->at++;
        if (ptx_scan_is_name(ptx_scan_peek(parser))) {
            init->difference = true;
            init->other = ptx_scan_name(parser, "a label")->text;
            return;
        }
        parser->at = minus;
    }
    init->offset = ptx_parse_offset(parser);
}

void ptx_parse_section(struct ptx_parser *parser, struct ptx_item *item)
{
    ptx_scan_need(parser, '.');
    struct base_str word = ptx_scan_word(parser, "a section's name");
    item->section.name = base_alloc_text(parser->arena, word.text, word.length);
    ptx_scan_need(parser, '{');
    parser->section.count = 0;
    while (!ptx_scan_take(parser, '}')) {
        struct ptx_section_line line = {0};
        if (ptx_scan_peek(parser) == '.') {
            parser->at++;
            struct ptx_place place = ptx_scan_place(parser);
            line.type = (uint8_t)ptx_type_find(ptx_scan_word(parser, "a type"));
            if (line.type == PTX_TYPE_NONE)
                ptx_scan_fail(parser, place, "expected .b8, .b16, .b32 or .b64 in a section");
            parser->data.count = 0;
            do {
                parse_section_value(parser);
            } while (ptx_scan_take(parser, ','));
            line.count = (uint32_t)parser->data.count;
            line.data = base_new_array(parser->arena, struct ptx_init, line.count);
            memcpy(line.data, parser->data.items, line.count * sizeof(*line.data));
        } else {
            line.label = ptx_scan_name(parser, "a label, data or '}'")->text;
            ptx_scan_need(parser, ':');
        }
        struct ptx_section_line *slot = base_array_push(&parser->section);
        if (!slot)
            ptx_parser_no_memory(parser);
        *slot = line;
    }
    item->section.count = (uint32_t)parser->section.count;
    item->section.lines =
        base_new_array(parser->arena, struct ptx_section_line, item->section.count);
    if (item->section.count)
        memcpy(item->section.lines, parser->section.items,
               item->section.count * sizeof(*item->section.lines));
}
