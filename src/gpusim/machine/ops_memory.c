// SPDX-License-Identifier: Apache-2.0
// Implements loads and stores of every space, width and vector, parameters, and asynchronous
// copies, which complete at once. Cache modifiers change nothing, because every access goes to
// memory. A block's own accesses are in order. Fences, .acquire and .release order them for other
// blocks, which may run on other cores.
#include <stdatomic.h>
#include <string.h>

#include "access.h"
#include "families.h"
#include "ops.h"
#include "warp.h"

enum { SIGNED = 1, TO_WIDE = 2, CUT16 = 4 }; // in op->mode

static inline uint64_t read_value(const unsigned char *from, unsigned bytes, bool is_signed)
{
    switch (bytes) {
    case 1: return is_signed ? (uint64_t)(int64_t)(int8_t)*from : *from;
    case 2: {
        uint16_t half;
        memcpy(&half, from, 2);
        return is_signed ? (uint64_t)(int64_t)(int16_t)half : half;
    }
    case 4: {
        uint32_t word;
        memcpy(&word, from, 4);
        return is_signed ? (uint64_t)(int64_t)(int32_t)word : word;
    }
    default: {
        uint64_t word;
        memcpy(&word, from, 8);
        return word;
    }
    }
}

static void put_lane(struct sim_warp *warp, slot to, int lane, uint64_t value, uint8_t mode)
{
    if (to == NO_SLOT)
        return;
    if (mode & TO_WIDE)
        ((lane_u64 *)target(warp, to))[lane] = value;
    else
        ((lane_u32 *)target(warp, to))[lane] = mode & CUT16 ? (uint16_t)value : (uint32_t)value;
}

static inline __attribute__((always_inline)) void load_lanes(struct sim_warp *warp,
                                                             const struct sim_access *access,
                                                             slot to, size_t offset, unsigned bytes,
                                                             bool is_signed, uint8_t mode)
{
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        put_lane(warp, to, i, read_value(access->pointer[i] + offset, bytes, is_signed), mode);
    }
}

static enum sim_step load(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_access access;
    if (!sim_access_lanes(warp, op, (uint32_t)op->bytes * op->count, ACCESS_LOAD, &access))
        return STEP_STOP;
    for (unsigned k = 0; k < op->count; k++) {
        const slot to = op->count > 1 ? op->list[k] : op->d;
        const size_t offset = (size_t)k * op->bytes;
        const bool is_signed = op->mode & SIGNED;
        switch (op->bytes) { // outside of the loops over lanes
        case 1: load_lanes(warp, &access, to, offset, 1, is_signed, op->mode); break;
        case 2: load_lanes(warp, &access, to, offset, 2, is_signed, op->mode); break;
        case 4: load_lanes(warp, &access, to, offset, 4, is_signed, op->mode); break;
        default: load_lanes(warp, &access, to, offset, 8, is_signed, op->mode);
        }
    }
    return STEP_NEXT;
}

// The most frequent forms: one register of 32 or 64 bits. If the lanes have no shape, all load when
// many are active, because a loop without branches is faster than one over active lanes. With
// inactive lanes, each address is checked just before its lane loads, if the destination does not
// overwrite addresses: that is faster than a loop that checks and one that loads.
enum { MANY_LANES = 10 };

// Returns how many elements of 4 or 8 bytes lie before the offset, or a number that is larger than
// that of any object if the offset is misaligned. So one comparison checks place and alignment.
static inline uint64_t in_elements(uint64_t offset, unsigned bytes)
{
    return bytes == 8 ? offset >> 3 | offset << 61 : offset >> 2 | offset << 62;
}

#define LOAD(bits, bytes)                                                                       \
    static inline void load_shape_##bits(struct sim_warp *warp, enum sim_reach shape,           \
                                         const struct sim_access *access, lane_u##bits *out)    \
    {                                                                                           \
        const unsigned char *const *from = (const unsigned char *const *)access->pointer;       \
        if (shape == REACH_ROWS) {                                                              \
            memcpy(out, from[0], sizeof(*out) * HALF);                                          \
            memcpy(out + HALF, from[HALF], sizeof(*out) * HALF);                                \
        } else if (shape == REACH_ONES) {                                                       \
            const lane_u##bits first = *(const lane_u##bits *)from[0];                          \
            const lane_u##bits second = *(const lane_u##bits *)from[HALF];                      \
            for (int i = 0; i < HALF; i++)                                                      \
                out[i] = first;                                                                 \
            for (int i = HALF; i < LANES; i++)                                                  \
                out[i] = second;                                                                \
        } else if (__builtin_popcount(warp->mask) >= MANY_LANES) {                              \
            lane_u##bits value[LANES];                                                          \
            for (int i = 0; i < LANES; i += 4) {                                                \
                value[i] = *(const lane_u##bits *)from[i];                                      \
                value[i + 1] = *(const lane_u##bits *)from[i + 1];                              \
                value[i + 2] = *(const lane_u##bits *)from[i + 2];                              \
                value[i + 3] = *(const lane_u##bits *)from[i + 3];                              \
            }                                                                                   \
            OVER_LANES(lane_u##bits, out, (void)0, value[i]);                                   \
        } else {                                                                                \
            for (uint32_t left = warp->mask; left; left &= left - 1) {                          \
                const int i = __builtin_ctz(left);                                              \
                out[i] = *(const lane_u##bits *)from[i];                                        \
            }                                                                                   \
        }                                                                                       \
    }                                                                                           \
                                                                                                \
    static inline bool load_each_##bits(struct sim_warp *warp, const struct sim_uop *op,        \
                                        lane_u##bits *out)                                      \
    {                                                                                           \
        const lane_u64 *base = source(warp, op->a);                                             \
        const struct sim_seen *seen = sim_access_seen(warp, op);                                \
        const uintptr_t apart = (uintptr_t)out - (uintptr_t)base;                               \
        if (!seen || seen->size < (bytes) || seen->start & ((bytes)-1) ||                       \
            apart < LANES * sizeof(*base) || -apart < LANES * sizeof(*out))                     \
            return false;                                                                       \
        const unsigned char *const start = (const unsigned char *)(uintptr_t)seen->start;       \
        const uint64_t offset = (uint64_t)op->offset - seen->start;                             \
        const uint64_t last = (seen->size - (bytes)) / (bytes);                                 \
        for (uint32_t left = warp->mask; left; left &= left - 1) {                              \
            const int i = __builtin_ctz(left);                                                  \
            const uint64_t at = base[i] + offset;                                               \
            if (in_elements(at, bytes) > last)                                                  \
                return false;                                                                   \
            out[i] = *(const lane_u##bits *)(start + at);                                       \
        }                                                                                       \
        warp->global_bytes += (uint64_t)__builtin_popcount(warp->mask) * (bytes);               \
        return true;                                                                            \
    }                                                                                           \
                                                                                                \
    static __attribute__((noinline)) enum sim_step load_beside_##bits(struct sim_warp *warp,    \
                                                                      const struct sim_uop *op) \
    {                                                                                           \
        struct sim_access access;                                                               \
        lane_u##bits *out = target(warp, op->d);                                                \
        if (sim_access_reach_##bytes(warp, op, ACCESS_LOAD, &access) == REACH_NOTHING)          \
            return STEP_STOP;                                                                   \
        load_shape_##bits(warp, REACH_EACH, &access, out);                                      \
        return STEP_NEXT;                                                                       \
    }                                                                                           \
                                                                                                \
    static __attribute__((noinline)) enum sim_step load_some_##bits(struct sim_warp *warp,      \
                                                                    const struct sim_uop *op)   \
    {                                                                                           \
        lane_u##bits *out = target(warp, op->d);                                                \
        return load_each_##bits(warp, op, out) ? STEP_NEXT : load_beside_##bits(warp, op);      \
    }                                                                                           \
                                                                                                \
    static enum sim_step load_##bits(struct sim_warp *warp, const struct sim_uop *op)           \
    {                                                                                           \
        struct sim_access access;                                                               \
        if (warp->mask != ALL_LANES)                                                            \
            return load_some_##bits(warp, op);                                                  \
        lane_u##bits *out = target(warp, op->d);                                                \
        const enum sim_reach shape = sim_access_reach_##bytes(warp, op, ACCESS_LOAD, &access);  \
        if (shape == REACH_NOTHING)                                                             \
            return STEP_STOP;                                                                   \
        if (shape == REACH_ROW) {                                                               \
            memcpy(out, access.pointer[0], sizeof(*out) * LANES);                               \
        } else if (shape == REACH_ONE) {                                                        \
            const lane_u##bits value = *(const lane_u##bits *)access.pointer[0];                \
            for (int i = 0; i < LANES; i++)                                                     \
                out[i] = value;                                                                 \
        } else {                                                                                \
            load_shape_##bits(warp, shape, &access, out);                                       \
        }                                                                                       \
        return STEP_NEXT;                                                                       \
    }
LOAD(32, 4)
LOAD(64, 8)

// --- Vectors -------------------------------------------------------------------------------------

// Four lanes of a vector of four are a matrix, whose rows are vectors in memory and whose columns
// are registers. These functions turn the matrices of all lanes, either way. For vectors of two,
// two lanes are one.
typedef lane_u32 four_u32 __attribute__((vector_size(16), may_alias, aligned(4)));
typedef lane_u64 two_u64 __attribute__((vector_size(16), may_alias, aligned(8)));

static inline __attribute__((always_inline)) void turn_four(four_u32 row[4])
{
    const four_u32 a = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5);
    const four_u32 b = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
    const four_u32 c = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
    const four_u32 d = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
    row[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    row[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    row[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    row[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

static inline void to_rows_32x4(lane_u32 out[4][LANES], const lane_u32 (*in)[4])
{
    for (int i = 0; i < LANES; i += 4) {
        four_u32 row[4];
        for (int k = 0; k < 4; k++)
            row[k] = *(const four_u32 *)in[i + k];
        turn_four(row);
        for (int k = 0; k < 4; k++)
            *(four_u32 *)(out[k] + i) = row[k];
    }
}

static inline void from_rows_32x4(lane_u32 (*out)[4], const lane_u32 *const in[4])
{
    for (int i = 0; i < LANES; i += 4) {
        four_u32 row[4];
        for (int k = 0; k < 4; k++)
            row[k] = *(const four_u32 *)(in[k] + i);
        turn_four(row);
        for (int k = 0; k < 4; k++)
            *(four_u32 *)out[i + k] = row[k];
    }
}

static inline void to_rows_32x2(lane_u32 out[2][LANES], const lane_u32 (*in)[2])
{
    for (int i = 0; i < LANES; i += 4) {
        const four_u32 a = *(const four_u32 *)in[i], b = *(const four_u32 *)in[i + 2];
        *(four_u32 *)(out[0] + i) = __builtin_shufflevector(a, b, 0, 2, 4, 6);
        *(four_u32 *)(out[1] + i) = __builtin_shufflevector(a, b, 1, 3, 5, 7);
    }
}

static inline void from_rows_32x2(lane_u32 (*out)[2], const lane_u32 *const in[2])
{
    for (int i = 0; i < LANES; i += 4) {
        const four_u32 a = *(const four_u32 *)(in[0] + i), b = *(const four_u32 *)(in[1] + i);
        *(four_u32 *)out[i] = __builtin_shufflevector(a, b, 0, 4, 1, 5);
        *(four_u32 *)out[i + 2] = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    }
}

static inline void to_rows_64x2(lane_u64 out[2][LANES], const lane_u64 (*in)[2])
{
    for (int i = 0; i < LANES; i += 2) {
        const two_u64 a = *(const two_u64 *)in[i], b = *(const two_u64 *)in[i + 1];
        *(two_u64 *)(out[0] + i) = __builtin_shufflevector(a, b, 0, 2);
        *(two_u64 *)(out[1] + i) = __builtin_shufflevector(a, b, 1, 3);
    }
}

static inline void from_rows_64x2(lane_u64 (*out)[2], const lane_u64 *const in[2])
{
    for (int i = 0; i < LANES; i += 2) {
        const two_u64 a = *(const two_u64 *)(in[0] + i), b = *(const two_u64 *)(in[1] + i);
        *(two_u64 *)out[i] = __builtin_shufflevector(a, b, 0, 2);
        *(two_u64 *)out[i + 1] = __builtin_shufflevector(a, b, 1, 3);
    }
}

#define LOAD_VECTOR(bits, elements)                                                        \
    static enum sim_step load_vector_##bits##x##elements(struct sim_warp *warp,            \
                                                         const struct sim_uop *op)         \
    {                                                                                      \
        struct sim_access access;                                                          \
        lane_u##bits copied[LANES][elements], row[elements][LANES];                        \
        const lane_u##bits(*vector)[elements] = (const void *)copied;                      \
        const enum sim_reach shape =                                                       \
            sim_access_reach(warp, op, sizeof(copied[0]), ACCESS_LOAD, &access);           \
        if (shape == REACH_NOTHING)                                                        \
            return STEP_STOP;                                                              \
        if (shape == REACH_ROW)                                                            \
            vector = (const void *)access.pointer[0];                                      \
        else                                                                               \
            for (int i = 0; i < LANES; i++)                                                \
                memcpy(copied[i], access.pointer[i], sizeof(copied[0]));                   \
        to_rows_##bits##x##elements(row, vector);                                          \
        for (unsigned k = 0; k < (elements); k++) {                                        \
            lane_u##bits *out = op->list[k] == NO_SLOT ? NULL : target(warp, op->list[k]); \
            if (out)                                                                       \
                OVER_LANES(lane_u##bits, out, (void)0, row[k][i]);                         \
        }                                                                                  \
        return STEP_NEXT;                                                                  \
    }
LOAD_VECTOR(32, 2)
LOAD_VECTOR(32, 4)
LOAD_VECTOR(64, 2)

#define STORE_VECTOR(bits, elements)                                                \
    static enum sim_step store_vector_##bits##x##elements(struct sim_warp *warp,    \
                                                          const struct sim_uop *op) \
    {                                                                               \
        struct sim_access access;                                                   \
        lane_u##bits copied[LANES][elements];                                       \
        const lane_u##bits *row[elements];                                          \
        const enum sim_reach shape =                                                \
            sim_access_reach(warp, op, sizeof(copied[0]), ACCESS_STORE, &access);   \
        if (shape == REACH_NOTHING)                                                 \
            return STEP_STOP;                                                       \
        for (unsigned k = 0; k < (elements); k++)                                   \
            row[k] = source(warp, op->list[k]);                                     \
        if (shape == REACH_ROW) {                                                   \
            from_rows_##bits##x##elements((void *)access.pointer[0], row);          \
            return STEP_NEXT;                                                       \
        }                                                                           \
        from_rows_##bits##x##elements(copied, row);                                 \
        for (uint32_t left = warp->mask; left; left &= left - 1) {                  \
            const int i = __builtin_ctz(left);                                      \
            memcpy(access.pointer[i], copied[i], sizeof(copied[0]));                \
        }                                                                           \
        return STEP_NEXT;                                                           \
    }
STORE_VECTOR(32, 2)
STORE_VECTOR(32, 4)
STORE_VECTOR(64, 2)

// --- Single values -------------------------------------------------------------------------------

// One register from memory of 8 or 16 bits. Registers of 16 bits keep the upper half of their lanes
// 0, also for numbers with a sign.
#define LOAD_SHORT(type)                                                              \
    static enum sim_step load_##type(struct sim_warp *warp, const struct sim_uop *op) \
    {                                                                                 \
        struct sim_access access;                                                     \
        type##_t value[LANES];                                                        \
        const enum sim_reach shape =                                                  \
            sim_access_reach(warp, op, sizeof(value[0]), ACCESS_LOAD, &access);       \
        if (shape == REACH_NOTHING)                                                   \
            return STEP_STOP;                                                         \
        if (shape == REACH_ROW)                                                       \
            memcpy(value, access.pointer[0], sizeof(value));                          \
        else                                                                          \
            for (int i = 0; i < LANES; i++)                                           \
                memcpy(&value[i], access.pointer[i], sizeof(value[0]));               \
        lane_u32 *out = target(warp, op->d);                                          \
        const uint32_t cut = op->mode & CUT16 ? 0xFFFF : ~0u;                         \
        OVER_LANES(lane_u32, out, (void)0, (uint32_t)(int32_t)value[i] & cut);        \
        return STEP_NEXT;                                                             \
    }
LOAD_SHORT(uint8)
LOAD_SHORT(int8)
LOAD_SHORT(uint16)
LOAD_SHORT(int16)

// If several lanes store to the same address, the last one wins.
#define STORE(bits, bytes)                                                             \
    static enum sim_step store_##bits(struct sim_warp *warp, const struct sim_uop *op) \
    {                                                                                  \
        struct sim_access access;                                                      \
        const lane_u##bits *from = source(warp, op->b);                                \
        switch (sim_access_reach_##bytes(warp, op, ACCESS_STORE, &access)) {           \
        case REACH_NOTHING: return STEP_STOP;                                          \
        case REACH_ROW: memcpy(access.pointer[0], from, sizeof(*from) * LANES); break; \
        case REACH_ROWS:                                                               \
            memcpy(access.pointer[0], from, sizeof(*from) * HALF);                     \
            memcpy(access.pointer[HALF], from + HALF, sizeof(*from) * HALF);           \
            break;                                                                     \
        case REACH_ONE: *(lane_u##bits *)access.pointer[0] = from[LANES - 1]; break;   \
        case REACH_ONES:                                                               \
            *(lane_u##bits *)access.pointer[0] = from[HALF - 1];                       \
            *(lane_u##bits *)access.pointer[HALF] = from[LANES - 1];                   \
            break;                                                                     \
        default:                                                                       \
            for (uint32_t left = warp->mask; left; left &= left - 1) {                 \
                int i = __builtin_ctz(left);                                           \
                *(lane_u##bits *)access.pointer[i] = from[i];                          \
            }                                                                          \
        }                                                                              \
        return STEP_NEXT;                                                              \
    }
STORE(32, 4)
STORE(64, 8)

#define STORE_SHORT(type)                                                                   \
    static enum sim_step store_##type(struct sim_warp *warp, const struct sim_uop *op)      \
    {                                                                                       \
        struct sim_access access;                                                           \
        const lane_u32 *from = source(warp, op->b);                                         \
        type##_t value[LANES];                                                              \
        const enum sim_reach shape =                                                        \
            sim_access_reach(warp, op, sizeof(value[0]), ACCESS_STORE, &access);            \
        if (shape == REACH_NOTHING)                                                         \
            return STEP_STOP;                                                               \
        for (int i = 0; i < LANES; i++)                                                     \
            value[i] = (type##_t)from[i];                                                   \
        if (shape == REACH_ROW)                                                             \
            memcpy(access.pointer[0], value, sizeof(value));                                \
        for (uint32_t left = shape == REACH_ROW ? 0 : warp->mask; left; left &= left - 1) { \
            const int i = __builtin_ctz(left);                                              \
            memcpy(access.pointer[i], &value[i], sizeof(value[0]));                         \
        }                                                                                   \
        return STEP_NEXT;                                                                   \
    }
STORE_SHORT(uint8)
STORE_SHORT(uint16)

static inline __attribute__((always_inline)) void
store_lanes(const struct sim_warp *warp, const struct sim_access *access,
            const unsigned char *lanes, unsigned width, size_t offset, unsigned bytes)
{
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        memcpy(access->pointer[i] + offset, lanes + (size_t)i * width, bytes);
    }
}

static enum sim_step store(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_access access;
    const unsigned width = op->mode & TO_WIDE ? 8 : 4;
    if (!sim_access_lanes(warp, op, (uint32_t)op->bytes * op->count, ACCESS_STORE, &access))
        return STEP_STOP;
    for (unsigned k = 0; k < op->count; k++) {
        const unsigned char *lanes = source(warp, op->count > 1 ? op->list[k] : op->b);
        const size_t offset = (size_t)k * op->bytes;
        switch (op->bytes) { // outside of the loops over lanes
        case 1: store_lanes(warp, &access, lanes, width, offset, 1); break;
        case 2: store_lanes(warp, &access, lanes, width, offset, 2); break;
        case 4: store_lanes(warp, &access, lanes, width, offset, 4); break;
        default: store_lanes(warp, &access, lanes, width, offset, 8);
        }
    }
    return STEP_NEXT;
}

// --- Order ---------------------------------------------------------------------------------------

static enum sim_step fence(struct sim_warp *warp, const struct sim_uop *op)
{
    (void)warp;
    (void)op;
    atomic_thread_fence(memory_order_seq_cst);
    return STEP_NEXT;
}

static enum sim_step load_acquire(struct sim_warp *warp, const struct sim_uop *op)
{
    enum sim_step step = load(warp, op);
    atomic_thread_fence(memory_order_acquire);
    return step;
}

static enum sim_step store_release(struct sim_warp *warp, const struct sim_uop *op)
{
    atomic_thread_fence(memory_order_release);
    return store(warp, op);
}

// --- Parameters ----------------------------------------------------------------------------------

// A parameter of the kernel, which is the same for all lanes; first the most frequent forms.
#define LOAD_KERNEL_PARAM(bits)                                                                    \
    static enum sim_step load_kernel_param_##bits(struct sim_warp *warp, const struct sim_uop *op) \
    {                                                                                              \
        uint##bits##_t value;                                                                      \
        memcpy(&value, warp->block->launch->params + op->offset, sizeof(value));                   \
        lane_u##bits *out = target(warp, op->d);                                                   \
        OVER_LANES(lane_u##bits, out, (void)0, value);                                             \
        return STEP_NEXT;                                                                          \
    }
LOAD_KERNEL_PARAM(32)
LOAD_KERNEL_PARAM(64)

static enum sim_step load_kernel_param(struct sim_warp *warp, const struct sim_uop *op)
{
    const unsigned char *from = warp->block->launch->params + op->offset;
    for (unsigned k = 0; k < op->count; k++) {
        slot to = op->count > 1 ? op->list[k] : op->d;
        uint64_t value = read_value(from + (size_t)k * op->bytes, op->bytes, op->mode & SIGNED);
        if (to == NO_SLOT)
            continue;
        if (op->mode & TO_WIDE) {
            lane_u64 *out = target(warp, to);
            OVER_LANES(lane_u64, out, (void)0, value);
        } else {
            lane_u32 *out = target(warp, to), word = (uint32_t)value;
            word = op->mode & CUT16 ? (uint16_t)word : word;
            OVER_LANES(lane_u32, out, (void)0, word);
        }
    }
    return STEP_NEXT;
}

// Copies values of 4 or 8 bytes of the lanes in the mask. A lane's value is so many bytes behind
// the one before it.
static void copy_lanes(uint32_t mask, unsigned bytes, unsigned char *to, size_t to_step,
                       const unsigned char *from, size_t from_step)
{
    for (int i = 0; i < LANES; i++, to += to_step, from += from_step) {
        if (!(mask >> i & 1))
            continue;
        if (bytes == 8)
            memcpy(to, from, 8);
        else
            memcpy(to, from, 4);
    }
}

// Whether the values of an access are as long as their lanes.
static bool fills_lanes(const struct sim_uop *op)
{
    return op->mode & TO_WIDE ? op->bytes == 8 : op->bytes == 4;
}

static enum sim_step load_frame_param(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct sim_frame *frame = warp->path->frame;
    for (unsigned k = 0; k < op->count; k++) {
        slot to = op->count > 1 ? op->list[k] : op->d;
        if (fills_lanes(op) && to != NO_SLOT) {
            copy_lanes(warp->mask, op->bytes, target(warp, to), op->bytes,
                       frame->params + op->offset + (size_t)k * op->bytes,
                       frame->code->param_bytes);
            continue;
        }
        for (int i = 0; i < LANES; i++) {
            const unsigned char *from = frame->params + (size_t)i * frame->code->param_bytes +
                                        op->offset + (size_t)k * op->bytes;
            if (warp->mask >> i & 1)
                put_lane(warp, to, i, read_value(from, op->bytes, op->mode & SIGNED), op->mode);
        }
    }
    return STEP_NEXT;
}

static enum sim_step store_frame_param(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct sim_frame *frame = warp->path->frame;
    for (unsigned k = 0; k < op->count; k++) {
        slot from = op->count > 1 ? op->list[k] : op->b;
        const unsigned char *lanes = source(warp, from);
        unsigned width = op->mode & TO_WIDE ? 8 : 4;
        if (fills_lanes(op)) {
            copy_lanes(warp->mask, op->bytes, frame->params + op->offset + (size_t)k * op->bytes,
                       frame->code->param_bytes, lanes, width);
            continue;
        }
        for (int i = 0; i < LANES; i++) {
            unsigned char *to = frame->params + (size_t)i * frame->code->param_bytes + op->offset +
                                (size_t)k * op->bytes;
            if (warp->mask >> i & 1)
                memcpy(to, lanes + (size_t)i * width, op->bytes);
        }
    }
    return STEP_NEXT;
}

// --- Asynchronous copies -------------------------------------------------------------------------

static void copy_all(uint32_t mask, unsigned bytes, const struct sim_access *to,
                     const struct sim_access *from)
{
    for (uint32_t left = mask; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        switch (bytes) {
        case 4: memcpy(to->pointer[i], from->pointer[i], 4); break;
        case 8: memcpy(to->pointer[i], from->pointer[i], 8); break;
        default: memcpy(to->pointer[i], from->pointer[i], 16);
        }
    }
}

static enum sim_step copy_async(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_access to, from;
    struct sim_uop source_op = *op;
    source_op.a = op->b;
    source_op.offset = (int64_t)(intptr_t)op->extra;
    source_op.space = PTX_SPACE_GLOBAL;
    source_op.flags = op->mode;
    const lane_u32 *sizes = op->c == NO_SLOT ? NULL : source(warp, op->c);
    if (!sizes && op->e == NO_SLOT) { // all bytes are read
        if (!sim_access_each(warp, op, op->bytes, ACCESS_STORE, &to) ||
            !sim_access_each(warp, &source_op, op->bytes, ACCESS_LOAD, &from))
            return STEP_STOP;
        copy_all(warp->mask, op->bytes, &to, &from);
        return STEP_NEXT;
    }
    if (!sim_access_lanes(warp, op, op->bytes, ACCESS_STORE, &to))
        return STEP_STOP;
    // Bytes that are not read become zeros. Lanes that read nothing may have any address.
    uint32_t all = warp->mask, reading = all, bytes[LANES];
    if (op->e != NO_SLOT) // a predicate: ignore the source
        reading &= ~predicate(warp, op->e);
    sim_access_addresses(warp, &source_op, from.address);
    for (int i = 0; i < LANES; i++) {
        bytes[i] = !(reading >> i & 1) ? 0 : sizes && sizes[i] < op->bytes ? sizes[i] : op->bytes;
        // cppcheck-suppress uninitvar // sim_access_addresses fills them all
        if (bytes[i] && from.address[i] % op->bytes)
            return sim_warp_fault(warp, op, SIM_FAULT_MISALIGNED, i,
                                  "address 0x%llx is not a multiple of %u",
                                  (unsigned long long)from.address[i], op->bytes);
        if (!bytes[i])
            reading &= ~(1u << i);
    }
    bool good = true;
    for (uint32_t left = reading, same; left && good; left &= ~same) { // one size at a time
        uint32_t size = bytes[__builtin_ctz(left)];
        same = 0;
        for (int i = 0; i < LANES; i++)
            same |= (uint32_t)(left >> i & 1 && bytes[i] == size) << i;
        sim_warp_set_mask(warp, same);
        good = sim_access_given(warp, &source_op, size, ACCESS_LOAD, &from);
    }
    sim_warp_set_mask(warp, all);
    if (!good)
        return STEP_STOP;
    for (int i = 0; i < LANES; i++) {
        if (!(all >> i & 1))
            continue;
        if (bytes[i])
            memcpy(to.pointer[i], from.pointer[i], bytes[i]);
        memset(to.pointer[i] + bytes[i], 0, op->bytes - bytes[i]);
    }
    return STEP_NEXT;
}

static enum sim_step nothing(struct sim_warp *warp, const struct sim_uop *op)
{
    (void)warp;
    (void)op;
    return STEP_NEXT;
}

// --- Choice --------------------------------------------------------------------------------------

static void fill_data(struct sim_decoder *decoder, const struct ptx_instr *instr,
                      struct sim_uop *op, const struct ptx_operand *data, bool is_load)
{
    const struct ptx_form *form = instr->form;
    enum ptx_type type = (enum ptx_type)form->types[0];
    const struct ptx_type_info *info = ptx_type_info(type);
    op->bytes = (uint8_t)ptx_type_bytes(type);
    op->count = form->vec;
    if (info->bits > 64)
        sim_decode_refuse(decoder, instr, "an access of 128-bit registers");
    if (info->kind == PTX_CLASS_SIGNED)
        op->mode |= SIGNED;
    const struct ptx_operand *first = data->kind == PTX_OPERAND_VECTOR ? &data->elements[0] : data;
    if (data->kind == PTX_OPERAND_VECTOR && data->count != form->vec)
        sim_decode_refuse(decoder, instr, "a vector of another length");
    slot *list = base_new_array(decoder->arena, slot, op->count);
    unsigned width = sim_decode_lane_bytes(type);
    for (unsigned k = 0; k < op->count; k++) {
        const struct ptx_operand *element =
            data->kind == PTX_OPERAND_VECTOR ? &data->elements[k] : first;
        if (element->kind == PTX_OPERAND_REG) {
            width = sim_decode_lane_bytes((enum ptx_type)element->reg->type);
            if (ptx_type_info((enum ptx_type)element->reg->type)->bits == 16)
                op->mode |= CUT16;
        }
        if (data->kind == PTX_OPERAND_REG && data->reg->vec > 1)
            list[k] = sim_decode_register(decoder, instr, data) + k * LANES * width;
        else
            list[k] = is_load ? sim_decode_target(decoder, instr, element)
                              : sim_decode_typed(decoder, instr, element, type);
    }
    if (width == WIDE)
        op->mode |= TO_WIDE;
    op->list = list;
    *(is_load ? &op->d : &op->b) = list[0];
}

// How a frequent access moves its values: as 10 * bytes + elements, or 0.
static unsigned shape_of(const struct sim_uop *op)
{
    const bool wide = op->mode & TO_WIDE, cut = op->mode & CUT16;
    const bool whole = op->bytes == 4 ? !wide && !cut : op->bytes == 8 ? wide : !wide;
    const unsigned shape = op->bytes * 10u + op->count;
    return whole ? shape : 0;
}

static sim_handler *frequent_load(const struct sim_uop *op)
{
    const bool is_signed = op->mode & SIGNED;
    switch (shape_of(op)) {
    case 11: return is_signed ? load_int8 : load_uint8;
    case 21: return is_signed ? load_int16 : load_uint16;
    case 41: return load_32;
    case 42: return load_vector_32x2;
    case 44: return load_vector_32x4;
    case 81: return load_64;
    case 82: return load_vector_64x2;
    default: return NULL;
    }
}

static bool choose_load(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op)
{
    sim_decode_address(decoder, instr, &instr->operands[1], op);
    fill_data(decoder, instr, op, &instr->operands[0], true);
    if (op->space == PTX_SPACE_PARAM) {
        if (!(op->flags & ADDRESS_PARAM)) {
            // An address in a register is generic: see ops_stack.c.
            if (!(op->flags & ADDRESS_WIDE))
                sim_decode_refuse(decoder, instr, "a parameter at an address in a 32-bit register");
            op->space = 0;
            op->run = load;
            return true;
        }
        const bool plain =
            op->count == 1 && op->d != NO_SLOT && fills_lanes(op) && !(op->mode & CUT16);
        if (!sim_decode_kernel_param(decoder, &instr->operands[1]))
            op->run = load_frame_param;
        else
            op->run = !plain           ? load_kernel_param
                      : op->bytes == 8 ? load_kernel_param_64
                                       : load_kernel_param_32;
        return true;
    }
    sim_handler *const fast = op->d == NO_SLOT && op->count == 1 ? NULL : frequent_load(op);
    op->run = instr->form->sem == PTX_MOD_ACQUIRE ? load_acquire : fast ? fast : load;
    return true;
}

static sim_handler *choose_store(const struct ptx_instr *instr, const struct sim_uop *op)
{
    if (instr->form->sem == PTX_MOD_RELEASE)
        return store_release;
    switch (shape_of(op)) {
    case 11: return store_uint8;
    case 21: return store_uint16;
    case 41: return store_32;
    case 42: return store_vector_32x2;
    case 44: return store_vector_32x4;
    case 81: return store_64;
    case 82: return store_vector_64x2;
    default: return store;
    }
}

// Decodes the fourth operand of cp.async: the bytes to read, or a predicate that disables reading.
static void decode_size(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op)
{
    const struct ptx_operand *operand = &instr->operands[3];
    if (operand->kind == PTX_OPERAND_REG && operand->reg->type == PTX_PRED)
        op->e = sim_decode_register(decoder, instr, operand);
    else
        op->c = sim_decode_typed(decoder, instr, operand, PTX_U32);
}

bool sim_choose_memory(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       struct sim_uop *op)
{
    op->space = instr->form->space;
    switch (ptx_op(instr)) {
    case PTX_OP_LD:
    case PTX_OP_LDU: return choose_load(decoder, instr, op);
    case PTX_OP_ST:
        sim_decode_address(decoder, instr, &instr->operands[0], op);
        fill_data(decoder, instr, op, &instr->operands[1], false);
        if (op->space == PTX_SPACE_PARAM && !(op->flags & ADDRESS_PARAM))
            sim_decode_refuse(decoder, instr, "a parameter at an address in a register");
        if (sim_decode_kernel_param(decoder, &instr->operands[0]))
            sim_decode_refuse(decoder, instr, "a kernel's parameters cannot be written");
        op->run = op->space == PTX_SPACE_PARAM ? store_frame_param : choose_store(instr, op);
        return true;
    case PTX_OP_CP_ASYNC: {
        struct sim_uop from = *op;
        sim_decode_address(decoder, instr, &instr->operands[1], &from);
        sim_decode_address(decoder, instr, &instr->operands[0], op);
        op->b = from.a;
        op->extra = (const void *)(intptr_t)from.offset;
        op->mode = from.flags;
        if (instr->operands[2].kind != PTX_OPERAND_INT)
            return false;
        op->bytes = (uint8_t)instr->operands[2].bits;
        if (instr->operand_count > 3 && !ptx_form_has(instr->form, PTX_MOD_L2_CACHE_HINT))
            decode_size(decoder, instr, op);
        op->run = copy_async;
        return true;
    }
    case PTX_OP_CP_ASYNC_COMMIT_GROUP:
    case PTX_OP_CP_ASYNC_WAIT_GROUP:
    case PTX_OP_CP_ASYNC_WAIT_ALL: op->run = nothing; return true;
    case PTX_OP_MEMBAR:
    case PTX_OP_FENCE: op->run = fence; return true;
    default: return false;
    }
}
