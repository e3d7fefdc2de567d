// SPDX-License-Identifier: Apache-2.0
// Implements integer arithmetic, logic, shifts, bit fields and the carry chain. Values of 16 bits
// are in 32-bit lanes whose upper half is 0.
#include "families.h"
#include "gpusim/numbers/int.h"
#include "ops.h"

typedef int16_t s16;
typedef uint16_t u16;

// Defines handlers for all integer types from one expression.
#define FOR_INTEGERS(name, result)                   \
    BINARY(name##_u16, u32, u32, u32, (u16)(result)) \
    BINARY(name##_u32, u32, u32, u32, result)        \
    BINARY(name##_u64, u64, u64, u64, result)

FOR_INTEGERS(add, a + b)
FOR_INTEGERS(sub, a - b)
FOR_INTEGERS(mul_lo, a *b)
FOR_INTEGERS(and, a &b)
FOR_INTEGERS(or, a | b)
FOR_INTEGERS(xor, a ^ b)

BINARY(add_sat_s32, s32, s32, s32, num_add_sat_s32(a, b))
BINARY(sub_sat_s32, s32, s32, s32, num_sub_sat_s32(a, b))
BINARY(mul_hi_u16, u32, u32, u32, num_mul_hi_u16((u16)a, (u16)b))
BINARY(mul_hi_s16, u32, u32, u32, (u16)num_mul_hi_s16((s16)a, (s16)b))
BINARY(mul_hi_u32, u32, u32, u32, num_mul_hi_u32(a, b))
BINARY(mul_hi_s32, s32, s32, s32, num_mul_hi_s32(a, b))
BINARY(mul_hi_u64, u64, u64, u64, num_mul_hi_u64(a, b))
BINARY(mul_hi_s64, s64, s64, s64, num_mul_hi_s64(a, b))
BINARY(mul_wide_u16, u32, u32, u32, num_mul_wide_u16((u16)a, (u16)b))
BINARY(mul_wide_s16, s32, u32, u32, num_mul_wide_s16((s16)a, (s16)b))
BINARY(mul_wide_u32, u64, u32, u32, (uint64_t)a *b)
BINARY(mul_wide_s32, s64, s32, s32, (int64_t)a *b)
BINARY(mul24_lo_u32, u32, u32, u32, num_mul24_u32(a, b, false))
BINARY(mul24_hi_u32, u32, u32, u32, num_mul24_u32(a, b, true))
BINARY(mul24_lo_s32, s32, s32, s32, num_mul24_s32(a, b, false))
BINARY(mul24_hi_s32, s32, s32, s32, num_mul24_s32(a, b, true))

TERNARY(mad_lo_u16, u32, u32, u32, u32, (u16)(a *b + c))
TERNARY(mad_lo_u32, u32, u32, u32, u32, a *b + c)
TERNARY(mad_lo_u64, u64, u64, u64, u64, a *b + c)
TERNARY(mad_hi_u16, u32, u32, u32, u32, (u16)(num_mul_hi_u16((u16)a, (u16)b) + c))
TERNARY(mad_hi_s16, u32, u32, u32, u32, (u16)(num_mul_hi_s16((s16)a, (s16)b) + (int)c))
TERNARY(mad_hi_u32, u32, u32, u32, u32, num_mul_hi_u32(a, b) + c)
TERNARY(mad_hi_s32, u32, s32, s32, u32, (uint32_t)num_mul_hi_s32(a, b) + c)
TERNARY(mad_hi_u64, u64, u64, u64, u64, num_mul_hi_u64(a, b) + c)
TERNARY(mad_hi_s64, u64, s64, s64, u64, (uint64_t)num_mul_hi_s64(a, b) + c)
TERNARY(mad_hi_sat_s32, s32, s32, s32, s32, num_mad_hi_sat_s32(a, b, c))
TERNARY(mad_wide_u16, u32, u32, u32, u32, num_mul_wide_u16((u16)a, (u16)b) + c)
TERNARY(mad_wide_s16, u32, u32, u32, u32, (uint32_t)num_mul_wide_s16((s16)a, (s16)b) + c)
TERNARY(mad_wide_u32, u64, u32, u32, u64, (uint64_t)a *b + c)
TERNARY(mad_wide_s32, u64, s32, s32, u64, (uint64_t)((int64_t)a *b) + c)
TERNARY(mad24_lo_u32, u32, u32, u32, u32, num_mul24_u32(a, b, false) + c)
TERNARY(mad24_hi_u32, u32, u32, u32, u32, num_mul24_u32(a, b, true) + c)
TERNARY(mad24_lo_s32, u32, s32, s32, u32, (uint32_t)num_mul24_s32(a, b, false) + c)
TERNARY(mad24_hi_s32, u32, s32, s32, u32, (uint32_t)num_mul24_s32(a, b, true) + c)
TERNARY(mad24_hi_sat_s32, s32, s32, s32, s32, num_mad24_hi_sat_s32(a, b, c))
TERNARY(sad_u16, u32, u32, u32, u32, (u16)num_sad_u32(a, b, c))
TERNARY(sad_s16, u32, u32, u32, u32, (u16)num_sad_s32((s16)a, (s16)b, c))
TERNARY(sad_u32, u32, u32, u32, u32, num_sad_u32(a, b, c))
TERNARY(sad_s32, u32, s32, s32, u32, num_sad_s32(a, b, c))
TERNARY(sad_u64, u64, u64, u64, u64, num_sad_u64(a, b, c))
TERNARY(sad_s64, u64, s64, s64, u64, num_sad_s64(a, b, c))

// 16-bit division. Division by zero gives all ones, as for the wider types.
BINARY(div_u16, u32, u32, u32, b ? a / b : 0xFFFF)
BINARY(div_s16, u32, u32, u32, (u16)num_div_s32((s16)a, (s16)b))
BINARY(div_u32, u32, u32, u32, num_div_u32(a, b))
BINARY(div_s32, s32, s32, s32, num_div_s32(a, b))
BINARY(div_u64, u64, u64, u64, num_div_u64(a, b))
BINARY(div_s64, s64, s64, s64, num_div_s64(a, b))
BINARY(rem_u16, u32, u32, u32, b ? a % b : (u16)num_rem_u32(a, 0))
BINARY(rem_s16, u32, u32, u32, (u16)num_rem_s32((s16)a, (s16)b))
BINARY(rem_u32, u32, u32, u32, num_rem_u32(a, b))
BINARY(rem_s32, s32, s32, s32, num_rem_s32(a, b))
BINARY(rem_u64, u64, u64, u64, num_rem_u64(a, b))
BINARY(rem_s64, s64, s64, s64, num_rem_s64(a, b))

BINARY(min_u16, u32, u32, u32, a < b ? a : b)
BINARY(min_s16, u32, u32, u32, (s16)a < (s16)b ? a : b)
BINARY(min_u32, u32, u32, u32, a < b ? a : b)
BINARY(min_s32, s32, s32, s32, a < b ? a : b)
BINARY(min_u64, u64, u64, u64, a < b ? a : b)
BINARY(min_s64, s64, s64, s64, a < b ? a : b)
BINARY(max_u16, u32, u32, u32, a > b ? a : b)
BINARY(max_s16, u32, u32, u32, (s16)a > (s16)b ? a : b)
BINARY(max_u32, u32, u32, u32, a > b ? a : b)
BINARY(max_s32, s32, s32, s32, a > b ? a : b)
BINARY(max_u64, u64, u64, u64, a > b ? a : b)
BINARY(max_s64, s64, s64, s64, a > b ? a : b)
BINARY(min_relu_s32, s32, s32, s32, (a < b ? a : b) > 0 ? (a < b ? a : b) : 0)
BINARY(max_relu_s32, s32, s32, s32, (a > b ? a : b) > 0 ? (a > b ? a : b) : 0)

UNARY(abs_s16, u32, u32, (u16)((s16)a < 0 ? 0 - a : a))
UNARY(abs_s32, s32, s32, num_abs_s32(a))
UNARY(abs_s64, s64, s64, num_abs_s64(a))
UNARY(neg_s16, u32, u32, (u16)(0 - a))
UNARY(neg_s32, u32, u32, 0 - a)
UNARY(neg_s64, u64, u64, 0 - a)
UNARY(not_b16, u32, u32, (u16)~a)
UNARY(not_b32, u32, u32, ~a)
UNARY(not_b64, u64, u64, ~a)
UNARY(cnot_b16, u32, u32, a == 0)
UNARY(cnot_b32, u32, u32, a == 0)
UNARY(cnot_b64, u64, u64, a == 0)
UNARY(popc_b32, u32, u32, num_popc_b32(a))
UNARY(popc_b64, u32, u64, num_popc_b64(a))
UNARY(clz_b32, u32, u32, num_clz_b32(a))
UNARY(clz_b64, u32, u64, num_clz_b64(a))
UNARY(brev_b32, u32, u32, num_brev_b32(a))
UNARY(brev_b64, u64, u64, num_brev_b64(a))
UNARY(bfind_u32, u32, u32, num_bfind_u32(a, op->mode))
UNARY(bfind_s32, u32, s32, num_bfind_s32(a, op->mode))
UNARY(bfind_u64, u32, u64, num_bfind_u64(a, op->mode))
UNARY(bfind_s64, u32, s64, num_bfind_s64(a, op->mode))

BINARY(shl_b16, u32, u32, u32, num_shl_b16((u16)a, b))
BINARY(shl_b32, u32, u32, u32, num_shl_b32(a, b))
BINARY(shl_b64, u64, u64, u32, num_shl_b64(a, b))
BINARY(shr_u16, u32, u32, u32, num_shr_u16((u16)a, b))
BINARY(shr_s16, u32, u32, u32, (u16)num_shr_s16((s16)a, b))
BINARY(shr_u32, u32, u32, u32, num_shr_u32(a, b))
BINARY(shr_s32, s32, s32, u32, num_shr_s32(a, b))
BINARY(shr_u64, u64, u64, u32, num_shr_u64(a, b))
BINARY(shr_s64, s64, s64, u32, num_shr_s64(a, b))
TERNARY(shf_l, u32, u32, u32, u32, num_shf_l(a, b, c, op->mode))
TERNARY(shf_r, u32, u32, u32, u32, num_shf_r(a, b, c, op->mode))
BINARY(bmsk_clamp, u32, u32, u32, num_bmsk(a, b, false))
BINARY(bmsk_wrap, u32, u32, u32, num_bmsk(a, b, true))
BINARY(szext_u32, u32, u32, u32, num_szext_u32(a, b, op->mode))
BINARY(szext_s32, s32, s32, u32, num_szext_s32(a, b, op->mode))
TERNARY(bfe_u32, u32, u32, u32, u32, num_bfe_u32(a, b, c))
TERNARY(bfe_s32, s32, s32, u32, u32, num_bfe_s32(a, b, c))
TERNARY(bfe_u64, u64, u64, u32, u32, num_bfe_u64(a, b, c))
TERNARY(bfe_s64, s64, s64, u32, u32, num_bfe_s64(a, b, c))
QUATERNARY(bfi_b32, u32, u32, u32, u32, u32, num_bfi_b32(a, b, c, e))
QUATERNARY(bfi_b64, u64, u64, u64, u32, u32, num_bfi_b64(a, b, c, e))
TERNARY(prmt, u32, u32, u32, u32, num_prmt(a, b, c))
TERNARY(prmt_mode, u32, u32, u32, u32,
        num_prmt(a, b, num_prmt_selector((enum num_prmt)op->mode, c)))
TERNARY(fns, u32, u32, u32, s32, num_fns(a, b, c))
TERNARY(dp4a, u32, u32, u32, u32, num_dp4a(a, op->mode & 1, b, op->mode & 2, c))
TERNARY(dp2a, u32, u32, u32, u32, num_dp2a(a, op->mode & 1, b, op->mode & 2, op->mode & 4, c))

static enum sim_step lop3(struct sim_warp *warp, const struct sim_uop *op)
{
    lane_u32 *out = target(warp, op->d);
    const lane_u32 *in_a = source(warp, op->a), *in_b = source(warp, op->b);
    const lane_u32 *in_c = source(warp, op->c);
    OVER_LANES(lane_u32, out, (void)0, num_lop3(in_a[i], in_b[i], in_c[i], op->mode));
    return STEP_NEXT;
}

// lop3.and and lop3.or, with the results d | p: p says whether d is not 0, combined with a
// predicate in op->e.
enum { LOP3_AND = 1, LOP3_NOT = 2 }; // in op->flags

static enum sim_step lop3_predicate(struct sim_warp *warp, const struct sim_uop *op)
{
    const lane_u32 *in_a = source(warp, op->a), *in_b = source(warp, op->b);
    const lane_u32 *in_c = source(warp, op->c);
    uint32_t with = predicate(warp, op->e) ^ (op->flags & LOP3_NOT ? UINT32_MAX : 0), some = 0;
    lane_u32 value[LANES];
    for (int i = 0; i < LANES; i++) {
        value[i] = num_lop3(in_a[i], in_b[i], in_c[i], op->mode);
        some |= (uint32_t)(value[i] != 0) << i;
    }
    if (op->d != NO_SLOT) {
        lane_u32 *out = target(warp, op->d);
        OVER_LANES(lane_u32, out, (void)0, value[i]);
    }
    set_predicate(warp, (slot)op->offset, op->flags & LOP3_AND ? some & with : some | with);
    return STEP_NEXT;
}

static bool choose_lop3_predicate(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                  struct sim_uop *op)
{
    const struct ptx_operand *to = &instr->operands[0];
    bool negated;
    if (to->kind != PTX_OPERAND_PAIR || instr->operand_count != 6 ||
        instr->operands[4].kind != PTX_OPERAND_INT)
        return false;
    op->d = sim_decode_target(decoder, instr, &to->elements[0]);
    op->offset = sim_decode_target(decoder, instr, &to->elements[1]);
    op->a = sim_decode_typed(decoder, instr, &instr->operands[1], PTX_B32);
    op->b = sim_decode_typed(decoder, instr, &instr->operands[2], PTX_B32);
    op->c = sim_decode_typed(decoder, instr, &instr->operands[3], PTX_B32);
    op->mode = (uint8_t)instr->operands[4].bits;
    op->e = sim_decode_predicate(decoder, instr, &instr->operands[5], &negated);
    op->flags = (uint8_t)((ptx_form_has(instr->form, PTX_MOD_AND) ? LOP3_AND : 0) |
                          (negated ? LOP3_NOT : 0));
    op->run = lop3_predicate;
    return true;
}

// --- Pairs of 16 bits ----------------------------------------------------------------------------

BINARY(add_x2, u32, u32, u32, num_add_x2(a, b))
BINARY(min_u16x2, u32, u32, u32, num_min_u16x2(a, b))
BINARY(max_u16x2, u32, u32, u32, num_max_u16x2(a, b))
BINARY(min_s16x2, u32, u32, u32, num_min_s16x2(a, b, op->mode))
BINARY(max_s16x2, u32, u32, u32, num_max_s16x2(a, b, op->mode))

static bool choose_pairs(struct sim_decoder *decoder, const struct ptx_instr *instr,
                         struct sim_uop *op)
{
    enum ptx_type type = (enum ptx_type)instr->form->types[0];
    bool is_signed = type == PTX_S16X2;
    switch (ptx_op(instr)) {
    case PTX_OP_ADD: op->run = add_x2; break;
    case PTX_OP_MIN: op->run = is_signed ? min_s16x2 : min_u16x2; break;
    case PTX_OP_MAX: op->run = is_signed ? max_s16x2 : max_u16x2; break;
    default: return false;
    }
    if (instr->operand_count != 3)
        return false;
    op->mode = ptx_form_has(instr->form, PTX_MOD_RELU);
    fill_simple(decoder, instr, op, type);
    return true;
}

// --- Predicate logic: whole masks at once --------------------------------------------------------

enum { NOT_A = 1, NOT_B = 2 }; // in op->flags

static uint32_t operand_a(const struct sim_warp *warp, const struct sim_uop *op)
{
    return predicate(warp, op->a) ^ (op->flags & NOT_A ? UINT32_MAX : 0);
}

static uint32_t operand_b(const struct sim_warp *warp, const struct sim_uop *op)
{
    return predicate(warp, op->b) ^ (op->flags & NOT_B ? UINT32_MAX : 0);
}

static enum sim_step pred_and(struct sim_warp *warp, const struct sim_uop *op)
{
    set_predicate(warp, op->d, operand_a(warp, op) & operand_b(warp, op));
    return STEP_NEXT;
}

static enum sim_step pred_or(struct sim_warp *warp, const struct sim_uop *op)
{
    set_predicate(warp, op->d, operand_a(warp, op) | operand_b(warp, op));
    return STEP_NEXT;
}

static enum sim_step pred_xor(struct sim_warp *warp, const struct sim_uop *op)
{
    set_predicate(warp, op->d, operand_a(warp, op) ^ operand_b(warp, op));
    return STEP_NEXT;
}

static enum sim_step pred_not(struct sim_warp *warp, const struct sim_uop *op)
{
    set_predicate(warp, op->d, ~operand_a(warp, op));
    return STEP_NEXT;
}

// --- The carry chain -----------------------------------------------------------------------------

enum { CARRY_IN = 1, CARRY_OUT = 2, CARRY_HI = 4, CARRY_SUB = 8, CARRY_SIGNED = 16 };

#define CARRY_CHAIN(name, type, product_hi, product_hi_s, add, sub)                          \
    static enum sim_step name(struct sim_warp *warp, const struct sim_uop *op)               \
    {                                                                                        \
        lane_##type *out = target(warp, op->d);                                              \
        const lane_##type *in_a = source(warp, op->a), *in_b = source(warp, op->b);          \
        const lane_##type *in_c = op->c == NO_SLOT ? NULL : source(warp, op->c);             \
        uint32_t carry = warp->carry;                                                        \
        for (int i = 0; i < LANES; i++) {                                                    \
            if (!(warp->mask >> i & 1))                                                      \
                continue;                                                                    \
            lane_##type a = in_a[i], b = in_b[i];                                            \
            if (in_c) {                                                                      \
                a = op->mode & CARRY_HI                                                      \
                        ? (op->mode & CARRY_SIGNED ? (lane_##type)product_hi_s : product_hi) \
                        : a * b;                                                             \
                b = in_c[i];                                                                 \
            }                                                                                \
            bool in = op->mode & CARRY_IN && carry >> i & 1, left;                           \
            out[i] = op->mode & CARRY_SUB ? sub(a, b, in, &left) : add(a, b, in, &left);     \
            if (op->mode & CARRY_OUT)                                                        \
                carry = (carry & ~(1u << i)) | (uint32_t)left << i;                          \
        }                                                                                    \
        warp->carry = carry;                                                                 \
        return STEP_NEXT;                                                                    \
    }

CARRY_CHAIN(carry_32, u32, num_mul_hi_u32(a, b), num_mul_hi_s32((int32_t)a, (int32_t)b),
            num_addc_u32, num_subc_u32)
CARRY_CHAIN(carry_64, u64, num_mul_hi_u64(a, b), num_mul_hi_s64((int64_t)a, (int64_t)b),
            num_addc_u64, num_subc_u64)

static bool choose_carry(struct sim_decoder *decoder, const struct ptx_instr *instr,
                         struct sim_uop *op)
{
    enum ptx_op kind = ptx_op(instr);
    bool with_carry = kind == PTX_OP_ADDC || kind == PTX_OP_SUBC || kind == PTX_OP_MADC;
    bool sets = ptx_form_has(instr->form, PTX_MOD_CC);
    if (!with_carry && !sets)
        return false;
    enum ptx_type type = (enum ptx_type)instr->form->types[0];
    fill_simple(decoder, instr, op, type);
    op->mode = (uint8_t)((with_carry ? CARRY_IN : 0) | (sets ? CARRY_OUT : 0));
    if (kind == PTX_OP_SUB || kind == PTX_OP_SUBC)
        op->mode |= CARRY_SUB;
    if (ptx_form_has(instr->form, PTX_MOD_HI))
        op->mode |= CARRY_HI;
    if (ptx_type_info(type)->kind == PTX_CLASS_SIGNED)
        op->mode |= CARRY_SIGNED;
    op->run = ptx_type_info(type)->bits == 64 ? carry_64 : carry_32;
    return true;
}

// --- Choice --------------------------------------------------------------------------------------

#define SAME(name)                                                             \
    {                                                                          \
        name##_u16, name##_u16, name##_u32, name##_u32, name##_u64, name##_u64 \
    }
#define EACH(name)                                                             \
    {                                                                          \
        name##_u16, name##_s16, name##_u32, name##_s32, name##_u64, name##_s64 \
    }

static bool choose_shape(const struct ptx_instr *instr, int type, sim_handler **run)
{
    static sim_handler *const lo[] = SAME(mul_lo), *const hi[] = EACH(mul_hi);
    static sim_handler *const wide[] = {mul_wide_u16, mul_wide_s16, mul_wide_u32, mul_wide_s32};
    static sim_handler *const mad_lo[] = SAME(mad_lo), *const mad_hi[] = EACH(mad_hi);
    static sim_handler *const mad_wide[] = {mad_wide_u16, mad_wide_s16, mad_wide_u32, mad_wide_s32};
    bool mad = ptx_op(instr) == PTX_OP_MAD;
    const struct ptx_form *form = instr->form;
    if (ptx_form_has(form, PTX_MOD_WIDE))
        *run = type < INT_U64 ? (mad ? mad_wide : wide)[type] : NULL;
    else if (ptx_form_has(form, PTX_MOD_HI))
        *run = ptx_form_has(form, PTX_MOD_SAT) ? (mad ? mad_hi_sat_s32 : NULL)
                                               : (mad ? mad_hi : hi)[type];
    else if (ptx_form_has(form, PTX_MOD_LO))
        *run = (mad ? mad_lo : lo)[type];
    return *run != NULL;
}

static bool choose_bits(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    bool wide = ptx_type_info((enum ptx_type)form->types[0])->bits == 64;
    bool is_signed = ptx_type_info((enum ptx_type)form->types[0])->kind == PTX_CLASS_SIGNED;
    enum ptx_type type = (enum ptx_type)form->types[0];
    switch (ptx_op(instr)) {
    case PTX_OP_POPC: op->run = wide ? popc_b64 : popc_b32; break;
    case PTX_OP_CLZ: op->run = wide ? clz_b64 : clz_b32; break;
    case PTX_OP_BREV: op->run = wide ? brev_b64 : brev_b32; break;
    case PTX_OP_BFIND:
        op->mode = ptx_form_has(form, PTX_MOD_SHIFTAMT);
        op->run = wide ? (is_signed ? bfind_s64 : bfind_u64) : (is_signed ? bfind_s32 : bfind_u32);
        break;
    case PTX_OP_BFE:
        op->run = wide ? (is_signed ? bfe_s64 : bfe_u64) : (is_signed ? bfe_s32 : bfe_u32);
        break;
    case PTX_OP_BFI: op->run = wide ? bfi_b64 : bfi_b32; break;
    case PTX_OP_BMSK: op->run = ptx_form_has(form, PTX_MOD_WRAP) ? bmsk_wrap : bmsk_clamp; break;
    case PTX_OP_SZEXT:
        op->mode = ptx_form_has(form, PTX_MOD_WRAP);
        op->run = is_signed ? szext_s32 : szext_u32;
        break;
    case PTX_OP_SHF:
        op->mode = ptx_form_has(form, PTX_MOD_WRAP);
        op->run = ptx_form_has(form, PTX_MOD_L) ? shf_l : shf_r;
        break;
    case PTX_OP_PRMT:
        op->mode = (uint8_t)(ptx_form_has(form, PTX_MOD_F4E)    ? NUM_PRMT_F4E
                             : ptx_form_has(form, PTX_MOD_B4E)  ? NUM_PRMT_B4E
                             : ptx_form_has(form, PTX_MOD_RC8)  ? NUM_PRMT_RC8
                             : ptx_form_has(form, PTX_MOD_ECL)  ? NUM_PRMT_ECL
                             : ptx_form_has(form, PTX_MOD_ECR)  ? NUM_PRMT_ECR
                             : ptx_form_has(form, PTX_MOD_RC16) ? NUM_PRMT_RC16
                                                                : NUM_PRMT_INDEX);
        op->run = op->mode == NUM_PRMT_INDEX ? prmt : prmt_mode;
        break;
    case PTX_OP_FNS: op->run = fns; break;
    case PTX_OP_DP4A:
    case PTX_OP_DP2A:
        op->mode =
            (uint8_t)(is_signed |
                      (ptx_type_info((enum ptx_type)form->types[1])->kind == PTX_CLASS_SIGNED)
                          << 1 |
                      ptx_form_has(form, PTX_MOD_HI) << 2);
        op->run = ptx_op(instr) == PTX_OP_DP4A ? dp4a : dp2a;
        break;
    case PTX_OP_LOP3:
        if (choose_lop3_predicate(decoder, instr, op))
            return true;
        if (instr->operands[0].kind != PTX_OPERAND_REG || instr->operand_count != 5 ||
            instr->operands[4].kind != PTX_OPERAND_INT)
            return false;
        op->mode = (uint8_t)instr->operands[4].bits;
        op->run = lop3;
        break;
    default: return false;
    }
    slot *const places[] = {&op->a, &op->b, &op->c, &op->e};
    op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
    uint8_t sources = ptx_op(instr) == PTX_OP_LOP3 ? 4 : instr->operand_count;
    for (uint8_t i = 1; i < sources; i++) {
        // Positions, lengths and shift amounts have 32 bits even if the data has 64.
        char cell = ptx_op_cell(ptx_op(instr), i).type;
        *places[i - 1] =
            sim_decode_typed(decoder, instr, &instr->operands[i], cell == 'u' ? PTX_U32 : type);
    }
    return true;
}

static bool choose_predicate_logic(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                   struct sim_uop *op)
{
    bool negated;
    switch (ptx_op(instr)) {
    case PTX_OP_AND: op->run = pred_and; break;
    case PTX_OP_OR: op->run = pred_or; break;
    case PTX_OP_XOR: op->run = pred_xor; break;
    case PTX_OP_NOT: op->run = pred_not; break;
    default: return false;
    }
    op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
    op->a = sim_decode_predicate(decoder, instr, &instr->operands[1], &negated);
    op->flags = negated ? NOT_A : 0;
    if (instr->operand_count > 2) {
        op->b = sim_decode_predicate(decoder, instr, &instr->operands[2], &negated);
        op->flags |= negated ? NOT_B : 0;
    }
    return true;
}

bool sim_choose_integer_contracted(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                   const struct sim_contraction *contraction, struct sim_uop *op)
{
    const struct ptx_instr *product = contraction->product;
    const enum ptx_type type = (enum ptx_type)product->form->types[0];
    if (type != PTX_U32 && type != PTX_S32)
        return false;
    op->run = type == PTX_S32 ? mad_wide_s32 : mad_wide_u32;
    fill_contracted(decoder, instr, contraction, op);
    return true;
}

bool sim_choose_integer(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op)
{
    static sim_handler *const adds[] = SAME(add), *const subs[] = SAME(sub),
                              *const ands[] = SAME(and);
    static sim_handler *const ors[] = SAME(or), *const xors[] = SAME(xor),
                              *const divs[] = EACH(div);
    static sim_handler *const rems[] = EACH(rem), *const mins[] = EACH(min),
                              *const maxs[] = EACH(max);
    static sim_handler *const sads[] = EACH(sad);
    static sim_handler *const shls[] = {shl_b16, shl_b16, shl_b32, shl_b32, shl_b64, shl_b64};
    static sim_handler *const shrs[] = EACH(shr);
    static sim_handler *const abss[] = {NULL, abs_s16, NULL, abs_s32, NULL, abs_s64};
    static sim_handler *const negs[] = {neg_s16, neg_s16, neg_s32, neg_s32, neg_s64, neg_s64};
    static sim_handler *const nots[] = {not_b16, not_b16, not_b32, not_b32, not_b64, not_b64};
    static sim_handler *const cnots[] = {cnot_b16, cnot_b16, cnot_b32,
                                         cnot_b32, cnot_b64, cnot_b64};
    const struct ptx_form *form = instr->form;
    if (!form->type_count)
        return false;
    enum ptx_type type = (enum ptx_type)form->types[0];
    if (type == PTX_PRED)
        return choose_predicate_logic(decoder, instr, op);
    if (type == PTX_U16X2 || type == PTX_S16X2)
        return choose_pairs(decoder, instr, op);
    int kind = integer_of(type);
    if (kind < 0)
        return false;
    bool is_signed = ptx_type_info(type)->kind == PTX_CLASS_SIGNED;
    bool sat = ptx_form_has(form, PTX_MOD_SAT), relu = ptx_form_has(form, PTX_MOD_RELU);
    bool hi = ptx_form_has(form, PTX_MOD_HI);
    switch (ptx_op(instr)) {
    case PTX_OP_ADD:
    case PTX_OP_SUB:
    case PTX_OP_ADDC:
    case PTX_OP_SUBC:
    case PTX_OP_MADC:
        if (choose_carry(decoder, instr, op))
            return true;
        if (ptx_op(instr) == PTX_OP_ADD)
            op->run = sat ? add_sat_s32 : adds[kind];
        else
            op->run = sat ? sub_sat_s32 : subs[kind];
        break;
    case PTX_OP_MUL:
        if (!choose_shape(instr, kind, &op->run))
            return false;
        break;
    case PTX_OP_MAD:
        if (choose_carry(decoder, instr, op))
            return true;
        if (!choose_shape(instr, kind, &op->run))
            return false;
        op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
        op->a = sim_decode_typed(decoder, instr, &instr->operands[1], type);
        op->b = sim_decode_typed(decoder, instr, &instr->operands[2], type);
        op->c =
            sim_decode_typed(decoder, instr, &instr->operands[3],
                             ptx_form_has(form, PTX_MOD_WIDE) && kind >= INT_U32 ? PTX_U64 : type);
        return true;
    case PTX_OP_MUL24:
        op->run =
            is_signed ? (hi ? mul24_hi_s32 : mul24_lo_s32) : (hi ? mul24_hi_u32 : mul24_lo_u32);
        break;
    case PTX_OP_MAD24:
        op->run = sat         ? mad24_hi_sat_s32
                  : is_signed ? (hi ? mad24_hi_s32 : mad24_lo_s32)
                              : (hi ? mad24_hi_u32 : mad24_lo_u32);
        break;
    case PTX_OP_AND: op->run = ands[kind]; break;
    case PTX_OP_OR: op->run = ors[kind]; break;
    case PTX_OP_XOR: op->run = xors[kind]; break;
    case PTX_OP_NOT: op->run = nots[kind]; break;
    case PTX_OP_CNOT: op->run = cnots[kind]; break;
    case PTX_OP_DIV: op->run = divs[kind]; break;
    case PTX_OP_REM: op->run = rems[kind]; break;
    case PTX_OP_MIN: op->run = relu ? min_relu_s32 : mins[kind]; break;
    case PTX_OP_MAX: op->run = relu ? max_relu_s32 : maxs[kind]; break;
    case PTX_OP_SAD: op->run = sads[kind]; break;
    case PTX_OP_ABS: op->run = abss[kind]; break;
    case PTX_OP_NEG: op->run = negs[kind]; break;
    case PTX_OP_SHL:
    case PTX_OP_SHR:
        op->run = ptx_op(instr) == PTX_OP_SHL ? shls[kind] : shrs[kind];
        op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
        op->a = sim_decode_typed(decoder, instr, &instr->operands[1], type);
        op->b = sim_decode_typed(decoder, instr, &instr->operands[2], PTX_U32);
        return true;
    default: return choose_bits(decoder, instr, op);
    }
    if (!op->run)
        return false;
    fill_simple(decoder, instr, op, type);
    return true;
}
