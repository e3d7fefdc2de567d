// SPDX-License-Identifier: Apache-2.0
// Implements mma of m8n8k4 with f16 factors: four products at once, each held by a pair of quads. A
// quad is four consecutive lanes; the second quad of a pair is 16 lanes above the first.
// numbers/mma.h computes the elements.
//
// The first quad holds the lower half of the rows (of the columns, for B), the second quad the
// upper half. Of a factor, a lane holds four adjacent elements along the inner dimension at its
// outer index. In the other layout, it holds four along the outer dimension at its inner index. Of
// C and D in f16, a lane holds a row. In f32, it holds two adjacent elements each of two rows and
// of two halves of the columns.
#include <string.h>

#include "gpusim/numbers/half.h"
#include "gpusim/numbers/mma.h"
#include "ops.h"
#include "ops_matrix.h"
#include "warp.h"

enum { SIDE = 8, DEPTH = 4, PAIRS = 4, HALF_SIDE = SIDE / 2 };

struct quad_product {
    const slot *d, *a, *b, *c;
    bool a_inner, b_inner; // a lane holds adjacent elements along the inner dimension
    bool d_is_f16, c_is_f16;
};

// The position of an element: the `at`th of the elements that a lane holds.
struct quad_spot {
    unsigned lane, at;
};

static unsigned lane_of(unsigned pair, unsigned in_quad, unsigned outer)
{
    return 4 * pair + in_quad + (outer < HALF_SIDE ? 0 : LANES / 2);
}

static struct quad_spot factor_spot(unsigned pair, unsigned outer, unsigned inner, bool inner_held)
{
    unsigned in_half = outer % HALF_SIDE;
    return inner_held ? (struct quad_spot){lane_of(pair, in_half, outer), inner}
                      : (struct quad_spot){lane_of(pair, inner, outer), in_half};
}

static struct quad_spot sum_spot(unsigned pair, unsigned row, unsigned column, bool is_f16)
{
    if (is_f16)
        return (struct quad_spot){lane_of(pair, row % HALF_SIDE, row), column};
    return (struct quad_spot){lane_of(pair, (row & 1) | (column & 2), row),
                              (row & 2) | (column & 5)};
}

static uint16_t half_at(const struct sim_warp *warp, const slot *slots, struct quad_spot spot)
{
    const lane_u32 *in = source(warp, slots[spot.at / 2]);
    return (uint16_t)(in[spot.lane] >> 16 * (spot.at % 2));
}

static void gather_factor(const struct sim_warp *warp, const slot *slots, bool inner_held,
                          unsigned pair, float out[SIDE][DEPTH])
{
    for (unsigned outer = 0; outer < SIDE; outer++) {
        for (unsigned inner = 0; inner < DEPTH; inner++) {
            struct quad_spot spot = factor_spot(pair, outer, inner, inner_held);
            out[outer][inner] = num_f32_from_f16(half_at(warp, slots, spot));
        }
    }
}

// Takes c as C holds it, and returns the result as D holds it.
static uint32_t element(const struct quad_product *product, const float *a, const float *b,
                        uint32_t c)
{
    if (product->d_is_f16)
        return num_mma_k4_f16(a, b, (uint16_t)c);
    float wide = product->c_is_f16 ? num_f32_from_f16((uint16_t)c) : num_from_bits_f32(c);
    return num_bits_f32(num_mma_k4_f32(a, b, wide));
}

// Reads all operands before it writes the first result, because registers may be named twice.
static enum sim_step multiply_quads(struct sim_warp *warp, const struct sim_uop *op)
{
    if (!sim_warp_together(warp, op, ALL_LANES))
        return STEP_STOP;
    const struct quad_product *product = op->extra;
    uint32_t out[SIDE][LANES] = {{0}};
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        float a[SIDE][DEPTH], b[SIDE][DEPTH];
        gather_factor(warp, product->a, product->a_inner, pair, a);
        gather_factor(warp, product->b, product->b_inner, pair, b);
        for (unsigned row = 0; row < SIDE; row++) {
            for (unsigned column = 0; column < SIDE; column++) {
                struct quad_spot from = sum_spot(pair, row, column, product->c_is_f16);
                struct quad_spot to = sum_spot(pair, row, column, product->d_is_f16);
                uint32_t c = product->c_is_f16
                                 ? half_at(warp, product->c, from)
                                 : ((const lane_u32 *)source(warp, product->c[from.at]))[from.lane];
                uint32_t d = element(product, a[row], b[column], c);
                if (product->d_is_f16)
                    out[to.at / 2][to.lane] |= d << 16 * (to.at % 2);
                else
                    out[to.at][to.lane] = d;
            }
        }
    }
    for (unsigned i = 0; i < (product->d_is_f16 ? SIDE / 2 : SIDE); i++) {
        if (product->d[i] == NO_SLOT)
            continue;
        lane_u32 *to = target(warp, product->d[i]);
        for (uint32_t left = warp->mask; left; left &= left - 1) {
            int lane = __builtin_ctz(left);
            to[lane] = out[i][lane];
        }
    }
    return sim_warp_apart(warp);
}

// --- Choice --------------------------------------------------------------------------------------

// Returns NULL if the number of registers is not `wanted`, or if they do not have 32 bits.
static const slot *narrow_registers(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                    const struct ptx_operand *operand, bool is_target,
                                    unsigned wanted)
{
    unsigned count;
    const slot *slots = sim_matrix_registers(decoder, instr, operand, is_target, &count);
    return count == wanted && sim_matrix_fits(operand, NARROW) ? slots : NULL;
}

// The start of the spelling; layouts and types follow.
static const char spelling[] = "mma.sync.aligned.m8n8k4.";
enum { SPELLING_LENGTH = sizeof spelling - 1 };

bool sim_matrix_is_quads(const struct ptx_form *form)
{
    return strncmp(form->text, spelling, SPELLING_LENGTH) == 0 && form->type_count == 4 &&
           form->types[1] == PTX_F16 && form->types[2] == PTX_F16;
}

bool sim_matrix_choose_quads(struct sim_decoder *decoder, const struct ptx_instr *instr,
                             struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    struct quad_product *product = base_new_array(decoder->arena, struct quad_product, 1);
    enum ptx_type d = (enum ptx_type)form->types[0], c = (enum ptx_type)form->types[3];
    const char *layouts = form->text + SPELLING_LENGTH; // row.col.f32 and so on
    bool a_row = strncmp(layouts, "row.", 4) == 0, b_row = strncmp(layouts + 4, "row.", 4) == 0;
    if ((d != PTX_F16 && d != PTX_F32) || (c != PTX_F16 && c != d) || instr->operand_count != 4 ||
        (!a_row && strncmp(layouts, "col.", 4) != 0) ||
        (!b_row && strncmp(layouts + 4, "col.", 4) != 0) || ptx_form_has(form, PTX_MOD_SATFINITE))
        return false;
    product->a_inner = a_row;
    product->b_inner = !b_row;
    product->d_is_f16 = d == PTX_F16;
    product->c_is_f16 = c == PTX_F16;
    const struct ptx_operand *operands = instr->operands;
    product->d = narrow_registers(decoder, instr, &operands[0], true, d == PTX_F16 ? 4 : 8);
    product->a = narrow_registers(decoder, instr, &operands[1], false, 2);
    product->b = narrow_registers(decoder, instr, &operands[2], false, 2);
    product->c = narrow_registers(decoder, instr, &operands[3], false, c == PTX_F16 ? 4 : 8);
    op->extra = product;
    op->run = multiply_quads;
    return product->d && product->a && product->b && product->c;
}
