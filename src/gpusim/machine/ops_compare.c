// SPDX-License-Identifier: Apache-2.0
// Implements comparisons that set predicates or registers, and selections by predicates.
#include "families.h"
#include "gpusim/numbers/half.h"
#include "gpusim/numbers/numbers.h"
#include "ops.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

// A comparison of all lanes gives 0 or -1 for each, which compiles to vector code. These functions
// return the lanes with -1.
static inline uint32_t lanes_of_32(const int32_t truth[LANES])
{
    uint32_t bits = 0;
#ifdef __AVX2__
    for (int i = 0; i < LANES; i += 8) {
        const __m256 eight = _mm256_castsi256_ps(_mm256_loadu_si256((const void *)(truth + i)));
        bits |= (uint32_t)_mm256_movemask_ps(eight) << i;
    }
#else
    for (int i = 0; i < LANES; i++)
        bits |= (uint32_t)(truth[i] & 1) << i;
#endif
    return bits;
}

static inline uint32_t lanes_of_64(const int64_t truth[LANES])
{
    uint32_t bits = 0;
#ifdef __AVX2__
    for (int i = 0; i < LANES; i += 4) {
        const __m256d four = _mm256_castsi256_pd(_mm256_loadu_si256((const void *)(truth + i)));
        bits |= (uint32_t)_mm256_movemask_pd(four) << i;
    }
#else
    for (int i = 0; i < LANES; i++)
        bits |= (uint32_t)(truth[i] & 1) << i;
#endif
    return bits;
}

typedef int32_t truth_u32, truth_s32, truth_f32;
typedef int64_t truth_u64, truth_s64, truth_f64;
#define lanes_of_u32 lanes_of_32
#define lanes_of_s32 lanes_of_32
#define lanes_of_f32 lanes_of_32
#define lanes_of_u64 lanes_of_64
#define lanes_of_s64 lanes_of_64
#define lanes_of_f64 lanes_of_64

// Adds to `bits` the lanes of in_a and in_b for which the comparison holds.
#define LANE_LOOP(type, test)                     \
    do {                                          \
        truth_##type truth[LANES];                \
        for (int i = 0; i < LANES; i++) {         \
            lane_##type a = in_a[i], b = in_b[i]; \
            truth[i] = -(truth_##type)(test);     \
        }                                         \
        bits |= lanes_of_##type(truth);           \
    } while (0)

// The same for the operands.
#define MASK_LOOP(type, test)                                                       \
    do {                                                                            \
        const lane_##type *in_a = source(warp, op->a), *in_b = source(warp, op->b); \
        LANE_LOOP(type, test);                                                      \
    } while (0)

#define BY_RELATION(type)                            \
    switch (op->mode) {                              \
    case NUM_CMP_EQ: MASK_LOOP(type, a == b); break; \
    case NUM_CMP_NE: MASK_LOOP(type, a != b); break; \
    case NUM_CMP_LT: MASK_LOOP(type, a < b); break;  \
    case NUM_CMP_LE: MASK_LOOP(type, a <= b); break; \
    case NUM_CMP_GT: MASK_LOOP(type, a > b); break;  \
    default: MASK_LOOP(type, a >= b); break;         \
    }

// Returns the relation that holds where this one, which holds for NaN, does not.
static enum num_cmp opposite_of(enum num_cmp cmp)
{
    switch (cmp) {
    case NUM_CMP_EQU: return NUM_CMP_NE;
    case NUM_CMP_NEU: return NUM_CMP_EQ;
    case NUM_CMP_LTU: return NUM_CMP_GE;
    case NUM_CMP_LEU: return NUM_CMP_GT;
    case NUM_CMP_GTU: return NUM_CMP_LE;
    case NUM_CMP_GEU: return NUM_CMP_LT;
    default: return NUM_CMP_NUM;
    }
}

// num_compare_f32() and num_compare_f64() of all lanes, with a loop for each relation, which
// compiles to vector code.
#define COMPARE_FLOATS(type)                                                  \
    static uint32_t compare_##type(enum num_cmp cmp, const lane_##type *in_a, \
                                   const lane_##type *in_b)                   \
    {                                                                         \
        const bool holds_for_nan = cmp >= NUM_CMP_EQU && cmp != NUM_CMP_NUM;  \
        uint32_t bits = 0;                                                    \
        switch (holds_for_nan ? opposite_of(cmp) : cmp) {                     \
        case NUM_CMP_EQ: LANE_LOOP(type, a == b); break;                      \
        case NUM_CMP_NE: LANE_LOOP(type, (a < b) | (a > b)); break;           \
        case NUM_CMP_LT: LANE_LOOP(type, a < b); break;                       \
        case NUM_CMP_LE: LANE_LOOP(type, a <= b); break;                      \
        case NUM_CMP_GT: LANE_LOOP(type, a > b); break;                       \
        case NUM_CMP_GE: LANE_LOOP(type, a >= b); break;                      \
        default: LANE_LOOP(type, (a == a) & (b == b)); break;                 \
        }                                                                     \
        return holds_for_nan ? ~bits : bits;                                  \
    }
COMPARE_FLOATS(f32)
COMPARE_FLOATS(f64)

// The values of f32 and f16 as comparisons see them.
static void read_f32(lane_f32 out[LANES], const lane_f32 *in, unsigned flags)
{
    for (int i = 0; i < LANES; i++)
        out[i] = num_in_f32(in[i], flags);
}

static void read_f16(lane_f32 out[LANES], const lane_u32 *in, unsigned flags)
{
    for (int i = 0; i < LANES; i++)
        out[i] = num_in_f16((uint16_t)in[i], flags);
}

// The type of the compared values, in op->bytes.
enum result_shape {
    SHAPE_U32,
    SHAPE_S32,
    SHAPE_U64,
    SHAPE_S64,
    SHAPE_U16,
    SHAPE_S16,
    SHAPE_F32,
    SHAPE_F64,
    SHAPE_F16,
    SHAPE_BF16
};

static uint32_t compare(const struct sim_warp *warp, const struct sim_uop *op)
{
    uint32_t bits = 0;
    enum num_cmp cmp = (enum num_cmp)op->mode;
    switch ((enum result_shape)op->bytes) {
    case SHAPE_U16:
    case SHAPE_U32: BY_RELATION(u32) break;
    case SHAPE_S32: BY_RELATION(s32) break;
    case SHAPE_U64: BY_RELATION(u64) break;
    case SHAPE_S64: BY_RELATION(s64) break;
    case SHAPE_S16: MASK_LOOP(u32, num_compare_s64(cmp, (int16_t)a, (int16_t)b)); break;
    case SHAPE_F32: {
        lane_f32 a[LANES], b[LANES];
        if (!op->flags)
            return compare_f32(cmp, source(warp, op->a), source(warp, op->b));
        read_f32(a, source(warp, op->a), op->flags);
        read_f32(b, source(warp, op->b), op->flags);
        return compare_f32(cmp, a, b);
    }
    case SHAPE_F64: return compare_f64(cmp, source(warp, op->a), source(warp, op->b));
    case SHAPE_F16: {
        lane_f32 a[LANES], b[LANES];
        read_f16(a, source(warp, op->a), op->flags);
        read_f16(b, source(warp, op->b), op->flags);
        return compare_f32(cmp, a, b);
    }
    case SHAPE_BF16: MASK_LOOP(u32, num_compare_bf16(cmp, (uint16_t)a, (uint16_t)b)); break;
    }
    return bits;
}

// How the result is combined with a third predicate, in op->count.
enum combination { ALONE, WITH_AND, WITH_OR, WITH_XOR };

static uint32_t combined(const struct sim_warp *warp, const struct sim_uop *op, uint32_t bits)
{
    if (op->count == ALONE)
        return bits;
    uint32_t with = predicate(warp, op->c);
    if (op->space) // the predicate is negated
        with = ~with;
    return op->count == WITH_AND ? bits & with : op->count == WITH_OR ? bits | with : bits ^ with;
}

static enum sim_step setp(struct sim_warp *warp, const struct sim_uop *op)
{
    uint32_t bits = compare(warp, op);
    uint32_t second = combined(warp, op, ~bits);
    set_predicate(warp, op->d, combined(warp, op, bits));
    set_predicate(warp, op->e, second);
    return STEP_NEXT;
}

// Without a third predicate and a second result.
static enum sim_step setp_one(struct sim_warp *warp, const struct sim_uop *op)
{
    set_predicate(warp, op->d, compare(warp, op));
    return STEP_NEXT;
}

#define SETP_FAST(name, type, test)                                            \
    static enum sim_step name(struct sim_warp *warp, const struct sim_uop *op) \
    {                                                                          \
        uint32_t bits = 0;                                                     \
        MASK_LOOP(type, test);                                                 \
        set_predicate(warp, op->d, bits);                                      \
        return STEP_NEXT;                                                      \
    }

SETP_FAST(setp_lt_s32, s32, a < b)
SETP_FAST(setp_ge_s32, s32, a >= b)
SETP_FAST(setp_gt_s32, s32, a > b)
SETP_FAST(setp_le_s32, s32, a <= b)
SETP_FAST(setp_lt_u32, u32, a < b)
SETP_FAST(setp_ge_u32, u32, a >= b)
SETP_FAST(setp_gt_u32, u32, a > b)
SETP_FAST(setp_le_u32, u32, a <= b)
SETP_FAST(setp_lt_f32, f32, a < b)
SETP_FAST(setp_ge_f32, f32, a >= b)
SETP_FAST(setp_gt_f32, f32, a > b)
SETP_FAST(setp_le_f32, f32, a <= b)
SETP_FAST(setp_eq_32, u32, a == b)
SETP_FAST(setp_ne_32, u32, a != b)

// set. op->offset is the result for true: all ones or 1.0.
static enum sim_step set_32(struct sim_warp *warp, const struct sim_uop *op)
{
    uint32_t bits = combined(warp, op, compare(warp, op)), yes = (uint32_t)op->offset;
    lane_u32 *out = target(warp, op->d);
    OVER_LANES(lane_u32, out, (void)0, bits >> i & 1 ? yes : 0);
    return STEP_NEXT;
}

static enum sim_step selp_32(struct sim_warp *warp, const struct sim_uop *op)
{
    uint32_t bits = predicate(warp, op->c) ^ (op->mode ? UINT32_MAX : 0);
    lane_u32 *out = target(warp, op->d);
    const lane_u32 *yes = source(warp, op->a), *no = source(warp, op->b);
    OVER_LANES(lane_u32, out, (void)0, bits >> i & 1 ? yes[i] : no[i]);
    return STEP_NEXT;
}

static enum sim_step selp_64(struct sim_warp *warp, const struct sim_uop *op)
{
    uint32_t bits = predicate(warp, op->c) ^ (op->mode ? UINT32_MAX : 0);
    lane_u64 *out = target(warp, op->d);
    const lane_u64 *yes = source(warp, op->a), *no = source(warp, op->b);
    OVER_LANES(lane_u64, out, (void)0, bits >> i & 1 ? yes[i] : no[i]);
    return STEP_NEXT;
}

// --- Pairs ---------------------------------------------------------------------------------------

// Compares the low or the high halves of pairs, as single halves.
static uint32_t compare_half(const struct sim_warp *warp, const struct sim_uop *op, unsigned shift)
{
    uint32_t bits = 0;
    enum num_cmp cmp = (enum num_cmp)op->mode;
    if (op->bytes == SHAPE_F16)
        MASK_LOOP(u32,
                  num_compare_f16(cmp, (uint16_t)(a >> shift), (uint16_t)(b >> shift), op->flags));
    else
        MASK_LOOP(u32, num_compare_bf16(cmp, (uint16_t)(a >> shift), (uint16_t)(b >> shift)));
    return bits;
}

// setp of pairs: p is the result for the low halves, q for the high ones.
static enum sim_step setp_x2(struct sim_warp *warp, const struct sim_uop *op)
{
    uint32_t low = combined(warp, op, compare_half(warp, op, 0));
    uint32_t high = combined(warp, op, compare_half(warp, op, 16));
    set_predicate(warp, op->d, low);
    set_predicate(warp, op->e, high);
    return STEP_NEXT;
}

static enum sim_step set_x2(struct sim_warp *warp, const struct sim_uop *op)
{
    uint32_t low = combined(warp, op, compare_half(warp, op, 0));
    uint32_t high = combined(warp, op, compare_half(warp, op, 16));
    uint32_t yes = (uint32_t)op->offset;
    lane_u32 *out = target(warp, op->d);
    OVER_LANES(lane_u32, out, (void)0, (high >> i & 1 ? yes << 16 : 0) | (low >> i & 1 ? yes : 0));
    return STEP_NEXT;
}

TERNARY(slct_32_s32, u32, u32, u32, s32, c >= 0 ? a : b)
TERNARY(slct_64_s32, u64, u64, u64, s32, c >= 0 ? a : b)
TERNARY(slct_32_f32, u32, u32, u32, f32, num_in_f32(c, op->flags) >= 0 ? a : b)
TERNARY(slct_64_f32, u64, u64, u64, f32, num_in_f32(c, op->flags) >= 0 ? a : b)

static bool shape_of(enum ptx_type type, uint8_t *shape)
{
    switch (type) {
    case PTX_U16:
    case PTX_B16: *shape = SHAPE_U16; return true;
    case PTX_S16: *shape = SHAPE_S16; return true;
    case PTX_U32:
    case PTX_B32: *shape = SHAPE_U32; return true;
    case PTX_S32: *shape = SHAPE_S32; return true;
    case PTX_U64:
    case PTX_B64: *shape = SHAPE_U64; return true;
    case PTX_S64: *shape = SHAPE_S64; return true;
    case PTX_F32: *shape = SHAPE_F32; return true;
    case PTX_F64: *shape = SHAPE_F64; return true;
    case PTX_F16X2:
    case PTX_F16: *shape = SHAPE_F16; return true;
    case PTX_BF16X2:
    case PTX_BF16: *shape = SHAPE_BF16; return true;
    default: return false;
    }
}

static bool relation_of(const struct ptx_form *form, uint8_t *mode)
{
    static const struct {
        uint16_t mod;
        uint8_t cmp;
    } rows[] = {
        {PTX_MOD_EQ, NUM_CMP_EQ},   {PTX_MOD_NE, NUM_CMP_NE},   {PTX_MOD_LT, NUM_CMP_LT},
        {PTX_MOD_LE, NUM_CMP_LE},   {PTX_MOD_GT, NUM_CMP_GT},   {PTX_MOD_GE, NUM_CMP_GE},
        {PTX_MOD_LO, NUM_CMP_LT},   {PTX_MOD_LS, NUM_CMP_LE},   {PTX_MOD_HI, NUM_CMP_GT},
        {PTX_MOD_HS, NUM_CMP_GE},   {PTX_MOD_EQU, NUM_CMP_EQU}, {PTX_MOD_NEU, NUM_CMP_NEU},
        {PTX_MOD_LTU, NUM_CMP_LTU}, {PTX_MOD_LEU, NUM_CMP_LEU}, {PTX_MOD_GTU, NUM_CMP_GTU},
        {PTX_MOD_GEU, NUM_CMP_GEU}, {PTX_MOD_NUM, NUM_CMP_NUM}, {PTX_MOD_NAN, NUM_CMP_NAN},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].mod == form->cmp) {
            *mode = rows[i].cmp;
            return true;
        }
    }
    return false;
}

static bool fill_comparison(struct sim_decoder *decoder, const struct ptx_instr *instr,
                            struct sim_uop *op, enum ptx_type type)
{
    const struct ptx_form *form = instr->form;
    if (!shape_of(type, &op->bytes) || !relation_of(form, &op->mode))
        return false;
    op->flags = ptx_form_has(form, PTX_MOD_FTZ) ? NUM_FTZ : 0;
    op->a = sim_decode_typed(decoder, instr, &instr->operands[1], type);
    op->b = sim_decode_typed(decoder, instr, &instr->operands[2], type);
    op->count = ALONE;
    op->space = 0;
    if (instr->operand_count > 3) {
        bool negated;
        op->c = sim_decode_predicate(decoder, instr, &instr->operands[3], &negated);
        op->space = negated;
        op->count = (uint8_t)(form->operation == PTX_MOD_AND  ? WITH_AND
                              : form->operation == PTX_MOD_OR ? WITH_OR
                                                              : WITH_XOR);
    }
    return true;
}

// Returns the handler for a frequent type and relation, or NULL.
static sim_handler *fast_setp(const struct sim_uop *op)
{
    static sim_handler *const rows[][NUM_CMP_GE + 1] = {
        [SHAPE_U32] = {setp_eq_32, setp_ne_32, setp_lt_u32, setp_le_u32, setp_gt_u32, setp_ge_u32},
        [SHAPE_S32] = {setp_eq_32, setp_ne_32, setp_lt_s32, setp_le_s32, setp_gt_s32, setp_ge_s32},
        [SHAPE_F32] = {NULL, NULL, setp_lt_f32, setp_le_f32, setp_gt_f32, setp_ge_f32},
    };
    const bool known = op->bytes < sizeof(rows) / sizeof(rows[0]) && op->mode <= NUM_CMP_GE;
    return known && !op->flags ? rows[op->bytes][op->mode] : NULL;
}

static bool choose_setp(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op)
{
    enum ptx_type type = (enum ptx_type)instr->form->types[0];
    const struct ptx_operand *to = &instr->operands[0];
    if (!fill_comparison(decoder, instr, op, type))
        return false;
    if (to->kind == PTX_OPERAND_PAIR) {
        op->d = sim_decode_target(decoder, instr, &to->elements[0]);
        op->e = sim_decode_target(decoder, instr, &to->elements[1]);
    } else {
        op->d = sim_decode_target(decoder, instr, to);
    }
    const bool one = op->count == ALONE && op->e == NO_SLOT;
    sim_handler *const fast = one ? fast_setp(op) : NULL;
    op->run = ptx_type_info(type)->packed > 1 ? setp_x2 : fast ? fast : one ? setp_one : setp;
    return true;
}

static bool choose_set(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    enum ptx_type type = (enum ptx_type)form->types[0], of = (enum ptx_type)form->types[1];
    if (form->type_count < 2 || !fill_comparison(decoder, instr, op, of) ||
        sim_decode_lane_bytes(type) != NARROW)
        return false;
    // Comparing pairs gives a pair: of 1.0 and 0.0, or of ones and zeros.
    bool pairs = ptx_type_info(of)->packed > 1;
    op->offset = type == PTX_F32                            ? 0x3F800000
                 : type == PTX_F16 || type == PTX_F16X2     ? 0x3C00
                 : type == PTX_BF16 || type == PTX_BF16X2   ? 0x3F80
                 : pairs || ptx_type_info(type)->bits == 16 ? 0xFFFF
                                                            : 0xFFFFFFFF;
    op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
    op->run = pairs ? set_x2 : set_32;
    return pairs ? ptx_type_info(type)->bits == 32 && type != PTX_F32
                 : ptx_type_info(type)->packed <= 1;
}

bool sim_choose_compare(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    enum ptx_type type = (enum ptx_type)form->types[0];
    unsigned lane = sim_decode_lane_bytes(type);
    switch (ptx_op(instr)) {
    case PTX_OP_SETP: return choose_setp(decoder, instr, op);
    case PTX_OP_SET: return choose_set(decoder, instr, op);
    case PTX_OP_SELP: {
        bool negated;
        op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
        op->a = sim_decode_typed(decoder, instr, &instr->operands[1], type);
        op->b = sim_decode_typed(decoder, instr, &instr->operands[2], type);
        op->c = sim_decode_predicate(decoder, instr, &instr->operands[3], &negated);
        op->mode = negated;
        op->run = lane == WIDE ? selp_64 : selp_32;
        return lane <= WIDE;
    }
    case PTX_OP_SLCT: {
        bool by_float = form->types[1] == PTX_F32;
        op->flags = ptx_form_has(form, PTX_MOD_FTZ) ? NUM_FTZ : 0;
        op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
        op->a = sim_decode_typed(decoder, instr, &instr->operands[1], type);
        op->b = sim_decode_typed(decoder, instr, &instr->operands[2], type);
        op->c =
            sim_decode_typed(decoder, instr, &instr->operands[3], (enum ptx_type)form->types[1]);
        op->run = lane == WIDE ? (by_float ? slct_64_f32 : slct_64_s32)
                               : (by_float ? slct_32_f32 : slct_32_s32);
        return true;
    }
    default: return false;
    }
}
