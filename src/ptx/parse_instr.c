// SPDX-License-Identifier: Apache-2.0
// Parses an instruction: guard, opcode with modifiers, and operands of every form. The tables
// define opcodes and their number of operands; an unknown opcode is accepted too.
#include <string.h>

#include "parser.h"

enum { DEEPEST_OPERAND = 8, MOST_OPERANDS = 64 };

static void parse_operand(struct ptx_parser *parser, struct ptx_operand *operand, enum ptx_op op,
                          unsigned depth);
static void parse_named(struct ptx_parser *parser, struct ptx_operand *operand, enum ptx_op op);

// Moves what was collected on the scratch stack since `mark` into the module.
static struct ptx_operand *keep(struct ptx_parser *parser, size_t mark, uint16_t *count)
{
    size_t n = parser->scratch.count - mark;
    struct ptx_operand *kept = base_new_array(parser->arena, struct ptx_operand, n);
    if (n)
        memcpy(kept, parser->scratch.items + mark, n * sizeof(*kept));
    parser->scratch.count = mark;
    *count = (uint16_t)n;
    return kept;
}

static void push(struct ptx_parser *parser, const struct ptx_operand *operand)
{
    struct ptx_operand *slot = base_array_push(&parser->scratch);
    if (!slot)
        ptx_parser_no_memory(parser);
    *slot = *operand;
}

// Labels may be used before they are defined, so uses are pending in their scope. The list holds
// the name until the operand has its final address: see wait_for_labels.
static void name_operand(struct ptx_operand *operand, struct ptx_name *name)
{
    operand->kind = PTX_OPERAND_NONE;
    operand->text = (const char *)name;
}

static void wait_for_labels(struct ptx_parser *parser, struct ptx_operand *operands, size_t count,
                            struct ptx_place place)
{
    for (size_t i = 0; i < count; i++) {
        struct ptx_operand *operand = &operands[i];
        if (operand->kind == PTX_OPERAND_NONE) {
            struct ptx_pending *pending = base_new(parser->arena, struct ptx_pending);
            pending->operand = operand;
            pending->name = (struct ptx_name *)operand->text;
            pending->number = parser->pending_count++;
            pending->line = place.line;
            pending->column = place.column;
            pending->earlier = pending->name->pending;
            pending->name->pending = pending;
            *(parser->pending ? parser->pending_end : &parser->pending) = pending;
            parser->pending_end = &pending->next;
        } else if (operand->kind >= PTX_OPERAND_ADDRESS && operand->kind <= PTX_OPERAND_PAIR) {
            wait_for_labels(parser, operand->elements, operand->count, place);
        }
    }
}

static void parse_select(struct ptx_parser *parser, struct ptx_operand *operand)
{
    if (parser->at == parser->end || *parser->at != '.')
        return;
    parser->at++;
    struct ptx_place place = ptx_scan_place(parser);
    struct base_str word = ptx_scan_word(parser, "a component");
    operand->select = ptx_select_find(word);
    if (!operand->select)
        ptx_scan_fail(parser, place, "expected a component such as .x, .b0 or .h10, found '.%.*s'",
                      BASE_STR_ARG(word));
}

static void parse_offset(struct ptx_parser *parser, struct ptx_operand *operand)
{
    char sign = ptx_scan_peek(parser);
    if (sign == '+' || sign == '-') {
        operand->offset = ptx_parse_offset(parser);
        operand->flags |= PTX_OPERAND_OFFSET;
    }
}

// Parses a[3], a[%r1] or a[%r1+3]: an address without brackets around it.
static void parse_index(struct ptx_parser *parser, struct ptx_operand *operand, enum ptx_op op)
{
    operand->flags |= PTX_OPERAND_INDEXED;
    if (ptx_scan_is_constant(parser)) {
        operand->offset = (int64_t)ptx_parse_constant(parser).bits;
    } else {
        struct ptx_operand *parts = base_new_array(parser->arena, struct ptx_operand, 2);
        parts[0] = (struct ptx_operand){.kind = PTX_OPERAND_VAR, .var = operand->var};
        parse_named(parser, &parts[1], op);
        if (parts[1].kind != PTX_OPERAND_REG)
            ptx_scan_expected(parser, "a constant or a register as index");
        parse_offset(parser, operand);
        operand->kind = PTX_OPERAND_ADDRESS;
        operand->elements = parts;
        operand->count = 2;
    }
    ptx_scan_need(parser, ']');
}

static void parse_named(struct ptx_parser *parser, struct ptx_operand *operand, enum ptx_op op)
{
    struct ptx_place place = ptx_scan_place(parser);
    struct ptx_name *name = ptx_scan_name(parser, "an operand");
    struct ptx_binding *bound = name->bound;
    struct ptx_family *family = ptx_name_family(parser->names, name);
    if (family) {
        // Open scopes are nested, from the outermost on.
        struct ptx_open_scope *open = parser->scopes.items;
        open += family->scope->depth - open->scope->depth;
        bound = ptx_name_bind(parser->names, name, family->scope, PTX_BOUND_REG, &open->bindings);
        bound->reg = ptx_new_reg(parser, name->text, family->type, family->vec, family->scope);
    }
    // A branch refers to a label, which may follow, even if an outer scope has something of that
    // name.
    if (bound && ptx_op_info(op)->flags & PTX_FLAG_BRANCH && bound->kind != PTX_BOUND_REG) {
        name_operand(operand, name);
        return;
    }
    if (bound && bound->kind == PTX_BOUND_REG) {
        operand->kind = PTX_OPERAND_REG;
        operand->reg = bound->reg;
        parse_select(parser, operand);
    } else if (bound && bound->kind == PTX_BOUND_VAR) {
        operand->kind = PTX_OPERAND_VAR;
        operand->var = bound->var;
        if (ptx_scan_take(parser, '['))
            parse_index(parser, operand, op);
        else
            parse_offset(parser, operand);
    } else if (bound && bound->kind == PTX_BOUND_FUNCTION) {
        operand->kind = PTX_OPERAND_FUNCTION;
        operand->function = bound->function;
    } else if (ptx_name_sreg(name) != PTX_SREG_UNKNOWN) {
        operand->kind = PTX_OPERAND_SREG;
        operand->sreg = ptx_name_sreg(name);
        operand->number = name->sreg_number;
        parse_select(parser, operand);
    } else if (name->text[0] == '%' && op == PTX_OP_UNKNOWN) {
        operand->kind = PTX_OPERAND_NAME; // a special register newer than the tables
        operand->text = name->text;
        parse_select(parser, operand);
    } else if (name->text[0] == '%' && !(ptx_op_info(op)->flags & PTX_FLAG_BRANCH)) {
        ptx_scan_fail(parser, place, "register '%.60s' is not declared", name->text);
    } else {
        name_operand(operand, name);
    }
}

static void parse_number(struct ptx_parser *parser, struct ptx_operand *operand)
{
    struct ptx_constant value = ptx_parse_constant(parser);
    operand->kind = value.kind == PTX_CONSTANT_INT   ? PTX_OPERAND_INT
                    : value.kind == PTX_CONSTANT_F32 ? PTX_OPERAND_F32
                                                     : PTX_OPERAND_F64;
    operand->bits = value.bits;
    operand->flags |= (uint8_t)((value.hex ? PTX_OPERAND_HEX : 0) |
                                (value.is_unsigned ? PTX_OPERAND_UNSIGNED : 0));
}

// Parses [base + offset] and [base, {coordinates}, ...].
static void parse_address(struct ptx_parser *parser, struct ptx_operand *operand, enum ptx_op op,
                          unsigned depth)
{
    size_t mark = parser->scratch.count;
    ptx_scan_need(parser, '[');
    do {
        struct ptx_operand element = {0};
        parse_operand(parser, &element, op, depth + 1);
        if (parser->scratch.count == mark && element.kind != PTX_OPERAND_VAR) {
            parse_offset(parser, operand);
        } else if (parser->scratch.count == mark && !(element.flags & PTX_OPERAND_INDEXED)) {
            operand->offset = element.offset;
            operand->flags |= element.flags & PTX_OPERAND_OFFSET;
            element.offset = 0;
            element.flags &= (uint8_t)~PTX_OPERAND_OFFSET;
        }
        push(parser, &element);
    } while (ptx_scan_take(parser, ','));
    if (!ptx_scan_take(parser, ']'))
        ptx_scan_expected(parser, "'+', ',' or ']'");
    operand->kind = PTX_OPERAND_ADDRESS;
    operand->elements = keep(parser, mark, &operand->count);
}

static void parse_elements(struct ptx_parser *parser, struct ptx_operand *operand, enum ptx_op op,
                           unsigned depth, char close, enum ptx_operand_kind kind)
{
    size_t mark = parser->scratch.count;
    parser->at++;
    if (ptx_scan_peek(parser) != close) {
        do {
            struct ptx_operand element = {0};
            parse_operand(parser, &element, op, depth + 1);
            push(parser, &element);
            if (parser->scratch.count - mark > UINT16_MAX)
                ptx_scan_expected(parser, "fewer elements");
        } while (ptx_scan_take(parser, ','));
    }
    ptx_scan_need(parser, close);
    operand->kind = (uint8_t)kind;
    operand->elements = keep(parser, mark, &operand->count);
}

// Parses #0, #1, ...: the arguments of inserted text.
static void parse_argument(struct ptx_parser *parser, struct ptx_operand *operand)
{
    struct ptx_place place = ptx_scan_place(parser);
    uint32_t index = 0;
    bool found = false;
    // Digits only: an offset may follow.
    for (parser->at++; parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9';
         parser->at++) {
        index = index < parser->argument_count ? index * 10 + (uint32_t)(*parser->at - '0') : index;
        found = true;
    }
    if (!found)
        ptx_scan_expected(parser, "an argument's number");
    if (index >= parser->argument_count)
        ptx_scan_fail(parser, place, "argument #%u was not passed", index);
    *operand = parser->arguments[index];
    if (operand->kind == PTX_OPERAND_VAR && !(operand->flags & PTX_OPERAND_INDEXED)) {
        struct ptx_operand more = {0};
        parse_offset(parser, &more);
        operand->offset = (int64_t)((uint64_t)operand->offset + (uint64_t)more.offset);
        operand->flags |= more.flags;
    }
}

static bool is_sink(const struct ptx_parser *parser)
{
    const char *next = parser->at + 1;
    return next == parser->end || !(ptx_scan_is_name(*next) || (*next >= '0' && *next <= '9')) ||
           *next == '%';
}

static void parse_operand(struct ptx_parser *parser, struct ptx_operand *operand, enum ptx_op op,
                          unsigned depth)
{
    char c = ptx_scan_peek(parser);
    if (depth > DEEPEST_OPERAND)
        ptx_scan_expected(parser, "an operand that is less deeply nested");
    const char *next = parser->at + 1;
    bool named_next = parser->at < parser->end && next < parser->end && ptx_scan_is_name(*next);
    if ((c == '!' || c == '-') && named_next) {
        parser->at++;
        if (ptx_scan_is_constant(parser)) { // !WARP_SZ
            parser->at--;
        } else {
            operand->flags |= c == '!' ? PTX_OPERAND_NOT : PTX_OPERAND_NEGATED;
            c = *parser->at;
        }
    }
    if (c == '[') {
        parse_address(parser, operand, op, depth);
    } else if (c == '{') {
        parse_elements(parser, operand, op, depth, '}', PTX_OPERAND_VECTOR);
    } else if (c == '(' && op == PTX_OP_CALL) {
        parse_elements(parser, operand, op, depth, ')', PTX_OPERAND_LIST);
    } else if (c == '_' && is_sink(parser)) {
        parser->at++;
        operand->kind = PTX_OPERAND_SINK;
    } else if (c == '#' && parser->argument_count) {
        parse_argument(parser, operand);
    } else if (ptx_scan_is_constant(parser)) {
        parse_number(parser, operand);
    } else if (ptx_scan_is_name(c)) {
        parse_named(parser, operand, op);
    } else {
        ptx_scan_expected(parser, "an operand");
    }
    if (ptx_scan_peek(parser) != '|')
        return;
    parser->at++;
    size_t mark = parser->scratch.count;
    struct ptx_operand second = {0};
    parse_operand(parser, &second, op, depth + 1);
    push(parser, operand);
    push(parser, &second);
    memset(operand, 0, sizeof(*operand));
    operand->kind = PTX_OPERAND_PAIR;
    operand->elements = keep(parser, mark, &operand->count);
}

void ptx_parse_names(struct ptx_parser *parser, struct ptx_operand **operands, uint32_t *count)
{
    struct ptx_place place = ptx_scan_place(parser);
    size_t mark = parser->scratch.count;
    do {
        struct ptx_operand operand = {0};
        parse_operand(parser, &operand, PTX_OP_BRA, 0);
        push(parser, &operand);
        if (parser->scratch.count - mark > UINT16_MAX)
            ptx_scan_expected(parser, "fewer targets");
    } while (ptx_scan_take(parser, ','));
    uint16_t kept;
    *operands = keep(parser, mark, &kept);
    *count = kept;
    wait_for_labels(parser, *operands, kept, place);
}

// Reads the whole spelling of the opcode: the first word has been read, and white space may
// separate its modifiers.
static const struct ptx_form *parse_form(struct ptx_parser *parser, struct ptx_name *first,
                                         struct ptx_place place)
{
    const char *at = parser->name_end;
    const char *start = at - first->length;
    bool spaced = false;
    parser->text.length = 0;
    while (ptx_scan_peek(parser) == '.') {
        spaced |= parser->at != at;
        if (spaced && !parser->text.length)
            base_buf_add(&parser->text, start, (size_t)(at - start));
        parser->at++;
        struct base_str word = ptx_scan_word(parser, "a modifier");
        if (spaced) {
            base_buf_putc(&parser->text, '.');
            base_buf_add(&parser->text, word.text, word.length);
        }
        at = parser->at;
    }
    if (spaced && parser->text.failed)
        ptx_parser_no_memory(parser);
    struct ptx_name *name =
        spaced ? ptx_name_intern(parser->names, parser->text.text, parser->text.length)
               : ptx_name_intern(parser->names, start, (size_t)(at - start));
    const struct ptx_form *form = ptx_name_form(parser->names, name);
    if (!form)
        ptx_scan_fail(parser, place, "expected an instruction, found '%.60s'", name->text);
    return form;
}

void ptx_parse_instr(struct ptx_parser *parser, struct ptx_name *opcode, struct ptx_place place)
{
    struct ptx_reg *guard = NULL;
    bool negated = false;
    if (!opcode) {
        parser->at++;
        negated = ptx_scan_take(parser, '!');
        struct ptx_operand operand = {0};
        ptx_scan_space(parser);
        struct ptx_place guard_place = ptx_scan_place(parser);
        if (ptx_scan_peek(parser) == '#' && parser->argument_count)
            parse_argument(parser, &operand);
        else
            parse_named(parser, &operand, PTX_OP_BRA);
        if (operand.kind != PTX_OPERAND_REG || operand.reg->type != PTX_PRED)
            ptx_scan_fail(parser, guard_place, "expected a predicate register behind '@'");
        guard = operand.reg;
        ptx_scan_space(parser);
        place = ptx_scan_place(parser);
        opcode = ptx_scan_name(parser, "an instruction");
    }
    const struct ptx_form *form = parse_form(parser, opcode, place);
    enum ptx_op op = (enum ptx_op)form->op;
    size_t mark = parser->scratch.count;
    while (ptx_scan_peek(parser) != ';') {
        if (parser->scratch.count > mark && !ptx_scan_take(parser, ','))
            ptx_scan_expected(parser, "',' or ';'");
        struct ptx_operand operand = {0};
        parse_operand(parser, &operand, op, 0);
        push(parser, &operand);
        if (parser->scratch.count - mark > MOST_OPERANDS)
            ptx_scan_expected(parser, "fewer operands");
    }
    parser->at++;
    struct ptx_instr *instr = ptx_add_stmt(parser, sizeof(*instr), PTX_STMT_INSTR, place);
    uint16_t count;
    instr->form = form;
    instr->operands = keep(parser, mark, &count);
    instr->operand_count = (uint8_t)count;
    instr->guard = guard;
    instr->guard_negated = negated;
    instr->loc = parser->loc;
    wait_for_labels(parser, instr->operands, count, place);
    unsigned least, most;
    ptx_op_operand_range(op, &least, &most);
    if (count < least || count > most)
        ptx_scan_fail(parser, place, "'%.60s' takes %s%u operands, found %u", form->text,
                      count < least ? (least == most ? "" : "at least ")
                                    : (least == most ? "" : "at most "),
                      count < least ? least : most, count);
}
