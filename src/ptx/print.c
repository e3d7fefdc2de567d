// SPDX-License-Identifier: Apache-2.0
// Prints a module from its IR. Order, spellings, names and numbers are preserved, so that ptxas
// makes the same machine code; comments and layout are not.
#include <string.h>

#include "ir.h"

// ptxas accepts [%rd1+-8] and rejects [%rd1-8].
static void print_offset(struct base_buf *out, int64_t offset, bool written)
{
    if (offset == 0 && !written)
        return;
    base_buf_putc(out, '+');
    base_buf_i64(out, offset);
}

static void print_int(struct base_buf *out, uint64_t bits, bool hex, bool is_unsigned)
{
    if (hex) {
        base_buf_puts(out, "0x");
        base_buf_hex(out, bits, 1);
    } else if (is_unsigned || (int64_t)bits >= 0) {
        base_buf_u64(out, bits);
    } else {
        base_buf_i64(out, (int64_t)bits);
    }
    if (is_unsigned)
        base_buf_putc(out, 'U');
}

static void print_float(struct base_buf *out, uint64_t bits, bool is_double)
{
    base_buf_puts(out, is_double ? "0d" : "0f");
    base_buf_hex(out, bits, is_double ? 16 : 8);
}

static void print_elements(struct base_buf *out, const struct ptx_operand *operand,
                           const char *between)
{
    for (uint16_t i = 0; i < operand->count; i++) {
        if (i)
            base_buf_puts(out, between);
        ptx_print_operand(&operand->elements[i], out);
    }
}

static void print_address(struct base_buf *out, const struct ptx_operand *operand)
{
    if (operand->flags & PTX_OPERAND_INDEXED) {
        ptx_print_operand(&operand->elements[0], out);
        base_buf_putc(out, '[');
        ptx_print_operand(&operand->elements[1], out);
        print_offset(out, operand->offset, operand->flags & PTX_OPERAND_OFFSET);
        base_buf_putc(out, ']');
        return;
    }
    base_buf_putc(out, '[');
    for (uint16_t i = 0; i < operand->count; i++) {
        if (i)
            base_buf_puts(out, ", ");
        ptx_print_operand(&operand->elements[i], out);
        if (i == 0)
            print_offset(out, operand->offset, operand->flags & PTX_OPERAND_OFFSET);
    }
    base_buf_putc(out, ']');
}

void ptx_print_operand(const struct ptx_operand *operand, struct base_buf *out)
{
    if (operand->flags & PTX_OPERAND_NOT)
        base_buf_putc(out, '!');
    if (operand->flags & PTX_OPERAND_NEGATED)
        base_buf_putc(out, '-');
    switch ((enum ptx_operand_kind)operand->kind) {
    case PTX_OPERAND_NONE: break;
    case PTX_OPERAND_REG: base_buf_puts(out, operand->reg->name); break;
    case PTX_OPERAND_SREG:
        switch (operand->sreg) {
        case PTX_SREG_ID_ENVREG: base_buf_printf(out, "%%envreg%u", operand->number); break;
        case PTX_SREG_ID_PM: base_buf_printf(out, "%%pm%u", operand->number); break;
        case PTX_SREG_ID_PM64: base_buf_printf(out, "%%pm%u_64", operand->number); break;
        default: base_buf_puts(out, ptx_sreg_info(operand->sreg)->name);
        }
        break;
    case PTX_OPERAND_INT:
        print_int(out, operand->bits, operand->flags & PTX_OPERAND_HEX,
                  operand->flags & PTX_OPERAND_UNSIGNED);
        break;
    case PTX_OPERAND_F32: print_float(out, operand->bits, false); break;
    case PTX_OPERAND_F64: print_float(out, operand->bits, true); break;
    case PTX_OPERAND_VAR:
        base_buf_puts(out, operand->var->name);
        if (operand->flags & PTX_OPERAND_INDEXED) {
            base_buf_putc(out, '[');
            base_buf_i64(out, operand->offset);
            base_buf_putc(out, ']');
        } else {
            print_offset(out, operand->offset, operand->flags & PTX_OPERAND_OFFSET);
        }
        break;
    case PTX_OPERAND_FUNCTION: base_buf_puts(out, operand->function->name); break;
    case PTX_OPERAND_LABEL: base_buf_puts(out, operand->label->name); break;
    case PTX_OPERAND_ADDRESS: print_address(out, operand); break;
    case PTX_OPERAND_VECTOR:
        base_buf_putc(out, '{');
        print_elements(out, operand, ", ");
        base_buf_putc(out, '}');
        break;
    case PTX_OPERAND_LIST:
        base_buf_putc(out, '(');
        print_elements(out, operand, ", ");
        base_buf_putc(out, ')');
        break;
    case PTX_OPERAND_PAIR: print_elements(out, operand, "|"); break;
    case PTX_OPERAND_SINK: base_buf_putc(out, '_'); break;
    case PTX_OPERAND_NAME: base_buf_puts(out, operand->text); break;
    }
    if (operand->select) {
        char name[8];
        ptx_select_name(operand->select, name);
        base_buf_putc(out, '.');
        base_buf_puts(out, name);
    }
}

void ptx_print_instr(const struct ptx_instr *instr, struct base_buf *out)
{
    if (instr->guard) {
        base_buf_puts(out, instr->guard_negated ? "@!" : "@");
        base_buf_puts(out, instr->guard->name);
        base_buf_putc(out, ' ');
    }
    base_buf_puts(out, instr->form->text);
    for (uint8_t i = 0; i < instr->operand_count; i++) {
        base_buf_puts(out, i ? ", " : " ");
        ptx_print_operand(&instr->operands[i], out);
    }
    base_buf_putc(out, ';');
}

static void print_init(struct base_buf *out, const struct ptx_init *init, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const struct ptx_init *value = &init[i];
        if (i && init[i - 1].kind != PTX_INIT_OPEN && init[i - 1].kind != PTX_INIT_FIELD &&
            value->kind != PTX_INIT_CLOSE)
            base_buf_puts(out, ", ");
        if (value->mask) {
            base_buf_puts(out, "0x");
            base_buf_hex(out, value->mask, 1);
            base_buf_putc(out, '(');
        }
        if (value->generic)
            base_buf_puts(out, "generic(");
        switch ((enum ptx_init_kind)value->kind) {
        case PTX_INIT_OPEN: base_buf_putc(out, '{'); break;
        case PTX_INIT_CLOSE: base_buf_putc(out, '}'); break;
        case PTX_INIT_INT: print_int(out, value->bits, value->hex, false); break;
        case PTX_INIT_F32: print_float(out, value->bits, false); break;
        case PTX_INIT_F64: print_float(out, value->bits, true); break;
        case PTX_INIT_VAR: base_buf_puts(out, value->var->name); break;
        case PTX_INIT_FUNCTION: base_buf_puts(out, value->function->name); break;
        case PTX_INIT_NAME: base_buf_puts(out, value->name); break;
        case PTX_INIT_FIELD:
            base_buf_puts(out, value->name);
            base_buf_puts(out, " = ");
            break;
        }
        if (value->generic)
            base_buf_putc(out, ')');
        if (value->difference) {
            base_buf_putc(out, '-');
            base_buf_puts(out, value->other);
        } else if (value->kind == PTX_INIT_VAR || value->kind == PTX_INIT_NAME ||
                   value->kind == PTX_INIT_FUNCTION) {
            print_offset(out, value->offset, false);
        }
        if (value->mask)
            base_buf_putc(out, ')');
    }
}

static void print_linkage(struct base_buf *out, uint8_t linkage)
{
    if (linkage & PTX_LINK_EXTERN)
        base_buf_puts(out, ".extern ");
    if (linkage & PTX_LINK_VISIBLE)
        base_buf_puts(out, ".visible ");
    if (linkage & PTX_LINK_WEAK)
        base_buf_puts(out, ".weak ");
    if (linkage & PTX_LINK_COMMON)
        base_buf_puts(out, ".common ");
}

static void print_var(struct base_buf *out, const struct ptx_var *var)
{
    print_linkage(out, var->linkage);
    base_buf_putc(out, '.');
    base_buf_puts(out, ptx_space_name((enum ptx_space)var->space));
    if (var->attributes)
        base_buf_printf(out, " .attribute(%s)", var->attributes);
    if (var->align)
        base_buf_printf(out, " .align %u", var->align);
    if (var->vec > 1)
        base_buf_printf(out, " .v%u", var->vec);
    base_buf_printf(out, " .%s ", ptx_type_info((enum ptx_type)var->type)->name);
    if (var->is_ptr) {
        base_buf_puts(out, ".ptr ");
        if (var->ptr_space != PTX_SPACE_GENERIC)
            base_buf_printf(out, ".%s ", ptx_space_name((enum ptx_space)var->ptr_space));
        if (var->ptr_align)
            base_buf_printf(out, ".align %u ", var->ptr_align);
    }
    base_buf_puts(out, var->name);
    for (uint32_t i = 0; i < var->dim_count; i++) {
        base_buf_putc(out, '[');
        if (var->dims[i])
            base_buf_u64(out, var->dims[i]);
        base_buf_putc(out, ']');
    }
    if (var->init) {
        base_buf_puts(out, " = ");
        print_init(out, var->init, var->init_count);
    }
}

static void print_params(struct base_buf *out, struct ptx_var *const *params, uint32_t count)
{
    base_buf_putc(out, '(');
    for (uint32_t i = 0; i < count; i++) {
        base_buf_puts(out, i ? ",\n\t" : "\n\t");
        print_var(out, params[i]);
    }
    base_buf_puts(out, count ? "\n)" : ")");
}

static void print_attrs(struct base_buf *out, const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->attr_count; i++) {
        const struct ptx_attr *attr = &function->attrs[i];
        base_buf_printf(out, "\n%s", attr->name);
        for (uint32_t k = 0; k < attr->count; k++) {
            base_buf_puts(out, k ? ", " : " ");
            base_buf_u64(out, attr->values[k]);
        }
        if (attr->text)
            base_buf_printf(out, " %s;", attr->text);
    }
}

static void print_loc(struct base_buf *out, const struct ptx_loc *loc)
{
    base_buf_puts(out, ".loc ");
    base_buf_u64(out, loc->file);
    base_buf_putc(out, ' ');
    base_buf_u64(out, loc->line);
    base_buf_putc(out, ' ');
    base_buf_u64(out, loc->column);
    if (loc->name_label) {
        base_buf_printf(out, ", function_name %s", loc->name_label);
        print_offset(out, (int64_t)loc->name_offset, false);
    }
    if (loc->inlined)
        base_buf_printf(out, ", inlined_at %u %u %u", loc->at_file, loc->at_line, loc->at_column);
}

static void print_label(struct base_buf *out, const struct ptx_label *label)
{
    base_buf_puts(out, label->name);
    base_buf_putc(out, ':');
    if (label->kind == PTX_LABEL_BRANCH_TARGETS || label->kind == PTX_LABEL_CALL_TARGETS) {
        base_buf_puts(out, label->kind == PTX_LABEL_BRANCH_TARGETS ? " .branchtargets "
                                                                   : " .calltargets ");
        for (uint32_t i = 0; i < label->target_count; i++) {
            if (i)
                base_buf_puts(out, ", ");
            ptx_print_operand(&label->targets[i], out);
        }
        base_buf_putc(out, ';');
    } else if (label->kind == PTX_LABEL_PROTOTYPE) {
        const struct ptx_function *prototype = label->prototype;
        base_buf_puts(out, " .callprototype ");
        if (prototype->return_count) {
            print_params(out, prototype->returns, prototype->return_count);
            base_buf_putc(out, ' ');
        } else {
            base_buf_puts(out, "() ");
        }
        base_buf_puts(out, prototype->name);
        base_buf_putc(out, ' ');
        print_params(out, prototype->params, prototype->param_count);
        print_attrs(out, prototype);
        base_buf_putc(out, ';');
    }
}

static void print_regs(struct base_buf *out, const struct ptx_regs *regs)
{

    base_buf_puts(out, ".reg ");
    if (regs->vec > 1)
        base_buf_printf(out, ".v%u ", regs->vec);
    base_buf_printf(out, ".%s ", ptx_type_info((enum ptx_type)regs->type)->name);
    for (uint32_t i = 0; i < regs->count; i++) {
        if (i)
            base_buf_puts(out, ", ");
        base_buf_puts(out, regs->names[i].name);
        if (regs->names[i].family)
            base_buf_printf(out, "<%llu>", (unsigned long long)regs->names[i].family);
    }
    base_buf_putc(out, ';');
}

void ptx_print_stmt(const struct ptx_stmt *stmt, struct base_buf *out)
{
    switch ((enum ptx_stmt_kind)stmt->kind) {
    case PTX_STMT_INSTR: ptx_print_instr((const struct ptx_instr *)stmt, out); break;
    case PTX_STMT_LABEL: print_label(out, (const struct ptx_label *)stmt); break;
    case PTX_STMT_LOC: print_loc(out, (const struct ptx_loc *)stmt); break;
    case PTX_STMT_REGS:
        if (((const struct ptx_regs *)stmt)->count) // else %r<0>: nothing to declare
            print_regs(out, (const struct ptx_regs *)stmt);
        break;
    case PTX_STMT_VAR:
        print_var(out, ((const struct ptx_var_stmt *)stmt)->var);
        base_buf_putc(out, ';');
        break;
    case PTX_STMT_OPEN: base_buf_putc(out, '{'); break;
    case PTX_STMT_CLOSE: base_buf_putc(out, '}'); break;
    case PTX_STMT_PRAGMA:
        base_buf_printf(out, ".pragma %s;", ((const struct ptx_pragma *)stmt)->text);
        break;
    }
}

static void print_body(struct base_buf *out, const struct ptx_function *function)
{
    base_buf_puts(out, "{\n");
    for (const struct ptx_stmt *stmt = function->first; stmt; stmt = stmt->next) {
        if (stmt->kind == PTX_STMT_REGS && !((const struct ptx_regs *)stmt)->count)
            continue;
        if (stmt->kind != PTX_STMT_LABEL)
            base_buf_putc(out, '\t');
        ptx_print_stmt(stmt, out);
        base_buf_putc(out, '\n');
    }
    base_buf_puts(out, "}\n");
}

void ptx_print_head(const struct ptx_function *function, struct base_buf *out)
{
    print_linkage(out, function->linkage);
    base_buf_puts(out, function->is_entry ? ".entry " : ".func ");
    if (function->attributes)
        base_buf_printf(out, ".attribute(%s) ", function->attributes);
    if (function->return_count) {
        print_params(out, function->returns, function->return_count);
        base_buf_putc(out, ' ');
    }
    base_buf_puts(out, function->name);
    if (function->param_count || !function->is_entry) {
        base_buf_putc(out, ' ');
        print_params(out, function->params, function->param_count);
    }
    print_attrs(out, function);
}

static void print_function(struct base_buf *out, const struct ptx_function *function)
{
    base_buf_putc(out, '\n');
    ptx_print_head(function, out);
    if (!function->has_body) {
        base_buf_puts(out, ";\n");
        return;
    }
    base_buf_putc(out, '\n');
    print_body(out, function);
}

static void print_section(struct base_buf *out, const struct ptx_item *item)
{
    base_buf_printf(out, ".section .%s\n{\n", item->section.name);
    for (uint32_t i = 0; i < item->section.count; i++) {
        const struct ptx_section_line *line = &item->section.lines[i];
        if (line->label) {
            base_buf_printf(out, "%s:\n", line->label);
            continue;
        }
        base_buf_printf(out, ".%s ", ptx_type_info((enum ptx_type)line->type)->name);
        print_init(out, line->data, line->count);
        base_buf_putc(out, '\n');
    }
    base_buf_puts(out, "}\n");
}

void ptx_print_item(const struct ptx_item *item, struct base_buf *out)
{
    switch ((enum ptx_item_kind)item->kind) {
    case PTX_ITEM_VAR:
        print_var(out, item->var);
        base_buf_puts(out, ";\n");
        break;
    case PTX_ITEM_FUNCTION: print_function(out, item->function); break;
    case PTX_ITEM_FILE:
        base_buf_printf(out, ".file %llu \"", (unsigned long long)item->file.index);
        base_buf_puts(out, item->file.path);
        base_buf_putc(out, '"');
        if (item->file.has_stamp)
            base_buf_printf(out, ", %llu, %llu", (unsigned long long)item->file.timestamp,
                            (unsigned long long)item->file.size);
        base_buf_putc(out, '\n');
        break;
    case PTX_ITEM_SECTION: print_section(out, item); break;
    case PTX_ITEM_PRAGMA: base_buf_printf(out, ".pragma %s;\n", item->text); break;
    case PTX_ITEM_ALIAS:
        base_buf_printf(out, ".alias %s, %s;\n", item->alias.alias, item->alias.target);
        break;
    case PTX_ITEM_LOC:
        print_loc(out, item->loc);
        base_buf_putc(out, '\n');
        break;
    }
}

void ptx_print(const struct ptx_module *module, struct base_buf *out)
{
    base_buf_printf(out, ".version %u.%u\n.target %s\n", module->version_major,
                    module->version_minor, module->target);
    if (module->states_address_size)
        base_buf_printf(out, ".address_size %u\n", module->address_size);
    base_buf_putc(out, '\n');
    for (const struct ptx_item *item = module->first; item; item = item->next)
        ptx_print_item(item, out);
}
