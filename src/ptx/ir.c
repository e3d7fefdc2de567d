// SPDX-License-Identifier: Apache-2.0
// Look-ups in a module by name and number, which need no analysis.
#include "ir.h"

#include <stdlib.h>
#include <string.h>

size_t ptx_module_bytes(const struct ptx_module *module)
{
    return sizeof(*module) + module->arena.allocated_bytes;
}

void ptx_function_number(struct ptx_function *function)
{
    uint32_t index = 0;
    for (struct ptx_stmt *stmt = function->first; stmt; stmt = stmt->next) {
        struct ptx_instr *instr = ptx_stmt_instr(stmt);
        if (instr)
            instr->index = index++;
    }
    function->instr_count = index;
}

struct ptx_function *ptx_function_find(const struct ptx_module *module, const char *name)
{
    struct ptx_function *found = NULL;
    for (struct ptx_item *item = module->first; item; item = item->next) {
        if (item->kind != PTX_ITEM_FUNCTION || strcmp(item->function->name, name) != 0)
            continue;
        if (item->function->has_body)
            return item->function;
        if (!found)
            found = item->function;
    }
    return found;
}

bool ptx_is_parameter(const struct ptx_function *function, const struct ptx_var *var)
{
    return var->is_param && var->index < function->param_count &&
           function->params[var->index] == var;
}

const struct ptx_var *ptx_param_read(const struct ptx_instr *instr)
{
    if (ptx_op(instr) != PTX_OP_LD || instr->form->space != PTX_SPACE_PARAM)
        return NULL;
    const struct ptx_operand *address = &instr->operands[1];
    const struct ptx_operand *base =
        address->kind == PTX_OPERAND_ADDRESS ? &address->elements[0] : address;
    return base->kind == PTX_OPERAND_VAR ? base->var : NULL;
}

const struct ptx_attr *ptx_function_attr(const struct ptx_function *function, const char *name)
{
    for (uint32_t i = 0; i < function->attr_count; i++) {
        if (strcmp(function->attrs[i].name, name) == 0)
            return &function->attrs[i];
    }
    return NULL;
}

const char *ptx_file_path(const struct ptx_module *module, uint32_t file)
{
    for (const struct ptx_item *item = module->last; item; item = item->prev) {
        if (item->kind == PTX_ITEM_FILE && item->file.index == file)
            return item->file.path;
    }
    return NULL;
}

// Returns the bytes of a section from the label up to the NUL; data of other widths ends the
// search.
static char *section_text(const struct ptx_item *item, const char *label, uint64_t offset)
{
    uint32_t line = 0;
    while (line < item->section.count && (!item->section.lines[line].label ||
                                          strcmp(item->section.lines[line].label, label) != 0))
        line++;
    if (line == item->section.count)
        return NULL;
    struct base_buf text = {0};
    for (; line < item->section.count; line++) {
        const struct ptx_section_line *data = &item->section.lines[line];
        if (data->label)
            continue;
        for (uint32_t i = 0; i < data->count; i++) {
            if (data->type != PTX_B8 || data->data[i].kind != PTX_INIT_INT)
                goto done;
            if (offset) {
                offset--;
                continue;
            }
            if ((data->data[i].bits & 0xFF) == 0)
                goto done;
            base_buf_putc(&text, (char)data->data[i].bits);
        }
    }
done:
    if (text.failed || !text.text) {
        base_buf_fini(&text);
        return NULL;
    }
    return text.text;
}

char *ptx_debug_string(const struct ptx_module *module, const char *label, uint64_t offset)
{
    for (const struct ptx_item *item = module->last; item; item = item->prev) {
        if (item->kind == PTX_ITEM_SECTION && strcmp(item->section.name, "debug_str") == 0)
            return section_text(item, label, offset);
    }
    return NULL;
}
