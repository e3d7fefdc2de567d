// SPDX-License-Identifier: Apache-2.0
// Implements arithmetic of f16 and bf16, single and packed in pairs. Single values are in the low
// half of a lane.
#include "families.h"
#include "gpusim/numbers/approx.h"
#include "gpusim/numbers/half.h"
#include "gpusim/numbers/half_row.h"
#include "gpusim/numbers/numbers.h"
#include "ops.h"

#define FLAGS ((unsigned)op->flags)
#define H(x)  ((uint16_t)(x))

#define HALF_BINARY(name)                                                    \
    BINARY(name##_f16, u32, u32, u32, num_##name##_f16(H(a), H(b), FLAGS))   \
    BINARY(name##_bf16, u32, u32, u32, num_##name##_bf16(H(a), H(b), FLAGS)) \
    BINARY(name##_f16x2, u32, u32, u32, num_##name##_f16x2(a, b, FLAGS))     \
    BINARY(name##_bf16x2, u32, u32, u32, num_##name##_bf16x2(a, b, FLAGS))

HALF_BINARY(add)
HALF_BINARY(sub)
HALF_BINARY(mul)
HALF_BINARY(min)
HALF_BINARY(max)
TERNARY(fma_f16, u32, u32, u32, u32, num_fma_f16(H(a), H(b), H(c), FLAGS))
TERNARY(fma_bf16, u32, u32, u32, u32, num_fma_bf16(H(a), H(b), H(c), FLAGS))
TERNARY(fma_f16x2, u32, u32, u32, u32, num_fma_f16x2(a, b, c, FLAGS))
TERNARY(fma_bf16x2, u32, u32, u32, u32, num_fma_bf16x2(a, b, c, FLAGS))
// For contractions: op->offset holds the sign bits to flip in a, and in its upper half those in c.
#define FLIP_A ((uint32_t)op->offset)
#define FLIP_C ((uint32_t)(op->offset >> 32))
TERNARY(contracted_f16, u32, u32, u32, u32, num_fma_f16(H(a ^ FLIP_A), H(b), H(c ^ FLIP_C), FLAGS))
TERNARY(contracted_bf16, u32, u32, u32, u32,
        num_fma_bf16(H(a ^ FLIP_A), H(b), H(c ^ FLIP_C), FLAGS))
TERNARY(contracted_f16x2, u32, u32, u32, u32, num_fma_f16x2(a ^ FLIP_A, b, c ^ FLIP_C, FLAGS))
TERNARY(contracted_bf16x2, u32, u32, u32, u32, num_fma_bf16x2(a ^ FLIP_A, b, c ^ FLIP_C, FLAGS))
// This NaN, of either sign, marks an element outside a tensor; an H200 uses it for both formats.
// The result of fma.oob is 0 if a or b is this NaN, whatever c is.
static bool is_outside(uint16_t a)
{
    return (a & 0x7FFF) == 0x7FF7;
}

static uint16_t fma_oob_f16(uint16_t a, uint16_t b, uint16_t c, unsigned flags)
{
    return is_outside(a) || is_outside(b) ? 0 : num_fma_f16(a, b, c, flags);
}

static uint16_t fma_oob_bf16(uint16_t a, uint16_t b, uint16_t c, unsigned flags)
{
    return is_outside(a) || is_outside(b) ? 0 : num_fma_bf16(a, b, c, flags);
}

TERNARY(fma_outside_f16, u32, u32, u32, u32, fma_oob_f16(H(a), H(b), H(c), FLAGS))
TERNARY(fma_outside_bf16, u32, u32, u32, u32, fma_oob_bf16(H(a), H(b), H(c), FLAGS))
TERNARY(fma_outside_f16x2, u32, u32, u32, u32, NUM_X2_TERNARY(fma_oob_f16, a, b, c, FLAGS))
TERNARY(fma_outside_bf16x2, u32, u32, u32, u32, NUM_X2_TERNARY(fma_oob_bf16, a, b, c, FLAGS))
UNARY(abs_f16, u32, u32, num_abs_f16(H(a), FLAGS))
UNARY(abs_bf16, u32, u32, num_abs_bf16(H(a)))
UNARY(abs_f16x2, u32, u32, num_abs_f16x2(a, FLAGS))
UNARY(abs_bf16x2, u32, u32, num_abs_bf16x2(a))
UNARY(neg_f16, u32, u32, num_neg_f16(H(a), FLAGS))
UNARY(neg_bf16, u32, u32, num_neg_bf16(H(a)))
UNARY(neg_f16x2, u32, u32, num_neg_f16x2(a, FLAGS))
UNARY(neg_bf16x2, u32, u32, num_neg_bf16x2(a))
UNARY(ex2_f16, u32, u32, num_ex2_approx_f16(H(a)))
UNARY(ex2_bf16, u32, u32, num_ex2_approx_ftz_bf16(H(a)))
UNARY(ex2_f16x2, u32, u32, num_ex2_approx_f16x2(a))
UNARY(ex2_bf16x2, u32, u32, num_ex2_approx_ftz_bf16x2(a))
UNARY(tanh_f16, u32, u32, num_tanh_approx_f16(H(a)))
UNARY(tanh_bf16, u32, u32, num_tanh_approx_bf16(H(a)))
UNARY(tanh_f16x2, u32, u32, num_tanh_approx_f16x2(a))
UNARY(tanh_bf16x2, u32, u32, num_tanh_approx_bf16x2(a))

// All lanes at once, for processors that can. In a single f16, the upper half is computed too.
#ifdef __F16C__
static enum sim_step half_row(struct sim_warp *warp, const struct sim_uop *op)
{
    uint32_t result[LANES];
    num_half_row((enum num_half_op)op->mode, result, source(warp, op->a), source(warp, op->b),
                 op->c == NO_SLOT ? NULL : source(warp, op->c), FLIP_A, FLIP_C);
    lane_u32 *out = target(warp, op->d);
    const uint32_t keep = op->target;
    OVER_LANES(lane_u32, out, (void)0, result[i] & keep);
    return STEP_NEXT;
}
#endif

static void use_row(struct sim_uop *op, enum num_half_op what, enum ptx_type type)
{
    (void)what;
#ifdef __F16C__
    if (op->flags || (type != PTX_F16 && type != PTX_F16X2))
        return;
    op->mode = (uint8_t)what;
    op->target = type == PTX_F16 ? UINT16_MAX : UINT32_MAX;
    op->run = half_row;
#else
    (void)op;
    (void)type;
#endif
}

#define ROW(name)                                            \
    {                                                        \
        name##_f16, name##_bf16, name##_f16x2, name##_bf16x2 \
    }

static int row_of(enum ptx_type type)
{
    return type == PTX_F16      ? 0
           : type == PTX_BF16   ? 1
           : type == PTX_F16X2  ? 2
           : type == PTX_BF16X2 ? 3
                                : -1;
}

static uint8_t flags_of(const struct ptx_form *form)
{
    return (uint8_t)((ptx_form_has(form, PTX_MOD_FTZ) ? NUM_FTZ : 0) |
                     (ptx_form_has(form, PTX_MOD_SAT) ? NUM_SAT : 0) |
                     (ptx_form_has(form, PTX_MOD_RELU) ? NUM_RELU : 0) |
                     (ptx_form_has(form, PTX_MOD_NAN_CAPITAL) ? NUM_NAN : 0) |
                     (ptx_form_has(form, PTX_MOD_XORSIGN) ? NUM_XORSIGN : 0));
}

bool sim_choose_half_contracted(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                const struct sim_contraction *contraction, struct sim_uop *op)
{
    static sim_handler *const rows[] = ROW(contracted);
    int row = row_of((enum ptx_type)instr->form->types[0]);
    if (row < 0)
        return false;
    const int64_t signs = 0x80008000;
    op->run = rows[row];
    op->flags = flags_of(instr->form);
    op->offset =
        (contraction->negate_product ? signs : 0) | (contraction->negate_addend ? signs << 32 : 0);
    use_row(op, NUM_HALF_FMA, (enum ptx_type)instr->form->types[0]);
    fill_contracted(decoder, instr, contraction, op);
    return true;
}

bool sim_choose_half(struct sim_decoder *decoder, const struct ptx_instr *instr, struct sim_uop *op)
{
    static sim_handler *const adds[] = ROW(add), *const subs[] = ROW(sub), *const muls[] = ROW(mul);
    static sim_handler *const mins[] = ROW(min), *const maxs[] = ROW(max), *const fmas[] = ROW(fma);
    static sim_handler *const abss[] = ROW(abs), *const negs[] = ROW(neg), *const ex2s[] = ROW(ex2);
    static sim_handler *const tanhs[] = ROW(tanh), *const oobs[] = ROW(fma_outside);
    const struct ptx_form *form = instr->form;
    enum ptx_type type = (enum ptx_type)form->types[0];
    int row = row_of(type);
    if (row < 0 || form->type_count != 1)
        return false;
    op->flags = flags_of(form);
    bool oob = ptx_form_has(form, PTX_MOD_OOB);
    if (instr->operand_count > 4 || (oob && ptx_op(instr) != PTX_OP_FMA))
        return false;
    if (form->round && form->round != PTX_MOD_RN)
        sim_decode_refuse(decoder, instr, "a rounding other than to nearest, of 16 bits");
    switch (ptx_op(instr)) {
    case PTX_OP_ADD:
        op->run = adds[row];
        use_row(op, NUM_HALF_ADD, type);
        break;
    case PTX_OP_SUB:
        op->run = subs[row];
        use_row(op, NUM_HALF_SUB, type);
        break;
    case PTX_OP_MUL:
        op->run = muls[row];
        use_row(op, NUM_HALF_MUL, type);
        break;
    case PTX_OP_MIN: op->run = mins[row]; break;
    case PTX_OP_MAX: op->run = maxs[row]; break;
    case PTX_OP_FMA:
        op->run = (oob ? oobs : fmas)[row];
        if (!oob)
            use_row(op, NUM_HALF_FMA, type);
        break;
    case PTX_OP_ABS: op->run = abss[row]; break;
    case PTX_OP_NEG: op->run = negs[row]; break;
    case PTX_OP_EX2: op->run = ex2s[row]; break;
    case PTX_OP_TANH: op->run = tanhs[row]; break;
    default: return false;
    }
    fill_simple(decoder, instr, op, type);
    return true;
}
