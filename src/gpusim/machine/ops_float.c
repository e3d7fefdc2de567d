// SPDX-License-Identifier: Apache-2.0
// Implements arithmetic of f32 and f64. Round-to-nearest without modifiers has separate, faster
// handlers. All other forms share handlers that read rounding and flags from the op.
#include "families.h"
#include "gpusim/numbers/approx.h"
#include "gpusim/numbers/numbers.h"
#include "ops.h"

#define ROUND ((enum num_round)op->mode)
#define FLAGS ((unsigned)op->flags)

// name_fast: .rn without flags. name_any: all other forms.
#define FLOAT_BINARY(name)                                                      \
    BINARY(name##_f32_fast, f32, f32, f32, num_##name##_f32(a, b, NUM_RN, 0))   \
    BINARY(name##_f32_any, f32, f32, f32, num_##name##_f32(a, b, ROUND, FLAGS)) \
    BINARY(name##_f64_fast, f64, f64, f64, num_##name##_f64(a, b, NUM_RN))      \
    BINARY(name##_f64_any, f64, f64, f64, num_##name##_f64(a, b, ROUND))

FLOAT_BINARY(add)
FLOAT_BINARY(sub)
FLOAT_BINARY(mul)
FLOAT_BINARY(div)
BINARY(add_f32_ftz, f32, f32, f32, num_add_f32(a, b, NUM_RN, NUM_FTZ))
BINARY(sub_f32_ftz, f32, f32, f32, num_sub_f32(a, b, NUM_RN, NUM_FTZ))

// Products and sums of products with .ftz flush what is below the normal range before it is rounded
// to it, which takes the exact result to see. It can only matter if the rounded result is at that
// border: not 0, and not above the smallest normal number.
static inline uint32_t is_border(float value)
{
    const uint32_t magnitude = num_bits_f32(value) & 0x7FFFFFFFu;
    return magnitude - 1 < 0x00800000u;
}

static __attribute__((noinline)) enum sim_step mul_f32_border(struct sim_warp *warp,
                                                              const struct sim_uop *op);

static enum sim_step mul_f32_ftz(struct sim_warp *warp, const struct sim_uop *op)
{
    const lane_f32 *in_a = source(warp, op->a), *in_b = source(warp, op->b);
    float result[LANES];
    uint32_t border = 0;
    for (int i = 0; i < LANES; i++) {
        result[i] = num_flush_f32(in_a[i]) * num_flush_f32(in_b[i]);
        border |= is_border(result[i]);
    }
    if (border)
        return mul_f32_border(warp, op);
    lane_f32 *out = target(warp, op->d);
    OVER_LANES(lane_f32, out, (void)0, num_canonical_f32(result[i]));
    return STEP_NEXT;
}
BINARY(mul_f32_border, f32, f32, f32, num_mul_f32(a, b, NUM_RN, NUM_FTZ))

#ifdef __FP_FAST_FMAF
#define FMA_FTZ(name, negative_a, negative_c)                                                    \
    static enum sim_step name##_f32_ftz(struct sim_warp *warp, const struct sim_uop *op)         \
    {                                                                                            \
        const lane_f32 *in_a = source(warp, op->a), *in_b = source(warp, op->b);                 \
        const lane_f32 *in_c = source(warp, op->c);                                              \
        float result[LANES];                                                                     \
        uint32_t border = 0;                                                                     \
        for (int i = 0; i < LANES; i++) {                                                        \
            result[i] =                                                                          \
                __builtin_fmaf(negative_a##_f32(num_flush_f32(in_a[i])), num_flush_f32(in_b[i]), \
                               negative_c##_f32(num_flush_f32(in_c[i])));                        \
            border |= is_border(result[i]);                                                      \
        }                                                                                        \
        if (border)                                                                              \
            return name##_f32_border(warp, op);                                                  \
        lane_f32 *out = target(warp, op->d);                                                     \
        OVER_LANES(lane_f32, out, (void)0, num_canonical_f32(result[i]));                        \
        return STEP_NEXT;                                                                        \
    }
#else
#define FMA_FTZ(name, negative_a, negative_c)                                            \
    static enum sim_step name##_f32_ftz(struct sim_warp *warp, const struct sim_uop *op) \
    {                                                                                    \
        return name##_f32_border(warp, op);                                              \
    }
#endif
// PLAIN or MINUS is applied to a and c. For f64, MINUS keeps the sign of a NaN, which the result
// shows.
#define FLOAT_FMA(name, negative_a, negative_c)                                        \
    TERNARY(name##_f32_fast, f32, f32, f32, f32,                                       \
            num_fma_f32(negative_a##_f32(a), b, negative_c##_f32(c), NUM_RN, 0))       \
    TERNARY(name##_f32_border, f32, f32, f32, f32,                                     \
            num_fma_f32(negative_a##_f32(a), b, negative_c##_f32(c), NUM_RN, NUM_FTZ)) \
    FMA_FTZ(name, negative_a, negative_c)                                              \
    TERNARY(name##_f32_any, f32, f32, f32, f32,                                        \
            num_fma_f32(negative_a##_f32(a), b, negative_c##_f32(c), ROUND, FLAGS))    \
    TERNARY(name##_f64_fast, f64, f64, f64, f64,                                       \
            num_fma_f64(negative_a##_f64(a), b, negative_c##_f64(c), NUM_RN))          \
    TERNARY(name##_f64_any, f64, f64, f64, f64,                                        \
            num_fma_f64(negative_a##_f64(a), b, negative_c##_f64(c), ROUND))
#define PLAIN_f32(x) (x)
#define PLAIN_f64(x) (x)
#define MINUS_f32(x) (-(x))
#define MINUS_f64(x) num_neg_f64(x)
FLOAT_FMA(fma, PLAIN, PLAIN)
// For contractions: c - a * b, a * b - c, -(a * b) - c.
FLOAT_FMA(fma_less_product, MINUS, PLAIN)
FLOAT_FMA(fma_less_addend, PLAIN, MINUS)
FLOAT_FMA(fma_less_both, MINUS, MINUS)

UNARY(rcp_f32, f32, f32, num_rcp_f32(a, ROUND, FLAGS))
UNARY(rcp_f64, f64, f64, num_rcp_f64(a, ROUND))
UNARY(sqrt_f32, f32, f32, num_sqrt_f32(a, ROUND, FLAGS))
UNARY(sqrt_f64, f64, f64, num_sqrt_f64(a, ROUND))
UNARY(abs_f32, f32, f32, num_abs_f32(a, FLAGS))
UNARY(abs_f64, f64, f64, num_abs_f64(a))
UNARY(neg_f32, f32, f32, num_neg_f32(a, FLAGS))
UNARY(neg_f64, f64, f64, num_neg_f64(a))
BINARY(min_f32, f32, f32, f32, num_min_f32(a, b, FLAGS))
BINARY(max_f32, f32, f32, f32, num_max_f32(a, b, FLAGS))
BINARY(min_f64, f64, f64, f64, num_min_f64(a, b))
BINARY(max_f64, f64, f64, f64, num_max_f64(a, b))
TERNARY(min3_f32, f32, f32, f32, f32, num_min3_f32(a, b, c, FLAGS))
TERNARY(max3_f32, f32, f32, f32, f32, num_max3_f32(a, b, c, FLAGS))
// The result has the sign of the first operand and the magnitude of the second.
BINARY(copysign_f32, f32, f32, f32, num_copysign_f32(a, b))
BINARY(copysign_f64, f64, f64, f64, num_copysign_f64(a, b))

// With constant flags, these compile to shorter loops.
#define APPROXIMATION(name)                                                \
    UNARY(name##_approx_f32_fast, f32, f32, num_##name##_approx_f32(a, 0)) \
    UNARY(name##_approx_f32_ftz, f32, f32, num_##name##_approx_f32(a, NUM_FTZ))
APPROXIMATION(rcp)
APPROXIMATION(sqrt)
UNARY(rsqrt_approx_f32_any, f32, f32, num_rsqrt_approx_f32(a, FLAGS))

static enum sim_step rsqrt_approx_f32(struct sim_warp *warp, const struct sim_uop *op)
{
    const lane_f32 *in = source(warp, op->a);
    float result[LANES];
    uint32_t other = 0;
    for (int i = 0; i < LANES; i++) {
        result[i] = num_rsqrt_normal_f32(in[i]);
        other |= num_is_positive_normal_f32(in[i]) ? 0 : warp->lanes[i];
    }
    if (other)
        return rsqrt_approx_f32_any(warp, op);
    lane_f32 *out = target(warp, op->d);
    OVER_LANES(lane_f32, out, (void)0, result[i]);
    return STEP_NEXT;
}

UNARY(sin_approx_f32, f32, f32, num_sin_approx_f32(a, FLAGS))
UNARY(cos_approx_f32, f32, f32, num_cos_approx_f32(a, FLAGS))
APPROXIMATION(lg2)
APPROXIMATION(ex2)
UNARY(tanh_approx_f32, f32, f32, num_tanh_approx_f32(a))
UNARY(rcp_approx_f64, f64, f64, num_rcp_approx_ftz_f64(a))
UNARY(rsqrt_approx_f64, f64, f64,
      FLAGS &NUM_FTZ ? num_rsqrt_approx_ftz_f64(a) : num_rsqrt_approx_f64(a))
BINARY(div_approx_f32_fast, f32, f32, f32, num_div_approx_f32(a, b, 0))
BINARY(div_approx_f32_ftz, f32, f32, f32, num_div_approx_f32(a, b, NUM_FTZ))
BINARY(div_full_f32, f32, f32, f32, num_div_full_f32(a, b, FLAGS))

static enum sim_step testp_f32(struct sim_warp *warp, const struct sim_uop *op)
{
    const lane_f32 *in = source(warp, op->a);
    uint32_t bits = 0;
    for (int i = 0; i < LANES; i++)
        bits |= (uint32_t)num_testp_f32((enum num_class)op->mode, in[i]) << i;
    set_predicate(warp, op->d, bits);
    return STEP_NEXT;
}

static enum sim_step testp_f64(struct sim_warp *warp, const struct sim_uop *op)
{
    const lane_f64 *in = source(warp, op->a);
    uint32_t bits = 0;
    for (int i = 0; i < LANES; i++)
        bits |= (uint32_t)num_testp_f64((enum num_class)op->mode, in[i]) << i;
    set_predicate(warp, op->d, bits);
    return STEP_NEXT;
}

static bool choose_testp(const struct ptx_instr *instr, struct sim_uop *op, bool wide)
{
    const struct ptx_form *form = instr->form;
    op->mode = (uint8_t)(ptx_form_has(form, PTX_MOD_FINITE)       ? NUM_CLASS_FINITE
                         : ptx_form_has(form, PTX_MOD_INFINITE)   ? NUM_CLASS_INFINITE
                         : ptx_form_has(form, PTX_MOD_NUMBER)     ? NUM_CLASS_NUMBER
                         : ptx_form_has(form, PTX_MOD_NOTANUMBER) ? NUM_CLASS_NOTANUMBER
                         : ptx_form_has(form, PTX_MOD_NORMAL)     ? NUM_CLASS_NORMAL
                                                                  : NUM_CLASS_SUBNORMAL);
    op->run = wide ? testp_f64 : testp_f32;
    return true;
}

#define PICK_APPROXIMATION(name) (op->flags ? name##_approx_f32_ftz : name##_approx_f32_fast)

static bool choose_approximation(const struct ptx_instr *instr, struct sim_uop *op, bool wide)
{
    switch (ptx_op(instr)) {
    case PTX_OP_RCP: op->run = wide ? rcp_approx_f64 : PICK_APPROXIMATION(rcp); return true;
    case PTX_OP_SQRT: op->run = wide ? NULL : PICK_APPROXIMATION(sqrt); return !wide;
    case PTX_OP_RSQRT: op->run = wide ? rsqrt_approx_f64 : rsqrt_approx_f32; return true;
    case PTX_OP_SIN: op->run = sin_approx_f32; return !wide;
    case PTX_OP_COS: op->run = cos_approx_f32; return !wide;
    case PTX_OP_LG2: op->run = PICK_APPROXIMATION(lg2); return !wide;
    case PTX_OP_EX2: op->run = PICK_APPROXIMATION(ex2); return !wide;
    case PTX_OP_TANH: op->run = tanh_approx_f32; return !wide;
    case PTX_OP_DIV: op->run = PICK_APPROXIMATION(div); return !wide;
    default: return false;
    }
}

static void set_mode_and_flags(const struct ptx_form *form, struct sim_uop *op)
{
    op->mode = (uint8_t)(form->round == PTX_MOD_RZ   ? NUM_RZ
                         : form->round == PTX_MOD_RM ? NUM_RM
                         : form->round == PTX_MOD_RP ? NUM_RP
                                                     : NUM_RN);
    op->flags = (uint8_t)((ptx_form_has(form, PTX_MOD_FTZ) ? NUM_FTZ : 0) |
                          (ptx_form_has(form, PTX_MOD_SAT) ? NUM_SAT : 0) |
                          (ptx_form_has(form, PTX_MOD_NAN_CAPITAL) ? NUM_NAN : 0) |
                          (ptx_form_has(form, PTX_MOD_XORSIGN) ? NUM_XORSIGN : 0));
}

// Picks one of the handlers of an operation.
#define PICK(name)                                     \
    (wide ? (plain ? name##_f64_fast : name##_f64_any) \
          : (plain ? name##_f32_fast                   \
             : ftz ? name##_f32_ftz                    \
                   : name##_f32_any))

bool sim_choose_float_contracted(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                 const struct sim_contraction *contraction, struct sim_uop *op)
{
    enum ptx_type type = (enum ptx_type)instr->form->types[0];
    if (type != PTX_F32 && type != PTX_F64)
        return false;
    set_mode_and_flags(instr->form, op);
    bool wide = type == PTX_F64, plain = !op->flags, ftz = op->flags == NUM_FTZ;
    bool product = contraction->negate_product, addend = contraction->negate_addend;
    op->run = product && addend ? PICK(fma_less_both)
              : product         ? PICK(fma_less_product)
              : addend          ? PICK(fma_less_addend)
                                : PICK(fma);
    fill_contracted(decoder, instr, contraction, op);
    return true;
}

bool sim_choose_float(struct sim_decoder *decoder, const struct ptx_instr *instr,
                      struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    enum ptx_type type = (enum ptx_type)form->types[0];
    if (form->type_count != 1 || (type != PTX_F32 && type != PTX_F64))
        return false;
    bool wide = type == PTX_F64;
    set_mode_and_flags(form, op);
    bool plain = op->mode == NUM_RN && !op->flags;
    bool ftz = op->mode == NUM_RN && op->flags == NUM_FTZ;
    bool three = instr->operand_count == 4;
    bool chosen = true;
    if (ptx_form_has(form, PTX_MOD_APPROX)) {
        chosen = choose_approximation(instr, op, wide);
    } else {
        switch (ptx_op(instr)) {
        case PTX_OP_ADD: op->run = PICK(add); break;
        case PTX_OP_SUB: op->run = PICK(sub); break;
        case PTX_OP_MUL: op->run = PICK(mul); break;
        case PTX_OP_FMA:
        case PTX_OP_MAD: op->run = PICK(fma); break;
        case PTX_OP_DIV:
            op->run = ptx_form_has(form, PTX_MOD_FULL) ? div_full_f32
                      : wide                           ? (plain ? div_f64_fast : div_f64_any)
                                                       : (plain ? div_f32_fast : div_f32_any);
            break;
        case PTX_OP_RCP: op->run = wide ? rcp_f64 : rcp_f32; break;
        case PTX_OP_SQRT: op->run = wide ? sqrt_f64 : sqrt_f32; break;
        case PTX_OP_ABS: op->run = wide ? abs_f64 : abs_f32; break;
        case PTX_OP_NEG: op->run = wide ? neg_f64 : neg_f32; break;
        case PTX_OP_MIN: op->run = wide ? min_f64 : three ? min3_f32 : min_f32; break;
        case PTX_OP_MAX: op->run = wide ? max_f64 : three ? max3_f32 : max_f32; break;
        case PTX_OP_COPYSIGN: op->run = wide ? copysign_f64 : copysign_f32; break;
        case PTX_OP_TESTP: chosen = choose_testp(instr, op, wide); break;
        default: chosen = false;
        }
    }
    if (chosen)
        fill_simple(decoder, instr, op, type);
    return chosen;
}
