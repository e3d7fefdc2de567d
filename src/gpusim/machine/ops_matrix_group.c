// SPDX-License-Identifier: Apache-2.0
// Implements products of matrices that a warpgroup, four warps, computes together:
// wgmma.mma_async of f16, bf16 and tf32 with f32 sums. Other types and sparse products are refused.
//
// Each warp computes 16 of the 64 rows when it executes the instruction, from the 16 rows of A and
// from all of B. So the fence and the groups of products need no work, except that a warp that
// waits for its products waits for those of the group: threads of one warp may tell others that the
// operands were read.
//
// Each chunk of an operand is logged once, although all warps read B: by the warp whose number in
// the group is that of the chunk's batch of 32, modulo four.
#include <string.h>

#include "access.h"
#include "gpusim/numbers/half.h"
#include "gpusim/numbers/mma.h"
#include "ops.h"
#include "ops_matrix.h"
#include "warp.h"

enum {
    GROUP_WARPS = 4,
    WARP_ROWS = 16,
    MOST_ROWS = 256, // of B
    MOST_K = 16,
    SUM_REGISTERS = 4, // for each 8 columns
    ROW_REGISTERS = 4, // of an A in registers
};

struct group_product {
    const slot *sums;
    const slot *a; // registers; NULL: a descriptor
    slot a_descriptor, b_descriptor;
    struct ptx_matrix a_matrix, b_matrix;
    slot adds; // a predicate: the sums before are added; NO_SLOT: `always` says so
    bool negated, always;
    bool negates_a, negates_b;
    uint8_t type;         // enum ptx_type
    struct sim_uop reads; // for sim_access_given()
};

typedef float factors[MOST_K]; // of one row of A or column of B

static unsigned element_bytes(const struct group_product *product)
{
    return ptx_type_bytes((enum ptx_type)product->type);
}

static unsigned depth(const struct group_product *product)
{
    return PTX_MATRIX_K_BYTES / element_bytes(product);
}

// --- Operands ------------------------------------------------------------------------------------

static float number_of(enum ptx_type type, const unsigned char *from)
{
    uint16_t half;
    uint32_t word;
    if (type == PTX_TF32) {
        memcpy(&word, from, sizeof(word));
        return num_tf32_cut(word);
    }
    memcpy(&half, from, sizeof(half));
    return type == PTX_F16 ? num_f32_from_f16(half) : num_f32_from_bf16(half);
}

// Puts the elements of a chunk at their places in rows, of which the first has number `first`.
static void unpack(const struct group_product *product, const struct ptx_matrix *matrix,
                   uint32_t chunk, const unsigned char *from, uint32_t first, factors *rows)
{
    const unsigned bytes = element_bytes(product), elements = PTX_CHUNK_BYTES / bytes;
    const uint32_t in_core = chunk % PTX_CORE_CHUNKS, half = chunk / PTX_CORE_CHUNKS % 2,
                   group = chunk / PTX_CORE_CHUNKS / 2 * PTX_CORE_CHUNKS - first;
    for (unsigned i = 0; i < elements; i++) {
        const float value = number_of((enum ptx_type)product->type, from + (size_t)i * bytes);
        if (matrix->transposed)
            rows[group + i][half * PTX_CORE_CHUNKS + in_core] = value;
        else
            rows[group + in_core][half * elements + i] = value;
    }
}

// Reads up to 32 chunks, and logs them if `logs` is set. Returns false if the launch has failed.
static bool read_batch(struct sim_warp *warp, const struct group_product *product,
                       const struct ptx_matrix *matrix, uint64_t descriptor, uint32_t first,
                       bool logs, struct sim_access *access)
{
    const uint32_t left = ptx_matrix_chunks(matrix) - first;
    const uint64_t shared_bytes = warp->shared_bytes;
    const bool logged = warp->logged;
    for (uint32_t i = 0; i < LANES; i++)
        access->address[i] =
            warp->block->window + ptx_matrix_chunk(matrix, descriptor, first + (i < left ? i : 0));
    sim_warp_set_mask(warp, left < LANES ? (1u << left) - 1 : ALL_LANES);
    warp->logged = logged && logs;
    const bool good = sim_access_given(warp, &product->reads, PTX_CHUNK_BYTES, ACCESS_LOAD, access);
    warp->logged = logged;
    if (!logs)
        warp->shared_bytes = shared_bytes;
    sim_warp_set_mask(warp, ALL_LANES);
    return good;
}

// Reads chunks from `first` to `end`.
static bool read_matrix(struct sim_warp *warp, const struct group_product *product,
                        const struct ptx_matrix *matrix, uint64_t descriptor, uint32_t first,
                        uint32_t end, factors *rows)
{
    const uint32_t first_row = first / 2;
    for (uint32_t at = first; at < end; at += LANES) {
        struct sim_access access;
        const bool logs = at / LANES % GROUP_WARPS == warp->index % GROUP_WARPS;
        if (!read_batch(warp, product, matrix, descriptor, at, logs, &access))
            return false;
        for (uint32_t i = 0; i < LANES && at + i < end; i++)
            unpack(product, matrix, at + i, access.pointer[i], first_row, rows);
    }
    return true;
}

// Takes 16 rows from registers. A register holds one element or two: first those of row lane / 4,
// then those 8 rows below, then both of the other half of K.
static void take_rows(const struct sim_warp *warp, const struct group_product *product,
                      factors rows[WARP_ROWS])
{
    const unsigned bytes = element_bytes(product), span = sizeof(uint32_t) / bytes;
    for (unsigned at = 0; at < ROW_REGISTERS; at++) {
        const unsigned char *lanes = source(warp, product->a[at]);
        for (unsigned lane = 0; lane < LANES; lane++) {
            const unsigned row = lane / 4 + 8 * (at % 2), k = (lane % 4 + 4 * (at / 2)) * span;
            for (unsigned i = 0; i < span; i++)
                rows[row][k + i] = number_of((enum ptx_type)product->type,
                                             lanes + lane * sizeof(uint32_t) + (size_t)i * bytes);
        }
    }
}

static void negate(factors *rows, uint32_t count, unsigned k)
{
    for (uint32_t row = 0; row < count; row++) {
        for (unsigned i = 0; i < k; i++)
            rows[row][i] = -rows[row][i];
    }
}

static uint64_t descriptor_of(const struct sim_warp *warp, slot at)
{
    return *(const lane_u64 *)source(warp, at); // that of all lanes
}

static bool read_operands(struct sim_warp *warp, const struct sim_uop *op, factors a[WARP_ROWS],
                          factors b[MOST_ROWS])
{
    const struct group_product *product = op->extra;
    const uint64_t of_b = descriptor_of(warp, product->b_descriptor),
                   of_a = product->a ? 0 : descriptor_of(warp, product->a_descriptor);
    const uint32_t own = warp->index % GROUP_WARPS * LANES; // chunks of 16 rows are 32
    if (!ptx_matrix_is_plain(of_a) || !ptx_matrix_is_plain(of_b)) {
        sim_warp_fault(warp, op, SIM_FAULT_INSTRUCTION, 0, "a descriptor with a base offset");
        return false;
    }
    if (product->a)
        take_rows(warp, product, a);
    else if (!read_matrix(warp, product, &product->a_matrix, of_a, own, own + LANES, a))
        return false;
    if (!read_matrix(warp, product, &product->b_matrix, of_b, 0,
                     ptx_matrix_chunks(&product->b_matrix), b))
        return false;
    if (product->negates_a)
        negate(a, WARP_ROWS, depth(product));
    if (product->negates_b)
        negate(b, product->b_matrix.rows, depth(product));
    return true;
}

// --- Products ------------------------------------------------------------------------------------

// A lane holds, of rows lane / 4 and 8 below, two adjacent sums of every 8.
static void multiply(struct sim_warp *warp, const struct group_product *product,
                     factors a[WARP_ROWS], factors b[MOST_ROWS])
{
    const int k = (int)depth(product);
    uint32_t adds = product->always ? ALL_LANES : 0;
    if (product->adds != NO_SLOT)
        adds = predicate(warp, product->adds) ^ (product->negated ? ALL_LANES : 0);
    for (uint32_t at = 0; at < product->b_matrix.rows / 8 * SUM_REGISTERS; at++) {
        if (product->sums[at] == NO_SLOT)
            continue;
        lane_f32 *sums = target(warp, product->sums[at]);
        for (unsigned lane = 0; lane < LANES; lane++) {
            const unsigned row = lane / 4 + at / 2 % 2 * 8,
                           column = at / SUM_REGISTERS * 8 + lane % 4 * 2 + at % 2;
            const float before = adds >> lane & 1 ? sums[lane] : 0;
            sums[lane] = product->type == PTX_F16 ? num_mma_f16_f32(a[row], b[column], before, k)
                                                  : num_mma_f32(a[row], b[column], before, k);
        }
    }
}

static enum sim_step multiply_group(struct sim_warp *warp, const struct sim_uop *op)
{
    factors a[WARP_ROWS] = {{0}}, b[MOST_ROWS] = {{0}};
    if (!sim_warp_together(warp, op, ALL_LANES))
        return STEP_STOP;
    if (warp->mask != ALL_LANES || (warp->index | (GROUP_WARPS - 1)) >= warp->block->warp_count)
        return sim_warp_fault(warp, op, SIM_FAULT_INSTRUCTION, __builtin_ctz(warp->mask),
                              "a product of a warpgroup that has less than 128 threads");
    if (!read_operands(warp, op, a, b))
        return STEP_STOP;
    multiply(warp, op->extra, a, b);
    warp->group_products++;
    return sim_warp_apart(warp);
}

// Waits until the other warps of the group have executed as many products.
static enum sim_step wait_for_group(struct sim_warp *warp, const struct sim_uop *op)
{
    (void)op;
    const struct sim_block *block = warp->block;
    const uint32_t first = warp->index & ~(uint32_t)(GROUP_WARPS - 1);
    for (uint32_t i = first; i < first + GROUP_WARPS && i < block->warp_count; i++) {
        const struct sim_warp *other = &block->warps[i];
        if (!other->live || (int32_t)(other->group_products - warp->group_products) >= 0)
            continue;
        warp->block->gave_way = true;
        return STEP_STOP;
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

static bool find_sign(const struct ptx_operand *operand, bool *negates)
{
    *negates = (int64_t)operand->bits == -1;
    return operand->kind == PTX_OPERAND_INT && (*negates || operand->bits == 1);
}

static bool choose_sums(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct group_product *product)
{
    unsigned count;
    const struct ptx_operand *adds = &instr->operands[3];
    product->sums = sim_matrix_registers(decoder, instr, &instr->operands[0], true, &count);
    if (count != product->b_matrix.rows / 8 * SUM_REGISTERS ||
        !sim_matrix_fits(&instr->operands[0], NARROW))
        return false;
    product->adds = NO_SLOT;
    product->always = adds->kind == PTX_OPERAND_INT && adds->bits;
    if (adds->kind != PTX_OPERAND_INT)
        product->adds = sim_decode_predicate(decoder, instr, adds, &product->negated);
    return true;
}

// Decodes a descriptor, operand 1 or 2. Returns false if its matrix is unknown.
static bool choose_matrix(struct sim_decoder *decoder, const struct ptx_instr *instr,
                          uint8_t operand, struct ptx_matrix *matrix, slot *descriptor)
{
    if (!ptx_matrix_of(instr, operand, matrix) || !sim_matrix_fits(&instr->operands[operand], WIDE))
        return false;
    *descriptor = sim_decode_register(decoder, instr, &instr->operands[operand]);
    return true;
}

static bool choose_a(struct sim_decoder *decoder, const struct ptx_instr *instr,
                     struct group_product *product)
{
    const struct ptx_operand *operand = &instr->operands[1];
    unsigned count;
    if (operand->kind != PTX_OPERAND_VECTOR)
        return choose_matrix(decoder, instr, 1, &product->a_matrix, &product->a_descriptor);
    product->a = sim_matrix_registers(decoder, instr, operand, false, &count);
    return count == ROW_REGISTERS && sim_matrix_fits(operand, NARROW);
}

static bool choose_product(struct sim_decoder *decoder, const struct ptx_instr *instr,
                           struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    struct group_product *product = base_new(decoder->arena, struct group_product);
    if (!choose_matrix(decoder, instr, 2, &product->b_matrix, &product->b_descriptor) ||
        instr->operand_count < 6 || form->types[0] != PTX_F32 || form->types[1] != form->types[2] ||
        (form->types[1] != PTX_F16 && form->types[1] != PTX_BF16 && form->types[1] != PTX_TF32))
        return false;
    product->type = form->types[1];
    product->reads = *op;
    product->reads.space = PTX_SPACE_SHARED;
    if (!choose_a(decoder, instr, product) || !choose_sums(decoder, instr, product) ||
        !find_sign(&instr->operands[4], &product->negates_a) ||
        !find_sign(&instr->operands[5], &product->negates_b))
        return false;
    op->extra = product;
    op->run = multiply_group;
    return true;
}

bool sim_matrix_choose_group(struct sim_decoder *decoder, const struct ptx_instr *instr,
                             struct sim_uop *op)
{
    switch (ptx_op(instr)) {
    case PTX_OP_WGMMA_MMA_ASYNC: return choose_product(decoder, instr, op);
    case PTX_OP_WGMMA_FENCE:
    case PTX_OP_WGMMA_COMMIT_GROUP: op->run = nothing; return true;
    case PTX_OP_WGMMA_WAIT_GROUP: op->run = wait_for_group; return true;
    default: return false;
    }
}
