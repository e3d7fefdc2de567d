// SPDX-License-Identifier: Apache-2.0
// Implements atomic operations and reductions. Each lane takes its turn with the host's atomics,
// because other workers may access the same word. Every scope and ordering is treated as the
// strongest one.
#include <string.h>

#include "access.h"
#include "cluster.h"
#include "families.h"
#include "gpusim/numbers/half.h"
#include "gpusim/numbers/numbers.h"
#include "logging.h"
#include "ops.h"

// Returns the minimum or maximum of two halves, or of both halves of two pairs.
static uint32_t combine_order(enum ptx_type type, bool larger, uint32_t a, uint32_t b)
{
    switch (type) {
    case PTX_F16: return num_minmax_f16((uint16_t)a, (uint16_t)b, larger, 0);
    case PTX_BF16: return (larger ? num_max_bf16 : num_min_bf16)((uint16_t)a, (uint16_t)b, 0);
    case PTX_F16X2: return (larger ? num_max_f16x2 : num_min_f16x2)(a, b, 0);
    default: return (larger ? num_max_bf16x2 : num_min_bf16x2)(a, b, 0);
    }
}

// Returns the new value of the word.
static uint64_t combine(const struct sim_uop *op, uint64_t old, uint64_t value, uint64_t other,
                        bool flushes)
{
    enum ptx_type type = (enum ptx_type)op->mode;
    const struct ptx_type_info *info = ptx_type_info(type);
    bool wide = info->bits == 64;
    uint64_t keep = info->bits == 64 ? UINT64_MAX : (UINT64_C(1) << info->bits) - 1;
    switch (op->target) {
    case PTX_MOD_EXCH: return value;
    case PTX_MOD_CAS: return old == value ? other : old;
    case PTX_MOD_AND: return old & value;
    case PTX_MOD_OR: return old | value;
    case PTX_MOD_XOR: return old ^ value;
    case PTX_MOD_INC: return old >= value ? 0 : old + 1;
    case PTX_MOD_DEC: return old == 0 || old > value ? value : old - 1;
    case PTX_MOD_ADD:
        switch (type) {
        case PTX_F32:
            return num_bits_f32(num_add_f32(num_from_bits_f32((uint32_t)old),
                                            num_from_bits_f32((uint32_t)value), NUM_RN,
                                            flushes ? NUM_FTZ : 0));
        case PTX_F64:
            return num_bits_f64(
                num_add_f64(num_from_bits_f64(old), num_from_bits_f64(value), NUM_RN));
        case PTX_F16: return num_add_f16((uint16_t)old, (uint16_t)value, 0);
        case PTX_BF16: return num_add_bf16((uint16_t)old, (uint16_t)value, 0);
        case PTX_F16X2: return num_add_f16x2((uint32_t)old, (uint32_t)value, 0);
        case PTX_BF16X2: return num_add_bf16x2((uint32_t)old, (uint32_t)value, 0);
        default: return (old + value) & keep;
        }
    default: {
        bool less;
        if (info->kind == PTX_CLASS_FLOAT)
            return combine_order(type, op->target == PTX_MOD_MAX, (uint32_t)old, (uint32_t)value);
        if (info->kind == PTX_CLASS_SIGNED)
            less = wide ? (int64_t)value < (int64_t)old : (int32_t)value < (int32_t)old;
        else
            less = value < old;
        bool take = op->target == PTX_MOD_MIN ? less : !less;
        return take ? value : old;
    }
    }
}

// Replaces the word by its new value, and returns the old one.
static uint64_t replace(const struct sim_uop *op, unsigned char *at, uint64_t value, uint64_t other,
                        bool flushes)
{
#define SWAP(type)                                                                           \
    do {                                                                                     \
        type *word = (type *)(void *)at, old = __atomic_load_n(word, __ATOMIC_RELAXED), now; \
        do {                                                                                 \
            now = (type)combine(op, old, (type)value, (type)other, flushes);                 \
        } while (!__atomic_compare_exchange_n(word, &old, now, false, __ATOMIC_SEQ_CST,      \
                                              __ATOMIC_SEQ_CST));                            \
        return old;                                                                          \
    } while (0)
    switch (op->bytes) {
    case 2: SWAP(uint16_t);
    case 4: SWAP(uint32_t);
    default: SWAP(uint64_t);
    }
#undef SWAP
}

void sim_atomic_reduce(const struct sim_uop *op, unsigned char *to, const unsigned char *from,
                       uint32_t bytes, bool flushes)
{
    for (uint32_t at = 0; at < bytes; at += op->bytes) {
        uint64_t value = 0;
        memcpy(&value, from + at, op->bytes);
        replace(op, to + at, value, 0, flushes);
    }
}

static uint64_t lane_value(const struct sim_warp *warp, slot at, int lane, unsigned bytes)
{
    return bytes == 8 ? ((const lane_u64 *)source(warp, at))[lane]
                      : ((const lane_u32 *)source(warp, at))[lane];
}

static enum sim_step atomic(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_access access;
    if (!sim_access_lanes(warp, op, (uint32_t)op->bytes * op->count, ACCESS_ATOMIC, &access))
        return STEP_STOP;
    bool logged = warp->block->launch->device->log;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        for (unsigned k = 0; k < op->count; k++) {
            uint64_t value = lane_value(warp, op->count > 1 ? op->list[k] : op->b, i, op->bytes);
            uint64_t other = op->c == NO_SLOT ? 0 : lane_value(warp, op->c, i, op->bytes);
            // In global memory, sums of f32 flush subnormal numbers; in shared memory they do not.
            unsigned char *at = access.pointer[i] + (size_t)k * op->bytes;
            bool shared = sim_cluster_holder(warp->block, (uint64_t)(uintptr_t)at) != NULL;
            uint64_t old = replace(op, at, value, other, !shared);
            if (logged) {
                uint64_t now = combine(op, old, value, other, !shared);
                sim_log_atomic(warp, i, k * op->bytes, op->bytes, &old, &now);
            }
            slot to = op->count > 1 ? op->list[op->count + k] : op->d;
            if (to == NO_SLOT)
                continue;
            if (op->bytes == 8)
                ((lane_u64 *)target(warp, to))[i] = old;
            else
                ((lane_u32 *)target(warp, to))[i] = (uint32_t)old;
        }
    }
    return STEP_NEXT;
}

// --- The most frequent forms: one word of 32 or 64 bits ------------------------------------------

// Many lanes set bits that are set already: they only read the word.
#define SET_BITS                                   \
    old = __atomic_load_n(word, __ATOMIC_SEQ_CST); \
    if ((old | value) != old)                      \
    old = __atomic_fetch_or(word, value, __ATOMIC_SEQ_CST)

// A lane's turn. `old` is the word before it, and `action` sets it.
#define WORD_ATOMIC(name, bits, bytes, action)                                          \
    static enum sim_step name##_##bits(struct sim_warp *warp, const struct sim_uop *op) \
    {                                                                                   \
        struct sim_access access;                                                       \
        if (warp->logged)                                                               \
            return atomic(warp, op);                                                    \
        if (!sim_access_each(warp, op, bytes, ACCESS_ATOMIC, &access))                  \
            return STEP_STOP;                                                           \
        const lane_u##bits *values = source(warp, op->b);                               \
        const lane_u##bits *others = op->c == NO_SLOT ? values : source(warp, op->c);   \
        lane_u##bits *out = op->d == NO_SLOT ? NULL : target(warp, op->d);              \
        for (uint32_t left = warp->mask; left; left &= left - 1) {                      \
            const int i = __builtin_ctz(left);                                          \
            lane_u##bits *word = (lane_u##bits *)(void *)access.pointer[i];             \
            uint##bits##_t old;                                                         \
            const uint##bits##_t value = values[i], other = others[i];                  \
            (void)other;                                                                \
            action;                                                                     \
            if (out)                                                                    \
                out[i] = old;                                                           \
        }                                                                               \
        return STEP_NEXT;                                                               \
    }

// The word changes only if it is worse than the value.
#define IMPROVE(signed_type, worse)                                                 \
    old = __atomic_load_n(word, __ATOMIC_SEQ_CST);                                  \
    while ((signed_type)old worse(signed_type) value &&                             \
           !__atomic_compare_exchange_n(word, &old, value, false, __ATOMIC_SEQ_CST, \
                                        __ATOMIC_SEQ_CST))                          \
    continue

#define WORD_ATOMICS(bits, bytes)                                                            \
    WORD_ATOMIC(and, bits, bytes, old = __atomic_fetch_and(word, value, __ATOMIC_SEQ_CST))   \
    WORD_ATOMIC(or, bits, bytes, SET_BITS)                                                   \
    WORD_ATOMIC(xor, bits, bytes, old = __atomic_fetch_xor(word, value, __ATOMIC_SEQ_CST))   \
    WORD_ATOMIC(exch, bits, bytes, old = __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST)) \
    WORD_ATOMIC(cas, bits, bytes, old = value; __atomic_compare_exchange_n(                  \
                    word, &old, other, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))           \
    WORD_ATOMIC(min_u, bits, bytes, IMPROVE(uint##bits##_t, >))                              \
    WORD_ATOMIC(max_u, bits, bytes, IMPROVE(uint##bits##_t, <))                              \
    WORD_ATOMIC(min_s, bits, bytes, IMPROVE(int##bits##_t, >))                               \
    WORD_ATOMIC(max_s, bits, bytes, IMPROVE(int##bits##_t, <))
WORD_ATOMICS(32, 4)
WORD_ATOMICS(64, 8)

// Lanes that add to the same word add once together. Each gets what it would get if they took turns
// in order.
#define ADD(bits, bytes)                                                                          \
    static enum sim_step add_##bits(struct sim_warp *warp, const struct sim_uop *op)              \
    {                                                                                             \
        struct sim_access access;                                                                 \
        if (warp->logged)                                                                         \
            return atomic(warp, op);                                                              \
        if (!sim_access_each(warp, op, bytes, ACCESS_ATOMIC, &access))                            \
            return STEP_STOP;                                                                     \
        const lane_u##bits *values = source(warp, op->b);                                         \
        lane_u##bits *out = op->d == NO_SLOT ? NULL : target(warp, op->d);                        \
        uint##bits##_t total = 0;                                                                 \
        unsigned char *const first = access.pointer[__builtin_ctz(warp->mask)];                   \
        uintptr_t apart = 0;                                                                      \
        for (int i = 0; i < LANES; i++) {                                                         \
            const uint##bits##_t active = (uint##bits##_t)(int##bits##_t)(int32_t)warp->lanes[i]; \
            total += values[i] & active;                                                          \
            apart |= ((uintptr_t)access.pointer[i] ^ (uintptr_t)first) &                          \
                     (uintptr_t)(int64_t)(int32_t)warp->lanes[i];                                 \
        }                                                                                         \
        if (!apart) {                                                                             \
            uint##bits##_t old =                                                                  \
                __atomic_fetch_add((lane_u##bits *)(void *)first, total, __ATOMIC_SEQ_CST);       \
            for (uint32_t left = out ? warp->mask : 0; left; left &= left - 1) {                  \
                const int i = __builtin_ctz(left);                                                \
                const uint##bits##_t value = values[i];                                           \
                out[i] = old;                                                                     \
                old += value;                                                                     \
            }                                                                                     \
            return STEP_NEXT;                                                                     \
        }                                                                                         \
        for (uint32_t left = warp->mask; left; left &= left - 1) {                                \
            const int i = __builtin_ctz(left);                                                    \
            const uint##bits##_t old = __atomic_fetch_add(                                        \
                (lane_u##bits *)(void *)access.pointer[i], values[i], __ATOMIC_SEQ_CST);          \
            if (out)                                                                              \
                out[i] = old;                                                                     \
        }                                                                                         \
        return STEP_NEXT;                                                                         \
    }
ADD(32, 4)
ADD(64, 8)

// Returns the handler for one word, or NULL if the form is not a frequent one.
static sim_handler *frequent(const struct ptx_form *form, enum ptx_type type)
{
    const struct ptx_type_info *info = ptx_type_info(type);
    const bool wide = info->bits == 64, is_signed = info->kind == PTX_CLASS_SIGNED;
    if (form->vec > 1 || (info->bits != 32 && !wide) || info->kind == PTX_CLASS_FLOAT)
        return NULL;
    switch (form->operation) {
    case PTX_MOD_ADD: return wide ? add_64 : add_32;
    case PTX_MOD_AND: return wide ? and_64 : and_32;
    case PTX_MOD_OR: return wide ? or_64 : or_32;
    case PTX_MOD_XOR: return wide ? xor_64 : xor_32;
    case PTX_MOD_EXCH: return wide ? exch_64 : exch_32;
    case PTX_MOD_CAS: return wide ? cas_64 : cas_32;
    case PTX_MOD_MIN:
        return is_signed ? (wide ? min_s_64 : min_s_32) : (wide ? min_u_64 : min_u_32);
    case PTX_MOD_MAX:
        return is_signed ? (wide ? max_s_64 : max_s_32) : (wide ? max_u_64 : max_u_32);
    default: return NULL;
    }
}

bool sim_choose_atomic(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    bool returns = ptx_op(instr) == PTX_OP_ATOM;
    if ((!returns && ptx_op(instr) != PTX_OP_RED) || !form->type_count || !form->operation)
        return false;
    enum ptx_type type = (enum ptx_type)form->types[0];
    const struct ptx_type_info *info = ptx_type_info(type);
    unsigned at = returns ? 1 : 0;
    bool floats = info->kind == PTX_CLASS_FLOAT;
    bool half = type == PTX_F16 || type == PTX_BF16 || type == PTX_F16X2 || type == PTX_BF16X2;
    bool orders = form->operation == PTX_MOD_MIN || form->operation == PTX_MOD_MAX;
    if (info->bits > 64 || info->bits < 16 ||
        (floats && form->operation != PTX_MOD_ADD && !(half && orders)))
        return false;
    op->space = form->space;
    sim_decode_address(decoder, instr, &instr->operands[at], op);
    op->mode = (uint8_t)type;
    op->target = form->operation;
    op->bytes = (uint8_t)(info->bits / 8);
    op->count = form->vec;
    if (form->vec > 1) {
        const struct ptx_operand *values = &instr->operands[at + 1];
        if (values->kind != PTX_OPERAND_VECTOR || values->count != form->vec)
            return false;
        slot *list = base_new_array(decoder->arena, slot, 2u * form->vec);
        for (unsigned k = 0; k < form->vec; k++) {
            list[k] = sim_decode_typed(decoder, instr, &values->elements[k], type);
            list[form->vec + k] =
                returns && instr->operands[0].kind == PTX_OPERAND_VECTOR
                    ? sim_decode_target(decoder, instr, &instr->operands[0].elements[k])
                    : NO_SLOT;
        }
        op->list = list;
    } else {
        op->b = sim_decode_typed(decoder, instr, &instr->operands[at + 1], type);
        if (form->operation == PTX_MOD_CAS && instr->operand_count < at + 3)
            return false;
        if (form->operation == PTX_MOD_CAS)
            op->c = sim_decode_typed(decoder, instr, &instr->operands[at + 2], type);
        op->d = returns ? sim_decode_target(decoder, instr, &instr->operands[0]) : NO_SLOT;
    }
    sim_handler *word = frequent(form, type);
    op->run = word ? word : atomic;
    return true;
}
