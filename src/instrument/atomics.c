// SPDX-License-Identifier: Apache-2.0
// Atomic operations in clones. One whose result is not read becomes a reduction. With values, the
// probe computes from the old value what the operation makes of the word, as the operation does. A
// sum of integers and an exclusive or need no old value. A reduction that needs one is executed as
// an atomic operation where the launch allows loads.
#include "atomics.h"

#include <stdio.h>
#include <string.h>

static bool is_dead(const struct ptx_ssa *ssa, uint32_t value)
{
    if (value == PTX_NO_VALUE || ssa->values[value].use_count)
        return false;
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        if (ssa->values[i].previous == value)
            return false;
    }
    return true;
}

bool instrument_is_reduction(const struct instrument_body *body, const struct ptx_instr *instr)
{
    const char *text = instr->form->text;
    if (ptx_op(instr) != PTX_OP_ATOM || instr->operand_count < 2 || strstr(text, ".exch") ||
        strstr(text, ".cas") || strstr(text, ".acq") || strncmp(text, "atom.", 5) != 0)
        return false;
    const struct ptx_operand *result = &instr->operands[0];
    return result->kind == PTX_OPERAND_SINK ||
           (result->kind == PTX_OPERAND_REG &&
            is_dead(body->facts->ssa, ptx_ssa_value(body->facts->ssa, instr, result)));
}

// Writes an instruction with another opcode, from the operand `first` on, or with the register
// `result` before them.
static void emit_as(struct instrument_work *work, const struct ptx_instr *from, const char *opcode,
                    uint32_t first, const char *result, const char *guard)
{
    enum { MOST_OPERANDS = 8 };
    struct ptx_reg reg = {.name = result, .vec = 1}, go = {.name = guard, .vec = 1};
    struct ptx_operand operands[MOST_OPERANDS] = {{.kind = PTX_OPERAND_REG, .reg = &reg}};
    struct ptx_instr instr = *from;
    struct ptx_form form = *instr.form;
    const size_t bytes = strlen(form.text) + sizeof("atom");
    char *text = base_alloc(&work->scratch, bytes);
    snprintf(text, bytes, "%s%s", opcode, form.text + strcspn(form.text, "."));
    form.text = text;
    instr.form = &form;
    instr.operands += first;
    instr.operand_count -= (uint8_t)first;
    if (result) {
        memcpy(operands + 1, instr.operands, instr.operand_count * sizeof(operands[0]));
        instr.operands = operands;
        instr.operand_count++;
    }
    if (guard) {
        instr.guard = &go;
        instr.guard_negated = false;
    }
    ptx_print_instr(&instr, &work->out);
}

void instrument_emit_reduction(struct instrument_work *work, const struct ptx_instr *instr)
{
    emit_as(work, instr, "red", 1, NULL, NULL);
}

// --- Values --------------------------------------------------------------------------------------

static enum ptx_type type_of(const struct ptx_instr *instr)
{
    return (enum ptx_type)instr->form->types[0];
}

// Returns the operand with the value, which follows the address.
static const struct ptx_operand *value_of(const struct ptx_instr *instr)
{
    return &instr->operands[ptx_op(instr) == PTX_OP_ATOM ? 2 : 1];
}

static bool is_float_sum(enum ptx_type type)
{
    return type == PTX_F32 || type == PTX_F64 || type == PTX_F16X2 || type == PTX_BF16X2;
}

static bool is_word(const struct ptx_operand *operand, uint32_t bits)
{
    return operand->kind == PTX_OPERAND_REG
               ? !operand->select && operand->reg->vec == 1 &&
                     ptx_type_info((enum ptx_type)operand->reg->type)->bits == bits
               : operand->kind == PTX_OPERAND_INT ||
                     (operand->kind == PTX_OPERAND_F32 && bits == 32) ||
                     (operand->kind == PTX_OPERAND_F64 && bits == 64);
}

bool instrument_can_examine_atomic(const struct ptx_instr *instr)
{
    const struct ptx_form *form = instr->form;
    const bool returns = ptx_op(instr) == PTX_OP_ATOM;
    const uint32_t first = returns ? 2 : 1, count = form->operation == PTX_MOD_CAS ? 2 : 1;
    if ((!returns && ptx_op(instr) != PTX_OP_RED) || form->type_count != 1 || form->vec > 1 ||
        instr->operand_count < first + count || instr->operand_count > 6)
        return false;
    const struct ptx_type_info *type = ptx_type_info(type_of(instr));
    if (type->bits != 32 && type->bits != 64)
        return false;
    switch (form->operation) {
    case PTX_MOD_ADD:
        if (type->kind == PTX_CLASS_FLOAT && !is_float_sum(type_of(instr)))
            return false;
        break;
    case PTX_MOD_MIN:
    case PTX_MOD_MAX:
        if (type->kind != PTX_CLASS_SIGNED && type->kind != PTX_CLASS_UNSIGNED)
            return false;
        break;
    case PTX_MOD_INC:
    case PTX_MOD_DEC:
    case PTX_MOD_AND:
    case PTX_MOD_OR:
    case PTX_MOD_XOR:
    case PTX_MOD_EXCH:
    case PTX_MOD_CAS: break;
    default: return false;
    }
    for (uint32_t i = first; i < first + count; i++) {
        if (!is_word(&instr->operands[i], type->bits))
            return false;
    }
    return !returns || instr->operands[0].kind == PTX_OPERAND_SINK ||
           (instr->operands[0].kind == PTX_OPERAND_REG && is_word(&instr->operands[0], type->bits));
}

// The registers of one operation, with 32 or 64 bits each.
struct names {
    const char *old, *value, *other, *now;
    uint32_t bits;
};

static struct names names_for(uint32_t bits)
{
    return bits == 32
               ? (struct names){"%glint$old0", "%glint$old1", "%glint$old2", "%glint$old3", bits}
               : (struct names){"%glint$wide0", "%glint$wide1", "%glint$wide2", "%glint$wide3",
                                bits};
}

static void emit_copy(struct base_buf *out, const char *to, const struct ptx_operand *from,
                      uint32_t bits)
{
    base_buf_printf(out, "mov.b%u %s, ", bits, to);
    if (from->kind == PTX_OPERAND_REG)
        base_buf_puts(out, from->reg->name);
    else
        base_buf_printf(out, "%llu",
                        (unsigned long long)(bits == 32 ? (uint32_t)from->bits : from->bits));
    base_buf_puts(out, ";\n");
}

// Sets the new value of the word from the old one.
static void emit_now(struct base_buf *out, const struct ptx_instr *instr, const struct names *names)
{
    const enum ptx_type type = type_of(instr);
    const char *now = names->now, *old = names->old, *value = names->value;
    switch (instr->form->operation) {
    case PTX_MOD_EXCH: base_buf_printf(out, "mov.b%u %s, %s;\n", names->bits, now, value); break;
    case PTX_MOD_CAS:
        base_buf_printf(out, "setp.eq.b%u %%glint$go, %s, %s;\nselp.b%u %s, %s, %s, %%glint$go;\n",
                        names->bits, old, value, names->bits, now, names->other, old);
        break;
    case PTX_MOD_INC:
        base_buf_printf(out,
                        "setp.ge.u32 %%glint$go, %s, %s;\nadd.u32 %s, %s, 1;\n"
                        "selp.b32 %s, 0, %s, %%glint$go;\n",
                        old, value, now, old, now, now);
        break;
    case PTX_MOD_DEC:
        base_buf_printf(out,
                        "setp.eq.u32 %%glint$go, %s, 0;\nsetp.gt.or.u32 %%glint$go, %s, %s, "
                        "%%glint$go;\nsub.u32 %s, %s, 1;\nselp.b32 %s, %s, %s, %%glint$go;\n",
                        old, old, value, now, old, now, value, now);
        break;
    case PTX_MOD_ADD:
        // In global memory, sums of f32 flush subnormal numbers.
        base_buf_printf(out, "add.rn%s.%s %s, %s, %s;\n", type == PTX_F32 ? ".ftz" : "",
                        ptx_type_info(type)->name, now, old, value);
        break;
    default:
        base_buf_printf(out, "%s.%s %s, %s, %s;\n", ptx_mod_name(instr->form->operation),
                        ptx_type_info(type)->name, now, old, value);
    }
}

// Returns whether the operand alone decides if the operation changes the word: it does unless the
// operand is 0.
static bool needs_no_old(const struct ptx_instr *instr)
{
    return instr->form->operation == PTX_MOD_XOR ||
           (instr->form->operation == PTX_MOD_ADD && !is_float_sum(type_of(instr)));
}

// Writes a reduction as an atomic operation where `look` is set, and as it is elsewhere.
static void emit_both(struct instrument_work *work, const struct ptx_instr *instr,
                      const struct names *names, const char *under)
{
    struct base_buf *out = &work->out;
    const uint32_t first = ptx_op(instr) == PTX_OP_ATOM ? 1 : 0;
    base_buf_printf(out,
                    "mov.b%u %s, 0;\nselp.b32 %%glint$new, 1, 0, %%glint$look;\n"
                    "setp.eq%s.u32 %%glint$go, %%glint$new, 0%s%s;\n",
                    names->bits, names->old, under ? ".and" : "", under ? ", " : "",
                    under ? under : "");
    emit_as(work, instr, "atom", first, names->old, "%glint$look");
    base_buf_putc(out, '\n');
    emit_as(work, instr, "red", first, NULL, "%glint$go");
    base_buf_putc(out, '\n');
}

void instrument_emit_atomic(struct instrument_work *work, const struct instrument_body *body,
                            const struct ptx_instr *instr, const char *under)
{
    struct base_buf *out = &work->out;
    const struct names names = names_for(ptx_type_info(type_of(instr))->bits);
    const bool reduces = ptx_op(instr) == PTX_OP_RED || instrument_is_reduction(body, instr);
    // The result may replace an operand.
    emit_copy(out, names.value, value_of(instr), names.bits);
    if (instr->form->operation == PTX_MOD_CAS)
        emit_copy(out, names.other, value_of(instr) + 1, names.bits);
    if (needs_no_old(instr)) {
        base_buf_printf(out, "setp.eq.and.b%u %%glint$same, %s, 0, %%glint$look;\n", names.bits,
                        names.value);
        if (reduces && ptx_op(instr) == PTX_OP_ATOM)
            instrument_emit_reduction(work, instr);
        else
            ptx_print_instr(instr, out);
        base_buf_putc(out, '\n');
        return;
    }
    if (reduces) {
        emit_both(work, instr, &names, under);
    } else if (instr->operands[0].kind == PTX_OPERAND_SINK) {
        emit_as(work, instr, "atom", 1, names.old, NULL);
        base_buf_putc(out, '\n');
    } else {
        ptx_print_instr(instr, out);
        base_buf_putc(out, '\n');
        emit_copy(out, names.old, &instr->operands[0], names.bits);
    }
    emit_now(out, instr, &names);
    base_buf_printf(out, "setp.eq.and.b%u %%glint$same, %s, %s, %%glint$look;\n", names.bits,
                    names.now, names.old);
}
