// SPDX-License-Identifier: Apache-2.0
// Macros that define handlers. A scalar expression becomes a loop over the lanes of a warp, which
// the compiler vectorizes. If some lanes are inactive, they keep their values.
#ifndef GLINT_GPUSIM_MACHINE_OPS_H
#define GLINT_GPUSIM_MACHINE_OPS_H

#include "decode.h"

// Declares that the iterations of the next loop are independent of each other.
#ifdef __clang__
#define ANY_ORDER _Pragma("clang loop vectorize(assume_safety)")
#else
#define ANY_ORDER _Pragma("GCC ivdep")
#endif

// A loop over lanes. `result` is an expression that may use i and the variables that `inputs`
// declares.
#define OVER_LANES(type, out, inputs, result)            \
    do {                                                 \
        if (warp->mask == ALL_LANES) {                   \
            ANY_ORDER for (int i = 0; i < LANES; i++)    \
            {                                            \
                inputs;                                  \
                (out)[i] = (type)(result);               \
            }                                            \
        } else {                                         \
            const uint32_t *lanes = warp->lanes;         \
            ANY_ORDER for (int i = 0; i < LANES; i++)    \
            {                                            \
                inputs;                                  \
                type value_ = (type)(result);            \
                (out)[i] = lanes[i] ? value_ : (out)[i]; \
            }                                            \
        }                                                \
    } while (0)

// Lanes of the register file are read and written as several types of one width.
typedef uint32_t __attribute__((may_alias)) lane_u32;
typedef int32_t __attribute__((may_alias)) lane_s32;
typedef float __attribute__((may_alias)) lane_f32;
typedef uint64_t __attribute__((may_alias)) lane_u64;
typedef int64_t __attribute__((may_alias)) lane_s64;
typedef double __attribute__((may_alias)) lane_f64;

#define UNARY(name, to, from, result)                                          \
    static enum sim_step name(struct sim_warp *warp, const struct sim_uop *op) \
    {                                                                          \
        lane_##to *out = target(warp, op->d);                                  \
        const lane_##from *in_a = source(warp, op->a);                         \
        OVER_LANES(lane_##to, out, lane_##from a = in_a[i], result);           \
        return STEP_NEXT;                                                      \
    }

#define BINARY(name, to, from_a, from_b, result)                                                  \
    static enum sim_step name(struct sim_warp *warp, const struct sim_uop *op)                    \
    {                                                                                             \
        lane_##to *out = target(warp, op->d);                                                     \
        const lane_##from_a *in_a = source(warp, op->a);                                          \
        const lane_##from_b *in_b = source(warp, op->b);                                          \
        OVER_LANES(lane_##to, out, lane_##from_a a = in_a[i]; lane_##from_b b = in_b[i], result); \
        return STEP_NEXT;                                                                         \
    }

#define TERNARY(name, to, from_a, from_b, from_c, result)                                \
    static enum sim_step name(struct sim_warp *warp, const struct sim_uop *op)           \
    {                                                                                    \
        lane_##to *out = target(warp, op->d);                                            \
        const lane_##from_a *in_a = source(warp, op->a);                                 \
        const lane_##from_b *in_b = source(warp, op->b);                                 \
        const lane_##from_c *in_c = source(warp, op->c);                                 \
        OVER_LANES(lane_##to, out, lane_##from_a a = in_a[i]; lane_##from_b b = in_b[i]; \
                   lane_##from_c c = in_c[i], result);                                   \
        return STEP_NEXT;                                                                \
    }

#define QUATERNARY(name, to, from_a, from_b, from_c, from_e, result)                     \
    static enum sim_step name(struct sim_warp *warp, const struct sim_uop *op)           \
    {                                                                                    \
        lane_##to *out = target(warp, op->d);                                            \
        const lane_##from_a *in_a = source(warp, op->a);                                 \
        const lane_##from_b *in_b = source(warp, op->b);                                 \
        const lane_##from_c *in_c = source(warp, op->c);                                 \
        const lane_##from_e *in_e = source(warp, op->e);                                 \
        OVER_LANES(lane_##to, out, lane_##from_a a = in_a[i]; lane_##from_b b = in_b[i]; \
                   lane_##from_c c = in_c[i]; lane_##from_e e = in_e[i], result);        \
        return STEP_NEXT;                                                                \
    }

// Handlers by integer type, for tables.
enum sim_integer { INT_U16, INT_S16, INT_U32, INT_S32, INT_U64, INT_S64, INTEGERS };

static inline int integer_of(enum ptx_type type)
{
    switch (type) {
    case PTX_U16:
    case PTX_B16: return INT_U16;
    case PTX_S16: return INT_S16;
    case PTX_U32:
    case PTX_B32: return INT_U32;
    case PTX_S32: return INT_S32;
    case PTX_U64:
    case PTX_B64: return INT_U64;
    case PTX_S64: return INT_S64;
    default: return -1;
    }
}

// Decodes the destination and up to four sources, all of type `type`, from the operands in order.
static inline void fill_simple(struct sim_decoder *decoder, const struct ptx_instr *instr,
                               struct sim_uop *op, enum ptx_type type)
{
    slot *const places[] = {&op->a, &op->b, &op->c, &op->e};
    op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
    for (uint8_t i = 1; i < instr->operand_count && i <= 4; i++)
        *places[i - 1] = sim_decode_typed(decoder, instr, &instr->operands[i], type);
}

static inline void fill_contracted(struct sim_decoder *decoder, const struct ptx_instr *sum,
                                   const struct sim_contraction *contraction, struct sim_uop *op)
{
    const struct ptx_operand *product = contraction->product->operands;
    const enum ptx_type factor = (enum ptx_type)contraction->product->form->types[0];
    const enum ptx_type type = (enum ptx_type)sum->form->types[0];
    op->d = sim_decode_register(decoder, sum, &sum->operands[0]);
    op->a = sim_decode_typed(decoder, sum, &product[1], factor);
    op->b = sim_decode_typed(decoder, sum, &product[2], factor);
    op->c = sim_decode_typed(decoder, sum, &sum->operands[contraction->addend], type);
}

#endif
