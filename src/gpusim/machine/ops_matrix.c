// SPDX-License-Identifier: Apache-2.0
// Implements products of matrices that a warp holds together: mma and wmma with dense operands, and
// the loads and stores of wmma. This file knows which lane and register holds which element;
// numbers/mma.h computes the elements. ops_matrix_rows.c has ldmatrix, stmatrix and movmatrix,
// ops_matrix_quads.c has mma of m8n8k4 with f16, ops_matrix_group.c has wgmma.
//
// All fragments follow one scheme. A cell is what a lane holds at one place: a register of A or B,
// or two adjacent elements of C or D. A block is 8 by 4 cells, one for each lane. In a block, lane
// / 4 counts along the outer dimension (rows of A, C and D, columns of B), lane % 4 along the inner
// one. A fragment has outer_blocks by inner_blocks blocks. `pair` is the number of blocks that
// follow each other along the outer dimension before the next inner one.
//
// This is the manual's layout for mma. The manual does not specify the layout for wmma; there it is
// the layout of an H200, which does not depend on .row and .col. For wmma, m8n32 is the transposed
// product of n32m8: B is held like an A, and C and D by columns.
#include <string.h>

#include "access.h"
#include "families.h"
#include "gpusim/numbers/half.h"
#include "gpusim/numbers/mma.h"
#include "ops.h"
#include "ops_matrix.h"
#include "warp.h"

enum {
    MOST_SIDE = 32,      // rows or columns of a fragment
    MOST_CELLS = 16,     // cells along the inner dimension: registers of A or B, elements of C
    MOST_WORDS = 8,      // the same for A or B, except f64
    MOST_HALVES = 32,    // e4m3 elements in MOST_WORDS registers
    MOST_INTEGERS = 64,  // s4 elements in MOST_WORDS registers
    WMMA_REGISTERS = 8,  // registers of an A or B of f16; the superfluous ones are copies
    MOST_CELL_BYTES = 16 // two f64
};

struct fragment {
    const slot *slots;
    uint8_t register_count;
    uint8_t outer_blocks, inner_blocks, pair;
    uint8_t cell_count;     // distinct cells
    uint8_t cell_registers; // registers of a cell
    uint8_t span;           // elements of a cell, which are adjacent along the inner dimension
    uint8_t type;           // enum ptx_type
    bool inner_is_row;      // otherwise the inner index counts columns
};

struct matrix_shape {
    uint16_t m, n, k;
};

struct product {
    struct matrix_shape shape;
    struct fragment d, a, b, c;
    enum num_round round;
    uint16_t step; // depth that the hardware multiplies in one step
    bool saturate, use_and;
};

// A fragment in memory.
struct memory_matrix {
    struct fragment fragment;
    bool inner_first; // elements of a cell are adjacent in memory
};

// The position of a lane's cell; `inner` counts cells.
struct place {
    unsigned outer, inner;
};

static struct place place_of(const struct fragment *fragment, unsigned cell, unsigned lane)
{
    unsigned pair = fragment->pair, inner_blocks = fragment->inner_blocks;
    unsigned outer_block = cell % pair + pair * (cell / (pair * inner_blocks));
    unsigned inner_block = cell / pair % inner_blocks;
    return (struct place){lane / 4 + 8 * outer_block, lane % 4 + 4 * inner_block};
}

static bool is_wide(const struct fragment *fragment)
{
    return fragment->type == PTX_F64;
}

// --- Products ------------------------------------------------------------------------------------

typedef uint64_t cells[MOST_SIDE][MOST_CELLS];

static uint64_t read_register(const struct sim_warp *warp, const struct fragment *fragment,
                              unsigned at, unsigned lane)
{
    const void *in = source(warp, fragment->slots[at]);
    return is_wide(fragment) ? ((const lane_u64 *)in)[lane] : ((const lane_u32 *)in)[lane];
}

static void gather_registers(const struct sim_warp *warp, const struct fragment *fragment,
                             cells out)
{
    for (unsigned cell = 0; cell < fragment->cell_count; cell++) {
        for (unsigned lane = 0; lane < LANES; lane++) {
            struct place place = place_of(fragment, cell, lane);
            out[place.outer][place.inner] = read_register(warp, fragment, cell, lane);
        }
    }
}

// Gathers the elements of C instead of its cells.
static void gather_elements(const struct sim_warp *warp, const struct fragment *fragment, cells out)
{
    for (unsigned cell = 0; cell < fragment->cell_count; cell++) {
        for (unsigned lane = 0; lane < LANES; lane++) {
            struct place place = place_of(fragment, cell, lane);
            uint64_t *to = &out[place.outer][2 * place.inner];
            if (fragment->cell_registers == 1) {
                uint64_t both = read_register(warp, fragment, cell, lane);
                to[0] = both & 0xFFFF;
                to[1] = both >> 16;
            } else {
                to[0] = read_register(warp, fragment, 2 * cell, lane);
                to[1] = read_register(warp, fragment, 2 * cell + 1, lane);
            }
        }
    }
}

static void write_register(struct sim_warp *warp, const struct fragment *fragment, unsigned at,
                           unsigned lane, uint64_t value)
{
    slot to = fragment->slots[at];
    if (to == NO_SLOT || !(warp->mask >> lane & 1))
        return;
    if (is_wide(fragment))
        ((lane_u64 *)target(warp, to))[lane] = value;
    else
        ((lane_u32 *)target(warp, to))[lane] = (uint32_t)value;
}

static void scatter_elements(struct sim_warp *warp, const struct fragment *fragment, cells in)
{
    for (unsigned cell = 0; cell < fragment->cell_count; cell++) {
        for (unsigned lane = 0; lane < LANES; lane++) {
            struct place place = place_of(fragment, cell, lane);
            const uint64_t *from = &in[place.outer][2 * place.inner];
            if (fragment->cell_registers == 1) {
                write_register(warp, fragment, cell, lane, from[0] | from[1] << 16);
            } else {
                write_register(warp, fragment, 2 * cell, lane, from[0]);
                write_register(warp, fragment, 2 * cell + 1, lane, from[1]);
            }
        }
    }
}

// A row of A or a column of B, in the types that numbers/mma.h takes.
union terms {
    float halves[MOST_HALVES];
    double doubles[MOST_CELLS];
    int32_t integers[MOST_INTEGERS];
    uint32_t words[MOST_WORDS];
};

static void unpack(enum ptx_type type, const uint64_t *in, unsigned count, union terms *out)
{
    for (unsigned i = 0; i < count; i++) {
        uint32_t word = (uint32_t)in[i];
        switch (type) {
        case PTX_F16:
            out->halves[2 * i] = num_f32_from_f16((uint16_t)word);
            out->halves[2 * i + 1] = num_f32_from_f16((uint16_t)(word >> 16));
            break;
        case PTX_BF16:
            out->halves[2 * i] = num_f32_from_bf16((uint16_t)word);
            out->halves[2 * i + 1] = num_f32_from_bf16((uint16_t)(word >> 16));
            break;
        case PTX_TF32: out->halves[i] = num_tf32_cut(word); break;
        case PTX_F64: out->doubles[i] = num_from_bits_f64(in[i]); break;
        case PTX_E4M3:
        case PTX_E5M2:
            // The lower two bytes of all registers come before the upper two: see num_mma_e8_f32.
            for (unsigned j = 0; j < 4; j++) {
                uint16_t half = num_f16_from_small(type == PTX_E4M3 ? NUM_E4M3 : NUM_E5M2,
                                                   (uint8_t)(word >> 8 * j), 0);
                out->halves[j / 2 * 2 * count + 2 * i + j % 2] = num_f32_from_f16(half);
            }
            break;
        case PTX_U8:
        case PTX_S8:
            for (unsigned j = 0; j < 4; j++) {
                uint8_t byte = (uint8_t)(word >> 8 * j);
                out->integers[4 * i + j] = type == PTX_S8 ? (int8_t)byte : byte;
            }
            break;
        case PTX_U4:
        case PTX_S4:
            for (unsigned j = 0; j < 8; j++) {
                int32_t nibble = (int32_t)(word >> 4 * j & 15);
                out->integers[8 * i + j] = type == PTX_S4 && nibble > 7 ? nibble - 16 : nibble;
            }
            break;
        default: out->words[i] = word; break;
        }
    }
}

static bool is_small(enum ptx_type type)
{
    return type == PTX_E4M3 || type == PTX_E5M2;
}

// Products of factors of more than 8 bits, several columns at once.
static void multiply_floats(const struct product *product, const union terms *a,
                            const union terms *b, cells c)
{
    const bool halves = product->c.type == PTX_F16 && product->d.type == PTX_F16;
    const bool is_f16 = product->a.type == PTX_F16;
    const int k = product->shape.k, step = halves ? k : product->step;
    for (unsigned first = 0; first < product->shape.n; first += NUM_MMA_COLUMNS) {
        for (int from = 0; from < k; from += step) {
            const float *columns[NUM_MMA_COLUMNS];
            struct num_mma_panel panel;
            for (unsigned j = 0; j < NUM_MMA_COLUMNS; j++)
                columns[j] = b[first + j].halves + from;
            num_mma_panel_init(&panel, columns, step, is_f16);
            for (unsigned row = 0; row < product->shape.m; row++) {
                uint64_t *at[NUM_MMA_COLUMNS];
                uint16_t half[NUM_MMA_COLUMNS];
                float sum[NUM_MMA_COLUMNS];
                for (unsigned j = 0; j < NUM_MMA_COLUMNS; j++) {
                    at[j] = product->c.inner_is_row ? &c[first + j][row] : &c[row][first + j];
                    half[j] = (uint16_t)*at[j];
                    sum[j] = product->c.type == PTX_F16 && !from
                                 ? num_f32_from_f16(half[j])
                                 : num_from_bits_f32((uint32_t)*at[j]);
                }
                if (halves)
                    num_mma_row_f16(a[row].halves, &panel, half);
                else
                    num_mma_row_f32(a[row].halves + from, &panel, sum);
                for (unsigned j = 0; j < NUM_MMA_COLUMNS; j++)
                    *at[j] = halves ? half[j]
                             : product->d.type == PTX_F16 && from + step == k
                                 ? num_f16_nearest(sum[j])
                                 : num_bits_f32(sum[j]);
            }
        }
    }
}

static bool has_panels(enum ptx_type type)
{
    return type == PTX_F16 || type == PTX_BF16 || type == PTX_TF32;
}

static uint64_t element(const struct product *product, const union terms *a, const union terms *b,
                        uint64_t c)
{
    int k = product->shape.k;
    int32_t whole = (int32_t)(uint32_t)c;
    switch ((enum ptx_type)product->a.type) {
    case PTX_F64:
        return num_bits_f64(
            num_mma_f64(a->doubles, b->doubles, num_from_bits_f64(c), k, product->round));
    case PTX_U8:
    case PTX_S8:
    case PTX_U4:
    case PTX_S4:
        return (uint32_t)num_mma_s32(a->integers, b->integers, whole, k, product->saturate);
    case PTX_B1: return (uint32_t)num_mma_b1(a->words, b->words, whole, k / 32, product->use_and);
    default: // 8-bit floats
        return product->d.type == PTX_F16
                   ? num_mma_e8_f16(a->halves, b->halves, (uint16_t)c, k)
                   : num_bits_f32(
                         num_mma_e8_f32(a->halves, b->halves, num_from_bits_f32((uint32_t)c), k));
    }
}

static enum sim_step multiply(struct sim_warp *warp, const struct sim_uop *op)
{
    if (!sim_warp_together(warp, op, ALL_LANES))
        return STEP_STOP;
    const struct product *product = op->extra;
    unsigned m = product->shape.m, n = product->shape.n;
    cells in = {{0}}, c = {{0}};
    union terms a[MOST_SIDE], b[MOST_SIDE];
    gather_registers(warp, &product->a, in);
    for (unsigned i = 0; i < m; i++)
        unpack((enum ptx_type)product->a.type, in[i], 4u * product->a.inner_blocks, &a[i]);
    gather_registers(warp, &product->b, in);
    for (unsigned i = 0; i < n; i++)
        unpack((enum ptx_type)product->b.type, in[i], 4u * product->b.inner_blocks, &b[i]);
    gather_elements(warp, &product->c, c);
    if (has_panels((enum ptx_type)product->a.type))
        multiply_floats(product, a, b, c);
    for (unsigned row = 0; row < m && !has_panels((enum ptx_type)product->a.type); row++) {
        for (unsigned column = 0; column < n; column++) {
            uint64_t *at = product->c.inner_is_row ? &c[column][row] : &c[row][column];
            *at = element(product, &a[row], &b[column], *at);
        }
    }
    scatter_elements(warp, &product->d, c);
    return sim_warp_apart(warp);
}

// --- Fragments in memory -------------------------------------------------------------------------

struct transfer {
    const struct memory_matrix *matrix;
    uint64_t base[LANES], stride[LANES];
    unsigned bits;        // bits of an element
    unsigned pieces;      // pieces of a cell
    uint32_t piece_bytes; // bytes that are read or written at once
};

static void start_transfer(const struct sim_warp *warp, const struct sim_uop *op,
                           struct transfer *transfer)
{
    const struct memory_matrix *matrix = transfer->matrix = op->extra;
    unsigned span = matrix->fragment.span;
    sim_access_addresses(warp, op, transfer->base);
    const lane_u32 *strides = source(warp, op->b);
    for (int i = 0; i < LANES; i++)
        transfer->stride[i] = strides[i];
    transfer->bits = ptx_type_info((enum ptx_type)matrix->fragment.type)->bits;
    transfer->pieces = matrix->inner_first ? 1 : span;
    transfer->piece_bytes = transfer->bits * span / transfer->pieces / 8;
}

static bool reach_piece(struct sim_warp *warp, const struct sim_uop *op,
                        const struct transfer *transfer, unsigned cell, unsigned piece,
                        struct sim_access *access)
{
    const struct fragment *fragment = &transfer->matrix->fragment;
    for (unsigned lane = 0; lane < LANES; lane++) {
        struct place place = place_of(fragment, cell, lane);
        uint64_t inner = (uint64_t)place.inner * fragment->span + piece;
        uint64_t stride = transfer->stride[lane];
        uint64_t index = transfer->matrix->inner_first ? place.outer * stride + inner
                                                       : inner * stride + place.outer;
        access->address[lane] = transfer->base[lane] + index * transfer->bits / 8;
    }
    enum sim_access_kind kind = ptx_op(op->instr) == PTX_OP_WMMA_LOAD ? ACCESS_LOAD : ACCESS_STORE;
    return sim_access_given(warp, op, transfer->piece_bytes, kind, access);
}

static enum sim_step load_fragment(struct sim_warp *warp, const struct sim_uop *op)
{
    if (!sim_warp_together(warp, op, ALL_LANES))
        return STEP_STOP;
    struct transfer transfer;
    start_transfer(warp, op, &transfer);
    const struct fragment *fragment = &transfer.matrix->fragment;
    unsigned register_bytes = is_wide(fragment) ? WIDE : NARROW;
    unsigned distinct = (unsigned)fragment->cell_count * fragment->cell_registers;
    for (unsigned cell = 0; cell < fragment->cell_count; cell++) {
        unsigned char data[LANES][MOST_CELL_BYTES];
        for (unsigned piece = 0; piece < transfer.pieces; piece++) {
            struct sim_access access;
            if (!reach_piece(warp, op, &transfer, cell, piece, &access))
                return STEP_STOP;
            for (uint32_t left = warp->mask; left; left &= left - 1) {
                int i = __builtin_ctz(left);
                memcpy(data[i] + (size_t)piece * transfer.piece_bytes, access.pointer[i],
                       transfer.piece_bytes);
            }
        }
        for (uint32_t left = warp->mask; left; left &= left - 1) {
            unsigned lane = (unsigned)__builtin_ctz(left);
            for (unsigned j = 0; j < fragment->cell_registers; j++) {
                uint64_t value = 0;
                memcpy(&value, data[lane] + (size_t)j * register_bytes, register_bytes);
                for (unsigned at = cell * fragment->cell_registers + j;
                     at < fragment->register_count; at += distinct)
                    write_register(warp, fragment, at, lane, value);
            }
        }
    }
    return sim_warp_apart(warp);
}

static enum sim_step store_fragment(struct sim_warp *warp, const struct sim_uop *op)
{
    if (!sim_warp_together(warp, op, ALL_LANES))
        return STEP_STOP;
    struct transfer transfer;
    start_transfer(warp, op, &transfer);
    const struct fragment *fragment = &transfer.matrix->fragment;
    unsigned register_bytes = is_wide(fragment) ? WIDE : NARROW;
    for (unsigned cell = 0; cell < fragment->cell_count; cell++) {
        unsigned char data[LANES][MOST_CELL_BYTES];
        for (unsigned lane = 0; lane < LANES; lane++) {
            for (unsigned j = 0; j < fragment->cell_registers; j++) {
                uint64_t value =
                    read_register(warp, fragment, cell * fragment->cell_registers + j, lane);
                memcpy(data[lane] + (size_t)j * register_bytes, &value, register_bytes);
            }
        }
        for (unsigned piece = 0; piece < transfer.pieces; piece++) {
            struct sim_access access;
            if (!reach_piece(warp, op, &transfer, cell, piece, &access))
                return STEP_STOP;
            for (uint32_t left = warp->mask; left; left &= left - 1) {
                int i = __builtin_ctz(left);
                memcpy(access.pointer[i], data[i] + (size_t)piece * transfer.piece_bytes,
                       transfer.piece_bytes);
            }
        }
    }
    return sim_warp_apart(warp);
}

// --- Choice --------------------------------------------------------------------------------------

// Reads .m16n8k16 and the like from the spelling, because the tables do not have every shape.
static bool find_shape(const struct ptx_form *form, struct matrix_shape *shape)
{
    for (const char *at = strstr(form->text, ".m"); at; at = strstr(at + 1, ".m")) {
        unsigned numbers[3] = {0};
        const char *next = at + 1;
        int i = 0;
        for (; i < 3 && *next == "mnk"[i]; i++) {
            next++;
            for (; *next >= '0' && *next <= '9' && numbers[i] < 1000; next++)
                numbers[i] = numbers[i] * 10 + (unsigned)(*next - '0');
        }
        if (i == 3 && (*next == '.' || !*next)) {
            *shape = (struct matrix_shape){(uint16_t)numbers[0], (uint16_t)numbers[1],
                                           (uint16_t)numbers[2]};
            return true;
        }
    }
    return false;
}

// `role` is 'a', 'b', 'c' or 'd'.
static bool decode_fragment(struct sim_decoder *decoder, const struct ptx_instr *instr,
                            const struct ptx_operand *operand, char role,
                            const struct matrix_shape *shape, enum ptx_type type,
                            struct fragment *fragment)
{
    bool result = role == 'c' || role == 'd';
    unsigned bits = ptx_type_info(type)->bits, registers;
    bool by_columns = role == 'b' || (result && shape->n == MOST_SIDE);
    unsigned outer = by_columns ? shape->n : shape->m;
    unsigned inner = !result ? shape->k : by_columns ? shape->m : shape->n;
    unsigned span = result ? 2 : bits > 32 ? 1 : 32 / bits;
    fragment->type = (uint8_t)type;
    fragment->inner_is_row = by_columns;
    fragment->span = (uint8_t)span;
    fragment->outer_blocks = (uint8_t)(outer / 8);
    fragment->inner_blocks = (uint8_t)(inner / (4 * span));
    unsigned most = result || bits > 32 ? MOST_CELLS : MOST_WORDS;
    if (outer > MOST_SIDE || outer % 8 || inner % (4 * span) || !fragment->outer_blocks ||
        !fragment->inner_blocks || (result ? inner : inner / span) > most)
        return false;
    fragment->pair = outer > 8 && (role != 'b' || shape->n == MOST_SIDE) ? 2 : 1;
    fragment->cell_count = (uint8_t)(fragment->outer_blocks * fragment->inner_blocks);
    fragment->cell_registers = result && bits > 16 ? 2 : 1;
    fragment->slots = sim_matrix_registers(
        decoder, instr, operand, ptx_op(instr) == PTX_OP_WMMA_LOAD || role == 'd', &registers);
    fragment->register_count = (uint8_t)registers;
    bool copies = type == PTX_F16 && !result && ptx_op(instr) != PTX_OP_MMA;
    unsigned wanted =
        copies ? WMMA_REGISTERS : (unsigned)fragment->cell_count * fragment->cell_registers;
    return registers == wanted && sim_matrix_fits(operand, sim_decode_lane_bytes(type));
}

static bool is_factor(enum ptx_type type)
{
    return type == PTX_F16 || type == PTX_BF16 || type == PTX_TF32 || type == PTX_F64 ||
           type == PTX_U8 || type == PTX_S8 || type == PTX_U4 || type == PTX_S4 || type == PTX_B1;
}

// Returns whether factors of these types can be multiplied. Only mma has 8-bit floating-point
// factors.
static bool may_multiply(enum ptx_type a, enum ptx_type b, bool is_wmma)
{
    if (is_small(a))
        return is_small(b) && !is_wmma;
    bool integers = ptx_type_info(a)->kind != PTX_CLASS_FLOAT;
    bool same_width = ptx_type_info(a)->bits == ptx_type_info(b)->bits;
    return is_factor(a) && is_factor(b) && (a == b || (integers && same_width));
}

// Returns whether an accumulator of type `sum` can hold products of type `factor`.
static bool may_sum(enum ptx_type factor, enum ptx_type sum)
{
    switch (factor) {
    case PTX_E4M3:
    case PTX_E5M2:
    case PTX_F16: return sum == PTX_F16 || sum == PTX_F32;
    case PTX_BF16:
    case PTX_TF32: return sum == PTX_F32;
    case PTX_F64: return sum == PTX_F64;
    default: return sum == PTX_S32;
    }
}

static enum num_round rounding(const struct ptx_form *form)
{
    return form->round == PTX_MOD_RZ   ? NUM_RZ
           : form->round == PTX_MOD_RM ? NUM_RM
           : form->round == PTX_MOD_RP ? NUM_RP
                                       : NUM_RN;
}

static bool choose_product(struct sim_decoder *decoder, const struct ptx_instr *instr,
                           struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    bool is_wmma = ptx_op(instr) == PTX_OP_WMMA_MMA;
    struct product *product = base_new_array(decoder->arena, struct product, 1);
    struct matrix_shape *shape = &product->shape;
    enum ptx_type d = (enum ptx_type)form->types[0], a = PTX_F16, b = PTX_F16, c;
    // Refuses sparse and scaled operands, and packed ones of other GPUs.
    if (instr->operand_count != 4 || !find_shape(form, shape) || strstr(form->text, ".kind::") ||
        (!is_wmma && strncmp(form->text, "mma.sync.aligned.m", 18) != 0))
        return false;
    if (form->type_count == 4) {
        a = (enum ptx_type)form->types[1];
        b = (enum ptx_type)form->types[2];
        c = (enum ptx_type)form->types[3];
    } else if (form->type_count == 2 && is_wmma) {
        c = (enum ptx_type)form->types[1];
    } else {
        return false;
    }
    if (!may_multiply(a, b, is_wmma) || !may_sum(a, c) || !may_sum(a, d) || (c != d && !is_wmma))
        return false;
    // The assembler accepts larger shapes, which the manual does not document.
    if (is_wmma && a == PTX_F64 && shape->m != 8)
        return false;
    product->saturate = ptx_form_has(form, PTX_MOD_SATFINITE);
    if (product->saturate && ptx_type_info(a)->kind == PTX_CLASS_FLOAT)
        return false;
    product->use_and = ptx_form_has(form, PTX_MOD_AND);
    product->round = rounding(form);
    // As measured: wmma splits k for tf32, while mma multiplies all 8 in one step.
    product->step = is_wmma && a == PTX_TF32 ? shape->k / 2 : shape->k;
    if (!decode_fragment(decoder, instr, &instr->operands[0], 'd', shape, d, &product->d) ||
        !decode_fragment(decoder, instr, &instr->operands[1], 'a', shape, a, &product->a) ||
        !decode_fragment(decoder, instr, &instr->operands[2], 'b', shape, b, &product->b) ||
        !decode_fragment(decoder, instr, &instr->operands[3], 'c', shape, c, &product->c))
        return false;
    op->extra = product;
    op->run = multiply;
    return true;
}

static bool choose_transfer(struct sim_decoder *decoder, const struct ptx_instr *instr,
                            struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    bool is_load = ptx_op(instr) == PTX_OP_WMMA_LOAD, is_row = ptx_form_has(form, PTX_MOD_ROW);
    struct memory_matrix *matrix = base_new_array(decoder->arena, struct memory_matrix, 1);
    struct matrix_shape shape;
    char role = !is_load                                       ? 'd'
                : strncmp(form->text, "wmma.load.a.", 12) == 0 ? 'a'
                : strncmp(form->text, "wmma.load.b.", 12) == 0 ? 'b'
                                                               : 'c';
    enum ptx_type type = (enum ptx_type)form->types[0];
    bool factor = role == 'a' || role == 'b';
    if (form->type_count != 1 || !find_shape(form, &shape) ||
        (factor ? !is_factor(type)
                : type != PTX_F16 && type != PTX_F32 && type != PTX_F64 && type != PTX_S32))
        return false;
    struct fragment *fragment = &matrix->fragment;
    if (!decode_fragment(decoder, instr, &instr->operands[is_load ? 0 : 1], role, &shape, type,
                         fragment))
        return false;
    matrix->inner_first = is_row != fragment->inner_is_row;
    if (!matrix->inner_first && ptx_type_info(type)->bits < 8)
        return false;
    sim_decode_address(decoder, instr, &instr->operands[is_load ? 1 : 0], op);
    unsigned inner = factor ? shape.k : fragment->inner_is_row ? shape.m : shape.n;
    unsigned outer = fragment->inner_is_row ? shape.n : shape.m;
    op->b = instr->operand_count > 2
                ? sim_decode_typed(decoder, instr, &instr->operands[2], PTX_U32)
                : sim_decode_constant(decoder, matrix->inner_first ? inner : outer, NARROW);
    op->extra = matrix;
    op->run = is_load ? load_fragment : store_fragment;
    return true;
}

bool sim_choose_matrix(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       struct sim_uop *op)
{
    op->space = instr->form->space;
    switch (ptx_op(instr)) {
    case PTX_OP_MMA:
    case PTX_OP_WMMA_MMA:
        return sim_matrix_is_quads(instr->form) ? sim_matrix_choose_quads(decoder, instr, op)
                                                : choose_product(decoder, instr, op);
    case PTX_OP_WMMA_LOAD:
    case PTX_OP_WMMA_STORE: return choose_transfer(decoder, instr, op);
    case PTX_OP_LDMATRIX:
    case PTX_OP_STMATRIX:
    case PTX_OP_MOVMATRIX: return sim_matrix_choose_rows(decoder, instr, op);
    default: return sim_matrix_choose_group(decoder, instr, op);
    }
}
