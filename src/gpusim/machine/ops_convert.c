// SPDX-License-Identifier: Apache-2.0
// Implements cvt between all integer and floating-point types. Most conversions run lane by lane
// and read a description; the few that every kernel uses are vector loops.
#include "families.h"
#include "gpusim/numbers/cvt.h"
#include "gpusim/numbers/half.h"
#include "gpusim/numbers/numbers.h"
#include "ops.h"

// In op->mode: the registers have 64 bits; the destination has 16 bits.
enum { FROM_WIDE = 1, TO_WIDE = 2, TO_HALF = 4 };

#define CUT(value) ((uint32_t)(value) & (op->mode & TO_HALF ? 0xFFFFu : ~0u))

UNARY(u64_from_u32, u64, u32, (uint64_t)a)
UNARY(u32_from_u64, u32, u64, (uint32_t)a)
UNARY(f32_from_u32, f32, u32, (float)a)
UNARY(f32_from_u64, f32, u64, (float)a)
UNARY(f32_from_s64, f32, s64, (float)a)
UNARY(f64_from_u32, f64, u32, (double)a)
UNARY(f64_from_u64, f64, u64, (double)a)
UNARY(f64_from_s64, f64, s64, (double)a)
UNARY(f64_from_f32, f64, f32, num_f64_from_f32(a, 0))
UNARY(f32_from_f64, f32, f64, num_f32_from_f64(a, NUM_RN, 0))
UNARY(f32_from_f16, f32, u32, num_f32_from_f32(num_f32_from_f16((uint16_t)a), 0))
UNARY(f32_from_bf16, f32, u32, num_f32_from_f32(num_f32_from_bf16((uint16_t)a), 0))
UNARY(f16_from_f32, u32, f32, num_f16_from_f32(a, NUM_RN, 0))
UNARY(bf16_from_f32, u32, f32, num_bf16_from_f32(a, NUM_RN, 0))

// Integers of up to 32 bits: op->offset is the number of bits of a lane that the source type does
// not have, op->rejoin that of bits which the destination type does not have.
#define FROM_SIGNED        ((int32_t)((uint32_t)a << op->offset) >> op->offset)
#define FROM_UNSIGNED      ((uint32_t)a << op->offset >> op->offset)
#define TO_SIGNED(value)   CUT((int32_t)((uint32_t)(value) << op->rejoin) >> op->rejoin)
#define TO_UNSIGNED(value) CUT((uint32_t)(value) << op->rejoin >> op->rejoin)
UNARY(signed_from_signed, u32, u32, TO_SIGNED(FROM_SIGNED))
UNARY(signed_from_unsigned, u32, u32, TO_SIGNED(FROM_UNSIGNED))
UNARY(unsigned_from_signed, u32, u32, TO_UNSIGNED(FROM_SIGNED))
UNARY(unsigned_from_unsigned, u32, u32, TO_UNSIGNED(FROM_UNSIGNED))
UNARY(signed_from_wide, u32, u64, TO_SIGNED(a))
UNARY(unsigned_from_wide, u32, u64, TO_UNSIGNED(a))
UNARY(wide_from_signed, s64, u32, (int64_t)FROM_SIGNED)
UNARY(wide_from_unsigned, u64, u32, (uint64_t)FROM_UNSIGNED)
UNARY(f32_from_signed, f32, u32, (float)FROM_SIGNED)
UNARY(f32_from_short, f32, u32, (float)(int32_t)FROM_UNSIGNED)
UNARY(f64_from_signed, f64, u32, (double)FROM_SIGNED)
UNARY(f64_from_short, f64, u32, (double)(int32_t)FROM_UNSIGNED)

// Each rounding has a handler, so that its loop compiles to vector code.
#define BY_ROUND(name, to, from, result)       \
    UNARY(name##_rn, to, from, result(NUM_RN)) \
    UNARY(name##_rz, to, from, result(NUM_RZ)) \
    UNARY(name##_rm, to, from, result(NUM_RM)) \
    UNARY(name##_rp, to, from, result(NUM_RP)) \
    static sim_handler *const name[] = {       \
        [NUM_RN] = name##_rn, [NUM_RZ] = name##_rz, [NUM_RM] = name##_rm, [NUM_RP] = name##_rp};
#define F32_INTEGRAL(round) num_rint_f32(a, round, op->flags)
#define F64_INTEGRAL(round) num_rint_f64(a, round, 0)
#define S32_OF_F32(round)   (uint32_t) num_s32_from_f32(a, round, op->flags)
#define U32_OF_F32(round)   num_u32_from_f32(a, round, op->flags)
#define S64_OF_F32(round)   num_int_from_f32(a, 64, true, round, op->flags)
#define U64_OF_F32(round)   num_int_from_f32(a, 64, false, round, op->flags)
#define S32_OF_F64(round)   (uint32_t) num_int_from_f64(a, 32, true, round)
#define U32_OF_F64(round)   (uint32_t) num_int_from_f64(a, 32, false, round)
#define S64_OF_F64(round)   num_int_from_f64(a, 64, true, round)
#define U64_OF_F64(round)   num_int_from_f64(a, 64, false, round)
BY_ROUND(integral_f32, f32, f32, F32_INTEGRAL)
BY_ROUND(integral_f64, f64, f64, F64_INTEGRAL)
BY_ROUND(s32_from_f32, u32, f32, S32_OF_F32)
BY_ROUND(u32_from_f32, u32, f32, U32_OF_F32)
BY_ROUND(s64_from_f32, u64, f32, S64_OF_F32)
BY_ROUND(u64_from_f32, u64, f32, U64_OF_F32)
BY_ROUND(s32_from_f64, u32, f64, S32_OF_F64)
BY_ROUND(u32_from_f64, u32, f64, U32_OF_F64)
BY_ROUND(s64_from_f64, u64, f64, S64_OF_F64)
BY_ROUND(u64_from_f64, u64, f64, U64_OF_F64)

// Integers of 8 and 16 bits: conversions clamp, so clamping twice gives the same.
static inline uint32_t shorter(int32_t value, unsigned bits, bool is_signed)
{
    const int32_t least = is_signed ? -(1 << (bits - 1)) : 0;
    const int32_t most = (1 << (is_signed ? bits - 1 : bits)) - 1;
    return (uint32_t)(value < least ? least : value > most ? most : value);
}
#define SHORTER(round, bits, is_signed) \
    CUT(shorter(num_s32_from_f32(a, round, op->flags), bits, is_signed))
#define S8_OF_F32(round)  SHORTER(round, 8, true)
#define U8_OF_F32(round)  SHORTER(round, 8, false)
#define S16_OF_F32(round) SHORTER(round, 16, true)
#define U16_OF_F32(round) SHORTER(round, 16, false)
BY_ROUND(s8_from_f32, u32, f32, S8_OF_F32)
BY_ROUND(u8_from_f32, u32, f32, U8_OF_F32)
BY_ROUND(s16_from_f32, u32, f32, S16_OF_F32)
BY_ROUND(u16_from_f32, u32, f32, U16_OF_F32)

// Describes a conversion; op->extra points to it.
struct conversion {
    uint8_t from, to; // enum ptx_type
    uint8_t round;    // enum num_round
    uint8_t flags;    // enum num_flag
    bool to_integral; // .rni and the like, between floating-point types
    bool saturate;    // of integer results
};

static bool is_signed(enum ptx_type type)
{
    return ptx_type_info(type)->kind == PTX_CLASS_SIGNED;
}

static bool is_float(enum ptx_type type)
{
    return ptx_type_info(type)->kind == PTX_CLASS_FLOAT;
}

static uint64_t from_integer(const struct conversion *cvt, uint64_t value)
{
    enum ptx_type from = (enum ptx_type)cvt->from, to = (enum ptx_type)cvt->to;
    unsigned bits = ptx_type_info(from)->bits;
    uint64_t wide = num_extend(value, bits, is_signed(from));
    enum num_round round = (enum num_round)cvt->round;
    switch (to) {
    case PTX_F32: return num_bits_f32(num_f32_from_int(wide, is_signed(from), round, cvt->flags));
    case PTX_F64: return num_bits_f64(num_f64_from_int(wide, is_signed(from), round, cvt->flags));
    case PTX_F16: return num_f16_from_int(wide, is_signed(from), round, cvt->flags);
    case PTX_BF16: return num_bf16_from_int(wide, is_signed(from), round, cvt->flags);
    default:
        return num_int_from_int(value, bits, is_signed(from), ptx_type_info(to)->bits,
                                is_signed(to), cvt->saturate);
    }
}

static uint64_t from_f32(const struct conversion *cvt, float a)
{
    enum ptx_type to = (enum ptx_type)cvt->to;
    enum num_round round = (enum num_round)cvt->round;
    switch (to) {
    case PTX_F32:
        return num_bits_f32(cvt->to_integral ? num_rint_f32(a, round, cvt->flags)
                                             : num_f32_from_f32(a, cvt->flags));
    case PTX_F64: return num_bits_f64(num_f64_from_f32(a, cvt->flags));
    // The hardware does not flush here, even with .ftz.
    case PTX_F16: return num_f16_from_f32(a, round, cvt->flags & ~(unsigned)NUM_FTZ);
    case PTX_BF16: return num_bf16_from_f32(a, round, cvt->flags);
    case PTX_TF32: return num_tf32_from_f32(a, round, cvt->flags);
    default: return num_int_from_f32(a, ptx_type_info(to)->bits, is_signed(to), round, cvt->flags);
    }
}

static uint64_t from_f64(const struct conversion *cvt, double a)
{
    enum ptx_type to = (enum ptx_type)cvt->to;
    enum num_round round = (enum num_round)cvt->round;
    switch (to) {
    case PTX_F32: return num_bits_f32(num_f32_from_f64(a, round, cvt->flags));
    case PTX_F64:
        return num_bits_f64(cvt->to_integral ? num_rint_f64(a, round, cvt->flags)
                                             : num_f64_from_f64(a, cvt->flags));
    case PTX_F16: return num_f16_from_f64(a, round, cvt->flags);
    case PTX_BF16: return num_bf16_from_f64(a, round, cvt->flags);
    default: return num_int_from_f64(a, ptx_type_info(to)->bits, is_signed(to), round);
    }
}

static uint64_t from_half(const struct conversion *cvt, uint16_t a)
{
    enum ptx_type to = (enum ptx_type)cvt->to;
    enum num_round round = (enum num_round)cvt->round;
    bool brain = cvt->from == PTX_BF16;
    switch (to) {
    case PTX_F32: {
        float wide = brain ? num_f32_from_bf16(a) : num_f32_from_f16(a);
        return num_bits_f32(num_f32_from_f32(wide, cvt->flags));
    }
    case PTX_F64: {
        double wide = brain ? num_f64_from_bf16(a) : num_f64_from_f16(a);
        return num_bits_f64(num_f64_from_f64(wide, cvt->flags));
    }
    case PTX_F16:
        if (brain)
            return num_f16_from_bf16(a, round, cvt->flags);
        a = cvt->to_integral ? num_rint_f16(a, round) : a;
        return num_f16_from_f32(num_f32_from_f16(a), NUM_RN, cvt->flags);
    case PTX_BF16:
        if (!brain)
            return num_bf16_from_f16(a, round, cvt->flags);
        return cvt->to_integral ? num_rint_bf16(a, round)
                                : num_bf16_from_f32(num_f32_from_bf16(a), NUM_RN, cvt->flags);
    default:
        return brain ? num_int_from_bf16(a, ptx_type_info(to)->bits, is_signed(to), round)
                     : num_int_from_f16(a, ptx_type_info(to)->bits, is_signed(to), round);
    }
}

static uint64_t convert_value(const struct conversion *cvt, uint64_t value)
{
    switch ((enum ptx_type)cvt->from) {
    case PTX_F32: return from_f32(cvt, num_from_bits_f32((uint32_t)value));
    case PTX_F64: return from_f64(cvt, num_from_bits_f64(value));
    case PTX_F16:
    case PTX_BF16: return from_half(cvt, (uint16_t)value);
    default: return from_integer(cvt, value);
    }
}

static enum sim_step convert(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct conversion *cvt = op->extra;
    const void *in = source(warp, op->a);
    void *out = target(warp, op->d);
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        uint64_t value =
            op->mode & FROM_WIDE ? ((const lane_u64 *)in)[i] : ((const lane_u32 *)in)[i];
        value = convert_value(cvt, value);
        if (op->mode & TO_WIDE)
            ((lane_u64 *)out)[i] = value;
        else
            ((lane_u32 *)out)[i] = op->mode & TO_HALF ? (uint16_t)value : (uint32_t)value;
    }
    return STEP_NEXT;
}

// --- Pairs: two f32 into one packed value, and 8-bit pairs ---------------------------------------

static enum sim_step convert_pair(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct conversion *cvt = op->extra;
    const lane_f32 *high = source(warp, op->a), *low = source(warp, op->b);
    lane_u32 *out = target(warp, op->d);
    enum num_round round = (enum num_round)cvt->round;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        switch ((enum ptx_type)cvt->to) {
        case PTX_F16X2: out[i] = num_f16x2_from_f32(high[i], low[i], round, cvt->flags); break;
        case PTX_BF16X2: out[i] = num_bf16x2_from_f32(high[i], low[i], round, cvt->flags); break;
        case PTX_E4M3X2:
            out[i] = num_small_x2_from_f32(NUM_E4M3, high[i], low[i], cvt->flags);
            break;
        default: out[i] = num_small_x2_from_f32(NUM_E5M2, high[i], low[i], cvt->flags); break;
        }
    }
    return STEP_NEXT;
}

static enum sim_step convert_small(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct conversion *cvt = op->extra;
    const lane_u32 *in = source(warp, op->a);
    lane_u32 *out = target(warp, op->d);
    bool to_small = cvt->from == PTX_F16X2;
    enum num_small format = (to_small ? cvt->to : cvt->from) == PTX_E4M3X2 ? NUM_E4M3 : NUM_E5M2;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        out[i] = to_small ? num_small_x2_from_f16x2(format, in[i], cvt->flags)
                          : num_f16x2_from_small_x2(format, (uint16_t)in[i], cvt->flags);
    }
    return STEP_NEXT;
}

static bool choose_packed(struct sim_decoder *decoder, const struct ptx_instr *instr,
                          struct sim_uop *op, const struct conversion *cvt)
{
    bool small_to = cvt->to == PTX_E4M3X2 || cvt->to == PTX_E5M2X2;
    bool small_from = cvt->from == PTX_E4M3X2 || cvt->from == PTX_E5M2X2;
    op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
    op->a = sim_decode_typed(decoder, instr, &instr->operands[1], (enum ptx_type)cvt->from);
    if (cvt->from == PTX_F32 && instr->operand_count == 3 &&
        (cvt->to == PTX_F16X2 || cvt->to == PTX_BF16X2 || small_to)) {
        op->b = sim_decode_typed(decoder, instr, &instr->operands[2], PTX_F32);
        op->run = convert_pair;
        return true;
    }
    if ((cvt->from == PTX_F16X2 && small_to) || (cvt->to == PTX_F16X2 && small_from)) {
        op->run = convert_small;
        return true;
    }
    return false;
}

static unsigned bits_of(enum ptx_type type)
{
    return ptx_type_info(type)->bits;
}

static bool is_short(enum ptx_type type)
{
    return bits_of(type) < 32;
}

static sim_handler *between_integers(enum ptx_type from, enum ptx_type to, struct sim_uop *op)
{
    const bool from_wide = bits_of(from) == 64, to_wide = bits_of(to) == 64;
    if (from_wide && to_wide)
        return NULL;
    op->offset = from_wide ? 0 : 32 - (int64_t)bits_of(from);
    op->rejoin = to_wide ? 0 : 32 - bits_of(to);
    if (to_wide)
        return is_signed(from) ? wide_from_signed : op->offset ? wide_from_unsigned : u64_from_u32;
    if (from_wide)
        return !op->rejoin ? u32_from_u64 : is_signed(to) ? signed_from_wide : unsigned_from_wide;
    return is_signed(to) ? (is_signed(from) ? signed_from_signed : signed_from_unsigned)
                         : (is_signed(from) ? unsigned_from_signed : unsigned_from_unsigned);
}

static sim_handler *float_from_integer(enum ptx_type from, enum ptx_type to, struct sim_uop *op)
{
    const bool wide = to == PTX_F64, from_signed = is_signed(from);
    if (bits_of(from) == 64)
        return wide ? (from_signed ? f64_from_s64 : f64_from_u64)
                    : (from_signed ? f32_from_s64 : f32_from_u64);
    op->offset = 32 - (int64_t)bits_of(from);
    if (from_signed || is_short(from))
        return wide ? (from_signed ? f64_from_signed : f64_from_short)
                    : (from_signed ? f32_from_signed : f32_from_short);
    return wide ? f64_from_u32 : f32_from_u32;
}

static sim_handler *integer_from_float(enum ptx_type from, enum ptx_type to, enum num_round round)
{
    const bool wide = from == PTX_F64, to_signed = is_signed(to);
    switch (bits_of(to)) {
    case 8: return wide ? NULL : (to_signed ? s8_from_f32 : u8_from_f32)[round];
    case 16: return wide ? NULL : (to_signed ? s16_from_f32 : u16_from_f32)[round];
    case 32:
        return (wide ? (to_signed ? s32_from_f64 : u32_from_f64)
                     : (to_signed ? s32_from_f32 : u32_from_f32))[round];
    default:
        return (wide ? (to_signed ? s64_from_f64 : u64_from_f64)
                     : (to_signed ? s64_from_f32 : u64_from_f32))[round];
    }
}

// Returns the loop for a frequent conversion, or NULL. Registers are as wide as their lanes.
static sim_handler *frequent(const struct conversion *cvt, struct sim_uop *op)
{
    const enum ptx_type from = (enum ptx_type)cvt->from, to = (enum ptx_type)cvt->to;
    const enum num_round round = (enum num_round)cvt->round;
    const bool plain = !cvt->flags && round == NUM_RN, half = op->mode & TO_HALF;
    op->flags = cvt->flags;
    if (!is_float(from) && !is_float(to))
        return cvt->saturate ? NULL : between_integers(from, to, op);
    if (!is_float(from))
        return plain && (to == PTX_F32 || to == PTX_F64) ? float_from_integer(from, to, op) : NULL;
    if (round > NUM_RP || cvt->flags & ~(unsigned)NUM_FTZ)
        return NULL;
    if (!is_float(to))
        return from == PTX_F32 || from == PTX_F64 ? integer_from_float(from, to, round) : NULL;
    if (cvt->to_integral)
        return from == PTX_F32 && to == PTX_F32   ? integral_f32[round]
               : from == PTX_F64 && to == PTX_F64 ? integral_f64[round]
                                                  : NULL;
    if (!plain)
        return NULL;
    return from == PTX_F32 && to == PTX_F64            ? f64_from_f32
           : from == PTX_F64 && to == PTX_F32          ? f32_from_f64
           : from == PTX_F16 && to == PTX_F32          ? f32_from_f16
           : from == PTX_BF16 && to == PTX_F32         ? f32_from_bf16
           : from == PTX_F32 && to == PTX_F16 && half  ? f16_from_f32
           : from == PTX_F32 && to == PTX_BF16 && half ? bf16_from_f32
                                                       : NULL;
}

// cvt.pack: two clamped integers, below the third operand.
static enum sim_step convert_pack(struct sim_warp *warp, const struct sim_uop *op)
{
    const lane_s32 *high = source(warp, op->a), *low = source(warp, op->b);
    const lane_u32 *above = op->c == NO_SLOT ? NULL : source(warp, op->c);
    lane_u32 *out = target(warp, op->d);
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        out[i] = num_pack(high[i], low[i], above ? above[i] : 0, op->bytes, op->mode);
    }
    return STEP_NEXT;
}

static bool choose_pack(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    enum ptx_type to = (enum ptx_type)form->types[0];
    unsigned bits = ptx_type_info(to)->bits;
    if (form->type_count < 2 || form->types[1] != PTX_S32 || bits > 16 || is_float(to) ||
        (instr->operand_count == 3) != (bits == 16) || !ptx_form_has(form, PTX_MOD_SAT))
        return false;
    op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
    op->a = sim_decode_typed(decoder, instr, &instr->operands[1], PTX_S32);
    op->b = sim_decode_typed(decoder, instr, &instr->operands[2], PTX_S32);
    if (instr->operand_count > 3)
        op->c = sim_decode_typed(decoder, instr, &instr->operands[3], PTX_B32);
    op->bytes = (uint8_t)bits;
    op->mode = is_signed(to);
    op->run = convert_pack;
    return true;
}

// A special register is first copied to a register reserved for it, and converted from there.
struct from_special {
    struct sim_uop read, convert;
};

static enum sim_step convert_special(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct from_special *special = op->extra;
    special->read.run(warp, &special->read);
    return special->convert.run(warp, &special->convert);
}

static struct from_special *read_special(struct sim_decoder *decoder, const struct ptx_instr *instr)
{
    const struct ptx_operand *operand = &instr->operands[1];
    struct from_special *special = base_new(decoder->arena, struct from_special);
    unsigned bytes = sim_decode_lane_bytes((enum ptx_type)instr->form->types[1]);
    special->read.d = decoder->code->register_bytes;
    special->read.bytes = (uint8_t)bytes;
    if (!sim_decode_special(operand, &special->read))
        sim_decode_refuse(decoder, instr, "an unsupported special register");
    decoder->code->register_bytes += LANES * bytes;
    return special;
}

bool sim_choose_convert(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    if (ptx_op(instr) == PTX_OP_CVT_PACK)
        return choose_pack(decoder, instr, op);
    if (ptx_op(instr) != PTX_OP_CVT || form->type_count != 2)
        return false;
    struct conversion *cvt = base_new(decoder->arena, struct conversion);
    cvt->to = form->types[0];
    cvt->from = form->types[1];
    enum ptx_type from = (enum ptx_type)cvt->from, to = (enum ptx_type)cvt->to;
    bool sat = ptx_form_has(form, PTX_MOD_SAT);
    cvt->flags = (uint8_t)((ptx_form_has(form, PTX_MOD_FTZ) ? NUM_FTZ : 0) |
                           (sat && is_float(to) ? NUM_SAT : 0) |
                           (ptx_form_has(form, PTX_MOD_RELU) ? NUM_RELU : 0) |
                           (ptx_form_has(form, PTX_MOD_SATFINITE) ? NUM_FINITE : 0));
    cvt->saturate = sat && !is_float(to);
    switch (form->round) {
    case PTX_MOD_RZ:
    case PTX_MOD_RZI: cvt->round = NUM_RZ; break;
    case PTX_MOD_RM:
    case PTX_MOD_RMI: cvt->round = NUM_RM; break;
    case PTX_MOD_RP:
    case PTX_MOD_RPI: cvt->round = NUM_RP; break;
    case PTX_MOD_RNA: cvt->round = NUM_RNA; break;
    case PTX_MOD_RS: return false;
    default: cvt->round = NUM_RN;
    }
    cvt->to_integral = form->round == PTX_MOD_RNI || form->round == PTX_MOD_RZI ||
                       form->round == PTX_MOD_RMI || form->round == PTX_MOD_RPI;
    if (to == PTX_TF32 && cvt->flags & NUM_FINITE)
        sim_decode_refuse(decoder, instr, "what NaN becomes is not known");
    op->extra = cvt;
    if (ptx_type_info(from)->packed > 1 || ptx_type_info(to)->packed > 1)
        return choose_packed(decoder, instr, op, cvt);
    bool known_to = integer_of(to) >= 0 || ptx_type_info(to)->bits == 8 || to == PTX_F32 ||
                    to == PTX_F64 || to == PTX_F16 || to == PTX_BF16 || to == PTX_TF32;
    bool known_from = integer_of(from) >= 0 ||
                      (ptx_type_info(from)->bits == 8 && !is_float(from)) || from == PTX_F32 ||
                      from == PTX_F64 || from == PTX_F16 || from == PTX_BF16;
    if (!known_to || !known_from || instr->operand_count != 2 ||
        (ptx_type_info(to)->bits == 8 && is_float(to)))
        return false;
    const struct ptx_operand *target_operand = &instr->operands[0];
    op->d = sim_decode_register(decoder, instr, target_operand);
    struct from_special *special = NULL;
    if (instr->operands[1].kind == PTX_OPERAND_SREG) {
        special = read_special(decoder, instr);
        op->a = special->read.d;
    } else {
        op->a = sim_decode_typed(decoder, instr, &instr->operands[1], from);
    }
    if (instr->operands[1].kind == PTX_OPERAND_REG
            ? sim_decode_lane_bytes((enum ptx_type)instr->operands[1].reg->type) == WIDE
            : sim_decode_lane_bytes(from) == WIDE)
        op->mode |= FROM_WIDE;
    const struct ptx_type_info *reg = ptx_type_info((enum ptx_type)target_operand->reg->type);
    if (reg->bits == 64)
        op->mode |= TO_WIDE;
    if (reg->bits == 16)
        op->mode |= TO_HALF;
    // The loops read lanes of the type's width, and write all of a lane.
    const bool natural = !(op->mode & FROM_WIDE) == (bits_of(from) < 64) &&
                         !(op->mode & TO_WIDE) == (bits_of(to) < 64);
    op->run = natural ? frequent(cvt, op) : NULL;
    if (!op->run)
        op->run = convert;
    if (special) {
        special->convert = *op;
        op->extra = special;
        op->run = convert_special;
    }
    return true;
}
