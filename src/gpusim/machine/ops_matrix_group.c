// SPDX-License-Identifier: Apache-2.0
// Implements products of matrices that a warpgroup, four warps, computes together:
// wgmma.mma_async of all types, dense and sparse. Descriptors are those of src/ptx/matrices.h.
//
// Each warp computes 16 of the 64 rows when it executes the instruction, from the 16 rows of A and
// from all of B. So the fence and the groups of products need no work, except that a warp that
// waits for its products waits for those of the group: threads of one warp may tell others that the
// operands were read.
//
// A sparse A holds one of two elements along K (tf32) or two of four, and registers of some lanes
// hold which ones: the metadata, four bits for each two or four. Its product is that of the
// elements it holds and of those of B at their places, so it has as many terms as a dense one.
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
    MOST_ROWS = 256,                       // of B
    MOST_K_BYTES = 2 * PTX_MATRIX_K_BYTES, // of a row of B
    MOST_K = PTX_MATRIX_K_BYTES,           // terms of a product
    MOST_SPARSE_K = 2 * MOST_K,            // elements of a row of B
    K_WORDS = PTX_MATRIX_K_BYTES / 4,      // of a row of bits
    SUM_REGISTERS = 4,                     // of 32 bits, for each 8 columns
    ROW_REGISTERS = 4,                     // of an A in registers
};

struct group_product {
    const slot *sums;
    const slot *a; // registers; NULL: a descriptor
    slot a_descriptor, b_descriptor;
    slot metadata;    // NO_SLOT: A is dense
    uint8_t selector; // which two of four lanes hold metadata, if not all do
    struct ptx_matrix a_matrix, b_matrix;
    slot adds; // a predicate: the sums before are added; NO_SLOT: `always` says so
    bool negated, always;
    bool negates_a, negates_b;
    bool saturates;
    uint8_t sum_type, a_type, b_type; // enum ptx_type
    struct sim_uop reads;             // for sim_access_given()
};

typedef unsigned char row_bytes[MOST_K_BYTES]; // of one row of A or column of B

// A row of A or a column of B, in the types that numbers/mma.h takes.
union group_terms {
    float numbers[MOST_SPARSE_K];
    int32_t integers[MOST_SPARSE_K];
    uint32_t words[K_WORDS];
};

// Returns how many terms a product has. Bits are counted in words of 32.
static unsigned depth(const struct group_product *product)
{
    return product->a_type == PTX_B1
               ? K_WORDS
               : PTX_MATRIX_K_BYTES / ptx_type_bytes((enum ptx_type)product->a_type);
}

static bool is_small(enum ptx_type type)
{
    return type == PTX_E4M3 || type == PTX_E5M2;
}

static bool is_integer(enum ptx_type type)
{
    return type == PTX_S8 || type == PTX_U8;
}

// --- Operands ------------------------------------------------------------------------------------

// Puts the bytes of a chunk at their places in rows, of which the first has number `first`.
static void place_chunk(const struct ptx_matrix *matrix, uint32_t chunk, const unsigned char *from,
                        uint32_t first, row_bytes *rows)
{
    const uint32_t parts = ptx_matrix_parts(matrix);
    const uint32_t in_core = chunk % PTX_CORE_CHUNKS, part = chunk / PTX_CORE_CHUNKS % parts,
                   group = chunk / PTX_CORE_CHUNKS / parts * PTX_CORE_CHUNKS - first;
    if (!matrix->transposed) {
        memcpy(rows[group + in_core] + (size_t)part * PTX_CHUNK_BYTES, from, PTX_CHUNK_BYTES);
        return;
    }
    for (unsigned i = 0; i < PTX_CHUNK_BYTES / sizeof(uint16_t); i++)
        memcpy(rows[group + i] + (part * PTX_CORE_CHUNKS + in_core) * sizeof(uint16_t),
               from + i * sizeof(uint16_t), sizeof(uint16_t));
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
                        uint32_t end, row_bytes *rows)
{
    const uint32_t first_row = first / ptx_matrix_parts(matrix);
    for (uint32_t at = first; at < end; at += LANES) {
        struct sim_access access;
        const bool logs = at / LANES % GROUP_WARPS == warp->index % GROUP_WARPS;
        if (!read_batch(warp, product, matrix, descriptor, at, logs, &access))
            return false;
        for (uint32_t i = 0; i < LANES && at + i < end; i++)
            place_chunk(matrix, at + i, access.pointer[i], first_row, rows);
    }
    return true;
}

// Takes 16 rows from registers, which hold 4 bytes each: first those of row lane / 4, then those 8
// rows below, then both of the other half of K.
static void take_rows(const struct sim_warp *warp, const struct group_product *product,
                      row_bytes rows[WARP_ROWS])
{
    for (unsigned at = 0; at < ROW_REGISTERS; at++) {
        const unsigned char *lanes = source(warp, product->a[at]);
        for (unsigned lane = 0; lane < LANES; lane++)
            memcpy(rows[lane / 4 + 8 * (at % 2)] + (lane % 4 + 4 * (at / 2)) * sizeof(uint32_t),
                   lanes + lane * sizeof(uint32_t), sizeof(uint32_t));
    }
}

static uint64_t descriptor_of(const struct sim_warp *warp, slot at)
{
    return *(const lane_u64 *)source(warp, at); // that of all lanes
}

static bool read_operands(struct sim_warp *warp, const struct sim_uop *op, row_bytes a[WARP_ROWS],
                          row_bytes b[MOST_ROWS])
{
    const struct group_product *product = op->extra;
    const uint64_t of_b = descriptor_of(warp, product->b_descriptor),
                   of_a = product->a ? 0 : descriptor_of(warp, product->a_descriptor);
    const uint32_t own = warp->index % GROUP_WARPS * LANES; // chunks of 16 rows are 32
    if (!ptx_matrix_is_known(&product->b_matrix, of_b)) {
        sim_warp_fault(warp, op, SIM_FAULT_INSTRUCTION, 0,
                       "a descriptor with units of 32 bytes for rows of 64 bytes");
        return false;
    }
    if (product->a)
        take_rows(warp, product, a);
    else if (!read_matrix(warp, product, &product->a_matrix, of_a, own, own + LANES, a))
        return false;
    return read_matrix(warp, product, &product->b_matrix, of_b, 0,
                       ptx_matrix_chunks(&product->b_matrix), b);
}

static float number_of(enum ptx_type type, const unsigned char *from)
{
    uint16_t half;
    uint32_t word;
    if (is_small(type))
        return num_f32_from_f16(
            num_f16_from_small(type == PTX_E4M3 ? NUM_E4M3 : NUM_E5M2, *from, 0));
    if (type == PTX_TF32) {
        memcpy(&word, from, sizeof(word));
        return num_tf32_cut(word);
    }
    memcpy(&half, from, sizeof(half));
    return type == PTX_F16 ? num_f32_from_f16(half) : num_f32_from_bf16(half);
}

static void unpack(enum ptx_type type, const unsigned char *from, unsigned row_size, bool negates,
                   union group_terms *out)
{
    if (type == PTX_B1) {
        memcpy(out->words, from, sizeof(out->words));
        return;
    }
    const unsigned bytes = ptx_type_bytes(type);
    for (unsigned i = 0; i < row_size / bytes; i++) {
        if (is_integer(type)) {
            out->integers[i] = type == PTX_S8 ? (int8_t)from[i] : from[i];
        } else {
            const float value = number_of(type, from + (size_t)i * bytes);
            out->numbers[i] = negates ? -value : value;
        }
    }
}

// --- Sparsity ------------------------------------------------------------------------------------

// Returns the metadata of a row, four bits for each group along K. With factors of 8 bits, two
// lanes of four have it for row lane / 4, and the others for that 8 rows below. Otherwise the two
// lanes that the selector names have it for both, 16 bits each.
static uint64_t metadata_of(const struct sim_warp *warp, const struct group_product *product,
                            unsigned row)
{
    const lane_u32 *lanes = source(warp, product->metadata);
    const unsigned first = row % 8 * 4, below = row / 8;
    if (ptx_type_bytes((enum ptx_type)product->a_type) == 1)
        return lanes[first + below] | (uint64_t)lanes[first + below + 2] << 32;
    const lane_u32 *pair = lanes + first + (size_t)2 * product->selector;
    return (pair[0] >> 16 * below & 0xFFFF) | (pair[1] >> 16 * below & 0xFFFF) << 16;
}

// Sets out[i] to the place along K of the row's element i. tf32 has one element in a group of two,
// whose four bits are 4 for the first one and 14 for the second one.
static void find_places(const struct group_product *product, uint64_t metadata, uint8_t out[MOST_K])
{
    for (unsigned i = 0; i < depth(product); i++) {
        if (product->a_type == PTX_TF32)
            out[i] = (uint8_t)(2 * i + (metadata >> (4 * i + 1) & 1));
        else
            out[i] = (uint8_t)(i / 2 * 4 + (metadata >> 2 * i & 3));
    }
}

// The elements are 4 bytes each, whatever their type is.
static const union group_terms *choose_terms(const struct group_product *product,
                                             const uint8_t places[MOST_K],
                                             const union group_terms *all,
                                             union group_terms *chosen)
{
    if (product->metadata == NO_SLOT)
        return all;
    for (unsigned i = 0; i < depth(product); i++)
        chosen->integers[i] = all->integers[places[i]];
    return chosen;
}

// --- Products ------------------------------------------------------------------------------------

// Returns the sum of `before` and the products, as bits of the sum's type.
static uint32_t sum_of(const struct group_product *product, const union group_terms *a,
                       const union group_terms *b, uint32_t before)
{
    const int k = (int)depth(product);
    const enum ptx_type type = (enum ptx_type)product->a_type;
    if (type == PTX_B1)
        return (uint32_t)num_mma_b1(a->words, b->words, (int32_t)before, k, true);
    if (is_integer(type))
        return (uint32_t)num_mma_s32(a->integers, b->integers, (int32_t)before, k,
                                     product->saturates);
    if (product->sum_type == PTX_F16)
        return is_small(type) ? num_mma_group_e8_f16(a->numbers, b->numbers, (uint16_t)before, k)
                              : num_mma_f16(a->numbers, b->numbers, (uint16_t)before, k);
    const float sum = num_from_bits_f32(before);
    return num_bits_f32(is_small(type)    ? num_mma_group_e8_f32(a->numbers, b->numbers, sum, k)
                        : type == PTX_F16 ? num_mma_f16_f32(a->numbers, b->numbers, sum, k)
                                          : num_mma_f32(a->numbers, b->numbers, sum, k));
}

// A lane holds, of rows lane / 4 and 8 below, two adjacent sums of every 8; those of f16 in one
// register.
static void add_column(struct sim_warp *warp, const struct group_product *product, uint32_t adds,
                       uint32_t column, unsigned row, const union group_terms *a,
                       const union group_terms *b)
{
    const unsigned lane = row % 8 * 4 + column % 8 / 2, below = row / 8, odd = column % 2;
    const bool packed = product->sum_type == PTX_F16, added = adds >> lane & 1;
    const slot to =
        product
            ->sums[packed ? column / 8 * 2 + below : column / 8 * SUM_REGISTERS + below * 2 + odd];
    if (to == NO_SLOT)
        return;
    lane_u32 *sum = (lane_u32 *)target(warp, to) + lane;
    if (!packed) {
        *sum = sum_of(product, a, b, added ? *sum : 0);
        return;
    }
    const uint32_t before = added ? *sum >> 16 * odd & 0xFFFF : 0;
    *sum = (*sum & ~(0xFFFFu << 16 * odd)) | sum_of(product, a, b, before) << 16 * odd;
}

static void multiply(struct sim_warp *warp, const struct group_product *product,
                     row_bytes a[WARP_ROWS], row_bytes b[MOST_ROWS])
{
    union group_terms rows[WARP_ROWS], column_terms, chosen;
    uint8_t places[WARP_ROWS][MOST_K] = {{0}};
    uint32_t adds = product->always ? ALL_LANES : 0;
    if (product->adds != NO_SLOT)
        adds = predicate(warp, product->adds) ^ (product->negated ? ALL_LANES : 0);
    for (unsigned row = 0; row < WARP_ROWS; row++) {
        unpack((enum ptx_type)product->a_type, a[row], PTX_MATRIX_K_BYTES, product->negates_a,
               &rows[row]);
        if (product->metadata != NO_SLOT)
            find_places(product, metadata_of(warp, product, row), places[row]);
    }
    for (uint32_t column = 0; column < product->b_matrix.rows; column++) {
        unpack((enum ptx_type)product->b_type, b[column],
               ptx_matrix_parts(&product->b_matrix) * PTX_CHUNK_BYTES, product->negates_b,
               &column_terms);
        for (unsigned row = 0; row < WARP_ROWS; row++)
            add_column(warp, product, adds, column, row, &rows[row],
                       choose_terms(product, places[row], &column_terms, &chosen));
    }
}

static enum sim_step multiply_group(struct sim_warp *warp, const struct sim_uop *op)
{
    row_bytes a[WARP_ROWS] = {{0}}, b[MOST_ROWS] = {{0}};
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
                        const struct ptx_operand *adds, struct group_product *product)
{
    unsigned count;
    const unsigned registers = product->sum_type == PTX_F16 ? SUM_REGISTERS / 2 : SUM_REGISTERS;
    product->sums = sim_matrix_registers(decoder, instr, &instr->operands[0], true, &count);
    if (count != product->b_matrix.rows / 8 * registers ||
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

// Returns whether the types of the instruction can be multiplied.
static bool may_multiply(const struct ptx_form *form)
{
    const enum ptx_type sum = (enum ptx_type)form->types[0], a = (enum ptx_type)form->types[1],
                        b = (enum ptx_type)form->types[2];
    const bool is_float = sum == PTX_F32 || sum == PTX_F16;
    switch (a) {
    case PTX_F16: return b == a && is_float;
    case PTX_BF16:
    case PTX_TF32: return b == a && sum == PTX_F32;
    case PTX_E4M3:
    case PTX_E5M2: return is_small(b) && is_float;
    case PTX_S8:
    case PTX_U8: return is_integer(b) && sum == PTX_S32;
    case PTX_B1: return b == a && sum == PTX_S32 && strstr(form->text, ".and.popc");
    default: return false;
    }
}

// Decodes the metadata and the selector behind B. tf32 and types of 16 bits have metadata in half
// of the lanes.
static bool choose_metadata(struct sim_decoder *decoder, const struct ptx_instr *instr,
                            struct group_product *product)
{
    const struct ptx_operand *metadata = &instr->operands[3], *selector = &instr->operands[4];
    const uint64_t selectors = ptx_type_bytes((enum ptx_type)product->a_type) == 1 ? 1 : 2;
    if (product->a_type == PTX_B1 || selector->kind != PTX_OPERAND_INT ||
        selector->bits >= selectors || !sim_matrix_fits(metadata, NARROW))
        return false;
    product->metadata = sim_decode_register(decoder, instr, metadata);
    product->selector = (uint8_t)selector->bits;
    return true;
}

static bool choose_product(struct sim_decoder *decoder, const struct ptx_instr *instr,
                           struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    const bool sparse = strstr(form->text, ".sp.") != NULL;
    const struct ptx_operand *adds = &instr->operands[sparse ? 5 : 3];
    struct group_product *product = base_new(decoder->arena, struct group_product);
    if (instr->operand_count < (sparse ? 6 : 4) ||
        !choose_matrix(decoder, instr, 2, &product->b_matrix, &product->b_descriptor) ||
        !may_multiply(form))
        return false;
    product->sum_type = form->types[0];
    product->a_type = form->types[1];
    product->b_type = form->types[2];
    product->saturates = ptx_form_has(form, PTX_MOD_SATFINITE);
    product->metadata = NO_SLOT;
    product->reads = *op;
    product->reads.space = PTX_SPACE_SHARED;
    if (!choose_a(decoder, instr, product) || !choose_sums(decoder, instr, adds, product) ||
        (sparse && !choose_metadata(decoder, instr, product)))
        return false;
    // Only floating-point factors have signs to negate.
    if (product->sum_type != PTX_S32 &&
        (instr->operand_count < (sparse ? 8 : 6) || !find_sign(adds + 1, &product->negates_a) ||
         !find_sign(adds + 2, &product->negates_b)))
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
